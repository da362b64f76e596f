"""A run as the page reads it: columns over all steps, one step in full, and what is said about it."""

from __future__ import annotations

import io
from pathlib import Path
from typing import get_args

import msgspec
import pytest
from inline_snapshot import snapshot
from msgspec.structs import replace

from execledger.agents.formats import read_run
from execledger.core.fingerprint import fingerprint
from execledger.core.govern import RULES
from execledger.core.policy import Policy, Preset
from execledger.errors import UnreadableRun
from execledger.journal.events import Event, StepRecorded, ViewRendered
from execledger.runs.looks import NO_LOOKS, verdict_words
from execledger.viewer.model import Columns
from execledger.viewer.reading import JournalReading, ReplayReading
from execledger.viewer.reasons import IN_FULL, REASONS, in_words
from execledger.vocabulary.actions import Action, Observation
from execledger.vocabulary.decisions import Allow, CoveredLines, Fingerprint, InFull, Nudge, Reuse, Shown, Step
from tests.journal.runs import plain_step, start
from tests.runs.samples_agents import PROMPT, lines, result, uses
from tests.support.looking import LookingSession
from tests.viewer.stage import DEMO, journal_bytes, read_journal, shown, told


def demo(policy: Policy | None = None) -> ReplayReading:
    """The demo's run, replayed to its end."""
    reading = ReplayReading(read_run("demo.json", DEMO.read_bytes()), policy)
    reading.read()
    return reading


def test_a_run_has_one_entry_per_step_in_every_column() -> None:
    """The demo's run, replayed."""
    answer = demo().answer()
    assert (answer.line.replayed, answer.line.live, answer.first, answer.compactions, answer.trouble) == (
        True,
        False,
        0,
        [],
        (),
    )
    assert [*zip(*msgspec.structs.astuple(answer.steps), strict=True)][3:9] == snapshot(
        [
            (
                "inspect",
                "allow",
                "reference",
                "would-reference",
                "none",
                3,
                "",
                "sed -n '22,28p' warehouse/inventory.py",
                "",
            ),
            ("inspect", "allow", "full", "", "none", 4, "", "cat warehouse/inventory.py", ""),
            ("inspect", "allow", "full", "", "none", 5, "", "cat tests/test_inventory.py", ""),
            ("test", "allow", "full", "", "unknown", 6, "", "python3 -m unittest -q 2>&1", ""),
            ("inspect", "allow", "full", "", "none", 7, "", "nl -ba warehouse/inventory.py | sed -n '1,28p'", ""),
            (
                "modify",
                "allow",
                "full",
                "",
                "listed",
                8,
                "",
                "sed -i '24s/<= count/< count/' warehouse/inventory.py",
                "",
            ),
        ]
    )


def test_a_step_in_full() -> None:
    """Everything that the page shows of one step."""
    step = msgspec.to_builtins(demo().step(3))
    assert step.pop("view_before") == step["view"]
    assert step == snapshot(
        {
            "index": 3,
            "command": "sed -n '22,28p' warehouse/inventory.py",
            "cwd": "/repo",
            "category": "inspect",
            "effects": "none",
            "turn": 3,
            "thread": "",
            "decision": {
                "kind": "allow",
                "rule": "new",
                "proof": (),
                "refers_to": (),
            },
            "mark": "would-reference",
            "words": (
                "Run: no earlier result was certain to answer it. Its output turned out to be visible already,"
                " line by line and at the same line numbers, in step 1: a reference would have been shown in its place."
            ),
            "compared": "covered",
            "comparison": "its lines were visible already",
            "compared_to": (1,),
            "shown": {
                "kind": "reference",
                "text": (
                    "[Ledger: output omitted. Lines 22-28 of warehouse/inventory.py are as shown by "
                    "`cat warehouse/inventory.py`, 2 commands ago.]"
                ),
                "instead": "",
                "omitted": (),
            },
            "output": {
                "text": (
                    "    def take(self, item: str, count: int = 1) -> None:\n"
                    '        """Take ``count`` of ``item`` from the shelf."""\n'
                    "        if self._counts.get(item, 0) <= count:\n"
                    '            raise OutOfStock(f"{item}: {self._counts.get(item, 0)} left, {count} asked for")\n'
                    "        self._counts[item] -= count\n"
                    "\n"
                    "    def count(self, item: str) -> int:\n"
                ),
                "head": 328,
                "cut": False,
                "bytes": 328,
                "characters": 328,
                "known": True,
                "ran": True,
                "exit_status": 0,
                "stderr": "",
                "notice": "",
                "timed_out": False,
                "elided": None,
            },
            "view": "",
            "looks": {"files": (), "before": None, "failed": False},
            "call": None,
            "text": "",
            "text_rest": 0,
            "replied": None,
            "at": None,
            "seconds": None,
            "elapsed": None,
        }
    )


