"""What a request costs our proxy beyond the network, in processor time: in this process, without any HTTP."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from benchmarks._codex_sessions import CodexSession, Plan, proposal
from execledger.agents.codex import tools as codex
from execledger.core.policy import Policy, Preset
from execledger.proxy.book import Book, Rules
from execledger.proxy.edits import EditStore
from execledger.proxy.passage import Passage
from execledger.testing.scripted_model import Usage
from tests.support.servers.responses import event_frames

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


def costs(plan: Plan, histories: Sequence[int], sessions: int, folder: Path) -> dict[int, Cost]:
    """The cost of the request at each of these steps, the median of so many sessions."""
    through = _passage(folder / "through", Preset.VERIFIED, pass_through=True)
    full = {preset: _passage(folder / preset, preset) for preset in Preset}
    found: dict[int, list[Cost]] = {steps: [] for steps in histories}
    for number in range(sessions):
        grown = {preset: _grown(passage, plan, number, histories) for preset, passage in full.items()}
        for steps in histories:
            by_preset = {preset: taken[steps] for preset, taken in grown.items()}
            found[steps].append(_cost(through, CodexSession(plan, number, steps), by_preset))
    return {steps: _median(measured) for steps, measured in found.items()}


def _cost(through: Passage, session: CodexSession, full: dict[Preset, float]) -> Cost:
    """The cost of a session's next request."""
    body = session.body()
    passing = _taken(lambda: through.request("POST", "/v1/responses", session.headers, body))
    return Cost(len(body), passing, full, _taken(lambda: msgspec.json.decode(body)))


def _grown(passage: Passage, plan: Plan, number: int, histories: Sequence[int]) -> dict[int, float]:
    """The cost at each of these steps of a session that is followed from its beginning."""
    session = CodexSession(plan, number)
    taken: dict[int, float] = {}
    for steps in range(max(histories) + 1):
        body = session.body()
        start = time.process_time()
        sent = passage.request("POST", "/v1/responses", session.headers, body)
        taken[steps] = (time.process_time() - start) * 1e6
        answer = passage.answer(sent, 200, STREAM)
        assert answer is not None, "the request was not understood"
        items = proposal(plan.command("repo", steps), steps)
        frames = event_frames(items, identity=f"resp_{steps}", model="scripted", usage=Usage(1000, 0, 0, 10))
        session.take(answer.feed(b"".join(frames)) + answer.end())
    return taken


def _passage(folder: Path, preset: Preset, *, pass_through: bool = False) -> Passage:
    """The inside of a proxy, with its journals and edits on disk."""
    rules = Rules(policy=Policy(preset=preset), journals=folder / "journals")
    store = EditStore(folder / "edits")
    return Passage(Book(rules, codex, store), pass_through=pass_through)


def _taken(work: Callable[[], object]) -> float:
    """Microseconds of processor time."""
    start = time.process_time()
    work()
    return (time.process_time() - start) * 1e6


def _median(measured: Sequence[Cost]) -> Cost:
    full = {preset: statistics.median(cost.full[preset] for cost in measured) for preset in Preset}
    through = statistics.median(cost.through for cost in measured)
    return Cost(measured[0].size, through, full, statistics.median(cost.decode for cost in measured))
