"""Messages of a request: what an earlier request began with is not split again, and nothing else is taken for it."""

from __future__ import annotations

import json
import random
from typing import Any

import msgspec
import pytest
from msgspec import Raw

from execledger.proxy import json_split
from execledger.proxy.limits import MAX_REQUESTS
from execledger.proxy.split_messages import MessageSplitter, SplitMessage
from execledger.proxy.worker import run_to_end

SEPARATORS = [(",", ":"), (", ", ": "), (" ,\n", " : ")]


class Counted:
    """A splitter that counts what it splits."""

    def __init__(self, most: int = 1_000_000) -> None:
        self.split: list[bytes] = []
        self.splitter = MessageSplitter("messages", self._split, most)

    def _split(self, raw: bytes) -> SplitMessage | None:
        self.split.append(raw)
        return SplitMessage(raw, {}, [], [raw]) if raw.startswith(b"{") else None

    def messages(self, body: bytes) -> list[Any]:
        """The messages that are found, after a check against a decoder that knows nothing of earlier requests."""
        found = run_to_end(self.splitter.split(body))
        assert found is not None
        fields, messages = found
        expected = msgspec.json.decode(body, type=dict[str, Raw])
        assert [message.raw for message in messages] == [
            *map(bytes, msgspec.json.decode(expected["messages"], type=list[Raw]))
        ]
        assert list(fields) == list(expected)
        assert all(bytes(fields[name]) == bytes(expected[name]) for name in fields if name != "messages")
        return [json.loads(message.raw) for message in messages]


def body_of(messages: list[Any], *, model: str = "m", separators: tuple[str, str] = (",", ":"), **after: Any) -> bytes:
    """A request with these messages."""
    return json.dumps(
        {"model": model, "messages": messages, "tools": [{"n": 1}], **after}, separators=separators
    ).encode()


def message(number: int) -> dict[str, Any]:
    """One of a conversation's messages."""
    return {"role": "user", "content": f"message {number} " + "x" * number}


@pytest.mark.parametrize("separators", SEPARATORS, ids=["compact", "spaces", "odd"])
def test_only_new_messages_are_split(separators: tuple[str, str]) -> None:
    """However the client writes its lists."""
    counted = Counted()
    for count in (10, 12, 14):
        history = [message(number) for number in range(count)]
        assert counted.messages(body_of(history, separators=separators)) == history
    assert len(counted.split) == 14


def test_what_was_rewritten_is_split_again() -> None:
    """A message that differs ends what is known, also if it differs in its last byte alone."""
    counted = Counted()
    history = [message(number) for number in range(10)]
    counted.messages(body_of(history))
    counted.split.clear()
    history[6] = {**history[6], "content": history[6]["content"][:-1] + "y"}
    assert counted.messages(body_of(history)) == history
    assert len(counted.split) == 4


def test_a_longer_message_is_no_known_one() -> None:
    """Where a known message's bytes are the beginning of another value, or the list ends there, it is not taken."""
    counted = Counted()
    counted.messages(b'{"messages":[{"a":1},{"a":2}],"z":1}')
    assert counted.messages(b'{"messages":[{"a":1},{"a":2} ,{"a":3}],"z":1}') == [{"a": 1}, {"a": 2}, {"a": 3}]
    assert counted.messages(b'{"messages":[{"a":1}],"z":1}') == [{"a": 1}]
    assert counted.messages(b'{"messages":[{"a":1},{"a":20}]}') == [{"a": 1}, {"a": 20}]


def test_conversations_with_the_same_beginning_are_kept_apart() -> None:
    """Each is found again although all of them share a prompt."""
    counted = Counted()
    histories = [
        [message(0), *({"role": "user", "content": f"{one} {number}"} for number in range(8))] for one in range(5)
    ]
    for history in histories:
        counted.messages(body_of(history))
    counted.split.clear()
    for history in histories:
        longer = [*history, message(3)]
        assert counted.messages(body_of(longer)) == longer
    assert len(counted.split) == 5


def test_what_was_not_asked_for_longest_is_forgotten() -> None:
    """Beyond its bytes, beyond a number of requests, and when everything is."""
    counted = Counted(most=200)
    first, second = ([{"n": f"{name}{number}" * 10} for number in range(6)] for name in "ab")
    for _ in range(2):
        counted.messages(body_of(first))
        counted.messages(body_of(second))
    assert len(counted.split) == 4 * 6
    counted = Counted()
    for number in range(MAX_REQUESTS + 1):
        counted.messages(body_of([{"n": f"other {number}"}]) if number else body_of(first))
    counted.split.clear()
    counted.messages(body_of(first))
    assert len(counted.split) == 6, "many short requests are as good as long ones"
    counted = Counted()
    counted.messages(body_of(first))
    counted.splitter.cache_clear()
    counted.messages(body_of(first))
    assert len(counted.split) == 2 * 6


@pytest.mark.parametrize("body", [b"{}", b'{"messages":[]}', b'{"messages":"text"}', b"[", b'{"messages":[1]}'])
def test_what_has_no_messages_is_not_split(body: bytes) -> None:
    """Nor is one whose messages are of another shape; what is known before and after stays."""
    counted = Counted()
    history = [message(number) for number in range(6)]
    counted.messages(body_of(history))
    assert run_to_end(counted.splitter.split(body)) is None
    counted.split.clear()
    assert counted.messages(body_of(history)) == history
    assert len(counted.split) == 1


@pytest.mark.parametrize("seed", range(40))
def test_conversations_at_random_are_split_as_by_a_decoder(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With forks, rewritten messages, odd text, repeated list names and small windows; ``messages`` compares."""
    chance = random.Random(seed)
    if chance.random() < 0.5:
        monkeypatch.setattr(json_split, "WINDOW", 200)
    counted = Counted(most=chance.choice([300, 5_000, 1_000_000]))
    odd = ['"messages":[', '}],"tools":', "\\", '"', "},{", "é", "", "x" * 50]
    separators = chance.choice(SEPARATORS)
    histories: list[list[Any]] = [[{"role": "system", "content": "p"}] for _ in range(3)]
    for _ in range(60):
        history = chance.choice(histories)
        for _ in range(chance.randrange(3)):
            history.append({"role": chance.choice(odd), "content": [chance.choice(odd), {"messages": [1]}]})
        if chance.random() < 0.2:
            history[chance.randrange(len(history))] = {"content": chance.choice(odd)}
        if chance.random() < 0.1:
            del history[chance.randrange(1, len(history) + 1) :]
        body = body_of(history, model=chance.choice("mmmn"), separators=separators, last=chance.choice(odd))
        assert counted.messages(body) == history
