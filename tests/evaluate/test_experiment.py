"""Running a plan: salts, the order of the arms, the engines, and the progress bar."""

from __future__ import annotations

import io
import sys
import threading
from collections.abc import Iterator

import pytest
from rich.console import Console

from execledger.agents.evaluation import TaskResult
from execledger.errors import LedgerError
from execledger.evaluate.experiment import DIGITS, LocalEngine, ProgressBar, RayEngine, Salted, arm_order, engine_of
from execledger.evaluate.plan import EngineName, Plan
from execledger.extras import install_command


def test_every_job_is_worked_on_once() -> None:
    """And every result comes."""
    assert sorted(LocalEngine(3).map(lambda job: job * 2, range(20))) == [number * 2 for number in range(20)]


def test_results_come_as_they_finish() -> None:
    """A job that takes long keeps nobody else waiting."""
    gate = threading.Event()

    def work(job: int) -> int:
        if job == 0:
            assert gate.wait(60)
        return job

    results = LocalEngine(2).map(work, range(3))
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

    results = LocalEngine(2).map(lambda job: job, jobs())
    next(results)
    assert handed == [0, 1]
    results.close()  # type: ignore[attr-defined]


def test_a_fault_of_the_work_is_not_swallowed() -> None:
    """It ends the map."""

    def work(job: int) -> int:
        raise ZeroDivisionError(str(job))

    with pytest.raises(ZeroDivisionError):
        list(LocalEngine(1).map(work, [1]))


def test_a_plan_chooses_its_engine() -> None:
    """LocalEngine workers unless it says otherwise."""
    assert isinstance(engine_of(Plan()), LocalEngine)
    assert isinstance(engine_of(Plan(engine=EngineName.RAY)), RayEngine)


def test_without_ray_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is an extra."""
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(LedgerError) as caught:
        list(RayEngine(1).map(str, [1]))
    assert str(caught.value) == f"ray: not installed, it comes with the extra `ray`\nhint: {install_command('ray')}"


@pytest.mark.parametrize("arms", ["a", "ab", "abcde"])
@pytest.mark.parametrize("seed", [0, 1, 2**32 - 1])
def test_every_arm_has_every_position_equally_often(arms: str, seed: int) -> None:
    """Over each block of instances, and for one instance over as many trials as there are arms."""
    number = len(arms)
    for block in range(3):
        rows = [arm_order(arms, seed, block * number + row, 1) for row in range(number)]
        trials = [arm_order(arms, seed, block, trial) for trial in range(1, number + 1)]
        for square in (rows, trials):
            assert all(sorted(column) == sorted(arms) for column in (*square, *zip(*square, strict=True)))


def test_the_seed_decides() -> None:
    """The same seed gives the same orders, and not every seed does."""
    orders = [[arm_order("abcd", seed, row, 1) for row in range(8)] for seed in (1, 1, 2, 3)]
    assert orders[0] == orders[1]
    assert orders[2] != orders[1] != orders[3]


def result(cost: float | None) -> TaskResult:
    return TaskResult(instance_id="a", model_name_or_path="m", model_patch="", ended="Submitted", cost=cost)


def shown(bar: ProgressBar, out: io.StringIO) -> str:
    with bar:
        bar.add([result(1.5), result(None)])
    return out.getvalue()


def test_on_a_terminal_it_shows_counts_cost_and_time_left() -> None:
    """What was finished before counts, and what has no price does not."""
    out = io.StringIO()
    text = shown(
        ProgressBar(8, [result(2.0)], Console(file=out, force_terminal=True, width=100, color_system=None)), out
    )
    for part in ("evaluating", "3/8", "$3.50", "left:"):
        assert part in text


def test_elsewhere_it_says_nothing() -> None:
    """A log is no place for a bar; the counts are kept all the same."""
    out = io.StringIO()
    bar = ProgressBar(8, [], Console(file=out, width=100))
    assert (shown(bar, out), bar.done, bar.spent) == ("", 2, "$1.50")


def test_a_cost_that_nobody_told_is_unknown() -> None:
    """It is not zero."""
    assert ProgressBar(2, [result(None)], Console(file=io.StringIO())).spent == "cost unknown"


def test_each_run_has_a_salt_of_its_own() -> None:
    """By evaluation, arm, instance and trial; none is shorter than another."""
    salts = [
        Salted(study=study, template="").salt(arm, instance, trial)
        for study in ("a", "b")
        for arm in ("base", "both")
        for instance in ("x", "y")
        for trial in range(1, 100)
    ]
    assert len(set(salts)) == len(salts)
    assert {len(salt) for salt in salts} == {DIGITS}
    assert all(salt.isdecimal() for salt in salts)
