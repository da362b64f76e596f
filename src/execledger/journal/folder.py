"""The folders for journals and stored edits, and opening files in them with access for the owner alone."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO


def journal_folder(environment: Mapping[str, str] | None = None, platform: str = sys.platform) -> Path:
    """The folder for journals: ``EXECLEDGER_JOURNAL``, else the platform's folder for the state of programs."""
    environment = os.environ if environment is None else environment
    if chosen := environment.get("EXECLEDGER_JOURNAL"):
        return Path(chosen)
    return state_folder(environment, platform) / "journals"


def edits_file(environment: Mapping[str, str] | None = None, platform: str = sys.platform) -> Path:
    """The database of edits: one fixed file, so that a resumed session finds its own."""
    return state_folder(environment, platform) / "edits.sqlite3"


def state_folder(environment: Mapping[str, str] | None = None, platform: str = sys.platform) -> Path:
    """The folder for all state of execledger: in ``XDG_STATE_HOME``, else where the platform keeps state."""
    environment = os.environ if environment is None else environment
    home = Path(environment.get("HOME") or os.path.expanduser("~"))
    # The specification tells programs to ignore a relative path here.
    if os.path.isabs(state := environment.get("XDG_STATE_HOME", "")):
        return Path(state) / "execledger"
    above = home / "Library" / "Application Support" if platform == "darwin" else home / ".local" / "state"
    return above / "execledger"


def make_folder(folder: Path) -> None:
    """Make a folder and its missing parents; raises ``NotADirectoryError`` if a file is in its place."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise NotADirectoryError(errno.ENOTDIR, "found a file, expected a folder", str(folder)) from None


def private_folder(folder: Path) -> None:
    """Make a folder and its missing parents with mode 0700, whatever the umask is."""
    missing = [folder]
    while not missing[-1].exists() and missing[-1].parent != missing[-1]:
        missing.append(missing[-1].parent)
    for one in reversed(missing):
        try:
            one.mkdir(mode=0o700, exist_ok=True)
        except FileExistsError:
            raise NotADirectoryError(errno.ENOTDIR, f"{one} is no folder", str(one)) from None


def open_private(path: Path) -> BinaryIO:
    """Create or truncate a file for writing, with mode 0600, whatever the umask is."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    # A pipe or a device keeps its permissions, and so does a file of another user.
    with suppress(OSError):
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.fchmod(descriptor, 0o600)
    return os.fdopen(descriptor, "wb")


def require_readable(folder: Path) -> None:
    """Raise ``OSError`` with the path at fault if a folder can't be read, or if something else is in its place.

    A folder that does not exist yet is fine. ``Path.exists`` is False as well for one below an unreadable folder, and
    for a dangling symbolic link.
    """
    for one in (*reversed(folder.parents), folder):
        try:
            os.lstat(one)
        except FileNotFoundError:
            return
        except PermissionError as error:
            raise _unreadable(error.errno, one.parent, error.strerror) from None
        try:
            is_folder = stat.S_ISDIR(os.stat(one).st_mode)
        except FileNotFoundError as error:
            link = "found a symbolic link that leads nowhere, expected a folder"
            raise _unreadable(error.errno, one, link) from None
        except OSError as error:
            raise _unreadable(error.errno, one, error.strerror) from None
        if not is_folder:
            raise _unreadable(errno.ENOTDIR, one, "found a file, expected a folder")
    if not os.access(folder, os.R_OK | os.X_OK):
        raise _unreadable(errno.EACCES, folder, os.strerror(errno.EACCES))


def _unreadable(number: int | None, path: Path, reason: str | None) -> OSError:
    return OSError(number, f"can't be read: {reason}", str(path))
