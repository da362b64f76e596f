"""The syntax tree of a shell command, reduced to what classification needs.

A ``Word`` is literal or dynamic; only a literal word may name a file.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct


class Word(Struct, frozen=True, gc=False):
    """One shell word."""

    source: str
    """The word as it was typed."""
    literal: str | None
    """Its value after quote removal; None if it is dynamic (expansion, glob, brace, tilde)."""
    scripts: tuple[Sequence, ...] = ()
    """The commands inside it: ``$(...)``, backquotes, ``<(...)``."""
    evaluates: bool = False
    """An expansion in it evaluates an expression or computed text, which may hide further commands."""


class Redirect(Struct, frozen=True, gc=False):
    """One redirection."""

    operator: str
    """``>``, ``>>``, ``>|``, ``&>``, ``&>>``, ``>&``, ``<``, ``<&``, ``<>``, ``<<``, ``<<-`` or ``<<<``."""
    descriptor: int | None = None
    """The number written before the operator."""
    target: Word | None = None
    """The file, descriptor or here-string; None for a here-document."""
    body: str | None = None
    """The text of a here-document, exactly as bash would feed it if nothing in it is expanded."""
    expands: bool = False
    """The here-document's delimiter is unquoted and its body holds ``$``, a backquote or a backslash."""
    scripts: tuple[Sequence, ...] = ()
    """The commands inside an expanding here-document."""
    evaluates: bool = False
    """An expansion in the here-document evaluates an expression or computed text."""


class Simple(Struct, frozen=True, gc=False):
    """A simple command: assignments, words, redirections."""

    words: tuple[Word, ...] = ()
    """The program and its arguments."""
    assignments: tuple[Word, ...] = ()
    """``NAME=value`` before the program; the literal is the whole ``NAME=value``."""
    redirects: tuple[Redirect, ...] = ()
    """In order of writing."""


class Pipeline(Struct, frozen=True, gc=False):
    """Two or more commands joined by ``|`` or ``|&``."""

    parts: tuple[Node, ...]
    """The commands, left to right."""


class Compound(Struct, frozen=True, gc=False):
    """A subshell, group, ``if``, loop, ``case`` or test expression."""

    kind: str
    """``subshell``, ``group``, ``if``, ``for``, ``while``, ``case`` or ``test``."""
    bodies: tuple[Sequence, ...] = ()
    """Every list of commands in it, in order of writing."""
    words: tuple[Word, ...] = ()
    """The words of a ``for`` list, the subject of a ``case``, the operands of a test."""
    redirects: tuple[Redirect, ...] = ()
    """Redirections of the whole."""
    mark: str = ""
    """What else tells it from others of its kind: the loop's variable, a ``case``'s patterns, a test's text."""


class Item(Struct, frozen=True, gc=False):
    """One member of a list, with the operator after it."""

    node: Node
    """The command."""
    operator: str = ""
    """``&&``, ``||``, ``;`` (also a newline), ``&``, or "" for the last."""
    negated: bool = False
    """It is preceded by ``!``."""


class Sequence(Struct, frozen=True, gc=False):
    """A list of commands."""

    items: tuple[Item, ...] = ()
    """The commands, in order."""


Node: TypeAlias = Simple | Pipeline | Compound | Sequence


class Opaque(Struct, frozen=True, gc=False):
    """A command that is not understood."""

    reason: str
    """One of ``REASONS``."""


REASONS = {
    "empty": "there is no command in it",
    "too-long": "it is longer than we read",
    "too-deep": "it is nested deeper than we follow",
    "control-byte": "it holds a NUL or another control byte",
    "invalid-text": "it is not valid UTF-8",
    "syntax": "it is not valid shell, or is shell that our grammar does not know",
    "lost-text": "part of the text belongs to nothing that was understood",
    "function": "it defines a function or an alias",
    "dynamic-program": "the program's name is computed",
    "eval": "it evaluates text that is computed",
    "nested": "a command inside it is not understood",
    "fault": "Ledger itself failed at reading it",
}
"""Why a command can be opaque: the fixed set of reason codes, each in plain words."""
