"""The tables, for whatever was run: complete, ungraded, estimated, of one arm alone."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from execledger.evaluate.records import RunRow
from execledger.evaluate.report.arms import settings
from execledger.evaluate.report.footnotes import ESTIMATED, UNCOMPARED
from execledger.evaluate.report.table import (
    Cell,
    Table,
    Unit,
    change_cell,
    figure_cell,
    format_figure,
    further_decimals,
    p_value_cell,
)
from execledger.evaluate.report.tables import full_tables
from execledger.runs.usage import Tokens
from tests.evaluate.rows import AGENT, experiment, row


def made(rows: list[RunRow]) -> dict[str, Table]:
    return {table.name: table for table in full_tables(rows)}


def texts(table: Table) -> list[tuple[str, ...]]:
    return [tuple(cell.text for cell in row) for row in table.rows]


def test_a_whole_experiment_has_the_papers_tables() -> None:
    """One scaffold in four arms: main, efficiency and ablation; what others published comes last."""
    assert list(made(experiment())) == ["main", "evidence", "efficiency", "net", "ablation", "outcomes", "published"]


def test_a_second_scaffold_and_trials_have_tables_of_their_texts() -> None:
    """Another agent stands in the second scaffold's table, and not in the efficiency table."""
    codex = [row("a", arm, agent="codex 1", model="m") for arm in ("base", "both")]
    found = made([*experiment(trials=2), *codex])
    tables = ["main", "evidence", "efficiency", "scaffold", "net", "ablation", "outcomes", "trials", "published"]
    assert list(found) == tables
    assert [section.title for section in found["scaffold"].sections] == ["codex 1, m: inform + govern, 1 instance"]
    assert [section.title for section in found["efficiency"].sections] == [
        f"{AGENT}, gpt-5-mini: inform + govern, 4 instances, 16 runs"
    ]


def test_a_ratio_to_nothing_does_not_apply() -> None:
    """The base has no references, and so no second looks at them: that is not unknown."""
    rows = [row("a"), row("a", "both", second_looks=1, references=4)]
    shown = {text[0]: text[1:4] for text in texts(made(rows)["efficiency"])}
    assert shown["Second looks per reference"] == ("-", "25.0%", "-")


def test_totals_of_several_trials_are_titled_as_totals_of_means() -> None:
    """Eight runs of four instances in each arm: the title says what is added up, the heading how many of both."""
    for trials, title, numbers in (
        (1, "Efficiency: totals over all instances", "4 instances"),
        (2, "Efficiency: totals over instances, each with the mean of its trials", "4 instances, 16 runs"),
    ):
        table = made(experiment(trials))["efficiency"]
        assert table.title == title
        assert [one.title for one in table.sections] == [f"{AGENT}, gpt-5-mini: inform + govern, {numbers}"]


def test_the_main_table() -> None:
    """One instance recovered, one regressed."""
    assert texts(made(experiment())["main"]) == [
        ("Ledger", "2/4 → 2/4", "50.0 → 50.0", "+0.0", "-100.0 to +100.0", "0.0%", "1.000")
    ]


def test_the_efficiency_table() -> None:
    """Every total and its change; a share changes by points, and what is undefined has no change or no interval."""
    assert texts(made(experiment())["efficiency"]) == [
        ("Total cost (USD)", "$2.00", "$0.80", "-60.0%", "-60.0% to -60.0%"),
        ("Cost per resolved instance", "$1.000", "$0.400", "-60.0%", "-"),
        ("Input tokens", "4.0M", "4.0M", "-", "-"),
        ("  cached", "3.6M", "3.6M", "+0.0%", "+0.0% to +0.0%"),
        ("  uncached", "400.0K", "400.0K", "+0.0%", "+0.0% to +0.0%"),
        ("Cache-hit rate", "90.0%", "90.0%", "+0.0", "+0.0 to +0.0"),
        ("Output tokens", "20.0K", "20.0K", "+0.0%", "+0.0% to +0.0%"),
        ("Model calls", "40", "40", "+0.0%", "+0.0% to +0.0%"),
        ("Executed commands", "36", "36", "+0.0%", "+0.0% to +0.0%"),
        ("Redundant snippet re-reads", "8", "0", "-100.0%", "-100.0% to -100.0%"),
    ]


