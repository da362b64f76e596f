"""The bar of a running evaluation."""

from __future__ import annotations

import io

from rich.console import Console

from execledger.evaluate.progress import Bar
from execledger.evaluate.results import Result


def result(cost: float | None) -> Result:
    return Result(instance_id="a", model_name_or_path="m", model_patch="", ended="Submitted", cost=cost)


def shown(bar: Bar, out: io.StringIO) -> str:
    with bar:
        bar.add([result(1.5), result(None)])
    return out.getvalue()


def test_on_a_terminal_it_shows_counts_cost_and_time_left() -> None:
    """What was finished before counts, and what has no price does not."""
    out = io.StringIO()
    text = shown(Bar(8, [result(2.0)], Console(file=out, force_terminal=True, width=100, color_system=None)), out)
    for part in ("evaluating", "3/8", "$3.50", "left:"):
        assert part in text


def test_elsewhere_it_says_nothing() -> None:
    """A log is no place for a bar; the counts are kept all the same."""
    out = io.StringIO()
    bar = Bar(8, [], Console(file=out, width=100))
    assert (shown(bar, out), bar.done, bar.spent) == ("", 2, "$1.50")


def test_a_cost_that_nobody_told_is_unknown() -> None:
    """It is not zero."""
    assert Bar(2, [result(None)], Console(file=io.StringIO())).spent == "cost unknown"
