"""Answers of the viewer's API as JSON, for its server and for exported pages, which need no server."""

from __future__ import annotations

import json

import msgspec

_ENCODER = msgspec.json.Encoder()


def encoded(answer: object) -> bytes:
    """``answer`` as JSON on one line; lone surrogates are escaped."""
    try:
        return _ENCODER.encode(answer)
    except UnicodeEncodeError:
        return json.dumps(msgspec.to_builtins(answer), separators=(",", ":")).encode()
