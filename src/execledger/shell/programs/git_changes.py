"""``git``: what changes a repository or its files."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable

from msgspec import Struct
from msgspec.structs import replace

from execledger.shell.facts import Invocation, Part, runs
from execledger.shell.options import number, parse_options
from execledger.shell.programs.idioms import given, inside, operands, subcommand, texts, touched
from execledger.shell.programs.patching import applied
from execledger.shell.tree import Word
from execledger.vocabulary.records import Category, Scope

TREE = runs(Category.MODIFY, scope=Scope.TREE)
"""Any file of the tree may change."""
REPOSITORY = runs(Category.MODIFY, scope=Scope.REPOSITORY)
"""The index, commits or settings change, no file of the tree."""


class Git(Struct, frozen=True):
    """One git command, git's own options read."""

    call: Invocation
    """The whole command."""
    name: str
    """The subcommand."""
    args: tuple[Word, ...]
    """The words behind it."""
    folder: str | None = ""
    """The folder behind ``-C``: "" if there is none, None if it is computed."""


REPOSITORY_COMMANDS = """
    add stage commit tag branch config gc prune repack maintenance notes update-index update-ref commit-tree
    write-tree mktree mktag hash-object pack-refs reflog remote symbolic-ref replace fsck rerere pack-objects
    merge-tree fast-export bundle commit-graph multi-pack-index refs
"""
TREE_COMMANDS = """
    merge rebase revert cherry-pick pull switch am bisect sparse-checkout read-tree checkout-index filter-branch
    filter-repo worktree merge-file mergetool archive lfs fast-import unpack-file unpack-objects replay subtree
"""

RECORDS: dict[str, Part] = {
    **dict.fromkeys(REPOSITORY_COMMANDS.split(), REPOSITORY),
    **dict.fromkeys(TREE_COMMANDS.split(), TREE),
    **dict.fromkeys(("fetch", "init"), runs(Category.SETUP, scope=Scope.REPOSITORY)),
    "clone": runs(Category.SETUP),
    "submodule": runs(Category.SETUP, scope=Scope.TREE),
    "push": runs(Category.OTHER),
    "send-email": runs(Category.OTHER),
    "ls-remote": runs(Category.SEARCH, volatile=True),
    "format-patch": runs(Category.MODIFY, scope=Scope.FILES),
}  # fmt: skip
"""Subcommands that always do the same."""


def changes(git: Git) -> Part:
    """What the subcommand changes; one that is not known may be an alias for anything."""
    special = SPECIAL.get(git.name)
    return special(git) if special is not None else RECORDS.get(git.name, runs(Category.OTHER))


def joined(folder: str | None, path: str | None) -> str | None:
    """``path`` beneath ``folder``; None where one of them is computed."""
    return None if folder is None or path is None else posixpath.join(folder, path) if folder else path


def listed(git: Git, paths: Iterable[str | None]) -> Part:
    """The files ``paths`` change, and nothing else if all of them are plain names: a pattern may match any file."""
    named = [None if path is None or re.search(r"[*?\[\\]|^:", path) else joined(git.folder, path) for path in paths]
    # Hooks and filters of the repository run along.
    return replace(touched(named), foreign=True)


REVISION = re.compile(r"(?:HEAD|FETCH_HEAD|ORIG_HEAD|MERGE_HEAD|@|main|master|develop|stash)(?:[~^@].*)?|[0-9a-f]{7,40}"
                      r"|[\w./-]+[~^]\d*|(?:origin|upstream)/[\w./-]+|v?\d+(?:\.\d+)+")  # fmt: skip
"""A word that is certainly a commit, not a file."""


SOURCE = re.compile(
    r"(?:.*/)?[^/]+\.(?:pyi?|pyx|pxd|[cm]?[jt]sx?|go|java|rs|[ch]|cc|[ch]pp|[ch]xx|cs|kt|scala|swift|rb|php|p[lm]|lua|sh|sql|md"
    r"|rst|txt|cfg|toml|ini|json|ya?ml|html?|s?css|less|xml|csv|tex|vue|svelte|lock|ipynb|po|in|f90|jl|ex|exs|hs|clj)"
)
"""A word that is certainly a file: branches have no such extensions."""


def _looks_like_file(path: str | None) -> bool:
    return path in (".", "./") or (path is not None and bool(SOURCE.fullmatch(path)))


