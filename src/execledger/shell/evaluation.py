"""Hidden evaluation: places where the shell runs commands that are not written as commands.

Bash reads a subscript and everything arithmetic as an expression, a name in an expression as the expression that it
holds, and a subscript in that with all its substitutions: ``x='a[$(rm f)]'; echo $((x))`` removes a file. So whatever
is evaluated must consist of numbers; a name in it may hold anything. The same goes for names that builtins set.
"""

from __future__ import annotations

import re
from itertools import pairwise

from execledger.shell.environment import acting
from execledger.shell.facts import Programs
from execledger.shell.tree import Compound, Node, Pipeline, Redirect, Sequence, Simple, Word
from execledger.shell.words import STATUS, splits

NUMBERS = re.compile(r"[\d\s+*/%<>=!&|^~?:,()-]*")
"""An expression of numbers and operators alone."""
SUBSCRIPT = re.compile(r"\w*\[(?!-?\d+\]\+?=)|\w+\+?=\(.*\[", re.DOTALL)
"""An assignment to an array element with a computed subscript."""
COMPARES = re.compile(r"(?:^|\s)-(?:eq|ne|lt|le|gt|ge|v|R)(?=\s)")
"""Operators of a test that evaluate their operands."""
LET = re.compile(r"(?:[A-Za-z_]\w*\s*=)?[\d\s+*/%()-]*")
"""A number, perhaps put into a variable."""
SETTERS = frozenset("read mapfile readarray getopts unset".split())
"""Builtins that take names of variables to set."""
DECLARES = frozenset("export declare typeset readonly local".split())
"""Builtins that take names with values."""
BUILTINS = SETTERS | DECLARES | frozenset("let test [ hash printf wait".split())
"""Builtins that may evaluate something, or change what later commands mean."""


def evaluates(node: Simple, words: tuple[Word, ...], programs: Programs) -> bool:
    """A simple command may run more than it says; ``words`` are those behind its wrappers."""
    if _expansions(node.words, node.redirects) or _expansions(node.assignments):
        return True
    if any(_assigns(word) for word in node.assignments):
        return True
    name = words[0].literal if words else None
    return name in BUILTINS and _builtin(name, words[1:], programs)


def evaluates_compound(node: Compound, programs: Programs) -> bool:
    """A loop's header or a test may run more than it says."""
    # The bounds of a counting loop are expressions without a `$`.
    counts = node.kind == "for" and not node.mark
    if _expansions(() if counts else node.words, node.redirects):
        return True
    if node.kind == "for":
        return (counts and not all(_counting(word, node.bodies) for word in node.words)) or acting(
            node.mark.split(" ")[-1], programs
        )
    if node.kind != "test" or not node.mark:
        return False
    operands = [word.literal for word in node.words]
    return bool(COMPARES.search(f" {node.mark} ")) and not all(
        text and re.fullmatch(r"-?\d+", text) for text in operands
    )


def _expansions(words: tuple[Word, ...], redirects: tuple[Redirect, ...] = ()) -> bool:
    """An expansion in one of the words, or behind one of the redirections, evaluates more than plain numbers."""
    for word in words:
        if word.evaluates:
            return True
    return any(one.evaluates or (one.target is not None and one.target.evaluates) for one in redirects)


def _numeric(expression: str) -> bool:
    return bool(NUMBERS.fullmatch(expression))


def _counting(word: Word, bodies: tuple[Sequence, ...]) -> bool:
    """The bounds of a counting loop, such as ``i=0; i<5; i++``.

    Its own variable is a number once it was set to one, unless the loop's body sets it to something else.
    """
    first = re.match(r"\s*([A-Za-z_]\w*)\s*=\s*\d+\s*;", word.source)
    if first is None:
        return _numeric(word.source.replace(";", ""))
    bounds = re.sub(rf"\b{first[1]}\b", "0", word.source)
    return _numeric(bounds.replace(";", "")) and not any(_speaks_of(body, first[1]) for body in bodies)


def _speaks_of(node: Node, name: str) -> bool:
    """A word of the commands has the name of a variable in it, other than to expand it."""
    if isinstance(node, Sequence):
        return any(_speaks_of(item.node, name) for item in node.items)
    if isinstance(node, Pipeline):
        return any(_speaks_of(part, name) for part in node.parts)
    texts = [word.source for word in node.words]
    if isinstance(node, Simple):
        texts += [word.source for word in node.assignments]
    elif any(_speaks_of(body, name) for body in node.bodies):
        return True
    else:
        texts.append(node.mark)
    return any(re.search(rf"(?:(?<![\w$-])(?<!\$\{{)|(?<=-[avp])){name}\b", text) for text in texts)


def _assigns(word: Word) -> bool:
    """An assignment evaluates a subscript."""
    return bool(SUBSCRIPT.match(word.source))


def _builtin(name: str, args: tuple[Word, ...], programs: Programs) -> bool:
    """A builtin is given a name or an expression that may run something, or change what later commands mean."""
    texts = [word.literal for word in args]
    if name == "let":
        return not all(text is not None and LET.fullmatch(text) for text in texts)
    if name in ("test", "["):
        return _tests(args, programs)
    if name == "hash":
        return any(text != "-r" for text in texts)
    if name in DECLARES:
        return _declares(name, args)
    if name in ("printf", "wait"):
        first = texts[0] if texts else ""
        if first is None:
            return name == "printf"
        return first.startswith(("-v", "-p", "-n")) and any(_odd(text, programs) for text in (first[2:], *texts[1:2]))
    return name in SETTERS and any(_odd(text, programs) for text in texts)


def _odd(text: str | None, programs: Programs) -> bool:
    """A word that may have a subscript, or is the name of a variable that programs look at."""
    return text is None or "[" in text or acting(text, programs)


def _tests(args: tuple[Word, ...], programs: Programs) -> bool:
    """A test whose words may turn out to be ``-v`` and a name with a subscript: ``[ $x ]``, or ``[ "$x" "$y" ]``."""
    if any(splits(word) for word in args):
        return True
    texts = [word.literal if word.source not in STATUS else "0" for word in args]
    return any(one in ("-v", "-R", None) and _odd(other, programs) for one, other in pairwise(texts))


def _declares(name: str, args: tuple[Word, ...]) -> bool:
    """A declaration that makes a value an expression or another name, or whose names are computed."""
    arrays = name not in ("export", "readonly")
    for word in args:
        text = word.literal if word.literal is not None else word.source
        variable, equals, _ = text.partition("=")
        if text.startswith(("-", "+")):
            if word.literal is None or not re.fullmatch(r"[-+][aAgrtxpulfF]+|--", text):
                return True
            arrays = arrays or "a" in text.lower()
        elif not re.fullmatch(r"[A-Za-z_]\w*\+?", variable) or (arrays and equals and not _plain_value(word)):
            return True
    return False


def _plain_value(word: Word) -> bool:
    """A value that is not read as the elements of an array once more, as ``declare -a x='($(rm f))'`` is."""
    if word.literal is None:
        return bool(re.fullmatch(r"\w+\+?=\([^\[]*\)", word.source, re.DOTALL))
    return not word.literal.partition("=")[2].startswith("(")