def test_rows_that_are_zero_in_most_experiments_come_when_needed() -> None:
    """Tokens written to a cache at a price, and what state views cost."""
    rows = [row("a"), row("a", "both", tokens=Tokens(written=20_000), view_cost=0.25)]
    shown = {text[0]: text[1:4] for text in texts(made(rows)["efficiency"])}
    assert shown["  written"] == ("0", "20.0K", "-")
    assert shown["  of this, state views"] == ("$0.00", "$0.25", "-")


def test_saved_spent_and_net_are_shown_by_class() -> None:
    """Per arm, in tokens of each class and in dollars, and the net as a share of what the arm cost."""
    spent: dict[str, Any] = {"view_tokens": 5_000, "displaced_tokens": 300, "view_cost": 0.05}
    saved: dict[str, Any] = {"saved_new_tokens": 20_000, "saved_cached_tokens": 90_000, "saved_cost": 0.03}
    rows = [row("a"), row("a", "inform", **spent), row("a", "both", **spent, **saved), row("a", "shadow", **spent)]
    table = made([replace(one, charged_cost=one.cost) for one in rows])["net"]
    assert len(table.notes) == 1
    assert texts(table) == [
        ("inform only", "~0", "~0", *("unknown", "~5,300", "~300", "~$0.050", "~-5,300", "~300"), "unknown", "-"),
        (
            *("inform + govern", "~20.0K", "~90.0K", "~$0.030", "~5,300", "~300", "~$0.050"),
            *("~14.7K", "~90.3K", "~-$0.020", "~-4.0%"),
        ),
    ]
    assert table.headings[-4:] == ("Net: uncached", "Net: cached", "Net: USD", "Net: of cost")


def test_what_remarks_took_has_columns_of_its_own_where_there_were_any() -> None:
    """It is no part of what references saved, and it is taken from the net."""
    saved: dict[str, Any] = {"saved_new_tokens": 0, "saved_cost": 0.0, "view_cost": 0.0}
    remarks: dict[str, Any] = {"remark_new_tokens": 52, "remark_cached_tokens": 208, "remark_cost": 0.01}
    rows = [row("a"), row("a", "inform", **saved), row("a", "both", **saved, **remarks)]
    tables = made([replace(one, charged_cost=one.cost) for one in rows])
    shown = [dict(zip(tables["net"].headings, line, strict=True)) for line in texts(tables["net"])]
    heads = (
        *("Saved by references: uncached", "Saved by references: USD"),
        *("Remarks: uncached", "Remarks: cached", "Remarks: USD"),
        *("Net: uncached", "Net: cached", "Net: USD", "Net: of cost"),
    )
    assert [tuple(one[head] for head in heads) for one in shown] == [
        ("~0", "~$0.00", "~0", "~0", "unknown", "~0", "~0", "unknown", "~+0.0%"),
        ("~0", "~$0.00", "~52", "~208", "~$0.010", "~-52", "~-208", "~-$0.010", "~-2.0%"),
    ]


def test_the_net_of_runs_in_which_nothing_was_saved_or_sent_is_a_table_of_zeros() -> None:
    """An arm whose journals say that it is zero has a row; one without any journal, and the arm shadow, have none."""
    zero: dict[str, Any] = {"saved_cost": 0.0, "remark_cost": 0.0, "view_cost": 0.0}
    rows = [row("a"), row("a", "both", **zero), row("a", "govern", ran=None), row("a", "shadow", **zero)]
    table = made([replace(one, charged_cost=one.cost) for one in rows])["net"]
    zeros = ("~0", "~0", "~$0.00")
    assert texts(table) == [("inform + govern", *zeros, *zeros, *zeros, "~+0.0%")]
    assert "net" not in made([row("a"), row("a", "both", ran=None), row("a", "shadow", **zero)])


