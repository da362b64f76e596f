"""Writes the journal of a long made-up session: ``python -m tests.support.long_journal FILE [STEPS [BYTES]]``.

The session is seeded: it reads, searches, edits and tests a made-up repository under a real ledger, which decides about
every step. Outputs are as large as it takes to fill the file.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec.structs import replace

from execledger import __version__
from execledger.core.ledger import Ledger
from execledger.core.policy import Policy
from execledger.core.rereads import Rereads
from execledger.core.step import take
from execledger.journal.codec import encode
from execledger.journal.events import Ended, Event, Started, ViewRendered, policy_fields, recorded
from execledger.runs.account import Account
from execledger.symbols.edits import edited_symbols
from execledger.vocabulary.actions import Action, Observation

STEPS, BYTES = 5000, 50_000_000
"""The default length of a session."""
FILES = 60
"""Files of the made-up repository."""
TASK = "<issue>The totals of long reports are wrong.</issue>"
"""What the session is about."""


class Repository:
    """Files that can be read and edited, without a disk."""

    def __init__(self, chance: random.Random, lines: int) -> None:
        """Every file has about ``lines`` lines."""
        self._chance = chance
        self._files = {
            f"/repo/report/module_{number}.py": [f"total_{number}_{line} = add({line})" for line in range(lines)]
            for number in range(FILES)
        }

    def propose(self) -> tuple[str, Observation]:
        """A command, and what it returns."""
        chance = self._chance
        path, lines = chance.choice(list(self._files.items()))
        short = path.removeprefix("/repo/")
        match chance.choices(("read", "search", "edit", "test"), (45, 30, 10, 15))[0]:
            case "read":
                first = chance.randrange(1, len(lines))
                return f"sed -n '{first},{len(lines)}p' {short}", _printed(lines[first - 1 :])
            case "search":
                word = f"total_{chance.randrange(FILES)}"
                return f"grep -n {word} -r report", _printed([f"{short}:{line}" for line in lines])
            case "edit":
                at = chance.randrange(1, len(lines))
                lines[at - 1] += f"  # {chance.randrange(10**6)}"
                return f"sed -i '{at}s/$/  # looked at/' {short}", Observation(exit_status=0)
            case _:
                report = [f"tests/test_{short}::test_{line} PASSED" for line in range(len(lines) // 2)]
                return f"python -m pytest -q tests/test_{short}", _printed(report)


def _printed(lines: list[str]) -> Observation:
    return Observation("".join(f"{line}\n" for line in lines), exit_status=0)


def long_events(steps: int = STEPS, size: int = BYTES, seed: int = 1) -> Iterator[Event]:
    """The events of a session of ``steps`` steps, about ``size`` bytes in all."""
    # A read shows half of a file on the average, a test as much, a search all of it; a line has some 35 bytes.
    repository = Repository(random.Random(seed), max(size // steps // 25, 2))
    policy, summary, rereads = Policy(), Account(), Rereads()
    ledger = Ledger(TASK, policy, edited_symbols)
    start = Started(
        software=__version__, run="long", agent="made up", model="none", task=TASK, policy=policy_fields(policy)
    )
    yield start
    for index in range(steps):
        view = ViewRendered(index=index, text=ledger.inform().text)
        command, output = repository.propose()
        action = Action(command, "/repo")
        record = ledger.classify(action)
        step = take(ledger, action, _returning(output))
        again = rereads.take(step, record) or "none"
        event = replace(recorded(ledger, step, turn=index, sealed=False), snippet=again)
        for one in (view, event):
            summary.add(one)
            yield one
    yield Ended(reason="Submitted", counts=summary.counts, model_calls=steps)


def _returning(output: Observation) -> Callable[[Action], Observation]:
    return lambda _: output


def write_long_run(path: Path, steps: int = STEPS, size: int = BYTES, seed: int = 1) -> None:
    """Write the journal."""
    with path.open("wb") as file:
        for event in long_events(steps, size, seed):
            file.write(encode(event))


if __name__ == "__main__":
    write_long_run(Path(sys.argv[1]), *map(int, sys.argv[2:4]))
