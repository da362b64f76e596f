"""The sessions that agents keep, in the shapes that their clients write: the same short session in each."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest

from execledger.agents.formats import read_run
from execledger.core.policy import Policy, Preset
from execledger.runs.recording import Run
from execledger.runs.replay import replay
from execledger.vocabulary.actions import Read

Lines: TypeAlias = list[dict[str, Any]]
Called: TypeAlias = tuple[str, dict[str, Any], str, bool]
"""A tool, its arguments, the text of its result, and whether the client marked it as an error."""
TEXT = "one\ntwo\nthree\n"


def pi(calls: list[Called]) -> Lines:
    """A session of pi."""
    lines: Lines = [{"type": "session", "version": 3, "id": "s", "timestamp": "t", "cwd": "/w"}]

    def add(message: dict[str, Any]) -> None:
        above = lines[-1]["id"] if len(lines) > 1 else None
        lines.append({"type": "message", "id": f"m{len(lines)}", "parentId": above, "message": message})

    add({"role": "user", "content": [{"type": "text", "text": "Mend it."}]})
    for at, (tool, given, text, failed) in enumerate(calls):
        usage = {"input": 10, "output": 2, "cacheRead": 90, "cacheWrite": 0, "cost": {"total": 0.5}}
        call = {"type": "toolCall", "id": f"c{at}", "name": tool, "arguments": given}
        add({"role": "assistant", "content": [call], "model": "m", "usage": usage, "stopReason": "toolUse"})
        result = {"role": "toolResult", "toolCallId": f"c{at}", "toolName": tool, "isError": failed}
        add({**result, "content": [{"type": "text", "text": text}]})
    return lines


def qwen(calls: list[Called]) -> Lines:
    """A session of Qwen Code."""
    lines: Lines = []

    def add(kind: str, parts: Lines, **more: object) -> None:
        above = lines[-1]["uuid"] if lines else None
        fixed = {"uuid": f"u{len(lines)}", "parentUuid": above, "sessionId": "s", "cwd": "/w", "version": "0.24.4"}
        lines.append({**fixed, "type": kind, "message": {"role": "x", "parts": parts}, **more})

    add("user", [{"text": "Mend it."}])
    for at, (tool, given, text, failed) in enumerate(calls):
        usage = {"promptTokenCount": 100, "candidatesTokenCount": 2, "cachedContentTokenCount": 90}
        call = {"functionCall": {"id": f"c{at}", "name": tool, "args": given}}
        add("assistant", [{"text": "Hm.", "thought": True}, call], model="m", usageMetadata=usage)
        response = {"id": f"c{at}", "name": tool, "response": {"error" if failed else "output": text}}
        add("tool_result", [{"functionResponse": response}])
    return lines


def gemini(calls: list[Called]) -> Lines:
    """A session of Gemini CLI: each answer twice, each result twice."""
    context = "<session_context>\n- **Workspace Directories:**\n  - /w\n</session_context>"
    lines: Lines = [
        {"sessionId": "s", "projectHash": "h", "startTime": "t", "kind": "main"},
        {"$set": {"messages": [{"id": "x", "type": "user", "content": [{"text": context}]}]}},
        {"id": "u", "type": "user", "content": [{"text": "Mend it."}]},
    ]
    for at, (tool, given, text, failed) in enumerate(calls):
        tokens = {"input": 100, "output": 1, "cached": 90, "thoughts": 1}
        answer = {"id": f"m{at}", "type": "gemini", "content": "", "tokens": tokens, "model": "m"}
        result = [
            {"functionResponse": {"id": f"c{at}", "name": tool, "response": {"error" if failed else "output": text}}}
        ]
        done = {"id": f"c{at}", "name": tool, "args": given, "result": result, "status": "success"}
        lines += [answer, {"$set": {"lastUpdated": "t"}}, {**answer, "toolCalls": [done]}]
        lines.append({"id": f"r{at}", "type": "user", "content": result})
    return lines


def copilot(calls: list[Called]) -> Lines:
    """A session of Copilot CLI."""
    lines: Lines = []

    def add(kind: str, **data: object) -> None:
        lines.append({"type": kind, "data": data, "id": f"e{len(lines)}"})

    add("session.start", sessionId="s", copilotVersion="1.0.102", selectedModel="m", context={"cwd": "/w"})
    add("user.message", content="Mend it.")
    for at, (tool, given, text, failed) in enumerate(calls):
        tokens = {"inputTokens": 100, "outputTokens": 2, "cacheReadTokens": 90, "cacheWriteTokens": 0, "cost": 1}
        add("session.usage_record", usage=tokens)
        add("assistant.message", model="m", toolRequests=[{"toolCallId": f"c{at}", "name": tool, "arguments": given}])
        add("tool.execution_start", toolCallId=f"c{at}", toolName=tool, arguments=given)
        result: Any = {"error": {"message": text}} if failed else {"result": {"content": text, "detailedContent": "-"}}
        add("tool.execution_complete", toolCallId=f"c{at}", success=not failed, **result)
    return lines


def shell_pi(output: str, status: int) -> tuple[str, bool]:
    """The result of a command in pi."""
    return (f"{output}\n\nCommand exited with code {status}", True) if status else (output, False)


def shell_qwen(output: str, status: int) -> tuple[str, bool]:
    """The result of ``run`` in Qwen Code."""
    head = f"Command: run\nDirectory: (root)\nOutput: {output.rstrip()}\nError: (none)\nExit Code: {status}\n"
    return f"{head}Signal: (none)\nProcess Group PGID: (none)", bool(status)


def shell_gemini(output: str, status: int) -> tuple[str, bool]:
    """The result of a command in Gemini CLI."""
    code = f"Exit Code: {status}\n" if status else ""
    return f"<untrusted_context>\nOutput: {output.rstrip()}\n{code}Process Group PGID: 7\n</untrusted_context>", False


def shell_copilot(output: str, status: int) -> tuple[str, bool]:
    """The result of a command in Copilot CLI."""
    return f"{output}<shellId: 0 completed with exit code {status}>", False


class Agent:
    """How one agent names its tools and keeps its sessions."""

    def __init__(
        self,
        lines: Callable[[list[Called]], Lines],
        read: tuple[str, str],
        shell: str,
        framed: Callable[[str, int], tuple[str, bool]],
    ) -> None:
        self.lines = lines
        self.read, self.path = read
        self.shell = shell
        self.framed = framed

    def session(self) -> list[Called]:
        """A file read two times, a command that fails, one that does not, and a file that is not there."""
        look = (self.read, {self.path: "/w/a.txt"}, TEXT, False)
        gone = (self.read, {self.path: "/w/b.txt"}, "File not found: /w/b.txt", True)
        runs = [(self.shell, {"command": "run"}, *self.framed("hi\n", status)) for status in (3, 0)]
        return [look, look, *runs, gone]

    def run(self) -> Run:
        """The session, as it is read."""
        return read_run("log", encoded(self.lines(self.session())))


AGENTS = {
    "pi": Agent(pi, ("read", "path"), "bash", shell_pi),
    "qwen-code": Agent(qwen, ("read_file", "file_path"), "run_shell_command", shell_qwen),
    "gemini-cli": Agent(gemini, ("read_file", "file_path"), "run_shell_command", shell_gemini),
    "copilot-cli": Agent(copilot, ("view", "path"), "bash", shell_copilot),
}
each = pytest.mark.parametrize("name", AGENTS)


def encoded(lines: Lines) -> bytes:
    """A file with one object per line."""
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


@each
def test_a_session_is_recognised_and_read(name: str) -> None:
    """Calls, results, task, place, model and tokens are those of the session, each result once."""
    run = AGENTS[name].run()
    first, again, failed, passed, gone = run.steps
    assert (run.format, run.task, run.model, run.turns, run.compactions) == (name, "Mend it.", "m", 5, ())
    assert (first.action, first.observation) == (again.action, again.observation)
    assert isinstance(first.action.call, Read)
    assert (first.action.call.path, first.observation.output, first.observation.succeeded) == ("/w/a.txt", TEXT, True)
    assert [(one.action.command, one.action.cwd) for one in (failed, passed)] == [("run", "/w")] * 2
    assert [one.observation.output.rstrip() for one in (failed, passed)] == ["hi"] * 2
    assert [one.observation.exit_status for one in (failed, passed)] == [3, 0]
    assert not gone.observation.succeeded
    assert [step.turn for step in run.steps] == [0, 1, 2, 3, 4]
    assert {(call.tokens.input, call.tokens.cached, call.tokens.output) for call in run.model_calls} == {(100, 90, 2)}


@each
def test_a_call_without_a_result_is_no_step(name: str) -> None:
    """A session that is still going on, or was ended, is read as far as it goes."""
    agent = AGENTS[name]
    lines = agent.lines(agent.session())
    cut = {"pi": 1, "qwen-code": 1, "gemini-cli": 2, "copilot-cli": 1}[name]
    assert len(read_run("log", encoded(lines[:-cut])).steps) == 4


@each
@pytest.mark.parametrize(
    ("odd", "reason"),
    [
        (b"{\n", "expected JSON, found: Input data was truncated"),
        (b"[]\n", "expected `object`, got `array`, at the top"),
        (b'{"a":' + b"[" * 20_000 + b"\n", "found values nested too deeply"),
    ],
)
def test_a_line_that_cannot_be_read_is_left_out(name: str, odd: bytes, reason: str) -> None:
    """Every call is there, the line is named, and what was shown before it does not count as visible."""
    agent = AGENTS[name]
    rows = encoded(agent.lines(agent.session())).splitlines(keepends=True)
    at = next(at for at in range(1, len(rows)) if len(read_run("log", b"".join(rows[:at])).steps) == 2)
    run, whole = read_run("log", b"".join([*rows[:at], odd, *rows[at:]])), agent.run()
    assert [one.observation for one in run.steps] == [one.observation for one in whole.steps]
    assert (run.compactions, run.turns, run.model_calls) == ((2,), whole.turns, whole.model_calls)
    assert run.trouble == (f"one line can't be read and was left out, line {at + 1}: {reason}",)
    # Only in this log a line that is lost may have been one that names another directory.
    assert run.steps[3].action.cwd == (None if name == "copilot-cli" else "/w")


@each
def test_a_result_on_a_line_that_cannot_be_read_is_none(name: str) -> None:
    """The call whose result is lost is no step, and what was read before is not referred to behind it."""
    agent = AGENTS[name]
    look, *_ = agent.session()
    edit = (agent.shell, {"command": "sed -i s/one/1/ a.txt"}, *agent.framed("", 0))
    changed = (*look[:2], TEXT.replace("one", "1"), False)
    rows = agent.lines([look, edit, changed])
    found = [at for at, row in enumerate(rows) if '"c1"' in json.dumps(row) and at > 1]
    lost = found[{"pi": 1, "qwen-code": 1, "gemini-cli": 0, "copilot-cli": 2}[name]]
    data = b"".join(b"{\n" if at == lost else encoded([row]) for at, row in enumerate(rows))
    run = read_run("log", data)
    assert [one.observation.output for one in run.steps] == [TEXT, TEXT.replace("one", "1")]
    calls = [*replay(run, Policy(preset=Preset.PAPER))]
    assert [(type(call.decision).__name__, call.shown.kind) for call in calls] == [("Allow", "full")] * 2


@each
def test_many_lines_that_cannot_be_read_are_one_sentence(name: str) -> None:
    """With their number, and the first of them."""
    rows = encoded(AGENTS[name].lines(AGENTS[name].session())).splitlines(keepends=True)
    (said,) = read_run("log", b"".join([*rows[:3], *[b"{\n"] * 1234, *rows[3:]])).trouble
    assert said.startswith("1,234 lines can't be read and were left out, the first of them line 4: expected JSON")


@each
def test_half_a_character_costs_no_call(name: str) -> None:
    """JavaScript writes a lone surrogate where it cuts a text; text that only names one is as it was."""
    agent = AGENTS[name]
    look = (*agent.session()[0][:2], "~ \\ud83d\n", False)
    data = encoded(agent.lines([look])).replace(b"~", rb"\ud83d")
    (step,) = read_run("log", data).steps
    assert step.observation.output == "\ufffd \\ud83d\n"


@each
def test_a_last_line_that_is_not_complete_is_left_out(name: str) -> None:
    """The client was stopped while it wrote, or still writes: nothing is said of it."""
    data = encoded(AGENTS[name].lines(AGENTS[name].session()))
    run = read_run("log", data[:-20])
    assert (len(run.steps) >= 4, run.trouble) == (True, ())


@pytest.mark.parametrize("name", ["pi", "qwen-code"])
def test_going_back_to_a_line_that_is_lost(name: str) -> None:
    """Where that was is unknown: nothing that was shown before counts as visible."""
    agent = AGENTS[name]
    calls = agent.session()
    rows = agent.lines([*calls, calls[0]])
    key, above = ("id", "parentId") if name == "pi" else ("uuid", "parentUuid")
    # The answer with the second call, and with it the call.
    lost = next(at for at, row in enumerate(rows) if '"c1"' in json.dumps(row))
    rows[-2][above] = rows[lost][key]
    data = b"".join(b"{\n" if at == lost else encoded([row]) for at, row in enumerate(rows))
    assert read_run("log", data).compactions == (1, 4)


@pytest.mark.parametrize("name", ["pi", "qwen-code"])
def test_going_back_in_a_session_takes_results_out_of_sight(name: str) -> None:
    """A line that follows an earlier one begins a branch: what was shown since then is not in the context."""
    agent = AGENTS[name]
    calls = agent.session()
    lines = agent.lines([*calls, calls[0]])
    above = "parentId" if name == "pi" else "parentUuid"
    lines[-2][above] = lines[3 if name == "pi" else 2]["id" if name == "pi" else "uuid"]
    assert read_run("log", encoded(lines)).compactions == (5,)


@pytest.mark.parametrize(
    ("name", "note"),
    [
        ("pi", {"type": "compaction", "id": "c", "summary": "..."}),
        ("qwen-code", {"uuid": "c", "sessionId": "s", "type": "system", "subtype": "chat_compression"}),
        ("copilot-cli", {"type": "session.compaction_complete", "data": {}}),
        ("gemini-cli", {"$set": {"messages": [{"id": "z", "type": "user", "content": [{"text": "Summary"}]}]}}),
    ],
)
def test_a_compaction_takes_results_out_of_sight(name: str, note: dict[str, Any]) -> None:
    """Results before it are not in the context of the calls behind it."""
    agent = AGENTS[name]
    calls = agent.session()
    before, after = agent.lines(calls[:2]), agent.lines(calls)
    assert read_run("log", encoded([*before, note, *after[len(before) :]])).compactions == (2,)


def test_a_session_that_gemini_resumes_keeps_what_was_shown() -> None:
    """The history that is written again at a resume still has the earlier results."""
    agent = AGENTS["gemini-cli"]
    lines = agent.lines(agent.session())
    history = [line for line in lines if line.get("type")]
    resumed = [*lines[:-4], {"$set": {"messages": history[:1]}}, {"$set": {"messages": history}}, *lines[-4:]]
    assert read_run("log", encoded(resumed)).compactions == ()


def test_a_session_of_gemini_in_one_object() -> None:
    """Older versions keep a session in one object, indented over many lines."""
    agent = AGENTS["gemini-cli"]
    lines = agent.lines(agent.session())
    whole = {**lines[0], "messages": [line for line in lines[1:] if line.get("type")]}
    assert len(read_run("log", json.dumps(whole, indent=1).encode()).steps) == 5


def test_a_part_of_a_file_in_pi_ends_where_the_client_says() -> None:
    """The notice is not a part of the file, and the last line shown has its line break."""
    call = (
        "read",
        {"path": "a.txt", "limit": 2},
        "one\ntwo\n\n[1 more lines in file. Use offset=3 to continue.]",
        False,
    )
    (step,) = read_run("log", encoded(pi([call]))).steps
    assert (step.observation.output, step.observation.truncated) == ("one\ntwo\n", False)


def test_a_stub_of_qwen_is_no_content() -> None:
    """A client's own note that a file is unchanged shows nothing of it."""
    stub = "[File a.txt unchanged since last read in this session — the full content was provided earlier"
    (step,) = read_run("log", encoded(qwen([("read_file", {"file_path": "a.txt"}, stub, False)]))).steps
    assert step.observation.output_unknown
