"""Rows put in order: settings, arms, trials."""

from __future__ import annotations

from execledger.evaluate.report.arms import Setting, settings
from execledger.evaluate.report.footnotes import between, remarks
from tests.evaluate.rows import AGENT, MODEL, experiment, row


def titles(setting: Setting) -> list[str]:
    return [arm.title for arm in setting.arms]


def test_arms_stand_in_the_papers_order() -> None:
    """Base first, then either path alone, then both, whatever the order of the rows."""
    (setting,) = settings(reversed(experiment()))
    assert (setting.agent, setting.model) == (AGENT, MODEL)
    assert titles(setting) == ["base", "inform only", "govern only", "inform + govern"]


def test_the_first_scaffold_stands_before_others() -> None:
    """mini-swe-agent, the paper's controlled evaluation, is registered first, so other agents follow it."""
    rows = [row("a", agent="codex 1"), row("a", agent="mini-swe-agent 2", model="b"), row("a", agent="aider 3")]
    assert [setting.scaffold for setting in settings(rows)] == ["mini-swe-agent", "aider", "codex"]


def test_presets_are_arms_of_their_own() -> None:
    """Two presets beside one base are told apart; with a single preset nobody needs its name."""
    rows = [row("a"), row("a", "both", preset="paper"), row("a", "both", run="other", preset="verified")]
    (setting,) = settings(rows)
    assert titles(setting) == ["base", "inform + govern (paper)", "inform + govern (verified)"]
    assert titles(settings(rows[:2])[0]) == ["base", "inform + govern"]


def test_what_is_compared_is_the_full_system_or_else_what_there_is() -> None:
    """Without a run of both paths, each path is compared; without a base, the base has no runs."""
    (setting,) = settings(experiment())
    assert [arm.name for arm in setting.compared] == ["both"]
    (halves,) = settings(row for row in experiment() if row.arm in ("inform", "govern"))
    assert [arm.name for arm in halves.compared] == ["inform", "govern"]
    assert halves.base.runs == {}


def test_a_row_that_stands_twice_counts_once() -> None:
    """The same folder given twice changes nothing."""
    assert settings([*experiment(), *experiment()]) == settings(experiment())


def test_a_second_run_of_the_same_trial_is_a_further_trial() -> None:
    """Runs from elsewhere all say trial 1; none of them is lost, and that they were renumbered is told."""
    rows = [row("a", run="one"), row("a", run="two"), row("a", run="three", trial=2)]
    (setting,) = settings(rows)
    assert [(it.run, it.trial) for it in setting.base.runs["a"]] == [("one", 1), ("three", 2), ("two", 3)]
    assert setting.renumbered == 1
    said = "several runs of a task and arm have the same trial number, or none of their own: all but one of each are"
    assert f"{said} counted as further trials (1)" in remarks((setting,))
    found = remarks(settings([*rows, row("a", run="four")]))
    assert f"{said} counted as further trials (2)" in found


def test_a_run_without_an_instance_is_its_own_instance() -> None:
    """Recorded runs that name no task are told apart by where they are recorded."""
    (setting,) = settings([row("", run="one"), row("", run="two")])
    assert list(setting.base.runs) == ["one", "two"]


def test_outcomes_leave_out_what_nobody_graded() -> None:
    """An ungraded run is neither resolved nor unresolved."""
    rows = [row("a", resolved=True), row("b", resolved=None), row("c", resolved=False), row("a", trial=2)]
    (setting,) = settings(rows)
    assert setting.base.outcomes(1) == {"a": True, "c": False}
    assert setting.base.outcomes(2) == {"a": False}


def test_trials_of_evaluations_with_one_plan_follow_each_other() -> None:
    """Runs of a trial are of one evaluation in every arm, also where one is missing; other tasks keep their trials."""
    rows = [
        row("a", run="1", evaluation="one"),
        row("a", run="2", evaluation="one", trial=2),
        row("a", "both", run="3", evaluation="one"),
        *(row("a", arm, run=f"4 {arm}", evaluation="two") for arm in ("base", "both")),
        row("b", run="5", evaluation="two"),
    ]
    (setting,) = settings(rows)
    found = {
        (arm.name, name, it.evaluation, it.trial) for arm in setting.arms for name in arm.runs for it in arm.runs[name]
    }
    assert found == {
        ("base", "a", "one", 1),
        ("base", "a", "one", 2),
        ("base", "a", "two", 3),
        ("base", "b", "two", 1),
        ("both", "a", "one", 1),
        ("both", "a", "two", 3),
    }
    assert setting.renumbered == 0


def test_arms_of_two_evaluations_keep_their_trials_where_they_share_no_arm() -> None:
    """So their outcomes are paired, trial by trial."""
    (setting,) = settings([row("a", evaluation="one"), row("a", "both", evaluation="two")])
    assert [arm.trials for arm in setting.arms] == [(1,), (1,)]


def test_an_evaluation_without_a_base_joins_the_one_that_differs_least() -> None:
    """It is compared with that base; evaluations with a base of their own are settings of their own."""
    plans = {
        "low": '{"effort":"low","limit":50}',
        "high": '{"effort":"high","limit":60}',
        "other": '{"effort":"high","limit":70}',
    }
    rows = [row("a", arm, evaluation=name, plan=plans[name]) for name in ("low", "high") for arm in ("base", "both")]
    rows.append(row("a", "both", run="other", evaluation="other", plan=plans["other"]))
    found = {setting.title.partition(", ")[2]: titles(setting) for setting in settings(rows)}
    assert found == {
        "gpt-5-mini (effort=low)": ["base", "inform + govern"],
        "gpt-5-mini (effort=high)": ["base (limit=60)", "inform + govern (limit=60)", "inform + govern (limit=70)"],
    }


def test_arms_are_of_one_evaluation_if_the_instances_that_both_have_are() -> None:
    """What only one of them has run is not compared."""
    rows = [*(row("a", arm, evaluation="one") for arm in ("base", "both")), row("b", evaluation="two")]
    (setting,) = settings(rows)
    assert between(setting.base, setting.ledger[0]) == ""
    (setting,) = settings([*rows, row("b", "both", evaluation="three")])
    assert between(setting.base, setting.ledger[0]) == (
        "the base is of one and two, the arm of one and three, and their plans and versions are the same:"
        " time or provider may explain a difference"
    )
