"""Small made loops, and work that only looks like one: what each tool says of them, and from which call on.

Every case is a run of one agent in a container of its own, written by hand together with the calls that are truly
redundant. Outputs are long enough for a reference to be worth its bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TypeAlias

from msgspec import Struct

from benchmarks._peer_runs import Sampled
from execledger.runs.recording import Recorded, Run
from execledger.vocabulary.actions import Action, Observation

FOLDER = "/testbed"
MODULE = "".join(f"    value_{number} = compute(seed={number}, scale={number * 7 % 13})\n" for number in range(1, 61))
HITS = "".join(f"src/part_{number}.py:{number * 3}:    result = compute(seed={number})\n" for number in range(1, 13))
TRACE = "".join(
    f'  File "/testbed/src/part_{number}.py", line {number * 3}, in step_{number}\n    return compute(seed={number})\n'
    for number in range(1, 9)
)
CRASH = f"Traceback (most recent call last):\n{TRACE}ValueError: seed out of range\n"
FAILED = (
    "".join(f"tests/test_part.py::test_{n} FAILED  the answer of step {n} is wrong\n" for n in range(1, 9))
    + "8 failed\n"
)


Made: TypeAlias = tuple[str, Observation]
"""A command and its result."""


class Case(Struct, frozen=True):
    """A made run."""

    name: str
    """What happens in it."""
    steps: tuple[Made, ...]
    """Commands and their results."""
    redundant: frozenset[int]
    """The calls that bring nothing new."""
    reworded: bool = False
    """The model gives another reason every time; else it gives none."""

    def sampled(self) -> Sampled:
        """The case in the shape of a recorded run."""
        recorded = tuple(
            Recorded(Action(command, FOLDER), result, turn) for turn, (command, result) in enumerate(self.steps)
        )
        turns = len(recorded) + 1
        run = Run(
            name=self.name,
            format="made",
            agent="made",
            model="",
            task="Repair the computation.",
            container=True,
            turns=turns,
            steps=recorded,
        )
        texts = tuple(f"Attempt {turn}: another idea is to look at part {turn}." for turn in range(turns))
        return Sampled(run, texts if self.reworded else ())


def lines(first: int, last: int) -> Observation:
    """Some lines of the file that most cases read."""
    return ok("".join(MODULE.splitlines(keepends=True)[first - 1 : last]))


def ok(output: str) -> Observation:
    """A result without fault."""
    return Observation(output, exit_status=0)


def fails(output: str) -> Observation:
    """A result with exit status 1."""
    return Observation(output, exit_status=1)


def repeated(name: str, steps: Iterable[Made], first: int, *, reworded: bool = False) -> Case:
    """A loop: every call from ``first`` on is redundant."""
    made = tuple(steps)
    return Case(name, made, frozenset(range(first, len(made))), reworded)


def work(name: str, steps: Iterable[Made]) -> Case:
    """No loop: whoever speaks up is wrong."""
    return Case(name, tuple(steps), frozenset())


def in_turn(one: list[Made], other: list[Made]) -> list[Made]:
    """The steps of both, one after the other."""
    return [step for pair in zip(one, other, strict=True) for step in pair]


def loops() -> list[Case]:
    """The loops."""
    cat, search = ("cat src/a.py", ok(MODULE)), ("grep -rn compute src", ok(HITS))
    spellings = ("cat src/a.py", "cat  src/a.py", "cat ./src/a.py", "cd /testbed && cat src/a.py", "cat 'src/a.py'")
    others = [(f"wc -c src/part_{number}.py", ok(f"{number * 91} src/part_{number}.py\n")) for number in range(24)]
    spread = [step for number in range(6) for step in (cat, *others[number * 3 : number * 3 + 3])]
    ranges = ((1, 60), (1, 40), (11, 50), (21, 60), (5, 25), (30, 45))
    narrowing = [(f"sed -n '{first},{last}p' src/a.py", lines(first, last)) for first, last in ranges]
    script = ("python repro.py", fails(CRASH))
    tests = ("python -m pytest -q tests/test_part.py", fails(FAILED))
    return [
        repeated("the same read, 6 times", [cat] * 6, 1),
        repeated("the same read, 6 times, other words each time", [cat] * 6, 1, reworded=True),
        repeated("the same read in 5 spellings", [(spelling, ok(MODULE)) for spelling in spellings], 1),
        repeated("a read and a search in turn, 6 times each", [cat, search] * 6, 2),
        Case("the same read at every 4th call, 6 times", tuple(spread), frozenset(range(4, 24, 4))),
        repeated("parts of a file that was read before", narrowing, 1),
        repeated("a failing script, 6 times", [script] * 6, 1),
        repeated("a failing script, 6 times, other words each time", [script] * 6, 1, reworded=True),
        repeated("failing tests, 6 times", [tests] * 6, 1),
    ]


def works() -> list[Case]:
    """What only looks like a loop."""
    poll = [("sleep 5; tail -n 3 build.log", ok(f"step {number} of 90\n" * 3)) for number in range(6)]
    formats = [("make format", ok(f"renamed seed to seed_{number} in 60 lines\n")) for number in range(6)]
    changed = [("cat src/a.py", ok(MODULE.replace("seed", f"seed_{number}"))) for number in range(6)]
    edits = [(f"sed -i 's/seed={number},/seed={number + 1},/' src/a.py", ok("")) for number in range(1, 7)]
    tested = [("python -m pytest -q tests/test_part.py", fails(FAILED))] * 6
    pages = [(f"sed -n '{first},{first + 9}p' src/a.py", lines(first, first + 9)) for first in range(1, 61, 10)]
    records = [{"id": number, "state": "ready", "owner": "nobody", "size": number * 17} for number in range(200)]
    listing = [("curl -s localhost/parts", ok(json.dumps(records, indent=1) + "\n")), *pages[:2]]
    return [
        work("a log that grows, asked for 6 times", poll),
        work("a formatter and a read that shows its work, 6 times", in_turn(formats, changed)),
        work("an edit and the same failing tests, 6 times", in_turn(edits, tested)),
        work("a file read page by page", pages),
        work("200 records in JSON, once, and other work", listing),
    ]
