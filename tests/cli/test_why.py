"""``execledger why``: one decision with its proof and the state view of that moment."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from execledger.core.ledger import Ledger
from execledger.core.policy import Policy, Preset
from execledger.core.step import complete
from execledger.journal import Event, ViewRendered
from execledger.journal import recorded as recorded_step
from execledger.vocabulary.actions import Action, Observation
from execledger.vocabulary.decisions import Reuse
from tests.cli.conftest import Execledger
from tests.cli.test_replay import recorded
from tests.core.stories import numbered, text, wrapped
from tests.journal.runs import start, written
from tests.runs.samples import answer, encoded, trajectory, turn
from tests.support.looking import LookingSession


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A recorded run in the current folder."""
    monkeypatch.chdir(tmp_path)
    calls = (
        ("cat a.py", text(40)),
        ("sed -n '5,16p' a.py", text(12, 5)),
        ("sed -i s/x/y/ a.py", ""),
        ("ls", "a.py\n"),
        ("git status", "clean\n"),
        ("sed -n '20,34p' a.py", text(15, 20)),
        ("frobnicate", "x\n"),
    )
    return recorded(Path("run.json"), *calls).name


def test_the_first_decision(execledger: Execledger, run: str) -> None:
    """Nothing was seen before it."""
    assert execledger("why", run, 0).out == snapshot("""\
call 0 of run.json, a replay: what would have been shown
command:   cat a.py
category:  inspect, effects none
decision:  allow, by the rule `new`
in words:  Run: no earlier result was certain to answer it.
compared:  different: its output was not found as a whole in visible results
shown:     full
no state view would have been shown before it
""")


def test_a_replay_has_a_view_where_the_model_was_called(execledger: Execledger, tmp_path: Path) -> None:
    """Before the first call of a turn, not before the others; and not without the state view."""
    asked = turn("cat b.py", "cat c.py")
    messages = [turn("cat a.py"), answer("cat a.py", text(40)), asked, *(answer(f"cat {f}.py", "x\n") for f in "bc")]
    run = tmp_path / "run.json"
    run.write_bytes(encoded(trajectory("mini-swe-agent-1.1", messages)))
    silent = tmp_path / "policy.toml"
    silent.write_text('preset = "paper"\ninform = false\n')
    none = "no state view would have been shown before it\n"
    said = [execledger("why", run, index, "--preset", "paper").out for index in range(3)]
    assert ["<execution_state>" in one for one in said] == [True, True, False]
    assert said[2].endswith(none) and execledger("why", run, 1, "--policy", silent).out.endswith(none)


def test_a_reuse_prints_its_proof(execledger: Execledger, run: str) -> None:
    """The rule, the facts, and the calls that it refers to."""
    called = execledger("why", run, 1)
    assert (called.status, called.err, [wrapped(line) for line in called.out.splitlines()]) == snapshot(
        (
            0,
            "",
            [
                "call 1 of run.json, a replay: what would have been shown",
                "command:   sed -n '5,16p' a.py",
                "category:  inspect, effects none",
                "decision:  reuse, by the rule `covered-read`",
                """\
in words:  Would have been reused before running, step 0 answers it: earlier results show every line
that it asks for, and no change of the file was recorded since.\
""",
                "proof:     file: /repo/a.py",
                "proof:     sealed; commands that may write, then and now: 0",
                "proof:     expected saving: the price of 101 new tokens; expected cost: that of 80",
                "refers to: call 0: cat a.py",
                "compared:  covered: its lines were visible already",
                """\
shown:     reference: [Ledger: not run, a.py has not changed. Lines 5-16 of a.py are as shown by
`cat a.py`, 1 command ago. Repeat it to see it again.]\
""",
                "no state view would have been shown before it",
            ],
        )
    )


