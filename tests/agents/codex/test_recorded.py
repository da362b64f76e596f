"""Rollouts of Codex, newer and older."""

from __future__ import annotations

import contextlib
import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from execledger.agents.codex.recorded import read_rollout
from execledger.agents.codex.tools import shim_of
from execledger.agents.formats import find_recorded, read_run
from execledger.errors import UnreadableRun
from execledger.runs.recording import ModelReply, Recorded, Run
from execledger.runs.replay import replay
from execledger.runs.usage import ModelCall, Tokens
from execledger.session.adapter import ToolCall
from execledger.vocabulary.actions import Action, Aside, Command, Observation, Patch

Line = dict[str, Any]
PATCH = "*** Begin Patch\n*** Add File: a.py\n+x = 1\n*** End Patch"


AT = 1767323045.678
"""When everything in these sessions happened, in seconds since 1970."""


def wrapped(kind: str, /, **payload: object) -> Line:
    return {"timestamp": "2026-01-02T03:04:05.678Z", "type": kind, "payload": payload}


def item(kind: str, /, **fields: object) -> Line:
    return wrapped("response_item", type=kind, **fields)


def said(role: str, *texts: str) -> Line:
    return item("message", role=role, content=[{"type": "input_text", "text": text} for text in texts])


def called(call_id: str, cmd: str, **more: object) -> Line:
    arguments = json.dumps({"cmd": cmd, **more})
    return item("function_call", name="exec_command", arguments=arguments, call_id=call_id)


def answered(call_id: str, body: str, status: int = 0) -> Line:
    text = f"Chunk ID: 0a1b2c\nWall time: 0.1 seconds\nProcess exited with code {status}\nOutput:\n{body}"
    return item("function_call_output", call_id=call_id, output=text)


def lines(*rows: Line) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


META = wrapped("session_meta", id="s", cwd="/repo", cli_version="1.2.3", source="cli", git=None)
TURN = wrapped("turn_context", cwd="/repo", model="some-model", approval_policy="never")
CONTEXT = "<environment_context>\n  <cwd>/repo</cwd>\n</environment_context>"
TASK = said("user", "Please fix the sum.")
HEAD = (
    META,
    said("developer", "Be kind."),
    said("user", "# AGENTS.md instructions for /repo\n\nx", CONTEXT),
    TURN,
    TASK,
)


def run_of(*steps: Recorded, turns: int, **more: Any) -> Run:
    known = {"agent": "codex 1.2.3", "model": "some-model", "task": "Please fix the sum.", **more}
    return Run("r", "codex", container=False, turns=turns, steps=steps, parallel=True, **known)


def test_tools_that_look_at_files_are_replayed() -> None:
    """Lines that ``read_file`` showed are not shown again by it or by a command, as far as it shows them whole."""
    text = [f"row {number} of a file that is long enough to be worth a reference" for number in range(1, 31)]

    def looked(call_id: str, name: str, output: str, **given: object) -> tuple[Line, Line]:
        call = item("function_call", name=name, arguments=json.dumps(given), call_id=call_id)
        return call, item("function_call_output", call_id=call_id, output=output)

    def shown(first: int, last: int) -> str:
        return "\n".join(f"L{number}: {text[number - 1]}" for number in range(first, last + 1))

    paths = "\n".join(f"/repo/src/module_{number}.py" for number in range(20))
    rows = (
        *HEAD,
        *looked("a", "read_file", shown(1, 30), file_path="/repo/a.py"),
        *looked("b", "grep_files", paths, pattern="row"),
        called("c", "sed -n '5,20p' a.py"),
        answered("c", "".join(f"{line}\n" for line in text[4:20])),
        *looked("d", "grep_files", paths, pattern="row"),
        *looked("e", "read_file", "offset exceeds file length", file_path="/repo/a.py", offset=31),
    )
    replayed = [(call.shown.compared, call.shown.compared_to) for call in replay(read_rollout("r", lines(*rows)))]
    assert replayed == [("different", ()), ("different", ()), ("covered", (0,)), ("same", (1,)), (None, ())]


