"""Reads commands from the grammar's tree: words, redirections, simple and compound commands, pipelines and lists.

The grammar is trusted for where things begin and end, never for having seen everything. Each byte must be accounted
for: as part of a word or an operator that was read, or as blank. Whatever is left over is text that the grammar lost,
or a node that was not visited, and the command is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import pairwise
from typing import TypeAlias

from msgspec import structs
from tree_sitter import Node as Leaf

from execledger.shell.expansions import Expansions, read_body, read_expression, read_word
from execledger.shell.heredocs import MAX_DEPTH, Nesting, Refused
from execledger.shell.tree import Compound, Item, Node, Pipeline, Redirect, Sequence, Simple, Word
from execledger.shell.words import literal


class ListBuilder:
    """Takes commands and operators from left to right and gives the sequence that they make."""

    def __init__(self) -> None:
        self._items: list[Item] = []
        self._parts: list[Node] = []
        self._node: Simple | Compound | None = None
        self._negated = False

    def command(self, node: Simple | Compound) -> None:
        """Add a command; two commands must be separated by an operator."""
        if self._node is not None:
            raise Refused("syntax")
        self._node = node

    def redirect(self, redirect: Redirect, arguments: tuple[Word, ...]) -> None:
        """Add a redirection, and the arguments after it, to the command before it."""
        node = Simple() if self._node is None else self._node
        if arguments and isinstance(node, Compound):
            raise Refused("syntax")
        self._node = structs.replace(node, redirects=(*node.redirects, redirect), words=(*node.words, *arguments))

    def negate(self) -> None:
        """Add a ``!``, which belongs to the whole pipeline behind it."""
        if self._node is not None or self._parts:
            raise Refused("syntax")
        self._negated = not self._negated

    def pipe(self) -> None:
        """Add a ``|`` or ``|&``."""
        if self._node is None:
            raise Refused("syntax")
        self._parts.append(self._node)
        self._node = None

    def newline(self) -> None:
        """Add a line break: it ends a command, and is blank elsewhere."""
        if self._node is not None:
            self.end(";")

    def end(self, operator: str) -> None:
        """Add ``;``, ``&``, ``&&`` or ``||``."""
        self.pipe()
        node = self._parts[0] if len(self._parts) == 1 else Pipeline(tuple(self._parts))
        self._items.append(Item(node, operator, self._negated))
        self._parts, self._negated = [], False

    def sequence(self) -> Sequence:
        """What was built; nothing may be left open."""
        if self._node is not None:
            self.end("")
        elif self._items and self._items[-1].operator == ";":
            self._items[-1] = structs.replace(self._items[-1], operator="")
        if self._parts or self._negated or (self._items and self._items[-1].operator in ("&&", "||")):
            raise Refused("syntax")
        return Sequence(tuple(self._items))


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
        """A redirection, and the arguments after its target: the grammar makes them part of it."""
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


_TRANSPARENT = frozenset(
    "program list pipeline redirected_statement negated_command elif_clause else_clause do_group".split()
)
_EXPRESSIONS = frozenset("unary_expression binary_expression parenthesized_expression".split())
_KINDS = {
    "subshell": "subshell",
    "compound_statement": "group",
    "if_statement": "if",
    "for_statement": "for",
    "c_style_for_statement": "for",
    "while_statement": "while",
    "case_statement": "case",
    "test_command": "test",
}
_KEYWORDS = frozenset("( ) { } if then elif else fi for select while until do done".split())
_OPERATORS = frozenset("; & && || | |& !".split())
_CASE_ENDS = (";;", ";&", ";;&")
_BEFORE_COMMENT = b" \t\n;&|()"
_ERROR_TO_OUTPUT = Redirect(">&", 2, Word("1", "1"))
"""What ``|&`` adds to the command before it."""


def _units(nodes: list[Leaf], through: frozenset[str] = _TRANSPARENT) -> Iterator[Leaf]:
    """The nodes in the order of writing, looking through those that only group."""
    stack = nodes[::-1]
    while stack:
        node = stack.pop()
        if node.type in through:
            stack.extend(reversed(node.children))
        else:
            yield node


def _with_body(node: Leaf) -> list[Leaf]:
    """The children of a compound command; a counting loop may have its body in braces, not in ``do`` and ``done``."""
    *head, last = node.children
    braces = node.type == "c_style_for_statement" and last.type == "compound_statement"
    return [*head, *last.children] if braces else node.children


def _index(nodes: list[Leaf], kind: str) -> int:
    """The index of the first node of a kind."""
    for index, node in enumerate(nodes):
        if node.type == kind:
            return index
    raise Refused("syntax")


class CommandReader(SimpleReader):
    """Reads all commands of one text."""

    def sequence(self, nodes: list[Leaf], start: int, end: int) -> Sequence:
        """The list of commands that fills the text from ``start`` to ``end``."""
        builder = ListBuilder()
        for unit in _units(nodes):
            if self.breaks(start, unit.start_byte):
                builder.newline()
            self._add(builder, unit)
            start = unit.end_byte
        self.breaks(start, end)
        return builder.sequence()

    def _add(self, builder: ListBuilder, unit: Leaf) -> None:
        kind = unit.type
        if kind == "command":
            builder.command(self.simple(unit))
        elif kind == "file_redirect":
            builder.redirect(*self.redirect(unit))
        elif kind == "comment":
            self._comment(unit)
        elif kind in _OPERATORS:
            self._operator(builder, self.token(unit))
        else:
            builder.command(self._other(unit))

    def _operator(self, builder: ListBuilder, operator: str) -> None:
        if operator == "!":
            builder.negate()
        elif operator.startswith("|") and operator != "||":
            if operator == "|&":
                builder.redirect(_ERROR_TO_OUTPUT, ())
            builder.pipe()
        else:
            builder.end(operator)

    def _comment(self, node: Leaf) -> None:
        """A ``#`` begins a comment only where a word could begin, and the comment ends with the line."""
        start, end = node.start_byte, node.end_byte
        if (start and self.text[start - 1] not in _BEFORE_COMMENT) or b"\n" in self.text[start:end]:
            raise Refused("lost-text")
        self.account(start, end)

    def _other(self, node: Leaf) -> Simple | Compound:
        """Any command but the commonest kind."""
        kind = node.type
        if kind in _KINDS:
            return self._nested(node)
        if kind == "variable_assignment":
            return Simple(assignments=self.words([node]))
        if kind not in ("variable_assignments", "declaration_command", "unset_command"):
            raise Refused("function" if kind == "function_definition" else "syntax")
        self.check_gaps(node.children, one_line=True)
        words = self.words(node.children)
        return Simple(assignments=words) if kind == "variable_assignments" else Simple(words)

    def _nested(self, node: Leaf) -> Simple | Compound:
        """A command that may hold others, one level deeper."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise Refused("too-deep")
        if node.type == "case_statement":
            found: Simple | Compound = self._case(node)
        elif node.children[0].type in ("[", "[[", "(("):
            found = self._test(node)
        else:
            found = self._compound(node)
        self.depth -= 1
        return found

    def _compound(self, node: Leaf) -> Compound:
        """A command that is made of lists between keywords."""
        segments: list[list[Leaf]] = []
        for unit in _units(_with_body(node)):
            if unit.type in _KEYWORDS:
                self.token(unit)
                segments.append([unit])
            elif segments:
                segments[-1].append(unit)
            else:
                raise Refused("syntax")
        bodies: list[Sequence] = []
        words: tuple[Word, ...] = ()
        for (keyword, *units), (following, *_) in pairwise(segments):
            if keyword.type in ("for", "select"):
                words = self._loop_words([keyword, *units, following])
            else:
                bodies.append(self.sequence(units, keyword.end_byte, following.start_byte))
        if not all(body.items for body in bodies):
            raise Refused("syntax")
        return Compound(_KINDS[node.type], tuple(bodies), words, mark=self._mark(segments[0]))

    def _mark(self, head: list[Leaf]) -> str:
        """The variable of a loop; ``until`` and ``select`` by their own names."""
        keyword, *units = head
        if keyword.type in ("for", "select") and units[0].type != "((":
            variable = self.masked[units[0].start_byte : units[0].end_byte].decode()
            return variable if keyword.type == "for" else f"select {variable}"
        return keyword.type if keyword.type == "until" else ""

    def _loop_words(self, header: list[Leaf]) -> tuple[Word, ...]:
        """The words that a loop runs over; of a counting loop its bounds, as one word."""
        if header[1].type == "((":
            end = _index(header, "))")
            self.token(header[1])
            self.token(header[end])
            self._blank(header[:2])
            self._blank(header[end:])
            return (self.arithmetic(header[1].end_byte, header[end].start_byte),)
        self._blank(header)
        self.words(header[1:2])
        return self.words(node for node in header[2:-1] if node.type not in (";", "in", "comment"))

    def _blank(self, nodes: list[Leaf]) -> None:
        """There are only blanks, comments and separators between the parts of a compound command."""
        self.check_gaps(nodes)
        for node in nodes:
            if node.type == "comment":
                self._comment(node)
            elif node.type in (";", "in"):
                self.token(node)

    def _case(self, node: Leaf) -> Compound:
        """The subject of a ``case`` with any pattern that runs commands, and the list behind each pattern."""
        children = node.children
        head = _index(children, "in")
        self._blank(children)
        self.token(children[0])
        self.token(children[-1])
        words = list(self.words(child for child in children[1:head] if child.type != "comment"))
        bodies: list[Sequence] = []
        marks: list[str] = []
        for item in children:
            if item.type == "case_item":
                patterns, body = self._case_item(item)
                words += (pattern for pattern in patterns if pattern.scripts or pattern.evaluates)
                bodies.append(body)
                end = item.children[-1].type
                marks += (*(pattern.source for pattern in patterns), end if end in _CASE_ENDS else ";;")
        return Compound("case", tuple(bodies), tuple(words), mark=" ".join(marks))

    def _case_item(self, node: Leaf) -> tuple[tuple[Word, ...], Sequence]:
        children = node.children
        close = _index(children, ")")
        self._blank(children[: close + 1])
        for child in children[: close + 1]:
            if child.type in ("(", "|", ")"):
                self.token(child)
        patterns = self.words(child for child in children[:close] if child.type not in ("(", "|"))
        last = children[-1]
        ended = last.type in _CASE_ENDS and bool(self.token(last))
        body = children[close + 1 : -1] if ended else children[close + 1 :]
        end = last.start_byte if ended else node.end_byte
        return patterns, self.sequence(body, children[close].end_byte, end)

    def _test(self, node: Leaf) -> Simple | Compound:
        """``[ ]`` is a program with arguments, ``[[ ]]`` and ``(( ))`` are syntax."""
        opening, *inside, closing = node.children
        self.token(opening)
        self.token(closing)
        if opening.type == "((":
            return Compound("test", words=(self.arithmetic(opening.end_byte, closing.start_byte),))
        units = list(_units(inside, _EXPRESSIONS))
        self.check_gaps([opening, *units, closing], one_line=opening.type == "[")
        if opening.type == "[":
            return Simple(self.words([opening, *units, closing]))
        text = self.text[opening.end_byte : closing.start_byte].decode()
        if "\\\n" in text:
            # A word may go on in the next line: what is an operator and what is not is then hard to tell.
            raise Refused("syntax")
        return Compound("test", words=tuple(self._operands(units)), mark=text.strip())

    def _operands(self, units: list[Leaf]) -> Iterator[Word]:
        """The operands of ``[[ ]]``: what is neither an operator nor a bracket."""
        operands: list[Leaf] = []
        regex = False
        for unit in units:
            if unit.is_named and unit.type != "test_operator":
                operands.append(unit)
                continue
            yield from self.words(operands, regex=regex)
            operands, regex = [], self.token(unit) == "=~"
        yield from self.words(operands, regex=regex)
