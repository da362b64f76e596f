"""``find`` and ``fd``: searches, unless an action of theirs changes or runs something."""

from __future__ import annotations

import re

from msgspec.structs import replace

from execledger.shell.parts import Invocation, Part, program, runs, searches
from execledger.shell.programs.idioms import harmless, inner, may_be_option, strongest
from execledger.shell.tree import Word
from execledger.vocabulary.records import Category, Scope

EXECUTE = ("-exec", "-execdir", "-ok", "-okdir")
WRITE = ("-delete", "-fprint", "-fprint0", "-fprintf", "-fls")
VALUED = frozenset(
    """
    -name -iname -path -ipath -wholename -iwholename -lname -ilname -regex -iregex -regextype -type -xtype -size
    -mtime -atime -ctime -mmin -amin -cmin -newer -anewer -cnewer -samefile -perm -user -group -uid -gid -links
    -inum -fstype -maxdepth -mindepth -used -context -printf -newermt -newerct -newerat -files0-from -D
    """.split()
)
"""Primaries that take the next word."""
KNOWN = VALUED | frozenset(
    """
    -print -print0 -ls -prune -quit -empty -readable -writable -executable -true -false -nouser -nogroup -daystart
    -depth -d -follow -mount -xdev -noleaf -nowarn -warn -ignore_readdir_race -noignore_readdir_race -not -a -and -o
    -or -L -H -P -E -X -x -s -O1 -O2 -O3 -newermm -neweram -newercm -newerBt -help --help --version -version -- -
    """.split()
)
"""Primaries that only look."""
TIMED = re.compile(r"-[amc](?:min|time)|-newer[aBcm]t|-used|-anewer|(?s:.*)%[Aa](?s:.*)")
"""Primaries that ask the clock, or when a file was last read."""


def may_act(word: Word, text: str | None, known: frozenset[str]) -> bool:
    """A word that is no known primary, but may be one."""
    return may_be_option(word) if text is None else text.startswith("-") and text not in known


@program("find", "gfind")
def find(call: Invocation) -> Part:
    """A search, unless it deletes, writes a report or runs a program that is not known to be harmless."""
    acts: list[Part] = []
    at = 0
    while at < len(call.args):
        text = call.args[at].literal
        at += 1
        if text in EXECUTE:
            end = _end(call.args, at)
            acts.append(_executed(call, call.args[at:end]))
            at = end + 1
        elif text in WRITE:
            acts.append(runs(Category.MODIFY, scope=Scope.TREE))
        elif may_act(call.args[at - 1], text, KNOWN):
            # An action that nobody knows, or a computed word that may turn out to be one.
            acts.append(runs(Category.SEARCH))
        at += text in VALUED
    timed = any(TIMED.fullmatch(word.literal or "") for word in call.args)
    return replace(_together(acts), volatile=timed)


def _end(words: tuple[Word, ...], start: int) -> int:
    """Where the command of an ``-exec`` ends: at ``;``, or at ``+`` behind ``{}``."""
    for at in range(start, len(words)):
        if words[at].literal == ";" or (words[at].literal == "+" and words[at - 1].literal == "{}"):
            return at
    return len(words)


def _executed(call: Invocation, words: tuple[Word, ...], placeholder: str = r"\{\}") -> Part:
    """What the command does with every file that is found: each placeholder is a computed word."""
    # What is found begins as its starting point does, so it is no option.
    computed = tuple(
        Word(f"./{word.source}", None) if re.search(placeholder, word.literal or "") else word for word in words
    )
    return inner(Invocation(call.name, (), knowledge=call.knowledge), computed)


def _together(acts: list[Part]) -> Part:
    """A search if every action is harmless; else what the actions do, and perhaps more."""
    doubtful = [act for act in acts if not harmless(act)]
    if not doubtful:
        return searches()
    return runs(
        strongest(Category.SEARCH, *(act.category for act in doubtful)),
        writes=tuple(dict.fromkeys(path for act in doubtful for path in act.writes)),
        folders=tuple(dict.fromkeys(path for act in doubtful for path in act.folders)),
        scope=max(act.scope for act in doubtful),
        unknown=any(act.unknown for act in doubtful),
    )


@program("fd", "fdfind")
def fd(call: Invocation) -> Part:
    """A search; ``-x`` and ``-X`` run a command with every file that is found."""
    for at, word in enumerate(call.args):
        text = word.literal or ""
        if re.fullmatch(r"-[A-Za-z]*[xX]|--exec(-batch)?", text):
            words = (*call.args[at + 1 :], Word("{}", None))
            return _together([_executed(call, words, r"\{(?:|/|//|\.|/\.)\}")])
        if text.startswith("--exec") or re.match(r"-[A-Za-z]*[xX]", text):
            return runs(Category.SEARCH)
    return searches()
