"""The paper's figures, from its own counts: what it prints is what the tables print."""

from __future__ import annotations

import pytest

from execledger.evaluate.records import RunRow
from execledger.evaluate.report.arms import settings
from execledger.evaluate.report.comparison import COST, compare, gain
from execledger.evaluate.report.table import Table
from execledger.evaluate.report.tables import ablation, efficiency, main, published, scaffold
from execledger.evaluate.statistics import mcnemar
from execledger.runs.prices import shipped
from execledger.runs.usage import Tokens
from tests.evaluate.report.paper import (
    ABLATION_CALLS,
    ABLATION_COST_CHANGES,
    ABLATION_PRINTED,
    CACHE_HITS,
    CODEX,
    COMPARED,
    GPT,
    MINIMAX,
    PUBLISHED,
    Compared,
    ablation_rows,
    compared_rows,
)

MEASURES = {
    "Total cost (USD)": "cost",
    "Cost per resolved instance": "cost_per_resolved",
    "Input tokens": "input_tokens",
    "Model calls": "model_calls",
    "Redundant snippet re-reads": "rereads",
}


def texts(table: Table | None) -> list[list[str]]:
    assert table is not None
    return [[cell.text for cell in row] for row in table.rows]


@pytest.fixture(scope="module")
def mini_rows() -> list[RunRow]:
    return [*compared_rows(GPT), *compared_rows(MINIMAX), *ablation_rows(GPT), *ablation_rows(MINIMAX)]


def test_the_main_table_is_the_papers(mini_rows: list[RunRow]) -> None:
    """Pass@1, the difference and RRU of both models are those in the paper."""
    table = main(settings(mini_rows))
    rows = [(row[0], row[2], row[3], row[5]) for row in texts(table)]
    assert rows == [("Ledger", it.pass_at_1, it.difference, it.rru) for it in (GPT, MINIMAX)]
    assert table is not None
    titles = [f"{it.agent}, {it.model}" for it in (GPT, MINIMAX)]
    assert [section.title for section in table.sections] == titles


def test_published_figures_have_a_table_of_their_own() -> None:
    """Those of the methods that the paper cites, to the printed digit."""
    assert [tuple(line) for line in texts(published())] == PUBLISHED


@pytest.mark.parametrize("compared", COMPARED, ids=lambda it: f"{it.agent}, {it.model}")
def test_the_efficiency_tables_are_the_papers(compared: Compared) -> None:
    """Totals and relative changes are those in the paper, to the printed digit; input of all classes has no change."""
    found = settings(compared_rows(compared))
    table = efficiency(found) if compared.agent != "codex" else scaffold(found)
    printed = {row[0]: tuple(row[1:4]) for row in texts(table)}
    expected = {title: getattr(compared, name) for title, name in MEASURES.items()}
    expected["Input tokens"] = (*expected["Input tokens"][:2], "-")
    assert {title: printed[title] for title in MEASURES} == expected


def test_the_second_scaffolds_resolution_is_the_papers() -> None:
    """Resolved and unresolved instances under Codex, with the gain and RRU."""
    printed = [tuple(row[:4]) for row in texts(scaffold(settings(compared_rows(CODEX))))]
    assert printed[:2] == [
        ("Resolved", "374 (74.8%)", "391 (78.2%)", "+3.4 pp"),
        ("Unresolved (RRU)", "126", "109", "-13.5%"),
    ]


def test_the_ablation_is_the_papers(mini_rows: list[RunRow]) -> None:
    """Resolved instances, Pass@1 and cost of all four arms with both models; its input is of all classes."""
    table = ablation(settings(mini_rows))
    assert table is not None
    assert {
        section.title.removeprefix("mini-swe-agent 2, "): [
            (row[1].text, row[2].text, row[-1].text) for row in section.rows
        ]
        for section in table.sections
    } == {title: [(*row[:2], row[3]) for row in rows] for title, rows in ABLATION_PRINTED.items()}


def test_the_ablations_cost_changes_are_the_papers(mini_rows: list[RunRow]) -> None:
    """With MiniMax M2.5 each path alone lowers the cost by what the text says."""
    minimax = settings(mini_rows)[1]
    changes = {arm.name: compare(COST, minimax.base, arm).change or 0 for arm in minimax.ledger if arm.name != "both"}
    assert {arm: f"{change:+.1%}" for arm, change in changes.items()} == ABLATION_COST_CHANGES


@pytest.mark.parametrize("compared", [GPT, MINIMAX], ids=lambda it: it.model)
def test_the_gains_are_as_significant_as_the_paper_says(compared: Compared) -> None:
    """Recoveries, regressions, and McNemar's test below the stated bound."""
    (setting,) = settings(compared_rows(compared))
    found = gain(setting.base, setting.compared[0])
    (pair,) = found.pairs.values()
    assert (len(pair.recovered), len(pair.regressed)) == (compared.recovered, compared.regressed)
    assert pair.net == compared.ledger.resolved - compared.base.resolved
    assert found.p_values[0] < compared.below
    assert found.interval is not None
    assert found.interval.low > 0


def test_the_significance_under_codex_needs_counts_that_are_not_printed() -> None:
    """A net gain of 17 lies below 0.05 up to 42 recoveries with 25 regressions, and not beyond."""
    net = CODEX.ledger.resolved - CODEX.base.resolved
    assert mcnemar(25 + net, 25) < CODEX.below < mcnemar(26 + net, 26)


def test_the_ablation_prints_calls_cut_off_in_one_half_and_rounded_in_the_other() -> None:
    """10,171 and 8,986 calls are printed as 10.1K and 8.9K, but 20,566 as 20.6K."""
    exact = {it.model: (it.base.model_calls or 0, it.ledger.model_calls or 0) for it in (GPT, MINIMAX)}
    cut = {model: tuple(f"{calls // 100 / 10}K" for calls in both) for model, both in exact.items()}
    rounded = {model: tuple(f"{calls / 1000:.1f}K" for calls in both) for model, both in exact.items()}
    assert (cut["GPT-5 mini"], rounded["MiniMax M2.5"]) == tuple(ABLATION_CALLS.values())
    assert rounded["GPT-5 mini"] != ABLATION_CALLS["GPT-5 mini"]
    assert cut["MiniMax M2.5"] != ABLATION_CALLS["MiniMax M2.5"]


def test_the_price_table_is_compatible_with_the_papers_costs() -> None:
    """Where a cache-hit rate is printed, the input alone costs less than the total, and leaves 100 to 500 tokens of
    output for each call."""
    arms = {
        ("GPT-5 mini", "govern"): (149_700_000, 15.67, 10_800),
        ("GPT-5 mini", "both"): (110_700_000, 16.78, 8_986),
        ("MiniMax M2.5", "base"): (616_700_000, 34.31, 30_219),
    }
    for (model, arm), (tokens, cost, calls) in arms.items():
        cached = round(tokens * CACHE_HITS[model][arm])
        price = shipped().price(model)
        assert price is not None
        left = cost - price.cost(Tokens(uncached=tokens - cached, cached=cached))
        assert 100 < left / price.output * 1_000_000 / calls < 500
