"""The expansions in a shell word or here-document: the commands inside, and whether the shell may run more than these.

A word is read to its last byte. Every ``${...}`` has to be one of the listed forms; a form that evaluates an expression
or computed text is read as well, and marked, because such text may hide a command (``evaluation`` says how).
Anything else is refused.
"""

from __future__ import annotations

import re

from msgspec import Struct

from execledger.shell.heredocs import MAX_DEPTH, Refused, closing


class Expansions(Struct):
    """What the shell expands in one word, or in the body of one here-document."""

    scripts: list[bytes] = []
    """The commands of its substitutions, in order."""
    evaluates: bool = False
    """It holds arithmetic on more than numbers, an indirection, a computed subscript or an assignment."""


_WORD = re.compile(rb"""[^\\'"$`\s;&|<>()]+|\\[\s\S]|'[^']*'|\$'(?:[^'\\]|\\[\s\S])*'""")
_REGEX = re.compile(rb"""[^\\'"$`\s;&<>]+|\\[\s\S]|'[^']*'|\$'(?:[^'\\]|\\[\s\S])*'""")
_QUOTED = re.compile(rb"""[^"\\$`]+|\\[\s\S]""")
_BODY = re.compile(rb"""[^\\$`]+|\\[\s\S]?""")
_VALUE = re.compile(rb"""[^\\'"$`{}()<>\n]+|\\[^\n]|'[^'\n]*'""")
_QUOTED_VALUE = re.compile(rb"""[^\\'"$`{}\n]+|\\[^\n]""")
_ARRAY = re.compile(rb"[A-Za-z_]\w*\+?=\(")
_BLANKS = re.compile(rb"(?:[ \t\n]|\\\n)+")
_BACKQUOTED = re.compile(rb"((?:[^`\\]|\\[\s\S])*)`")
_NAME = re.compile(rb"[A-Za-z_]\w*|[0-9@*#?$!-]")
_OLD_ARITHMETIC = re.compile(rb"""[^][\\'"`$(){}\n]*\]""")
_NUMBERS = re.compile(rb"[\d\s+*/%<>=!&|^~?:,-]*")
_EXPRESSION = re.compile(rb"""[^\\'"$`()]+""")
_ESCAPE = re.compile(rb"\\([$`\\])")
_ESCAPE_IN_QUOTES = re.compile(rb'\\([$`"\\])')

_PARAMETER = re.compile(rb"(?:(?:[A-Za-z_]\w*|\d+|[@*])(?:\[(?:[@*]|-?\d+)\])?|[#?$!-])")
_LENGTH = re.compile(rb"#(?:[A-Za-z_]\w*(?:\[(?:[@*]|-?\d+)\])?|\d+|[@*])\}")
_PLAIN = re.compile(_PARAMETER.pattern + rb"(?=[}:])(?::(?![-+?=])[\s\d()-]*(?::[\s\d()-]*)?)?\}")
"""A whole value, or a part of it that numbers cut out."""
_VALUED = re.compile(rb":?[-+?]|##?|%%?|/[/#%]?|\^\^?|,,?")
_EVALUATING = re.compile(
    rb"![A-Za-z_]\w*(?:\[[@*]\]|[@*])?\}|#?[A-Za-z_]\w*\[[^][\\'\"`{}()\s]+\]\}"
    rb"|(?:[A-Za-z_]\w*|[@*])(?:\[[@*]\])?(?::(?![-+?=])[^\\'\"`{}()\n]+|@[A-Za-z])\}"
)
"""Forms that evaluate: an indirection, a computed subscript, a cut by expressions, a transformation."""
_ASSIGNING = re.compile(rb"[A-Za-z_]\w*:?=")


def read_word(source: bytes, *, regex: bool = False) -> Expansions:
    """The expansions of one whole word; a pattern behind ``=~`` (``regex``) may hold brackets and bars as well."""
    return _Reader(source).word(_REGEX if regex else _WORD)


def read_expression(source: bytes) -> Expansions:
    """The expansions of an arithmetic expression, without the brackets around it."""
    reader = _Reader(source + b"))")
    numeric = reader.arithmetic()
    if reader.position != len(source) + 2:
        raise Refused("lost-text")
    reader.found.evaluates |= not numeric
    return reader.found


