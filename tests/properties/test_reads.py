"""Range algebra against brute force: what readers are said to show, on real files with real programs."""

from __future__ import annotations

import itertools
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from execledger.core.lines import returned
from execledger.shell.classify import classify_command
from execledger.shell.ranges import covers, subtract, union
from execledger.vocabulary.actions import Observation
from execledger.vocabulary.records import Lines

numbers = st.integers(1, 30)
readers = st.one_of(
    st.just("cat {f}"),
    st.just("cat -n {f}"),
    st.just("nl -ba {f}"),
    st.just("nl -ba -w4 -s': ' {f}"),
    st.just("grep -n '' {f}"),
    numbers.map("head -n {} {{f}}".format),
    numbers.map("head -{} {{f}}".format),
    numbers.map("tail -n {} {{f}}".format),
    numbers.map("tail -n +{} {{f}}".format),
    numbers.map("sed {}q {{f}}".format),
    numbers.map("sed -n '{},$p' {{f}}".format),
    numbers.map("sed 1,{}d {{f}}".format),
    st.tuples(numbers, numbers).map(lambda pair: f"sed -n '{pair[0]},{pair[1]}p' {{f}}"),
    st.tuples(numbers, numbers).map(lambda pair: f"sed -n '{pair[0]},+{pair[1]}p' {{f}}"),
    st.tuples(numbers, numbers).map(lambda pair: f"sed -n -e {pair[0]}p -e {pair[1]}p {{f}}"),
    st.tuples(numbers, numbers).map(lambda pair: f"sed '{pair[0]},{pair[1]}!d' {{f}}"),
    st.tuples(numbers, numbers).map(lambda pair: f"awk 'NR>={pair[0]} && NR<={pair[1]}' {{f}}"),
    st.tuples(numbers, numbers).map(lambda pair: f"awk 'NR=={pair[0]},NR=={pair[1]} {{{{print NR\": \"$0}}}}' {{f}}"),
)
filters = st.lists(
    st.one_of(
        st.just("cat"),
        st.just("cat -n"),
        st.just("nl -ba"),
        numbers.map("head -n {}".format),
        numbers.map("tail -n {}".format),
        numbers.map("tail -n +{}".format),
        st.tuples(numbers, numbers).map(lambda pair: f"sed -n '{pair[0]},{pair[1]}p'"),
    ),
    max_size=3,
)
contents = st.lists(st.sampled_from(["", "x", "y = 1", "    z", "1\tnot a number"]), max_size=40)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reads")


@given(reader=readers, rest=filters, lines=contents, final=st.booleans())
def test_returned_lines_are_the_lines_that_the_file_has_there(
    folder: Path, reader: str, rest: list[str], lines: list[str], final: bool
) -> None:
    """Whatever range a chain of readers is credited with, the file has exactly these lines there."""
    path = folder / "file.txt"
    path.write_text("\n".join(lines) + ("\n" if final and lines else ""))
    on_disk = path.read_text().split("\n")
    on_disk = on_disk[:-1] if on_disk[-1] == "" else on_disk
    command = " | ".join([reader.format(f="file.txt"), *rest])
    done = subprocess.run(("bash", "-c", command), cwd=folder, capture_output=True, text=True, check=False)
    record = classify_command(command, str(folder))
    assert record.effects == "none"
    if record.view is None:
        return
    shown = returned(record.view, Observation(done.stdout, exit_status=done.returncode))
    if shown is None:
        return
    assert shown.end in (None, len(on_disk))
    expected: list[str] = []
    for run in shown.ranges:
        assert run.first < 0 or run.last is not None
        expected += on_disk[run.first :] if run.first < 0 else on_disk[run.first - 1 : run.last]
    if shown.ranges:
        assert list(shown.texts[0]) == expected


runs = st.lists(st.tuples(st.integers(1, 25), st.one_of(st.none(), st.integers(0, 8))), max_size=6)


def _lines(pairs: list[tuple[int, int | None]]) -> tuple[Lines, ...]:
    return tuple(Lines(first, None if length is None else first + length) for first, length in pairs)


def _set(lines: tuple[Lines, ...], end: int = 60) -> set[int]:
    return {n for run in lines for n in range(run.first, (run.last or end) + 1)}


@given(one=runs, other=runs)
def test_union_and_difference_are_those_of_sets(
    one: list[tuple[int, int | None]], other: list[tuple[int, int | None]]
) -> None:
    """The algebra agrees with sets of line numbers, and keeps runs ascending and apart."""
    joined = union(_lines(one), _lines(other))
    assert _set(joined) == _set(_lines(one)) | _set(_lines(other))
    assert all(a.last is not None and a.last + 1 < b.first for a, b in itertools.pairwise(joined))
    assert _set(subtract(union((), _lines(one)), union((), _lines(other)))) == _set(_lines(one)) - _set(_lines(other))


@given(seen=runs, first=st.integers(1, 25), length=st.integers(0, 12), end=st.one_of(st.none(), st.integers(1, 60)))
def test_coverage_is_inclusion(seen: list[tuple[int, int | None]], first: int, length: int, end: int | None) -> None:
    """A range is covered if each of its lines, as far as the file goes, was seen."""
    known = union((), _lines(seen))
    asked = {n for n in range(first, first + length + 1) if end is None or n <= end}
    assert covers(known, Lines(first, first + length), end) == (asked <= _set(known))
