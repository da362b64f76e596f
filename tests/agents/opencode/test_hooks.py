"""opencode's plugin: exit codes of commands, used when they are there in time, and forgotten without a trace."""

from __future__ import annotations

import json
from contextlib import suppress
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import pytest

from execledger.agents.opencode.hooks import PORT, plugin, report_of, with_plugin
from execledger.agents.opencode.tools import ADAPTER
from execledger.core.policy import Policy
from execledger.journal.reader import read_journal, rebuild
from execledger.proxy.book import Book, Rules
from execledger.proxy.call_reports import CallReport, CallReports
from execledger.proxy.edits import EditStore
from execledger.proxy.passage import Passage
from tests.support.faults.sabotage import Sabotage, call_sites, sabotaged

HEADERS = {"x-session-id": "ses_1", "user-agent": "opencode/1.18.33"}
LINES = [f"row {number}: lib_{number}.h: No such file or directory, skipped\n" for number in range(60)]
LOG = "".join(LINES)
"""A file that reads like the complaints of programs."""
PLACE = (
    "You are powered by the model named m.\nHere is some useful information about the environment:\n"
    "<env>\n  Working directory: /repo\n  Workspace root folder: /repo\n</env>"
)


class Client:
    """opencode with the plugin: it keeps its history, and reports each command that has ended."""

    def __init__(self, folder: Path, store: EditStore | None = None) -> None:
        self.folder, self.store = folder, store or EditStore(None)
        self.reports = CallReports(PORT)
        self.restart()
        system, task = {"role": "system", "content": PLACE}, {"role": "user", "content": "Mend it."}
        self.messages: list[dict[str, Any]] = [system, task]
        self.sent: list[list[Any]] = []

    def restart(self) -> None:
        """Put a proxy with the same edits in place of the last one."""
        self.reports = CallReports(PORT)
        rules = Rules(policy=Policy(inform=False), journals=self.folder, reports=self.reports)
        self.passage = Passage(Book(rules, ADAPTER, self.store))

    def turn(self, command: str, output: str, code: int | None, *, late: bool = False) -> str:
        """The model asks for a command, which ends with ``code``; the result as the model is shown it."""
        number = len(self.messages)
        answer = self.passage.answer(self.request(), 200, {"content-type": "text/event-stream"})
        function = {"name": "bash", "arguments": json.dumps({"command": command, "description": "look"})}
        call = {"index": 0, "id": f"c{number}", "type": "function", "function": function}
        for delta, reason in (({"tool_calls": [call]}, None), ({}, "tool_calls")):
            event = {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
            if answer is not None:
                answer.feed(b"data: " + json.dumps(event).encode() + b"\n\n")
        self.messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        self.messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": output})
        told = {"sessionID": "ses_1", "callID": f"c{number}", "command": command, "exit": code}
        # A fault while a report arrives ends in the relay.
        with suppress(Sabotage):
            self.reports.add(b"" if late else json.dumps(told).encode())
        self.request()
        if late:
            self.reports.add(json.dumps(told).encode())
        return str(self.sent[-1][-1]["content"])

    def request(self) -> Any:
        """Send the history."""
        body = json.dumps({"model": "m", "stream": True, "tools": [{}], "messages": self.messages}).encode()
        sent = self.passage.request("POST", "/v1/chat/completions", HEADERS, body)
        self.sent.append(json.loads(sent.body)["messages"])
        return sent

    def recorded(self) -> list[int | None]:
        """The exit codes in the journals, which rebuild the same state."""
        self.passage.book.close()
        runs = [read_journal(file.name, file.read_bytes()) for file in sorted(self.folder.glob("*.jsonl"))]
        assert [rebuild(run).mismatch for run in runs] == [None] * len(runs) and not self.passage.faults
        return [event.step.observation.exit_status for run in runs for event in run.steps]


def test_exit_codes_are_recorded_and_a_log_of_complaints_is_no_failure(tmp_path: Path) -> None:
    """With the code 0, an output that reads like complaints is an output like any other."""
    client = Client(tmp_path)
    assert client.turn("cat a.txt", LOG, 0) == LOG
    assert client.turn("cat a.txt", LOG, 0).startswith("[Ledger: output omitted.")
    client.turn("python3 check.py", "broken\n", 3)
    client.turn("sleep 9", "User aborted the command", None)
    assert client.recorded() == [0, 0, 3, None]


@pytest.mark.parametrize("late", [True, False])
def test_without_a_report_in_time_nothing_changes(tmp_path: Path, late: bool) -> None:
    """One that arrives behind the request that has the result is not used, then or later."""
    client = Client(tmp_path)
    for _ in range(3):
        assert client.turn("cat a.txt", LOG, 0 if late else None, late=late) == LOG
    assert client.recorded() == [None] * 3


def test_what_was_shown_with_a_report_is_shown_without_it(tmp_path: Path) -> None:
    """An edit fits the result as it was sent: after a restart there are no reports any more."""
    client = Client(tmp_path)
    lines = [f"line {number} of a file that is long enough to be worth a reference\n" for number in range(60)]
    client.turn("head -n 40 a.py", "".join(lines[:40]), 0)
    shown = client.turn("cat a.py", "".join(lines), 0)
    assert "[Ledger: lines 1-" in shown and lines[59].rstrip() in shown
    before = client.sent[-1]
    client.restart()
    client.request()
    assert client.sent[-1] == before


def test_only_reports_of_the_plugin_are_read() -> None:
    """Anything else is no report."""
    told = {"sessionID": "s", "callID": "c", "command": "ls", "exit": 2}
    assert report_of(told) == CallReport(thread="s", call_id="c", command="ls", told=2)
    others: tuple[object, ...] = ({**told, "exit": None}, {**told, "exit": "2"}, {"exit": 2}, [], None)
    for other in others:
        assert report_of(other) is None


def test_the_plugin_stands_beside_the_users() -> None:
    """In a list of its own or behind what is there; another shape is the client's to refuse."""
    assert with_plugin({"model": "m"}, "file:///l.js") == {"model": "m", "plugin": ["file:///l.js"]}
    assert with_plugin({"plugin": ["mine"]}, "file:///l.js") == {"plugin": ["mine", "file:///l.js"]}
    assert with_plugin({"plugin": "odd"}, "file:///l.js") == {"plugin": "odd"}
    assert 'fetch("http://127.0.0.1:1/hook/x"' in plugin("http://127.0.0.1:1/hook/x")


def played(folder: Path) -> list[list[Any]]:
    """The requests of a short session with reports."""
    client = Client(folder)
    for command, output, code in (("cat a.txt", LOG, 0), ("cat a.txt", LOG, 0), ("false", "no\n", 1)):
        client.turn(command, output, code)
    client.request()
    assert not client.passage.faults
    return client.sent


@pytest.mark.faults
def test_a_fault_in_the_reports_costs_no_more_than_them(tmp_path: Path) -> None:
    """At each call of the new code, the first time and the last: requests arrive, and histories only grow."""
    folders = (tmp_path / str(number) for number in count())
    sites = call_sites(lambda: played(next(folders)))
    reached = {
        site: times
        for site, times in sites.items()
        if site.callee.co_filename.endswith(("/call_reports.py", "/opencode/hooks.py"))
        and "/tests/" not in site.caller.co_filename
    }
    assert len(reached) > 5
    for site, times in reached.items():
        for occurrence in {1, times}:
            with sabotaged(site, occurrence) as trap:
                sent = played(next(folders))
            assert trap.sprung, str(site)
            for before, after in pairwise(sent):
                assert after[: len(before)] == before, str(site)