def test_another_policy_decides_otherwise() -> None:
    """Under the published rules the same run has other references."""
    assert demo(Policy(preset=Preset.PAPER)).answer().steps.decision != demo().answer().steps.decision


def test_a_journal_tells_what_was_done_and_not_what_would_be() -> None:
    """A decision that no rule of today makes stands as it was made."""
    step = Step(Action("ls", "/repo"), Allow("a rule of old"), Observation("a.py\n", exit_status=0), Shown("full"))
    answer = read_journal(journal_bytes(told([step]))).answer()
    assert (answer.line.replayed, answer.policy, answer.line.live) == (False, Policy(), False)
    assert read_journal(journal_bytes(told([step]))).step(0).words == "Run: the rule a rule of old says so."


def test_the_output_behind_a_reference_is_found_where_it_stands() -> None:
    """If the very same bytes stand in the result that it points at; otherwise only its size is known."""
    first = shown("cat a.py", "one\ntwo\n")
    mark = fingerprint(first.observation, steady=False)
    text = "[Ledger: as above]"
    same = Shown("reference", text, (0,), "same", (0,), mark)
    covered = Shown("reference", text, (0,), "covered", (0,), Fingerprint("another", "another", 4, 1))
    action, result = Action("head a.py", "/repo"), Observation(text, exit_status=0)
    steps = [first, *(Step(action, Allow("new"), result, how) for how in (same, covered))]
    reading = read_journal(journal_bytes(told(steps)))
    outputs = [reading.step(index).output for index in (1, 2)]
    assert [(one.text, one.known, one.bytes) for one in outputs] == [("one\ntwo\n", True, 8), ("", False, 4)]


def test_an_output_of_a_call_that_was_not_run_is_not_known() -> None:
    """Nor its exit status, in the journal and in a replay that would have run it; one that was replaced was printed."""
    read, text = shown("cat a.py", "x\n" * 400), "[Ledger: as above]"
    result, mark = Observation(text, exit_status=0), Fingerprint("another", "another", 800, 400)
    reuse = Step(read.action, Reuse("whole-read", (), (0,)), result, Shown("reference", text, (0,)))
    elided = Step(read.action, Allow("new"), result, Shown("reference", text, (0,), "covered", (0,), mark))
    data = journal_bytes(told([read, shown("frobnicate"), reuse, elided]))
    replayed = ReplayReading(read_run("one", data), Policy())
    replayed.read()
    found = [reading.step(index).output for reading in (read_journal(data), replayed) for index in (2, 3)]
    not_run, ran = (False, False, None), (False, True, 0)
    assert [(one.known, one.ran, one.exit_status) for one in found] == [not_run, ran, not_run, ran]
    assert replayed.step(2).words == (
        "Would have been run: no earlier result was certain to answer it. It was not run when it was recorded, so its "
        "output is not known."
    )


def test_a_long_output_is_cut_in_the_middle() -> None:
    """Head and tail are there, and the rest can be asked for."""
    text = "".join(f"{number:09}\n" for number in range(100_000))
    reading = read_journal(journal_bytes(told([shown("./list", text)])))
    output = reading.step(0, 1000).output
    assert (output.text, output.head, output.cut, output.bytes) == (text[:500] + text[-500:], 500, True, 1_000_000)
    assert reading.output(0) == text


def test_the_view_is_the_one_that_the_model_read() -> None:
    """Of its own conversation, in the turn in which it was read, and in no later one."""
    events: list[Event] = [
        start(),
        ViewRendered(index=0, text="first"),
        plain_step(0, turn=0),
        plain_step(1, turn=0),
        plain_step(2, turn=1),
        ViewRendered(index=3, text="of another", thread="child"),
        ViewRendered(index=3, text="second"),
        plain_step(3, turn=2),
    ]
    reading = read_journal(journal_bytes(events))
    views = [(step.view, step.view_before) for step in map(reading.step, range(4))]
    assert views == [("first", ""), ("first", "first"), ("", "first"), ("second", "")]


def test_compactions_are_where_results_went_out_of_view() -> None:
    """The steps at which the first visible one moved."""
    since = [0, 0, 1, 1, 3]
    steps = [msgspec.structs.replace(plain_step(index), since=first) for index, first in enumerate(since)]
    assert read_journal(journal_bytes([start(), *steps])).answer().compactions == [2, 4]


