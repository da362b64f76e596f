"""Functions that several families share: files that are changed, options that are given, programs run by others."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterable

from execledger.shell.facts import Invocation, Part, doubted, runs, writes
from execledger.shell.paths import machine_name
from execledger.shell.tree import Word
from execledger.vocabulary.records import STRENGTH, Category, Effects, Scope

DEVICES = re.compile(r"/dev/(?:null|zero|full|u?random|stdin|stdout|stderr|tty|fd/[12])")
"""Names under /dev that are no files: writing to them changes nothing that can be read back."""

SUFFIXED = re.compile(r"(?:.*/)?\.*+[^/.][^/]*\.[A-Za-z][A-Za-z0-9_+-]{0,9}")
"""A name with an extension: almost certainly a file, not a directory or a branch."""


def texts(words: Iterable[Word]) -> list[str]:
    """The values of ``words``; "" for one that is computed."""
    return [word.literal or "" for word in words]


def folders_among(paths: Iterable[str]) -> tuple[str, ...]:
    """Paths that are taken for folders: their names have no extension."""
    return tuple(path for path in paths if not SUFFIXED.fullmatch(path))


def touched(
    paths: Iterable[str | None], category: Category = Category.MODIFY, *, certain: bool = True, files: bool = False
) -> Part:
    """A part that changes ``paths``, and nothing else if it is ``certain`` and none of them is computed.

    With ``files``, none of them is a folder.
    """
    named = list(paths)
    known = tuple(dict.fromkeys(path for path in named if path and not DEVICES.fullmatch(path)))
    # A program without operands may get them from elsewhere, as behind ``xargs``.
    folders = () if files else folders_among(known)
    if None in named or not named:
        return runs(category, writes=known, folders=folders, scope=Scope.TREE)
    if not known:
        return Part(category=category)
    if not certain:
        return runs(category, writes=known, folders=folders, scope=Scope.FILES)
    return writes(*known, category=category, folders=folders)


def inside(directory: str | None, path: str | None) -> str | None:
    """The path that ``path`` gets when it is put into ``directory``."""
    if directory is None or path is None:
        return None
    name = posixpath.basename(path.rstrip("/"))
    return None if name in ("", ".", "..") else posixpath.join(directory, name)


def given(args: Iterable[Word], short: str = "", long: Collection[str] = ()) -> bool:
    """One of the options is among ``args``: alone, in a cluster or shortened. A value that looks like it counts too."""
    for text in texts(args):
        if text.startswith("--"):
            name = text.partition("=")[0]
            if len(name) > 2 and any(full == name or (len(name) > 4 and full.startswith(name)) for full in long):
                return True
        elif text.startswith("-") and any(letter in text for letter in short):
            return True
    return False


def subcommand(args: tuple[Word, ...], valued: Collection[str] = ()) -> tuple[str | None, tuple[Word, ...]]:
    """The first word that is no option (``valued`` ones take the next word), and the words behind it.

    The word is "" if there is none and None if it is computed.
    """
    at = 0
    while at < len(args):
        text = args[at].literal
        if text is None or not text.startswith(("-", "+")) or text in ("-", "--"):
            return (text, args[at + 1 :]) if text != "--" else subcommand(args[at + 1 :])
        at += 2 if text in valued else 1
    return "", ()


def operands(args: Iterable[Word], valued: Collection[str] = ()) -> list[str | None]:
    """The words that are neither options nor values of ``valued`` ones; None for a computed one."""
    found: list[str | None] = []
    skip = False
    for word in args:
        text = word.literal
        if not skip and (text == "-" or not (text or "").startswith("-")):
            found.append(text)
        skip = not skip and text in valued
    return found


def about_itself(call: Invocation, *more: str) -> Part | None:
    """``X --version`` and ``X --help`` print and do nothing else; ``more`` are other words for it."""
    if len(call.args) == 1 and call.args[0].literal in ("--version", "-V", "--help", "-h", *more):
        return Part(category=Category.OTHER)
    return None


def inner(call: Invocation, words: tuple[Word, ...]) -> Part:
    """What the command ``words`` does that ``call`` runs; unknown if the registry does not have its program."""
    if not words or words[0].literal is None:
        return runs(Category.OTHER)
    path = words[0].literal
    name = posixpath.basename(path)
    facts = call.programs.find(name)
    if facts is None:
        script = "/" in path or SUFFIXED.fullmatch(path) is not None
        return runs(Category.OTHER, unknown=not script, reproduces=script)
    part = facts.part(call.running(name, words[1:]))
    if part.moves_to is not None:
        return runs(Category.OTHER)
    return doubted(part) if "/" in machine_name(path) else part


def only_shows(part: Part) -> bool:
    """It changes nothing and prints what files hold."""
    return part.effects is Effects.NONE and part.comparable and not part.volatile and part.opaque is None


def strongest(*categories: Category | None) -> Category:
    """The strongest of ``categories``; OTHER if none is given."""
    return max((c for c in categories if c is not None), key=STRENGTH.__getitem__, default=Category.OTHER)
