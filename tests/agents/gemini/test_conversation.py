"""Gemini CLI's conversations through the proxy's own code: calls without ids, and results that are sent again."""

from __future__ import annotations

import json
from typing import Any

import pytest

from execledger.agents.gemini.tools import ADAPTER
from execledger.proxy.book import Book, Rules
from execledger.proxy.edits import EditStore
from execledger.proxy.passage import Passage
from execledger.testing.adapters import Exchange, check_conversation

PATH = "/run/one/v1beta/models/gemini-2.5-pro:streamGenerateContent"
HEADERS = {"user-agent": "GeminiCLI/0.61.0"}
TEXT = "".join(f"value_{number} = {number}  # a line of some length\n" for number in range(60))
Json = dict[str, Any]
READ = {"name": "read_file", "args": {"file_path": "/repo/a.py"}}
FIRST: Json = {"role": "user", "parts": [{"text": "Mend it."}]}


def asked(*call_ids: str, signature: str = "") -> Json:
    """A content of the model with one read for each id, as the client keeps it; "" for none."""
    signed = {"thoughtSignature": signature} if signature else {}
    calls = [{"functionCall": {**READ, **({"id": name} if name else {})}} for name in call_ids]
    return {"role": "model", "parts": [{**call, **(signed if at == 0 else {})} for at, call in enumerate(calls)]}


def answered(*call_ids: str) -> Json:
    """The content with the results of these reads."""
    results = [{"id": name, "name": "read_file", "response": {"output": TEXT}} for name in call_ids]
    return {"role": "user", "parts": [{"functionResponse": result} for result in results]}


def body(*contents: Json) -> bytes:
    tools = [{"functionDeclarations": [{"name": "read_file"}]}]
    return json.dumps({"contents": contents, "tools": tools}).encode()


def proposal(count: int) -> bytes:
    """An answer with so many reads, which have no ids."""
    content = {"role": "model", "parts": [{"functionCall": READ}] * count}
    return b"data: " + json.dumps({"candidates": [{"content": content, "finishReason": "STOP"}]}).encode() + b"\n\n"


def passed(passage: Passage, request: bytes, answer: bytes) -> list[str]:
    """Send a request and its answer through; the texts of the results as the model is shown them."""
    sent = passage.request("POST", PATH, HEADERS, request)
    editor = passage.answer(sent, 200, {"content-type": "text/event-stream"})
    if editor is not None:
        editor.feed(answer)
        editor.end()
    contents = json.loads(sent.body)["contents"]
    parts = [part for content in contents for part in content["parts"] if "functionResponse" in part]
    return [part["functionResponse"]["response"]["output"] for part in parts]


def test_the_promises_of_an_adapter_are_kept() -> None:
    """Also where placeholder signatures come and go."""
    requests = [
        [FIRST],
        [FIRST, asked("a0", signature="skip"), answered("a0")],
        [FIRST, asked("a0"), answered("a0"), asked("a1", signature="skip"), answered("a1")],
    ]
    check_conversation(ADAPTER, [Exchange(PATH, HEADERS, body(*one), proposal(1)) for one in requests])


def test_equal_calls_without_ids_are_all_recognised() -> None:
    """Two equal reads of one turn: each result was proposed here, and the second refers to the first."""
    passage = Passage(Book(Rules(), ADAPTER, EditStore(None)))
    passed(passage, body(FIRST), proposal(2))
    shown = passed(passage, body(FIRST, asked("a0", "a1"), answered("a0", "a1")), proposal(1))
    assert shown[0] == TEXT and shown[1].startswith("[Ledger: output omitted.")
    assert passage.faults == 0


