"""Choosing a reader by content, and telling the user what is wrong with a file."""

from __future__ import annotations

import copy
import pickle
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from execledger.agents.formats import read_run
from execledger.errors import LedgerError, ReaderFault, UnreadableRun
from execledger.runs.recording import Run
from tests.runs.samples import HEAD, answer, encoded, reply, said, spans, tagged, tool, trajectory, turn
from tests.runs.samples_agents import (
    ASKED,
    PROMPT,
    Fields,
    act,
    called,
    entry,
    instance,
    interchange,
    lines,
    ran,
    result,
    returned,
    shell,
    traj,
    uses,
)

LS = uses("m", "c", "Bash", command="ls")
CALL = {"tool_call_id": "c", "function_name": "bash", "arguments": {"command": "ls"}}
ANSWER = {
    "source": "agent",
    "tool_calls": [CALL],
    "observation": {"results": [{"source_call_id": "c", "content": "a"}]},
}
EXPECTED = (
    "expected a run of mini-swe-agent, Codex, Claude Code, opencode, Copilot CLI, pi, Gemini CLI, Qwen Code, OpenHands,"
    " SWE-agent, Inspect or Vorflux, or one in ATIF"
)

SAMPLES: list[Any] = [
    trajectory("mini-swe-agent-1", [reply("ls"), said(tagged("a\n"))]),
    trajectory("mini-swe-agent-1.1", [turn("ls"), answer("ls", "a\n")]),
    [*HEAD, reply("ls"), said(tagged("a\n"))],
    spans(tool("bash_execute", {"stdout": "a", "exitCode": 0}, command="ls"), tool("read_text_file", "", filePath="a")),
    traj(entry("ls", "a", {"working_dir": "/repo"})),
    [ASKED, act(1, "run", command="ls"), ran(1, "a")],
    [called("c", "terminal", command="ls"), returned("c", "a", **shell())],
    [[act(1, "run", command="ls"), ran(1, "a")]],
    {"trajectory": [ASKED, act(1, "run", command="ls"), ran(1, "a")]},
    instance(ASKED, act(1, "run", command="ls"), ran(1, "a")),
    interchange(ANSWER),
]
LINES: list[tuple[str, list[Fields]]] = [
    ("claude-code", [PROMPT, LS, result("c", "a")]),
    ("claude-code", [{"type": "summary", "summary": "x", "leafUuid": "u"}, PROMPT]),
    ("openhands", [called("c", "terminal", command="ls"), returned("c", "a", **shell())]),
    ("codex", [{"type": "session_meta", "timestamp": "x", "payload": {"id": "s", "cwd": "/repo"}}, {"type": "x"}]),
]
FOREIGN: list[Any] = [
    lines({"type": "user", "sessionId": "s", "message": {"role": "user", "parts": [{"text": "x"}]}}, {"type": "x"}),
    lines({"type": "session", "id": "s", "cwd": "/repo"}, {"type": "message", "id": "m"}),
    lines({"role": "user", "message": {"content": []}}, {"role": "assistant", "message": {"content": []}}),
    lines({"type": "system", "content": "x"}, {"type": "user", "content": []}),
    encoded({"steps": [], "schema_version": "other"}),
    encoded({"trajectory": [], "name": "x"}),
    encoded({"history": []}),
]
"""What other agents and tools write."""

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b" \n", "found an empty file, expected a recorded run"),
        (b"{'a': 1}", "expected JSON, found: JSON is malformed: object keys must be strings (byte 1)"),
        (b'{"messages": [', "expected JSON, found: Input data was truncated"),
        (b'{"a": 1} {"b": 2}', "expected JSON, found: JSON is malformed: trailing characters (byte 10)"),
        (b'{"a": 1}\n{"b": 2}\n', f"found lines of JSON, the first of them an object with the keys a, {EXPECTED}"),
        (b"12", "expected `object`, got `int`, at the top"),
        (b"{}", f"found an empty object, {EXPECTED}"),
        (b'{"trajectory": [], "name": 3}', f"found an object with the keys name, trajectory, {EXPECTED}"),
        (
            encoded(dict.fromkeys("ihgfedcba")),
            f"found an object with the keys a, b, c, d, e, f, g, h, ..., {EXPECTED}",
        ),
        (encoded(traj({"action": 3})), "expected `str`, got `int`, at trajectory[0].action"),
        (encoded(instance({"id": []})), "expected `int | str | null`, got `array`, at history[0].id"),
        (encoded([act(1, "run"), 3]), "expected `object | array`, got `int`, at [1]"),
        (encoded(interchange({"tool_calls": 3})), "expected `array | null`, got `int`, at steps[1].tool_calls"),
        (
            lines(called("c", "terminal"), {"kind": 3}),
            "found one event of OpenHands, expected all events of a run; one line can't be read and was left out, line"
            " 2: expected `str | null`, got `int`, at kind\nhint: give the whole folder",
        ),
        (
            encoded(act(1, "run")),
            "found one event of OpenHands, expected all events of a run\nhint: give the whole folder",
        ),
        (b"[]", "found a list, expected every item of it to be a message with a role"),
        (b'[{"event": 1}]', "found a list, expected every item of it to be a message with a role"),
        (b"[1]", "expected `object`, got `int`, at [0]"),
        (
            encoded({"trajectory_format": "other-2", "messages": []}),
            "found 'other-2' at trajectory_format, expected mini-swe-agent-1 or mini-swe-agent-1.1",
        ),
        (
            encoded(trajectory("mini-swe-agent-1.1", [{"role": "assistant", "extra": {"actions": 3}}])),
            "expected `array | null`, got `int`, at messages[2].extra.actions",
        ),
        (
            encoded(trajectory("mini-swe-agent-1.1", [{"role": "assistant", "extra": {"actions": [{}]}}])),
            "object missing required field `command`, at messages[2].extra.actions[0]",
        ),
        (
            encoded(trajectory("mini-swe-agent-1", [], {"environment": {"cwd": 3}})),
            "expected `str | null`, got `int`, at info.config.environment.cwd",
        ),
        (encoded(spans({"tool": "x"})), "object missing required field `type`, at trajectory[1]"),
        (b'{"info": ' + b"[" * 9999 + b"]" * 9999 + b"}", "found values nested too deeply, expected a recorded run"),
        (b'[{"role": "\xff", ]', "expected JSON, found: JSON is malformed: object keys must be strings (byte 17)"),
    ],
)
def test_unreadable_files(data: bytes, reason: str) -> None:
    """The message says what was found, where, and what was expected."""
    with pytest.raises(UnreadableRun) as caught:
        read_run("a.json", data)
    assert str(caught.value) == f"a.json: {reason}"


