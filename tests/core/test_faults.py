"""Faults of Ledger's own: each costs one decision, and the run goes on; those that keep coming back end its part."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from execledger.core import compare, govern, inform
from execledger.core.classify import classify
from execledger.core.faults import MAX_FAULTS, Faults
from execledger.core.govern import FAULT
from execledger.core.policy import Policy, Preset
from execledger.core.references import NOT_ANSWERED
from execledger.vocabulary.actions import Observation
from execledger.vocabulary.decisions import Reuse, Shown
from execledger.vocabulary.records import Effects
from tests.core.stories import Story, text
from tests.support.faults.sabotage import call_sites, sabotaged

pytestmark = pytest.mark.faults
WORK = (
    ("cat a.py", text(20)),
    ("cat a.py", text(20)),
    ("grep -n value_1 a.py", "1:value_1\n" * 40),
    ("sed -n '3,12p' a.py", text(10, 3)),
    ("sed -i 's/x/y/' b.py", ""),
    ("cat a.py", text(20)),
    ("python -m pytest", "1 failed in 1s\n"),
    ("python -m pytest", "1 failed in 2s\n"),
    ("cat a.py | head -5", text(5)),
)


class Planted(Exception):
    """The planted fault."""


def failing(times: int, whole: Callable[..., Any]) -> Callable[..., Any]:
    """A function that fails so many times, and then does what it should."""
    left = [times]

    def fail(*args: Any, **named: Any) -> Any:
        left[0] -= 1
        if left[0] >= 0:
            raise Planted
        return whole(*args, **named)

    return fail


def new(preset: str) -> Story:
    """A story that has not begun."""
    return Story("Mend it.", Policy(preset=Preset(preset)), sealed=True)


def play(story: Story) -> Story:
    """All of the work, with a view before each step."""
    for command, output in WORK:
        story.view()
        story.do(command, output)
    return story


def test_a_decision_that_fails_is_an_allow_and_the_next_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """The action runs, and its result is compared as ever."""
    story = Story(sealed=True)
    story.do("cat a.py", text(20))
    monkeypatch.setattr(govern, "decide", failing(1, govern.decide))
    first, second = story.do("cat a.py", text(20)), story.do("cat b.py", text(20))
    assert (first.decision, first.shown.kind, second.decision.rule) == (FAULT, "reference", "new")
    assert (story.ledger.faults.count, story.ledger.faults.off, len(story.ledger)) == (1, False, 3)


def test_a_comparison_that_fails_shows_the_result_as_it_came(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that was not run is answered with the request to repeat it, and then it is run."""
    story = Story(sealed=True)
    story.do("cat a.py", text(20))
    monkeypatch.setattr(compare, "judge", failing(2, compare.judge))
    reused, other, again = (story.do(command, text(20)) for command in ("cat a.py", "cat c.py", "cat a.py"))
    assert isinstance(reused.decision, Reuse)
    assert (reused.observation, reused.shown) == (Observation(NOT_ANSWERED), Shown("reference", NOT_ANSWERED))
    assert (other.observation.output, other.shown) == (text(20), Shown("full"))
    assert (again.decision.rule, again.observation.output) == ("second-look", text(20))
    assert story.ran == ["cat a.py", "cat c.py", "cat a.py"]


def test_a_view_that_fails_is_left_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next request has one again."""
    story = Story("Mend it.")
    monkeypatch.setattr(inform, "render", failing(1, inform.render))
    assert (story.view().text, "Mend it." in story.view().text) == ("", True)


@pytest.mark.parametrize("preset", ["verified", "paper"])
def test_a_command_that_cannot_be_read_may_have_done_anything(preset: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is allowed, and what was seen before it is no longer called current, or reused."""
    story = Story(policy=Policy(preset=Preset(preset)), sealed=True)
    story.do("cat a.py", text(20))
    monkeypatch.setattr("execledger.core.ledger.classify", failing(1, classify))
    odd = story.do("sed -i 1d a.py", "")
    record = story.ledger.results[1].record
    assert (odd.decision.rule, record.opaque, record.effects) == ("opaque", "fault", Effects.UNKNOWN)
    assert "current" not in story.view().text
    assert not isinstance(story.ask("cat a.py"), Reuse)


