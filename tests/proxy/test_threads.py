"""Conversations beside each other, let go and come back: a write is known to all, and nothing forgotten counts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from execledger.journal.reader import read_journal, rebuild
from execledger.proxy.edits import EditStore
from execledger.proxy.passage import Passage
from tests.proxy.talk import TOOLS, Json, Talk, message, new_passage, opening

NOT_RUN = "[Ledger: not run, "
CAT, OTHER, WRITE = "cat a.py", "cat b.py", "sed -i s/x/y/ a.py"


def family(passage: Passage) -> tuple[Talk, Talk]:
    """An agent and its sub-agent."""
    return Talk(passage, "s", "parent"), Talk(passage, "s", "child", opening("Edit."))


@pytest.mark.guarantee("false-reuse", "visibility")
def test_a_view_beside_a_write_calls_nothing_current() -> None:
    """While a sub-agent's command may be writing, and when it has written, the parent's view says so at once."""
    parent, child = family(new_passage(sealed=True))
    parent.turn(CAT)
    assert "a.py: whole, 40 lines (current, in context)" in parent.view
    child.request()
    calls = child.propose(WRITE)
    parent.request()
    assert "current" not in parent.view
    child.answer(calls)
    child.request()
    parent.request()
    assert "a.py: whole, 40 lines (stale, in context)" in parent.view


@pytest.mark.guarantee("false-reuse")
@pytest.mark.parametrize("command", [WRITE, "make", "npm test", "python3 tool.py", "sleep 1 &"])
def test_a_call_in_flight_that_may_write_holds_all_others_back(command: str) -> None:
    """Until its result has come, nothing is answered without running on any other thread."""
    parent, child = family(new_passage(sealed=True))
    parent.turn(OTHER)
    child.request()
    calls = child.propose(command)
    assert NOT_RUN not in parent.turn(OTHER)[0]
    assert parent.ran == [OTHER, OTHER]
    child.answer(calls)


@pytest.mark.guarantee("false-reuse")
def test_another_session_that_begins_to_write_ends_the_seal_within_an_answer() -> None:
    """Whether the place is sealed is asked for each call, not once for an answer."""
    passage = new_passage(sealed=True)
    one, two = Talk(passage, "one", "one"), Talk(passage, "two", "two")
    one.turn(CAT)
    assert one.last is not None
    answer = passage.answer(one.last, 200, {"content-type": "text/event-stream"})
    assert answer is not None
    two.request()
    two.propose(WRITE)
    assert b"[ledger:" not in answer.feed(done("late", CAT))


def done(call_id: str, command: str) -> bytes:
    """The event that completes a call."""
    call = {"type": "function_call", "name": "exec_command", "arguments": json.dumps({"cmd": command})}
    event = {"type": "response.output_item.done", "output_index": 0, "item": {**call, "call_id": call_id}}
    return b"data: " + json.dumps(event).encode() + b"\n\n"


@pytest.mark.guarantee("false-reuse")
@pytest.mark.parametrize("preset", ["verified", "paper"])
def test_an_answer_of_a_session_that_was_let_go_is_judged_by_nothing(
    monkeypatch: pytest.MonkeyPatch, preset: str
) -> None:
    """Its other threads are told to a new ledger, so that the old one knows of no writes any more."""
    monkeypatch.setattr("execledger.proxy.book.MAX_SESSIONS", 1)
    passage = new_passage(sealed=True, preset=preset)
    talk = Talk(passage, "one", "one")
    talk.turn(CAT)
    assert talk.last is not None
    answer = passage.answer(talk.last, 200, {"content-type": "text/event-stream"})
    assert answer is not None
    Talk(passage, "two", "two").request()
    event = done("late", CAT)
    assert answer.feed(event) == event


@pytest.mark.guarantee("false-reuse", "append-only")
@pytest.mark.parametrize("preset", ["verified", "paper"])
def test_a_session_that_comes_back_trusts_nothing_that_it_did_not_see(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, preset: str
) -> None:
    """What was under way when it was let go may write at any time; its edits are applied again, byte for byte."""
    monkeypatch.setattr("execledger.proxy.book.MAX_SESSIONS", 1)
    passage = new_passage(EditStore(tmp_path / "edits"), sealed=True, preset=preset, journals=tmp_path / "journals")
    parent, child = family(passage)
    parent.turn(CAT)
    parent.turn(CAT)
    child.request()
    child.propose("sed -i s/x/y/ b.py")
    Talk(passage, "other", "other").request()
    parent.turn(OTHER)
    for _ in range(4):
        parent.turn("true")
    assert NOT_RUN not in parent.turn(OTHER)[0]
    assert parent.grows()
    passage.book.close()
    kept = [read_journal(path.name, path.read_bytes()) for path in sorted((tmp_path / "journals").glob("*.jsonl"))]
    assert [(rebuild(run).mismatch, run.trouble.sentences()) for run in kept] == [(None, ())] * 3


@pytest.mark.guarantee("append-only", "step-in-flight")
def test_the_journal_of_a_session_that_comes_back_names_its_own_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Steps have other numbers in the new ledger: what an edit refers to is found there, not taken from the old one."""
    monkeypatch.setattr("execledger.proxy.book.MAX_SESSIONS", 1)
    passage = new_passage(EditStore(tmp_path / "edits"), preset="paper", journals=tmp_path / "journals")
    parent, child = family(passage)
    for name in "cdefgh":
        child.turn(f"cat {name}.py")
    parent.turn(CAT)
    parent.turn(CAT)
    parent.run = lambda command: "5 passed\n"
    parent.turn("pytest tests")
    parent.turn("pytest tests")
    Talk(passage, "other", "other").request()
    parent.turn(OTHER)
    assert parent.grows()
    passage.book.close()
    kept = [read_journal(path.name, path.read_bytes()) for path in sorted((tmp_path / "journals").glob("*.jsonl"))]
    assert [run.trouble.sentences() for run in kept] == [()] * 3
    (steps,) = (run.steps for run in kept if run.steps and run.steps[0].step.action.command == CAT)
    assert [one.step.shown.refers_to for one in steps] == [(), (0,), (), (2,), ()]
    assert [one.step.decision.refers_to for one in steps] == [(), (0,), (), (2,), ()]