def _checkout(git: Git) -> Part:
    """``git checkout -- FILE`` and ``git checkout REV -- FILE`` restore files; else a branch is checked out."""
    options, paths = _split(git.args)
    words = texts(options)
    if given(options, "bB", ("--orphan",)):
        # A new branch at the same commit changes no file.
        return REPOSITORY if len(operands(options)) == 1 and not paths and not given(options, "f") else TREE
    if any(text.startswith("--pathspec-from") for text in words):
        return TREE
    if paths is not None:
        return listed(git, (word.literal for word in paths)) if paths else TREE
    found = operands(options, ("--conflict",))
    if not found:
        return REPOSITORY
    if all(_looks_like_file(path) for path in found):
        return listed(git, found)
    if len(found) > 1 and REVISION.fullmatch(found[0] or ""):
        return listed(git, found[1:])
    return TREE


def _split(args: tuple[Word, ...]) -> tuple[tuple[Word, ...], tuple[Word, ...] | None]:
    """The words before and behind ``--``; None behind if it is not there."""
    for at, word in enumerate(args):
        if word.literal == "--":
            return args[:at], args[at + 1 :]
    return args, None


RESTORE = {"source": "s:", "staged": "S", "worktree": "W", "ours": "2", "theirs": "3", "merge": "m", "conflict": "c:",
           "patch": "p", "quiet": "q", "progress": "P", "overlay": "o", "no-overlay": "O",
           "ignore-unmerged": "u", "recurse-submodules": "R", "ignore-skip-worktree-bits": "I"}  # fmt: skip


def _restore(git: Git) -> Part:
    """``git restore FILE``; with ``--staged`` alone only the index."""
    options = parse_options(git.args, "s:SWmpq23", RESTORE)
    if options.unknown:
        return TREE
    if options.has("S") and not options.has("W"):
        return REPOSITORY
    return listed(git, (word.literal for word in options.operands))


def _reset(git: Git) -> Part:
    """Files of the tree change with ``--hard``, ``--merge`` or ``--keep`` alone."""
    words = texts(git.args)
    return TREE if any(len(text) > 3 and hard.startswith(text) for text in words for hard in HARD) else REPOSITORY


HARD = ("--hard", "--merge", "--keep", "--recurse-submodules")


def _remove(git: Git) -> Part:
    """``git rm FILE``; with ``--cached`` only the index."""
    if given(git.args, "", ("--pathspec-from-file",)):
        return TREE
    return REPOSITORY if "--cached" in texts(git.args) else listed(git, operands(git.args))


def _move(git: Git) -> Part:
    """``git mv A B``: both names, as ``mv`` would."""
    found = operands(git.args)
    if len(found) < 2:
        return TREE
    sources, target = found[:-1], found[-1]
    into = len(sources) > 1 or (target or "").endswith("/") or target == "."
    return listed(git, [*sources, *((inside(target, path) for path in sources) if into else [target])])


def _clean(git: Git) -> Part:
    """Untracked files go: those that it names, or any."""
    options = parse_options(git.args, "dfinqxXe:", {"force": "f", "quiet": "q", "exclude": "e:"})
    named = options.operands if not options.unknown else ()
    return listed(git, (word.literal for word in named)) if named else TREE


def _stash(git: Git) -> Part:
    """A stash takes the changes off the tree and puts them back; dropping one leaves the tree alone."""
    name, _ = subcommand(git.args)
    return REPOSITORY if name in ("drop", "clear", "create", "store") else TREE


APPLY = {"reverse": "R", "index": "i", "cached": "c", "3way": "3", "directory": "d:", "whitespace": "w:",
         "verbose": "v", "quiet": "q", "recount": "r", "unidiff-zero": "u", "ignore-space-change": "s",
         "ignore-whitespace": "s",
         "apply": "a", "allow-empty": "e", "inaccurate-eof": "E", "no-add": "n", "binary": "b", "stat": "S",
         "unsafe-paths": "U", "allow-overlap": "o"}  # fmt: skip


def _apply(git: Git) -> Part:
    """``git apply <<EOF``: the files that the patch names; a patch in a file may change any."""
    options = parse_options(git.args, "Rp:C:3vqz", APPLY)
    if options.has("c") and not options.unknown:
        return REPOSITORY
    from_input = not options.operands or [word.literal for word in options.operands] == ["-"]
    folder = joined(git.folder, options.value("d") if options.has("d") else "")
    if options.unknown or not from_input or folder is None:
        return TREE
    strip = options.value("p") or "1"
    return applied(git.call.body, number(strip), folder)


SPECIAL: dict[str, Callable[[Git], Part]] = {
    "checkout": _checkout,
    "restore": _restore,
    "reset": _reset,
    "rm": _remove,
    "mv": _move,
    "clean": _clean,
    "stash": _stash,
    "apply": _apply,
}
"""Subcommands whose effects depend on their words."""
