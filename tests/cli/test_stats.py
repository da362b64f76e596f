"""``execledger stats``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result
from msgspec.structs import replace

from execledger.cli.main import group
from execledger.cli.stats import add_up
from execledger.core.policy import Policy
from execledger.errors import LedgerError
from execledger.journal import Ended, Event
from execledger.journal.events import BYPASSED, Counts
from execledger.runs.account import Net
from execledger.runs.find import Source
from execledger.runs.prices import shipped
from tests.journal.runs import events_of, plain_step, retold, start, summed, written
from tests.support.simulation.sessions import simulate

RUN: list[Event] = [
    start(),
    plain_step(0),
    Ended(counts=Counts(proposed=1), model_calls=2, input_tokens=1234, cached_tokens=1000, output_tokens=5, cost=0.125),
]


def stats(*arguments: str, environment: dict[str, str] | None = None) -> Result:
    """What the verb prints."""
    return CliRunner().invoke(group, ["stats", *arguments], env=environment)


def totals(*arguments: str) -> dict[str, Any]:
    """The numbers that it prints."""
    result = stats(*arguments, "--json")
    assert result.exit_code == 0, result.output
    numbers: dict[str, Any] = msgspec.json.decode(result.stdout)
    return numbers


def test_many_runs_are_added_up(tmp_path: Path) -> None:
    """Runs in a folder, and in the folders in it, are added up."""
    (tmp_path / "repo").mkdir()
    session = simulate(tmp_path / "repo", 2)
    for name in ("a", "b"):
        written(tmp_path / "journals", events_of(session), name)
    written(tmp_path / "journals" / "deep", RUN)
    found = totals(str(tmp_path / "journals"))
    assert (found["runs"], found["unended"], found["model_calls"]) == (3, 0, 2 * 41 + 2)
    assert (found["counts"]["proposed"], found["counts"]["suppressed"]) == (81, 2 * session.reuses)
    assert (found["input_tokens"], found["cost"], found["runs_with_cost"]) == (1234, 0.125, 1)


def test_runs_that_went_past_ledger_are_counted(tmp_path: Path) -> None:
    """A run whose agent sent no request is one of the runs, and has a row of its own."""
    written(tmp_path, RUN, "a")
    written(tmp_path, [start(), Ended(reason=BYPASSED, counts=Counts(), model_calls=0)], "b")
    found = totals(str(tmp_path))
    assert (found["runs"], found["bypassed"], found["unended"], found["counts"]["proposed"]) == (2, 1, 0, 1)
    assert "bypassed" in stats(str(tmp_path)).output


def test_torn_and_foreign_files_are_named_and_counted(tmp_path: Path) -> None:
    """One bad file does not hide the others; standard error says which, and why."""
    written(tmp_path, RUN)
    torn = written(tmp_path, RUN, "torn")
    torn.write_bytes(torn.read_bytes()[:-40])
    (tmp_path / "foreign.json").write_text('{"messages": []}')
    (tmp_path / "later.jsonl").write_text('{"event":"start","version":2}\n')
    (tmp_path / "empty.ledger.jsonl").write_text("")
    result = stats(str(tmp_path), "--json")
    found = msgspec.json.decode(result.stdout)
    assert (found["runs"], found["torn"], found["unended"], found["unread"]) == (2, 1, 1, 3)
    assert result.stderr.splitlines() == [
        f"execledger: {tmp_path}/empty.ledger.jsonl: found something else, expected a journal",
        f"execledger: {tmp_path}/foreign.json: found something else, expected a journal",
        f"execledger: {tmp_path}/later.jsonl: found a journal of version 2, expected at most 1",
        "hint: a newer execledger reads it",
        f"execledger: {tmp_path}/torn.ledger.jsonl: the last line is torn",
        "execledger: 2 files are no journal of Ledger; `execledger replay PATH...` reads the recorded runs of agents",
    ]


@pytest.mark.parametrize("torn", ["a", "z"])
def test_of_copies_of_a_run_one_with_an_end_counts(tmp_path: Path, torn: str) -> None:
    """Whichever is read first: the other lost its last line."""
    written(tmp_path, [replace(start(), at=1.0), *RUN[1:]], "m")
    copy = tmp_path / f"{torn}.ledger.jsonl"
    copy.write_bytes((tmp_path / "m.ledger.jsonl").read_bytes()[:-40])
    found = totals(str(tmp_path))
    assert [found[name] for name in ("runs", "repeated", "torn", "unended", "cost")] == [1, 1, 0, 0, 0.125]
    (tmp_path / "m.ledger.jsonl").unlink()
    found = totals(str(tmp_path))
    assert [found[name] for name in ("runs", "repeated", "torn", "unended")] == [1, 0, 1, 1]


def test_recorded_runs_of_agents_are_pointed_to_replay(tmp_path: Path) -> None:
    """Where there are none yet, where there are only those, and where they are beside journals."""
    for name in ("notes.txt", "run.traj.json"):
        (tmp_path / name).write_text('{"trajectory_format": "mini-swe-agent-1.1", "messages": []}')
        with pytest.raises(LedgerError) as caught:
            CliRunner().invoke(group, ["stats", str(tmp_path)], catch_exceptions=False)
        assert caught.value.hint == "`execledger replay PATH...` reads the recorded runs of agents"
    written(tmp_path, RUN)
    for number in range(9):
        (tmp_path / f"{number}.traj.json").write_text("{}")
    *named, last = stats(str(tmp_path)).stderr.splitlines()
    assert (len(named), last) == (3, f"execledger: 10 files are no journal of Ledger; {caught.value.hint}")


def test_a_run_and_its_copy_are_one_run(tmp_path: Path) -> None:
    """Known by its name and start; runs of one name that began at other times are others."""
    journal = written(tmp_path, [replace(RUN[0], at=100.25), *RUN[1:]])
    (tmp_path / "copy.jsonl").write_bytes(journal.read_bytes())
    (tmp_path / "earlier-copy.jsonl").write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:2]))
    written(tmp_path, [replace(RUN[0], at=100.5), *RUN[1:]], "another")
    result = stats(str(tmp_path), "--json")
    found = msgspec.json.decode(result.stdout)
    assert (found["runs"], found["repeated"], found["input_tokens"], found["unended"]) == (2, 2, 2 * 1234, 0)
    assert result.stderr == "execledger: 2 copies of runs that were already counted are left out\n"


def test_people_get_a_table(tmp_path: Path) -> None:
    """Without ``--json`` the numbers stand in a table, tokens and cost where they are told."""
    written(tmp_path, RUN)
    rows = {line.split("│")[1].strip(): line.split("│")[2].strip() for line in _lines(stats(str(tmp_path)).stdout)}
    assert rows["commands proposed"] == "1"
    assert (rows["input tokens"], rows["output tokens"], rows["cost"]) == ("1,234", "5", "$0.12")
    assert "redundant re-reads" not in rows and "shadow runs" not in rows


def test_the_end_says_what_was_saved_and_spent(tmp_path: Path) -> None:
    """In dollars, with the day of the prices and the model; programs get the same numbers."""
    (tmp_path / "repo").mkdir()
    written(tmp_path / "journals", events_of(retold(simulate(tmp_path / "repo", 4), Policy())))
    said = stats(str(tmp_path / "journals")).stdout.splitlines()[-1]
    net = msgspec.json.decode(stats("--json", str(tmp_path / "journals")).stdout)["net"]
    assert net["net"] == net["saved"] - net["spent"]
    assert min(net["saved"], net["spent"]) > 0
    assert net["prices"] == {"gpt-5 (assumed)": shipped().date}
    assert said == msgspec.convert(net, Net).sentence()


def test_a_shadow_run_beside_a_live_one_leaves_its_net_as_it_was(tmp_path: Path) -> None:
    """The share is of what the live run cost; the run in shadow mode is counted, and said to be apart."""
    (tmp_path / "repo").mkdir()
    session = simulate(tmp_path / "repo", 4)
    took = {"model_calls": 41, "input_tokens": 90_000, "cached_tokens": 80_000, "output_tokens": 900}
    for name, policy in (("live", Policy()), ("shadow", Policy(shadow=True))):
        *events, ended = events_of(retold(session, policy))
        assert isinstance(ended, Ended)
        written(tmp_path / name, [*events, replace(ended, **took)], name)
    live, shadow = (str(tmp_path / name) for name in ("live", "shadow"))
    (alone,) = (stats(live).stdout.splitlines()[-1],)
    told, _, basis = alone.partition(" at table prices.")
    assert "% of the $" in told
    assert stats(live, shadow).stdout.splitlines()[-1] == f"{told} at table prices; 1 shadow run apart.{basis}"
    both, one = (totals(*paths)["net"] for paths in ((live, shadow), (live,)))
    assert both == one | {"shadow": 1}
    assert stats(shadow).stdout.splitlines()[-1].endswith("net 0 tokens, $0.00; 1 shadow run apart.")


def test_shadow_runs_say_what_would_have_been_done(tmp_path: Path) -> None:
    """In numbers that a live run would have come to."""
    (tmp_path / "repo").mkdir()
    session = simulate(tmp_path / "repo", 4)
    live = summed(events_of(retold(session, Policy()))).counts
    written(tmp_path / "journals", events_of(retold(session, Policy(shadow=True))))
    table = _lines(stats(str(tmp_path / "journals")).stdout)
    rows = {
        line.split("│")[1].strip(): int(line.split("│")[2]) for line in table if "shadow" in line or "would" in line
    }
    assert rows == {
        "shadow runs": 1,
        "would be reused before": live.suppressed,
        "would be reused after": live.elided,
        "would be reused in part": live.partial,
        "would be nudged": live.nudged,
    }


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.count("│") == 4]


def test_the_state_folder_is_the_default(tmp_path: Path) -> None:
    """Without a folder the journals of the state folder are read."""
    written(tmp_path, RUN)
    assert stats("--json", environment={"EXECLEDGER_JOURNAL": str(tmp_path)}).exit_code == 0


def test_before_the_first_run_there_is_nothing_to_add_up(tmp_path: Path) -> None:
    """The usual folder is not there yet, or empty: that is no error."""
    for folder in (tmp_path, tmp_path / "no"):
        place = {"EXECLEDGER_JOURNAL": str(folder)}
        result = stats(environment=place)
        assert (result.exit_code, result.stdout) == (0, "")
        assert result.stderr == f"execledger: no runs yet in {folder}\n"
        assert msgspec.json.decode(stats("--json", environment=place).stdout)["runs"] == 0


def test_a_file_that_does_not_fit_into_memory_does_not_stop_the_others(tmp_path: Path) -> None:
    """Whether that shows when it is read or when it is taken apart."""
    whole = Source("small", written(tmp_path, RUN).read_bytes)

    class Huge(bytes):
        def find(self, *_: object) -> int:
            raise MemoryError

    totals, worth = add_up(iter([Source("big", lambda: Huge(b"{}")), whole]))
    assert (totals.runs, totals.named, worth is None) == (1, ["big: does not fit into memory"], False)


def test_no_journal_is_an_error(tmp_path: Path) -> None:
    """A folder without journals, and one that does not exist, end with a sentence."""
    for path, said in ((tmp_path, "no journal was read"), (tmp_path / "no", "found nothing there")):
        with pytest.raises(LedgerError, match=said):
            CliRunner().invoke(group, ["stats", str(path)], catch_exceptions=False)