def test_a_session_is_read_turn_by_turn() -> None:
    """Calls and outputs are paired by id; parallel calls belong to one model call."""
    rows = (
        *HEAD,
        item("reasoning", summary=[], content=None, encrypted_content="x"),
        called("a", "cat a.py"),
        called("b", "ls; exit 3", workdir="src", max_output_tokens=9),
        wrapped("event_msg", type="token_count", info=None),
        answered("a", "x = 1\n"),
        answered("b", "", 3),
        item("custom_tool_call", name="apply_patch", input=PATCH, call_id="c", status="completed"),
        item("custom_tool_call_output", call_id="c", output="Exit code: 0\nWall time: 0 seconds\nOutput:\nDone.\n"),
        item("function_call", name="update_plan", arguments="{}", call_id="d"),
        item("function_call_output", call_id="d", output="Plan updated"),
        said("assistant", "Done."),
        said("user", "Thank you."),
        wrapped("turn_context", cwd="/other", model="another-model"),
        called("e", "ls"),
        answered("e", "b.py\n"),
    )
    assert read_run("r", lines(*rows)) == run_of(
        Recorded(Action("cat a.py", "/repo"), Observation("x = 1\n", exit_status=0), 0, at=AT),
        Recorded(
            Action("ls; exit 3", "/repo/src", Command("max_output_tokens=9")), Observation(exit_status=3), 0, at=AT
        ),
        Recorded(
            Action(f"apply_patch {PATCH}", "/repo", Patch(PATCH)), Observation("Done.\n", exit_status=0), 1, at=AT
        ),
        Recorded(Action("update_plan {}", "/repo", Aside()), Observation("Plan updated"), 2, at=AT),
        Recorded(Action("ls", "/other"), Observation("b.py\n", exit_status=0), 4, at=AT),
        turns=5,
        replies=(*[ModelReply(at=AT)] * 3, ModelReply("Done.", AT), ModelReply(at=AT)),
    )


def counted(kind: str, total: int, last: int) -> Line:
    """What the user interface is told about tokens, or what newer versions record for every call."""
    usage = {"input_tokens": last, "cached_input_tokens": 1, "output_tokens": 2, "total_tokens": last + 2}
    if kind == "token_usage_record":
        return wrapped(kind, usage=usage)
    info = {"total_token_usage": {"input_tokens": total, "output_tokens": 2}, "last_token_usage": usage}
    return wrapped("event_msg", type=kind, info=info)


def test_what_the_calls_of_the_model_took() -> None:
    """Counts that are told again count once; the newer record goes first."""
    told = (counted("token_count", 5, 5), counted("token_count", 5, 5), counted("token_count", 9, 4))
    ending = (wrapped("event_msg", type="token_count", info=None), wrapped("event_msg", type="task_complete"))
    run = read_run("r", lines(*HEAD, *told, *ending))
    calls = (ModelCall(Tokens.of(input=5, cached=1, output=2)), ModelCall(Tokens.of(input=4, cached=1, output=2)))
    assert (run.model_calls, run.totals, run.ended) == (calls, ModelCall(Tokens.of(input=9, output=2)), "task_complete")
    newer = read_run("r", lines(*HEAD, *told, counted("token_usage_record", 0, 7)))
    assert newer.model_calls == (ModelCall(Tokens.of(input=7, cached=1, output=2)),)


def test_older_sessions_are_bare() -> None:
    """The first line is the session itself; where it runs, a message tells."""
    result = json.dumps({"output": "x = 1\n", "metadata": {"exit_code": 0, "duration_seconds": 0.1}})
    rows: tuple[Line, ...] = (
        {"id": "s", "timestamp": "2025-08-06T01:02:03.456Z", "instructions": None, "git": {}},
        {"record_type": "state"},
        said("user", "<user_instructions>\n\nBe kind.\n\n</user_instructions>")["payload"],
        said("user", CONTEXT)["payload"],
        TASK["payload"],
        {"type": "function_call", "name": "shell", "arguments": '{"command": ["cat", "a.py"]}', "call_id": "a"},
        {"type": "function_call_output", "call_id": "a", "output": result},
        {"type": "local_shell_call", "id": "b", "status": "completed", "action": {"type": "exec", "command": ["ls"]}},
        {"type": "function_call_output", "call_id": "b", "output": {"content": "unsupported call: shell"}},
    )
    assert read_run("r", lines(*rows)) == run_of(
        Recorded(Action("cat a.py", "/repo"), Observation("x = 1\n", exit_status=0), 0),
        Recorded(Action("ls", "/repo"), Observation("unsupported call: shell", failed=True), 1),
        turns=2,
        agent="codex",
        model="",
    )


