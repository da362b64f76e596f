"""Every row of docs/guarantees.md is attacked, and every attack names a row that exists."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.support.guarantees.report import TITLES, Attack, table

TESTS = Path(__file__).resolve().parents[1]
ROWS = {promise.row for promises in TITLES.values() for promise in promises}


def marked() -> Iterator[str]:
    for path in TESTS.rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "guarantee":
                yield from (
                    one.value for one in node.args if isinstance(one, ast.Constant) and isinstance(one.value, str)
                )


def test_rows_and_attacks_match() -> None:
    """No promise goes without an attack, and no attack is lost from the table by a wrong name."""
    assert set(marked()) == ROWS


def test_a_lost_attack_shows() -> None:
    """One broken promise is named in its row, whatever else was withstood there."""
    name = "tests/guarantees/test_x.py::test_y[1]"
    text = table({name: Attack(["bounded"], False), "t": Attack(["bounded"], True, ["3 MB"])})
    assert f"**LOST**: {name}" in text
    assert "1 of 2 attacks withstood" in text


def test_figures_show() -> None:
    """What attacks measured stands in their row, once."""
    text = table({name: Attack(["bounded"], True, ["3 MB"]) for name in ("a", "b")})
    assert "withstood 2; 3 MB |" in text
