"""Claude Code's conversations through the proxy's own code: reminders are no part of results."""

from __future__ import annotations

import json
from typing import Any

from execledger.agents.claude import adapter
from execledger.core.fingerprint import fingerprint
from execledger.journal.clean import clean_observation
from execledger.proxy.book import Book, Rules
from execledger.proxy.edits import EditStore, ResultEdit
from execledger.proxy.passage import Passage
from execledger.session.adapter import ToolCall
from execledger.vocabulary.actions import Observation
from execledger.vocabulary.decisions import Allow, Shown

Json = dict[str, Any]
HEADERS = {"x-claude-code-session-id": "s", "user-agent": "claude-cli/2.1.325 (external, cli)"}
HITS = "".join(f"/repo/a.py:{number}:value_{number} = {number}  # a line of some length\n" for number in range(60))
FILE = "".join(f"{number}\tvalue_{number} = {number}  # a line of some length\n" for number in range(1, 61))
PLACE = "<system-reminder>\n# Environment\n - Primary working directory: /repo\n</system-reminder>"
GREP = ("Grep", {"pattern": "value", "path": "/repo/a.py", "output_mode": "content"})


def left(tokens: int) -> str:
    """The reminder that is behind nearly every result."""
    return f"<system-reminder>\n<total_tokens>{tokens} tokens left</total_tokens>\n</system-reminder>"


class Client:
    """A client that sends its whole history each time."""

    def __init__(self) -> None:
        self.passage = Passage(Book(Rules(), adapter, EditStore(None)))
        words = [{"type": "text", "text": PLACE}, {"type": "text", "text": "Mend it."}]
        self.messages: list[Json] = [{"role": "user", "content": words}]

    def shown(self, name: str = "", given: Json | None = None) -> list[str]:
        """Send the history, to which the model answers with a call; the results as the model is shown them."""
        body = {"model": "m", "stream": True, "tools": [{"name": "Grep"}, {"name": "Read"}], "messages": self.messages}
        sent = self.passage.request("POST", "/v1/messages", HEADERS, json.dumps(body).encode())
        call_id = f"toolu_{len(self.messages)}"
        answer = self.passage.answer(sent, 200, {"content-type": "text/event-stream"})
        if name and answer is not None:
            block = {"type": "tool_use", "id": call_id, "name": name, "input": {}}
            part = {"type": "input_json_delta", "partial_json": json.dumps(given)}
            for event in (
                {"type": "content_block_start", "index": 0, "content_block": block},
                {"type": "content_block_delta", "index": 0, "delta": part},
                {"type": "content_block_stop", "index": 0},
                {"type": "message_stop"},
            ):
                answer.feed(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
            answer.end()
            self.messages.append({"role": "assistant", "content": [{**block, "input": given}]})
        return [
            block["content"] if isinstance(block["content"], str) else block["content"][0]["text"]
            for message in json.loads(sent.body)["messages"]
            for block in message["content"]
            if block["type"] == "tool_result"
        ]

    def result(self, text: str) -> None:
        """The result of the last call."""
        call_id = self.messages[-1]["content"][0]["id"]
        block = {"type": "tool_result", "tool_use_id": call_id, "content": text}
        self.messages.append({"role": "user", "content": [block]})


def test_equal_results_are_equal_whatever_the_client_reminds_of() -> None:
    """The second of two equal searches becomes a reference, with the reminder that came with it."""
    client = Client()
    for tokens in (14_998_991, 14_990_007):
        client.shown(*GREP)
        client.result(f"{HITS.rstrip()}\n\n{left(tokens)}")
    first, second = client.shown()
    assert first == f"{HITS.rstrip()}\n\n{left(14_998_991)}"
    assert second.startswith("[Ledger: ") and second.endswith(f"]\n\n{left(14_990_007)}")


def test_a_partial_edit_fits_whatever_the_client_reminds_of() -> None:
    """Its places are in the tool's own words; in other words it would replace other lines."""
    read = ToolCall("Read", '{"file_path": "/repo/a.py"}')

    def seen(text: str, reminder: str) -> Observation:
        return adapter.observation_of(read, (f"{text.rstrip()}\n\n{reminder}",))

    made_for = fingerprint(seen(FILE, left(7)), steady=False)
    edit = ResultEdit("chain", Allow("new"), Shown("partial", result=made_for))
    assert edit.fits(seen(FILE, left(9)))
    assert edit.fits(seen(FILE, f"{PLACE}\n\n{left(7)}"))
    assert not edit.fits(seen(FILE.replace("value_7 = 7", "value_7 = 8"), left(7)))


def test_what_is_kept_of_reminders_is_redacted() -> None:
    """They are kept in journals apart from the result."""
    secret = "ghp_" + "a1B2" * 9
    seen = adapter.observation_of(ToolCall("Grep", "{}"), (f"x\n\n<system-reminder>{secret}</system-reminder>",))
    assert secret in seen.reminders and secret not in clean_observation(seen).reminders
