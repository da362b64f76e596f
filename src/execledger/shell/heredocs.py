"""Here-documents in shell text, and where a substitution ends, found by following the quotes.

The grammar loses parts of here-documents without reporting an error, so they are cut out here, before it sees the text.
All offsets are in bytes: every character that matters is ASCII.
"""

from __future__ import annotations

import re

from msgspec import Struct

MAX_DEPTH = 64
"""The greatest depth of nested brackets, commands or substitutions that is read."""

_PLAIN = re.compile(
    rb"""\\[\s\S] | \$?'(?:(?<=\$')(?:[^'\\]|\\[\s\S])*|[^']*)' | \$\(\(? | \$\{ | [<>]\( | <<<? | [\n"`()}]
    | (?<![^\s;&|()<>])\#[^\n]*""",
    re.VERBOSE,
)
_QUOTED = re.compile(rb"""\\[\s\S] | \$\(\(? | \$\{ | ["`}]""", re.VERBOSE)
_DELIMITER = re.compile(rb"""(-?)[ \t]*((?:\\.|'[^'\n]*'|"[^"\n]*"|[^\s;&|()<>'"\\`$])+)(?=[\s;&|)<>]|\Z)(?![<>]\()""")
_LEADING_TABS = re.compile(rb"^\t+", re.MULTILINE)
_SUBSTITUTIONS = (b"$(", b"<(", b">(", b"`")