@pytest.mark.parametrize(("kind", "rows"), LINES)
def test_formats_of_lines(kind: str, rows: list[Fields]) -> None:
    """Which reader takes which file of lines; blank lines do not matter."""
    run = read_run("r", lines(*rows))
    assert run.format == kind
    assert read_run("r", lines(*rows) + b"\n\n") == run


def test_formats_of_the_samples() -> None:
    """Which reader takes which sample."""
    assert [read_run("r", encoded(sample)).format for sample in SAMPLES] == [
        "mini-swe-agent-1",
        "mini-swe-agent-1.1",
        "mini-swe-agent-list",
        "vorflux",
        "swe-agent",
        "openhands",
        "openhands",
        "openhands",
        "openhands",
        "openhands",
        "atif",
    ]
    assert all(len(read_run("r", encoded(sample)).steps) >= 1 for sample in SAMPLES)


@pytest.mark.parametrize("data", FOREIGN)
def test_what_others_write_is_not_taken_for_a_run(data: bytes) -> None:
    """Files that look alike are reported, not misread."""
    with pytest.raises(UnreadableRun):
        read_run("r", data)


@pytest.mark.parametrize("sample", SAMPLES)
def test_lone_surrogates_and_other_bytes_are_replaced(sample: Any) -> None:
    """Half of a character, as JavaScript writes it where it cuts a text, costs no more than that character."""
    data = re.sub(rb"\bls\b", b"ls~", encoded(sample))
    plain = read_run("r", data.replace(b"~", "\ufffd".encode()))
    assert read_run("r", data.replace(b"~", rb"\ud83d")) == read_run("r", data.replace(b"~", b"\xff")) == plain


