"""Lone surrogate escapes in JSON."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from execledger.runs.json_surrogates import SurrogateEscapes, replace_surrogates

PIECES = (r"\ud83d", r"\ude00", r"\\", r"\\ud83d", "u", "x", r"\"", r"\u00e9", r"\uD83D\uDE00")


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        (r"\ud83d", "\ufffd"),
        (r"\ude00\ud83d", "\ufffd\ufffd"),
        (r"\ud83d\ude00", "\U0001f600"),
        (r"\uD83D\uDE00 \uDE00", "\U0001f600 \ufffd"),
        (r"\\ud83d", r"\ud83d"),
        (r"\\\ud83d", "\\\ufffd"),
        (r"\\ud83d\ude00", "\\ud83d\ufffd"),
        (r"\\\ud83d\ude00\ude00", "\\\U0001f600\ufffd"),
        (r"\\ud83d\\ude00 \ud83d", "\\ud83d\\ude00 \ufffd"),
    ],
)
def test_only_lone_surrogates_are_replaced(text: str, plain: str) -> None:
    """Pairs stay, and so does text that is only spelled like one."""
    assert json.loads(replace_surrogates(f'"{text}"'.encode())) == plain


@given(st.lists(st.sampled_from(PIECES), max_size=9))
def test_whatever_is_replaced_is_json_still(pieces: list[str]) -> None:
    """What a tolerant decoder reads is the same but for the lone surrogates."""
    text = f'"{"".join(pieces)}"'
    found = json.loads(replace_surrogates(text.encode()))
    assert found == "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in json.loads(text))


@given(st.lists(st.lists(st.sampled_from(PIECES), max_size=6), min_size=1, max_size=5))
def test_what_was_removed_is_restored_in_the_decoded_pieces(texts: list[list[str]]) -> None:
    """Each piece gets its own surrogates, spelled as they were; the text between is what a strict decoder reads."""
    written = [f'"{"".join(pieces)}"'.encode() for pieces in texts]
    text = b"[%b]" % b",".join(written)
    escapes, portions = SurrogateEscapes(100), SurrogateEscapes(100)
    assert sum(escapes.replace(text, len(text))) == sum(portions.replace(text, 1)) == len(text)
    assert portions.text == escapes.text
    if replace_surrogates(b"".join(written)) == b"".join(written):
        assert escapes.text == b""
    else:
        pieces = msgspec.json.decode(escapes.text, type=list[msgspec.Raw])
        assert [escapes.restored(piece) for piece in pieces] == written and escapes.all_restored


def test_a_text_with_too_many_is_not_read() -> None:
    """Up to the limit they are replaced; beyond it there is nothing to decode."""
    text = rb'["\ud800", "\ud800"]'
    assert SurrogateEscapes.of(text, 2).text == rb'["\ufdd0", "\ufdd0"]'
    assert SurrogateEscapes.of(text, 1).text == b""


class Searched(bytes):
    """A text that counts how often something is searched for in the whole of it."""

    searches = 0

    def __contains__(self, name: object) -> bool:
        self.searches += 1
        return super().__contains__(name)  # type: ignore[operator]


@pytest.mark.parametrize(
    ("codes", "replacement"), [(range(0xE000, 0xF900), rb"\ufdd0"), (range(0xE000, 0xFDD3), rb"\ufdd3")]
)
def test_a_text_of_many_escapes_is_searched_for_a_few(codes: range, replacement: bytes) -> None:
    """Whatever is written in it: a search takes the longer, the longer the text is."""
    text = Searched(b'"%b%b"' % (b"".join(b"\\u%x" % code for code in codes), rb"\ud800"))
    assert SurrogateEscapes.of(text, 1).text == text.replace(rb"\ud800", replacement)
    assert text.searches < 10


def test_a_text_without_an_unused_character_is_not_read() -> None:
    """Nothing could be restored."""
    every = b"".join(b"\\u%x" % code for code in range(0xFDD0, 0xFDF0))
    assert SurrogateEscapes.of(b'"%b%b"' % (every, rb"\ud800"), 1).text == b""
