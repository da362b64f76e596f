"""The normal form of a command: what is left when nothing incidental remains.

Two forms are made. The *exact* form keeps every redirection and every stage of a pipe: commands that share it print
the same bytes and end with the same status. The *normal* form, for detecting repeats, also drops harmless
redirections and a trailing ``| cat``: commands that share it print the same, unless they fail.

Error output that is dropped, or that goes down a pipe, makes a difference for a program that also writes there when it
succeeds, as test runners do. Known readers and searchers do not.
"""

from __future__ import annotations

import re

from execledger.shell.paths import HARMLESS
from execledger.shell.tree import Compound, Node, Pipeline, Redirect, Sequence, Simple, Word

SAFE = re.compile(r"[\w@%+=:,./-]+", re.ASCII)
"""Words that need no quotes."""


class Normal:
    """Writes a syntax tree back as text, in one spelling."""

    def __init__(self, spelled: dict[int, tuple[str, ...]], quiet: set[int], *, exact: bool) -> None:
        """By the identity of simple commands: their arguments in one spelling, and who fails before it complains."""
        self._spelled = spelled
        self._quiet = quiet
        self._exact = exact

    def sequence(self, sequence: Sequence, *, piped: bool = False) -> str:
        """The text of a list; ``piped`` if its output goes down a pipe or into a file."""
        text = ""
        for item in sequence.items:
            text += ("! " if item.negated else "") + self.node(item.node, piped=piped)
            text += f"{'' if item.operator == ';' else ' '}{item.operator} " if item.operator else ""
        return text.rstrip(" ")

    def node(self, node: Node, *, piped: bool = False) -> str:
        """The text of any node."""
        if isinstance(node, Simple):
            return self._simple(node, piped)
        if isinstance(node, Pipeline):
            parts = list(node.parts)
            while not self._exact and len(parts) > 1 and is_cat(parts[-1]):
                parts.pop()
            before = [self.node(part, piped=True) for part in parts[:-1]]
            return " | ".join([*before, self.node(parts[-1], piped=piped)])
        if isinstance(node, Compound):
            away = piped or any(redirects_output(one) for one in node.redirects)
            bodies = " / ".join(self.sequence(body, piped=away) for body in node.bodies)
            head = " ".join(filter(None, (node.kind, node.mark, *(quoted(word) for word in node.words))))
            return f"{head} {{ {bodies} }}" + self._redirects(node, piped)
        return self.sequence(node, piped=piped)

    def _simple(self, node: Simple, piped: bool) -> str:
        words = [quoted(word) for word in (*node.assignments, *node.words)]
        spelled = self._spelled.get(id(node))
        if spelled is not None:
            words[len(words) - len(node.words) + 1 :] = [quote(text) for text in spelled]
        return " ".join(words) + self._redirects(node, piped)

    def _redirects(self, node: Simple | Compound, piped: bool) -> str:
        if not node.redirects:
            return ""
        stays = not piped and not any(redirects_output(one) for one in node.redirects)
        quiet = id(node) in self._quiet
        kept = [
            one
            for one in node.redirects
            if self._exact or not incidental(one) or not (quiet or (stays and one.operator == ">&"))
        ]
        return "".join(_redirect(one) for one in kept)


def quote(text: str) -> str:
    """``text`` as one shell word."""
    return text if SAFE.fullmatch(text) else "'" + text.replace("'", "'\"'\"'") + "'"


def quoted(word: Word) -> str:
    """A word in one style of quoting; a dynamic one as it was typed."""
    return word.source if word.literal is None else quote(word.literal)


def incidental(redirect: Redirect) -> bool:
    """It changes no file and hides no output: error output dropped, or joined with the output."""
    target = redirect.target.literal if redirect.target else None
    if redirect.operator == ">&":
        return redirect.descriptor == 2 and target == "1"
    return redirect.operator in (">", ">>") and redirect.descriptor == 2 and target in HARMLESS


def redirects_output(redirect: Redirect) -> bool:
    """It sends the standard output elsewhere."""
    return ">" in redirect.operator and (redirect.descriptor in (None, 1) or redirect.operator.startswith("&"))


def _redirect(redirect: Redirect) -> str:
    descriptor = "" if redirect.descriptor is None else str(redirect.descriptor)
    if redirect.target is None:
        return f" {descriptor}<<{'$' if redirect.expands else ''}\n{redirect.body or ''}\n"
    return f" {descriptor}{redirect.operator}{quoted(redirect.target)}"


def is_cat(node: Node) -> bool:
    """A ``cat`` that passes everything through."""
    return isinstance(node, Simple) and len(node.words) == 1 and node.words[0].literal == "cat" and not node.redirects
