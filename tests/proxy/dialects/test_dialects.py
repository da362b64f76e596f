"""A dialect is a module and one line: a made-up one passes through the passage with everything that Ledger does."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from execledger.agents.codex import tools as codex
from execledger.core.policy import Policy, Preset
from execledger.proxy.book import Book, Rules
from execledger.proxy.dialect import Dialect, Leaf, Propose, marks_of
from execledger.proxy.dialects import DIALECTS
from execledger.proxy.edits import EditStore
from execledger.proxy.passage import Passage
from execledger.proxy.sse import data_of, with_data
from execledger.proxy.worker import Work
from execledger.runs.usage import Tokens
from execledger.session.adapter import ToolCall
from tests.proxy.talk import TEXT, shell

Json = dict[str, Any]


class BlocksRequest:
    """Messages with a role and several blocks, and a breakpoint on the last message."""

    cache_key = ""
    instructions = ""
    offers_tools = True
    tool_names: frozenset[str] = frozenset()

    def __init__(self, body: bytes, frame: Json) -> None:
        self.body = body
        self.model: str = frame["model"]
        self.leaves: Sequence[bytes] = [
            json.dumps([message["role"], block]).encode()
            for message in frame["messages"]
            for block in message["blocks"]
        ]
        self._frame = frame

    @property
    def marks(self) -> list[int]:
        return marks_of(self.leaves)

    def joined(self, leaves: Sequence[bytes]) -> bytes:
        blocks = [json.loads(leaf)[1] for leaf in leaves]
        messages = []
        for message in self._frame["messages"]:
            own, blocks = blocks[: len(message["blocks"])], blocks[len(message["blocks"]) :]
            messages.append({**message, "blocks": own})
        messages[-1]["blocks"] += blocks
        return json.dumps({**self._frame, "messages": messages}).encode()


class BlocksStream:
    """Events with one whole call each."""

    tokens: Tokens | None = None

    def __init__(self, propose: Propose) -> None:
        self._propose = propose

    def feed(self, event: bytes) -> bytes:
        block = json.loads(data_of(event))
        swap = self._propose(block["call"], ToolCall("exec_command", block["given"]))
        return event if swap is None else with_data(event, json.dumps({**block, "given": swap.text}).encode())

    def skip(self, piece: bytes) -> bytes:
        return piece

    def end(self) -> bytes:
        return b""


class Blocks:
    """A made-up dialect whose leaves are the blocks of messages."""

    paths: tuple[str, ...] = ("/blocks",)
    turn_paths: tuple[str, ...] = ("/blocks",)

    def split(self, path: str, body: bytes) -> Work[BlocksRequest | None]:
        yield 0
        return BlocksRequest(body, json.loads(body))

    def leaf(self, raw: bytes) -> Leaf:
        role, block = json.loads(raw)
        if "call" in block:
            return Leaf("call", block["call"], ToolCall("exec_command", block["given"]))
        if "result" in block:
            return Leaf("result", block["result"], parts=(block["text"],))
        return Leaf("model") if role == "model" else Leaf("user", text=block["text"])

    def with_call(self, raw: bytes, call: ToolCall) -> bytes:
        role, block = json.loads(raw)
        return json.dumps([role, {**block, "given": call.text}]).encode()

    def with_parts(self, raw: bytes, parts: tuple[str, ...]) -> bytes:
        role, block = json.loads(raw)
        return json.dumps([role, {**block, "text": "".join(parts)}]).encode()

    def view_leaf(self, text: str) -> bytes:
        return json.dumps(["user", {"text": text}]).encode()

    def stream(self, propose: Propose) -> BlocksStream:
        return BlocksStream(propose)

    def answer(self, body: bytes, propose: Propose) -> tuple[bytes, Tokens | None]:
        return body, None


REGISTERED: tuple[Dialect, ...] = (*DIALECTS, Blocks())
HEADERS = {"session-id": "s", "thread-id": "t", "user-agent": "codex_exec/1.0"}
PLACE = "<environment_context>\n  <cwd>/repo</cwd>\n</environment_context>"
HEADER = "Chunk ID: 000001\nWall time: 0.0 seconds\nProcess exited with code 0\nOutput:\n"
RESULT = f"{HEADER}{TEXT}"


class Client:
    """A client that speaks the made-up dialect, and moves its breakpoint to the last message of each request."""

    def __init__(self, preset: str) -> None:
        store = EditStore(None)
        self.passage = Passage(Book(Rules(policy=Policy(preset=Preset(preset))), codex, store), dialects=REGISTERED)
        self.messages: list[Json] = [{"role": "user", "blocks": [{"text": PLACE}, {"text": "Mend the parser."}]}]

    def turn(self, command: str, number: int) -> tuple[Json, Json]:
        """One call of the model: the request as it is forwarded, and the call as the client receives it."""
        *before, last = self.messages
        body = json.dumps({"model": "m", "messages": [*before, {**last, "breakpoint": True}], "odd": 1.50}).encode()
        sent = self.passage.request("POST", "/v1/blocks", HEADERS, body)
        editor = self.passage.answer(sent, 200, {"content-type": "text/event-stream"})
        assert editor is not None
        call = {"call": f"c{number}", "given": json.dumps({"cmd": command})}
        received: Json = json.loads(data_of(editor.feed(b"data: " + json.dumps(call).encode() + b"\n\n")))
        ran = json.loads(received["given"])["cmd"]
        printed = HEADER + shell(ran) if ran.startswith("echo ") else RESULT
        result = {"result": received["call"], "text": printed}
        self.messages += [{"role": "model", "blocks": [received]}, {"role": "user", "blocks": [result]}]
        forwarded: Json = json.loads(sent.body)
        return forwarded, received


@pytest.mark.parametrize("preset", ["verified", "paper"])
def test_a_registered_dialect_is_informed_and_governed(preset: str) -> None:
    """A repeated read becomes a reference, the view is the last block, and the frame is the client's own."""
    client = Client(preset)
    received = [client.turn("cat a.py", number)[1] for number in range(2)]
    forwarded, _ = client.turn("ls", 2)
    messages = forwarded["messages"]
    assert client.passage.faults == 0
    assert [message["role"] for message in messages] == ["user", "model", "user", "model", "user"]
    assert [message.get("breakpoint", False) for message in messages] == [False] * 4 + [True]
    assert forwarded["odd"] == 1.5
    first, (second, *views) = messages[2]["blocks"], messages[4]["blocks"]
    assert first == [{"result": "c0", "text": RESULT}]
    assert "[Ledger: " in second["text"] and TEXT not in second["text"]
    assert all(view["text"].startswith("<execution_state>") for view in views) and len(views) <= 1
    # The model is shown its own call, also where the client ran a shim.
    assert [messages[at]["blocks"][0]["given"] for at in (1, 3)] == [json.dumps({"cmd": "cat a.py"})] * 2
    assert (received[1]["given"] == json.dumps({"cmd": "cat a.py"})) == (preset == "verified")


def test_a_dialect_is_chosen_by_the_path() -> None:
    """Each path belongs to at most one dialect, and a request at any other is forwarded unchanged."""
    paths = [path for dialect in REGISTERED for path in dialect.paths]
    assert all(sum(path.endswith(dialect.paths) for dialect in REGISTERED) == 1 for path in paths)
    assert all(set(dialect.turn_paths) <= set(dialect.paths) for dialect in REGISTERED)
    body = b'{"model":"m","messages":[]}'
    assert Client("verified").passage.request("POST", "/v1/other", HEADERS, body).body is body
