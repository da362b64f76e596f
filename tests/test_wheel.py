"""What is installed: the product, without the tests and without what only they import."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "execledger"
ONLY_FOR_TESTS = frozenset(
    {"_pytest", "axe_playwright_python", "hypothesis", "inline_snapshot", "playwright", "pytest", "tests", "xdist"}
)

BLOCKED_IMPORTS = """
import sys
blocked = set(sys.argv[1].split(","))
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in blocked:
            raise AssertionError(f"imports {name}")
sys.meta_path.insert(0, Blocker())
import execledger.testing.adapters, execledger.testing.scripted_model
import execledger.demo.live, execledger.demo.mini, execledger.demo.recorded, execledger.demo.repository
from execledger.cli.main import main
sys.argv[1:] = ["demo", "--recorded"]
main()
"""


def imported(path: Path) -> Iterator[tuple[int, str]]:
    """The line and the top-level name of every import of a file, also inside functions."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name.partition(".")[0]) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.lineno, (node.module or "").partition(".")[0]


def collected(path: Path) -> list[str]:
    """The functions of a file that pytest would run, by name."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]


def test_the_wheel_is_the_package_alone() -> None:
    """The wheel holds the folder of the package and nothing else, and in that folder there are no tests."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert settings["tool"]["hatch"]["build"]["targets"]["wheel"] == {"packages": ["src/execledger"]}
    names = {part for path in PACKAGE.rglob("*") for part in path.relative_to(PACKAGE).parts}
    assert names.isdisjoint({"tests", "conftest.py"})
    assert [path for path in sorted(PACKAGE.rglob("*.py")) if collected(path)] == []


def test_no_module_imports_what_only_tests_need() -> None:
    """No module of the package imports pytest, hypothesis, playwright or a module of the tests."""
    found = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for line, name in imported(path)
        if name in ONLY_FOR_TESTS
    ]
    assert found == []


def test_the_demo_and_the_kit_run_without_it() -> None:
    """The demo and the testing kit run where none of these can be imported."""
    command = [sys.executable, "-I", "-c", BLOCKED_IMPORTS, ",".join(sorted(ONLY_FOR_TESTS))]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "references, 0 of them false" in done.stdout
