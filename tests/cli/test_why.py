"""``execledger why``: one decision with its proof and the state view of that moment."""

from __future__ import annotations

from pathlib import Path

import pytest
from inline_snapshot import snapshot

from tests.cli.conftest import Execledger
from tests.cli.test_replay import recorded
from tests.core.stories import text, wrapped


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A recorded run in the current folder."""
    monkeypatch.chdir(tmp_path)
    calls = (
        ("cat a.py", text(20)),
        ("sed -n '5,9p' a.py", text(5, 5)),
        ("sed -i s/x/y/ a.py", ""),
        ("ls", "a.py\n"),
        ("git status", "clean\n"),
        ("cat a.py", text(20)),
        ("frobnicate", "x\n"),
    )
    return recorded(Path("run.json"), *calls).name


def test_the_first_decision(execledger: Execledger, run: str) -> None:
    """Nothing was seen before it."""
    assert execledger("why", run, 0).out == snapshot("""\
call 0 of run.json
command:   cat a.py
category:  inspect, effects none
decision:  allow, by the rule `new`
compared:  different
shown:     full
<execution_state>
Task: Please fix the sum.
</execution_state>
""")


def test_a_reuse_prints_its_proof(execledger: Execledger, run: str) -> None:
    """The rule, the facts, and the calls that it refers to."""
    called = execledger("why", run, 1)
    assert (called.status, called.err, [wrapped(line) for line in called.out.splitlines()]) == snapshot(
        (
            0,
            "",
            [
                "call 1 of run.json",
                "command:   sed -n '5,9p' a.py",
                "category:  inspect, effects none",
                "decision:  reuse, by the rule `covered-read`",
                "proof:     file: /repo/a.py",
                "proof:     sealed; commands that may write, then and now: 0",
                "refers to: call 0: cat a.py",
                "compared:  covered",
                """\
shown:     reference: [Ledger: not run, its output still stands above, unchanged: `cat a.py`, 1
command ago, beginning "value_1 = compute(number=1)". Repeat it to see it again.]\
""",
                "<execution_state>",
                "Task: Please fix the sum.",
                "Seen, most recent first:",
                "- a.py: whole, 20 lines (current, in context)",
                "</execution_state>",
            ],
        )
    )


def test_a_reference_after_running_prints_what_bears_it_out(execledger: Execledger, run: str) -> None:
    """The view is the one before the call: the file had been edited."""
    assert [wrapped(line) for line in execledger("why", run, 5).out.splitlines()] == snapshot(
        [
            "call 5 of run.json",
            "command:   cat a.py",
            "category:  inspect, effects none",
            "decision:  allow, by the rule `new`",
            "refers to: call 0: cat a.py",
            "compared:  same",
            """\
shown:     reference: [Ledger: ran; the output is the same as above: this same command, 5 commands
ago, beginning "value_1 = compute(number=1)".]\
""",
            "<execution_state>",
            "Task: Please fix the sum.",
            "Modified, most recent first:",
            "- a.py: symbols unknown",
            "Seen, most recent first:",
            "- a.py: whole, 20 lines (stale, in context)",
            "</execution_state>",
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


def test_a_broken_run_is_named_with_the_reason(execledger: Execledger, run: str) -> None:
    """One sentence, no traceback."""
    Path("broken.json").write_text("{")
    called = execledger("why", "broken.json", 0)
    assert (called.status, called.out, called.err.startswith("execledger: broken.json: ")) == (2, "", True)
