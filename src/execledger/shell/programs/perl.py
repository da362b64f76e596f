"""``perl`` one-liners: plain substitutions are understood, everything else is code."""

from __future__ import annotations

import re

from msgspec import Struct

from execledger.shell.facts import COMPUTED, Facts, Invocation, Part, Variables, inspects, runs, writes
from execledger.shell.options import literal_word
from execledger.shell.programs.interpreters import inline, script
from execledger.shell.programs.shared import about_itself
from execledger.shell.tree import Word
from execledger.vocabulary.records import Category, Scope

PAIRED = r"(?:\{(?:[^{}\\]|\\.)*\}\s*\{(?:[^{}\\]|\\.)*\}|\((?:[^()\\]|\\.)*\)\s*\((?:[^()\\]|\\.)*\))"
SINGLE = r"(?P<d{0}>[/|!,#%~:@])(?:(?!(?P=d{0}))[^\\]|\\.)*(?P=d{0})(?:(?!(?P=d{0}))[^\\]|\\.)*(?P=d{0})"
MATCH = r"(?:m?/(?:[^/\\]|\\.)*/[imsxgo]*|eof|\$\.\s*(?:==|<=?|>=?|!=)\s*\d+|\d+\s*\.\.\s*\d+)"
CONDITION = rf"\s*(?:if|unless)\s*\(?\s*!?\s*{MATCH}(?:\s*(?:&&|\|\||and|or|\.\.\.?)\s*!?\s*{MATCH})*\s*\)?"
STATEMENT = re.compile(
    rf"\s*(?:s(?:{PAIRED}|{SINGLE.format(1)})[gimsxr]*|(?:tr|y)(?:{PAIRED}|{SINGLE.format(2)})[cdsr]*"
    rf"|(?:print|next|last)|undef \$/|local \$/|BEGIN\s*\{{\s*undef \$/;?\s*\}})(?:{CONDITION})?\s*(?:;|$)",
    re.DOTALL,
)
"""A statement that changes the line at hand or prints it, and nothing else."""
CODE_INSIDE = re.compile(r"@\{|\$\{|\(\?\??\{|`|@\[|\$\(|%\{|\$\$|\$\^|\$ENV|\$ARGV")
"""Ways to run code inside a pattern or a replacement, or to ask for what differs from run to run."""


def only_edits_lines(code: str) -> bool:
    """The code is substitutions and prints alone."""
    if CODE_INSIDE.search(code):
        return False
    code = code.strip()
    at = 0
    while at < len(code):
        match = STATEMENT.match(code, at)
        if match is None or match.end() == at:
            return False
        at = match.end()
    return True


class OneLiner(Struct):
    """The options of one call."""

    codes: list[Word]
    """The texts behind -e."""
    suffix: str | None = None
    """What -i keeps old files as; "" keeps none; None without -i."""
    loops: bool = False
    """-n or -p: the code runs for every line of its files."""
    odd: bool = False
    """Modules and switches that may do more."""
    operands: tuple[Word, ...] = ()
    """The words behind the options."""


VALUED = {"0": "[0-7]*(?:[xX][0-9a-fA-F]*)?", "l": "[0-7]*", "C": r"\d*", **dict.fromkeys("iFIMmdDxV", ".*")}
"""Letters that take what follows them in the same word."""


def read_options(args: tuple[Word, ...]) -> OneLiner:
    """Perl's clusters: ``-pi -e``, ``-i.bak -pe``, ``-0777 -ne``."""
    found = OneLiner([])
    rest = list(args)
    while rest and (rest[0].literal or "").startswith("-") and rest[0].literal != "-":
        text = rest.pop(0).literal or ""
        if text == "--":
            break
        at = 1
        while at < len(text):
            letter = text[at]
            at += 1
            if letter in "eE":
                found.codes.append(literal_word(text[at:]) if text[at:] else rest.pop(0) if rest else Word("", None))
                break
            match = re.compile(VALUED.get(letter, ""), re.DOTALL).match(text, at)
            value = match[0] if match else ""
            at += len(value)
            _note(found, letter, value)
    found.operands = tuple(rest)
    return found


def _note(found: OneLiner, letter: str, value: str) -> None:
    if letter == "i":
        found.suffix = value
    elif letter in "np":
        found.loops = True
    elif letter in "Mm":
        found.odd = found.odd or value not in ("strict", "warnings", "utf8", "open=:std,:utf8")
    elif letter not in "0laFwWsCE":
        found.odd = True


def perl(call: Invocation) -> Part:
    """``perl -pi -e 's/a/b/' FILES`` edits files; ``perl -ne`` shows lines; other code may do anything."""
    if about := about_itself(call, "-v"):
        return about
    options = read_options(call.args)
    if not options.codes:
        return script(call, options.operands, "perl")
    codes = [word.literal for word in options.codes]
    text = None if None in codes else "\n".join(code for code in codes if code is not None)
    paths = [word.literal for word in options.operands]
    # Perl runs a program for a file name with a bar in it.
    odd = options.odd or not options.loops or any(re.search(r"[|<>]", "|" if path is None else path) for path in paths)
    plain = not odd and text is not None and only_edits_lines(text)
    if options.suffix is not None and options.loops:
        return _in_place(options.suffix, paths, plain)
    if plain:
        return inspects()
    return inline(call, text, "perl")


def _in_place(suffix: str, paths: list[str | None], plain: bool) -> Part:
    """The files change, and a suffix keeps the old text beside each."""
    named = [path for path in paths if path is not None]
    backups = [path + suffix for path in named] if suffix and "*" not in suffix and "/" not in suffix else []
    literal = bool(named) and len(named) == len(paths)
    if plain and literal and ("*" not in suffix):
        return writes(*named, *backups)
    return runs(Category.MODIFY, writes=(*named, *backups), scope=Scope.FILES if literal else Scope.TREE)


FACTS = (Facts(names="perl", does=perl, allowed=COMPUTED, variables=Variables(r"PERL\w*")),)
"""Perl."""
