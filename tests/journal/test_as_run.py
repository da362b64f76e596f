"""Journals as recorded runs: what is known of each result, and replay and why on them."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from execledger.agents.formats import find_recorded, read_run
from execledger.core.ledger import Ledger
from execledger.core.policy import Policy, Preset
from execledger.core.step import take
from execledger.errors import UnreadableRun
from execledger.journal import Ended, Event, StepRecorded, ViewRendered, recorded
from execledger.journal.codec import encode
from execledger.journal.events import Counts, Started
from execledger.journal.reader import read_journal, rebuild
from execledger.runs.recording import Governed, Recorded, Run
from execledger.runs.replay import replay
from execledger.vocabulary.actions import Action, Observation
from execledger.vocabulary.decisions import Reuse, Step
from tests.journal.runs import TASK, events_of, execledger, plain_step, retold, returning, start, written
from tests.support.simulation.sessions import simulate

FILE = "".join(f"line {number} of the file\n" for number in range(1, 81))
MIDDLE = "".join(FILE.splitlines(keepends=True)[19:60])
SECRET = "ghp" + "_" + "0123456789abcdefABCDEF"


def told(*pairs: tuple[str, str], sealed: bool = False, policy: Policy | None = None) -> list[Event]:
    """The events of a run with these commands and outputs."""
    ledger = Ledger(TASK, policy)
    events: list[Event] = [start(ledger.policy)]
    for turn, (command, output) in enumerate(pairs):
        run = returning(Observation(output, exit_status=0))
        step = take(ledger, Action(command, "/repo"), run, sealed=sealed)
        events.append(recorded(ledger, step, turn=turn, sealed=sealed))
    return events


def as_run(events: list[Event]) -> Run:
    """The recorded run in a journal with these events."""
    return read_run("one", b"".join(map(encode, events)))


def steps_of(events: list[Event]) -> list[Step]:
    """The steps among the events."""
    return [event.step for event in events if isinstance(event, StepRecorded)]


def test_a_journal_is_a_recorded_run() -> None:
    """Format, agent, model, task, turns, steps, what was made of them and the policy come from the journal."""
    told = (plain_step(0, "ls", "a\n"), plain_step(1, "cat a", "b\n"))
    events: list[Event] = [start(Policy(shadow=True)), *told]
    steps = tuple(
        Recorded(event.step.action, event.step.observation, event.turn, Governed(event.step, True, 0, ""))
        for event in told
    )
    names = ("one", "execledger-journal", "an agent 2", "some/model", TASK)
    run = Run(*names, True, 2, steps, policy=Policy(shadow=True))
    assert as_run(events) == run
    assert as_run([*events, Ended(counts=Counts(proposed=2), model_calls=7)]) == replace(run, turns=7)


@pytest.mark.parametrize("number", ["", "nl -ba a.py | "])
def test_an_output_that_was_shown_in_part_is_put_together(number: str) -> None:
    """From what its references point at, where that has its very fingerprint; the journal rebuilds the same state."""

    def printed(first: int, last: int) -> str:
        lines = list(enumerate(FILE.splitlines(), 1))[first - 1 : last]
        return "".join(f"{place:6}\t{line}\n" if number else f"{line}\n" for place, line in lines)

    read = f"{number}sed -n '{{}}p'{'' if number else ' a.py'}"
    pairs = [(read.format(f"{first},{last}"), printed(first, last)) for first, last in ((1, 40), (20, 70), (60, 80))]
    events = told(*pairs, policy=Policy(second_look_rate=0.0, max_share=1.0, min_omitted=1))
    steps = steps_of(events)
    assert [step.shown.kind for step in steps] == ["full", "partial", "partial"]
    assert steps[2].shown.omitted == ((60, 67, 1),) and "[Ledger: " in steps[2].observation.output
    run = as_run(events)
    assert [call.observation.output for call in run.steps] == [output for _, output in pairs]
    assert [call.shown for call in replay(run)] == [step.shown for step in steps]
    rebuilt = rebuild(read_journal("one", b"".join(map(encode, events))))
    assert rebuilt.mismatch is None
    other = replace(steps[0], observation=Observation("other\n" * 40, exit_status=0))
    altered = [events[0], replace(events[1], step=other), *events[2:]]
    assert as_run(altered).steps[1].observation == Observation(exit_status=0, truncated=True)


def test_a_journal_of_before_decides_as_then() -> None:
    """Its policy does not have the switch of partial references: nothing is omitted in its replay."""
    events = told(("sed -n '1,40p' a.py", MIDDLE), ("sed -n '1,60p' a.py", MIDDLE + FILE[:400]))
    assert isinstance(events[0], Started)
    earlier = {name: value for name, value in events[0].policy.items() if name not in ("partial", "min_omitted")}
    run = as_run([replace(events[0], policy=earlier), *events[1:]])
    assert run.policy is not None and not run.policy.partial
    assert all(call.shown.kind != "partial" for call in replay(run))


def test_a_call_has_the_view_that_was_read_before_it() -> None:
    """Of its own conversation and turn, the last one if there were more; calls of one turn share it."""
    events: list[Event] = [
        start(),
        ViewRendered(index=0, text="forgotten"),
        ViewRendered(index=0, text="zero"),
        plain_step(0, turn=1),
        plain_step(1, turn=1),
        plain_step(2, turn=2),
        ViewRendered(index=3, text="three"),
        ViewRendered(index=3, text="elsewhere", thread="other"),
        plain_step(3, turn=3),
    ]
    assert [one.governed and one.governed.view for one in as_run(events).steps] == ["zero", "zero", "", "three"]


def test_visibility_and_sealing_come_from_the_steps() -> None:
    """What went out of view is a compaction; one step that was not sealed means that the run was not."""
    events: list[Event] = [start(), plain_step(0), plain_step(1), replace(plain_step(2), since=2, sealed=False)]
    events.append(replace(plain_step(3), since=2))
    run = as_run(events)
    assert (run.compactions, run.container) == ((2,), False)


def test_an_elided_output_is_known_by_its_fingerprint() -> None:
    """An output that was replaced after running is found again where its reference points, whole or in one piece."""
    pairs = (("cat a.py", FILE), ("sed -n 20,60p a.py", MIDDLE), ("ls", "a.py\n"), ("cat b.py", FILE))
    events = told(*pairs)
    assert [step.shown.compared for step in steps_of(events)] == ["different", "covered", "different", "same"]
    assert [step.shown.kind for step in steps_of(events)] == ["full", "reference", "full", "reference"]
    outputs = [one.observation for one in as_run(events).steps]
    assert outputs == [Observation(output, exit_status=0) for _, output in pairs]


def test_what_cannot_be_known_is_not_claimed() -> None:
    """For a suppressed call, and for an elided output that stands nowhere, nothing is claimed."""
    suppressed = told(("cat a.py", FILE), ("cat a.py", FILE), sealed=True)
    assert isinstance(steps_of(suppressed)[1].decision, Reuse)
    nothing = Observation(exit_status=0, truncated=True)
    assert as_run(suppressed).steps[1].observation == nothing
    elided = told(("cat a.py", FILE), ("sed -n 20,60p a.py", MIDDLE))
    data = b"".join(map(encode, elided)).replace(b"line 30 ", b"line xx ", 1)
    assert read_run("one", data).steps[1].observation == nothing


def test_a_redacted_output_claims_nothing() -> None:
    """A text that is not what its fingerprint says may be read by people, and is not compared with."""
    run = as_run(told(("cat .env", f"TOKEN={SECRET}\n{FILE}"), ("cat b", FILE)))
    assert [one.observation.truncated for one in run.steps] == [True, False]
    assert run.steps[0].observation.output == f"TOKEN=[redacted]\n{FILE}"


@pytest.mark.parametrize("policy", [Policy(), Policy(shadow=True), Policy(preset=Preset.PAPER), Policy(govern=False)])
@pytest.mark.parametrize("seed", range(4))
def test_a_replay_decides_as_the_live_run_did(tmp_path: Path, seed: int, policy: Policy) -> None:
    """Under the journal's own policy the decisions and what was shown are derived again from it alone."""
    folder = tmp_path / "repo"
    folder.mkdir()
    session = retold(simulate(folder, seed), policy)
    path = written(tmp_path, events_of(session))
    calls = replay(read_run(str(path), path.read_bytes()), policy)
    assert [(call.decision, call.shown.kind, call.shown.text) for call in calls] == [
        (step.decision, step.shown.kind, step.shown.text) for step in session.steps
    ]


def test_journals_are_found_in_folders(tmp_path: Path) -> None:
    """A folder with journals is a folder with recorded runs."""
    path = written(tmp_path / "deep", told(("ls", "a\n")))
    (found,) = find_recorded([str(tmp_path)])
    assert (found.name, read_run(found.name, found.read()).format) == (str(path), "execledger-journal")


def test_a_newer_journal_says_so() -> None:
    """A journal of a later version is recognised, and refused in words."""
    with pytest.raises(UnreadableRun, match="one: found a journal of version 2, expected at most 1"):
        as_run([replace(start(), version=2)])


def test_replay_and_why_read_journals(tmp_path: Path) -> None:
    """Both verbs take a journal like any other run."""
    path = written(tmp_path, told(("cat a.py", FILE), ("sed -n 20,60p a.py", MIDDLE), ("ls", "a.py\n")))
    replayed = execledger("replay", str(tmp_path), "--json", "--strict")
    assert (replayed.returncode, '"runs":1' in replayed.stdout, '"calls":3' in replayed.stdout) == (0, True, True)
    why = execledger("why", str(path), "1")
    assert why.returncode == 0
    assert "command:   sed -n 20,60p a.py" in why.stdout and "compared:  covered" in why.stdout
