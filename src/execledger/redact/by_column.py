"""Secrets whose names are in another list: the columns of a table or of CSV, an ``INSERT``, several variables at once.

A table begins where no row is before it. Its rows are processed once, at the first secret column of its head, for all
secret columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from execledger.redact.values import Name, Span, Value, is_name, string

_LINE = 4_000
"""A longer line is no row."""
_ROWS = 200
"""So many rows of an ``INSERT`` are looked at."""
_RULE = re.compile(r"[ \t]{0,80}[|+]?[ \t:=|+-]{2,4000}")
_GAP_RULE = re.compile(r"-{2,}+(?:[ \t]{1,8}+-{2,}+){1,80}+[ \t]{0,80}")
_DASHES = re.compile(r"-+")
_HEAD = re.compile(r"[A-Za-z_][\w .-]{0,60}")
_FIELD = re.compile(r"\"(?:[^\"]|\"\"){0,2000}+\"|[^,\"]{0,2000}+")
_PLAIN_WORD = re.compile(r"[A-Za-z_][A-Za-z_ ]*")
_EXPANDED = re.compile(r"[ \t]{0,80}\|[ \t](?P<value>[^\s|]{3,400}+)[ \t]{0,80}\r?(?:\n|\Z)")
_COLUMNS = re.compile(r"\([\w\s,\"'`\[\].]{0,160}\Z")
_VALUES = re.compile(r"[\w\s,\"'`\[\].]{0,400}\)\s{0,8}VALUES\s{0,8}\(\s{0,8}", re.IGNORECASE)
_NEXT_ROW = re.compile(r"[^()\r\n]{0,400}\)\s{0,4},\s{0,40}\(")
_TARGETS = re.compile(r"[ \t]{0,80}(?:(?:let|const|var|my|local)[ \t]{1,4})?[(\[]?[\w$@*. \t,]{1,120}")
_OTHER_ITEM = re.compile(r"[\w.+-]{1,80}(?:\([^()\r\n]{0,80}\))?")
_COMMA = re.compile(r"\s{0,8},\s{0,8}")


class _Layout(NamedTuple):
    """How the rows of a table are cut into cells."""

    delimiter: str
    """What is between two cells; empty where they have fixed places."""
    places: tuple[tuple[int, int], ...] = ()
    """The fixed places, as the line of dashes below the head shows them."""

    @property
    def ruled(self) -> bool:
        """Whether a line of dashes is below the head; without one, a table is recognised by its cells."""
        return self.delimiter in ("|", "")

    def cells(self, row: str) -> list[tuple[int, int]]:
        """Where the cells of a row begin and end, without spaces and quotes around them."""
        cells, at = [], 0
        for first, last in self.places:
            # A value that is longer than its column goes on up to the next space.
            space = row.find(" ", last)
            cells.append(_stripped(row, first, len(row) if space < 0 else space))
        while at <= len(row) and not self.places:
            field = _FIELD.match(row, at) if self.delimiter == "," else None
            end = row.find(self.delimiter, at) if field is None or not field[0] else field.end()
            end = len(row) if end < 0 else end
            cells.append(_stripped(row, at, end))
            at = end + 1
        return cells


def _stripped(row: str, first: int, last: int) -> tuple[int, int]:
    content = row[first:last].strip(" \t\r\"'`*")
    start = first + row[first:last].find(content)
    return start, start + len(content)


def _layout(head: str, rule: str) -> _Layout | None:
    """The layout of the table that begins with these two lines; None if it needs a line of dashes and has none."""
    rule = rule.rstrip("\r")
    if "|" in head:
        return _Layout("|") if _RULE.fullmatch(rule) else None
    if _GAP_RULE.fullmatch(rule):
        return _Layout("", tuple(found.span() for found in _DASHES.finditer(rule)))
    delimiter = "\t" if "\t" in head else ","
    return None if delimiter not in head or head[0].isspace() or ", " in head else _Layout(delimiter)


def below(name: Name) -> Iterator[Span]:
    """The values below a name, if that is the head of a column, or the values of an ``INSERT``."""
    if name.line is None:
        return
    if name.text[name.end : name.end + 1] in "|,\t\r\n \"'":
        yield from _table(name, name.start - len(name.line))
        if (expanded := _EXPANDED.match(name.text, name.end)) is not None and _in_record(name):
            yield from name.secret(Value(*expanded.span("value"), ""), 3)
    values = _VALUES.match(name.text, name.end)
    if values is not None and (columns := _COLUMNS.search(name.before)) is not None:
        yield from _inserted(name, columns[0].count(","), values)


def _in_record(name: Name) -> bool:
    return name.starts_line and name.text.rfind("-[ RECORD", max(0, name.start - 2_000), name.start) >= 0


def _line(text: str, start: int) -> str | None:
    """The line that begins at ``start``; None behind the end of the text, and if the line is too long."""
    if start > len(text):
        return None
    end = text.find("\n", start, start + _LINE)
    return text[start : end if end >= 0 else len(text)] if end >= 0 or start + _LINE >= len(text) else None


def _table(name: Name, start: int) -> Iterator[Span]:
    """The cells of every secret column, if the line at ``start`` is the first row of a table."""
    text, head = name.text, _line(name.text, start)
    rule = None if head is None else _line(text, start + len(head) + 1)
    if head is None or rule is None or (layout := _layout(head, rule)) is None:
        return
    before = text[max(0, start - _LINE) : max(0, start - 1)].rpartition("\n")[2]
    if layout.delimiter and layout.delimiter in before and not _RULE.fullmatch(before):
        return
    cells = layout.cells(head)
    heads = [head[first:last] for first, last in cells]
    if len(cells) < 2 or not (layout.ruled or all(map(_HEAD.fullmatch, heads))):
        return
    secret = [number for number, cell in enumerate(heads) if is_name(cell)]
    if not secret or cells[secret[0]][1] != name.end - start:
        return
    at = start + len(head) + 1 + (len(rule) + 1 if layout.ruled else 0)
    while (row := _line(text, at)) is not None and row.strip() and layout.delimiter in row:
        places = layout.cells(row)
        if layout.ruled and _RULE.fullmatch(row.rstrip("\r")):
            return
        if not layout.ruled and len(places) != len(cells):
            return
        for first, last in (places[number] for number in secret if number < len(places)):
            content = row[first:last]
            if " " not in content and (layout.ruled or not _PLAIN_WORD.fullmatch(content)):
                yield from name.secret(Value(at + first, at + last, ""), 3)
        at += len(row) + 1


def _inserted(name: Name, number: int, values: re.Match[str] | None) -> Iterator[Span]:
    """The values for the column ``number`` of an ``INSERT``, whose first row begins behind ``values``."""
    for _ in range(_ROWS):
        if values is None:
            return
        value = _item(name.text, values.end(), number)
        yield from name.secret(value)
        values = _NEXT_ROW.match(name.text, values.end() if value is None else value.end)


def of_tuple(name: Name, at: int) -> Value | None:
    """The string at the place of ``name`` in ``user, name = "a", "b"``; None if there is one value, or no string."""
    before = name.line
    if before is None or "," not in before or _TARGETS.fullmatch(before) is None:
        return None
    return _item(name.text, at, before.count(","))


def _item(text: str, at: int, number: int) -> Value | None:
    """The string that is the item ``number`` of the list that begins at ``at``; None if another item is there."""
    for _ in range(number):
        value = string(text, at)
        other = _OTHER_ITEM.match(text, at)
        end = value.end + len(value.quote) if value is not None else other.end() if other is not None else at
        comma = _COMMA.match(text, end)
        if comma is None:
            return None
        at = comma.end()
    return string(text, at + (text[at : at + 1] == "N"))
