"""Compares the plans of evaluations (``RunRow.plan``): what differs, and the shortest names that tell them apart."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from typing import Any

import msgspec

DEFAULT = "default"
"""Stands for a value that a plan leaves to the agent or the provider."""
MISSING = "none"
"""Stands for a setting or a program that only other plans have."""
NO_PLAN = "no plan"
"""Label of runs that ``eval run`` did not start, beside runs that it did."""
_LONGEST = 30
"""Number of characters beyond which a value is named by its digest."""


def values_of(plan: str) -> dict[str, str]:
    """Return the values of a plan in words, by their keys; empty for runs without a plan."""
    fields: dict[str, Any] = msgspec.json.decode(plan) if plan else {}
    return {name: _shown(value) for name, value in fields.items()}


def _shown(value: Any) -> str:
    if value in (None, ""):
        return DEFAULT
    plain = isinstance(value, str) and value not in (DEFAULT, MISSING)
    text = value if plain else msgspec.json.encode(value).decode()
    return text if len(text) <= _LONGEST else f"#{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def differing(plans: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return the keys whose values differ between these plans, in the order of a plan, with the values."""
    known = [values_of(plan) for plan in plans]
    names = dict.fromkeys(name for one in known for name in one)
    found = {name: tuple(dict.fromkeys(one.get(name, MISSING) for one in known)) for name in names}
    return {name: values for name, values in found.items() if len(values) > 1}


def labels(plans: Sequence[str], *, aside: Collection[str] = ()) -> dict[str, str]:
    """Return a label for each plan, of as few keys as tell them apart; keys ``aside`` are left out.

    A plan that nothing else tells apart from another one has the same label; "" if all plans have the same.
    """
    known = {plan: values_of(plan) for plan in plans if plan}
    names = [name for name in differing(known) if name not in aside]

    def kinds(chosen: Sequence[str]) -> int:
        return len({tuple(one.get(name, MISSING) for name in chosen) for one in known.values()})

    chosen: list[str] = []
    while kinds(chosen) < kinds(names):
        chosen.append(max(names, key=lambda name: kinds([*chosen, name])))
    found = {plan: ", ".join(f"{name}={one.get(name, MISSING)}" for name in chosen) for plan, one in known.items()}
    return found | ({"": NO_PLAN if known else ""} if "" in plans else {})
