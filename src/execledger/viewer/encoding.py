"""Answers as JSON, whatever is in them."""

from __future__ import annotations

import json

import msgspec

_ENCODER = msgspec.json.Encoder()


def encoded(answer: object) -> bytes:
    """``answer`` as JSON on one line; a character that is none is escaped, and a browser shows a mark for it."""
    try:
        return _ENCODER.encode(answer)
    except UnicodeEncodeError:
        return json.dumps(msgspec.to_builtins(answer), separators=(",", ":")).encode()
