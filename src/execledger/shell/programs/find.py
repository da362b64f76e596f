"""``find`` and ``fd``: searches, unless an action of theirs changes or runs something."""

from __future__ import annotations

import re

from msgspec.structs import replace

from execledger.shell.facts import Allowed, Facts, Invocation, Part, Sources, Variables, literal, runs, searches
from execledger.shell.programs.shared import inner, only_shows, strongest, texts
from execledger.shell.tree import Word
from execledger.shell.words import may_be_option
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
            # An unknown action, or a computed word that may turn out to be one.
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
    return inner(Invocation(call.name, (), call.programs, knowledge=call.knowledge), computed)


def _together(acts: list[Part]) -> Part:
    """A search if every action is harmless; else what the actions do, and perhaps more."""
    doubtful = [act for act in acts if not only_shows(act)]
    if not doubtful:
        return searches()
    return runs(
        strongest(Category.SEARCH, *(act.category for act in doubtful)),
        writes=tuple(dict.fromkeys(path for act in doubtful for path in act.writes)),
        folders=tuple(dict.fromkeys(path for act in doubtful for path in act.folders)),
        scope=max(act.scope for act in doubtful),
        unknown=any(act.unknown for act in doubtful),
    )


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


PLAIN = frozenset("( ) ! -not -o -or -a -and -print -prune -empty".split())
"""Words that select by what files are, without a value."""
PLAIN_VALUED = frozenset("-name -iname -path -ipath -wholename -regex -iregex -type -maxdepth -mindepth -size".split())
"""Words that do so by the next word."""


def _plain_tests(words: list[str]) -> bool:
    """Every word that begins with a dash tests names, types or sizes."""
    at = 0
    while at < len(words):
        if words[at] in PLAIN_VALUED:
            at += 1
        elif words[at].startswith("-") and words[at] not in PLAIN:
            return False
        at += 1
    return True


def _find_harmless(args: tuple[Word, ...]) -> bool:
    return literal(args) and _plain_tests(texts(args))


def _find_sources(args: tuple[Word, ...]) -> Sources | None:
    """Starting points, then tests of names, types and sizes alone."""
    words = texts(args)
    start = next((at for at, word in enumerate(words) if word[:1] in ("-", "(", "!")), len(words))
    at = start
    while at < len(words):
        if words[at] in PLAIN_VALUED:
            at += 1
        elif words[at] not in PLAIN:
            return None
        at += 1
    return Sources(tuple(words[:start]), walks=True)


def _executed_contents(call: Invocation) -> tuple[str, ...]:
    """The lines of what is found, if a word of the command is the name of a program that prints lines."""
    return ("",) if any(_prints_lines(call, text) for text in texts(call.args)) else ()


def _prints_lines(call: Invocation, name: str) -> bool:
    facts = call.programs.find(name)
    if facts is None:
        return False
    alone = Invocation(name, (), call.programs)
    return bool(facts.printed_files(alone, facts.part(alone)))


FD = Allowed(
    "HIuLp0sigFaltd:e:E:c:j:S:1qhVo:",
    "hidden no-ignore unrestricted follow full-path print0 case-sensitive ignore-case glob fixed-strings absolute-path"
    " max-depth: min-depth: exact-depth: type: extension: exclude: color: threads: size: max-results: quiet help"
    " version strip-cwd-prefix? regex no-ignore-vcs list-details",
)

FACTS = (
    Facts(
        names="find",
        does=find,
        harmless=_find_harmless,
        provable=_find_sources,
        contents=_executed_contents,
    ),
    Facts(names="gfind", does=find),
    Facts(
        names="fd fdfind",
        does=fd,
        allowed=FD,
        harmless=literal,
        contents=_executed_contents,
        variables=Variables(r"FD_\w*"),
    ),
)
"""Programs that search for files by name."""