def test_scripts_are_read_in_parts() -> None:
    """A list of texts, among which there may be images."""
    text = 'const r = await tools.exec_command({cmd: "ls"});\ntext(r.output);'
    parts = [
        {"type": "input_text", "text": "Script completed\nWall time 0.1 seconds\nOutput:\n"},
        {"type": "input_image", "image_url": "data:"},
        {"type": "input_text", "text": "a.py\n"},
    ]
    rows = (
        *HEAD,
        item("custom_tool_call", name="exec", namespace="functions", input=text, call_id="a"),
        item("custom_tool_call_output", call_id="a", output=parts),
        item("function_call", name="spawn_agent", namespace="collaboration", arguments="{}", call_id="b"),
        item("function_call_output", call_id="b", output=None),
    )
    steps = read_run("r", lines(*rows)).steps
    assert steps[0] == Recorded(Action("ls", "/repo"), Observation("a.py\n"), 0, at=AT)
    assert (steps[1].action.command, steps[1].observation) == (
        "collaboration.spawn_agent {}",
        Observation(timed_out=True),
    )


def test_calls_without_a_result_are_no_steps() -> None:
    """An interrupted call has none; its id may be used again."""
    rows = (
        *HEAD,
        called("a", "sleep 9"),
        wrapped("event_msg", type="turn_aborted"),
        called("a", "ls"),
        answered("a", ""),
    )
    assert [step.action.command for step in read_run("r", lines(*rows, answered("z", "x"))).steps] == ["ls"]


@pytest.mark.parametrize(
    "forgets",
    [
        wrapped("compacted", message="In short.", replacement_history=[]),
        wrapped("compacted", message="In short."),
        item("compaction", encrypted_content="x"),
        wrapped("event_msg", type="thread_rolled_back", num_turns=1),
    ],
)
def test_what_the_model_no_longer_sees_is_noted(forgets: Line) -> None:
    """A compaction, and turns that were taken back; where nothing stands before or behind, there is nothing to note."""
    rows = (
        *HEAD,
        forgets,
        called("a", "ls"),
        answered("a", ""),
        forgets,
        forgets,
        called("b", "ls"),
        answered("b", ""),
    )
    assert read_run("r", lines(*rows, forgets)).compactions == (1,)


def test_a_call_behind_a_compaction_is_another_call_of_the_model() -> None:
    """What the model wrote to sum up is not shown as the text beside the next command."""
    compacted = wrapped("compacted", message="In short.", replacement_history=[])
    rows = (*HEAD, called("a", "ls"), answered("a", ""), said("assistant", "In short."), compacted)
    run = read_run("r", lines(*rows, called("b", "ls"), answered("b", "")))
    assert [step.turn for step in run.steps] == [0, 2]
    assert [reply.text for reply in run.replies] == ["", "In short.", ""]


def test_a_forked_session_repeats_its_parent() -> None:
    """The first session is the file's own."""
    parent = wrapped("session_meta", id="p", cwd="/parent", cli_version="0.0.1")
    run = read_run("r", lines(META, parent, TASK, called("a", "ls"), answered("a", "")))
    assert (run.agent, run.steps[0].action.cwd) == ("codex 1.2.3", "/repo")


def test_lines_that_we_do_not_know_do_not_matter() -> None:
    """Newer versions write more, of any shape."""
    more: list[Line] = [
        {"timestamp": "t", "ordinal": 7, "type": "world_state", "payload": {"full": True}},
        wrapped("event_msg", type="item_completed", item={"type": "CommandExecution"}),
        {"type": "something_new", "payload": [1, 2]},
        item("ghost_snapshot", ghost_commit={}),
        item("web_search_call", action={"type": "search"}),
        {"type": "response_item", "payload": {}},
    ]
    rows = [*HEAD, called("a", "ls"), answered("a", "")]
    assert read_run("r", lines(*rows, *more)).steps == read_run("r", lines(*rows)).steps


