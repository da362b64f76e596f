"""Which files' lines a program prints: what readers and text searches show, and files of a commit.

Listings, differences, counts and names of files are no contents, and neither is what a script or a test prints.
"""

from __future__ import annotations

import re

from execledger.shell.parts import PROGRAMS, Invocation, Part
from execledger.shell.programs.idioms import given, subcommand, texts
from execledger.vocabulary.records import Category

TEXT_SEARCHES = frozenset("grep egrep fgrep ggrep rg ripgrep ag ack ack-grep pt ugrep ug".split())
"""Programs that print the lines that they find."""
NO_LINES = ("--count", "--count-matches", "--files", "--files-with-matches", "--files-without-match", "--quiet")
"""Options of these with which they print names or numbers instead."""
NAMED = re.compile(r"[\w@+./~-]*\.[\w.~-]*\w")
"""A word that names a file for certain: plain, and with an extension."""
OF_COMMIT = re.compile(r"[\w./~^@{}-]+:(?P<path>[^:\s]+)")
"""A file of a commit, as ``git show`` takes it."""


def contents(call: Invocation, part: Part) -> tuple[str, ...] | None:
    """The files whose lines a program prints, "" for those that only its output names; None if it is a filter."""
    if part.view is not None:
        return (part.view.path,)
    if call.name in ("find", "fd", "fdfind"):
        return ("",) if any(map(_prints_lines, texts(call.args))) else ()
    if call.name == "git":
        name, args = subcommand(call.args, ("-C", "-c"))
        if name in ("show", "cat-file"):
            return tuple(found["path"] for text in texts(args) if (found := OF_COMMIT.fullmatch(text)))
        if name != "grep" or given(args, "lLcq", NO_LINES):
            return ()
    elif part.category is not Category.INSPECT and not _searches_text(call):
        return ()
    if call.fed:
        return None
    # A word that the shell computes may name any file.
    named = tuple(text for text in texts(call.args) if not text or (text[0] != "-" and NAMED.fullmatch(text)))
    return named or ("",)


def _searches_text(call: Invocation) -> bool:
    return call.name in TEXT_SEARCHES and not given(call.args, "lLcq", NO_LINES)


def _prints_lines(name: str) -> bool:
    """A program of this name, run by another one for every file, prints lines of it."""
    understand = PROGRAMS.get(name)
    reader = understand is not None and understand(Invocation(name, ())).category is Category.INSPECT
    return reader or name in TEXT_SEARCHES
