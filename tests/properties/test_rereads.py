"""Redundant snippet re-reads against brute force: made sessions of reads, searches, edits and tests."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks._reread_truth import Piece, Truth
from execledger.core.ledger import Ledger
from execledger.core.policy import Policy, Preset
from execledger.core.rereads import judged
from execledger.core.step import take
from execledger.vocabulary.actions import Action, Observation
from execledger.vocabulary.decisions import Allow, Shown, Step
from tests.journal.runs import returning

LINES = ("alpha = 1", "beta = alpha + 1", "    return beta", "gamma(alpha, beta)")
"""What files are made of: few lines, so that the same ones occur in many places."""
SIGNS = ("}", "")
"""Lines that say nothing."""
NAMES = ("a.py", "lib/b.py", "lib/c.txt")

Files = dict[str, list[str]]
Numbered = list[tuple[int, str]]
Returned = tuple[str, str, list[Piece]]
"""A command, its output, and the file contents in it."""


def plain(lines: Numbered) -> str:
    return "".join(f"{text}\n" for _, text in lines)


def piece(lines: Numbered, *names: str, numbers: bool = False) -> Piece:
    files = frozenset(name.rpartition("/")[2] for name in names)
    return Piece(files, tuple((number if numbers else None, text) for number, text in lines))


def cut(lines: list[str], first: int, count: int) -> Numbered:
    return list(enumerate(lines, 1))[first - 1 : first - 1 + count]


def read(files: Files, name: str, first: int, count: int) -> Returned:
    found = cut(files[name], first, count)
    return f"sed -n '{first},{first + count - 1}p' {name}", plain(found), [piece(found, name)]


def whole(files: Files, name: str, first: int, count: int) -> Returned:
    found = cut(files[name], 1, len(files[name]))
    folder, _, base = name.rpartition("/")
    return (f"cd {folder} && cat {base}" if folder else f"cat {name}"), plain(found), [piece(found, name)]


def numbered(files: Files, name: str, first: int, count: int) -> Returned:
    found = cut(files[name], first, count)
    output = "".join(f"{number:6}\t{text}\n" for number, text in found)
    command = f"nl -ba {name} | sed -n '{first},{first + count - 1}p'"
    return command, output, [piece(found, name, numbers=True)]


def two_ranges(files: Files, name: str, first: int, count: int) -> Returned:
    one, other = cut(files[name], 1, count), cut(files[name], first, count)
    command = f"head -n {count} {name}; sed -n '{first},{first + count - 1}p' {name}"
    return command, plain(one) + plain(other), [piece([*one, *other], name)]


def two_files(files: Files, name: str, first: int, count: int) -> Returned:
    other = NAMES[first % len(NAMES)]
    found = [*cut(files[name], 1, len(files[name])), *cut(files[other], 1, len(files[other]))]
    return f"cat {name} {other}", plain(found), [piece(found, name, other)]


def search(files: Files, name: str, first: int, count: int) -> Returned:
    word = ("alpha", "beta", "return")[first % 3]
    found = [(number, text) for number, text in cut(files[name], 1, len(files[name])) if word in text]
    output = "".join(f"{number}:{text}\n" for number, text in found)
    return f"grep -n {word} {name}", output, [piece(found, name, numbers=True)]


def search_everywhere(files: Files, name: str, first: int, count: int) -> Returned:
    word = ("alpha", "beta", "return")[first % 3]
    output, pieces = "", []
    for one in NAMES:
        found = [(number, text) for number, text in cut(files[one], 1, len(files[one])) if word in text]
        output += "".join(f"{one}:{number}:{text}\n" for number, text in found)
        pieces.append(piece(found, one, numbers=True))
    return f"grep -rn {word} .", output, pieces


def with_context(files: Files, name: str, first: int, count: int) -> Returned:
    lines = cut(files[name], 1, len(files[name]))
    hits = {number for number, text in lines if "gamma" in text}
    near = [(number, text) for number, text in lines if {number - 1, number, number + 1} & hits]
    output, last = "", None
    for number, text in near:
        output += "--\n" if last is not None and number > last + 1 else ""
        output += f"{number}{':' if number in hits else '-'}{text}\n"
        last = number
    return f"grep -n -C 1 gamma {name}", output, [piece(near, name, numbers=True)]


def edit(files: Files, name: str, first: int, count: int) -> Returned:
    del files[name][first - 1 : first]
    return f"sed -i '{first}d' {name}", "", []


def edit_and_print(files: Files, name: str, first: int, count: int) -> Returned:
    del files[name][first - 1 : first]
    found = cut(files[name], first, count)
    command = f"sed -i '{first}d' {name} && sed -n '{first},{first + count - 1}p' {name}"
    return command, plain(found), [piece(found, name)]


def run_tests(files: Files, name: str, first: int, count: int) -> Returned:
    return f"python -m pytest -q tests/{name}", "1 failed\n" + plain(cut(files[name], 1, len(files[name]))), []


def difference(files: Files, name: str, first: int, count: int) -> Returned:
    return f"git diff {name}", f"diff {name}\n" + plain(cut(files[name], 1, len(files[name]))), []


PROPOSALS: tuple[Callable[[Files, str, int, int], Returned], ...] = (
    read, read, whole, numbered, numbered, two_ranges, two_files, search, search_everywhere, with_context,
    edit, edit, edit_and_print, run_tests, difference,
)  # fmt: skip

Session = tuple[Files, list[tuple[Callable[[Files, str, int, int], Returned], str, int, int]]]


def sessions(*lines: str) -> st.SearchStrategy[Session]:
    """Files made of these lines, and what is done with them."""
    return st.tuples(
        st.fixed_dictionaries({name: st.lists(st.sampled_from(lines), min_size=3, max_size=14) for name in NAMES}),
        st.lists(
            st.tuples(st.sampled_from(PROPOSALS), st.sampled_from(NAMES), st.integers(1, 9), st.integers(1, 7)),
            min_size=1,
            max_size=9,
        ),
    )


def played(session: Session) -> list[Returned]:
    files = {name: list(lines) for name, lines in session[0].items()}
    return [propose(files, name, first, count) for propose, name, first, count in session[1]]


def as_it_came(command: str, output: str) -> Step:
    return Step(Action(command, "/repo"), Allow("test"), Observation(output, exit_status=0), Shown("full"))


@given(sessions(*LINES, *SIGNS))
def test_every_verdict_is_that_of_the_definition(session: Session) -> None:
    """A command is a re-read if three consecutive lines of file contents in it were returned before."""
    told = played(session)
    found = judged((as_it_came(command, output) for command, output, _ in told), Ledger())
    truth = Truth()
    assert [kind is not None for kind in found] == [truth.take(pieces) for _, _, pieces in told]


@pytest.mark.parametrize("preset", list(Preset))
@given(session=sessions(*LINES))
def test_references_count_as_the_lines_that_they_point_at(preset: Preset, session: Session) -> None:
    """With Ledger a run has the re-reads that it has without it, as long as the agent does the same.

    Files hold no blank lines and no lines of other files: a reference may point at an equal result of another
    file, and nobody looks at what was not returned.
    """
    files = {name: [f"{line}  # {name}" for line in lines] for name, lines in session[0].items()}
    told = played((files, session[1]))
    policy = Policy(preset=preset, second_look_rate=0.0, max_share=100.0)
    ledger, steps = Ledger(policy=policy), []
    for command, output, _ in told:
        observation = Observation(output, exit_status=0)
        steps.append(take(ledger, Action(command, "/repo"), returning(observation), sealed=True))
    with_ledger = [kind is not None for kind in judged(steps, Ledger(policy=policy))]
    without = judged((as_it_came(command, output) for command, output, _ in told), Ledger())
    assert with_ledger == [kind is not None for kind in without]