def test_a_reference_after_running_prints_what_bears_it_out(execledger: Execledger, run: str) -> None:
    """The lines are where they were, although the file had been edited; no view was due."""
    assert [wrapped(line) for line in execledger("why", run, 5).out.splitlines()] == snapshot(
        [
            "call 5 of run.json, a replay: what would have been shown",
            "command:   sed -n '20,34p' a.py",
            "category:  inspect, effects none",
            "decision:  allow, by the rule `new`",
            """\
in words:  Run: no earlier result was certain to answer it. Its output turned out to be visible
already, line by line and at the same line numbers, in step 0: a reference would have been shown in
its place.\
""",
            "refers to: call 0: cat a.py",
            "compared:  covered: its lines were visible already",
            """\
shown:     reference: [Ledger: output omitted. Lines 20-34 of a.py are as shown by `cat a.py`, 5
commands ago.]\
""",
            """\
price:     a reference was expected to save the price of 164 new tokens, second looks to cost that
of 82: worth it\
""",
            "no state view would have been shown before it",
        ]
    )


def test_a_price_does_not_say_how_an_output_was_shown(execledger: Execledger, run: str) -> None:
    """A repeat whose reference is not worth its price gets a remark."""
    log = ("git log --oneline", text(12))
    reads = [(f"cat {letter}.py", text(9000)) for letter in "bcdefgh"]
    name = recorded(Path("loop.json"), *reads, log, log)
    assert said(execledger("why", name, len(reads) + 1).out, "decision", "compared", "shown", "price") == snapshot(
        [
            "decision:  nudge, by the rule `loop`",
            "compared:  same: its output was visible already",
            """\
shown:     remark: [Ledger: the same command gave the same result 1 command ago, and you have edited
no file in between.]\
""",
            """\
price:     a reference was expected to save the price of 115 new tokens, second looks to cost that
of 271: not worth it\
""",
        ]
    )


def test_another_preset_decides_otherwise(execledger: Execledger, run: str) -> None:
    """The proof is by change counters."""
    lines = execledger("why", run, 1, "--preset", "paper").out.splitlines()
    assert [line for line in lines if line.startswith("proof:")] == snapshot(
        ["proof:     file: /repo/a.py", "proof:     change counter of the file: 0, then and now"]
    )


def test_a_call_that_is_not_there_is_named(execledger: Execledger, run: str) -> None:
    """With how many there are."""
    assert execledger("why", run, 7) == (
        2,
        "",
        "execledger: run.json: call 7 was asked for, found 7 calls, counted from 0\n",
    )
    for index in ("-1", "x", "1.5", "9" * 30):
        expected = f"execledger: INDEX: found '{index}', expected the number of a call, counted from 0\n"
        assert execledger("why", run, index) == (2, "", expected)


def test_a_mistyped_option_is_named(execledger: Execledger, run: str) -> None:
    """It is no INDEX at any position."""
    for arguments in ((run, "0", "--presett", "paper"), ("--presett", "paper", run, "0"), (run, "--presett")):
        status, out, err = execledger("why", *arguments)
        assert (status, out, "No such option" in err, "--presett" in err) == (2, "", True, True)


def test_a_broken_run_is_named_with_the_reason(execledger: Execledger, run: str) -> None:
    """One sentence, no traceback."""
    Path("broken.json").write_text("{")
    called = execledger("why", "broken.json", 0)
    assert (called.status, called.out, called.err.startswith("execledger: broken.json: ")) == (2, "", True)


def test_a_journal_of_a_newer_version_has_one_hint(execledger: Execledger, run: str) -> None:
    """What to do about it, and nothing else."""
    Path("newer.ledger.jsonl").write_text('{"event":"start","version":2}\n')
    assert execledger("why", "newer.ledger.jsonl", 0) == (
        2,
        "",
        "execledger: newer.ledger.jsonl: found a journal of version 2, expected at most 1\n"
        "hint: a newer execledger reads it\n",
    )


def test_what_is_wrong_with_a_journal_is_said(execledger: Execledger, run: str) -> None:
    """On standard error; what can be told is told."""
    name = journal(Policy(), (READ,), (PART,), (PART,))
    with Path(name).open("r+b") as file:
        file.truncate(Path(name).stat().st_size - 9)
    called = execledger("why", name, 1)
    assert (called.status, called.err) == (0, "execledger: live.ledger.jsonl: the last line is torn\n")
    assert said(called.out, "decision") == ["decision:  reuse, by the rule `covered-read`"]


