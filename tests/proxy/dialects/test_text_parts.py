"""Results that are lists of parts: what an edit keeps of them, and when it is not made."""

from __future__ import annotations

import json
from typing import Any

import pytest

from execledger.proxy.dialects.text_parts import UnknownFields, texts_of, with_breakpoints
from tests.proxy.dialects.samples import ODD, SAMPLES, Json
from tests.proxy.dialects.test_every_dialect import split

MARK = {"cache_control": {"type": "ephemeral"}}
LONG = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}


def text(words: str, **more: Any) -> Json:
    return {"type": "text", "text": words, **more}


def sent_result(name: str, parts: list[Json], shown: tuple[str, ...]) -> Any:
    """The content of the last result as it is sent, with these texts shown."""
    sample = SAMPLES[name]
    request = sample.request(1)
    holder = request["messages"][-1] if name == "chat" else request["messages"][-1]["content"][0]
    holder["content"] = parts
    found = split(sample, request)
    leaves = [*found.leaves[:-1], sample.dialect.with_parts(found.leaves[-1], shown)]
    last = json.loads(found.joined(leaves))["messages"][-1]
    return last["content"] if name == "chat" else last["content"][0]["content"]


@pytest.mark.parametrize("name", ["messages", "chat"])
@pytest.mark.parametrize(
    ("parts", "shown", "sent"),
    [
        ([text("x", **MARK), text("y")], ("ref", "tail"), [text("ref", **MARK), text("tail")]),
        ([text("x", **MARK), text("y", **LONG)], ("ref", "y"), [text("ref", **MARK), text("y", **LONG)]),
        ([text("x"), text("y", **MARK)], ("ref", "y"), [text("ref"), text("y", **MARK)]),
        ([text("x"), text("y", **MARK)], ("ref",), [text("ref", **MARK)]),
        ([text("x"), text("y", **MARK)], ("x", "y", "remark"), [text("x"), text("y"), text("remark", **MARK)]),
        ([text("x", **MARK), text("y"), text("z")], ("x", "ref"), [text("x", **MARK), text("ref")]),
        ([text("x", **MARK), text("y")], ("x", "y", "remark"), [text("x", **MARK), text("y"), text("remark")]),
    ],
)
def test_breakpoints_stay_at_the_same_prefix(
    name: str, parts: list[Json], shown: tuple[str, ...], sent: list[Json]
) -> None:
    """On their parts, and at the end of the result if they were there."""
    assert sent_result(name, parts, shown) == sent


@pytest.mark.parametrize("name", ["messages", "chat"])
@pytest.mark.parametrize(
    ("parts", "shown"),
    [
        ([text("x", **MARK), text("y")], ("ref",)),
        ([text("x", **MARK), text("y", **LONG)], ("ref",)),
        ([text("x", **MARK), text("y", **LONG)], ("x",)),
        ([text("x"), text("y", **MARK), text("z")], ("ref", "z")),
        ([text("x"), text("y", **MARK)], ()),
    ],
)
def test_a_result_whose_breakpoint_would_move_is_shown_in_full(
    name: str, parts: list[Json], shown: tuple[str, ...]
) -> None:
    """A reference in place of several parts has no place for a breakpoint between them."""
    assert sent_result(name, parts, shown) == parts


def test_a_breakpoint_deeper_inside_is_never_moved() -> None:
    """Blocks of other types may have blocks of their own."""
    inner = {"type": "search_result", "content": [text("x", **MARK)]}
    assert with_breakpoints(b'[{"type":"text","text":"ref"}]', json.dumps([inner]).encode()) is None


@pytest.mark.parametrize("name", ["responses", "messages", "chat"])
def test_parts_keep_their_unknown_fields(name: str) -> None:
    """An edit of one text leaves the others and their fields; one that would lose a field is not made."""
    kind = "output_text" if name == "responses" else "text"
    parts: list[Json] = [{"type": kind, "text": "x", **ODD}, {"type": kind, "text": "y"}]
    if name == "responses":
        raw = json.dumps({"type": "function_call_output", "call_id": "c", "output": parts}).encode()
        edited = json.loads(SAMPLES[name].dialect.with_parts(raw, ("ref", "y")))["output"]
    else:
        edited = sent_result(name, parts, ("ref", "y"))
    assert edited == [{"type": kind, "text": "ref", **ODD}, {"type": kind, "text": "y"}]
    with pytest.raises(UnknownFields):
        if name == "responses":
            SAMPLES[name].dialect.with_parts(raw, ("ref",))
        else:
            sent_result(name, parts, ("ref",))


@pytest.mark.parametrize(
    "content",
    [
        '[{"type":"input_text","text":null}]',
        '[{"type":"input_image","text":"a description"}]',
        '[{"type":"text","text":"x"},"y"]',
        '{"type":"text","text":"x"}',
        "null",
        "[",
    ],
)
def test_what_is_not_only_text_has_no_texts(content: str) -> None:
    """It is neither compared nor edited."""
    assert texts_of(content.encode()) is None


@pytest.mark.parametrize(
    ("result", "parts"),
    [
        ({"response": {"output": "x"}}, ("x",)),
        ({"response": {"error": None, "output": "x"}}, ("x",)),
        ({"response": {"error": "e", "output": "x"}}, None),
        ({"response": {"output": "x"}, "parts": [{"inlineData": {"data": "AAAA"}}]}, None),
        ({"response": {}}, ()),
        ({}, ()),
    ],
)
def test_a_result_of_gemini_is_one_text(result: Json, parts: tuple[str, ...] | None) -> None:
    """Besides it there is no image, and no second text; edited, it has the new one."""
    dialect = SAMPLES["gemini"].dialect
    raw = b"user\n" + json.dumps({"functionResponse": {"id": "c", "name": "shell", **result}}).encode()
    assert dialect.leaf(raw).parts == parts
    if parts is not None:
        assert dialect.leaf(dialect.with_parts(raw, ("ref",))).parts == ("ref",)
