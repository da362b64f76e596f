"""The names of tasks."""

from __future__ import annotations

import pytest

from execledger.runs.decoding import instance_of


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
