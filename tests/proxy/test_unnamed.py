"""Conversations that no request names: recognised by what they repeat, also behind a summary of their beginning."""

from __future__ import annotations

import json
from typing import Any

import pytest

from execledger.agents.copilot.tools import ADAPTER
from execledger.core.policy import Cadence, Policy
from execledger.proxy.book import Book, Rules
from execledger.proxy.edits import EditStore
from execledger.proxy.passage import Passage

Json = dict[str, Any]
PLACE = "You are working in the following environment. x\n* Current working directory: /repo"
TASK = "Mend it."
FILE = "".join(f"value_{number} = {number}  # a line of some length\n" for number in range(60))
SUMMARY = (
    "Some of the conversation history has been summarized to free up context.\n\n"
    f"<user_message>\n{TASK}\n</user_message>"
)
VIEW = f"<execution_state>\nTask: {TASK}\n%s</execution_state>"
IN_CONTEXT = VIEW % "Seen, most recent first:\n- a.py: whole, 60 lines (in context)\n"


def said(role: str, text: str) -> Json:
    """A message."""
    return {"role": role, "content": text}


class Client:
    """A client of the chat dialect that was started with a path of its own."""

    def __init__(self) -> None:
        rules = Rules(policy=Policy(cadence=Cadence.EVERY))
        self.passage = Passage(Book(rules, ADAPTER, EditStore(None)))
        self.history = [said("system", PLACE), said("user", TASK)]
        self.calls = 0

    def sent(self, messages: list[Json], **more: object) -> list[Json]:
        """The messages of a request as the model gets them."""
        body = {"model": "m", "stream": True, "tools": [{"function": {"name": "view"}}], "messages": messages, **more}
        raw = json.dumps(body).encode()
        self.last = self.passage.request("POST", "/run/abc/chat/completions", {"x-initiator": "agent"}, raw)
        assert self.passage.faults == 0
        found: list[Json] = json.loads(self.last.body)["messages"]
        return found

    def turn(self, path: str = "/repo/a.py") -> list[Json]:
        """The model is asked, reads a file, and the client has its text: the messages as the model got them."""
        shown = self.sent(self.history)
        call: Json = {"id": f"call_{self.calls}", "type": "function"}
        call["function"] = {"name": "view", "arguments": json.dumps({"path": path})}
        self.calls += 1
        answer = self.passage.answer(self.last, 200, {"content-type": "text/event-stream"})
        assert answer is not None
        for choice in (
            {"index": 0, "delta": {"tool_calls": [{**call, "index": 0}]}, "finish_reason": None},
            {"index": 0, "delta": {}, "finish_reason": "tool_calls"},
        ):
            answer.feed(f"data: {json.dumps({'choices': [choice]})}\n\n".encode())
        answer.end()
        result = {"role": "tool", "tool_call_id": call["id"], "content": FILE}
        self.history += [{"role": "assistant", "content": None, "tool_calls": [call]}, result]
        return shown

    @property
    def threads(self) -> list[int]:
        """The number of steps that are part of the last request of each conversation."""
        session = self.passage.book.get("abc")
        assert session is not None
        return [len(one._history.steps) for one in session.threads.values()]


def result_in(messages: list[Json]) -> list[str]:
    """The texts of results."""
    return [message["content"] for message in messages if message["role"] == "tool"]


@pytest.mark.guarantee("visibility")
@pytest.mark.parametrize("side", [{"tool_choice": "none"}, {"tools": []}])
def test_a_request_for_a_summary_is_no_turn_and_ends_nothing(side: Json) -> None:
    """It has no state view; the conversation goes on behind it, with what was seen before."""
    client = Client()
    client.turn()
    asked = [*client.history, said("user", "Please create a detailed summary.")]
    assert client.sent(asked, **side) == asked
    assert client.turn()[-1] == said("user", IN_CONTEXT)
    assert client.threads == [1]


@pytest.mark.guarantee("visibility")
@pytest.mark.parametrize("kept", [0, 1])
def test_behind_a_summary_nothing_is_in_context_that_it_replaced(kept: int) -> None:
    """The last calls are behind the summary, one of them not answered before: no reference, and the view says so."""
    client = Client()
    client.turn()
    for _ in range(kept):
        client.turn("/repo/b.py")
    client.turn("/repo/c.py")
    client.history = [client.history[0], said("user", SUMMARY), *client.history[-2 - 2 * kept :]]
    shown = client.sent(client.history)
    assert "- a.py: whole, 60 lines" in shown[-1]["content"].partition("no longer in context:")[2]
    assert result_in(shown)[0] == FILE and "[Ledger: " not in "".join(result_in(shown[:4]))
    assert len(client.threads) == 1
    again = client.sent([*client.history, said("user", "Go on.")])
    assert again[: len(shown) - 1] == shown[:-1] and len(client.threads) == 1


@pytest.mark.guarantee("visibility")
def test_a_fork_is_a_conversation_of_its_own() -> None:
    """It shares a beginning and has calls of its own behind it."""
    client = Client()
    client.turn()
    client.turn("/repo/b.py")
    client.sent(client.history)
    fork = json.loads(json.dumps(client.history).replace("call_1", "call_of_fork"))
    client.sent(fork)
    assert client.threads == [2, 2]


def test_a_summary_of_nothing_known_begins_no_conversation() -> None:
    """A request for a summary of a text that the client has flattened is forwarded unchanged."""
    client = Client()
    client.turn()
    asked = [said("system", "You write summaries."), said("user", "[User]: Mend it.")]
    assert client.sent(asked, tools=[]) == asked
    assert len(client.threads) == 1


@pytest.mark.guarantee("visibility")
def test_results_whose_calls_have_one_id_are_steps_of_their_own() -> None:
    """Some providers give every call the same id: in a resumed history, an edit behind a read is still an edit."""
    client = Client()
    for tool, arguments, text in (
        ("view", {"path": "/repo/a.py"}, FILE),
        ("bash", {"command": "sed -i s/1/2/ /repo/a.py"}, "<shellId: 0 completed with exit code 0>"),
    ):
        call: Json = {"id": "call_0", "type": "function"}
        call["function"] = {"name": tool, "arguments": json.dumps(arguments)}
        client.history += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "call_0", "content": text},
        ]
    shown = client.sent([*client.history, said("user", "Go on.")])
    assert client.threads == [2]
    assert "Modified" in shown[-1]["content"] and "current" not in shown[-1]["content"]


def test_a_request_that_cannot_be_read_may_have_asked_the_model_to_act() -> None:
    """Names that occur twice make it pass unread; nobody is told that no request came."""
    client = Client()
    body = b'{"messages":[{"role":"user","content":"hi","content":"hi"}],"tools":[{"function":{"name":"view"}}]}'
    sent = client.passage.request("POST", "/run/abc/chat/completions", {}, body)
    assert (sent.body, client.passage.asked_to_act) == (body, True)