def test_a_conversation_that_begins_late_is_no_compaction() -> None:
    """Each conversation has a view of its own: another one's, or where it was born, is no mark on the timeline."""
    threads = [("", 0), ("", 0), ("child", 2), ("", 0), ("child", 2), ("child", 4), ("", 0), ("", 1)]
    events: list[Event] = [start()]
    for index, (thread, since) in enumerate(threads):
        one = plain_step(index)
        action = msgspec.structs.replace(one.step.action, thread=thread)
        events.append(msgspec.structs.replace(one, since=since, step=msgspec.structs.replace(one.step, action=action)))
    assert read_journal(journal_bytes(events)).answer().compactions == [5, 7]
    replayed = ReplayReading(read_run("one", journal_bytes(events)), Policy(preset=Preset.PAPER))
    replayed.read()
    assert replayed.answer().compactions == [5, 7]


def test_what_shadow_mode_would_have_done_is_told_as_that() -> None:
    """Commands that ran are not called reused, neither on the timeline nor in the sums nor in words."""
    read = shown("cat a.py", "x\n" * 400)
    policy = Policy(shadow=True)
    steps = [
        read,
        Step(read.action, Reuse("repeat", (), (0,)), read.observation, Shown("full", instead="reference")),
        Step(read.action, Allow("cap"), read.observation, Shown("full", instead="reference")),
        Step(read.action, Nudge("loop", (), (0,)), read.observation, Shown("full", instead="remark")),
    ]
    reading = read_journal(journal_bytes(told(steps, policy)))
    answer = reading.answer()
    assert answer.steps.mark == ["", "would-reuse", "would-reference", "would-remark"]
    line = answer.line
    assert (line.shadow, line.reuses, line.elided, line.nudges, line.saved_bytes) == (True, 1, 1, 1, 0)
    assert reading.step(1).words.startswith(
        "Run in shadow mode, though step 0 answers it and it would have been reused"
    )


def test_what_is_wrong_in_a_journal_is_said() -> None:
    """Lines that are no events, a gap, and a torn end; what can be told is told."""
    lines = [journal_bytes([event]) for event in (start(), plain_step(0), plain_step(2))]
    reading = read_journal(b"".join((*lines[:2], b"no event\n", lines[2], b'{"event": "st')))
    answer = reading.answer()
    assert (len(answer.steps.label), answer.trouble) == (
        1,
        ("the last line is torn", "lines that are no events: 1", "steps behind a gap: 1"),
    )


def test_what_is_wrong_in_a_recorded_run_is_said() -> None:
    """Lines of an agent's log that were left out, too."""
    data = lines(PROMPT, uses("m", "c", "Bash", command="ls"), result("c", "x")) + b"[]\n"
    reading = ReplayReading(read_run("one", data), None)
    said = "one line can't be read and was left out, line 4: expected `object`, got `array`, at the top"
    assert reading.answer().trouble == (said,)


def test_a_file_without_a_whole_line_is_no_journal_yet() -> None:
    """It can be asked for again."""
    with pytest.raises(UnreadableRun, match="found no whole line yet"):
        JournalReading("one", lambda: io.BytesIO(journal_bytes([start()])[:-1]))


def test_a_line_that_was_replaced_is_not_taken_for_the_step() -> None:
    """The file is read again for a step, and may hold something else by then."""
    data = [journal_bytes(told([shown("ls")]))]
    reading = JournalReading("one", lambda: io.BytesIO(data[0]))
    reading.read()
    data[0] = bytes(len(data[0]))
    with pytest.raises(UnreadableRun, match="found another line at step 0"):
        reading.step(0)


def test_reading_stops_when_time_is_up_and_goes_on_later() -> None:
    """One step at least is read each time, so that there always is an end."""
    data = journal_bytes([start(), *map(plain_step, range(5))])
    reading = JournalReading("one", lambda: io.BytesIO(data))
    lengths = []
    for _ in range(3):
        reading.read(seconds=0)
        lengths.append(len(reading.model))
    reading.read(steps=4)
    assert ([*lengths, len(reading.model)], reading.waits, reading.answer().more) == ([1, 2, 3, 4], False, True)
    reading.read()
    assert (len(reading.model), reading.waits, reading.over) == (5, True, False)
    assert [reading.answer(live=live).line.live for live in (True, False)] == [True, False]
    assert reading.news(3).steps == Columns(*[column[3:] for column in msgspec.structs.astuple(reading.answer().steps)])


def test_a_label_is_one_short_line_that_steers_no_terminal() -> None:
    """Whatever the command holds."""
    step = shown("printf '\x1b[2J\x07'\n  && \u202ereversed " + "x" * 500)
    (label,) = read_journal(journal_bytes(told([step]))).answer().steps.label
    assert (label[:30], len(label)) == ("printf '?[2J?' && ?reversed xx", 80)