def test_a_step_that_refers_to_nothing_is_not_explained(execledger: Execledger, run: str) -> None:
    """It is damage, and said to be so, and no step behind it can be asked for."""
    name = journal(Policy(), (READ,), (PART,))
    Path(name).write_bytes(Path(name).read_bytes().replace(b'"refers_to":[0]', b'"refers_to":[99]'))
    called = execledger("why", name, 1)
    assert (called.status, called.out) == (2, "")
    assert called.err.splitlines() == [
        "execledger: live.ledger.jsonl: lines that are no events: 1",
        "execledger: live.ledger.jsonl: call 1 was asked for, found 1 calls, counted from 0",
    ]


def journal(policy: Policy, *turns: tuple[tuple[str, str], ...]) -> str:
    """A journal in the current folder, as an adapter writes it: a view before each turn, then what it called."""
    ledger = Ledger("Please fix the sum.", policy)
    events: list[Event] = [start(policy, task="Please fix the sum.")]
    for number, calls in enumerate(turns):
        if policy.inform and not policy.shadow:
            events.append(ViewRendered(index=len(ledger), text=ledger.inform(sealed=True).text + f"\nturn {number}"))
        visible = range(len(ledger))
        steps = []
        for command, output in calls:
            action = Action(command, "/repo")
            decision = ledger.govern(action, visible, sealed=True)
            ran = policy.shadow or not isinstance(decision, Reuse)
            observation = Observation(output, exit_status=0) if ran else None
            steps.append(complete(ledger, action, decision, observation, visible))
        for step in steps:
            ledger.record(step)
            events.append(recorded_step(ledger, step, turn=number, sealed=True))
    return written(Path(), events, "live").name


READ, PART = ("cat a.py", text(40)), ("sed -n '5,16p' a.py", text(12, 5))


def said(out: str, *labels: str) -> list[str]:
    """The lines of an explanation with these labels."""
    return [wrapped(line) for line in out.splitlines() if line.startswith(labels)]


def test_a_journal_tells_what_was_decided_then(execledger: Execledger, run: str) -> None:
    """The decision, its proof, what was shown and the view that was read; and that nothing changed since."""
    name = journal(Policy(preset=Preset.PAPER), (READ,), (PART,))
    assert [wrapped(line) for line in execledger("why", name, 1).out.splitlines()] == snapshot(
        [
            "call 1 of live.ledger.jsonl",
            "command:   sed -n '5,16p' a.py",
            "category:  inspect, effects none",
            "decision:  reuse, by the rule `covered-read`",
            """\
in words:  Reused before running, step 0 answers it: earlier results show every line that it asks
for, and no change of the file was recorded since.\
""",
            "proof:     file: /repo/a.py",
            "proof:     change counter of the file: 0, then and now",
            "refers to: call 0: cat a.py",
            "compared:  no, it was reused before running",
            """\
shown:     reference: [Ledger: not run, no change of a.py was recorded. Lines 5-16 of a.py are as
shown by `cat a.py`, 1 command ago. Repeat it to see it again.]\
""",
            "today:     the same",
            "<execution_state>",
            "Task: Please fix the sum.",
            "Seen, most recent first:",
            "- a.py: whole, 40 lines (current, in context)",
            "</execution_state>",
            "turn 1",
        ]
    )


def test_a_journal_under_another_policy_is_replayed(execledger: Execledger, run: str) -> None:
    """With a preset on the command line it is a recorded run like any other."""
    name = journal(Policy(preset=Preset.PAPER), (READ,), (PART,))
    assert said(execledger("why", name, 1, "--preset", "verified").out, "proof", "today", "turn") == snapshot(
        [
            "proof:     file: /repo/a.py",
            "proof:     sealed; commands that may write, then and now: 0",
            "proof:     expected saving: the price of 101 new tokens; expected cost: that of 80",
        ]
    )


