"""Patches applied from the shell: ``patch``, ``apply_patch``; ``git apply`` shares their reading of a patch's files."""

from __future__ import annotations

import posixpath

from execledger.shell.facts import Facts, Invocation, Part, runs, searches, writes
from execledger.shell.options import number, parse_options
from execledger.shell.patches import added_paths, patched_paths
from execledger.shell.programs.idioms import about_itself
from execledger.vocabulary.records import Category, Scope

PATCH = {"strip": "p:", "input": "i:", "directory": "d:", "reverse": "R", "forward": "N", "dry-run": "C", "force": "f",
         "batch": "t", "backup": "b", "output": "o:", "fuzz": "F:", "ignore-whitespace": "l", "quiet": "s",
         "silent": "s", "verbose": "V", "unified": "u", "no-backup-if-mismatch": "X", "binary": "B",
         "remove-empty-files": "E", "reject-file": "r:"}  # fmt: skip


def applied(text: str | None, strip: int | None = None, folder: str = "", *, certain: bool = True) -> Part:
    """A part that applies the patch ``text`` in ``folder``; anything may change if the text is not known."""
    paths = patched_paths(text, strip) if text is not None else ()
    named = tuple(posixpath.join(folder, path) for path in paths)
    texts = (("", text),) if text else ()
    creates = tuple(posixpath.join(folder, path) for path in added_paths(text or "", strip))
    if not named or not certain:
        scope = Scope.FILES if named else Scope.TREE
        return runs(Category.MODIFY, writes=named, creates=creates, scope=scope, texts=texts)
    return writes(*named, creates=creates, texts=texts)


def patch(call: Invocation) -> Part:
    """``patch -p1 <<EOF``: the files that the patch names; a patch in a file may change any."""
    options = parse_options(call.args, "p:i:d:RNCftbo:F:lsunceEr:", PATCH)
    if about := about_itself(call, "-v"):
        return about
    if options.has("C") and not options.unknown:
        return searches()
    strip = options.value("p") or ""
    folder = options.value("d") if options.has("d") else ""
    files = tuple(path for path in (*options.paths[:1], *filter(None, [options.value("o")])) if path != "-")
    if files:
        named = tuple(posixpath.join(folder or "", path) for path in files)
        texts = (("", call.body),) if call.body else ()
        return runs(Category.MODIFY, writes=named, scope=Scope.FILES, texts=texts)
    known = folder is not None and not options.unknown and not options.has("i", "o", "r") and not options.operands
    # Without -p, patch drops all folders of a name unless the file stands there: then the name is as spelled.
    return applied(call.body if known else None, number(strip), folder or "")


def apply_patch(call: Invocation) -> Part:
    """The patch is the argument or stands in a here-document."""
    text = call.args[0].literal if len(call.args) == 1 else call.body if not call.args else None
    return applied(text)


FACTS = (
    Facts(names="patch gpatch", does=patch),
    Facts(names="apply_patch applypatch apply-patch", does=apply_patch),
)
"""Programs that apply patches."""
