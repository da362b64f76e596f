"""The engines: every job once, as many at a time as asked for, results as they come."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator

import pytest

from execledger.errors import LedgerError
from execledger.evaluate.engine import Local, Ray, engine_of
from execledger.evaluate.plan import EngineName, Plan
from execledger.extras import install_command


def test_every_job_is_worked_on_once() -> None:
    """And every result comes."""
    assert sorted(Local(3).map(lambda job: job * 2, range(20))) == [number * 2 for number in range(20)]


def test_results_come_as_they_finish() -> None:
    """A job that takes long keeps nobody else waiting."""
    gate = threading.Event()

    def work(job: int) -> int:
        if job == 0:
            assert gate.wait(60)
        return job

    results = Local(2).map(work, range(3))
    first = [next(results), next(results)]
    gate.set()
    assert (first, list(results)) == ([1, 2], [0])


def test_no_more_jobs_are_asked_for_than_are_under_way() -> None:
    """So whoever hands them out can stop at any time."""
    handed: list[int] = []

    def jobs() -> Iterator[int]:
        for number in range(10):
            handed.append(number)
            yield number

    results = Local(2).map(lambda job: job, jobs())
    next(results)
    assert handed == [0, 1]
    results.close()  # type: ignore[attr-defined]


def test_a_fault_of_the_work_is_not_swallowed() -> None:
    """It ends the map."""

    def work(job: int) -> int:
        raise ZeroDivisionError(str(job))

    with pytest.raises(ZeroDivisionError):
        list(Local(1).map(work, [1]))


def test_a_plan_chooses_its_engine() -> None:
    """Local workers unless it says otherwise."""
    assert isinstance(engine_of(Plan()), Local)
    assert isinstance(engine_of(Plan(engine=EngineName.RAY)), Ray)


def test_without_ray_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is an extra."""
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(LedgerError) as caught:
        list(Ray(1).map(str, [1]))
    assert str(caught.value) == f"ray: not installed, it comes with the extra `ray`\nhint: {install_command('ray')}"
