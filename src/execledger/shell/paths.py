"""Paths of files as a command names them, joined with the directory that it runs in."""

from __future__ import annotations

import posixpath
import re

HARMLESS = frozenset(("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/fd/1", "/dev/fd/2"))
"""Targets of a redirection that change no file."""


_CHANGING = r"/+(?:proc|sys|run|var/+log|var/+run|dev(?!/(?:null|stdout|stderr|tty|fd/[12])(?![\w/])))(?:/|(?![\w.-]))"
UNSTABLE = re.compile(_CHANGING)
"""Folders whose files change by themselves."""
_SPOKEN_OF = re.compile(rf"(?<![\w.-]){_CHANGING}")
PARENT = re.compile(r"(?:^|/)\.\.(?:/|$)")
"""A step up. Behind a link it leads elsewhere than its text says."""


def resolve(cwd: str | None, path: str) -> str | None:
    """The one path that ``path`` means in ``cwd``; relative to an unknown directory it stays unresolved (None)."""
    if path.startswith("/"):
        return posixpath.normpath("/" + path.lstrip("/"))
    if cwd is None or not path:
        return None
    return posixpath.normpath(posixpath.join(cwd, path))


def spell(cwd: str | None, path: str) -> str:
    """The path for people and programs: resolved where the directory is known, else as it was typed, tidied."""
    return resolve(cwd, path) or (posixpath.normpath(path) if path else path)


def unstable(path: str) -> bool:
    """A file whose content changes by itself."""
    return bool(UNSTABLE.match(path)) and path not in HARMLESS


def speaks_of_unstable(command: str) -> bool:
    """Somewhere in a command's text stands the name of a file that changes by itself: as a word, an input, a value."""
    return bool(_SPOKEN_OF.search(command))
