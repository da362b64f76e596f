"""Reads lists and compound commands from the grammar's tree."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from tree_sitter import Node as Leaf

from execledger.shell.lists import ListBuilder
from execledger.shell.nesting import MAX_DEPTH, Refused
from execledger.shell.simple import SimpleReader
from execledger.shell.tree import Compound, Redirect, Sequence, Simple, Word

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
_JOINED = Redirect(">&", 2, Word("1", "1"))
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
    """Where the first node of a kind stands."""
    for index, node in enumerate(nodes):
        if node.type == kind:
            return index
    raise Refused("syntax")


class Reader(SimpleReader):
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
                builder.redirect(_JOINED, ())
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
