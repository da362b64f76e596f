"""Pipelines and lists, rebuilt from their operators in the order of writing.

The grammar nests ``a | b | c && d`` wrongly and hangs ``b > f`` of ``a && b > f`` on the whole list, so its nesting is
not used: ``|`` binds tighter than ``&&`` and ``||``, these tighter than ``;``, and a redirection belongs to what
stands before it.
"""

from __future__ import annotations

from msgspec import structs

from execledger.shell.nesting import Refused
from execledger.shell.tree import Compound, Item, Node, Pipeline, Redirect, Sequence, Simple, Word


class ListBuilder:
    """Takes commands and operators from left to right and gives the sequence that they make."""

    def __init__(self) -> None:
        self._items: list[Item] = []
        self._parts: list[Node] = []
        self._node: Simple | Compound | None = None
        self._negated = False

    def command(self, node: Simple | Compound) -> None:
        """Add a command; something must stand between two of them."""
        if self._node is not None:
            raise Refused("syntax")
        self._node = node

    def redirect(self, redirect: Redirect, arguments: tuple[Word, ...]) -> None:
        """Add a redirection, and the arguments that stand behind it, to the command before it."""
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