@pytest.mark.parametrize("torn", [b'{"timestamp": "t", "type": "respo', b'{"a": "\xff', b"\0\0\0\0"])
def test_a_torn_last_line_is_left_out(torn: bytes) -> None:
    """Codex was stopped while it wrote."""
    data = lines(*HEAD, called("a", "ls"), answered("a", "x"))
    assert read_run("r", data + torn) == read_run("r", data)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{torn}\n", "line 8: expected JSON, found: JSON is malformed: object keys must be strings (byte 1)"),
        (b'{"type": 3}\n', "line 8: expected `str | null`, got `int`, at type"),
        (lines(item("function_call", name=3, call_id="x")), "line 8: expected `str`, got `int`, at name"),
        (
            lines(item("function_call_output", output="x")),
            "line 8: object missing required field `call_id`, at the top",
        ),
    ],
)
def test_a_bad_line_is_left_out(line: bytes, reason: str) -> None:
    """It is named with what is wrong with it; behind it, what was shown before and the directory are unknown."""
    before, after = lines(*HEAD, called("a", "ls"), answered("a", "x")), lines(called("b", "ls"), answered("b", "x"))
    run = read_run("r", before + line + after)
    whole = read_run("r", before + after)
    first, second = whole.steps
    away = replace(second, action=replace(second.action, cwd=None), turn=run.steps[1].turn)
    assert (run.steps, run.compactions) == ((first, away), (1,))
    assert run.trouble == (f"one line can't be read and was left out, {reason}",)


def test_shims_are_resolved_to_the_calls_that_they_stand_for() -> None:
    """What a call that was not run would have returned nobody knows."""
    original = ToolCall("exec_command", '{"cmd": "cat a.py", "workdir": "src"}')
    shim = shim_of(original, "ab12", "cat a.py")
    assert shim is not None
    call = item("function_call", name=shim.name, arguments=shim.text, call_id="a")
    data = lines(*HEAD, call, answered("a", "[ledger:ab12] cat a.py\n"))
    resolved = read_rollout("r", data, {"ab12": original}.get)
    unseen = Observation(exit_status=0, truncated=True)
    assert resolved.steps == (Recorded(Action("cat a.py", "/repo/src"), unseen, 0, at=AT),)
    unknown = read_rollout("r", data, lambda _: None)
    assert unknown == read_rollout("r", data)
    assert unknown.steps[0].action == Action("echo '[ledger:ab12] cat a.py'", "/repo")


def test_a_folder_of_sessions_is_found(tmp_path: Path) -> None:
    """As Codex keeps them, by date."""
    folder = tmp_path / "2026" / "01" / "02"
    folder.mkdir(parents=True)
    (folder / "rollout-2026-01-02T03-04-05-x.jsonl").write_bytes(lines(*HEAD, called("a", "ls"), answered("a", "")))
    assert [read_run(source.name, source.read()).format for source in find_recorded([str(tmp_path)])] == ["codex"]


ROWS = [*HEAD, called("a", "ls"), answered("a", "x"), wrapped("compacted", message="m", replacement_history=[])]
JSON: st.SearchStrategy[object] = (
    st.none() | st.booleans() | st.integers() | st.text(max_size=9) | st.just([]) | st.just({"type": "message"})
)


@given(st.data())
def test_mutated_rollouts_are_runs_or_unreadable(data: st.DataObject) -> None:
    """A rollout with one value replaced or removed anywhere is read or reported, never a crash."""
    rows: Any = copy.deepcopy(ROWS)
    place = rows
    while True:
        key = data.draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
        if not place[key] or not isinstance(place[key], dict | list) or data.draw(st.booleans()):
            break
        place = place[key]
    place[key] = data.draw(JSON)
    with contextlib.suppress(UnreadableRun):
        assert isinstance(read_run("r", lines(*rows)), Run)


@given(st.integers(0))
def test_rollouts_are_read_wherever_they_break_off(cut: int) -> None:
    """Of a session that is still being written, what is there is read."""
    data = lines(*ROWS)
    first = len(lines(ROWS[0]))
    run = read_run("r", data[: first + cut % (len(data) - first)])
    assert run.steps == read_run("r", data).steps[: len(run.steps)]
