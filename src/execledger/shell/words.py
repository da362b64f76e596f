"""The value of a shell word: what is left of it after quote removal, if that is certain."""

from __future__ import annotations

import re

from execledger.shell.tree import Word

_SAFE = re.compile(r"[\w./:=,+@%^-]*")
_EXPANSION = r"\$[\w@*#?$!{(\[-]"
_PIECE = re.compile(
    r"""(?P<plain>[^\\'"$`*?\[{~\s;&|<>()]+)
    | \\(?P<escaped>.)
    | '(?P<single>[^']*)'
    | "(?P<double>(?:[^"\\]|\\.)*)"
    | \$'(?P<ansi>(?:[^'\\]|\\.)*)'
    | (?P<dollar>\$(?![\w@*#?$!{(\['"-]|\\\n))
    | (?P<tilde>(?<=[^=:\n])~)
    | (?P<bracket>[\[{])""",
    re.VERBOSE | re.DOTALL,
)
_DYNAMIC_IN_QUOTES = re.compile(r"`|" + _EXPANSION)
_ESCAPE_IN_QUOTES = re.compile(r'\\([$`"\\\n])')
_ANSI_ESCAPE = re.compile(
    r"""\\(?:(?P<letter>[abeEfnrtv\\'"?])|x(?P<hex>[0-9a-fA-F]{1,2})|(?P<octal>[0-7]{1,3})
    |u(?P<short>[0-9a-fA-F]{1,4})|U(?P<long>[0-9a-fA-F]{1,8})|(?P<control>c))""",
    re.VERBOSE,
)
_ANSI_LETTERS = dict(zip("abeEfnrtv", "\a\b\x1b\x1b\f\n\r\t\v", strict=True))


def literal(source: str) -> str | None:
    """The word without its quotes; None if it expands, or if that is not certain."""
    if _SAFE.fullmatch(source):
        return source
    values: list[str] = []
    position = 0
    while position < len(source):
        piece = _PIECE.match(source, position)
        value = _value(piece) if piece else None
        if piece is None or value is None:
            return None
        values.append(value)
        position = piece.end()
    return "".join(values)


def _value(piece: re.Match[str]) -> str | None:
    """The value of one quoted or unquoted piece of a word."""
    kind = str(piece.lastgroup)
    text = piece[kind]
    if kind == "escaped":
        return "" if text == "\n" else text
    if kind == "double":
        return _double_quoted(text)
    if kind == "ansi":
        return _ansi_quoted(text)
    return None if kind == "bracket" and _expands(piece.string, piece.start()) else text


def _expands(source: str, start: int) -> bool:
    """Whether the bracket at ``start`` may begin a pattern such as ``[ab]``, ``{a,b}`` or ``{1..3}``."""
    if source[start] == "[":
        return source.rfind("]") > start
    comma = source.find(",", start)
    return 0 < comma < source.rfind("}") or ".." in source[start : source.find("}", start) + 1]


def _double_quoted(text: str) -> str | None:
    """The value of a double-quoted text."""
    if "\\" not in text:
        return None if _DYNAMIC_IN_QUOTES.search(text) else text
    if _DYNAMIC_IN_QUOTES.search(re.sub(r"\\.", "__", text, flags=re.DOTALL)):
        return None
    return _ESCAPE_IN_QUOTES.sub(lambda escape: escape[1].strip("\n"), text)


def _ansi_quoted(text: str) -> str | None:
    """The value of ``$'...'``; None where it makes a NUL, a lone byte or no character at all."""
    codes: list[int] = []

    def decode(escape: re.Match[str]) -> str:
        kind = str(escape.lastgroup)
        if kind == "letter":
            return _ANSI_LETTERS.get(escape[kind], escape[kind])
        code = 0 if kind == "control" else int(escape[kind], 8 if kind == "octal" else 16)
        is_character = 0 < code < (0x80 if kind in ("hex", "octal") else 0xD800)
        codes.append(code if is_character else 0)
        return chr(codes[-1])

    value = _ANSI_ESCAPE.sub(decode, text)
    return value if all(codes) else None


STATUS = ("$?", "$#", "$$", "$!", '"$?"', '"$#"', '"$$"', '"$!"')
"""Expansions that are always numbers, or nothing."""
QUOTED = re.compile(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
"""Quoted text is never split into several words."""
UNQUOTED = re.compile(r"[$`*?\[{]")
"""What begins an expansion outside of quotes."""


def splits(word: Word) -> bool:
    """A computed word that may become several words, or none."""
    return word.literal is None and word.source not in STATUS and bool(UNQUOTED.search(QUOTED.sub("", word.source)))


def may_be_option(word: Word) -> bool:
    """A computed word may begin with a dash, or be split into words that do."""
    if word.literal is not None:
        return False
    bare = QUOTED.sub("", word.source)
    return "$" in bare or "`" in bare or word.source.lstrip("\"'\\")[:1] in ("-", "$", "`", "*", "?", "[", "{")
