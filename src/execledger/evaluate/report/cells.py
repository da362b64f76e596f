"""Cells of a table: a figure as people read it, and the number behind it."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct

Value = float | str | tuple[float | None, ...] | tuple[str, ...] | None


class Cell(Struct, frozen=True):
    """One cell."""

    text: str
    """What is read."""
    value: Value = None
    """The number behind it, unrounded; shares and changes as fractions. None where it is not known."""
    estimated: bool = False
    """It rests on estimated tokens; the text says so by its mark."""
    best: bool = False
    """It is the best of those that it is compared with, and set in bold."""


class Unit(StrEnum):
    """How a figure is written."""

    COUNT = "count"
    MONEY = "money"
    SMALL_MONEY = "small money"
    TOKENS = "tokens"
    SHARE = "share"


UNKNOWN = Cell("unknown")
ABSENT = Cell("-")


def words(text: str) -> Cell:
    """A cell of words."""
    return Cell(text, text)


def figure(value: float | None, unit: Unit, *, estimated: bool = False) -> Cell:
    """A figure in its unit; an estimate is marked."""
    if value is None:
        return UNKNOWN
    return _marked(write(value, unit), value, estimated=estimated)


def figures(values: tuple[float, ...], unit: Unit, *, estimated: bool = False) -> Cell:
    """Several figures in their unit, such as those of trials; estimates are marked."""
    mark = "~" if estimated else ""
    return Cell("; ".join(mark + write(value, unit) for value in values), values, estimated)


def _marked(text: str, value: Value, *, estimated: bool) -> Cell:
    return Cell(("~" if estimated else "") + text, value, estimated)


def write(value: float, unit: Unit) -> str:
    """A figure in its unit: ``$23.60``, ``131.7M``, ``10,171``, ``73.4%``."""
    match unit:
        case Unit.MONEY | Unit.SMALL_MONEY:
            return _money(value, 2 if unit is Unit.MONEY else 3)
        case Unit.TOKENS if value >= 1e6:
            return f"{value / 1e6:,.1f}M"
        case Unit.TOKENS if value >= 1e4:
            return f"{value / 1e3:,.1f}K"
        case Unit.SHARE:
            return f"{value:.1%}"
    return count(value)


def _money(value: float, digits: int) -> str:
    """Dollars; more digits where they would all be zero, as for runs of a few cents."""
    while 0 < value < 10**-digits and digits < 6:
        digits += 1
    return f"${value:,.{digits}f}"


def count(value: float) -> str:
    """A number of things, with one decimal if it is a mean that is not whole."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def percent(value: float | None) -> Cell:
    """A share, such as ``18.3%``."""
    return ABSENT if value is None else Cell(f"{value:.1%}", value)


def changed(value: float | None, unit: Unit = Unit.COUNT, *, estimated: bool = False) -> Cell:
    """A relative change, such as ``-28.9%``; of shares, the difference in percentage points."""
    return ABSENT if value is None else _marked(_signed(value, unit), value, estimated=estimated)


def between(bounds: tuple[float, float] | None, unit: Unit = Unit.COUNT, *, estimated: bool = False) -> Cell:
    """The interval of a change."""
    if bounds is None:
        return ABSENT
    return _marked(f"{_signed(bounds[0], unit)} to {_signed(bounds[1], unit)}", bounds, estimated=estimated)


def _signed(value: float, unit: Unit) -> str:
    shown = round(value * 100, 1) + 0.0  # The sum of a zero below zero and zero is above it.
    return f"{shown:+.1f}" if unit is Unit.SHARE else f"{shown:+.1f}%"


def p_value(values: Iterable[float]) -> Cell:
    """The result of a test, one for each trial."""
    found = tuple(values)
    return Cell("; ".join("<0.001" if p < 0.001 else f"{p:.3f}" for p in found), found) if found else ABSENT
