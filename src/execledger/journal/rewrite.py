"""Redacting old journals by today's patterns of secrets, changing nothing else.

The new file replaces the old one atomically, with the same times; a journal without secrets keeps its file.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec.structs import replace

from execledger.core.classify import classify
from execledger.core.lines import lines_shown
from execledger.journal.clean import withheld_lines
from execledger.journal.codec import cleaned, decode, encode
from execledger.journal.events import Event, StepRecorded
from execledger.journal.locks import may_be_written
from execledger.journal.migrate import VERSION
from execledger.journal.purge import FoundJournal, open_plain
from execledger.journal.reader import has_end, read_header
from execledger.redact import redact, suspicious


def rewritten(found: FoundJournal, *, dry_run: bool = False) -> bool:
    """Rewrite a journal if it has a secret; whether it has. Raises ``OSError`` if it can't be written."""
    with open_plain(found.path) as file:
        old = file.readlines()
        header = read_header(old[0]) if old else None
        new = [redacted_line(line, VERSION if header is None else header.version) for line in old]
        if new == old or dry_run:
            return new != old
        _replace(found, new, os.fstat(file.fileno()), has_end(file))
    return True


def redacted_line(line: bytes, version: int = VERSION) -> bytes:
    """One line of a journal of ``version`` without secrets; its own bytes if it has none."""
    text = line.decode("utf-8", "surrogateescape")
    if not suspicious(text):
        return line
    try:
        decoded = decode(line) if version == VERSION else None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        decoded = None
    if decoded is None or decoded.event is None or decoded.unknown_fields:
        # A torn line, or one of another version, is redacted as text.
        return redact(text).encode("utf-8", "surrogateescape")
    event = _withholding(decoded.event)
    return line if cleaned(event) == decoded.event else encode(event)


def _withholding(event: Event) -> Event:
    """The event with the digests of those lines that redaction will alter."""
    if not isinstance(event, StepRecorded) or event.step.shown.kind == "reference":
        return event
    step = event.step
    # Without the digests fewer lines can be compared later; redacting the secret matters more.
    with suppress(Exception):
        view = classify(step.action).view
        if view is not None:
            lines = withheld_lines(view, step, lines_shown(view, step.observation, step.shown))
            step = replace(step, withheld=tuple(sorted({**dict(lines), **dict(step.withheld)}.items())))
    return replace(event, step=step)


def _replace(found: FoundJournal, lines: list[bytes], state: os.stat_result, ended: bool) -> None:
    beside = Path(f"{found.path}.new")
    # An earlier attempt may have left its file.
    beside.unlink(missing_ok=True)
    file = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(file, "wb") as target:
            target.writelines(lines)
            target.flush()
            os.fsync(target.fileno())
        os.utime(beside, ns=(state.st_atime_ns, state.st_mtime_ns))
        now = os.stat(found.path, follow_symlinks=False)
        changed = (now.st_dev, now.st_ino, now.st_size) != (*found.identity, found.size)
        if changed or (not ended and may_be_written(found.path)):
            raise OSError(0, "it has changed meanwhile")
        os.rename(beside, found.path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