def test_a_call_that_was_not_run_is_told_as_that(execledger: Execledger, run: str) -> None:
    """A replay that would have run it knows nothing of its output."""
    name = journal(Policy(preset=Preset.PAPER), (READ,), (("frobnicate", "x\n"),), (PART,))
    labels = ("decision", "in words", "compared", "shown")
    assert said(execledger("why", name, 2).out, "decision", "compared") == snapshot(
        ["decision:  reuse, by the rule `covered-read`", "compared:  no, it was reused before running"]
    )
    assert said(execledger("why", name, 2, "--preset", "verified").out, *labels) == snapshot(
        [
            "decision:  allow, by the rule `new`",
            """\
in words:  Would have been run: no earlier result was certain to answer it. It was not run when it
was recorded, so its output is not known.\
""",
            "compared:  no, its output is not known",
            "shown:     full, an output that is not known",
        ]
    )


def test_calls_of_one_turn_are_judged_as_they_were(execledger: Execledger, run: str) -> None:
    """Before any of them had run: the second read is no repeat of the first, and shares its view."""
    name = journal(Policy(), (("ls", "a.py\n"),), (READ, READ))
    assert said(execledger("why", name, 2).out, "decision", "shown", "today", "turn") == snapshot(
        ["decision:  allow, by the rule `new`", "shown:     full", "today:     the same", "turn 1"]
    )


def test_what_is_decided_otherwise_now_is_said(execledger: Execledger, run: str) -> None:
    """A decision that this version does not make, an output that it shows in another way."""
    name = journal(Policy(), (READ,), (PART,))
    Path(name).write_bytes(Path(name).read_bytes().replace(b'"rule":"covered-read"', b'"rule":"as-it-was"'))
    assert said(execledger("why", name, 1).out, "decision", "today") == snapshot(
        ["decision:  reuse, by the rule `as-it-was`", "today:     otherwise: reuse, by the rule `covered-read`"]
    )
    # A threshold that was changed since stands for anything that was.
    name = journal(Policy(), (READ,), (("echo x >> b.py", ""),), (READ,))
    Path(name).write_bytes(Path(name).read_bytes().replace(b'"min_output":0', b'"min_output":90000'))
    assert said(execledger("why", name, 2).out, "decision", "shown", "today") == snapshot(
        [
            "decision:  allow, by the rule `new`",
            """\
shown:     reference: [Ledger: output omitted. It is the same as that of `cat a.py`, 2 commands
ago.]\
""",
            "today:     the same decision, but shown otherwise: full",
        ]
    )


def test_what_the_adapter_decided_is_not_judged_again(execledger: Execledger, run: str) -> None:
    """What else was under way is not in the journal."""
    name = journal(Policy(), (READ,), (READ,))
    Path(name).write_bytes(Path(name).read_bytes().replace(b'"whole-read"', b'"pending-writes"'))
    assert said(execledger("why", name, 1).out, "today") == snapshot(
        ["today:     not judged again, the adapter decided"]
    )


def test_a_redacted_output_is_not_compared_again(execledger: Execledger, run: str) -> None:
    """The decision can be judged all the same, and so can every later one."""
    secret = "ghp" + "_" + "0123456789abcdefABCDEF"
    read = ("cat .env", f"TOKEN={secret}\n{text(40)}")
    printed = ("cat -n .env", numbered(read[1].splitlines()))
    name = journal(Policy(), (printed,), (("echo x >> b.py", ""),), (read,))
    assert said(execledger("why", name, 0).out, "today") == snapshot(
        ["today:     the same decision; its output is not known well enough to be compared again"]
    )
    assert said(execledger("why", name, 2).out, "decision", "compared", "today") == snapshot(
        [
            "decision:  allow, by the rule `new`",
            "compared:  covered: its lines were visible already",
            "today:     the same decision; its output is not known well enough to be compared again",
        ]
    )


