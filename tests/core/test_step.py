"""The loop around one action, and the switches that change it."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from execledger.core.govern import PENDING_WRITES
from execledger.core.policy import Policy
from execledger.core.step import Proposal, complete, propose, settle
from execledger.vocabulary.actions import Observation
from execledger.vocabulary.decisions import Allow, Reuse, Shown, Step
from tests.core.stories import Story, text

SESSION = (
    ("cat a.py", text(20)),
    ("cat a.py", text(20)),
    ("python -m pytest", "1 failed in 1s\n"),
    ("python -m pytest", "1 failed in 2s\n"),
    ("git show HEAD:a.py", text(20)),
)


def played(policy: Policy | None = None) -> Story:
    story = Story(policy=policy, sealed=True)
    for command, output in SESSION:
        story.do(command, output)
    return story


def test_every_intervention_is_made_by_default() -> None:
    """Reuse before running, remark, reference after running."""
    story = played()
    assert [step.shown.kind for step in story.steps] == ["full", "reference", "full", "remark", "reference"]
    assert len(story.ran) == len(SESSION) - 1


def test_with_govern_off_nothing_is_judged() -> None:
    """Every command runs, every output is shown as it came, and the state is still kept."""
    story = played(Policy(govern=False))
    expected = [
        Step(story.action(command), Allow("govern-off"), Observation(output, exit_status=0), Shown("full"))
        for command, output in SESSION
    ]
    assert (story.steps, len(story.ran), story.ledger.interventions) == (expected, len(SESSION), 0)
    assert "a.py: whole, 20 lines" in story.view().text


def test_shadow_records_what_would_be_done_and_changes_nothing() -> None:
    """The decision stands, the output is shown, and whether it would have been right is known."""
    story = played(Policy(shadow=True))
    assert [(step.decision.rule, step.shown.kind, step.shown.compared) for step in story.steps] == [
        ("new", "full", "different"),
        ("whole-read", "full", "same"),
        ("unknown-effects", "full", None),
        ("repeated-test", "full", None),
        ("new", "full", "same"),
    ]
    assert [step.shown.instead for step in story.steps] == [None, "reference", None, "remark", "reference"]
    assert [step.observation.output for step in story.steps] == [output for _, output in SESSION]
    assert (len(story.ran), {step.shown.text for step in story.steps}) == (len(SESSION), {""})


@pytest.mark.parametrize("policy", [Policy(), Policy(max_interventions=2), Policy(max_nudges=1, nudge_cooldown=0)])
def test_shadow_counts_as_a_live_run_does(policy: Policy) -> None:
    """Caps, cool-downs and second looks are those that a live run would have come to."""
    live, shadow = (Story(policy=replace(policy, shadow=one), sealed=True) for one in (False, True))
    for command, output in (*SESSION, *SESSION[1:], *SESSION[2:]):
        live.do(command, output)
        shadow.do(command, output)
    assert [step.shown.instead or "full" for step in shadow.steps] == [step.shown.kind for step in live.steps]
    for count in ("interventions", "nudges", "last_nudge"):
        assert getattr(shadow.ledger, count) == getattr(live.ledger, count)


@pytest.mark.parametrize("policy", [Policy(govern=False), Policy(shadow=True)])
def test_a_text_that_was_shown_anyway_is_referred_to_as_shown(policy: Policy) -> None:
    """Where nothing is elided, every result counts as text that stands there."""
    story = played(policy)
    assert {result.kind for result in story.ledger.results} == {"full"}


def test_what_follows_a_possible_write_of_the_same_turn_is_allowed() -> None:
    """The second read would be reused; behind an edit that has not run yet it is not, and it counts as concurrent."""
    story = Story(sealed=True)
    story.do("cat a.py", text(20))
    read, edit = story.action("cat a.py"), story.action("sed -i 's/x/y/' a.py")
    alone = propose(story.ledger, read, None, True)
    first = propose(story.ledger, edit, None, True)
    second = propose(story.ledger, read, None, True, first.pending)
    assert (type(alone.decision), alone.suppressed, alone.pending) == (Reuse, True, False)
    assert (first.decision.rule, first.concurrent, first.may_write, first.pending) == (
        "modification",
        False,
        True,
        True,
    )
    assert second == Proposal(read, PENDING_WRITES, concurrent=True, may_write=False)
    assert second.pending


def test_with_govern_off_no_pending_write_is_named() -> None:
    """Every action has the decision of the switch; that it runs beside a write is known all the same."""
    story = Story(policy=Policy(govern=False))
    proposal = propose(story.ledger, story.action("cat a.py"), pending=True)
    assert proposal == Proposal(story.action("cat a.py"), Allow("govern-off"), concurrent=True, may_write=False)


def test_a_step_is_settled_as_it_was_proposed() -> None:
    """``settle`` records the step that it returns, and it is concurrent if its proposal is."""
    story = Story()
    proposal = propose(story.ledger, story.action("cat a.py"), pending=True)
    observation = Observation(text(20), exit_status=0)
    step = settle(story.ledger, proposal, observation)
    assert (step.decision, step.observation, step.concurrent, len(story.ledger)) == (
        PENDING_WRITES,
        observation,
        True,
        1,
    )


def test_take_composes_the_two_halves() -> None:
    """A story, which calls ``take``, comes to the steps and the state that the two halves come to."""
    taken, halves = Story(sealed=True), Story(sealed=True)
    for command, output in SESSION:
        observation = Observation(output, exit_status=0)
        step = taken.do(command, observation)
        proposal = propose(halves.ledger, halves.action(command), None, True)
        assert step == settle(halves.ledger, proposal, None if proposal.suppressed else observation)
    assert taken.ledger.digest == halves.ledger.digest


def test_a_recorded_result_of_a_reuse_is_judged_and_not_shown() -> None:
    """A replay knows what would have come; the model would have seen the reference."""
    for output, compared in ((text(20), "same"), (text(20, 2), "different")):
        story = Story(sealed=True)
        story.do("cat a.py", text(20))
        action = story.action("cat a.py")
        decision = story.ledger.govern(action, None, True)
        step = complete(story.ledger, action, decision, Observation(output, exit_status=0))
        assert isinstance(decision, Reuse)
        assert (step.shown.compared, step.shown.kind, step.observation.output) == (
            compared,
            "reference",
            step.shown.text,
        )