def test_the_net_is_a_share_of_the_cost_of_the_runs_that_it_is_known_of() -> None:
    """Six runs at $1; of four it is $0.10 each, two have no journal, one of them the second trial of an instance."""
    net: dict[str, Any] = {"saved_new_tokens": 5_000, "saved_cost": 0.2, "view_tokens": 1_000, "view_cost": 0.1}
    lost = {"counts": None} | dict.fromkeys(("saved_new_tokens", "saved_cached_tokens", "view_tokens"))
    known = [row(name, "both", charged_cost=1.0, **net) for name in "abcd"]
    unknown = [replace(row(*of, charged_cost=1.0), **lost) for of in (("d", "both", 2), ("e", "both"))]
    table = made([*map(row, "abcde"), *known, *unknown])["net"]
    (line,) = texts(table)
    assert (line[3], line[6], *line[-2:]) == ("~$0.80", "~$0.40", "~$0.40", "~+10.0%")
    assert table.notes[1:] == (
        "found no journal of 2 runs in arms with Ledger: what Ledger did in them is unknown and left out; whatever else"
        " is known of them counts, but not in this table",
    )


def test_written_tokens_have_columns_of_their_own_where_there_are_any() -> None:
    """In the net, as saved and as left, and in the ablation: their price is another one."""
    net: dict[str, Any] = {"saved_new_tokens": 5_000, "saved_written_tokens": 4_000, "saved_cached_tokens": 9_000}
    tokens = Tokens(uncached=1_000, written=2_000, cached=7_000)
    rows = [row("a"), row("a", "both", tokens=tokens, view_tokens=300, displaced_tokens=20, **net)]
    tables = made(rows)
    (line,) = texts(tables["net"])
    shown = dict(zip(tables["net"].headings, line, strict=True))
    saved, left = ("Saved by references", "Net")
    assert [shown[f"{saved}: {name}"] for name in ("uncached", "written", "cached")] == ["~1,000", "~4,000", "~9,000"]
    assert [shown[f"{left}: {name}"] for name in ("uncached", "written", "cached")] == ["~680", "~4,000", "~9,020"]
    (*_, own) = texts(tables["ablation"])
    shown = dict(zip(tables["ablation"].headings, own, strict=True))
    assert [shown[name] for name in ("Uncached", "Written", "Cached")] == ["1,000", "2,000", "7,000"]


def test_totals_have_enough_digits_for_their_difference() -> None:
    """Where a change is stated its figures differ; where none is, they are as short as ever."""
    rows = [row("a", cost=0.01461, model_calls=10), row("a", "both", cost=0.01467, model_calls=10)]
    found = made(rows)
    shown = {text[0]: text[1:4] for text in texts(found["efficiency"])}
    assert shown["Total cost (USD)"] == ("$0.0146", "$0.0147", "+0.4%")
    assert shown["Output tokens"] == ("5,000", "5,000", "+0.0%")
    assert [line[-1] for line in texts(found["ablation"])] == ["$0.0146", "$0.0147"]
    assert further_decimals([12_345_000.0, 12_390_000.0], Unit.TOKENS) == 0
    assert further_decimals([12_310_000.0, 12_340_000.0], Unit.TOKENS) == 1
    assert further_decimals([12_310_000.0, 12_311_000.0, None], Unit.TOKENS) == 0
    # The outer two of four differ, although neighbours do not.
    assert further_decimals([1_000_000.0, 1_000_400.0, 1_000_800.0, 1_001_200.0], Unit.TOKENS) == 2


