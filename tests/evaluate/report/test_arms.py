"""Rows put in order: settings, arms, trials."""

from __future__ import annotations

from execledger.evaluate.report.arms import Setting, settings
from execledger.evaluate.report.footnotes import remarks
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