class Refused(Exception):
    """The text can't be read with certainty; the reason is one of ``tree.REASONS``."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Here(Struct):
    """A here-document or here-string."""

    operator: str
    """``<<``, ``<<-`` or ``<<<``."""
    delimiter: bytes = b""
    """The line that ends the body."""
    quoted: bool = False
    """The delimiter is quoted: nothing in the body is expanded."""
    body: str | None = None
    """The text; None for a here-string."""


class Nesting(Struct):
    """What ``scan`` found."""

    masked: bytes
    """The text, of the same length, with every here-document made to look like ``< DELIMITER`` and its body blank."""
    heres: dict[int, Here]
    """The here-documents and here-strings outside of substitutions, by the offset of their operator."""


class _Frame(Struct):
    """One open bracket or quote."""

    opener: bytes
    quoted: bool
    """Its content reads as in double quotes."""
    inert: bool
    """Its content holds no here-documents or comments of its own."""
    pending: list[Here]
    """The here-documents whose bodies begin after the next newline."""


def scan(text: bytes) -> Nesting:
    """Find the here-documents of a script."""
    return _Scanner(text).run()


def closing(text: bytes, start: int) -> int:
    """The offset of the bracket that ends the substitution whose commands begin at ``start``."""
    return _Scanner(text).closing(start)


def line_ends(text: bytes) -> list[int]:
    """The offsets behind the lines of a script that end outside of quotes, brackets and here-documents.

    Text that can't be read to its end gives the lines before the place where that shows.
    """
    scanner = _Scanner(text)
    try:
        scanner.run()
    except Refused:
        return scanner.line_ends
    return scanner.line_ends


class _Scanner:
    """One pass over the text with a stack of open brackets and quotes."""

    def __init__(self, text: bytes) -> None:
        self.text = text
        self.position = 0
        self.stack = [_Frame(b"", False, False, [])]
        self.heres: dict[int, Here] = {}
        self.blanks: list[tuple[int, int, bytes]] = []
        self.line_ends: list[int] = []

    def run(self) -> Nesting:
        """Read to the end."""
        while self._step():
            pass
        if len(self.stack) > 1:
            raise Refused("syntax")
        self.position = len(self.text)
        self._bodies()
        masked = bytearray(self.text)
        for start, end, replacement in self.blanks:
            masked[start:end] = replacement.ljust(end - start)
        return Nesting(bytes(masked), self.heres)

    def closing(self, start: int) -> int:
        """Read to the end of the substitution that begins at ``start``."""
        self.position = start
        self.stack.append(_Frame(b"$(", False, False, []))
        while len(self.stack) > 1:
            if not self._step():
                raise Refused("syntax")
        return self.position - 1

    def _step(self) -> bool:
        match = (_QUOTED if self.stack[-1].quoted else _PLAIN).search(self.text, self.position)
        if match is None:
            return False
        self.position = match.end()
        self._token(match.group(), match.start())
        return True

    def _token(self, token: bytes, start: int) -> None:
        frame = self.stack[-1]
        if token in (b"$(", b"$((", b"${", b"<(", b">(", b"("):
            self._open(token)
        elif token in (b'"', b"`", b")", b"}"):
            self._quote_or_close(token)
        elif token.startswith(b"#"):
            self.position = start + 1 if frame.inert else self.position
        elif frame.inert:
            return
        elif token == b"\n":
            self._bodies()
            if len(self.stack) == 1:
                self.line_ends.append(self.position)
        elif token.startswith(b"<<"):
            self._here(token, start)

    def _open(self, token: bytes) -> None:
        """Enter a bracket; ``((`` is arithmetic, where ``<<`` is a shift."""
        frame = self.stack[-1]
        if token == b"(" and not frame.inert and self.text.startswith(b"(", self.position):
            token, self.position = b"((", self.position + 1
        if len(self.stack) > MAX_DEPTH:
            raise Refused("too-deep")
        fresh = token in _SUBSTITUTIONS
        inert = token in (b'"', b"${", b"((", b"$((") or (frame.inert and not fresh)
        quoted = token == b'"' or (token == b"${" and frame.quoted)
        self.stack.append(_Frame(token, quoted, inert, [] if fresh else frame.pending))

    def _quote_or_close(self, token: bytes) -> None:
        opener = self.stack[-1].opener
        if token in (b'"', b"`") and opener != token:
            self._open(token)
        elif opener == token or (token == b"}" and opener == b"${") or (token == b")" and opener.endswith(b"(")):
            self._close()

    def _close(self) -> None:
        """Leave the innermost bracket."""
        frame = self.stack.pop()
        if frame.opener.endswith(b"(("):
            if not self.text.startswith(b")", self.position):
                raise Refused("syntax")
            self.position += 1
        if frame.opener in _SUBSTITUTIONS and frame.pending:
            raise Refused("syntax")

    def _nested(self) -> bool:
        return any(frame.opener in _SUBSTITUTIONS for frame in self.stack)

    def _here(self, token: bytes, start: int) -> None:
        """Note a here-document or here-string, and mask its operator as that of a plain input file."""
        here = Here("<<<")
        if token == b"<<":
            delimiter = _DELIMITER.match(self.text, self.position)
            if not delimiter:
                raise Refused("syntax")
            dash, word = delimiter.groups()
            bare = re.sub(rb"""\\(.)|['"]""", rb"\1", word)
            here = Here("<<" + dash.decode(), bare, bare != word)
            self.stack[-1].pending.append(here)
            self.position = delimiter.end()
        self.blanks.append((start, start + len(here.operator), b"<"))
        if not self._nested():
            self.heres[start] = here

    def _bodies(self) -> None:
        """Read the bodies that begin here."""
        pending = self.stack[-1].pending
        if any(frame.pending and frame.pending is not pending for frame in self.stack):
            raise Refused("syntax")
        for number, here in enumerate(pending):
            start = self.position + (number > 0)
            end, self.position = self._ending(here, start)
            self.blanks.append((start, self.position, b""))
            body = self.text[start:end]
            if self.position == end and body and not body.endswith(b"\n"):
                # Bash ends the last line of a body that runs to the end of the text.
                body += b"\n"
            here.body = (_LEADING_TABS.sub(b"", body) if here.operator == "<<-" else body).decode()
        pending.clear()

    def _ending(self, here: Here, start: int) -> tuple[int, int]:
        """Where the body ends, and where the line that ends it ends; the end of the text if there is none."""
        tabs = rb"\t*" if here.operator == "<<-" else b""
        line_pattern = re.compile(b"^" + tabs + re.escape(here.delimiter) + b"$", re.MULTILINE)
        for line in line_pattern.finditer(self.text, start):
            if here.quoted or line.start() == start or not _is_continued(self.text, line.start() - 1):
                return line.start(), line.end()
        return len(self.text), len(self.text)


def _is_continued(text: bytes, newline: int) -> bool:
    """Whether a backslash that is not itself escaped precedes the newline."""
    start = newline
    while start and text[start - 1] == ord("\\"):
        start -= 1
    return (newline - start) % 2 == 1
