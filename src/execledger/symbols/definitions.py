"""The definitions in a piece of source text, with the lines that they span.

Qualified names are joined by dots in every language: ``Model.save`` for a method, a Go receiver, a Rust ``impl`` and
for C++ ``Model::save``, whether it is defined in its class or outside. Type parameters are left out.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct

from execledger.shell.python_code import MAX_CHARACTERS, python_definitions
from execledger.symbols.fragments import Fragment, parse_fragment
from execledger.symbols.languages import FILLER, Language

if TYPE_CHECKING:
    import tree_sitter

MAX_NAME = 200
"""Longer names are no names."""

# A statement that starts in the middle can look like a definition: ``else if (x) {``.
_STATEMENTS = frozenset(("if", "else", "for", "while", "switch", "return"))
_TYPE_ARGUMENTS = re.compile(r"<[^<>=]*>|(?<=\w)\[.*\]$")


class Definition(Struct, frozen=True):
    """One function, class or other type."""

    name: str
    """The qualified name."""
    first: int
    """The first line, from 0, decorators included."""
    last: int
    """The last line."""
    is_type: bool = False
    """It is a class or another type, not a function."""


class _Found(Struct):
    """A definition as the grammar marked it."""

    start: int
    end: int
    first: int
    last: int
    name: str
    kind: str


def definitions(language: Language, text: str, *, heading: bool = False) -> list[Definition] | None:
    """The definitions in a text, the outer before the inner; None if it cannot be parsed.

    A ``heading`` is the first line of a definition alone.
    """
    if language.indented:
        return None if len(text) > MAX_CHARACTERS else [Definition(*each) for each in python_definitions(text)]
    fragment = parse_fragment(language, text, heading=heading)
    if fragment is None:
        return None
    found, preludes = _matches(fragment)
    scope: list[_Found] = []
    named: list[Definition] = []
    for item in sorted(found, key=lambda item: (item.start, -item.end)):
        while scope and scope[-1].end < item.end:
            scope.pop()
        scope.append(item)
        if item.kind != "space" and item.name != FILLER:
            name = ".".join(outer.name for outer in scope if outer.name != FILLER)
            first = item.first
            while first - 1 in preludes:
                first = preludes[first - 1]
            rows = max(0, first - fragment.offset), item.last - fragment.offset
            named.append(Definition(name, *rows, item.kind == "type"))
    return named


def _matches(fragment: Fragment) -> tuple[list[_Found], dict[int, int]]:
    """What the query marks: the definitions, and the decorators as last line -> first line."""
    from tree_sitter import QueryCursor

    found: dict[tuple[int, int], _Found] = {}
    preludes: dict[int, int] = {}
    for _, captures in QueryCursor(fragment.grammar.definitions).matches(fragment.tree.root_node):
        for kind in ("function", "type", "space"):
            for node in captures.get(kind, ()):
                written = captures.get("owner", []) + captures["name"]
                name = ".".join(_clean(fragment.source[part.start_byte : part.end_byte]) for part in written)
                span = node.start_byte, node.end_byte
                if 0 < len(name) <= MAX_NAME and name not in _STATEMENTS:
                    found.setdefault(span, _Found(*span, *_rows(node), name, kind))
        for node in captures.get("prelude", ()):
            first, last = _rows(node)
            preludes[last] = first
    return list(found.values()), preludes


def _rows(node: tree_sitter.Node) -> tuple[int, int]:
    """The first and last line of a node; one that ends at the start of a line does not reach into it."""
    # Points are unpacked, because their ``row`` loses a reference with each use in tree-sitter 0.26.0.
    first, _ = node.start_point
    last, column = node.end_point
    return first, max(first, last if column else last - 1)


def _clean(written: bytes) -> str:
    """A name without quotes, type parameters, pointers and spaces."""
    name = "".join(written.decode("utf-8", "replace").split()).strip("*&'\"")
    while (shorter := _TYPE_ARGUMENTS.sub("", name)) != name:
        name = shorter
    return name.replace("::", ".").strip(".")
