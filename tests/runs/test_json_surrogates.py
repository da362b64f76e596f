"""Lone surrogate escapes in JSON."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from execledger.runs.json_surrogates import replace_surrogates

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
