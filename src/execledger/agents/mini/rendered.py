"""What a result, rendered by one of mini-swe-agent's templates, shows of the command's output.

The templates put the output between marks, as tags or as a JSON object. Less than 10,000 characters are shown whole; of
more than that only a head and a tail. The rendered text is the truth: an output recorded beside it counts only as far
as it stands in that text.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from execledger.vocabulary.actions import Observation

_RETURNCODE = re.compile(r"\s*(?:<exception>.*?</exception>\s*)?<returncode>(-?\d{1,9})</returncode>", re.DOTALL)
_TIMED_OUT = re.compile(r"(?:The last (?:action|command))? timed out and has been killed\.")
_ELIDED = re.compile(
    r"<output_head>\n(.*?)\n</output_head>\s*"
    r"<elided_chars>\s*\d+ characters elided\s*</elided_chars>\s*"
    r"<output_tail>\n(.*)\n</output_tail>",
    re.DOTALL,
)
_OPEN, _CLOSE = "<output>\n", "</output>"


class Shown(NamedTuple):
    """The part of an output that the model was shown."""

    output: str
    """The whole, or head and tail one after the other; all that was rendered, if the marks are not known."""
    cut: int | None = None
    """The length of the head, if the middle was left out."""
    truncated: bool = False
    """Something was left out, or what was left out is not known."""


def shown(rendered: str, raw: str | None = None) -> Shown:
    """What ``rendered`` shows of an output; ``raw`` is the whole output, where that was recorded."""
    if raw is not None and raw in rendered:
        return Shown(raw)
    marked = _from_json(rendered) if rendered.lstrip().startswith("{") else _from_tags(rendered)
    if marked is None or (raw is not None and not _stands_in(marked, raw)):
        return Shown(rendered, truncated=True)
    return marked


def observed(rendered: str, command: str) -> Observation | None:
    """The result of ``command``, from its rendered text alone; None if the text is not a result."""
    if answer := _RETURNCODE.match(rendered):
        status = int(answer[1])
        return Observation(exit_status=status, failed=status == -1, **shown(rendered[answer.end() :])._asdict())
    # The command is quoted in front, and it may hold anything, marks included.
    rest = rendered.removeprefix(f"The last command <command>{command}</command>")
    if answer := _TIMED_OUT.match(rest):
        part = shown(rest[answer.end() :])
        # This template puts a line break of its own behind a whole output.
        output = part.output.removesuffix("\n") if not part.truncated else part.output
        return Observation(timed_out=True, **part._replace(output=output)._asdict())
    return None


def _from_tags(rendered: str) -> Shown | None:
    """The output between tags. It may hold such tags itself, so the outermost ones count."""
    whole, head = rendered.find(_OPEN), rendered.find("<output_head>\n")
    if whole >= 0 and (head < 0 or whole < head):
        start, end = whole + len(_OPEN), rendered.rfind(_CLOSE)
        return Shown(rendered[start:end]) if end >= start else None
    if pieces := _ELIDED.search(rendered):
        return Shown(pieces[1] + pieces[2], len(pieces[1]), truncated=True)
    return None


def _from_json(rendered: str) -> Shown | None:
    """The output in a JSON object; text may follow the object."""
    try:
        fields, _ = json.JSONDecoder().raw_decode(rendered.lstrip())
    except (ValueError, RecursionError):
        return None
    output, head, tail = (fields.get(key) for key in ("output", "output_head", "output_tail"))
    if isinstance(output, str):
        return Shown(output)
    if isinstance(head, str) and isinstance(tail, str):
        return Shown(head + tail, len(head), truncated=True)
    return None


def _stands_in(marked: Shown, raw: str) -> bool:
    """The marked text is what the recorded output says: the whole of it, or its beginning and its end."""
    if marked.cut is None:
        return marked.output == raw
    return raw.startswith(marked.output[: marked.cut]) and raw.endswith(marked.output[marked.cut :])
