"""Choosing a reader by content, and telling the user what is wrong with a file."""

from __future__ import annotations

import contextlib
import copy
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from execledger.errors import LedgerError, UnreadableRun
from execledger.trajectories import Run, read_run
from tests.trajectories.samples import HEAD, answer, encoded, reply, said, spans, tagged, tool, trajectory, turn

SAMPLES: list[Any] = [
    trajectory("mini-swe-agent-1", [reply("ls"), said(tagged("a\n"))]),
    trajectory("mini-swe-agent-1.1", [turn("ls"), answer("ls", "a\n")]),
    [*HEAD, reply("ls"), said(tagged("a\n"))],
    spans(tool("bash_execute", {"stdout": "a", "exitCode": 0}, command="ls"), tool("read_text_file", "", filePath="a")),
]

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
        (b'{"a": 1}\n{"b": 2}\n', "expected JSON, found: JSON is malformed: trailing characters (byte 10)"),
        (b"12", "expected `object`, got `int`, at the top"),
        (
            b"{}",
            "found an empty object, expected a trajectory of mini-swe-agent, a rollout of Codex or spans of Vorflux",
        ),
        (
            b'{"trajectory": [], "history": [], "info": {}}',
            "found an object with the keys history, info, trajectory,"
            " expected a trajectory of mini-swe-agent, a rollout of Codex or spans of Vorflux",
        ),
        (
            encoded(dict.fromkeys("ihgfedcba")),
            "found an object with the keys a, b, c, d, e, f, g, h, ...,"
            " expected a trajectory of mini-swe-agent, a rollout of Codex or spans of Vorflux",
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
        (
            b'[{"role": "\xff"}]',
            "expected JSON, found: 'utf-8' codec can't decode byte 0xff in position 0: invalid start byte",
        ),
    ],
)
def test_unreadable_files(data: bytes, reason: str) -> None:
    """The message says what was found, where, and what was expected."""
    with pytest.raises(UnreadableRun) as caught:
        read_run("a.json", data)
    assert str(caught.value) == f"a.json: {reason}"


@given(st.binary(max_size=200) | JSON.map(encoded))
def test_any_bytes_are_a_run_or_unreadable(data: bytes) -> None:
    """No content, JSON or not, ends in any other error."""
    with contextlib.suppress(UnreadableRun):
        assert isinstance(read_run("r", data), Run)


@given(st.data())
def test_mutated_runs_are_runs_or_unreadable(data: st.DataObject) -> None:
    """A known run with one value replaced or removed anywhere is read or reported, never a crash."""
    sample = copy.deepcopy(data.draw(st.sampled_from(SAMPLES)))
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
    with contextlib.suppress(UnreadableRun):
        assert isinstance(read_run("r", encoded(sample)), Run)


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
