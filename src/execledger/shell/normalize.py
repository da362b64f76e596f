"""The normal form of a command: what is left when nothing incidental remains.

Two forms are made. The *exact* form keeps every redirection and every stage of a pipe: commands that share it print
the same bytes and end with the same status. The *normal* form, for detecting repeats, also drops harmless
redirections and a trailing ``| cat``: commands that share it print the same, unless they fail.
"""

from __future__ import annotations

import re

from execledger.shell.paths import HARMLESS
from execledger.shell.tree import Compound, Node, Pipeline, Redirect, Sequence, Simple, Word

SAFE = re.compile(r"[\w@%+=:,./-]+", re.ASCII)
"""Words that need no quotes."""


class Normal:
    """Writes a syntax tree back as text, in one spelling."""

    def __init__(self, spelled: dict[int, tuple[str, ...]], *, exact: bool) -> None:
        """``spelled`` holds, by the identity of a simple command, its arguments in their fixed spelling."""
        self._spelled = spelled
        self._exact = exact

    def sequence(self, sequence: Sequence) -> str:
        """The text of a list."""
        pieces: list[str] = []
        for item in sequence.items:
            text = self.node(item.node)
            pieces.append(("! " if item.negated else "") + text)
            if item.operator:
                pieces.append(item.operator)
        if pieces and pieces[-1] == ";":
            pieces.pop()
        return " ".join(pieces).replace(" ;", ";")

    def node(self, node: Node) -> str:
        """The text of any node."""
        if isinstance(node, Simple):
            return self._simple(node)
        if isinstance(node, Pipeline):
            parts = list(node.parts)
            while not self._exact and len(parts) > 1 and is_cat(parts[-1]):
                parts.pop()
            return " | ".join(self.node(part) for part in parts)
        if isinstance(node, Compound):
            bodies = " / ".join(self.sequence(body) for body in node.bodies)
            words = " ".join(quoted(word) for word in node.words)
            return f"{node.kind} {words} {{ {bodies} }}" + self._redirects(node.redirects)
        return self.sequence(node)

    def _simple(self, node: Simple) -> str:
        words = [quoted(word) for word in (*node.assignments, *node.words)]
        spelled = self._spelled.get(id(node))
        if spelled is not None:
            words[len(words) - len(node.words) + 1 :] = [quote(text) for text in spelled]
        return " ".join(words) + self._redirects(node.redirects)

    def _redirects(self, redirects: tuple[Redirect, ...]) -> str:
        return "".join(_redirect(one) for one in redirects if self._exact or not harmless(one))


def quote(text: str) -> str:
    """``text`` as one shell word."""
    return text if SAFE.fullmatch(text) else "'" + text.replace("'", "'\"'\"'") + "'"


def quoted(word: Word) -> str:
    """A word in one style of quoting; a dynamic one as it was typed."""
    return word.source if word.literal is None else quote(word.literal)


def harmless(redirect: Redirect) -> bool:
    """It changes no file and hides no output: error output dropped, or joined with the output."""
    target = redirect.target.literal if redirect.target else None
    if redirect.operator in (">&", "<&"):
        return redirect.descriptor == 2 and target == "1"
    return redirect.operator in (">", ">>") and redirect.descriptor == 2 and target in HARMLESS


def _redirect(redirect: Redirect) -> str:
    descriptor = "" if redirect.descriptor is None else str(redirect.descriptor)
    if redirect.target is None:
        return f" {descriptor}<<\n{redirect.body or ''}\n"
    return f" {descriptor}{redirect.operator}{quoted(redirect.target)}"


def is_cat(node: Node) -> bool:
    """A ``cat`` that passes everything through."""
    return isinstance(node, Simple) and len(node.words) == 1 and node.words[0].literal == "cat" and not node.redirects
