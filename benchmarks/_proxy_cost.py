"""What a request costs our proxy beyond the network, in processor time: in this process, without any HTTP."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from benchmarks._client_sessions import ClientSession, Plan
from benchmarks._wires import Wire
from execledger.agents.registry import proxy_adapter
from execledger.core.policy import Policy, Preset
from execledger.proxy.book import Book, Rules
from execledger.proxy.edits import EditStore
from execledger.proxy.passage import Passage

STREAM = {"content-type": "text/event-stream"}


class Cost(NamedTuple):
    """Microseconds of processor time for a request with some steps of history."""

    size: int
    """Its bytes."""
    through: float
    """Passing it through."""
    full: dict[Preset, float]
    """Everything that Ledger does for it, by preset."""
    decode: float
    """Decoding the same bytes with msgspec."""


def costs(wire: Wire, plan: Plan, histories: Sequence[int], sessions: int, folder: Path) -> dict[int, Cost]:
    """The cost of the request at each of these steps, the median of so many sessions in a dialect."""
    through = _passage(wire, folder / "through", Preset.VERIFIED, pass_through=True)
    full = {preset: _passage(wire, folder / preset, preset) for preset in Preset}
    found: dict[int, list[Cost]] = {steps: [] for steps in histories}
    for number in range(sessions):
        grown = {preset: _grown(passage, wire, plan, number, histories) for preset, passage in full.items()}
        for steps in histories:
            by_preset = {preset: taken[steps] for preset, taken in grown.items()}
            found[steps].append(_cost(through, ClientSession(plan, number, steps, wire=wire), by_preset))
    return {steps: _median(measured) for steps, measured in found.items()}


def _cost(through: Passage, session: ClientSession, full: dict[Preset, float]) -> Cost:
    """The cost of a session's next request."""
    body = session.body()
    passing = _taken(lambda: through.request("POST", _path(session.wire), session.headers, body))
    return Cost(len(body), passing, full, _taken(lambda: msgspec.json.decode(body)))


def _grown(passage: Passage, wire: Wire, plan: Plan, number: int, histories: Sequence[int]) -> dict[int, float]:
    """The cost at each of these steps of a session that is followed from its beginning."""
    session = ClientSession(plan, number, wire=wire)
    taken: dict[int, float] = {}
    for steps in range(max(histories) + 1):
        body = session.body()
        start = time.process_time()
        sent = passage.request("POST", _path(session.wire), session.headers, body)
        taken[steps] = (time.process_time() - start) * 1e6
        answer = passage.answer(sent, 200, STREAM)
        assert answer is not None, "the request was not understood"
        events = wire.events(plan.command("repo", steps), steps)
        session.take(answer.feed(b"".join(events)) + answer.end())
    return taken


def _path(wire: Wire) -> str:
    """The path of a request, without its query."""
    return (wire.version + wire.path).partition("?")[0]


def _passage(wire: Wire, folder: Path, preset: Preset, *, pass_through: bool = False) -> Passage:
    """The inside of a proxy, with its journals and edits on disk."""
    rules = Rules(policy=Policy(preset=preset), journals=folder / "journals")
    store = EditStore(folder / "edits")
    return Passage(Book(rules, proxy_adapter(wire.agent), store), pass_through=pass_through)


def _taken(work: Callable[[], object]) -> float:
    """Microseconds of processor time."""
    start = time.process_time()
    work()
    return (time.process_time() - start) * 1e6


def _median(measured: Sequence[Cost]) -> Cost:
    full = {preset: statistics.median(cost.full[preset] for cost in measured) for preset in Preset}
    through = statistics.median(cost.through for cost in measured)
    return Cost(measured[0].size, through, full, statistics.median(cost.decode for cost in measured))
