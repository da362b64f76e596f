"""Commands whose output depends on files alone: what a sealed environment may reuse before running.

This is a list of what is allowed, not of what is not: a plain list of plain readers with literal words, each with
options that are known not to ask the clock, the environment, other processes, or files outside of where the command
starts. Whatever is not on it is run, and compared afterwards.
"""

from __future__ import annotations

from functools import lru_cache

from msgspec import Struct

from execledger.shell.entering import leading_cd
from execledger.shell.options import Options, parse_options
from execledger.shell.paths import PARENT, beneath, resolve, unstable
from execledger.shell.programs.awk import selected
from execledger.shell.programs.readers import old_style
from execledger.shell.programs.sed import read_script
from execledger.shell.syntax import parse
from execledger.shell.tree import Node, Opaque, Pipeline, Redirect, Simple, Word


class Reader(Struct, frozen=True):
    """One program, as far as it may be reused before running."""

    options: str = ""
    """Its options, as getopt spells them."""
    long: dict[str, str] = {}
    """Its long options."""
    texts: int = 0
    """How many operands come before the files: a pattern, a script."""
    filters: bool = True
    """Without files it reads its standard input."""


NO_FILES = 1_000
"""More operands than a command has: none of them names a file."""
SORTED = {"numeric-sort": "n", "reverse": "r", "unique": "u", "key": "k:", "field-separator": "t:", "stable": "s"}
SED = {"quiet": "n", "silent": "n", "expression": "e:", "regexp-extended": "E"}
GREP = {"line-number": "n", "ignore-case": "i", "count": "c", "files-with-matches": "l", "word-regexp": "w",
        "recursive": "r", "include": "I:", "exclude": "X:", "exclude-dir": "D:", "extended-regexp": "E",
        "fixed-strings": "F", "after-context": "A:", "before-context": "B:", "context": "C:", "max-count": "m:",
        "only-matching": "o", "invert-match": "v", "no-filename": "h", "with-filename": "H"}  # fmt: skip
READERS = {
    "cat": Reader("nAbeEstTuv"),
    "head": Reader("n:c:q", {"lines": "n:", "bytes": "c:"}),
    "tail": Reader("n:c:q", {"lines": "n:", "bytes": "c:"}),
    "nl": Reader("b:s:w:n:"),
    "sed": Reader("nErse:", SED, 1),
    "awk": Reader("F:", {}, 1),
    "grep": Reader("nicvwxlLoqshHrEFGPaA:B:C:m:e:", GREP, 1),
    "egrep": Reader("nicvwxlLoqshHraA:B:C:m:e:", GREP, 1),
    "fgrep": Reader("nicvwxlLoqshHraA:B:C:m:e:", GREP, 1),
    "wc": Reader("lwcmL", {"lines": "l", "words": "w", "bytes": "c"}),
    "sort": Reader("nrufbdgVsk:t:", SORTED),
    "uniq": Reader("cdui"),
    "cut": Reader("d:f:c:b:s", {"delimiter": "d:", "fields": "f:"}),
    "tr": Reader("cdsC", {}, NO_FILES),
    "ls": Reader("1aAdFRrp", {"all": "a", "almost-all": "A", "directory": "d", "recursive": "R"}, filters=False),
    "echo": Reader("neE", {}, NO_FILES, filters=False),
    "true": Reader("", {}, NO_FILES, filters=False),
    ":": Reader("", {}, NO_FILES, filters=False),
    "pwd": Reader(filters=False),
}  # fmt: skip
"""The readers. None of them writes, forks or asks for more than files with these options."""

FIND = frozenset("( ) ! -not -o -or -a -and -print -prune -empty".split())
"""Words of ``find`` that stand alone."""
FIND_VALUED = frozenset("-name -iname -path -ipath -wholename -regex -iregex -type -maxdepth -mindepth -size".split())
"""Words of ``find`` that take the next word."""


def provable_command(command: str, base: str | None) -> bool:
    """The command's output depends only on files beneath ``base``, where it starts."""
    tree = parse(command)
    if isinstance(tree, Opaque) or base is None:
        return False
    tree, start = leading_cd(tree, base)
    place = (start, base)
    return (
        _within(start, base)
        and bool(tree.items)
        and all(item.operator != "&" and not item.negated and _node(item.node, place) for item in tree.items)
    )


