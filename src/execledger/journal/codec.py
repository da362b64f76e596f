"""Encoding of events as lines of JSON: secrets are redacted when encoding, unknown events and fields tolerated."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from execledger.journal.clean import clean_observation, clean_texts
from execledger.journal.events import Ended, Event, FaultCaught, Sighted, Started, StepRecorded, ViewRendered
from execledger.journal.migrate import JOURNAL, VERSION, pending
from execledger.redact import suspicious
from execledger.vocabulary.actions import Observation

_PIECE = 100_000
"""Characters of a line that are searched for secrets at once."""
_MARKER = 200
"""The overlap of two pieces: longer than any marker of a secret."""
_ENCODER = msgspec.json.Encoder(order="deterministic")
_FIELDS = msgspec.json.Decoder(dict[str, Raw])
_KINDS: dict[str, type[Event]] = {
    "start": Started,
    "look": Sighted,
    "view": ViewRendered,
    "step": StepRecorded,
    "fault": FaultCaught,
    "end": Ended,
}
_DECODERS: dict[str, msgspec.json.Decoder[Event]] = {tag: msgspec.json.Decoder(kind) for tag, kind in _KINDS.items()}


class Decoded(Struct, frozen=True):
    """A decoded line."""

    event: Event | None
    """The event; None if its kind is unknown to this version."""
    unknown_fields: int
    """The number of its fields that are unknown to this version."""


def encode(event: Event) -> bytes:
    """The event as one line, with every text cleaned."""
    try:
        line = _ENCODER.encode(event)
    except UnicodeEncodeError:
        line = b""
    # Markers of secrets are found in the line as in the texts: those that end in a quotation mark, which JSON escapes,
    # are listed with a backslash too.
    if not line or _suspicious(line.decode()):
        line = _ENCODER.encode(cleaned(event))
    return line + b"\n"


def _suspicious(line: str) -> bool:
    """Whether a line has a marker of a secret; searched in pieces, since one long search blocks all other threads."""
    return any(suspicious(line[max(at - _MARKER, 0) : at + _PIECE]) for at in range(0, len(line), _PIECE))


def decode(line: bytes, version: int = VERSION) -> Decoded:
    """Decode one line of a journal of ``version``; raises ``MsgspecError`` or ``UnicodeDecodeError`` if it can't be."""
    if migrations := pending("a journal", version, JOURNAL):
        event = msgspec.json.decode(line, type=dict[str, Any])
        for migration in migrations:
            event = migration(event)
        line = msgspec.json.encode(event)
    fields = _FIELDS.decode(line)
    tag = msgspec.json.decode(fields["event"], type=str) if "event" in fields else ""
    if not tag:
        raise msgspec.ValidationError("expected an event")
    if tag not in _KINDS:
        return Decoded(None, 0)
    known = {"event", *_KINDS[tag].__struct_fields__}
    return Decoded(_DECODERS[tag].decode(line), sum(name not in known for name in fields))


def cleaned(event: Event) -> Event:
    """The event without secrets and without lone surrogates."""
    bare = event
    if isinstance(event, StepRecorded):
        # The result is cleaned separately, below.
        bare = replace(event, step=replace(event.step, observation=Observation()))
    kept: Event = msgspec.convert(clean_texts(msgspec.to_builtins(bare)), type(event))
    if isinstance(event, Started) and isinstance(kept, Started):
        return replace(kept, altered=event.altered or kept.task != event.task)
    if isinstance(event, StepRecorded) and isinstance(kept, StepRecorded):
        altered = event.altered or kept.step.action != event.step.action
        step = replace(kept.step, observation=clean_observation(event.step.observation))
        return replace(kept, step=step, altered=altered)
    return kept
