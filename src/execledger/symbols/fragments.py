"""From a piece of source text to a syntax tree, even if the piece starts or ends in the middle of something.

An edit contains a fragment: it may start in a body or a comment, lack its class, or stop after an open bracket. The
text is parsed as it is first. If that fails, a few completions are tried, each of which puts missing brackets and heads
around the fragment, and the one with the fewest bytes that the parser cannot place is used.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from execledger.symbols.languages import FILLER, Grammar, Language, grammar_of

if TYPE_CHECKING:
    import tree_sitter

MAX_CHARACTERS = 100_000
"""Longer texts are not parsed."""
MAX_COMPLETED = 10_000
"""Longer texts are parsed without completions."""
MAX_LINE = 2_000
"""Nothing with a longer line is parsed: it was not written by hand."""
MAX_UNPAIRED = 500
"""Nothing with more brackets open than closed, or the other way round, is parsed; nor any statement with more ``<``."""
MAX_SIGNS = 2_000
"""Nothing with a longer run of signs between two words is parsed."""
READS_PER_BYTE = 8
"""How often the parser may look at each byte. Sound text takes about two looks, garbage three."""
MISSING_COST = 5
"""What is missing counts as much as this many bytes that cannot be placed."""

_WORD = re.compile(r"\w+")
_STATEMENT_END = re.compile(r"[;{}]")
_BODIES = ("", " {}", "() {}")
_CLOSERS = {"{": "}", "(": ")", "[": "]"}


class Fragment(Struct, frozen=True):
    """A parsed piece of source text."""

    grammar: Grammar
    """The grammar that it was parsed with."""
    source: bytes
    """What was parsed: the text with its completion."""
    tree: tree_sitter.Tree
    """The syntax tree."""
    faults: int
    """How many bytes the parser could not place; 0 for sound text."""
    offset: int = 0
    """How many lines the completion put before the text."""


def parse_fragment(language: Language, text: str, *, heading: bool = False) -> Fragment | None:
    """The best tree that can be had for a piece of text; None if there is none.

    A ``heading`` is the first line of something, and may lack parentheses and a body.
    """
    grammar = grammar_of(language)
    if grammar is None or not _is_plausible(text):
        return None
    best = _parsed(grammar, text, "", "")
    if best is None or not best.faults or len(text) > MAX_COMPLETED:
        return best
    for attempt in _attempts(grammar, language, text, _BODIES if heading else ("",)):
        if attempt.faults < best.faults:
            best = attempt
        if not best.faults:
            break
    return best


def _is_plausible(text: str) -> bool:
    """The text is of no kind on which the parser's time or memory is known to grow with the square of its length."""
    if len(text) > MAX_CHARACTERS or max(map(len, text.split("\n"))) > MAX_LINE:
        return False
    if any(abs(text.count(opener) - text.count(closer)) > MAX_UNPAIRED for opener, closer in _CLOSERS.items()):
        return False
    if any(part.count("<") - part.count(">") > MAX_UNPAIRED for part in _STATEMENT_END.split(text)):
        return False
    return max(len(signs) - signs.count(" ") for signs in _WORD.split(text)) <= MAX_SIGNS


def _attempts(grammar: Grammar, language: Language, text: str, bodies: tuple[str, ...]) -> Iterator[Fragment]:
    """The text with every completion that may fit."""
    for before, after in _surroundings(text):
        bare = _parsed(grammar, text, before, after)
        if bare is None:
            continue
        yield bare
        for prefix, suffix in _completions(language, bare, bodies):
            attempt = _parsed(grammar, text, prefix + before, after + suffix)
            if attempt is not None:
                yield attempt


def _parsed(grammar: Grammar, text: str, prefix: str, suffix: str) -> Fragment | None:
    """One attempt; None if the parser lost its way."""
    source = f"{prefix}{text}{suffix}".encode("utf-8", "replace")
    tree = _parse(grammar.syntax, source)
    if tree is None:
        return None
    from tree_sitter import QueryCursor

    found = QueryCursor(grammar.faults).captures(tree.root_node)
    faults = sum(node.end_byte - node.start_byte for node in found.get("error", ()))
    return Fragment(grammar, source, tree, faults + MISSING_COST * len(found.get("missing", ())), prefix.count("\n"))