def test_calls_that_a_thread_was_born_with_have_their_place() -> None:
    """A journal of two conversations, replayed: the columns have an entry for every step."""
    steps = [shown("cat a.py", "a\n" * 200), shown("cat a.py", "a\n" * 200, "child", inherits=0)]
    run = read_run("one", journal_bytes(told([*steps, shown("ls", "a.py\n", "child")])))
    reading = ReplayReading(run, Policy())
    reading.read()
    assert reading.answer().steps.thread == ["", "child", "child"]
    assert reading.step(1).words.startswith("Run: the conversation inherited this call")
    assert reading.over


def test_every_rule_has_words() -> None:
    """Those of govern, and those of the adapters."""
    names = {rule.__name__.replace("_", "-") for rule in RULES} - {"seen-content"}
    assert names <= set(REASONS)


@pytest.mark.parametrize(
    ("decision", "how", "words"),
    [
        (Allow("setup"), Shown("full"), "Run: it, or a part of it, sets up the environment."),
        (
            Allow("new"),
            Shown("reference", refers_to=(2, 3), compared="covered"),
            "Run: no earlier result was certain to answer it. Its output turned out to be visible already, line by "
            "line and at the same line numbers, in steps 2 and 3: a reference was shown in its place.",
        ),
        (
            Allow("new"),
            Shown("partial", refers_to=(2,), compared="different"),
            "Run: no earlier result was certain to answer it. Some of its lines were visible already, at the same "
            "line numbers, in step 2: references were shown.",
        ),
        (
            Allow("new"),
            Shown("full", compared="same", compared_to=(5,), kept="small"),
            "Run: no earlier result was certain to answer it. Its output turned out to be visible already, byte for "
            "byte, in step 5, and yet it was shown in full: a reference would have been more than half as long.",
        ),
        (
            Allow("submission"),
            Shown("full", compared="same", compared_to=(5,), kept="submission"),
            "Run: it, or a part of it, produces, shows or submits the repair. Its output turned out to be visible "
            "already, byte for byte, in step 5, and yet it was shown in full, for that reason.",
        ),
        (
            Allow("a {rule} of another version"),
            Shown("full"),
            "Run: the rule a {rule} of another version says so.",
        ),
        (
            Nudge("loop", (), (4,)),
            Shown("remark"),
            "Run, a repeat of step 4: the same command ran a few calls ago, and no file was edited in between. "
            "A remark was added to its output.",
        ),
        (
            Nudge("loop", (), (4,)),
            Shown("remark", refers_to=(4,), compared="same", compared_to=(6,), kept="cap"),
            "Run, a repeat of step 4: the same command ran a few calls ago, and no file was edited in between. "
            "Its output turned out to be visible already, byte for byte, in step 6, and yet it was shown in full: "
            "Ledger had intervened as often as it may in one task. A remark was added to its output.",
        ),
        (
            Nudge("loop", (), (4,)),
            Shown("full", compared="same", compared_to=(4,), instead="remark", kept="price"),
            "Run, a repeat of step 4: the same command ran a few calls ago, and no file was edited in between. "
            "Its output turned out to be visible already, byte for byte, in step 4, and yet it was shown in full: "
            "a second look at it was expected to cost more than a reference saves. "
            "In shadow mode nothing was changed; otherwise a remark would have been added to its output.",
        ),
        (
            Nudge("loop", (), (4,)),
            Shown("full"),
            "Run, a repeat of step 4: the same command ran a few calls ago, and no file was edited in between. "
            "The result was another one, so no remark was added.",
        ),
        (
            Reuse("repeat", (), ()),
            Shown("full", instead="reference", compared="same"),
            "Run in shadow mode, though an earlier step answers it and it would have been reused: the very same "
            "command has a visible result, and no change was recorded since. In shadow mode nothing was changed; "
            "otherwise a reference would have replaced its output.",
        ),
        (
            Reuse("repeat", (), (1,)),
            Shown("reference", compared="different"),
            "Reused before running, step 1 is taken to answer it: the very same command has a visible result, and no "
            "change was recorded since. The recorded output is different: a false reuse.",
        ),
    ],
)
def test_a_decision_in_plain_words(decision: Allow | Reuse | Nudge, how: Shown, words: str) -> None:
    """What was decided, why, and what came of it."""
    assert in_words(decision, how) == words


