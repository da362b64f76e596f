"""What all formats share: the names of tasks, and outputs that lost the blank lines at their ends."""

from __future__ import annotations

import pytest

from execledger.runs.decoding import instance_of, trimmed
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