def test_after_a_fault_while_recording_nothing_is_decided_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """A part of the step may be missing: everything is allowed and shown, and nothing is recorded."""
    story = Story(sealed=True)
    story.do("cat a.py", text(20))
    monkeypatch.setattr(story.ledger.modifications, "advance", failing(1, story.ledger.modifications.advance))
    story.do("sed -i 1d a.py", "")
    before = story.ledger.digest
    after = story.do("cat a.py", text(20))
    assert (after.decision, after.shown, story.view().text) == (FAULT, Shown("full"), "")
    assert (story.ledger.faults.off, story.ledger.digest) == (True, before)


def test_an_interruption_while_recording_is_the_callers(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is raised, and what it broke off is not trusted."""
    story = Story(sealed=True)

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(story.ledger.modifications, "advance", interrupt)
    with pytest.raises(KeyboardInterrupt):
        story.do("sed -i 1d a.py", "")
    assert (story.ledger.faults.off, story.do("cat a.py", text(20)).decision) == (True, FAULT)


def test_faults_that_keep_coming_end_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the last that is borne, Ledger is off: it does not try again."""
    story = Story(sealed=True)
    tried: list[object] = []

    def fail(*args: object) -> None:
        tried.append(args)
        raise Planted

    monkeypatch.setattr(govern, "decide", fail)
    for number in range(MAX_FAULTS + 3):
        assert story.do(f"cat {number}.py", text(20)).decision == FAULT
    assert (len(tried), story.ledger.faults.count, story.ledger.faults.off) == (MAX_FAULTS, MAX_FAULTS, True)


def test_telling_of_a_fault_may_fail() -> None:
    """It is counted all the same."""
    faults = Faults(failing(1, print))
    faults.note("govern", Planted())
    assert faults.count == 1


@pytest.mark.guarantee("fail-open", "false-reuse")
@pytest.mark.parametrize("preset", ["verified", "paper"])
def test_whatever_fails_the_library_raises_nothing_and_misleads_nobody(preset: str, full: bool) -> None:
    """Each call of ours fails at its first and last time: every result is shown, or an earlier one in full."""
    clean = new(preset)
    reached = call_sites(lambda: play(clean))
    assert "reference" in [step.shown.kind for step in clean.steps]
    # What these call is guarded, and the guards are not: only the call as such would fail.
    guards = {"take", "propose", "settle", "complete", "unclassified"}
    guards |= {f"Ledger.{name}" for name in ("govern", "compare", "inform", "record", "classify")}
    inside = {site: times for site, times in reached.items() if site.caller.co_qualname not in guards}
    for site, times in list(inside.items())[:: 1 if full else 7]:
        for occurrence in {1, times}:
            story = new(preset)
            with sabotaged(site, occurrence) as trap:
                play(story)
            where = f"{site}, time {occurrence}"
            assert trap.sprung and story.ledger.faults.count == 1, where
            assert len(story.ledger) == len(WORK) or story.ledger.faults.off, where
            for step, (command, output) in zip(story.steps, WORK, strict=True):
                if step.shown.kind == "reference" and step.shown.text != NOT_ANSWERED:
                    targets = [story.steps[at] for at in step.shown.refers_to]
                    assert {target.shown.kind for target in targets} <= {"full", "remark"}, where
                    assert output in "".join(target.observation.output for target in targets), where
                elif step.shown.kind != "reference":
                    assert step.observation.output == output and command in story.ran, where


def test_the_first_faults_are_kept_without_secrets() -> None:
    """Where, of which class, and with which message: for users without a journal."""
    faults = Faults()
    secret = "sk-" + "ant-api03-0123456789abcdef"
    faults.note("govern", ValueError(f"no {secret}"))
    for number in range(MAX_FAULTS):
        faults.note("inform", KeyError(number))
    assert (len(faults.first), faults.count) == (MAX_FAULTS, MAX_FAULTS + 1)
    assert (faults.first[0].where, faults.first[0].error, secret in str(faults.first[0])) == (
        "govern",
        "ValueError",
        False,
    )
    assert str(faults.first[1]) == "inform: KeyError: 0"
