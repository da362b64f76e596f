"""Gemini CLI's conversations through the proxy's own code: calls without ids, and results that are sent again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from execledger.agents.gemini.tools import ADAPTER
from execledger.core.policy import Cadence, Policy
from execledger.proxy.book import Book, Rules
from execledger.proxy.edits import EditStore
from execledger.proxy.passage import Passage
from execledger.testing.adapters import Exchange, check_conversation
from tests.support.agents.sessions import steps

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


def proposal(count: int, call: Json = READ) -> bytes:
    """An answer with so many reads, which have no ids."""
    content = {"role": "model", "parts": [{"functionCall": call}] * count}
    return b"data: " + json.dumps({"candidates": [{"content": content, "finishReason": "STOP"}]}).encode() + b"\n\n"


def passed(passage: Passage, request: bytes, answer: bytes) -> list[str]:
    """Send a request and its answer through; the texts of the results as the model is shown them."""
    sent = passage.request("POST", PATH, HEADERS, request)
    editor = passage.answer(sent, 200, {"content-type": "text/event-stream"})
    if editor is not None:
        editor.feed(answer)
        editor.end()
    contents = json.loads(sent.body)["contents"]
    return outputs([part for content in contents for part in content["parts"]])


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


SUMMARY: Json = {"role": "user", "parts": [{"text": "<scratchpad>x</scratchpad>\n<state_snapshot>It was read."}]}
GOT_IT: Json = {"role": "model", "parts": [{"text": "Got it. Thanks for the additional context!"}]}
MORE: Json = {"role": "user", "parts": [{"text": "Go on."}]}
LOST = "Seen, no longer in context:\n- /repo/a.py: whole, 60 lines"


def parts_of(request: bytes) -> list[Json]:
    """The parts of a request, in their order."""
    return [part for content in json.loads(request).get("contents", ()) for part in content["parts"]]


def recorded(journals: Path, *requests: bytes) -> tuple[list[Json], list[str]]:
    """Send requests, each answered by the last call of the next; the parts of the last one, the commands of steps."""
    rules = Rules(policy=Policy(cadence=Cadence.EVERY), journals=journals)
    passage = Passage(Book(rules, ADAPTER, EditStore(None)))
    for request, following in zip(requests, (*requests[1:], b"{}"), strict=True):
        called = [part["functionCall"] for part in parts_of(following) if "functionCall" in part]
        passed(passage, request, proposal(1, {name: called[-1][name] for name in READ} if called else READ))
    sent = passage.request("POST", PATH, HEADERS, requests[-1])
    assert passage.faults == 0
    passage.book.close()
    return parts_of(sent.body), [step["action"]["command"] for step in steps(journals)]


def test_a_compressed_conversation_is_the_one_it_was(tmp_path: Path) -> None:
    """Its summary is no task, the model learns what it does not see any more, and new results are shown in full."""
    begun = [body(FIRST), body(FIRST, asked("a0"), answered("a0")), body(FIRST, asked("a0"), answered("a0"), GOT_IT)]
    after = [body(SUMMARY, GOT_IT, MORE), body(SUMMARY, GOT_IT, MORE, asked("a1"), answered("a1"))]
    parts, _ = recorded(tmp_path / "first", *begun, after[0])
    assert parts[-1]["text"].startswith("<execution_state>\nTask: Mend it.\n") and LOST in parts[-1]["text"]
    parts, commands = recorded(tmp_path / "second", *begun, *after)
    assert parts[-2]["functionResponse"]["response"]["output"] == TEXT
    assert LOST not in parts[-1]["text"] and len(commands) == 2


def test_a_question_about_a_conversation_is_no_part_of_it(tmp_path: Path) -> None:
    """A request for a summary, which offers no tools, has no view, and the next turn continues the conversation."""
    asking = [FIRST, asked("a0"), answered("a0"), {"role": "user", "parts": [{"text": "Generate a new snapshot."}]}]
    side = json.dumps({"contents": asking}).encode()
    turns = [body(FIRST), body(FIRST, asked("a0"), answered("a0"))]
    last = body(FIRST, asked("a0"), answered("a0"), asked("a1"), answered("a1"))
    parts, _ = recorded(tmp_path / "side", *turns, side)
    assert parts[-1] == {"text": "Generate a new snapshot."}
    parts, commands = recorded(tmp_path / "all", *turns, side, last)
    assert parts[-2]["functionResponse"]["response"]["output"].startswith("[Ledger: output omitted.")
    assert len(commands) == 2


def test_what_the_client_masks_is_no_longer_referred_to(tmp_path: Path) -> None:
    """A masked result is no further step and no text of a file; references to results that are there stay."""
    masked = replaced(answered("a0"), TEXT, "<tool_output_masked>\nx")
    other = [replaced(one, "/repo/a.py", "/repo/b.py") for one in (asked("b0"), asked("b1"))]
    shows = [replaced(answered(name), TEXT, TEXT.upper()) for name in ("b0", "b1")]
    history = [FIRST, asked("a0"), answered("a0"), other[0], shows[0], asked("a1"), answered("a1"), other[1], shows[1]]
    turns = [body(*history[:end]) for end in (1, 3, 5, 7, 9)]
    parts, commands = recorded(tmp_path / "before", *turns)
    assert [text[:24] for text in outputs(parts)[2:]] == ["[Ledger: output omitted."] * 2
    parts, again = recorded(tmp_path / "after", *turns, body(FIRST, asked("a0"), masked, *history[3:], GOT_IT, MORE))
    # What a1 referred to is gone, so it is shown; what b1 refers to is there.
    assert outputs(parts)[:3] == ["<tool_output_masked>\nx", TEXT.upper(), TEXT]
    assert outputs(parts)[3].startswith("[Ledger: output omitted.")
    assert "no longer in context" not in parts[-1]["text"]
    # Only the result that the model is shown otherwise now was recorded again.
    assert (commands, again) == (commands[:4], [*commands, commands[2]])


def replaced(content: Json, old: str, new: str) -> Json:
    """A content with another text in it."""
    found: Json = json.loads(json.dumps(content).replace(json.dumps(old), json.dumps(new)))
    return found


def outputs(parts: list[Json]) -> list[str]:
    """The texts of the results among parts."""
    return [part["functionResponse"]["response"]["output"] for part in parts if "functionResponse" in part]


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
