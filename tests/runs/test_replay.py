"""Replay of a recorded run: what would have been decided, and whether it would have been right."""

from __future__ import annotations

from msgspec.structs import replace

from execledger.core.policy import Policy, Preset
from execledger.core.rereads import Reread
from execledger.runs.recording import Recorded, Run
from execledger.runs.replay import Line, new_ledger, output_bytes, replay
from execledger.vocabulary.actions import Action, Observation
from tests.core.stories import text
from tests.support.policies import WHOLE_VIEWS


def run(
    *calls: tuple[str, str], container: bool = True, compactions: tuple[int, ...] = (), turns: tuple[int, ...] = ()
) -> Run:
    """A recorded run in /repo; one call to a turn unless ``turns`` says otherwise."""
    steps = tuple(
        Recorded(Action(command, "/repo"), Observation(output, exit_status=0), turns[at] if turns else at)
        for at, (command, output) in enumerate(calls)
    )
    return Run("run.json", "format", "agent", "model", "The task.", container, len(calls) + 1, steps, compactions)


def lines(recorded: Run, policy: Policy | None = None) -> list[Line]:
    return [call.line(recorded.name) for call in replay(recorded, policy)]


READ = ("cat a.py", text(20))


def test_a_line_holds_the_decision_and_its_verdict() -> None:
    """A reuse is judged by what was recorded."""
    assert lines(run(READ, READ)) == [
        Line("run.json", 0, "cat a.py", "inspect", "none", "allow", "new", (), "different", (), "full"),
        Line("run.json", 1, "cat a.py", "inspect", "none", "reuse", "whole-read", (0,), "same", (0,), "reference"),
    ]


def test_the_recorded_output_plays_no_part_in_the_decision() -> None:
    """Another output changes the verdict alone."""
    line = lines(run(READ, ("cat a.py", text(20, 2))))[1]
    assert (line.decision, line.refers_to, line.compared, line.compared_to) == ("reuse", (0,), "different", ())


def test_a_reuse_that_compares_as_different_is_false() -> None:
    """Only a reuse can be false: a command that ran was shown as it came."""
    recorded = run(READ, ("cat a.py", text(20, 2)), ("cat a.py", text(20, 3)))
    assert [call.false for call in replay(recorded)] == [False, True, False]


def test_outside_a_container_everything_runs() -> None:
    """Unknown means not sealed."""
    assert [line.decision for line in lines(run(READ, READ, container=False))] == ["allow", "nudge"]
    assert lines(run(READ, READ, container=False))[1].shown == "reference"


def test_what_a_compaction_took_away_is_not_referred_to() -> None:
    """From the compaction on only newer results are visible."""
    compacted = lines(run(READ, READ, READ, compactions=(1,)))
    assert [(line.decision == "reuse", line.compared, line.compared_to) for line in compacted] == [
        (False, "different", ()),
        (False, "different", ()),
        (True, "same", (1,)),
    ]


def test_a_view_is_rendered_once_per_model_call() -> None:
    """Two calls of one turn share the view before the first of them."""
    recorded = run(READ, ("ls", "a\n"), ("git status", "b\n"), turns=(0, 0, 1))
    views = [call.view for call in replay(recorded, WHOLE_VIEWS)]
    assert [view is not None for view in views] == [True, False, True]
    assert views[2] is not None and "- a.py: whole, 20 lines (current, in context)" in views[2].text


def test_with_inform_off_no_view_is_rendered() -> None:
    """Decisions are as before."""
    recorded = run(READ, READ)
    off = list(replay(recorded, Policy(inform=False)))
    assert {call.view for call in off} == {None}
    assert [call.line("run.json") for call in off] == lines(recorded)


def test_in_shadow_everything_is_shown_in_full() -> None:
    """What would have been decided stands in the lines, and whether it was right."""
    found = lines(run(READ, READ, READ), Policy(shadow=True))
    assert [(line.decision, line.compared, line.shown) for line in found] == [
        ("allow", "different", "full"),
        ("reuse", "same", "full"),
        ("allow", "same", "full"),
    ]
    assert found[2].rule == "second-look"


def test_a_run_is_replayed_under_its_own_policy() -> None:
    """Unless another is given."""
    recorded = replace(run(READ, READ), policy=Policy(govern=False))
    assert [line.rule for line in lines(recorded)] == ["govern-off", "govern-off"]
    assert [line.rule for line in lines(recorded, Policy())] == ["new", "whole-read"]


def test_the_replay_of_a_shadow_run_says_what_would_have_been_shown() -> None:
    """A replay changes nothing either way, so the run's shadow mode means nothing for it."""
    recorded = replace(run(READ, READ), policy=Policy(shadow=True))
    assert [line.shown for line in lines(recorded)] == ["full", "reference"]


def test_rereads_are_marked() -> None:
    """By what was recorded, whatever Ledger would have suppressed."""
    recorded = run(READ, READ, ("sed -n '5,9p' a.py", text(5, 5)), ("echo x >> a.py", ""), READ)
    kinds = [None, Reread.EXACT, Reread.COVERED, None, Reread.EDITED]
    for preset in Preset:
        assert [call.reread for call in replay(recorded, Policy(preset=preset))] == kinds


def test_a_replay_is_repeatable() -> None:
    """The same decisions and the same state, every time."""
    recorded = run(READ, ("python -m pytest", "x\n"), READ, READ, ("python -m pytest", "x\n"))
    for preset in Preset:
        ledgers = [new_ledger(recorded, Policy(preset=preset)) for _ in range(2)]
        first, second = (list(replay(recorded, ledger=ledger)) for ledger in ledgers)
        assert (first, ledgers[0].digest) == (second, ledgers[1].digest)


def test_an_output_weighs_its_bytes() -> None:
    """Error output included."""
    assert output_bytes(Observation("ä", "b")) == 3