def test_the_net_of_a_model_without_a_price_is_at_the_assumed_one() -> None:
    """Dollars and their share are there and marked; the cost of the arm stays unknown, and so does the views' in it."""
    own: dict[str, Any] = {"model": "unheard-of", "cost": None, "charged_cost": 0.5}
    net: dict[str, Any] = {"view_tokens": 5_000, "view_cost": 0.05, "saved_new_tokens": 20_000, "saved_cost": 0.03}
    tables = made([row("a", **own), row("a", "both", **own, **net)])
    table = tables["net"]
    assert texts(table) == [
        ("inform + govern", "~20.0K", "~0", "~$0.030", "~5,000", "~0", "~$0.050", "~15.0K", "~0", "~-$0.020", "~-4.0%")
    ]
    assert table.notes[1:] == (
        "Dollars at the price of gpt-5 (assumed) for models that the price table does not have, in runs of unheard-of:"
        " that model or a sub-agent's. The share of the cost depends little on it where all of a run is at that price",
    )
    shown = {text[0]: text[1:4] for text in texts(tables["efficiency"])}
    assert shown["Total cost (USD)"] == ("unknown", "unknown", "-")
    assert "  of this, state views" not in shown


def test_the_ablation() -> None:
    """Each arm with its totals, over the instances that every arm has."""
    rows = [*experiment(), row("extra", resolved=True)]
    table = made(rows)["ablation"]
    assert texts(table) == [
        ("base", "2/4", "50.0", "40", "400.0K", "3.6M", "90.0%", "$2.00"),
        ("+ Ledger (inform only)", "2/4", "50.0", "40", "400.0K", "3.6M", "90.0%", "$1.20"),
        ("+ Ledger (govern only)", "2/4", "50.0", "40", "400.0K", "3.6M", "90.0%", "$1.60"),
        ("+ Ledger (inform + govern)", "2/4", "50.0", "40", "400.0K", "3.6M", "90.0%", "$0.80"),
    ]
    assert table.notes == ("1 of 5 instances lack a run in some arm; a comparison leaves them out",)


def test_outcomes_are_listed_by_name() -> None:
    """Recovered and regressed instances of each arm and trial."""
    table = made([it for it in experiment() if it.arm in ("base", "both")])["outcomes"]
    assert texts(table) == [
        ("inform + govern", "1", "recovered", "1", "b"),
        ("inform + govern", "1", "regressed", "1", "c"),
        ("inform + govern", "1", "resolved in both", "1", "-"),
        ("inform + govern", "1", "resolved in neither", "1", "-"),
    ]
    assert table.rows[0][4].value == ("b",)


def test_trials_are_shown_with_their_spread() -> None:
    """Each trial's figure, the mean, and the standard deviation."""
    table = made([it for it in experiment(trials=2) if it.arm == "both"])["trials"]
    assert texts(table) == [
        ("inform + govern", "Pass@1", "50.0%; 25.0%", "37.5%", "17.7%"),
        ("inform + govern", "Total cost (USD)", "$0.80; $1.60", "$1.20", "$0.57"),
        ("inform + govern", "Input tokens", "4.0M; 4.0M", "4.0M", "0"),
        ("inform + govern", "Model calls", "40; 40", "40", "0"),
        ("inform + govern", "Redundant snippet re-reads", "0; 0", "0", "0"),
    ]


def test_uneven_trials_are_not_compared() -> None:
    """A trial that lacks an instance has a smaller total for that reason alone."""
    rows = [it for it in experiment(trials=2) if (it.trial, it.instance) != (2, "d")]
    assert "trials" not in made(rows)


def test_what_nobody_graded_stays_unkntexts() -> None:
    """Without a grade the resolution is unknown, never 0, and all else is still told."""
    rows = [row(name, arm, resolved=None) for arm in ("base", "both") for name in "ab"]
    found = made(rows)
    assert texts(found["main"]) == [("Ledger", "unknown → unknown", "unknown → unknown", "-", "-", "-", "-")]
    shown = {text[0]: text[1:] for text in texts(found["efficiency"])}
    assert shown["Cost per resolved instance"] == ("unknown", "unknown", "-", "-")
    assert shown["Total cost (USD)"] == ("$1.00", "$1.00", "+0.0%", "+0.0% to +0.0%")
    assert "the resolution of every run is unknown" in found["main"].notes
    assert "outcomes" not in found
    unknown = [cell for table in found.values() for line in table.rows for cell in line if cell.text == "unknown"]
    assert {cell.value for cell in unknown} == {None}