def _parse(syntax: tree_sitter.Language, source: bytes) -> tree_sitter.Tree | None:
    """Parse within a fixed number of looks at the text.

    Error recovery can go round in circles for minutes on a few bytes of garbage (seen with TypeScript and Java), and
    the parser takes no time limit. So the text is served byte by byte, and ends for good when the looks are used up.
    """
    from tree_sitter import Parser

    looks = READS_PER_BYTE * len(source) + 1000

    def read(start: int, _point: object) -> bytes:
        nonlocal looks
        looks -= 1
        if looks < 0:
            return b""
        # A character of several bytes has to be served whole.
        return source[start : start + 4] if source[start : start + 1] >= b"\x80" else source[start : start + 1]

    tree = Parser(syntax).parse(read)
    return tree if looks >= 0 else None


def _surroundings(text: str) -> Iterator[tuple[str, str]]:
    """What to put around a text that may start or end within a comment."""
    yield "", ""
    if "*/" in text and "/*" not in text[: text.index("*/")]:
        yield "/*\n", ""
    if "/*" in text and "*/" not in text[text.rindex("/*") :]:
        yield "", "\n*/"
    if "/*" not in text and "*/" not in text and text.lstrip().startswith("* "):
        yield "/*\n", "\n*/"


def _completions(language: Language, attempt: Fragment, bodies: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """What to put around a text whose brackets or surroundings are missing, the likeliest first."""
    closers, openers = _unmatched(attempt)
    for prefix, extra in _prefixes(language, closers):
        for body in bodies:
            yield prefix and prefix + "\n", _suffix(openers, body) + extra


def _unmatched(attempt: Fragment) -> tuple[str, str]:
    """The brackets closed but never opened in a fragment, and those opened but never closed."""
    from tree_sitter import QueryCursor

    nodes = QueryCursor(attempt.grammar.brackets).captures(attempt.tree.root_node).get("bracket", [])
    starts = sorted(node.start_byte for node in nodes if node.end_byte > node.start_byte)
    closers, openers = "", ""
    for bracket in (chr(attempt.source[start]) for start in starts):
        if bracket in _CLOSERS:
            openers += bracket
        elif openers:
            openers = openers[:-1]
        else:
            closers += bracket
    return closers, openers


def _prefixes(language: Language, closers: str) -> Iterator[tuple[str, str]]:
    """What may have preceded a fragment, and the brackets that it leaves open."""
    yield _opened(language, closers, language.function_head, "{"), ""
    if language.type_head:
        yield f"{language.type_head} {_opened(language, closers, language.method_head, '{')}".rstrip(), "\n}"
        if "}" in closers:
            yield _opened(language, closers, language.type_head, language.method_head), ""


def _opened(language: Language, closers: str, outermost: str, second: str) -> str:
    """Openings for the brackets that a fragment closes; the first one closed is the innermost."""
    heads = [outermost, second]
    openings: list[str] = []
    for closer in reversed(closers):
        if closer == ")":
            openings.append(f"{FILLER}(")
        elif closer == "]":
            openings.append("[")
        elif openings and openings[-1].endswith("("):
            openings.append(language.lambda_head or "{")
        else:
            openings.append((heads.pop(0) if heads else "") or "{")
    return " ".join(openings)


def _suffix(openers: str, body: str) -> str:
    """The brackets that a fragment leaves open, with a body behind the innermost parentheses."""
    closers = "".join(_CLOSERS[opener] for opener in reversed(openers))
    rest = closers.lstrip(")")
    inner = closers[: len(closers) - len(rest)]
    return f"{inner and chr(10) + inner}{body}{rest and chr(10) + rest}"