def _node(node: Node, place: tuple[str, str]) -> bool:
    if isinstance(node, Simple):
        return _simple(node, place, fed=False)[0]
    if not isinstance(node, Pipeline):
        return False
    files = 0
    for at, stage in enumerate(node.parts):
        if not isinstance(stage, Simple):
            return False
        fine, named = _simple(stage, place, fed=at > 0)
        files += named
        # Two programs that print or complain at once do so in any order; of one file there is one or the other.
        if not fine or files > 1 or (at == 0 and named != 1):
            return False
    return True


def _simple(node: Simple, place: tuple[str, str], *, fed: bool) -> tuple[bool, int]:
    """Whether a simple command may be reused, and how many files or folders it reads."""
    fed_file = _redirected(node.redirects, place)
    if fed_file is None or node.assignments or not node.words or any(word.literal is None for word in node.words):
        return False, 0
    name, args = node.words[0].literal or "", node.words[1:]
    if name == "find":
        return _find(args, place), 2
    reader = READERS.get(name)
    if reader is None:
        return False, 0
    options = parse_options(old_style(args) if name in ("head", "tail") else args, reader.options, reader.long)
    files = _files(name, reader, options)
    if (options.unknown and name != "echo") or files is None or not all(_inside(file, place) for file in files):
        return False, 0
    if fed_file and files:
        # The file behind ``<`` is opened as well, and without it nothing is shown.
        return False, 0
    # What walks a folder may print and complain at once.
    walks = name == "ls" or (options.has("r") and name != "sort")
    enough = bool(files) or fed or fed_file or not reader.filters or (name.endswith("grep") and options.has("r"))
    return enough, 2 if walks else len(files) + fed_file


def _files(name: str, reader: Reader, options: Options) -> list[str] | None:
    """The files that a reader names; None if what it does with them is not certain."""
    texts = [] if reader.texts == 0 or options.has("e") else list(options.paths[: reader.texts])
    files = list(options.paths[len(texts) :])
    if reader.texts == 1 and not texts and not options.has("e"):
        return None
    if name == "uniq" and len(files) > 1:
        return None
    if name == "sed" and not _prints_only([*texts, *(word.literal or "" for word in options.values("e"))]):
        return None
    if name == "awk" and (selected(texts[0].strip()) is None or any("=" in file for file in files)):
        return None
    return files


def _prints_only(scripts: list[str]) -> bool:
    commands = read_script("\n".join(scripts))
    return commands is not None and all(command.name in "{pdqQ=nNDPgGhHxlsybt:T" for command in commands)


def _find(args: tuple[Word, ...], place: tuple[str, str]) -> bool:
    """Starting points, then tests of names, types and sizes alone."""
    words = [word.literal or "" for word in args]
    at = 0
    while at < len(words) and words[at][:1] not in ("-", "(", "!"):
        at += 1
    if not all(_inside(path, place) for path in words[:at]):
        return False
    while at < len(words):
        if words[at] in FIND_VALUED:
            at += 1
        elif words[at] not in FIND:
            return False
        at += 1
    return True


def _redirected(redirects: tuple[Redirect, ...], place: tuple[str, str]) -> bool | None:
    """Whether a file is the standard input; None if a redirection does more than that, or than hiding something."""
    fed = False
    for one in redirects:
        target = one.target.literal if one.target else None
        if one.operator == "<" and one.descriptor in (None, 0) and target and _inside(target, place):
            fed = True
        elif not (one.operator in (">", "&>") and target == "/dev/null") and not (
            one.operator == ">&" and target in ("1", "2")
        ):
            return None
    return fed


def _inside(path: str, place: tuple[str, str]) -> bool:
    """``path`` names something beneath the base, without a step up that a link could lead elsewhere."""
    start, base = place
    return bool(path) and path != "-" and not PARENT.search(path) and _within(resolve(start, path) or "", base)


@lru_cache(maxsize=4096)
def _within(path: str, base: str) -> bool:
    return beneath(path, base) and not unstable(path)
