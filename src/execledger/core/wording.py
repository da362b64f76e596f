"""How texts, file names, ranges of lines and distances are written for a model or a person.

Texts are bounded in bytes, on one line, and without characters that control a terminal.
"""

from __future__ import annotations

from execledger.shell.paths import known_part
from execledger.shell.ranges import union
from execledger.vocabulary.records import Lines

MAX_SPANS = 8
"""Runs of lines that are listed one by one."""


def clip(text: str, budget: int) -> str:
    """Return ``text`` in at most ``budget`` UTF-8 bytes, cut between characters, with dots where it was cut."""
    data = text.encode("utf-8", "replace")
    if len(data) <= budget:
        return data.decode("utf-8", "replace")
    return data[: max(budget - 3, 0)].decode("utf-8", "ignore").rstrip(" .") + "..." if budget > 3 else ""


def printable(text: str) -> str:
    """Return ``text`` on one line, without characters that control a terminal or the direction of writing."""
    line = " ".join(text.split())
    return line if line.isprintable() else "".join(char if char.isprintable() else "?" for char in line)


def spans(ranges: tuple[Lines, ...], end: int | None) -> str:
    """Runs of lines in words; a whole file is called that."""
    counted = union((), tuple(run for run in ranges if run.first > 0))
    if end is not None and counted == (Lines(1, end),):
        return f"whole, {end} lines"
    tails = sorted({run for run in ranges if run.first < 0})[:1]
    words = ", ".join(span(run) for run in (*counted[:MAX_SPANS], *tails))
    return words + (f" and {len(counted) - MAX_SPANS} more" if len(counted) > MAX_SPANS else "")


def span(lines: Lines) -> str:
    """A run of lines in words."""
    if lines.first < 0:
        return f"last {-lines.first}"
    if lines.last is None:
        return f"{lines.first}-end"
    return str(lines.first) if lines.first == lines.last else f"{lines.first}-{lines.last}"


def shown_name(path: str, home: str | None) -> str:
    """A path as the agent would type it, safe to print."""
    short = known_part(path.removeprefix(home + "/") if home and home != "/" else path)
    # No name may look like the view's own closing mark.
    return printable(short).replace("<", "?").replace(">", "?")


def ago(count: int) -> str:
    """How far back a step lies, in words."""
    return "1 command ago" if count == 1 else f"{count} commands ago"


def quantity(count: int, what: str) -> str:
    """A number of things in words, such as ``1 run`` and ``2,000 runs``."""
    return f"{count:,} {what}{'s' if count != 1 else ''}"