def test_a_result_that_is_sent_again_is_shown_as_before() -> None:
    """After a resume every result is there twice, and a new proxy has only the stored edits."""
    store = EditStore(None)
    passage = Passage(Book(Rules(), ADAPTER, store))
    passed(passage, body(FIRST), proposal(1))
    passed(passage, body(FIRST, asked("a0"), answered("a0")), proposal(1))
    history = [FIRST, asked("a0"), answered("a0"), asked("a1"), answered("a1")]
    once = passed(passage, body(*history), b"")
    assert once[1].startswith("[Ledger: output omitted.")
    twice = [FIRST, asked("a0"), answered("a0"), answered("a0"), asked("a1"), answered("a1"), answered("a1")]
    resumed = Passage(Book(Rules(), ADAPTER, store))
    more = {"role": "user", "parts": [{"text": "Go on."}]}
    assert passed(resumed, body(*twice, more), b"") == [once[0], once[0], once[1], once[1]]
    assert resumed.faults == 0


@pytest.mark.parametrize("odd", ["another text", "a repeated name"])
def test_a_result_that_is_sent_again_otherwise_is_shown_as_it_is(odd: str) -> None:
    """A reference holds for the text that it was made for, and an object that would lose a field is not edited."""
    store = EditStore(None)
    passage = Passage(Book(Rules(), ADAPTER, store))
    passed(passage, body(FIRST), proposal(1))
    passed(passage, body(FIRST, asked("a0"), answered("a0")), proposal(1))
    history = [FIRST, asked("a0"), answered("a0"), asked("a1"), answered("a1")]
    once = passed(passage, body(*history), b"")
    other = TEXT.replace("value_7 = 7", "value_7 = 8") if odd == "another text" else TEXT
    result = json.dumps(answered("a1")).replace(json.dumps(TEXT), json.dumps(other))
    if odd == "a repeated name":
        result = result.replace('{"functionResponse"', '{"odd": 1, "odd": 2, "functionResponse"')
    resumed = Passage(Book(Rules(), ADAPTER, store))
    request = body(*history, {"role": "again"}).replace(b'{"role": "again"}', result.encode())
    assert passed(resumed, request, b"") == [*once, other]
    assert resumed.faults == 0 and once[1] != TEXT


def test_results_with_ids_answer_calls_without_in_their_order() -> None:
    """As in conversations of sub-agents."""
    passage = Passage(Book(Rules(), ADAPTER, EditStore(None)))
    passed(passage, body(FIRST), proposal(1))
    passed(passage, body(FIRST, asked(""), answered("u#0-0")), proposal(1))
    shown = passed(passage, body(FIRST, asked(""), answered("u#0-0"), asked(""), answered("u#1-0")), b"")
    assert shown[0] == TEXT and shown[1].startswith("[Ledger: output omitted.")
    assert passage.faults == 0


def test_a_login_names_the_session_in_its_body() -> None:
    """The request is an inner object, and so is the answer; several starts with one session are one journal."""

    def wrapped(*contents: Json) -> bytes:
        request = {**json.loads(body(*contents)), "session_id": "s"}
        return json.dumps({"model": "m", "project": "p", "request": request}).encode()

    def exchanged(request: bytes) -> Json:
        sent = passage.request("POST", "/v1internal:streamGenerateContent", HEADERS, request)
        editor = passage.answer(sent, 200, {"content-type": "text/event-stream"})
        assert editor is not None
        answer = {"response": json.loads(proposal(1).removeprefix(b"data: "))}
        editor.feed(b"data: " + json.dumps(answer).encode() + b"\n\n")
        editor.end()
        inner: Json = json.loads(sent.body)["request"]
        return inner

    passage = Passage(Book(Rules(), ADAPTER, EditStore(None)))
    exchanged(wrapped(FIRST))
    exchanged(wrapped(FIRST, asked("a0"), answered("a0")))
    last = exchanged(wrapped(FIRST, asked("a0"), answered("a0"), asked("a1"), answered("a1")))
    assert "s" in passage.book and len(passage.book) == 1 and passage.faults == 0
    shown = last["contents"][4]["parts"][0]["functionResponse"]["response"]["output"]
    assert shown.startswith("[Ledger: output omitted.")