def test_more_calls_of_the_model_than_any_run_has_are_refused() -> None:
    """Each would be looked at when the cost is counted."""
    with pytest.raises(UnreadableRun, match=r"^r: found 1,000,001 calls of the model, expected at most 1,000,000 in "):
        read_run("r", encoded(traj(entry("ls", "a", None)) | {"info": {"model_stats": {"api_calls": 1_000_001}}}))


def test_a_fault_of_ours_is_told_as_such() -> None:
    """It costs one run, and the message has what a report needs."""
    shim = "echo '[ledger:0123456789abcdef] Not run.'"
    data = lines(PROMPT, uses("m", "c", "Bash", command=shim), result("c", "x"))
    with pytest.raises(ReaderFault) as caught:
        read_run("r", data, lambda _: [][1])
    where = re.sub(r"\d+$", "N", str(caught.value))
    said = "r: a fault of execledger's own, please report: IndexError: list index out of range, in "
    assert where == f"{said}agents/test_formats.py:N"


def is_run_or_refused(data: bytes) -> bool:
    """Whether a file is read, or refused in words; a fault of ours is neither."""
    try:
        return isinstance(read_run("r", data), Run)
    except UnreadableRun as error:
        return not isinstance(error, ReaderFault)


@given(st.binary(max_size=200) | JSON.map(encoded))
def test_any_bytes_are_a_run_or_unreadable(data: bytes) -> None:
    """No content, JSON or not, ends in any other error."""
    assert is_run_or_refused(data)


def mutated(data: st.DataObject, samples: list[Any]) -> Any:
    """One of the samples, with one value replaced or removed anywhere."""
    sample = copy.deepcopy(data.draw(st.sampled_from(samples)))
    place: Any = sample
    while True:
        keys = sorted(place) if isinstance(place, dict) else range(len(place))
        key = data.draw(st.sampled_from(keys))
        inner = place[key]
        if not inner or not isinstance(inner, dict | list) or data.draw(st.booleans()):
            break
        place = inner
    if data.draw(st.booleans()):
        del place[key]
    else:
        place[key] = data.draw(JSON)
    return sample


@given(st.data())
def test_mutated_runs_are_runs_or_unreadable(data: st.DataObject) -> None:
    """A known run with one value replaced or removed anywhere is read or reported, never a crash."""
    assert is_run_or_refused(encoded(mutated(data, SAMPLES)))


@given(st.data())
def test_mutated_lines_are_runs_or_unreadable(data: st.DataObject) -> None:
    """So is a known run of lines."""
    assert is_run_or_refused(lines(*mutated(data, [rows for _, rows in LINES])))


@given(st.sampled_from(SAMPLES), st.data())
def test_cut_off_files_are_unreadable(sample: object, data: st.DataObject) -> None:
    """A file that was written only in part is reported, wherever it breaks off."""
    whole = encoded(sample)
    with pytest.raises(UnreadableRun):
        read_run("r", whole[: data.draw(st.integers(0, len(whole) - 1))])


def test_unknown_fields_do_not_matter() -> None:
    """Files with fields that we don't know, of any shape, read the same."""
    plain = trajectory("mini-swe-agent-1.1", [turn("ls"), answer("ls", "a\n")])
    marked = copy.deepcopy(plain) | {"ours": [1, {"x": None}]}
    marked["info"]["ours"] = 3
    for message in marked["messages"]:
        message["ours"] = {"deep": [[]]}
    assert read_run("r", encoded(marked)) == read_run("r", encoded(plain))


def test_errors_keep_their_parts() -> None:
    """A hint stands on a second line, and an error comes back whole from another process."""
    error = pickle.loads(pickle.dumps(UnreadableRun("a.json", "found nothing", "look elsewhere")))
    assert (str(error), error.name, error.reason) == (
        "a.json: found nothing\nhint: look elsewhere",
        "a.json",
        "found nothing",
    )
    assert str(pickle.loads(pickle.dumps(LedgerError("found nothing", "look elsewhere")))) == (
        "found nothing\nhint: look elsewhere"
    )
