"""Hidden evaluation: places where the shell runs commands that stand in no command's place.

Bash reads a subscript and everything arithmetic as an expression, a name in an expression as the expression that it
holds, and a subscript in that with all its substitutions: ``x='a[$(rm f)]'; echo $((x))`` removes a file. So whatever
is evaluated must consist of numbers; a name in it may hold anything. The same goes for names that builtins set.
"""

from __future__ import annotations

import re
from itertools import pairwise

from execledger.shell.environment import ACTING
from execledger.shell.tree import Compound, Redirect, Simple, Word

NUMBERS = re.compile(r"[\d\s+*/%<>=!&|^~?:,()-]*")
"""An expression of numbers and operators alone."""
ARITHMETIC = re.compile(
    r"\$\(\(|\$\[|\$\{(?=!|[#\w]*\[(?!(?:[@*]|-?\d+)\])|\w+(?:\[(?:[@*]|-?\d+)\])?@|[\w@*]+:(?![-+?=])|\w+:?=)"
)
"""What may begin an evaluation: arithmetic, an indirection, a transformation, a subscript, a cut, an assignment."""
CUT = re.compile(r"\$\{[\w@*]+:\s*-?\d+(?::\s*-?\d+)?\}")
"""A part of a value, by numbers alone."""
SUBSCRIPT = re.compile(r"\w*\[(?!-?\d+\]\+?=)|\w+=\(.*\[", re.DOTALL)
"""An assignment to what stands behind a computed subscript."""
COMPARES = re.compile(r"(?:^|\s)-(?:eq|ne|lt|le|gt|ge|v|R)(?=\s)")
"""Signs of a test that evaluates what stands beside it."""
LET = re.compile(r"(?:[A-Za-z_]\w*\s*=)?[\d\s+*/%()-]*")
"""A number, perhaps put into a variable."""
SETTERS = frozenset("read mapfile readarray getopts unset".split())
"""Builtins that take names of variables to set."""
DECLARES = frozenset("export declare typeset readonly local".split())
"""Builtins that take names with values."""
BUILTINS = SETTERS | DECLARES | frozenset("let test [ hash printf wait".split())
"""Builtins that may evaluate something, or change what later commands mean."""


def evaluates(node: Simple, words: tuple[Word, ...]) -> bool:
    """A simple command may run more than it says; ``words`` are those behind its wrappers."""
    if any(map(_in_text, _sources(node.words, node.redirects))):
        return True
    if any(_assigns(word) or _in_text(word.source) for word in node.assignments):
        return True
    name = words[0].literal if words else None
    return name in BUILTINS and _builtin(name, words[1:])


def evaluates_compound(node: Compound) -> bool:
    """A loop's header or a test may run more than it says."""
    if any(map(_in_text, _sources(node.words, node.redirects))):
        return True
    if node.kind == "for":
        # The bounds of a counting loop stand without a variable.
        counts = bool(node.words) and not node.mark
        return (counts and not all(map(_counting, node.words))) or bool(ACTING.fullmatch(node.mark.split(" ")[-1]))
    if node.kind != "test":
        return False
    if not node.mark:
        return not all(_numeric(word.source) for word in node.words)
    operands = [word.literal for word in node.words]
    return bool(COMPARES.search(f" {node.mark} ")) and not all(
        text and re.fullmatch(r"-?\d+", text) for text in operands
    )


def _sources(words: tuple[Word, ...], redirects: tuple[Redirect, ...]) -> list[str]:
    """The texts that the shell expands."""
    targets = [one.target for one in redirects if one.target is not None]
    bodies = [one.body for one in redirects if one.expands and one.body is not None]
    return [word.source for word in (*words, *targets) if word.literal is None] + bodies


def _in_text(source: str) -> bool:
    """The text has an expansion in it that evaluates something that is not plain numbers."""
    if "$" not in source:
        return False
    for found in ARITHMETIC.finditer(source):
        if found[0] == "$((":
            end = source.find("))", found.end())
            if end < 0 or not _numeric(source[found.end() : end]):
                return True
        elif found[0] == "$[" or not CUT.match(source, found.start()):
            return True
    return False


def _numeric(expression: str) -> bool:
    return bool(NUMBERS.fullmatch(expression))


def _counting(word: Word) -> bool:
    """The bounds of a counting loop, such as ``i=0; i<5; i++``: its own variable is a number once it was set to one."""
    first = re.match(r"\s*([A-Za-z_]\w*)\s*=\s*\d+\s*;", word.source)
    if first is None:
        return _numeric(word.source.replace(";", ""))
    bounds = re.sub(rf"\b{first[1]}\b", "0", word.source)
    return _numeric(bounds.replace(";", ""))


def _assigns(word: Word) -> bool:
    """An assignment evaluates a subscript, or is one that nobody can follow."""
    return bool(SUBSCRIPT.match(word.source))


def _builtin(name: str, args: tuple[Word, ...]) -> bool:
    """A builtin is given a name or an expression that may run something, or change what later commands mean."""
    texts = [word.literal for word in args]
    if name == "let":
        return not all(text is not None and LET.fullmatch(text) for text in texts)
    if name in ("test", "["):
        return any(one in ("-v", "-R") and _odd(other) for one, other in pairwise(texts))
    if name == "hash":
        return any(text != "-r" for text in texts)
    if name in DECLARES:
        return _declares(args)
    if name in ("printf", "wait"):
        first = texts[0] if texts else ""
        if first is None:
            return name == "printf"
        return first.startswith(("-v", "-p", "-n")) and any(map(_odd, (first[2:], *texts[1:2])))
    return name in SETTERS and any(map(_odd, texts))


def _odd(text: str | None) -> bool:
    """A word that may have a subscript, or is the name of a variable that programs look at."""
    return text is None or "[" in text or bool(ACTING.fullmatch(text))


def _declares(args: tuple[Word, ...]) -> bool:
    """A declaration that makes a value an expression or another name, or whose names are computed."""
    for word in args:
        text = word.literal if word.literal is not None else word.source
        if text.startswith(("-", "+")):
            if re.search(r"[in]", text):
                return True
        elif not re.match(r"[A-Za-z_]\w*(?:\+?=|$)", text) or "[" in text.partition("=")[0]:
            return True
    return False