def test_a_run_that_nobody_graded_among_others_is_counted() -> None:
    """It is left out on both sides, and the note says so."""
    rows = [*experiment(), row("e", resolved=True), row("e", "both", resolved=None)]
    found = made(rows)["main"]
    assert texts(found)[0][1] == "2/4 → 2/4"
    assert (
        "the resolution of 1 of 18 runs is unknown (base 0, inform only 0, govern only 0, inform + govern 1):"
        " they count neither as resolved nor as unresolved"
    ) in found.notes
    told = "the cost per resolved instance leaves out what the 1 run without a grade cost"
    assert told in made(rows)["efficiency"].notes
    assert told not in made([row("e"), row("e", "both")])["efficiency"].notes


def test_an_estimate_is_marked() -> None:
    """Figures that rest on estimated tokens, their changes as well, bear a tilde; counts do not."""
    rows = [row("a", estimated=True), row("a", "both", estimated=True, cost=0.25)]
    table = made(rows)["efficiency"]
    shown = {text[0]: text[1:4] for text in texts(table)}
    assert shown["Total cost (USD)"] == ("~$0.50", "~$0.25", "~-50.0%")
    assert shown["Model calls"] == ("10", "10", "+0.0%")
    assert "~ marks figures that rest on estimated tokens, not on the provider's count" in table.notes


def test_tokens_and_cost_that_are_not_known_are_told() -> None:
    """An instance without tokens is left out of what needs them, and the note says where."""
    rows = [row("a"), row("b"), row("a", "both"), row("b", "both", tokens=None, cost=None)]
    table = made(rows)["efficiency"]
    shown = {text[0]: text[1:4] for text in texts(table)}
    assert shown["Input tokens"] == ("1.0M", "1.0M", "-")
    assert shown["Model calls"] == ("20", "20", "+0.0%")
    assert table.notes[1:] == (
        "cost unknown for some instances, which are left out there: 1 in inform + govern",
        "tokens unknown for some instances, which are left out there: 1 in inform + govern",
    )


def test_a_missing_price_is_the_reason_of_an_unknown_cost() -> None:
    """Of all runs, of one arm, of a sub-agent's model, of all but one; unknown tokens have no such reason."""

    def note(**given: Any) -> str:
        rows = [row(name, arm, cost=given.get(arm)) for name in "ab" for arm in ("base", "both")]
        return next(one for one in made(rows)["efficiency"].notes if one.startswith("cost unknown"))

    give = "give one with `--prices FILE`"
    assert note() == f"cost unknown for all instances: `gpt-5-mini` has no price: {give}"
    assert note(base=0.5) == (
        "cost unknown for some instances, which are left out there: all 2 in inform + govern"
        f" (the model of a sub-agent has no price: {give})"
    )
    rows = [row(name, arm, tokens=None, cost=None) for name in "ab" for arm in ("base", "both")]
    assert made(rows)["efficiency"].notes[1:] == ("cost unknown for all instances", "tokens unknown for all instances")
    rows = [rows[0], *(row(name, arm, cost=None) for name, arm in (("a", "both"), ("b", "base"), ("b", "both")))]
    assert made(rows)["efficiency"].notes[1] == f"cost unknown for all instances: `gpt-5-mini` has no price: {give}"


def test_the_base_alone_is_reported_too() -> None:
    """Runs from elsewhere have no arm with Ledger: their side is empty, and nothing is compared."""
    found = made([row("a", resolved=True), row("b")])
    assert list(found) == ["main", "efficiency"]
    assert texts(found["main"]) == [("base", "1/2", "50.0", "-", "-", "-", "-")]
    assert texts(found["efficiency"])[0] == ("Total cost (USD)", "$1.00", "-", "-", "-")
    assert [section.title for section in found["efficiency"].sections] == [f"{AGENT}, gpt-5-mini: 2 instances"]
    assert found["efficiency"].notes == ()


def test_an_arm_without_a_base_is_reported_too() -> None:
    """Its figures are told, and nothing is compared."""
    found = made([row("a", "both", resolved=True), row("b", "both")])
    assert texts(found["main"]) == [("Ledger", "- → 1/2", "- → 50.0", "-", "-", "-", "-")]
    assert texts(found["efficiency"])[0] == ("Total cost (USD)", "-", "$1.00", "-", "-")


