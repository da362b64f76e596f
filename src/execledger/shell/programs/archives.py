"""Archives and compressed files: ``tar``, ``zip``, ``gzip`` and similar programs."""

from __future__ import annotations

import re

from execledger.shell.facts import COMPUTED, Facts, Invocation, Part, Variables, inspects, runs, searches
from execledger.shell.options import literal_word, parse_options
from execledger.shell.programs.shared import about_itself, given, texts, touched
from execledger.shell.words import may_be_option
from execledger.vocabulary.records import Category, Scope

UNPACKS = runs(Category.MODIFY, scope=Scope.TREE)
"""It may write any file."""

LISTS = {"list": "t", "verbose": "v", "file": "f:", "gzip": "z", "gunzip": "z", "bzip2": "j", "xz": "J", "zstd": "Z",
         "auto-compress": "a", "directory": "C:", "exclude": "X:", "wildcards": "w", "no-wildcards": "w",
         "numeric-owner": "o", "full-time": "T", "strip-components": "s:"}  # fmt: skip
"""Options with which ``tar --list`` does nothing but list."""


def tar(call: Invocation) -> Part:
    """``tar t`` lists; any other operation writes an archive or files."""
    if about := about_itself(call):
        return about
    first, *rest = call.args or (literal_word(""),)
    if re.fullmatch(r"[tvzjJaO]*f?", first.literal or ""):
        # The dash before the first letters may be left out.
        first = literal_word(f"-{first.literal}")
    options = parse_options((first, *rest), "tvzjJZaOf:C:", LISTS)
    # A name with a colon is on another machine, which a program is run to reach.
    remote = any(":" in (word.literal or ":") for word in options.values("f"))
    plain = options.has("t") and not options.unknown and not any(map(may_be_option, call.args))
    return searches() if plain and not remote else UNPACKS


def unzip(call: Invocation) -> Part:
    """``unzip -l`` lists, ``-p`` prints; else it writes files."""
    options = [text for text in texts(call.args) if text.startswith("-")]
    if options and all(set(text[1:]) <= set("lvtzZqp12shm") for text in options):
        shows = any(set(text[1:]) & set("lvtzZp") for text in options)
        return searches() if shows else UNPACKS
    return UNPACKS


def archiver(call: Invocation) -> Part:
    """They write archives or files; which ones is not worked out."""
    return about_itself(call) or UNPACKS


def compressor(call: Invocation) -> Part:
    """It replaces each file by another, unless it writes to its standard output or only lists."""
    if about := about_itself(call):
        return about
    files = [word.literal for word in call.args if not (word.literal or "").startswith("-")]
    if given(call.args, "o", ("--output",)):
        return runs(Category.MODIFY, scope=Scope.TREE)
    if given(call.args, long=("--files", "--files0", "--filelist", "--output-dir-flat", "--output-dir-mirror")):
        return runs(Category.MODIFY, scope=Scope.TREE)
    if not files or given(call.args, "c", ("--stdout", "--to-stdout")):
        return inspects()
    if given(call.args, "lt", ("--list", "--test")):
        return searches()
    return touched(files, certain=False, files=True)


FACTS = (
    Facts(names="tar bsdtar gtar", does=tar, variables=Variables(r"TAR_\w*")),
    Facts(names="unzip", does=unzip, allowed=COMPUTED),
    Facts(names="zip 7z 7za 7zr unrar rar ar cpio unar jar dpkg-deb", does=archiver),
    Facts(
        names="gzip gunzip bzip2 bunzip2 xz unxz lzma unlzma zstd unzstd lz4 compress uncompress pigz brotli",
        does=compressor,
        allowed=COMPUTED,
    ),
)
"""Archivers and compressors."""
