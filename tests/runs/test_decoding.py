"""What all formats share: names of tasks, times, texts of answers, outputs that lost blank lines at their ends."""

from __future__ import annotations

import pytest

from execledger.runs.decoding import instance_of, joined_text, moment_of, repaired, seconds_of, trimmed, written_text
from execledger.vocabulary.actions import Action, Observation, Search


@pytest.mark.parametrize(
    ("name", "instance"),
    [
        ("out/astropy__astropy-12907/astropy__astropy-12907.traj.json", "astropy__astropy-12907"),
        ("runs.tar.xz!x/scikit-learn__scikit-learn-14087.run4.traj.json", "scikit-learn__scikit-learn-14087"),
        ("out/django__django-11815/trajectory.json", "django__django-11815"),
        ("output.jsonl!pydata__xarray-7229", "pydata__xarray-7229"),
        ("out/instance_psf__requests-2931/events", "psf__requests-2931"),
        ("gpt4__swe-agent__test-repo__default__t-0.00__install-1/x.traj", ""),
        ("a__b/c.json", ""),
        ("run.json", ""),
        ("", ""),
    ],
)
def test_names_of_files(name: str, instance: str) -> None:
    """An instance of SWE-bench is known by its form, in the name of the file or of a folder around it."""
    assert instance_of(name) == instance


@pytest.mark.parametrize(
    ("value", "moment"),
    [
        ("2026-01-02T03:04:05.678Z", 1767323045.678),
        ("2026-01-02T04:04:05.678+01:00", 1767323045.678),
        ("2026-01-02 03:04:05.678", 1767323045.678),
        ("2026-01-02T03:04:05.678901234", 1767323045.678901),
        (1767323045.678, 1767323045.678),
        (1767323045678, 1767323045.678),
        ("yesterday", None),
        ("", None),
        (0, None),
        (-5, None),
        (10**20, None),
        (10**400, None),
        ("0001-01-01T00:00:00+23:59", None),
        ("9999-12-31T23:59:59-23:59", None),
        (True, None),
        (None, None),
        ({}, None),
    ],
)
def test_times_of_all_spellings(value: object, moment: float | None) -> None:
    """With a zone or without, in text, seconds or milliseconds; whatever else is no time."""
    assert moment_of(value) == moment


def test_durations() -> None:
    """A number above 0 is one."""
    assert [seconds_of(value) for value in (0.5, 2, 0, -1, True, "1", None, 1e300)] == [0.5, 2.0, *[None] * 6]


def test_texts_of_answers() -> None:
    """Parts that are text, apart from each other; reasoning and calls are none."""
    parts = [{"type": "reasoning", "text": "hm"}, {"type": "text", "text": " One. "}, {"type": "tool_use"}, 3]
    assert written_text([*parts, {"type": "output_text", "text": "Two."}]) == "One.\n\nTwo."
    assert [*map(written_text, (" One. ", None, {}, []))] == ["One.", "", "", ""]
    assert joined_text("", " One.\n", None, 3, "Two.") == "One.\n\nTwo."


def test_what_the_run_says_goes_first() -> None:
    """The file's name is asked only where the run is silent."""
    assert instance_of("a__b-1.traj", None, 3, "", "mine", "other") == "mine"


@pytest.mark.parametrize(
    ("command", "output", "certain"),
    [
        ("sed -n '2,4p' a.py", "x\ny\nz", True),
        ("sed -n '2,4p' a.py", "x\ny\nz\n", True),
        ("sed -n '2,4p' a.py", "x\ny", False),
        ("sed -n '2,4p' a.py", "", True),
        ("sed -n '1p;3p' a.py", "x\nz", True),
        ("sed -n '1p;3p' a.py", "x", False),
        ("tail -2 a.py", "x", False),
        ("tail -2 a.py", "x\ny", True),
        ("cat a.py", "x", True),
        ("tail -n +2 a.py", "x", True),
        ("nl -ba a.py | sed -n '2,4p'", "     2\tx\n     3\ty", True),
        ("grep x a.py", "x", True),
        ("make", "x", True),
    ],
)
def test_fewer_lines_than_asked_for(command: str, output: str, certain: bool) -> None:
    """Only a bounded read without numbers that shows fewer lines leaves in doubt which lines these are."""
    given = Observation(output, exit_status=0)
    doubtful = Observation(output, exit_status=0, cut=0, truncated=True)
    assert trimmed(Action(command, "/repo"), given) == (given if certain else doubtful)


def test_what_was_cut_already_is_cut_somewhere() -> None:
    """Blank lines may be gone before the gap as well, so its place says nothing about the lines."""
    given = Observation("x\ny", cut=2, truncated=True)
    assert trimmed(Action("cat a.py", "/repo"), given) == Observation("x\ny", truncated=True)
    assert trimmed(Action("make", "/repo"), given) == given


def test_structured_calls_are_not_trimmed() -> None:
    """Only the shell's outputs are."""
    given = Observation("x", cut=0, truncated=True)
    assert trimmed(Action("x", "/repo", Search()), given) == given


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b'{"NaN": NaN, "a": [-Infinity, "\\"NaN", Infinity]}', b'{"NaN": null, "a": [null, "\\"NaN", null]}'),
        (b'{"a": NaN, "b": "torn NaN', b'{"a": null, "b": "torn NaN'),
        (b'{"a": NaN, "b": "torn \\', b'{"a": null, "b": "torn \\'),
        (b'{"a": "NaN"}', None),
    ],
)
def test_numbers_that_are_none_become_null(text: bytes, expected: bytes | None) -> None:
    """Texts stay as they are, also one that the end of a file cuts off."""
    assert repaired(text) == expected


def test_a_torn_text_with_many_quotes_is_searched_once() -> None:
    """A log of a killed run may end within a long program: a search from each quote in it would take hours."""
    assert repaired(b'{"a": "NaN' + rb"x\"" * 500_000) is None
