"""The order in which the arms of an evaluation run: a seeded Latin square over instances and trials.

Whatever runs later may profit from what ran before it: a warm cache, a provider's quiet hour. In a Latin square every
arm has every position equally often, so that none profits more than another.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

_Arm = TypeVar("_Arm")


def rotated(arms: Sequence[_Arm], seed: int, row: int, trial: int) -> tuple[_Arm, ...]:
    """The order of the arms for one row of instances and one trial, from 1.

    Of as many rows as there are arms, from a multiple of that number on, each arm has each position once; so it has in
    as many trials of one row.
    """
    number = len(arms)
    symbols = random.Random(f"arms {seed}").sample(arms, number)
    block, within = divmod(row, number)
    shifts = random.Random(f"rows {seed} {block}").sample(range(number), number)
    first = (shifts[within] + trial - 1) % number
    return (*symbols[first:], *symbols[:first])