def test_a_shadow_run_says_what_would_have_been_shown(execledger: Execledger, run: str) -> None:
    """It was shown in full, and no view was read."""
    name = journal(Policy(shadow=True), (READ,), (PART,))
    assert said(execledger("why", name, 1).out, "decision", "shown", "today", "no state") == snapshot(
        [
            "decision:  reuse, by the rule `covered-read`",
            "shown:     full; outside shadow mode, a reference",
            "today:     the same",
            "no state view was shown before it",
        ]
    )


@pytest.fixture
def looked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A journal of a session whose files were looked at: calls 6 and 7 come behind changes of all kinds."""
    root = tmp_path / "work"
    root.mkdir()
    monkeypatch.chdir(tmp_path)
    for number, name in enumerate(("a.py", "b.py", "c.py")):
        (root / name).write_text(text(20, 100 * number))
    # The results of this session have no carriage returns, so the file can't be compared.
    (root / "d.py").write_bytes(text(6).replace("\n", "\r\n").encode())
    session = LookingSession(root, tmp_path)
    session.run("cat a.py")
    session.run("sed -n '5,9p' b.py", "cat c.py")
    session.run("cat d.py")
    session.run("sed -i -e '2s/.*/two/' -e '10i ten' a.py")
    session.run("ls")
    (root / "b.py").write_text("another\n")
    (root / "c.py").unlink()
    session.run("pwd", "ls")
    return session.end().name


def test_what_was_looked_at_is_printed_with_each_verdict(execledger: Execledger, looked: str) -> None:
    """The file, its lines with the call that showed them, where they are now, and who has not changed them."""
    assert said(execledger("why", looked, 6).out, "looked at") == snapshot(
        [
            """\
