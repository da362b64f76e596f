"""The import contract refuses what it is there for: shown by forbidden imports in a copy of the tree."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LINT = Path(sys.executable).with_name("lint-imports")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the package, with its contracts."""
    shutil.copytree(
        ROOT / "src" / "execledger", tmp_path / "execledger", ignore=shutil.ignore_patterns("__pycache__", "page")
    )
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def linted(copy: Path) -> tuple[int, str]:
    """Exit status and output of ``lint-imports`` over a copy of the package."""
    environment = {**os.environ, "PYTHONPATH": str(copy)}
    command = [str(LINT), "--no-cache", "--no-logo"]
    done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("module", "imported", "contract"),
    [
        ("core/wording.py", "execledger.journal.events", "Packages import only packages of lower layers"),
        ("proxy/limits.py", "execledger.agents.registry", "Packages import only packages of lower layers"),
        ("viewer/reasons.py", "execledger.cli.main", "Packages import only packages of lower layers"),
        ("shell/paths.py", "execledger.off", "Pure packages import no module that does I/O"),
        ("redact/values.py", "execledger.errors", "Redaction imports nothing of execledger but itself"),
        ("agents/claude/tools.py", "execledger.agents.codex.calls", "Agents do not import each other"),
        ("agents/claude/tools.py", "execledger.agents.mini", "Agents do not import each other"),
    ],
)
def test_a_forbidden_import_breaks_its_contract(copy: Path, module: str, imported: str, contract: str) -> None:
    """And no other import does."""
    path = copy / "execledger" / module
    text = path.read_text().replace(
        "from __future__ import annotations\n", f"from __future__ import annotations\n\nimport {imported}\n", 1
    )
    assert f"import {imported}\n" in text
    path.write_text(text)
    status, said = linted(copy)
    assert status == 1 and f"{contract} BROKEN" in said, said


def test_the_tree_as_it_is_keeps_its_contracts(copy: Path) -> None:
    """So that the failures above come from the imports that were added."""
    status, said = linted(copy)
    assert status == 0 and "0 broken" in said, said
