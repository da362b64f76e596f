"""Reversible edits of files that belong to the user: start-up files of shells, settings of agents.

An edit never leaves a file half-written: the new text is written to a temporary file beside it, which then takes its
place with the same permissions. A symbolic link stays one. A file that changed in the meantime is not overwritten.
"""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

from execledger.errors import LedgerError

MAX_BYTES = 10_000_000
"""The size of a file above which it is not edited: no file of settings is that long."""


def read_user_file(path: Path) -> bytes | None:
    """The content of a file; None if it does not exist. What is no regular file is refused, and never waited for."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        if path.is_symlink():
            raise LedgerError(f"{path}: found a symbolic link that leads nowhere, expected a file") from None
        return None
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode) or found.st_size > MAX_BYTES:
        os.close(descriptor)
        raise LedgerError(f"{path}: found something other than a short regular file, expected one to edit")
    with os.fdopen(descriptor, "rb") as file:
        return file.read()


def replace_user_file(path: Path, before: bytes | None, after: bytes | None) -> None:
    """Replace the content ``before`` of a file by ``after``; None means no file."""
    target = Path(os.path.realpath(path))
    if read_user_file(path) != before:
        raise LedgerError(f"{path}: was changed by another program at the same time", hint="try again")
    if after is None:
        target.unlink(missing_ok=True)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    mode = stat.S_IMODE(target.stat().st_mode) if before is not None else 0o600
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(6)}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(after)
            os.fchmod(descriptor, mode)
            file.flush()
            os.fsync(descriptor)
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def _markers(name: str) -> tuple[bytes, bytes]:
    """The lines around a block."""
    return f"# >>> execledger {name} >>>\n".encode(), f"# <<< execledger {name} <<<\n".encode()


def without_block(text: bytes, name: str, path: Path) -> bytes | None:
    """A text without the marked block of this name; None if it has none. Damaged markers are refused."""
    begin, end = _markers(name)
    lines = text.splitlines(keepends=True)
    at = [number for number, line in enumerate(lines) if line.rstrip() in (begin.rstrip(), end.rstrip())]
    if not at:
        return None
    if len(at) != 2 or lines[at[0]].rstrip() != begin.rstrip() or lines[at[1]].rstrip() != end.rstrip():
        hint = f"remove what is left of it between `{begin.decode().strip()}` and `{end.decode().strip()}`"
        raise LedgerError(f"{path}: found a damaged block of execledger", hint=hint)
    return b"".join((*lines[: at[0]], *lines[at[1] + 1 :]))


def with_block(text: bytes, name: str, body: str, path: Path, *, first: bool = False) -> bytes:
    """A text with a marked block of this name, at its end or at its beginning; an earlier one is replaced."""
    begin, end = _markers(name)
    rest = without_block(text, name, path)
    rest = text if rest is None else rest
    block = begin + body.encode() + end
    return block + rest if first else rest + (b"\n" if rest and not rest.endswith(b"\n") else b"") + block
