"""One short session in the shape of each format: what the model wrote before each of two commands, and when."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

from tests.runs.samples import DOCKER, encoded, tagged, trajectory

Rows: TypeAlias = list[dict[str, Any]]

START = 1_780_000_000.0
"""When the session begins, in seconds since 1970."""
TASK = "Mend the sum.\n\nIt is off by one."
TEXTS = ("I will look at the file first.", "Now its tests: they say\nwhat is expected.")
"""What the model wrote, turn by turn."""
COMMANDS = ("cat a.py", "cat b.py")
"""What it ran."""


def said(turn: int) -> float:
    """When an answer was recorded."""
    return START + 100 * turn + 10


def ran(turn: int) -> float:
    """When its result was recorded, three seconds later."""
    return said(turn) + 3


def iso(moment: float) -> str:
    """A time as most logs write it."""
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def lines(rows: Rows) -> bytes:
    """A file with one JSON object per line."""
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def mini() -> bytes:
    """mini-swe-agent 2."""
    messages: Rows = []
    for turn, (text, command) in enumerate(zip(TEXTS, COMMANDS, strict=True)):
        actions = {"actions": [{"command": command, "tool_call_id": f"c{turn}"}], "timestamp": said(turn)}
        messages.append({"role": "assistant", "content": text, "extra": actions})
        result = {"raw_output": "x\n", "returncode": 0, "exception_info": "", "timestamp": ran(turn)}
        messages.append({"role": "tool", "tool_call_id": f"c{turn}", "content": tagged("x\n"), "extra": result})
    return encoded({**trajectory("mini-swe-agent-1.1", messages), "info": {"config": DOCKER}})


def mini_responses() -> bytes:
    """mini-swe-agent 2, with items of the Responses API."""
    messages: Rows = []
    for turn, (text, command) in enumerate(zip(TEXTS, COMMANDS, strict=True)):
        output = [
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]},
            {"type": "function_call", "call_id": f"c{turn}", "name": "bash", "arguments": "{}"},
        ]
        actions = {"actions": [{"command": command, "tool_call_id": f"c{turn}"}], "timestamp": said(turn)}
        messages.append({"object": "response", "output": output, "extra": actions})
        result = {"raw_output": "x\n", "returncode": 0, "exception_info": "", "timestamp": ran(turn)}
        fixed = {"type": "function_call_output", "call_id": f"c{turn}", "output": tagged("x\n")}
        messages.append({**fixed, "extra": result})
    return encoded({**trajectory("mini-swe-agent-1.1", messages), "info": {"config": DOCKER}})


def mini_1() -> bytes:
    """mini-swe-agent 1, where the command is a part of the text."""
    messages: Rows = []
    for turn, (text, command) in enumerate(zip(TEXTS, COMMANDS, strict=True)):
        content = f"{text}\n\n```bash\n{command}\n```"
        messages.append({"role": "assistant", "content": content, "timestamp": said(turn)})
        messages.append({"role": "user", "content": tagged("x\n"), "timestamp": ran(turn)})
    return encoded(trajectory("mini-swe-agent-1", messages))


def codex() -> bytes:
    """A rollout of Codex."""

    def row(at: float, kind: str, **payload: object) -> dict[str, Any]:
        return {"timestamp": iso(at), "type": kind, "payload": payload}

    rows = [row(START, "session_meta", id="s", cwd="/repo", cli_version="1")]
    user = [{"type": "input_text", "text": TASK}]
    rows.append(row(START, "response_item", type="message", role="user", content=user))
    for turn, (text, command) in enumerate(zip(TEXTS, COMMANDS, strict=True)):
        reasoning = [{"type": "summary_text", "text": "hm"}]
        rows.append(row(said(turn) - 5, "response_item", type="reasoning", summary=reasoning))
        part = [{"type": "output_text", "text": text}]
        rows.append(row(said(turn) - 1, "response_item", type="message", role="assistant", content=part))
        arguments = json.dumps({"cmd": command})
        call = {"name": "exec_command", "arguments": arguments, "call_id": f"c{turn}"}
        rows.append(row(said(turn), "response_item", type="function_call", **call))
        output = "Chunk ID: 0a\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\nx\n"
        rows.append(row(ran(turn), "response_item", type="function_call_output", call_id=f"c{turn}", output=output))
    return lines(rows)


def claude() -> bytes:
    """A transcript of Claude Code, with a line for each part of a message."""
    fixed = {"sessionId": "s", "cwd": "/repo", "version": "2.1.9"}
    rows: Rows = [{**fixed, "type": "user", "uuid": "u", "message": {"role": "user", "content": TASK}}]
    for turn, (text, command) in enumerate(zip(TEXTS, COMMANDS, strict=True)):
        parts: Rows = [
            {"type": "thinking", "thinking": "hm"},
            {"type": "text", "text": text},
            {"type": "tool_use", "id": f"c{turn}", "name": "Bash", "input": {"command": command}},
        ]
        for place, part in enumerate(parts):
            message = {"id": f"m{turn}", "role": "assistant", "model": "m", "content": [part], "stop_reason": None}
            line = {"type": "assistant", "uuid": f"{turn}.{place}", "timestamp": iso(said(turn) - 2 + place)}
            rows.append({**fixed, **line, "message": message})
        result = {"type": "tool_result", "tool_use_id": f"c{turn}", "content": "x"}
        line = {"type": "user", "uuid": f"r{turn}", "timestamp": iso(ran(turn))}
        rows.append({**fixed, **line, "message": {"role": "user", "content": [result]}})
    return lines(rows)


def opencode() -> bytes:
    """A session of opencode, which says how long a call ran."""
    user = {"info": {"role": "user"}, "parts": [{"type": "text", "text": TASK}]}
    messages: Rows = [user]
    for turn, (text, command) in enumerate(zip(TEXTS, COMMANDS, strict=True)):
        time = {"start": round(1000 * (ran(turn) - 0.5)), "end": round(1000 * ran(turn))}
        given = {"command": command, "description": "d"}
        state = {"status": "completed", "input": given, "output": "x\n", "metadata": {"exit": 0}, "time": time}
        parts = [
            {"type": "reasoning", "text": "hm"},
            {"type": "text", "text": text},
            {"type": "tool", "tool": "bash", "callID": f"c{turn}", "state": state},
        ]
        info = {"role": "assistant", "modelID": "m", "time": {"created": round(1000 * said(turn))}}
        messages.append({"info": info, "parts": parts})
    return encoded({"info": {"id": "s", "directory": "/repo", "version": "1"}, "messages": messages})


def qwen() -> bytes:
    """A session of Qwen Code."""
    fixed = {"sessionId": "s", "cwd": "/repo", "version": "1"}
    rows: Rows = [{**fixed, "uuid": "u", "parentUuid": None, "type": "user", "message": {"parts": [{"text": TASK}]}}]
    for turn, (text, command) in enumerate(zip(TEXTS, COMMANDS, strict=True)):
        call = {"functionCall": {"id": f"c{turn}", "name": "run_shell_command", "args": {"command": command}}}
        parts = [{"text": "hm", "thought": True}, {"text": text}, call]
        line = {"uuid": f"a{turn}", "parentUuid": rows[-1]["uuid"], "timestamp": iso(said(turn))}
        rows.append({**fixed, **line, "type": "assistant", "model": "m", "message": {"parts": parts}})
        response = {"id": f"c{turn}", "name": "run_shell_command", "response": {"output": "Output: x"}}
        line = {"uuid": f"r{turn}", "parentUuid": f"a{turn}", "timestamp": iso(ran(turn))}
        rows.append({**fixed, **line, "type": "tool_result", "message": {"parts": [{"functionResponse": response}]}})
    return lines(rows)


def gemini() -> bytes:
    """A session of Gemini CLI, which writes an answer again when its calls have results."""
    rows: Rows = [
        {"sessionId": "s", "projectHash": "h", "startTime": iso(START)},
        {"id": "u", "type": "user", "content": [{"text": TASK}]},
    ]
    for turn, (text, command) in enumerate(zip(TEXTS, COMMANDS, strict=True)):
        answer = {"id": f"m{turn}", "type": "gemini", "content": text, "model": "m", "timestamp": iso(said(turn))}
        response = {"id": f"c{turn}", "name": "run_shell_command", "response": {"output": "Output: x"}}
        call = {"id": f"c{turn}", "name": "run_shell_command", "args": {"command": command}}
        done = {**call, "result": [{"functionResponse": response}], "timestamp": iso(ran(turn))}
        rows += [answer, {**answer, "toolCalls": [done]}]
    return lines(rows)


def copilot() -> bytes:
    """A session of Copilot CLI."""

    def row(at: float, kind: str, **data: object) -> dict[str, Any]:
        return {"type": kind, "data": data, "timestamp": iso(at)}

    rows = [row(START, "session.start", sessionId="s", copilotVersion="1", context={"cwd": "/repo"})]
    rows.append(row(START, "user.message", content=TASK))
    for turn, (text, command) in enumerate(zip(TEXTS, COMMANDS, strict=True)):
        call = {"toolCallId": f"c{turn}", "name": "bash", "arguments": {"command": command}}
        rows.append(row(said(turn), "assistant.message", content=text, model="m", toolRequests=[call]))
        result = {"content": "x\n<shellId: 0 completed with exit code 0>"}
        rows.append(row(ran(turn), "tool.execution_complete", toolCallId=f"c{turn}", success=True, result=result))
    return lines(rows)


def pi() -> bytes:
    """A session of pi."""
    rows: Rows = [{"type": "session", "version": 3, "id": "s", "timestamp": iso(START), "cwd": "/repo"}]

    def add(at: float, **message: object) -> None:
        above = rows[-1]["id"] if len(rows) > 1 else None
        fixed = {"type": "message", "id": f"m{len(rows)}", "parentId": above, "timestamp": iso(at)}
        rows.append({**fixed, "message": message})

    add(START, role="user", content=[{"type": "text", "text": TASK}])
    for turn, (text, command) in enumerate(zip(TEXTS, COMMANDS, strict=True)):
        call = {"type": "toolCall", "id": f"c{turn}", "name": "bash", "arguments": {"command": command}}
        parts = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": text}, call]
        add(said(turn), role="assistant", content=parts, model="m", stopReason="toolUse")
        add(ran(turn), role="toolResult", toolCallId=f"c{turn}", content=[{"type": "text", "text": "x\n"}])
    return lines(rows)


def atif() -> bytes:
    """The interchange format, which has the time of an answer and none of its results."""
    steps: Rows = [{"step_id": 1, "source": "user", "message": TASK}]
    for turn, (text, command) in enumerate(zip(TEXTS, COMMANDS, strict=True)):
        call = {"tool_call_id": f"c{turn}", "function_name": "bash_command", "arguments": {"command": command}}
        result = {"results": [{"source_call_id": f"c{turn}", "content": "x"}]}
        fixed = {"step_id": turn + 2, "source": "agent", "message": text, "reasoning_content": "hm"}
        steps.append({**fixed, "timestamp": iso(said(turn)), "tool_calls": [call], "observation": result})
    agent = {"name": "some-agent", "version": "1", "model_name": "m"}
    return encoded({"schema_version": "ATIF-v1.5", "session_id": "s", "agent": agent, "steps": steps})


def openhands() -> bytes:
    """Events of OpenHands, whose times name no zone."""

    def bare(moment: float) -> str:
        return iso(moment).removesuffix("Z")

    rows: Rows = [{"id": 0, "source": "user", "action": "message", "args": {"content": TASK}}]
    for turn, (text, command) in enumerate(zip(TEXTS, COMMANDS, strict=True)):
        number = 2 * turn + 1
        args = {"command": command, "thought": text}
        row = {"id": number, "source": "agent", "timestamp": bare(said(turn))}
        rows.append({**row, "action": "run", "args": args})
        row = {"id": number + 1, "source": "agent", "timestamp": bare(ran(turn))}
        rows.append({**row, "cause": number, "observation": "run", "content": "x", "extras": {}})
    return encoded(rows)


def swe_agent() -> bytes:
    """A trajectory of SWE-agent, which has no times, but says how long each step ran."""
    state = {"working_dir": "/repo"}
    fixed = {"observation": "x", "state": state, "execution_time": 0.5}
    entries = [
        {**fixed, "action": command, "thought": text, "response": f"{text}\n\n{command}"}
        for text, command in zip(TEXTS, COMMANDS, strict=True)
    ]
    history = [{"role": "user", "content": TASK}]
    return encoded({"environment": "main", "trajectory": entries, "history": history, "info": {}})


def vorflux() -> bytes:
    """Spans, of whose times it is not known whether they are those of the start or of the end."""
    rows: Rows = []
    for turn, (text, command) in enumerate(zip(TEXTS, COMMANDS, strict=True)):
        prompt = {"task_prompt": [{"role": "user", "content": TASK}]} if not turn else {}
        rows.append({"type": "llm_call", "timestamp": iso(said(turn)), "output": {"content": text}, **prompt})
        call = {"tool": "bash_execute", "arguments": {"command": command}, "result": {"stdout": "x", "exitCode": 0}}
        rows.append({"type": "tool_call", "timestamp": iso(ran(turn)).replace("T", " ").removesuffix("Z"), **call})
    return encoded({"session_id": "s", "total_spans": 4, "trajectory": rows, "trajectory_entries": 4})


def inspect_events() -> tuple[Rows, Rows]:
    """The events and the messages of a sample of Inspect."""
    events: Rows = []
    messages: Rows = [{"role": "system", "content": "You mend."}, {"role": "user", "content": TASK}]
    for turn, (text, command) in enumerate(zip(TEXTS, COMMANDS, strict=True)):
        call = {"id": f"c{turn}", "function": "bash", "arguments": {"command": command}, "type": "function"}
        parts = [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": text}]
        answer = {"role": "assistant", "content": parts, "tool_calls": [call]}
        fixed = {"event": "model", "timestamp": iso(said(turn) - 4), "completed": iso(said(turn)), "span_id": "s"}
        output = {"choices": [{"message": answer}]}
        events.append({**fixed, "input": [*messages], "tools": [{"name": "bash"}], "output": output})
        result = {"role": "tool", "content": "x\n", "tool_call_id": f"c{turn}", "function": "bash"}
        fixed = {"event": "tool", "id": f"c{turn}", "function": "bash", "timestamp": iso(said(turn))}
        events.append({**fixed, "completed": iso(ran(turn)), "working_time": 0.5})
        messages += [answer, result]
    return events, messages


def inspect(path: Path) -> None:
    """Write an ``.eval`` file of Inspect."""
    events, messages = inspect_events()
    header = {"version": 2, "status": "success", "eval": {"task": "mend", "model": "m"}, "plan": {"steps": []}}
    sample = {"id": "one", "epoch": 1, "messages": messages, "events": events}
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", json.dumps(header))
        archive.writestr("samples/one_epoch_1.json", json.dumps(sample))


FORMATS: dict[str, Callable[[], bytes]] = {
    "mini.traj.json": mini,
    "mini-responses.traj.json": mini_responses,
    "mini-1.traj.json": mini_1,
    "codex.jsonl": codex,
    "claude.jsonl": claude,
    "opencode.json": opencode,
    "qwen.jsonl": qwen,
    "gemini.jsonl": gemini,
    "copilot.jsonl": copilot,
    "pi.jsonl": pi,
    "atif.json": atif,
    "openhands.json": openhands,
    "swe-agent.traj": swe_agent,
    "vorflux.json": vorflux,
}
"""The session in each format that is one file, by the name of that file."""
RESULT_TIMES = {*FORMATS} - {"atif.json", "swe-agent.traj"}
"""Those that have the times of results."""
ANSWER_TIMES = {*FORMATS} - {"swe-agent.traj", "vorflux.json"}
"""Those that have the times of answers."""
DURATIONS = {"opencode.json", "swe-agent.traj"}
"""Those that say how long a command ran: half a second."""