def test_false_reuses_and_faults_are_told() -> None:
    """What must be zero is named where it is not."""
    notes = made([row("a"), row("a", "both", false_reuses=2, faults=1)])["main"].notes
    assert notes[-2:] == ("2 false reuses", "1 faults of Ledger's own")


def test_a_remark_about_one_setting_names_it() -> None:
    """With several settings, a remark that does not hold for all says which it is about."""
    rows = [row("a"), row("a", agent="codex 1", model="m", resolved=None)]
    assert made(rows)["main"].notes[-1] == "codex 1, m: the resolution of every run is unknown"


def test_no_rows_make_no_tables() -> None:
    """Nothing is made up from nothing."""
    assert full_tables([]) == ()
    assert settings([]) == ()


def test_figures_are_written_as_the_paper_does() -> None:
    """Dollars, tokens and shares, small and large; a mean that is not whole has one decimal."""
    written = {
        "$23.60": format_figure(23.6, Unit.MONEY),
        "$1,234.50": format_figure(1234.5, Unit.MONEY),
        "$0.045": format_figure(0.0447, Unit.MONEY),
        "$0.046": format_figure(0.0463, Unit.MONEY),
        "$0.000040": format_figure(0.00004, Unit.MONEY),
        "$0.0037": format_figure(0.00373, Unit.SMALL_MONEY),
        "$0.084": format_figure(0.08399, Unit.SMALL_MONEY),
        "131.7M": format_figure(131_700_000, Unit.TOKENS),
        "12.3K": format_figure(12_345, Unit.TOKENS),
        "999": format_figure(999, Unit.TOKENS),
        "10,171": format_figure(10_171, Unit.COUNT),
        "10.5": format_figure(10.5, Unit.COUNT),
        "73.4%": format_figure(0.734, Unit.SHARE),
    }
    assert list(written) == list(written.values())
    assert figure_cell(None, Unit.MONEY) == Cell("unknown")
    assert change_cell(-0.00001) == Cell("+0.0%", -0.00001)
    assert p_value_cell([0.0004, 0.04]) == Cell("<0.001; 0.040", (0.0004, 0.04))


def test_the_ablation_compares_what_is_graded_in_every_arm() -> None:
    """An instance without a grade in one arm counts in none, and a note says so; an arm without any is unknown."""
    rows = [row(name, arm, resolved=name == "a") for name in "abc" for arm in ("base", "inform", "both")]
    rows = [
        replace(one, resolved=None) if one.arm == "both" or (one.arm, one.instance) == ("inform", "a") else one
        for one in rows
    ]
    table = made(rows)["ablation"]
    assert [line[1].text for line in table.rows] == ["0/2", "0/2", "unknown"]
    assert table.notes[0].endswith("Resolved and Pass@1 are over the 2 instances graded in every arm")


def test_an_estimate_is_marked_wherever_it_stands() -> None:
    """Intervals and trials too, for people and for programs; what does not rest on tokens bears no mark."""
    found = made([replace(one, estimated=True) for one in experiment(2)])
    rows = {line[0].text: line[1:] for line in found["efficiency"].rows}
    by_trial = next(line[2:] for line in found["trials"].rows if line[1].text == "Total cost (USD)")
    for cell in (*rows["Total cost (USD)"], *by_trial):
        assert (cell.estimated, all(part.startswith("~") for part in cell.text.split("; "))) == (True, True)
    assert {(cell.estimated, "~" in cell.text) for cell in rows["Model calls"]} == {(False, False)}
    assert found["trials"].notes[-1] == ESTIMATED


