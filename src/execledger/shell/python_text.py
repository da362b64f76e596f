"""Python text, read without a grammar: sound text by Python's own parser, fragments by their indentation.

An edit's text is often a piece from the middle of a file. There the indentation says more than error recovery does, and
says it several times as fast.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from functools import lru_cache

from msgspec import Struct

MAX_CHARACTERS = 500_000
"""Longer texts are not read."""


@lru_cache(maxsize=8)
def parse_python(text: str) -> ast.Module | None:
    """The syntax tree of ``text``; None if it is not sound, too long or too deep.

    A script is looked at when it is written and again when it is run, so the last few trees are kept.
    """
    if len(text) > MAX_CHARACTERS:
        return None
    try:
        with warnings.catch_warnings():
            # An odd escape in somebody's text is no concern of ours.
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def python_definitions(text: str) -> list[tuple[str, int, int, bool]]:
    """Of each definition the qualified name, first and last line (from 0), and whether it is a class; outer first."""
    tree = parse_python(text)
    return list(_in_body(tree.body, "")) if tree is not None else _by_indentation(text[:MAX_CHARACTERS])


def _in_body(body: list[ast.stmt], scope: str) -> Iterator[tuple[str, int, int, bool]]:
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            yield scope + node.name, first - 1, (node.end_lineno or node.lineno) - 1, isinstance(node, ast.ClassDef)
            yield from _in_body(node.body, f"{scope}{node.name}.")
        else:
            for inner in _blocks(node):
                yield from _in_body(inner, scope)


def _blocks(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The bodies of a compound statement."""
    for name in ("body", "orelse", "finalbody"):
        yield getattr(node, name, [])
    for clause in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield clause.body


HEAD = re.compile(r"(?:async\s+)?(def|class)\s+(\w+)\s*(?:[(:\[]|$)")
"""The head of a definition."""


class _Open(Struct):
    """A definition whose end was not seen yet."""

    indent: int
    name: str
    first: int
    last: int
    is_class: bool


def _by_indentation(text: str) -> list[tuple[str, int, int, bool]]:
    """The definitions of a fragment: each reaches to the last line that is indented deeper than its head."""
    scope: list[_Open] = []
    found: list[_Open] = []
    decorated: int | None = None
    for number, line in enumerate(text.expandtabs(8).split("\n")):
        code = line.lstrip()
        if not code or code.startswith("#"):
            continue
        indent = len(line) - len(code)
        # The closing bracket of a long head stands as far left as the head itself.
        while scope and indent <= scope[-1].indent and code[0] not in ")]}":
            scope.pop()
        head = HEAD.match(code)
        if head:
            name = ".".join([*(outer.name for outer in scope[-1:]), head[2]])
            first = number if decorated is None else decorated
            scope.append(_Open(indent, name, first, number, head[1] == "class"))
            found.append(scope[-1])
        decorated = (number if decorated is None else decorated) if code.startswith("@") else None
        for outer in scope:
            outer.last = number
    return [(each.name, each.first, each.last, each.is_class) for each in found]
