"""Seeded sessions with hostile writers in which the files are looked at: every word about every range is checked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from tests.support.knowing import Kind, Setting, Shape, session
from tests.support.policies import WHOLE_VIEWS
from tests.support.simulation.sessions import Looks, besiege
from tests.support.view_reader import NOT_BY_YOU, ViewReader

SHORT, LONG = 1_000, 100_000
"""Steps of the short and of the long form."""
MET = ("current", "now at", "changed", f"changed, {NOT_BY_YOU}")
"""What the sessions must come across; that a file is gone is rare."""
KINDS: tuple[Kind, ...] = ("read", "read", "read", "search", "edit", "edit", "test", "install", "other")


@pytest.mark.guarantee("witness")
def test_no_status_is_wrong_under_siege(tmp_path: Path, full: bool, figure: Callable[[str], None]) -> None:
    """Threads, compactions, cut outputs, links, jobs that write later, and other processes: every claim is true."""
    steps, seed, said = 0, 0, Counter[str]()
    while steps < (LONG if full else SHORT):
        # Probes take longer.
        looks: Looks = "probe" if seed % 5 == 4 else "local"
        try:
            found = besiege(tmp_path, seed, looks=looks)
        except AssertionError as failure:
            failure.add_note(f"seed {seed}, {looks}")
            raise
        steps += len(found.steps)
        said += found.statuses
        seed += 1
    print(f"seeds 0 to {seed - 1}: {dict(said)}")
    assert all(said[word] for word in MET), "the simulation meets what it checks"
    judged = sum(said[word] for word in (*MET, "gone"))
    figure(f"0 wrong of {judged:,} statuses of looked-up ranges in {steps:,} steps")


@pytest.mark.guarantee("witness")
@pytest.mark.parametrize(("looks", "sealed"), [("local", False), ("probe", True), ("probe", False)])
def test_nearly_every_status_is_definite_and_none_is_wrong(full: bool, looks: Looks, sealed: bool) -> None:
    """Sessions of reads, edits, tests, jobs and time limits, with others who write between the steps."""
    definite = total = 0
    # Probes take longer.
    for seed in range(60 if full else 4 if looks == "local" else 2):
        chance = Random(seed)
        steps = [_shape(chance) for _ in range(40)]
        known = session(steps, seed, Setting(WHOLE_VIEWS, looks, sealed, hostile=seed % 2 == 0))
        assert known.wrong == [], f"seed {seed}"
        definite += round(known.definite * known.ranges.total())
        total += known.ranges.total()
    assert definite >= 0.9 * total


def _shape(chance: Random) -> Shape:
    kind: Kind = chance.choice(KINDS) if chance.random() < 0.985 else chance.choice(("background", "timeout"))
    first = chance.randint(1, 90)
    return Shape(kind, chance.randrange(6), first, chance.choice((0, first + chance.randint(0, 60))))


OLD, NEW = ["a", "b", "c", "d"], ["a", "x", "c", "d"]


@pytest.mark.parametrize(
    ("line", "now", "wrong"),
    [
        ("whole, 4 lines (current)", OLD, False),
        ("whole, 4 lines (current)", [*OLD, "e"], True),
        ("1-4 (current)", [*OLD, "e"], False),
        ("1-4 (current)", NEW, True),
        ("1, 3-4 (current); 2 (changed)", NEW, False),
        ("1, 3-4 (current); 2 (changed, not by you)", NEW, False),
        ("1-2 (changed); 3-4 (current)", NEW, True),
        ("1-4 (changed in part)", NEW, False),
        ("1-4 (changed in part)", OLD, True),
        ("1-4 (now at 2-5)", ["new", *OLD], False),
        ("1-4 (now at 1-4)", OLD, True),
        ("1-4 (now at 3-6)", ["new", *OLD], True),
        ("1-4 (gone)", None, False),
        ("1-4 (gone)", OLD, True),
        ("1-4 (current)", None, True),
        ("1-9 (current)", OLD, True),
        ("1-4 (possibly stale, in context)", NEW, False),
    ],
)
def test_the_reader_of_views_finds_what_is_wrong(line: str, now: list[str] | None, wrong: bool) -> None:
    """It can fail: each word is believed as a person would."""
    reader = ViewReader()
    reader.showed("a.py", dict(enumerate(OLD, 1)), looked=True)
    view = f"<execution_state>\nSeen, most recent first:\n- a.py: {line}\n</execution_state>"
    assert any(fault for _, fault in reader.check(view, lambda _: now)) is wrong


@pytest.mark.parametrize(
    ("ran", "wrong"),
    [
        ({}, False),
        ({"writes": "b.py"}, False),
        ({"writes": "a.py"}, True),
        ({"unknown": True}, True),
        ({"left_running": True}, True),
    ],
)
def test_the_reader_of_views_knows_who_may_have_written(ran: dict[str, str | bool], wrong: bool) -> None:
    """A change is another's only if no command since the last look that agreed can have made it."""
    reader = ViewReader()
    reader.showed("a.py", {1: "a"}, looked=True)
    reader.ran(**ran)  # type: ignore[arg-type]
    view = "Seen, most recent first:\n- a.py: 1 (changed, not by you)"
    assert [bool(fault) for _, fault in reader.check(view, lambda _: ["x"])] == [wrong]


@pytest.mark.parametrize(("now", "wrong"), [(["a"], False), (["b"], True)])
def test_the_reader_of_views_knows_of_looks_without_a_view(now: list[str], wrong: bool) -> None:
    """A look behind a later read of the same file has found the lines again, or has not."""
    reader = ViewReader()
    reader.showed("a.py", {1: "a"}, looked=True)
    reader.ran(unknown=True)
    reader.looked("a.py", now)
    view = "Seen, most recent first:\n- a.py: 1 (changed, not by you)"
    assert [bool(fault) for _, fault in reader.check(view, lambda _: ["x"])] == [wrong]
