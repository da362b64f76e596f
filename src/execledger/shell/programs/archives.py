"""Archives and compressed files: ``tar``, ``zip``, ``gzip`` and their kin."""

from __future__ import annotations

from execledger.core.records import Category, Scope
from execledger.shell.parts import Invocation, Part, inspects, program, runs, searches
from execledger.shell.programs.idioms import about_itself, given, texts, touched

UNPACKS = runs(Category.MODIFY, scope=Scope.TREE)
"""It may write any file."""

ACTS = ("--to-command", "--use-compress-program", "--checkpoint-action", "--info-script", "--new-volume-script",
        "--rsh-command", "--create", "--extract", "--get", "--append", "--update", "--delete", "--concatenate",
        "--catenate", "--index-file")  # fmt: skip


@program("tar", "bsdtar", "gtar")
def tar(call: Invocation) -> Part:
    """``tar t`` lists; any other operation writes an archive or files."""
    if about := about_itself(call):
        return about
    first, *rest = texts(call.args) or [""]
    if first.startswith("--"):
        lists = "--list" in (first, *rest)
        letters = ""
    else:
        letters = first.lstrip("-")
        lists = "t" in letters or "--list" in rest
    # A file name behind -f in one word can only add letters, which makes this more cautious.
    letters += "".join(text[1:] for text in rest if text.startswith("-") and not text.startswith("--"))
    changes = any(letter in letters for letter in "cxruAFI") or given(call.args, long=ACTS)
    computed = any(word.literal is None and "$" in word.source for word in call.args)
    return searches() if lists and not changes and not computed else UNPACKS


@program("unzip")
def unzip(call: Invocation) -> Part:
    """``unzip -l`` lists, ``-p`` prints; else it writes files."""
    options = [text for text in texts(call.args) if text.startswith("-")]
    if options and all(set(text[1:]) <= set("lvtzZqp12shm") for text in options):
        shows = any(set(text[1:]) & set("lvtzZp") for text in options)
        return searches() if shows else UNPACKS
    return UNPACKS


@program("zip", "7z", "7za", "7zr", "unrar", "rar", "ar", "cpio", "unar", "jar", "dpkg-deb")
def archiver(call: Invocation) -> Part:
    """They write archives or files; which ones is not worked out."""
    return about_itself(call) or UNPACKS


@program("gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz", "lzma", "unlzma", "zstd", "unzstd", "lz4", "compress",
         "uncompress", "pigz", "brotli")  # fmt: skip
def compressor(call: Invocation) -> Part:
    """It replaces each file by another, unless it writes to its standard output or only lists."""
    if about := about_itself(call):
        return about
    files = [word.literal for word in call.args if not (word.literal or "").startswith("-")]
    if given(call.args, "o", ("--output",)):
        return runs(Category.MODIFY, scope=Scope.TREE)
    if not files or given(call.args, "c", ("--stdout", "--to-stdout")):
        return inspects()
    if given(call.args, "lt", ("--list", "--test")):
        return searches()
    return touched(files, certain=False)
