"""Short ways to ask the program tables what a command does."""

from __future__ import annotations

import shlex

from msgspec.structs import replace

from execledger.shell.facts import NOTHING, Invocation, Knowledge, Part
from execledger.shell.options import literal_word
from execledger.shell.programs import PROGRAMS
from execledger.shell.tree import Word
from execledger.vocabulary.records import Category, Effects, Scope


def understand(
    line: str,
    *,
    body: str | None = None,
    fed: bool = False,
    cwd: str | None = None,
    knowledge: Knowledge = NOTHING,
) -> Part:
    """What the command does, but for which of its files are taken for folders.

    A word that begins with ``$`` is a computed one.
    """
    name, *words = shlex.split(line)
    args = tuple(Word(word, None) if word.startswith("$") else literal_word(word) for word in words)
    facts = PROGRAMS.find(name)
    assert facts is not None, f"the program {name!r} is unknown"
    return replace(facts.part(Invocation(name, args, PROGRAMS, body, fed, cwd, knowledge)), folders=())


def kind(line: str) -> tuple[str | None, str]:
    """Its category and effects."""
    part = understand(line)
    return (part.category.value if part.category else None, part.effects.value)


def kinds(*lines: str) -> set[tuple[str | None, str]]:
    """All categories and effects of several commands."""
    return {kind(line) for line in lines}


def changes(line: str, *, body: str | None = None) -> tuple[str, str, list[str]]:
    """Its effects, how far its recognised writes reach, and the files that it names for writing."""
    part = understand(line, body=body)
    return part.effects.value, part.scope.name, list(part.writes)


def writing(*paths: str, category: Category = Category.MODIFY, foreign: bool = False) -> Part:
    """The part of a command that changes ``paths`` and nothing else; ``foreign``: it runs what others have set up."""
    return Part(category=category, effects=Effects.LISTED, writes=paths, scope=Scope.FILES, foreign=foreign)


LOOK = Part(category=Category.SEARCH, comparable=True)
"""A search that changes nothing."""
FOREIGN_LOOK = Part(category=Category.SEARCH, comparable=True, foreign=True)
"""The same by a program that runs what others have set up for it."""
SHOW = Part(category=Category.INSPECT, comparable=True)
"""A look at contents that changes nothing."""
