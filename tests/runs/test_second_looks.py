"""Second looks are counted from a journal and in an evaluation, and an early end of eliding is reported."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner
from msgspec.structs import replace

from execledger.agents.formats import read_run
from execledger.cli.main import group
from execledger.core.ledger import Ledger
from execledger.core.policy import Policy
from execledger.core.step import take
from execledger.evaluate.metrics import account_of
from execledger.journal import Event, read_journal, recorded
from execledger.journal.codec import encode
from execledger.runs.account import Account
from execledger.vocabulary.actions import Action, Observation
from tests.core.stories import text
from tests.journal.runs import returning, start, summed, written


def events(files: int, looks: int, policy: Policy | None = None, model: str = "some/model") -> list[Event]:
    """A run that reads ``files`` files, each twice, and the first ``looks`` of them a third time."""
    ledger = Ledger("Mend it.", policy)
    told: list[Event] = [replace(start(ledger.policy), task="Mend it.", model=model, run=f"{model} {files}")]
    for number in range(files):
        again = 3 if number < looks else 2
        calls = [(f"cat f{number}.py", text(300, number * 1000))] * again
        idle = [(f"grep -rn idle{number}{place} docs", "") for place in range(3)]
        for command, output in (*calls, *idle):
            step = take(ledger, Action(command, "/repo"), returning(Observation(output, exit_status=0)))
            told.append(recorded(ledger, step, turn=len(ledger) - 1, sealed=False))
    return told


def counts(account: Account) -> tuple[int, int]:
    return account.counts.second_looks, account.counts.references


def test_every_reader_counts_the_same() -> None:
    """The journal as it is written and as it is read back for an evaluation."""
    told = events(5, 2)
    data = b"".join(encode(event) for event in told)
    assert counts(summed(told)) == (2, 5)
    assert counts(account_of(read_run("j", data), read_journal("j", data))) == (2, 5)


def test_an_early_end_is_said_at_the_end() -> None:
    """With the numbers that led to it."""
    account = summed(events(6, 6))
    assert counts(account) == (4, 4) and account.stopped == (4, 4)
    assert account.sentence().endswith("; eliding ended early, the model looked again after 4 of 4 references")
    assert "ended early" not in summed(events(6, 1)).sentence()


def test_in_shadow_mode_there_are_none() -> None:
    """The model saw every output."""
    assert counts(summed(events(5, 5, Policy(shadow=True)))) == (0, 0)


def test_older_journals_are_left_out_of_the_rate() -> None:
    """They do not say which call was a second look."""
    told = [replace(event, looked_again=None) if hasattr(event, "looked_again") else event for event in events(5, 2)]
    assert counts(summed(told)) == (0, 0)


def test_stats_has_a_rate_for_each_model(tmp_path: Path) -> None:
    """And one for all."""
    for number, (model, looks) in enumerate((("one", 1), ("two", 3))):
        written(tmp_path / str(number), events(5, looks, model=model))
    shown = CliRunner().invoke(group, ["stats", str(tmp_path)], env={"COLUMNS": "120"}).output
    rows = [" ".join(line.replace("│", " ").split()) for line in shown.splitlines()]
    assert {"second looks 4 44% of 9 references", "one 1 20% of 5 references", "two 3 75% of 4 references"} <= set(rows)
