"""Cleaning of texts before they are journalled: secrets are redacted, lone surrogates replaced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from execledger.core.lines import Returned, lines_shown, withheld_digests
from execledger.redact import redact
from execledger.vocabulary.actions import Observation
from execledger.vocabulary.decisions import Step
from execledger.vocabulary.records import View


def clean(text: str) -> str:
    """One text, redacted; lone surrogates, which represent bytes that are not text, become U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return redact(text)


def clean_texts(value: Any, cleaned: Callable[[str], str] = clean) -> Any:
    """A plain value of lists and dictionaries, with every text in it cleaned."""
    if isinstance(value, str):
        return cleaned(value)
    if isinstance(value, dict):
        return {key: clean_texts(inner, cleaned) for key, inner in value.items()}
    return [clean_texts(inner, cleaned) for inner in value] if isinstance(value, list | tuple) else value


def clean_observation(observation: Observation) -> Observation:
    """A result, redacted; head and tail of a truncated one are cleaned separately, so that the cut stays in place."""
    if observation.cut is None:
        output, cut = clean(observation.output), None
    else:
        head, tail = map(clean, observation.pieces)
        output, cut = head + tail, len(head)
    return replace(
        observation,
        output=output,
        cut=cut,
        stderr=clean(observation.stderr),
        notice=clean(observation.notice),
        reminders=clean(observation.reminders),
    )


def withheld_lines(view: View, step: Step, shown: Returned | None) -> tuple[tuple[int, str], ...]:
    """Numbers and digests of the lines of a file that ``step`` has ``shown`` and that redaction alters."""
    kept = clean_observation(step.observation)
    lines = lines_shown(view, kept, step.shown) if shown is not None and kept != step.observation else None
    return withheld_digests(shown, lines) if shown is not None and lines is not None else ()
