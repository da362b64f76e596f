"""The checks of adapters: an adapter of ours passes them, and each broken promise is found and named."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import count

import pytest

from execledger.agents.codex import tools as codex
from execledger.session.adapter import Adapter, Asked, ToolCall
from execledger.testing.adapters import Example, Exchange, check_calls, check_conversation
from execledger.vocabulary.actions import Action, Observation

TEXT = "".join(f"line {number} of a file that is long enough to be worth a reference\n" for number in range(1, 41))
HEADER = "Chunk ID: 000001\nWall time: 0.0 seconds\nProcess exited with code 0\nOutput:\n"
CALL = ToolCall("exec_command", '{"cmd":"cat a.py"}')
EXAMPLES = (
    Example(CALL, (HEADER + TEXT,), "cat a.py", TEXT),
    Example(
        ToolCall("shell", '{"command":["bash","-lc","cat a.py"]}'),
        (json.dumps({"output": TEXT, "metadata": {"exit_code": 0, "duration_seconds": 0.1}}),),
        "cat a.py",
        TEXT,
    ),
    Example(ToolCall("read_file", '{"file_path":"/repo/a.py"}'), ("L1: a\nL2: b",)),
)
NUMBERS = count()


class Changed:
    """Codex's adapter, in which one function is another."""

    def __init__(self, **functions: object) -> None:
        self.functions = functions

    def __getattr__(self, name: str) -> object:
        return self.functions.get(name) or getattr(codex, name)


def changed(**functions: object) -> Adapter:
    adapter: Adapter = Changed(**functions)  # type: ignore[assignment]
    return adapter


def conversation(length: int = 4) -> list[Exchange]:
    """A client that reads the same file over and over."""
    metadata = json.dumps({"request_kind": "turn"})
    headers = {"session-id": "s", "thread-id": "t", "user-agent": "codex_exec/1.0", "x-codex-turn-metadata": metadata}
    history: list[dict[str, object]] = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Mend the parser."}]}
    ]
    found = []
    for number in range(length):
        call: dict[str, object] = {
            "type": "function_call",
            "call_id": f"c{number}",
            "name": CALL.name,
            "arguments": CALL.text,
        }
        event = {"type": "response.output_item.done", "output_index": 0, "item": call}
        body = {"model": "m", "input": history, "stream": True, "tools": [{"type": "function", "name": CALL.name}]}
        answer = b"data: " + json.dumps(event).encode() + b"\n\n"
        found.append(Exchange("/v1/responses", headers, json.dumps(body).encode(), answer))
        result: dict[str, object] = {"type": "function_call_output", "call_id": f"c{number}", "output": HEADER + TEXT}
        history = [*history, call, result]
    return found


def test_the_adapter_of_codex_passes() -> None:
    """Commands of two versions and a structured read, and a conversation of four requests."""
    check_calls(codex, EXAMPLES)
    check_conversation(codex, conversation())


def restless(call: ToolCall, cwd: str | None, thread: str = "") -> Action:
    return Action(f"cat {next(NUMBERS)}", cwd, None, thread)


def raising(call: ToolCall, cwd: str | None, thread: str = "") -> Action:
    return Action(str(json.loads(call.text)["cmd"]), cwd, None, thread)


def failing(call: ToolCall, parts: tuple[str, ...]) -> Observation:
    return Observation("".join(parts), exit_status=1)


def unchanged(call: ToolCall, parts: tuple[str, ...], words: str) -> tuple[str, ...]:
    return parts


def appended(call: ToolCall, parts: tuple[str, ...], words: str) -> tuple[str, ...]:
    return (*parts, words)


def emptied(call: ToolCall, parts: tuple[str, ...], words: str) -> tuple[str, ...]:
    return (HEADER + words,)


def headless(call: ToolCall, parts: tuple[str, ...], words: str) -> tuple[str, ...]:
    return (words,)


def marked(call: ToolCall) -> str:
    return "check-1"


def unmarked(call: ToolCall, mark: str, words: str) -> ToolCall:
    return ToolCall(call.name, '{"cmd":"true"}')


def writing(call: ToolCall, mark: str, words: str) -> ToolCall:
    return ToolCall(call.name, '{"cmd":"touch check-1"}')


def mark_of_writing(call: ToolCall) -> str | None:
    return "check-1" if "touch" in call.text else None


@pytest.mark.parametrize(
    ("functions", "words"),
    [
        ({"action_of": restless}, "the action differs"),
        ({"observation_of": failing}, "counts as a failure"),
        ({"referenced": unchanged}, "the reference is missing"),
        ({"referenced": appended}, "the output is still shown"),
        ({"referenced": headless}, "the reference changes the exit status"),
        ({"remarked": unchanged}, "the remark is missing"),
        ({"remarked": emptied}, "the remark changes the output"),
        ({"shim_mark": marked}, "a call of the model counts as a shim"),
        ({"shim_of": unmarked}, "has the mark None, expected 'check-1'"),
        ({"shim_of": writing, "shim_mark": mark_of_writing}, "has effects: listed"),
    ],
    ids=lambda value: value if isinstance(value, str) else "-".join(value),
)
def test_a_broken_promise_about_calls_is_named(functions: Mapping[str, object], words: str) -> None:
    """The check fails with the call and what is wrong with it."""
    with pytest.raises(AssertionError, match=f"exec_command .*{words}"):
        check_calls(changed(**functions), EXAMPLES[:1])


def test_what_the_example_says_is_checked() -> None:
    """The command and the output that an example names are those that the adapter finds."""
    for example, words in (
        (Example(CALL, EXAMPLES[0].parts, command="ls"), "the command is 'cat a.py'"),
        (Example(CALL, EXAMPLES[0].parts, output="x"), "the output is 'line 1 of"),
    ):
        with pytest.raises(AssertionError, match=words):
            check_calls(codex, [example])


def test_an_adapter_that_raises_on_malformed_arguments_fails() -> None:
    """What a model sends by mistake must not raise."""
    with pytest.raises(ValueError):
        check_calls(changed(action_of=raising), EXAMPLES[:1])


def test_a_conversation_is_checked_with_references() -> None:
    """The same read again is elided, so the check of the history is one of edited results."""
    references = []

    def noted(call: ToolCall, parts: tuple[str, ...], reference: str) -> tuple[str, ...]:
        references.append(reference)
        return codex.referenced(call, parts, reference)

    check_conversation(changed(referenced=noted), conversation())
    assert {reference.partition(" It is")[0] for reference in references} == {"[Ledger: output omitted."}


def test_a_history_that_changes_is_found() -> None:
    """An adapter that words the same reference differently each time changes the history when the proxy restarts."""

    def differently(call: ToolCall, parts: tuple[str, ...], reference: str) -> tuple[str, ...]:
        return (f"{HEADER}{reference} {next(NUMBERS)}",)

    with pytest.raises(AssertionError, match="request 2: the history changes when the proxy restarts"):
        check_conversation(changed(referenced=differently), conversation())


@pytest.mark.faults
def test_an_adapter_that_raises_in_a_conversation_is_found() -> None:
    """The proxy would send the request as it came; the check counts it."""

    def broken(headers: Mapping[str, str], cache_key: str, last: str) -> Asked:
        raise KeyError("session-id")

    with pytest.raises(AssertionError, match="request 0: the adapter raises"):
        check_conversation(changed(asked=broken), conversation())
