"""A new metric changes three files of the package and is then on every surface."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import execledger
from execledger.core.policy import Policy
from tests.journal.runs import events_of, retold, written
from tests.support.simulation.sessions import simulate

duckdb = pytest.importorskip("duckdb")

CHANGES = {
    "journal/events.py": (
        '    measured: int = 0\n    """',
        '    failed: int = 0\n    """Those whose exit status is not 0."""\n    measured: int = 0\n    """',
    ),
    "runs/account.py": (
        '    Metric(name="ran",',
        '    Metric(name="failed", title="commands failed", compared="Failed commands"),\n    Metric(name="ran",',
    ),
    "viewer/page/columns.js": (
        '  column("faults",',
        '  column("failed", "Failed", "number", "commands that failed"),\n  column("faults",',
    ),
}
"""By file: a text in it, and the text that replaces it."""
COUNTED = (
    "        counts.proposed += 1\n",
    "        counts.proposed += 1\n        counts.failed += not step.observation.succeeded\n",
)
"""The counting itself, in ``runs/account.py``."""
COMPARED = """
import json, sys
from pathlib import Path
from execledger.viewer.compare import compare
from execledger.viewer.runs import reading_of
readings = [reading_of(name, Path(name).read_bytes(), None, None) for name in sys.argv[1:]]
for reading in readings:
    reading.read()
found = compare(*readings)
print(json.dumps([found.a.failed, found.totals["failed"][1], found.titles["failed"]]))
"""
"""What the viewer's list and its comparison of two runs show of the metric."""


@pytest.fixture
def changed(tmp_path: Path) -> Path:
    """A copy of the package with the new metric; the folder that it is in."""
    copy = tmp_path / "lib" / "execledger"
    shutil.copytree(Path(execledger.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for name, (old, new) in CHANGES.items():
        text = (copy / name).read_text()
        for before, after in ((old, new), *([COUNTED] if name == "runs/account.py" else [])):
            assert text.count(before) == 1, f"{name} holds {before!r} {text.count(before)} times"
            text = text.replace(before, after)
        (copy / name).write_text(text)
    return copy.parent


def ran(package: Path, *arguments: str) -> str:
    """What a command of the changed package prints."""
    environment = {**os.environ, "PYTHONPATH": str(package), "COLUMNS": "160", "NO_COLOR": "1"}
    done = subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, text=True, check=True)
    return done.stdout


def test_a_metric_is_three_files_and_on_every_surface(changed: Path, tmp_path: Path) -> None:
    """In ``stats``, ``replay``, the report's comparison, Parquet, the viewer's list and its comparison."""
    (tmp_path / "repo").mkdir()
    told = retold(simulate(tmp_path / "repo", 4), Policy())
    failed = sum(not step.observation.succeeded for step in told.steps)
    path = str(written(tmp_path / "journals", events_of(told)))
    assert failed, "the session has a command that fails"
    module = ("-m", "execledger")
    assert json.loads(ran(changed, *module, "stats", "--json", path))["counts"]["failed"] == failed
    row = rf"commands failed\W+{failed}\b"
    assert re.search(row, ran(changed, *module, "stats", path))
    assert json.loads(ran(changed, *module, "replay", "--json", path))["failed"] == failed
    assert re.search(row, ran(changed, *module, "replay", path))
    ran(changed, *module, "eval", "report", path, "-o", str(tmp_path / "out"), "--format", "md")
    assert "| Failed commands |" in (tmp_path / "out" / "report.md").read_text()
    ran(changed, *module, "eval", "export", path, "-o", str(tmp_path / "out"))
    with duckdb.connect() as database:
        assert database.execute(f"SELECT failed FROM '{tmp_path}/out/runs.parquet'").fetchall() == [(failed,)]
    assert json.loads(ran(changed, "-c", COMPARED, path, path)) == [failed, failed, "commands failed"]