def test_failures_that_are_not_the_repairs_are_told_apart() -> None:
    """Of the machine that graded, of machine or repair, and of runs: counted by kind, and only the last two graded."""
    rows = [
        row("a", resolved=None, machine_failure="out_of_memory"),
        row("b", resolved=None, machine_failure="no_container"),
        row("c", resolved=None, machine_failure="out_of_memory"),
        row("d", resolved=None),
        row("e", resolved=False, ambiguous_failure="missing_module"),
        row("f", resolved=False, failure="API error: RateLimitError: slow down"),
        row("g", resolved=False, failure="API error: AuthenticationError: no key"),
        row("h", resolved=False, failure="container died: it is not running"),
        row("i", resolved=True),
    ]
    (table,) = (one for one in full_tables(rows) if one.name == "main")
    assert table.notes[-4:] == (
        "the resolution of 1 of 9 runs is unknown: they count neither as resolved nor as unresolved",
        "3 of 9 runs could not be graded because the machine failed, not the repair (out_of_memory 2, no_container 1):"
        " they count neither as resolved nor as unresolved",
        "1 unresolved runs have signs of a failure that may be the machine's or the repair's (missing_module 1)",
        "3 of 9 runs were ended by a failure, not by the agent (API error 2, container died 1)",
    )


def test_failures_are_counted_by_arm() -> None:
    """Runs that only one arm lost make the comparison one of machines or providers."""
    rows = [*experiment(), row("e", resolved=True)]
    rows += [row(name, "both", resolved=False, failure="API error: slow down") for name in "ef"]
    assert (
        "2 of 19 runs were ended by a failure, not by the agent"
        " (API error 2; base 0, inform only 0, govern only 0, inform + govern 2)"
    ) in made(rows)["main"].notes


def test_an_arm_whose_base_has_another_model_or_version_is_not_compared_and_says_so() -> None:
    """The base is there, and counts on its own; that nothing is compared is no oversight of the reader's."""
    rows = [row("a"), row("a", "both", agent="mini-swe-agent 2.4.7")]
    assert made(rows)["main"].notes == (f"mini-swe-agent 2.4.7, gpt-5-mini: {UNCOMPARED}",)
    assert UNCOMPARED not in made(experiment())["main"].notes


def test_arms_without_a_common_instance_are_not_said_to_have_one_number() -> None:
    """Their totals are of different instances."""
    (section,) = made([row("a"), row("b"), row("c", "both")])["efficiency"].sections
    assert section.title == f"{AGENT}, gpt-5-mini: inform + govern, 2 and 1 instances, none in both"


def test_where_no_run_reports_cached_tokens_the_classes_are_unknown() -> None:
    """A class of 0 tokens and a cache-hit rate of 0 % would be findings; input and cost are known, and noted."""
    rows = [row("a", arm, cached_told=False, tokens=Tokens(uncached=9)) for arm in ("base", "both")]
    table = made(rows)["efficiency"]
    assert {line[0].text.strip(): [cell.text for cell in line[1:3]] for line in table.rows[:6]} == {
        "Total cost (USD)": ["$0.50", "$0.50"],
        "Cost per resolved instance": ["-", "-"],
        "Input tokens": ["9", "9"],
        "cached": ["unknown", "unknown"],
        "uncached": ["unknown", "unknown"],
        "Cache-hit rate": ["unknown", "unknown"],
    }
    assert [line[5].text for line in made(rows)["ablation"].rows] == ["unknown", "unknown"]
    assert (
        "no run in base, inform + govern reports cached tokens: how much of its input was cached is unknown, and its"
        " cost charges all of it as uncached"
    ) in table.notes


def test_classes_are_over_the_runs_that_report_cached_tokens() -> None:
    """One of two instances reports none in either arm: it has a part in the cost, and in no class."""
    rows = [
        row(name, arm, cached_told=name == "a", tokens=Tokens(uncached=10, cached=30 if name == "a" else 0))
        for name in "ab"
        for arm in ("base", "both")
    ]
    found = {line[0].text.strip(): [cell.text for cell in line[1:4]] for line in made(rows)["efficiency"].rows}
    assert found["Total cost (USD)"] == ["$1.00", "$1.00", "+0.0%"]
    assert found["cached"] == ["30", "30", "+0.0%"]
    assert found["Cache-hit rate"] == ["75.0%", "75.0%", "+0.0"]
