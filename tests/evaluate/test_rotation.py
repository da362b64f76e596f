"""The order of arms: balanced over instances and over trials, and the same whenever it is asked for."""

from __future__ import annotations

import pytest

from execledger.evaluate.rotation import rotated


@pytest.mark.parametrize("arms", ["a", "ab", "abcde"])
@pytest.mark.parametrize("seed", [0, 1, 2**32 - 1])
def test_every_arm_has_every_position_equally_often(arms: str, seed: int) -> None:
    """Over each block of instances, and for one instance over as many trials as there are arms."""
    number = len(arms)
    for block in range(3):
        rows = [rotated(arms, seed, block * number + row, 1) for row in range(number)]
        trials = [rotated(arms, seed, block, trial) for trial in range(1, number + 1)]
        for square in (rows, trials):
            assert all(sorted(column) == sorted(arms) for column in (*square, *zip(*square, strict=True)))


def test_the_seed_decides() -> None:
    """The same seed gives the same orders, and not every seed does."""
    orders = [[rotated("abcd", seed, row, 1) for row in range(8)] for seed in (1, 1, 2, 3)]
    assert orders[0] == orders[1]
    assert orders[2] != orders[1] != orders[3]
