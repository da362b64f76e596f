"""A long check that was stopped goes on where it stopped, as long as what it measures is the same."""

from __future__ import annotations

import importlib.util
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

DEV = Path(__file__).parent.parent / "dev.py"
ATTACKS = "tests.support.guarantees.report"


@pytest.fixture
def dev(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """``dev.py`` in a folder of its own, with two benchmarks that need the corpus."""
    for folder in ("src", "tests", "benchmarks", "examples", ".venv", "docs"):
        (tmp_path / folder).mkdir()
    for name in ("one", "two"):
        (tmp_path / "benchmarks" / f"{name}.py").write_text("NEEDS_CORPUS = True\n")
    (tmp_path / "pyproject.toml").touch()
    shutil.copy(DEV, tmp_path)
    spec = importlib.util.spec_from_file_location("dev_of_a_test", tmp_path / "dev.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "LONG_TESTS", (("pytest",),))
    monkeypatch.setattr(module, "LINT", ())
    return module


def check(dev: Any, *, resume: bool, stopped_at: str = "", corpus: str = "/where/it/lies") -> list[str]:
    """The modules that a long check runs, up to the one at which it is stopped."""
    ran: list[str] = []

    def measure(*module: str) -> object:
        if module[0] == stopped_at:
            raise KeyboardInterrupt
        ran.append(module[0])
        return dev.Row(" ".join(module), f"held: {module}", 1.0, False, "2026-01-01")

    dev.measure = measure
    try:
        assert dev.long_check(corpus, resume=resume) == 0
    except KeyboardInterrupt:
        assert stopped_at
    return ran


def test_a_long_check_that_was_stopped_goes_on_where_it_stopped(dev: Any) -> None:
    """What it had measured is in its report, which does not say where the corpus lies."""
    assert check(dev, resume=False, stopped_at="benchmarks.two") == ["pytest", ATTACKS, "benchmarks.one"]
    report = dev.REPORT.read_text()
    assert "| `benchmarks.one CORPUS` | held: ('benchmarks.one', 'CORPUS') |" in report and "/where" not in report
    assert check(dev, resume=True) == ["benchmarks.two"]
    assert all(f"`{what}" in dev.REPORT.read_text() for what in ("pytest", ATTACKS, "benchmarks.one", "benchmarks.two"))


def test_a_check_that_goes_on_and_is_stopped_again_loses_nothing(dev: Any) -> None:
    """Neither what comes behind the place where it was stopped, nor a result with a bar."""
    check(dev, resume=False)
    report = dev.REPORT.read_text()
    dev.REPORT.write_text(re.sub(r"\n.*`pytest`.*", "", report).replace("held: ('benchmarks.two'", "a \\| b"))
    assert check(dev, resume=True, stopped_at="pytest") == []
    assert check(dev, resume=True) == ["pytest"]
    assert "a \\| b" in dev.REPORT.read_text()


def test_parts_of_a_check_are_measured_in_any_order(dev: Any) -> None:
    """What is missing is in the report, too; an earlier part is taken over."""
    dev.measure = lambda *module: dev.Row(" ".join(module), "held", 1.0, False, "2026-01-01")
    for word in ("two", "pytest"):
        assert dev.long_check("/where/it/lies", resume=True, only=(word,)) == 0
    results = re.findall(r"`(.*?)( .*)?` \| (.*?) \|", dev.REPORT.read_text())
    assert [(name, result) for name, _, result in results] == [
        ("pytest", "held"),
        (ATTACKS, "not run"),
        ("benchmarks.one", "not run"),
        ("benchmarks.two", "held"),
    ]


def test_a_report_in_another_form_is_written_anew(dev: Any) -> None:
    """As older checks have left it, with fewer columns."""
    dev.REPORT.write_text("| 2026-01-01 | 3.11.7 | `pytest` | held | 1.0 |\n")
    assert check(dev, resume=True)[0] == "pytest"


def test_what_failed_is_measured_again(dev: Any) -> None:
    """Its row says how it ended."""
    check(dev, resume=False)
    dev.REPORT.write_text(dev.REPORT.read_text().replace("held: ('benchmarks.one'", "exit 1: ('benchmarks.one'"))
    assert check(dev, resume=True) == ["benchmarks.one"]


def test_what_failed_stays_in_the_report_of_other_parts(dev: Any) -> None:
    """A part that is measured later neither drops the failure of an earlier one nor hides it."""
    check(dev, resume=False)
    failed = dev.REPORT.read_text().replace("held: ('benchmarks.one'", "exit 1: ('benchmarks.one'")
    dev.REPORT.write_text(failed)
    assert dev.long_check("/where/it/lies", resume=True, only=("two",)) == 1
    assert dev.REPORT.read_text() == failed


@pytest.mark.parametrize(
    "changed", ["src/a.py", "tests/support.py", "benchmarks/one.py", "examples/a.sh", "pyproject.toml"]
)
def test_nothing_is_taken_over_from_another_tree(dev: Any, changed: str) -> None:
    """Not even what a changed file can't have changed."""
    check(dev, resume=False)
    (dev.ROOT / changed).write_text("# changed\nNEEDS_CORPUS = True\n")
    assert check(dev, resume=True) == ["pytest", ATTACKS, "benchmarks.one", "benchmarks.two"]


@pytest.mark.parametrize("changed", ["tests/test_a.py", "dev.py"])
def test_a_changed_test_changes_no_benchmark(dev: Any, changed: str) -> None:
    """Tests and attacks are run again; `dev.py` is what some of them test."""
    check(dev, resume=False)
    (dev.ROOT / changed).write_text("# changed\n")
    assert check(dev, resume=True) == ["pytest", ATTACKS]


def test_nothing_is_taken_over_from_other_recorded_runs(dev: Any, tmp_path: Path) -> None:
    """They are told apart by their names and sizes, wherever they lie."""
    for name, size in (("one", 1), ("two", 2), ("same", 1)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "runs.tar.xz").write_bytes(b"0" * size)
    check(dev, resume=False, corpus=str(tmp_path / "one"))
    assert check(dev, resume=True, corpus=str(tmp_path / "same")) == []
    assert check(dev, resume=True, corpus=str(tmp_path / "two"))[0] == "pytest"


def test_documents_are_not_measured(dev: Any) -> None:
    """The report itself is one."""
    check(dev, resume=False)
    (dev.ROOT / "docs" / "measured.md").write_text("42\n")
    assert check(dev, resume=True) == []


def test_without_being_told_everything_is_measured_again(dev: Any) -> None:
    """Also what was measured before."""
    check(dev, resume=False)
    assert check(dev, resume=False) == ["pytest", ATTACKS, "benchmarks.one", "benchmarks.two"]