looked at: d.py: 1-6 unknown: the first look disagreed with what was shown; shown by call 3: cat
d.py\
""",
            "looked at: c.py: 1-20 gone (not by the agent); shown by call 2: cat c.py",
            "looked at: b.py: 5-9 changed (not by the agent); shown by call 1: sed -n '5,9p' b.py",
            "looked at: a.py: 1 same, 2 changed, 3-9 same, 10-20 moved to 11-21; shown by call 0: cat a.py",
        ]
    )
    assert said(execledger("why", looked, 7).out, "looked at") == said(execledger("why", looked, 6).out, "looked at")
    assert said(execledger("why", looked, 1).out, "looked at") == snapshot(
        ["looked at: a.py: 1-20 same; shown by call 0: cat a.py"]
    )
    assert said(execledger("why", looked, 0).out, "looked at") == []


def test_the_view_of_a_replay_has_what_was_looked_at_before_it(execledger: Execledger, looked: str) -> None:
    """It is that of the run where the policy is the same, as in ``replay`` and the viewer."""
    Path("policy.toml").write_text('cadence = "every"\n')
    view = execledger("why", looked, 6, "--policy", "policy.toml").out.partition("<execution_state>")[2]
    assert said(view, "- c.py", "- b.py") == snapshot(
        ["- c.py: whole, 20 lines (gone, not by you)", "- b.py: 5-9 (changed, not by you)"]
    )


def test_a_policy_without_looks_has_the_words_without_a_witness(execledger: Execledger, looked: str) -> None:
    """``paper`` keeps the published words also for a journal in which files were looked at."""
    view = execledger("why", looked, 6, "--preset", "paper").out.partition("<execution_state>")[2]
    assert said(view, "- c.py", "- b.py") == snapshot(
        ["- c.py: whole, 20 lines (possibly stale, in context)", "- b.py: 5-9 (possibly stale, in context)"]
    )


def test_programs_read_the_same(execledger: Execledger, looked: str) -> None:
    """With the paths, and line numbers as numbers."""
    told = json.loads(execledger("why", looked, 6, "--json").out)
    for file in told["looks"]:
        file["path"], file["digest"] = Path(file["path"]).name, bool(file["digest"])
    assert told["looks"] == snapshot(
        [
            {
                "path": "d.py",
                "end": None,
                "digest": False,
                "reason": "the first look disagreed with what was shown",
                "results": [
                    {
                        "call": 3,
                        "command": "cat d.py",
                        "not_by_agent": False,
                        "lines": [{"lines": [1, 6], "verdict": "unknown", "now": None}],
                    }
                ],
            },
            {
                "path": "c.py",
                "end": None,
                "digest": False,
                "reason": "",
                "results": [
                    {
                        "call": 2,
                        "command": "cat c.py",
                        "not_by_agent": True,
                        "lines": [{"lines": [1, 20], "verdict": "gone", "now": None}],
                    }
                ],
            },
            {
                "path": "b.py",
                "end": 1,
                "digest": True,
                "reason": "",
                "results": [
                    {
                        "call": 1,
                        "command": "sed -n '5,9p' b.py",
                        "not_by_agent": True,
                        "lines": [{"lines": [5, 9], "verdict": "changed", "now": None}],
                    }
                ],
            },
            {
                "path": "a.py",
                "end": 21,
                "digest": True,
                "reason": "",
                "results": [
                    {
                        "call": 0,
                        "command": "cat a.py",
                        "not_by_agent": False,
                        "lines": [
                            {"lines": [1, 1], "verdict": "same", "now": None},
                            {"lines": [2, 2], "verdict": "changed", "now": None},
                            {"lines": [3, 9], "verdict": "same", "now": None},
                            {"lines": [10, 20], "verdict": "moved", "now": [11, 21]},
                        ],
                    }
                ],
            },
        ]
    )
    assert {name: told[name] for name in told if name not in ("looks", "view", "run")} == snapshot(
        {
            "call": 6,
            "command": "pwd",
            "category": "inspect",
            "effects": "none",
            "decision": "allow",
            "rule": "new",
            "words": "Run: no earlier result was certain to answer it.",
            "proof": [],
            "refers_to": [],
            "compared": "different",
            "compared_to": [],
            "shown": {"kind": "full", "text": "", "instead": None},
            "price": None,
            "today": "the same",
            "looked_before_call": 6,
            "look_failed": False,
            "tree": None,
        }
    )


def test_a_look_that_failed_is_said(execledger: Execledger, looked: str) -> None:
    """It ended what was known."""
    lines = [json.loads(line) for line in Path(looked).read_text().splitlines()]
    read = next(at for at, line in enumerate(lines) if (line["event"], line.get("index")) == ("view", 1))
    lines.insert(read, {"event": "look", "index": 1, "sighting": {}})
    Path(looked).write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert said(execledger("why", looked, 1).out, "looked at") == [
        "looked at: nothing could be read, and what earlier looks had found did not count any more"
    ]
    assert json.loads(execledger("why", looked, 1, "--json").out)["look_failed"] is True


def test_without_looks_nothing_is_said_of_them(execledger: Execledger, run: str) -> None:
    """Neither of a run that was recorded by others, nor of a journal of an earlier version."""
    for name in (run, journal(Policy(), (READ,), (PART,))):
        assert said(execledger("why", name, 1).out, "looked at") == []
        assert json.loads(execledger("why", name, 1, "--json").out)["looks"] == []


def test_a_read_after_an_edit_is_not_called_one_of_the_same_content(
    execledger: Execledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reference before the edit would have been shown, and what the file shows since is not called visible."""
    monkeypatch.chdir(tmp_path)
    old, edited = text(80), text(80).replace("compute", "derive")
    read, edit = "cat a.py", "sed -i s/compute/derive/ a.py"
    calls = ((read, old), ("touch b", ""), (read, old), (edit, ""), (read, edited))
    name = recorded(Path("run.json"), *calls).name
    told = said(execledger("why", name, 4).out, "decision", "in words", "proof", "compared")
    assert [line.replace("\n", " ") for line in told] == [
        "decision:  allow, by the rule `second-look`",
        "in words:  Run: an earlier request for the same lines, file or command would have been answered with a "
        "reference, at least in part, and the next one is answered in full, also where the content has changed since.",
        "proof:     a reference would have been shown at step 2",
        "compared:  different: its output was not found as a whole in visible results",
    ]
    # Programs get the proof as a journal has it.
    assert json.loads(execledger("why", name, 4, "--json").out)["proof"] == ["a reference stands at step 2"]
