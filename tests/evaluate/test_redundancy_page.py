"""The tables of ``execledger replay`` and of its page where tokens were written to a cache."""

from __future__ import annotations

import re

import pytest
from rich.console import Console

from execledger.cli.replay import costs
from execledger.evaluate.counterfactual import Amount, Counterfactual, RedundancyClass
from execledger.evaluate.redundancy import Kind
from execledger.evaluate.redundancy_page import redundancy_page
from execledger.runs.usage import Tokens


def found(written: int) -> Counterfactual:
    """One run with one redundant read of one file, of which so many tokens were written to the cache."""
    there = Amount(Tokens(uncached=300, written=written, cached=900), 0.5)
    read = RedundancyClass(calls=1, there=there)
    own = Amount(Tokens(uncached=1_000, written=written, cached=9_000), 2.0)
    return Counterfactual(
        runs=1,
        priced={"m": 1},
        own=own,
        classes={Kind.COVERED: read},
        files={"a.py": read},
        price_dates={"m": "2026-01-01"},
    )


@pytest.mark.parametrize(("written", "heads"), [(0, ["uncached", "cached"]), (70, ["uncached", "written", "cached"])])
def test_written_tokens_have_a_column_of_the_cost_table_where_there_are_any(written: int, heads: list[str]) -> None:
    """They are never part of the uncached ones, whose price is another one."""
    table = costs(found(written))
    assert [column.header for column in table.columns] == ["input tokens", "calls", *heads, "dollars", "share"]
    cells = {str(column.header): [*column.cells] for column in table.columns}
    assert cells["uncached"][:2] == ["1,000", "300"]
    assert cells.get("written", ["70", "70"])[:2] == ["70", "70"]
    Console(quiet=True).print(table)


@pytest.mark.parametrize(("written", "more"), [(0, []), (70, ["written to the cache"])])
def test_written_tokens_have_a_column_of_the_page_where_there_are_any(written: int, more: list[str]) -> None:
    """In its tables by kind and by file."""
    one = found(written)
    page = redundancy_page(one, one.worth(), 3)
    for title in ("kind", "file"):
        (head,) = re.findall(rf"<tr><th>{title}</th>(.*?)</tr>", page)
        assert re.findall(r"<th>(.*?)</th>", head) == ["calls", "uncached", *more, "cached", "cost", ""]
    assert ("<td>300</td><td>70</td><td>900</td>" in page) is bool(written)


def test_the_rows_of_the_page_add_up_to_the_net_that_it_states() -> None:
    """What views keep out of the cache is uncached instead of cached: more cached tokens are left than were saved."""
    one = found(0)
    one.classes[Kind.COVERED].saved = Amount(Tokens(uncached=200, cached=800), 0.4)
    one.views, one.kept_out = Amount(Tokens(uncached=50), 0.1), Amount(Tokens(uncached=30, cached=-30), 0.1)
    one.remarks = Amount(Tokens(uncached=10, cached=20), 0.1)
    page = redundancy_page(one, one.worth(), 3)
    (table,) = re.findall(r"<table><thead><tr><th>tokens</th>.*?</table>", page, re.DOTALL)
    rows = re.findall(r"<tr><td>(.*?)</td>" + r"<td>([-\d,]+)</td>" * 4, table)
    assert rows == [
        ("the session as it was", "1,000", "0", "9,000", "0"),
        ("would have been saved", "200", "0", "800", "0"),
        ("taken by remarks", "-10", "0", "-20", "0"),
        ("taken by views", "-50", "0", "0", "0"),
        ("kept out of the cache by views", "-30", "0", "30", "0"),
        ("net", "110", "0", "810", "0"),
    ]
    assert "net +110 uncached and +810 cached tokens" in page
    assert table.count("width:0.30%") == 1, "the bar of what is kept out of the cache is the uncached part of it"
