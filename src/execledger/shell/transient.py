"""Transient files: scratch files, backups and logs, left out of what counts as a change of the repository.

A change of one of them is left out of the current focus and of the global change counter; its own local counter still
advances, and it is never reused before running. Backups, logs and what lies in a scratch folder are known from the
path alone. Repositories have files named ``debug.py`` too, and a redirection overwrites them without a word. So the
name of a scratch file counts only for a file that the run wrote as a new one, directly in the folder where it works or
in a scratch folder that it made there, before anything had mentioned that name. This is the one list of what counts.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

EXTENSIONS = frozenset(
    ".bak .backup .orig .rej .swp .swo .tmp .temp .log .out .pyc .pyo .o .patch .diff .pid .lock~ .old .save".split()
)
"""Backups, logs, compiled files and patches."""

BACKUPS = re.compile(r".*~|\#.*\#")
"""Names that editors give to backups."""

FOLDERS = frozenset("tmp __pycache__ .pytest_cache .mypy_cache .ruff_cache .git .tox .nox .cache node_modules".split())
"""Folders whose content is scratch, wherever they are."""

NAMES = re.compile(
    r"(?:repro|reproduce|reproduction|reproducer|scratch|debug|demo|tmp|temp|check|verify|playground)"
    r"(?:[-_.\d].*)?|(?:test|check|verify|debug)[-_](?:repro|reproduce|reproduction|fix|issue|bug|patch|script)\w*(?:\..*)?"
    r"|.*[-_](?:repro|reproduce|reproduction|backup|bak)\.\w+|patch\.txt|output\.txt|log\.txt",
    re.IGNORECASE | re.ASCII,
)
"""File names that agents give to reproductions, scratch work and submissions."""
HINTS = tuple(
    "repro scratch debug demo tmp temp check verify playground fix issue bug patch script backup bak output log".split()
)
"""Every name in ``NAMES`` has one of these in it."""
WORD = re.compile(r"[\w.-]+")
"""A file name as outputs print it, with the punctuation that may surround it."""
PLAIN = re.compile(r"[\w.](?:[\w.-]*[\w-])?", re.ASCII)
"""A file name that is found wherever it is mentioned."""
MAX_NAME = 255
"""Characters of a file name; what is longer is none."""
MAX_MENTIONED = 4096
"""Names that are remembered; beyond that, any name may have been mentioned."""
MAX_TEXT = 200_000
"""Characters of a text that is searched for names; a longer one may mention any."""


def transient(path: str, home: str | None = None) -> bool:
    """``path`` is a backup or a log, or lies in a scratch folder beneath ``home``, where the work is."""
    if path == home:
        return False
    folder, name = posixpath.split(path.removeprefix(home + "/") if home else path)
    return transient_name(name) or not FOLDERS.isdisjoint(folder.split("/"))


def transient_name(name: str) -> bool:
    """A file of this ``name`` is a backup or a log, wherever it is."""
    return posixpath.splitext(name)[1].lower() in EXTENSIONS or BACKUPS.fullmatch(name) is not None


def scratch_name(path: str) -> bool:
    """``path`` has a name that agents give to scratch files."""
    return NAMES.fullmatch(posixpath.basename(path)) is not None


def mentioned(text: str) -> Iterator[str]:
    """The names of scratch files in ``text``, in lower case."""
    text = text.lower()
    for hint in HINTS:
        if hint not in text:
            continue
        at = text.find(hint)
        while at >= 0:
            start = at
            while start and at - start <= MAX_NAME and WORD.match(text, start - 1, start):
                start -= 1
            found = WORD.match(text, start)
            assert found is not None, "a hint is part of a word"
            # Punctuation may precede it, as in a diff or a colour sequence, and end a sentence after it.
            for name in (found[0].lstrip("-").rstrip("."), text[at : found.end()].rstrip(".")):
                if len(name) <= MAX_NAME and scratch_name(name):
                    yield name
            at = text.find(hint, found.end())


class Scratch:
    """The files and folders with scratch names that the run created, as far as its commands and their results tell."""

    def __init__(self) -> None:
        """Nothing was created, and no name was seen."""
        self._mentioned: set[str] = set()
        self._created: dict[str, bool] = {}
        self._crowded = False

    def mention(self, text: str) -> None:
        """Take in a command or a result: a file that it names may have been there before the run."""
        self._crowded = self._crowded or len(text) > MAX_TEXT or len(self._mentioned) > MAX_MENTIONED
        if text and not self._crowded:
            self._mentioned.update(mentioned(text))

    def create(self, path: str, home: str | None) -> None:
        """Take in a write of a new file or folder; ``home`` is where the work is.

        It may have been there already if its name was mentioned before, or if its folder is one of the repository: of
        what lies there, the run may not have seen a listing.
        """
        folder, name = posixpath.split(path)
        if path in self._created or not scratch_name(path):
            return
        unseen = not self._crowded and name.lower() not in self._mentioned
        own = path.startswith("/") and (folder == home or self.created(folder))
        self._created[path] = unseen and own and PLAIN.fullmatch(name) is not None

    def created(self, path: str) -> bool:
        """``path`` has a scratch name and is taken as created by the run."""
        return self._created.get(path, False)

    def perhaps(self, path: str) -> bool:
        """The run may have created ``path``, and it has a scratch name."""
        return path in self._created
