"""Reads words, redirections and simple commands from the grammar's tree.

The grammar is trusted for where things begin and end, never for having seen everything. Each byte must be accounted
for: as part of a word or an operator that was read, or as blank. Whatever is left over is text that the grammar lost,
or a node that was not visited, and the command is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import partial
from itertools import pairwise
from typing import TypeAlias

from tree_sitter import Node as Leaf

from execledger.shell.expansions import Expansions, read_body, read_expression, read_word
from execledger.shell.nesting import MAX_DEPTH, Nesting, Refused
from execledger.shell.tree import Redirect, Sequence, Simple, Word
from execledger.shell.words import literal

ReadScript: TypeAlias = Callable[[str, int], Sequence | None]
"""Reads the text of a nested command at a depth; None if there is no command in it."""

_MAX_DIGITS = 9
_RESERVED = frozenset("! { } [[ if then elif else fi for while until do done case esac function select coproc".split())
_NOT_WORDS = frozenset("subshell heredoc_redirect herestring_redirect comment ( )".split())
_DELIMITERS = b" \t\n;&|()<>"
"""The bytes that end a word."""
_DESCRIPTOR = re.compile(rb"(?:^|[\s;&|()<>])\d+\Z|\}\Z")
_JOINED = re.compile(rb"[\w./:=,+@%^-]{2}")


class SimpleReader:
    """Reads the commands of one text that hold no lists of commands."""

    def __init__(self, text: bytes, nesting: Nesting, depth: int, read_script: ReadScript) -> None:
        self.text = text
        self.masked = nesting.masked
        self.heres = nesting.heres
        self.depth = depth
        self.read_script = read_script
        self._accounted = bytearray(len(text))

    def account(self, start: int, end: int) -> None:
        """Note that the bytes from ``start`` to ``end`` were read."""
        self._accounted[start:end] = b"\1" * (end - start)

    def token(self, node: Leaf) -> str:
        """Read an operator or a keyword; a keyword must be a word of its own."""
        start, end = node.start_byte, node.end_byte
        self.account(start, end)
        text = self.masked[start:end].decode()
        if text == "(" and self.masked[end : end + 1] == b"(":
            # Bash tries to read this as arithmetic.
            raise Refused("syntax")
        if text[0] not in "()<>;&|" and not (self._delimits(start - 1) and self._delimits(end)):
            raise Refused("lost-text")
        return text

    def _delimits(self, offset: int) -> bool:
        return not 0 <= offset < len(self.masked) or self.masked[offset] in _DELIMITERS

    def check_complete(self) -> None:
        """Every byte of the text was read."""
        if 0 in self._accounted:
            raise Refused("lost-text")

    def simple(self, node: Leaf) -> Simple:
        """A simple command."""
        children = node.children
        self.check_gaps(children, one_line=True)
        assignments: list[Leaf] = []
        pieces: list[Leaf] = []
        words: list[Word] = []
        redirects: list[Redirect] = []
        for child in children:
            kind = child.type
            if kind == "variable_assignment" and not (pieces or words):
                assignments.append(child)
            elif kind == "file_redirect":
                redirect, arguments = self.redirect(child)
                words += *self.words(pieces), *arguments
                redirects.append(redirect)
                pieces = []
            else:
                pieces.append(child)
        command = Simple((*words, *self.words(pieces)), self.words(assignments), tuple(redirects))
        _check_program(command)
        return command

    def redirect(self, node: Leaf) -> tuple[Redirect, tuple[Word, ...]]:
        """A redirection, and the arguments that stand behind its target: the grammar counts them in."""
        children = node.children
        self.check_gaps(children, one_line=True)
        descriptor = self._descriptor(children.pop(0)) if children[0].type == "file_descriptor" else None
        operator, *pieces = children
        self.token(operator)
        before = self.masked[max(0, operator.start_byte - _MAX_DIGITS - 2) : operator.start_byte]
        if descriptor is None and _DESCRIPTOR.search(before):
            # Bash takes the number for a descriptor, or puts one into a variable: `{name}> file`.
            raise Refused("syntax")
        if operator.type in (">&-", "<&-"):
            return Redirect(operator.type[:2], descriptor, Word("-", "-")), self.words(pieces)
        if not pieces:
            raise Refused("syntax")
        target, *arguments = self.words(pieces)
        if operator.type in (">&", "<&") and target.source.startswith("-"):
            # Bash ends this word after the dash, the grammar does not.
            raise Refused("syntax")
        here = self.heres.pop(operator.start_byte, None)
        if here is None or here.body is None:
            return Redirect(here.operator if here else operator.type, descriptor, target), tuple(arguments)
        if here.quoted or not any(mark in here.body for mark in "$`\\"):
            return Redirect(here.operator, descriptor, None, here.body), tuple(arguments)
        found = self._expanded(read_body, here.body.encode())
        scripts = self._scripts(found)
        return Redirect(here.operator, descriptor, None, here.body, True, scripts, found.evaluates), tuple(arguments)

    def _descriptor(self, node: Leaf) -> int:
        digits = self.text[node.start_byte : node.end_byte]
        if not digits.isdigit() or len(digits) > _MAX_DIGITS or not self._delimits(node.start_byte - 1):
            raise Refused("syntax")
        self.account(node.start_byte, node.end_byte)
        return int(digits)

    def words(self, pieces: Iterable[Leaf], *, regex: bool = False) -> tuple[Word, ...]:
        """The words that the pieces make: two with nothing between them are one word."""
        spans: list[tuple[int, int]] = []
        for piece in pieces:
            start, end = piece.start_byte, piece.end_byte
            if piece.type in _NOT_WORDS:
                raise Refused("syntax")
            gap = start - spans[-1][1] if spans else 1
            if gap != 1 and not self.text[start - gap : start].replace(b"\\\n", b""):
                start = spans.pop()[0]
            spans.append((start, end))
        return tuple(self._word(start, end, regex) for start, end in spans)

    def _word(self, start: int, end: int, regex: bool) -> Word:
        self.account(start, end)
        text = self.text[start:end]
        source = text.decode()
        if source.startswith(("#", "\\\n")):
            # To bash, a comment begins here.
            raise Refused("lost-text")
        value = literal(source)
        if value is not None:
            return Word(source, value)
        if b"\\\n" in text:
            # To bash the lines are one: a sign may go on in the next line.
            raise Refused("lost-text")
        found = self._expanded(partial(read_word, regex=regex), text)
        return Word(source, None, self._scripts(found), found.evaluates)

    def arithmetic(self, start: int, end: int) -> Word:
        """An arithmetic expression, as one dynamic word."""
        self.account(start, end)
        text = self.text[start:end]
        found = self._expanded(read_expression, text)
        return Word(text.decode(), None, self._scripts(found), found.evaluates)

    def _expanded(self, read: Callable[[bytes], Expansions], text: bytes) -> Expansions:
        """The expansions in a text; ``read`` says of which kind it is."""
        try:
            return read(text)
        except Refused as refusal:
            raise Refused("nested" if refusal.reason == "syntax" else refusal.reason) from None

    def _scripts(self, found: Expansions) -> tuple[Sequence, ...]:
        """The commands inside a word or the body of a here-document."""
        if found.scripts and self.depth >= MAX_DEPTH:
            raise Refused("too-deep")
        try:
            scripts = [self.read_script(script.decode(), self.depth + 1) for script in found.scripts]
        except Refused as refusal:
            raise Refused("too-deep" if refusal.reason == "too-deep" else "nested") from None
        return tuple(script for script in scripts if script)

    def breaks(self, start: int, end: int) -> bool:
        """Whether the gap holds a line break; any text in it is text that the grammar lost."""
        if start >= end:
            return False
        self.account(start, end)
        gap = self.masked[start:end]
        if gap == b" ":
            return False
        gap = gap.replace(b"\\\n", b"")
        # A line that goes on in the next one joins both sides: letters, but nothing else.
        joins = not gap and not _JOINED.fullmatch(self.masked[start - 1 : start] + self.masked[end : end + 1])
        if gap.strip(b" \t\n") or joins:
            raise Refused("lost-text")
        return b"\n" in gap

    def check_gaps(self, nodes: list[Leaf], one_line: bool = False) -> None:
        """There are only blanks between the nodes, and with ``one_line`` no line break."""
        for left, right in pairwise(nodes):
            if self.breaks(left.end_byte, right.start_byte) and one_line:
                raise Refused("lost-text")


def _check_program(command: Simple) -> None:
    """A reserved word is no program: the grammar took the syntax that it begins for arguments."""
    for word in command.words:
        source = word.source.replace("\\\n", "")
        if source in _RESERVED and not command.assignments:
            raise Refused("syntax")
        if source not in ("time", "-p"):
            return