def test_several_steps_answer_together() -> None:
    """Or are taken to."""
    reuse = Reuse("covered-read", (), (1, 2))
    assert "before running, steps 1 and 2 answer it:" in in_words(reuse, Shown("reference", compared="covered"))
    assert "steps 1 and 2 are taken to answer it:" in in_words(reuse, Shown("reference", compared="different"))


def test_a_repeat_is_explained_by_what_the_rule_has_checked() -> None:
    """Under the published rules a write to a scratch file does not count: it is not said that nothing was edited."""
    test, write = shown("python -m pytest tests", "1 failed\n"), shown("echo x > /tmp/a.py")
    search = shown("grep -rn total .", "a.py:1:total\n")
    run = read_run("one", journal_bytes(told([test, search, write, test, search])))
    reading = ReplayReading(run, Policy(preset=Preset.PAPER))
    reading.read()
    since = "no change of a file was recorded {}, scratch files aside."
    assert [reading.step(index).words.partition(", and ")[2].partition(" A remark")[0] for index in (3, 4)] == [
        since.format("in between"),
        since.format("since"),
    ]


def test_a_replay_is_worded_as_a_replay() -> None:
    """What would have been shown, never as a fact."""
    read, reused = Shown("reference", refers_to=(2,), compared="same"), Shown("reference", compared="same")
    partly = Shown("partial", refers_to=(2,), compared="different")
    told = [
        in_words(Allow("new"), read, replayed=True),
        in_words(Allow("new"), partly, replayed=True),
        in_words(Reuse("repeat", (), (1,)), reused, replayed=True),
        in_words(Nudge("loop", (), (4,)), Shown("remark"), replayed=True),
        in_words(Allow("new"), Shown("full", compared="same", compared_to=(2,), kept="price"), replayed=True),
    ]
    assert all("would have been" in words.lower() for words in told)
    assert [words for words in told if " was shown" in words or " were shown" in words or "Reused" in words] == []


def test_every_reason_to_show_an_output_again_has_words() -> None:
    """None is missing, and none is left over."""
    assert set(IN_FULL) == set(get_args(InFull))


def test_a_step_that_is_shown_in_part_names_what_was_omitted() -> None:
    """The output is as the model was shown it, with the lines and the step that showed them beside it."""
    text = "[Ledger: lines 1-2 of a.py omitted, as shown by `cat a.py`, 1 command ago.]"
    how = Shown("partial", text, (0,), "different", lines=(CoveredLines(1, 2, 0),), cuts=(0,))
    read = shown("cat a.py", "x\ny\n")
    partly = Step(read.action, Allow("new"), replace(read.observation, output=f"{text}\nz\n"), how)
    answer = read_journal(journal_bytes(told([read, partly]))).step(1)
    assert (answer.mark, answer.shown.omitted, answer.output.text) == ("partial", ((1, 2, 0),), f"{text}\nz\n")


def test_events_are_told_in_the_order_of_the_file() -> None:
    """Every step that a journal has is told, with its own number."""
    events = told([shown(f"echo {number}") for number in range(4)])
    reading = read_journal(journal_bytes(events))
    assert [reading.step(index).command for index in range(4)] == [
        event.step.action.command for event in events if isinstance(event, StepRecorded)
    ]


def test_what_looks_found_is_a_part_of_the_steps_behind_them(tmp_path: Path) -> None:
    """The list has what is new of it, once; a step has all that was known at its model call."""
    root = tmp_path / "work"
    root.mkdir()
    (root / "a.py").write_text("".join(f"line {number}\n" for number in range(20)))
    session = LookingSession(root, tmp_path)
    session.run("cat a.py")
    session.run("sed -i -e '2s/.*/two/' -e '10i ten' a.py")
    session.run("ls", "pwd")
    session.run("ls -a")
    (root / "a.py").unlink()
    session.run("ls")
    reading = read_journal(session.end().read_bytes())
    assert reading.answer().steps.looked == snapshot(
        ["", "", "a.py: 2 changed, 10-20 moved to 11-21", "", "", "a.py: 1-20 gone"]
    )
    found = [reading.step(index).looks for index in range(6)]
    assert found[0] == NO_LOOKS
    assert found[2] == found[3]
    assert [
        [verdict_words(file.results[0].lines, not_by_agent=False) for file in looks.files] for looks in found
    ] == snapshot(
        [
            [],
            ["1-20 same"],
            ["1 same, 2 changed, 3-9 same, 10-20 moved to 11-21"],
            ["1 same, 2 changed, 3-9 same, 10-20 moved to 11-21"],
            ["1 same, 2 changed, 3-9 same, 10-20 moved to 11-21"],
            ["1-20 gone"],
        ]
    )
