"""Suppressed commands of Claude Code: what the client says beside the answer to a shim, and shims that did not run."""

from __future__ import annotations

import json
from typing import Any

import pytest

from execledger.agents.claude import adapter
from execledger.proxy.book import Book, Rules
from execledger.proxy.edits import EditStore
from execledger.proxy.passage import Passage
from tests.proxy.dialects.samples import event, read_messages_events

Json = dict[str, Any]
LINES = [f"line {number} of a file that is long enough to be worth a reference" for number in range(1, 41)]
TEXT = "\n".join(LINES)
LEFT = "<system-reminder>\n<total_tokens>14998991 tokens left</total_tokens>\n</system-reminder>"
CHANGED = "<system-reminder>\nNote: /repo/b.py was modified by the user.\n</system-reminder>"
REFUSAL = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected. "
    "To tell you how to proceed, the user said:\nuse b.py"
)
HEADERS = {"x-claude-code-session-id": "s", "user-agent": "claude-cli/2.1.325 (external, cli)"}
PLACE = "<system-reminder>\n# Environment\n - Primary working directory: /repo\n</system-reminder>"
NOT_RUN = "[Ledger: not run, a.py has not changed. Lines 1-40 of a.py are as shown by `cat a.py`, "


class Client:
    """Claude Code in a sealed place: it runs what it is told to, and says more about it than the tool."""

    def __init__(self, store: EditStore) -> None:
        self.passage = Passage(Book(Rules(sealed=True), adapter, store))
        self.messages: list[Json] = [{"role": "user", "content": [{"type": "text", "text": PLACE}]}]
        self.sent: Any = None

    def request(self) -> list[Json]:
        """Send the history; the blocks that the model is shown, without the view."""
        body = json.dumps({"model": "m", "tools": [{}], "messages": self.messages, "stream": True}).encode()
        self.sent = self.passage.request("POST", "/v1/messages", HEADERS, body)
        shown = [one for one in json.loads(self.sent.body)["messages"] if isinstance(one["content"], list)]
        return [block for one in shown for block in one["content"] if block["type"] != "text"]

    def propose(self, number: int, command: str) -> Json:
        """The model's call, as it reaches the client."""
        answer = self.passage.answer(self.sent, 200, {"content-type": "text/event-stream"})
        assert answer is not None
        block = {"type": "tool_use", "id": f"c{number}", "name": "Bash", "input": {}}
        given = {"type": "input_json_delta", "partial_json": json.dumps({"command": command})}
        events = (
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_delta", "index": 0, "delta": given},
            {"type": "content_block_stop", "index": 0},
        )
        stream = b"".join(answer.feed(event(one, str(one["type"]))) for one in events)
        ((called, name, arguments),) = read_messages_events(stream).calls
        return {"type": "tool_use", "id": called, "name": name, "input": arguments}

    def turn(self, number: int, command: str, **more: Any) -> Json:
        """One turn, with ``more`` in the result; the result as the model is shown it."""
        self.request() if self.sent is None else None
        call = self.propose(number, command)
        ran = call["input"]["command"]
        content = ran[6:-1] if ran.startswith("echo ") else TEXT
        result = {"type": "tool_result", "tool_use_id": call["id"], "content": content, **more}
        if isinstance(more.get("content"), tuple):
            result["content"] = "\n\n".join((content, *more["content"]))
        if isinstance(more.get("content"), list):
            result["content"] = [{"type": "text", "text": content}, *more["content"]]
        self.messages += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
        block = self.request()[-1]
        assert block["type"] == "tool_result"
        return block


@pytest.fixture
def client() -> Client:
    """A client whose model has read a file."""
    client = Client(EditStore(None))
    assert client.turn(0, "cat a.py")["content"] == TEXT
    return client


def test_a_shim_is_answered_by_a_reference(client: Client) -> None:
    """The note that the shim prints is not shown."""
    content = client.turn(1, "cat a.py")["content"]
    assert content.startswith(NOT_RUN) and content.endswith("]")
    assert "echo" in client.messages[-2]["content"][0]["input"]["command"]


def test_reminders_behind_a_shim_stay(client: Client) -> None:
    """In one text with what the shim printed, as the client writes them, now and in every later request."""
    content = client.turn(1, "cat a.py", content=(CHANGED, LEFT))["content"]
    reference, *reminders = content.split("\n\n")
    assert reference.startswith(NOT_RUN) and reminders == [CHANGED, LEFT]
    client.turn(2, "ls")
    assert client.request()[3]["content"] == content


def test_reminders_in_texts_of_their_own_stay(client: Client) -> None:
    """Behind the reference, each in its own block."""
    first, *more = client.turn(1, "cat a.py", content=[{"type": "text", "text": LEFT}])["content"]
    assert first["text"].startswith(NOT_RUN) and more == [{"type": "text", "text": LEFT}]


@pytest.mark.parametrize(
    "answer", [REFUSAL, f"{REFUSAL}\n\n{LEFT}", "Command timed out after 2m 0.0s", "Exit code 1\nspawn bash ENOENT"]
)
def test_a_shim_that_did_not_run_is_shown_as_it_was_answered(client: Client, answer: str) -> None:
    """The user's refusal of it counts for the call that the model made, and the command is not taken for seen."""
    result = client.turn(1, "cat a.py", content=answer, is_error=True)
    assert (result["content"], result["is_error"]) == (answer, True)
    shown = client.request()
    assert shown[2]["input"] == {"command": "cat a.py"}, "the model reads its own call"
    assert client.turn(2, "python3 b.py")["content"] == TEXT
    assert client.request()[3] == result


def test_an_answer_to_a_shim_that_is_not_only_text_is_shown_as_it_came(client: Client) -> None:
    """The shim prints text alone: this is not its answer, and nothing is claimed about the command."""
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    result = client.turn(1, "cat a.py", content=[image])
    assert result["content"][1] == image and "[Ledger:" not in json.dumps(result)
