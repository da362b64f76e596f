"""The model of a table (sections of rows of cells), and the formatting of figures as the text of cells."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct

from execledger.runs.account import dollars

Value = float | str | tuple[float | None, ...] | tuple[str, ...] | None


class Cell(Struct, frozen=True):
    """A cell of a table: the text that is printed, and the number behind it."""

    text: str
    """The printed text."""
    value: Value = None
    """The number behind the text, unrounded; shares and changes as fractions. None if it is not known."""
    estimated: bool = False
    """True if the figure rests on estimated tokens; the text then begins with ``~``."""
    best: bool = False
    """True if the figure is the best of those that it is compared with; it is printed in bold."""


Row = tuple[Cell, ...]


class Section(Struct, frozen=True):
    """Consecutive rows of a table under a common heading."""

    title: str
    """The heading; may be empty."""
    rows: tuple[Row, ...]
    """The rows; each has one cell per column of the table."""


class Table(Struct, frozen=True, kw_only=True):
    """A table, independent of the format that it is printed in."""

    name: str
    """Identifier of the table; the label in LaTeX."""
    title: str
    """Title of the table."""
    columns: tuple[str, ...]
    """Column headings."""
    groups: tuple[tuple[str, int], ...] = ()
    """Headings above the column headings, with the number of columns that each spans; together they span all."""
    left: int = 1
    """Number of columns, from the left, that hold text; the others hold figures."""
    wide: bool = False
    """True if the last column holds long text that has to be wrapped."""
    sections: tuple[Section, ...]
    """Sections of rows."""
    notes: tuple[str, ...] = ()
    """Footnotes."""

    @property
    def rows(self) -> tuple[Row, ...]:
        """All rows, without the headings of sections."""
        return tuple(row for section in self.sections for row in section.rows)

    @property
    def headings(self) -> tuple[str, ...]:
        """Column headings in one line each: the heading of the group in front of the column's own."""
        above = [title for title, span in self.groups or (("", len(self.columns)),) for _ in range(span)]
        return tuple(": ".join(filter(None, pair)) for pair in zip(above, self.columns, strict=True))

    def aligned_left(self, column: int) -> bool:
        """Return whether a column holds text and is aligned to the left."""
        return column < self.left or (self.wide and column == len(self.columns) - 1)


class Unit(StrEnum):
    """Unit of a figure; decides how it is formatted."""

    COUNT = "count"
    MONEY = "money"
    SMALL_MONEY = "small money"
    TOKENS = "tokens"
    SHARE = "share"


VISIBLE = 0.0005
"""Relative difference from which a change is shown as other than 0.0 %."""
MOST_FURTHER = 4
"""Decimals that figures get at most beyond the usual ones."""
UNKNOWN = Cell("unknown")
"""Cell for a figure that was not measured."""
ABSENT = Cell("-")
"""Cell for a figure that does not apply, such as the cost of an arm that was not run."""


def text_cell(text: str) -> Cell:
    """Return a cell that holds a text."""
    return Cell(text, text)


def figure_cell(value: float | None, unit: Unit, *, estimated: bool = False, further: int = 0) -> Cell:
    """Return a cell with a figure in its unit, with further decimals if any; ``UNKNOWN`` for None."""
    if value is None:
        return UNKNOWN
    return _marked(format_figure(value, unit, further), value, estimated=estimated)


def figures_cell(values: tuple[float, ...], unit: Unit, *, estimated: bool = False) -> Cell:
    """Return a cell with several figures of one unit, such as those of trials."""
    mark = "~" if estimated else ""
    further = further_decimals(values, unit)
    return Cell("; ".join(mark + format_figure(value, unit, further) for value in values), values, estimated)


def percent_cell(value: float | None) -> Cell:
    """Return a cell with a share, such as ``18.3%``; ``ABSENT`` for None."""
    return ABSENT if value is None else Cell(f"{value:.1%}", value)


def change_cell(value: float | None, unit: Unit = Unit.COUNT, *, estimated: bool = False) -> Cell:
    """Return a cell with a relative change, such as ``-28.9%``; of shares, the difference in percentage points."""
    return ABSENT if value is None else _marked(_signed(value, unit), value, estimated=estimated)


def interval_cell(bounds: tuple[float, float] | None, unit: Unit = Unit.COUNT, *, estimated: bool = False) -> Cell:
    """Return a cell with the confidence interval of a change; ``ABSENT`` for None."""
    if bounds is None:
        return ABSENT
    return _marked(f"{_signed(bounds[0], unit)} to {_signed(bounds[1], unit)}", bounds, estimated=estimated)


def p_value_cell(values: Iterable[float]) -> Cell:
    """Return a cell with the p-values of a test, one per trial; ``ABSENT`` without any."""
    found = tuple(values)
    return Cell("; ".join("<0.001" if p < 0.001 else f"{p:.3f}" for p in found), found) if found else ABSENT


def format_figure(value: float, unit: Unit, further: int = 0) -> str:
    """Format a figure in its unit, with further decimals if any: ``$23.60``, ``131.7M``, ``10,171``, ``73.4%``."""
    size = abs(value)
    match unit:
        case Unit.MONEY | Unit.SMALL_MONEY:
            return dollars(value, (2 if unit is Unit.MONEY else 3) + further)
        case Unit.TOKENS if size >= 1e6:
            return f"{value / 1e6:,.{1 + further}f}M"
        case Unit.TOKENS if size >= 1e4:
            return f"{value / 1e3:,.{1 + further}f}K"
        case Unit.SHARE:
            return f"{value:.{1 + further}%}"
    return format_count(value, further)


def format_count(value: float, further: int = 0) -> str:
    """Format a count; the mean of several counts gets one decimal unless it is whole."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.{1 + further}f}"


def further_decimals(values: Iterable[float | None], unit: Unit) -> int:
    """Return how many further decimals figures that are compared need for their difference to be visible.

    Changes are shown in tenths of a percent: figures that differ by ``VISIBLE`` of the larger one or more get texts
    that differ.
    """
    known = sorted({value for value in values if value is not None})
    for further in range(MOST_FURTHER):
        alike: dict[str, list[float]] = {}
        for value in known:
            alike.setdefault(format_figure(value, unit, further), []).append(value)
        widest = ((one[0], one[-1]) for one in alike.values() if len(one) > 1)
        if not any(high - low >= VISIBLE * max(abs(low), abs(high)) for low, high in widest):
            return further
    return MOST_FURTHER


def _signed(value: float, unit: Unit) -> str:
    shown = round(value * 100, 1) + 0.0  # Adding zero turns -0.0 into 0.0.
    return f"{shown:+.1f}" if unit is Unit.SHARE else f"{shown:+.1f}%"


def _marked(text: str, value: Value, *, estimated: bool) -> Cell:
    return Cell(("~" if estimated else "") + text, value, estimated)
