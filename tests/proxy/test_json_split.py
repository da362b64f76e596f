"""A long request, split window by window, has the fields and items that the decoder finds in one go."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from execledger.proxy import json_split
from execledger.proxy.dialects.responses import Responses
from execledger.proxy.json_split import object_fields, split_in_windows, split_list
from execledger.proxy.worker import run_to_end
from execledger.runs.json_surrogates import SurrogateEscapes

ODD = ['},{"type":', '{"input":[', "\\", '"', "],", "é\n", "}}}", '\\"},{', "", "x" * 300, "\ud800", "} , {"]


@pytest.fixture(autouse=True)
def small_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows so small that every request has many."""
    monkeypatch.setattr(json_split, "WINDOW", 200)


def value(chance: random.Random, depth: int) -> Any:
    """Any JSON value."""
    if depth == 0 or chance.random() < 0.4:
        return chance.choice([*ODD, 1.5, None, True, -7])
    if chance.random() < 0.5:
        return [value(chance, depth - 1) for _ in range(chance.randrange(5))]
    return {chance.choice(ODD): value(chance, depth - 1) for _ in range(chance.randrange(5))}


def at_once(body: bytes) -> tuple[dict[str, bytes], list[bytes]]:
    """What a decoder finds that is not disturbed by halves of characters."""
    fields = msgspec.json.decode(body, type=dict[str, Raw])
    items = msgspec.json.decode(fields["input"], type=list[Raw])
    return {name: bytes(raw) for name, raw in fields.items() if name != "input"}, [bytes(raw) for raw in items]


@pytest.mark.parametrize("seed", range(60))
def test_windows_find_what_one_pass_finds(seed: int) -> None:
    """Whatever stands in the items, around them and between them; also what looks like an end of an item."""
    chance = random.Random(seed)
    items = [{"type": "message", **{f"k{at}": value(chance, 3) for at in range(3)}} for _ in range(40)]
    parts = [("model", "m"), ("odd", value(chance, 2)), ("input", items), ("tools", [{"input": [1]}, {}]), ("z", 1)]
    chance.shuffle(parts)
    separators = chance.choice([(",", ":"), (", ", ": "), (" ,\n\t", " : ")])
    text = json.dumps(dict(parts), separators=separators, ensure_ascii=chance.random() < 0.5)
    body = text.encode("utf-8", "replace")
    found = run_to_end(split_in_windows(body, "input"))
    assert found is not None
    fields, split = found
    joined = b"".join((*split, *(bytes(raw) for name, raw in fields.items() if name != "input")))
    assert list(fields) == [name for name, _ in parts]
    assert [json.loads(item) for item in split] == json.loads(body)["input"]
    assert {name: json.loads(bytes(raw)) for name, raw in fields.items() if name != "input"} == {
        name: it for name, it in json.loads(body).items() if name != "input"
    }
    if b"\\ud800" not in body:
        assert ({n: bytes(raw) for n, raw in fields.items() if n != "input"}, split) == at_once(body)
    else:
        assert joined.count(b"\\ud800") == body.count(b"\\ud800")


@pytest.mark.parametrize(
    "body",
    [
        b'{"model":"m"}' + b" " * 900,
        b'{"input":"text"}' + b" " * 900,
        b'{"input":[{"a":1},{"a":2}' + b',{"a":3}' * 200,
        b'{"input":[{"a":1}' + b',{"a":3}' * 200 + b'],"input":[]}',
        b'[{"input":[{"a":1}' + b',{"a":3}' * 200 + b"]}]",
        b'{"a":{"input":[{"a":1}' + b',{"a":3}' * 200 + b"]}}",
    ],
    ids=["no input", "a text", "cut off", "twice", "a list", "deeper"],
)
def test_what_has_another_shape_is_left_to_the_decoder(body: bytes) -> None:
    """Nothing is guessed at: the request is decoded in one go, or passed on as it came."""
    assert run_to_end(split_in_windows(body, "input")) is None


def test_a_long_request_is_joined_as_it_was_split() -> None:
    """Byte for byte, where the client puts no spaces between items."""
    items = [{"type": "message", "content": "x" * at} for at in range(100)]
    body = json.dumps({"model": "m", "input": items, "stream": True}, separators=(",", ":")).encode()
    request = run_to_end(Responses().split("/responses", body))
    assert request is not None and request.joined(request.leaves) == body


NAMES = st.text('ab\u00e9\\"', max_size=2)
SPACE = st.sampled_from(("", "", " ", "\n "))


@given(st.lists(st.tuples(NAMES, st.sampled_from((1, 12, "a", {}, [1, {"a": 1, "b": 2}]))), max_size=5), st.data())
def test_an_object_that_repeats_a_name_is_not_read(pairs: list[tuple[str, Any]], data: st.DataObject) -> None:
    """However it is written: decoders differ in which field counts, so it is forwarded as it came."""

    def spaced(text: str) -> str:
        return f"{data.draw(SPACE)}{text}{data.draw(SPACE)}"

    fields = (f"{spaced(json.dumps(name))}:{spaced(json.dumps(value))}" for name, value in pairs)
    body = f"{{{','.join(fields) or data.draw(SPACE)}}}".encode()
    found = object_fields(body)
    if len(dict(pairs)) < len(pairs):
        assert found is None
    else:
        assert found is not None and {name: json.loads(bytes(raw)) for name, raw in found.items()} == dict(pairs)


def test_a_lone_surrogate_behind_text_that_spells_one_is_kept() -> None:
    """An escaped backslash and ``ud83d`` are no half of the pair that they seem to be."""
    item = rb'{"type":"message","content":"%b\\ud83d\ude00"}' % (b"x" * 300)
    body = b'{"model":"m","input":[%b]}' % b",".join([item] * 9)
    found = run_to_end(split_in_windows(body, "input"))
    assert found is not None and found[1] == [item] * 9


def test_lone_surrogates_of_a_long_request_are_searched_once_in_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    """While one portion is searched, other sessions wait; the elements are decoded window by window, too."""
    searched: list[int] = []

    class Counted(SurrogateEscapes):
        def replace(self, text: bytes, portion: int) -> Iterator[int]:
            for size in super().replace(text, portion):
                searched.append(size)
                yield size

    monkeypatch.setattr(json_split, "SurrogateEscapes", Counted)
    items = [rb'{"type":"message","content":"\ud83d%b"}' % (b"x" * 90) for _ in range(200)]
    found = run_to_end(split_list(b'{"input":[%b],"model":"m"}' % b",".join(items), "input"))
    assert found is not None and found[1] == items
    assert sum(searched) == len(b",".join(items)) + len(b'],"model":"m"}')
    assert max(searched) < 2 * json_split.WINDOW


def test_a_request_with_more_lone_surrogates_than_the_limit_is_not_split(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is forwarded as it came; one with as many as the limit is split."""
    body = b'{"input":[%b]}' % b",".join([rb'{"type":"message","content":"\ud83d"}'] * 40)
    monkeypatch.setattr(json_split, "MAX_SURROGATES", 40)
    assert run_to_end(split_list(body, "input")) is not None
    monkeypatch.setattr(json_split, "MAX_SURROGATES", 39)
    assert run_to_end(split_list(body, "input")) is None
