"""Every row of docs/guarantees.md is attacked, and every attack names a row that exists."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.support.guarantees.report import TITLES, Attack, table

TESTS = Path(__file__).resolve().parents[1]
ROWS = {promise.row for promises in TITLES.values() for promise in promises}


def marked(*, short: bool = False) -> Iterator[str]:
    """The rows that tests name, or those of tests that are not left to the long form as a whole."""
    for path in TESTS.rglob("test_*.py"):
        body = ast.parse(path.read_text(encoding="utf-8")).body
        if short and any(isinstance(one, ast.Assign) and is_long(one.value) for one in body):
            continue
        for statement in body:
            left_out = short and isinstance(statement, ast.FunctionDef) and any(map(is_long, statement.decorator_list))
            yield from () if left_out else named(statement)


def is_long(mark: ast.expr) -> bool:
    """Whether a decorator, or one of a module's marks, is `pytest.mark.long`; a parameter may be marked as well."""
    marks = mark.elts if isinstance(mark, ast.List) else [mark]
    return any(ast.unparse(one) == "pytest.mark.long" for one in marks)


def named(statement: ast.stmt) -> Iterator[str]:
    """The rows that a test or a mark of a module names."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "guarantee":
            yield from (one.value for one in node.args if isinstance(one, ast.Constant) and isinstance(one.value, str))


def test_rows_and_attacks_match() -> None:
    """No promise goes without an attack, and no attack is lost from the table by a wrong name."""
    assert set(marked()) == ROWS


def test_every_row_is_attacked_in_ci() -> None:
    """An attack that only the long form carries out is not the only one of its row."""
    assert set(marked(short=True)) == ROWS


def test_what_is_left_to_the_long_form_is_told() -> None:
    """By a mark of the test or of its module, and not by that of a parameter."""
    source = "@pytest.mark.long\ndef f(): ...\n\npytestmark = [pytest.mark.clients, pytest.mark.long]\n"
    source += "@pytest.mark.parametrize('a', [pytest.param(1, marks=pytest.mark.long)])\ndef g(): ...\n"
    first, module, other = ast.parse(source).body
    assert isinstance(first, ast.FunctionDef) and isinstance(module, ast.Assign) and isinstance(other, ast.FunctionDef)
    assert [is_long(one) for one in (*first.decorator_list, module.value, *other.decorator_list)] == [True, True, False]


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