def read_body(text: bytes) -> Expansions:
    """The expansions of a here-document's body; its extent is certain, so what is not understood only marks it."""
    # A line that ends in a backslash goes on in the next one.
    text = re.sub(rb"\\(\n|[^\n])", lambda escape: b"" if escape[1] == b"\n" else escape[0], text)
    reader = _Reader(text)
    try:
        while reader.position < len(text):
            reader.piece(_BODY, quoted=True)
    except Refused as refusal:
        if refusal.reason != "lost-text":
            raise
        reader.found.evaluates = True
    return reader.found


class _Reader:
    """One pass over a word."""

    def __init__(self, text: bytes) -> None:
        self.text = text
        self.position = 0
        self.depth = 0
        self.found = Expansions([])

    def word(self, plain: re.Pattern[bytes]) -> Expansions:
        if array := _ARRAY.match(self.text):
            self.position = array.end()
            self._elements()
        while self.position < len(self.text):
            self.piece(plain, quoted=False)
        return self.found

    def piece(self, plain: re.Pattern[bytes], *, quoted: bool) -> None:
        """One plain or quoted piece, or one expansion."""
        match = plain.match(self.text, self.position)
        if match and match.end() > self.position:
            self.position = match.end()
        elif self._take(b"$"):
            self._dollar(quoted)
        elif self._take(b"`"):
            self._backquoted(quoted)
        elif not quoted and self._take(b'"'):
            self._until(b'"', _QUOTED, quoted=True)
        elif plain is _WORD and (self._take(b"<(") or self._take(b">(")):
            self._command()
        else:
            raise Refused("lost-text")

    def _take(self, token: bytes) -> bool:
        found = self.text.startswith(token, self.position)
        self.position += len(token) if found else 0
        return found

    def _match(self, pattern: re.Pattern[bytes]) -> bool:
        match = pattern.match(self.text, self.position)
        self.position = match.end() if match else self.position
        return match is not None

    def _until(self, end: bytes, plain: re.Pattern[bytes], *, quoted: bool) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise Refused("too-deep")
        while not self._take(end):
            self.piece(plain, quoted=quoted)
        self.depth -= 1

    def _elements(self) -> None:
        """The elements of an array that is assigned as a whole."""
        while not self._take(b")"):
            if self.text.startswith(b"#", self.position):
                raise Refused("lost-text")
            if not self._match(_BLANKS):
                self.piece(_WORD, quoted=False)

    def _dollar(self, quoted: bool) -> None:
        if self._take(b"(("):
            self.found.evaluates |= not self.arithmetic()
        elif self._take(b"("):
            self._command()
        elif self._take(b"{"):
            self._parameter(quoted)
        elif self._take(b"["):
            self.found.evaluates = True
            if not self._match(_OLD_ARITHMETIC):
                raise Refused("lost-text")
        else:
            # A dollar sign before anything else is literal.
            self._match(_NAME)

    def _command(self) -> None:
        end = closing(self.text, self.position)
        self.found.scripts.append(self.text[self.position : end])
        self.position = end + 1

    def _backquoted(self, quoted: bool) -> None:
        match = _BACKQUOTED.match(self.text, self.position)
        if match is None:
            raise Refused("lost-text")
        self.found.scripts.append((_ESCAPE_IN_QUOTES if quoted else _ESCAPE).sub(rb"\1", match[1]))
        self.position = match.end()

    def _parameter(self, quoted: bool) -> None:
        """``${...}``, by the list of its forms."""
        if self._match(_LENGTH) or self._match(_PLAIN):
            return
        if self._match(_EVALUATING):
            self.found.evaluates = True
            return
        if self._match(_ASSIGNING):
            self.found.evaluates = True
        elif not (self._match(_PARAMETER) and self._match(_VALUED)):
            raise Refused("lost-text")
        self._until(b"}", _QUOTED_VALUE if quoted else _VALUE, quoted=quoted)

    def arithmetic(self) -> bool:
        """Read to the ``))`` that ends an expression: whether it consists of numbers."""
        numeric, depth = True, 0
        while True:
            if match := _EXPRESSION.match(self.text, self.position):
                numeric = numeric and _NUMBERS.fullmatch(match[0]) is not None
                self.position = match.end()
            elif self._take(b"("):
                depth += 1
            elif depth and self._take(b")"):
                depth -= 1
            elif self._take(b"))"):
                return numeric
            else:
                numeric = False
                self._nested_piece()

    def _nested_piece(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH or self.text[self.position : self.position + 1] not in (b"$", b"`"):
            raise Refused("too-deep" if self.depth > MAX_DEPTH else "lost-text")
        self.piece(_EXPRESSION, quoted=True)
        self.depth -= 1
