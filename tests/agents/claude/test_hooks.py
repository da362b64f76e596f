"""Claude Code's http hooks: directories and outcomes of commands, used where they are certain."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from execledger.agents.claude import adapter
from execledger.agents.claude.hooks import PORT, report_of, with_hooks
from execledger.journal.reader import read_journal, rebuild
from execledger.proxy.book import Book, Rules
from execledger.proxy.call_reports import CallReport, CallReports
from execledger.proxy.edits import EditStore
from execledger.proxy.passage import Passage

Json = dict[str, Any]
HEADERS = {"x-claude-code-session-id": "s", "user-agent": "claude-cli/2.1.325 (external, cli)"}
PLACE = "<system-reminder>\n# Environment\n - Primary working directory: /repo\n</system-reminder>"
OWN = {"matcher": "Bash", "hooks": [{"type": "http", "url": "U", "timeout": 2}]}


def event(command: str, call_id: str = "c", **more: Any) -> Json:
    """What the client sends when a command has ended."""
    told = {"stdout": "x", "stderr": "", "interrupted": False, "isImage": False, "noOutputExpected": False}
    return {
        "session_id": "s",
        "transcript_path": "/t.jsonl",
        "cwd": "/repo",
        "hook_event_name": "PostToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": command},
        "tool_response": told,
        "tool_use_id": call_id,
        **more,
    }


class Client:
    """Claude Code with our hooks."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.reports = CallReports(PORT)
        self.passage = Passage(Book(Rules(journals=folder, reports=self.reports), adapter, EditStore(None)))
        self.messages: list[Json] = [{"role": "user", "content": [{"type": "text", "text": PLACE}]}]

    def turn(self, *commands: str, events: tuple[Json, ...] = (), **more: Any) -> None:
        """The model asks for commands; hooks send ``events``, and ``more`` is in the results."""
        calls: list[Json] = []
        results: list[Json] = []
        for at, command in enumerate(commands):
            call_id = f"c{len(self.messages)}_{at}"
            calls.append({"type": "tool_use", "id": call_id, "name": "Bash", "input": {"command": command}})
            results.append({"type": "tool_result", "tool_use_id": call_id, "content": "x", **more})
        self.messages += [{"role": "assistant", "content": calls}, {"role": "user", "content": results}]
        for call, one in zip(calls, events, strict=False):
            self.reports.add(json.dumps({**one, "tool_use_id": call["id"]}).encode())
        body = json.dumps({"model": "m", "stream": True, "tools": [{}], "messages": self.messages}).encode()
        self.passage.request("POST", "/v1/messages", HEADERS, body)

    def recorded(self) -> list[tuple[str | None, int | None]]:
        """The directory and the exit code of each step; the journal rebuilds the same state."""
        self.passage.book.close()
        (run,) = [read_journal(file.name, file.read_bytes()) for file in self.folder.glob("*.jsonl")]
        assert rebuild(run).mismatch is None and not self.passage.faults
        return [(one.step.action.cwd, one.step.observation.exit_status) for one in run.steps]


def test_a_directory_is_known_behind_a_command_that_is_alone(tmp_path: Path) -> None:
    """Of several commands of one turn, each may change it behind the other's back."""
    client = Client(tmp_path)
    client.turn("cd a; ls", events=(event("cd a; ls", cwd="/repo/a"),))
    client.turn("ls")
    client.turn("cd b; ls", "cd c; ls", events=(event("cd b; ls", cwd="/repo/b"), event("cd c; ls", cwd="/repo/c")))
    client.turn("ls")
    assert [place for place, _ in client.recorded()] == ["/repo", "/repo/a", "/repo/a", None, None]


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({}, 0),
        ({"tool_response": {"returnCodeInterpretation": "No matches found"}}, None),
        ({"tool_response": {"interrupted": True}}, None),
        ({"tool_input": {"command": "another"}, "tool_response": {"interrupted": True}}, 0),
        ({"agent_id": "a", "tool_response": {"interrupted": True}}, 0),
    ],
    ids=["plain", "interpreted", "interrupted", "another command", "a sub-agent's"],
)
def test_the_outcome_is_what_the_client_keeps_for_itself(tmp_path: Path, told: Json, expected: int | None) -> None:
    """A code other than 0 that the client does not call an error is not taken for 0."""
    client = Client(tmp_path)
    client.turn("grep x a.py", events=(event("grep x a.py", **told),))
    assert client.recorded() == [("/repo", expected)]


def test_what_a_command_printed_is_not_taken_from_the_report(tmp_path: Path) -> None:
    """The result counts as the request has it, with the client's reminders apart."""
    reminder = "<system-reminder>\n7 tokens left\n</system-reminder>"
    printed = event("cat a", tool_response={"stdout": reminder, "interrupted": False})
    report = report_of(printed)
    assert report is not None and report.told == {"interrupted": False}


def test_what_is_no_report() -> None:
    """Other tools, other events, other shapes."""
    failure: Json = {"hook_event_name": "PostToolUseFailure", "error": "Exit code 3\nx", "tool_response": {}}
    assert report_of(event("ls", **failure)) == CallReport(
        thread="s", call_id="c", command="ls", told="Exit code 3\nx", cwd="/repo"
    )
    sub_agent = report_of(event("ls", agent_id="a", cwd="/elsewhere"))
    assert sub_agent is not None and (sub_agent.thread, sub_agent.cwd) == ("s/a", None)
    others: tuple[object, ...] = (
        event("ls", tool_name="Read"),
        event("ls", hook_event_name="PreToolUse"),
        event("ls", tool_input={"file_path": "x"}),
        {"session_id": "s"},
        [],
    )
    for other in others:
        assert report_of(other) is None


def test_hooks_of_the_user_stay() -> None:
    """Ours come behind them; settings of another shape are the client's to refuse."""
    mine = {"matcher": "*", "hooks": [{"type": "command", "command": "true"}]}
    given = {"env": {"A": "1"}, "hooks": {"PostToolUse": [mine], "Stop": [mine]}}
    merged = with_hooks(given, "U")
    assert merged["env"] == {"A": "1"}
    assert merged["hooks"] == {"PostToolUse": [mine, OWN], "Stop": [mine], "PostToolUseFailure": [OWN]}
    assert given["hooks"] == {"PostToolUse": [mine], "Stop": [mine]}
    shapes: tuple[Json, ...] = ({"hooks": []}, {"hooks": {"PostToolUse": {}}})
    for odd in shapes:
        assert with_hooks(odd, "U") == odd