@pytest.mark.guarantee("append-only", "visibility")
def test_without_its_edits_a_session_that_comes_back_claims_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The model is shown what the client holds, and no reference stands in it."""
    monkeypatch.setattr("execledger.proxy.book.MAX_SESSIONS", 1)
    talk = Talk(new_passage(sealed=True, preset="paper"))
    for command in (CAT, CAT, OTHER):
        talk.turn(command)
    again = Talk(new_passage(sealed=True, preset="paper"), items=talk.items)
    shown = again.request()
    assert shown[: len(talk.items)] == talk.items
    assert not any("stands above" in text.partition("[ledger:")[0] for text in again.results(shown))


@pytest.mark.guarantee("append-only")
def test_the_first_edit_of_a_result_is_the_one_that_all_show(tmp_path: Path) -> None:
    """A session that goes on in two proxies at once is shown the same by both, and by those that come after."""
    passages = [new_passage(EditStore(tmp_path / "edits")) for _ in range(2)]
    one = Talk(passages[0])
    one.turn(CAT)
    two = Talk(passages[1], items=one.items)
    two.numbers = one.numbers
    two.request()
    shown = []
    for talk in (one, two):
        calls = talk.propose(CAT)
        talk.answer(calls)
        shown.append(talk.results(talk.request())[-1])
    assert shown[0] == shown[1] != one.results(one.items)[-1]
    assert one.grows() and two.grows()


@pytest.mark.guarantee("false-reuse", "append-only")
def test_a_copied_shim_is_what_its_author_wrote() -> None:
    """A model that proposes the very words of a shim is shown its own call and its own result."""
    talk = Talk(new_passage(preset="paper"))
    talk.turn(CAT)
    talk.turn(CAT)
    shim = talk.ran[-1]
    assert shim.startswith("echo '[ledger:")
    talk.turn(shim)
    sent: list[Json] = talk.sent[-1]
    calls = [json.loads(item["arguments"])["cmd"] for item in sent if item["type"] == "function_call"]
    assert calls == [CAT, CAT, shim]
    assert talk.results(sent)[-1].endswith(f"Output:\n{shim[6:-1]}\n")
    assert talk.grows()


@pytest.mark.guarantee("fail-open", "append-only")
@pytest.mark.parametrize("half", ["\\ud800", "\\uDfff", "\\ud800\\ud800"])
def test_half_a_character_passes_byte_for_byte(half: str) -> None:
    """In a proposed call, in a call or a result of the history, in a message: it stays, and Ledger stays on."""
    talk = Talk(new_passage(preset="paper", sealed=True))
    talk.turn(CAT)
    talk.turn(CAT)
    assert talk.last is not None
    answer = talk.passage.answer(talk.last, 200, {"content-type": "text/event-stream"})
    assert answer is not None
    event = done("odd", "cat HALF").replace(b"HALF", half.replace("\\", "\\\\\\").encode())
    plain = done("plain", "cat HALF").replace(b"HALF", half.encode())
    for one in (event, plain):
        assert answer.feed(one) == one
    talk.items = [
        *talk.items,
        {"type": "function_call", "name": "exec_command", "arguments": '{"cmd":"cat HALF"}', "call_id": "odd"},
        {"type": "function_call_output", "call_id": "odd", "output": "HALF of it"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "HALF a character"}]},
    ]
    given = {"metadata": {"a": "HALF"}, "model": "m", "input": talk.items, "tools": TOOLS, "user": "HALF"}
    body = json.dumps(given).encode()
    body = body.replace(b"HALF", half.encode())
    sent = talk.passage.request("POST", "/v1/responses", talk.headers, body)
    assert sent.body.count(half.encode()) == body.count(half.encode()) == 5
    restored = json.loads(sent.body)
    assert restored["metadata"] == json.loads(body)["metadata"]
    assert restored["input"][-4:-1] == json.loads(body)["input"][-3:]
    assert [NOT_RUN in text for text in talk.results(restored["input"])] == [False, True, False]
    assert (talk.passage.faults, [run.counts.faults for run in talk.passage.book.summaries]) == (0, [0])
    plain_body = (
        json.dumps({"model": "m", "input": opening("HALF"), "tools": TOOLS}).encode().replace(b"HALF", half.encode())
    )
    headers = {**talk.headers, "session-id": "new", "thread-id": "new"}
    assert talk.passage.request("POST", "/v1/responses", headers, plain_body).body == plain_body


@pytest.mark.guarantee("false-reuse")
def test_a_call_that_cannot_be_read_is_a_write_under_way() -> None:
    """It was sent to the client, and what it does there nobody knows."""
    parent, child = family(new_passage(sealed=True))
    parent.turn(CAT)
    child.request()
    assert child.last is not None
    answer = child.passage.answer(child.last, 200, {"content-type": "text/event-stream"})
    assert answer is not None
    event = done("odd", "cat HALF").replace(b"HALF", rb"\ud800")
    assert answer.feed(event) == event
    assert NOT_RUN not in parent.turn(CAT)[0]


@pytest.mark.guarantee("false-reuse")
@pytest.mark.parametrize(
    "headers",
    [{"content-type": "text/plain"}, {"content-type": "text/event-stream", "content-encoding": "br"}, {}],
)
def test_an_answer_that_is_not_read_may_call_anything(headers: dict[str, str]) -> None:
    """Until the next turn of its thread, nothing is answered without running on the others."""
    parent, child = family(new_passage(sealed=True))
    parent.turn(CAT)
    child.request()
    assert child.last is not None
    assert child.passage.answer(child.last, 200, headers) is None
    assert NOT_RUN not in parent.turn(CAT)[0]


@pytest.mark.guarantee("false-reuse")
def test_a_request_that_is_not_read_may_lead_to_anything() -> None:
    """A body that can't be read names its session in the headers: from then on that session is not sealed."""
    parent, child = family(new_passage(sealed=True))
    parent.turn(CAT)
    odd = b'{"input": "words"}'
    assert child.passage.request("POST", "/v1/responses", child.headers, odd).body == odd
    assert NOT_RUN not in parent.turn(CAT)[0]


@pytest.mark.guarantee("append-only", "fail-open")
@pytest.mark.parametrize("role", ["developer", "user"])
def test_behind_another_ledger_nothing_is_added(role: str) -> None:
    """A request that ends with a view, whoever wrote it, is sent on with what was edited before and nothing else."""
    talk = Talk(new_passage(preset="paper"))
    talk.turn(CAT)
    talk.turn(CAT)
    before = talk.results(talk.sent[-1])
    talk.items = [*talk.items, message(role, "<execution_state>\nTask: Mend it.\n</execution_state>")]
    shown = talk.request()
    assert talk.results(shown) == before
    assert shown[-1] == talk.items[-1] and json.dumps(shown).count("<execution_state>") == 1
    fresh = Talk(new_passage(preset="paper"), items=[*opening(), talk.items[-1]])
    body = json.dumps({"model": "m", "input": fresh.items, "tools": TOOLS, "odd": 1.50}).encode()
    assert fresh.passage.request("POST", "/v1/responses", fresh.headers, body).body == body
