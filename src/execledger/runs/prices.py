"""What tokens cost: one dated table of prices, the same for every arm, and the user's own prices over it."""

from __future__ import annotations

import datetime
import functools
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from execledger.errors import LedgerError
from execledger.runs.usage import Tokens

ASSUMED = "gpt-5"
"""Whose price runs of unknown models are given where a price is needed: saved and spent are then in proportion."""
SHIPPED = Path(__file__).with_name("prices.toml")
MILLION = 1_000_000
# A price above this is a unit mistaken; the bound also keeps out what is not a number.
_HIGHEST = 100_000
Dollars = Annotated[float, Meta(ge=0, le=_HIGHEST)]

# What may stand in front of a model's own name: providers, routers, regions.
_PREFIX = re.compile(r"^@?(?:.*/)?(?:[a-z]+\.)*")
# What may stand behind it: a date, a version of the deployment, a word for its state or for the reasoning effort.
_SUFFIX = re.compile(
    r"(?:[-@]\d{4}-\d{2}-\d{2}|[-@]\d{8}|-v\d+(?::\d+)?|:[a-z]+"
    r"|-(?:latest|preview|minimal|low|medium|high|xhigh|thinking))$"
)


class Price(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a model's tokens cost, in dollars per million."""

    uncached: Dollars
    """Input that no cache served."""
    cached: Dollars | None = None
    """Input read from a cache; as uncached where the provider gives no discount."""
    written: Dollars | None = None
    """Input written to a cache; as uncached where that has no price of its own."""
    output: Dollars
    """Output, reasoning included."""
    source: str = ""
    """Whose list it stands in."""

    def cost(self, tokens: Tokens) -> float:
        """Dollars: the sum of each kind of tokens times its price; unknown counts add nothing."""
        cached = self.uncached if self.cached is None else self.cached
        written = self.uncached if self.written is None else self.written
        total = (tokens.uncached or 0) * self.uncached + (tokens.cached or 0) * cached
        return (total + (tokens.written or 0) * written + (tokens.output or 0) * self.output) / MILLION


class Prices(Struct, frozen=True):
    """Prices by model, with the day of which they are."""

    date: str
    """The day; of several tables the days of each, in the order of their precedence."""
    models: Mapping[str, Price]
    """Prices by the model's plain name."""
    spelled: Mapping[str, str] = {}
    """The names as the table has them, by plain name."""
    dates: Mapping[str, str] = {}
    """Of several tables, the day of each price, by plain name."""

    def price(self, model: str) -> Price | None:
        """The price of a model under any of its names; None if the table has none."""
        return next((self.models[name] for name in names(model) if name in self.models), None)

    def charged(self, model: str) -> tuple[str, Price]:
        """The price of a model and its name in the table; the assumed one if the table has none."""
        known = next((name for name in names(model) if name in self.models), None)
        if known is not None:
            return self.spelled.get(known, known), self.models[known]
        return f"{ASSUMED} (assumed)", self.models.get(ASSUMED) or shipped().models[ASSUMED]

    def day(self, model: str) -> str:
        """The day of the price that ``charged`` gives a model."""
        known = next((name for name in (*names(model), ASSUMED) if name in self.models), None)
        return shipped().date if known is None else self.dates.get(known, self.date)

    def cost(self, tokens: Tokens | None, model: str) -> float | None:
        """Dollars for these tokens; None where the price or the tokens are not known."""
        price = self.price(model)
        return None if price is None or tokens is None else price.cost(tokens)

    def over(self, other: Prices) -> Prices:
        """These prices, and the other's for models that these do not have."""
        return Prices(
            date=f"{self.date}, {other.date}",
            models={**other.models, **self.models},
            spelled={**other.spelled, **self.spelled},
            dates={name: table.dates.get(name, table.date) for table in (other, self) for name in table.models},
        )


def by_day(days: Mapping[str, str]) -> dict[str, list[str]]:
    """The models of each day, both in order, of the day of each model's price."""
    return {day: sorted(name for name in days if days[name] == day) for day in sorted({*days.values()})}


def names(model: str) -> Iterator[str]:
    """The plain names that a model may stand under: as it is, without the provider, then without each suffix."""
    name = model.strip().lower()
    yield _plain(name)
    name = _PREFIX.sub("", name)
    yield _plain(name)
    while (shorter := _SUFFIX.sub("", name)) != name:
        name = shorter
        yield _plain(name)


def _plain(name: str) -> str:
    """One spelling: ``MiniMax M2.5``, ``minimax_m2.5`` and ``minimax-m2-5`` are the same."""
    return re.sub(r"[\s._]+", "-", name)


@functools.cache
def shipped() -> Prices:
    """The table that comes with Ledger."""
    return read_prices(SHIPPED)


def load_prices(path: Path | None = None) -> Prices:
    """The shipped table, with the user's own over it."""
    return shipped() if path is None else read_prices(path).over(shipped())


def read_prices(path: Path) -> Prices:
    """The table in one file."""
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise LedgerError(f"{path}: {error.strerror}, expected a table of prices") from None
    except (ValueError, RecursionError) as error:
        raise LedgerError(f"{path} is not TOML: {error}") from None
    unknown = [key for key in raw if key not in ("date", "models")]
    if unknown:
        raise LedgerError(f"{path} has the unknown key `{unknown[0]}`", hint="allowed are: date, models")
    models = _models(raw.get("models"), path)
    # The names in the file are in the order of the models.
    spelled = dict(zip(models, raw["models"], strict=True))
    return Prices(date=_date(raw.get("date"), path), models=models, spelled=spelled)


def _date(value: Any, path: Path) -> str:
    try:
        return datetime.date.fromisoformat(str(value)).isoformat()
    except ValueError:
        found = "is missing" if value is None else f"is {value!r}"
        raise LedgerError(f'{path}: `date` {found}, expected the day of the prices, such as "2026-11-15"') from None


def _fault(value: Any) -> str:
    """What is wrong with the price of a model."""
    if not isinstance(value, dict):
        return f"is {value!r}, expected a table with the price of a model"
    for key, found in value.items():
        if key not in Price.__struct_fields__:
            return f"the key `{key}` is unknown"
        number = isinstance(found, int | float) and not isinstance(found, bool) and 0 <= found <= _HIGHEST
        if key != "source" and not number:
            return f"`{key}` is {found!r}, expected dollars from 0 to {_HIGHEST:,}"
        if key == "source" and not isinstance(found, str):
            return f"`source` is {found!r}, expected a text"
    missing = next(key for key in ("uncached", "output") if key not in value)
    return f"`{missing}` is missing, expected dollars from 0 to {_HIGHEST:,}"


def _models(values: Any, path: Path) -> dict[str, Price]:
    if not isinstance(values, dict) or not values:
        raise LedgerError(f"{path}: `models` is missing or empty, expected a table [models.NAME] for each model")
    models: dict[str, Price] = {}
    for name, value in values.items():
        try:
            price = msgspec.convert(value, Price)
        except msgspec.ValidationError:
            hint = f"keys are: {', '.join(Price.__struct_fields__)}; prices are dollars per million tokens"
            raise LedgerError(f'{path}: [models."{name}"]: {_fault(value)}', hint=hint) from None
        plain = _plain(name.strip().lower())
        if plain in models:
            raise LedgerError(f'{path}: [models."{name}"] stands there under another spelling as well, expected once')
        models[plain] = price
    return models
