"""What one simple command does: the shape that every program's knowledge is written in.

A program is a function from an ``Invocation`` to a ``Part``, registered by name. ``programs/`` holds one module per
family; ``classify`` puts parts together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from msgspec import Struct

from execledger.shell.tree import Word
from execledger.vocabulary.records import Category, Effects, Lines, Scope, View


class Knowledge(Struct, frozen=True):
    """What the ledger knows that changes the meaning of a command."""

    patches: frozenset[str] = frozenset()
    """Patch files for submission: named by the task's instructions, or written by an earlier ``git diff >``."""
    scripts: Mapping[str, tuple[str, ...]] = {}
    """Scripts that the agent wrote, and the files that each names for writing."""


NOTHING = Knowledge()
"""A command seen without its history."""


class Selection(Struct, frozen=True):
    """What a filter lets through of the lines on its standard input."""

    positions: tuple[Lines, ...] | None = None
    """The lines that pass, by position; None is all of them."""
    numbering: str = ""
    """What it prints between a line's number and its text; "" if it does not number."""
    form: str = ""
    """The program, if it may print other bytes than those of the lines that pass; see ``View.form``."""


class Invocation(Struct, frozen=True):
    """One simple command, wrappers removed."""

    name: str
    """The program's name, without its directory."""
    args: tuple[Word, ...]
    """Its arguments."""
    body: str | None = None
    """The text of a here-document or here-string on its standard input."""
    fed: bool = False
    """Its standard input is a pipe or a file."""
    cwd: str | None = None
    """Where it runs, if that is known."""
    knowledge: Knowledge = NOTHING
    """What the ledger knows."""


class Part(Struct, frozen=True, kw_only=True):
    """What one simple command does."""

    category: Category | None = None
    """Its category; None is neutral: it adds nothing to a compound command."""
    effects: Effects = Effects.NONE
    """What it may change."""
    writes: tuple[str, ...] = ()
    """The files that it names for writing, as they are spelled."""
    creates: tuple[str, ...] = ()
    """Those of them that it writes as new files; that they were not there already is not certain."""
    folders: tuple[str, ...] = ()
    """Those of them that are folders, or are taken for folders because of their names."""
    scope: Scope = Scope.NONE
    """How far its recognised writes reach."""
    view: View | None = None
    """It shows lines of one file, named as it is spelled."""
    contents: tuple[str, ...] | None = ()
    """Files whose lines it prints, as they are spelled, "" for one that only its output names; None if it prints lines
    of what it is fed."""
    selection: Selection | None = None
    """It passes lines of its standard input through."""
    comparable: bool = False
    """It is a known reader, searcher or printer: its output may be compared with an earlier one."""
    volatile: bool = False
    """Its output depends on more than files: time, processes, the network, the caller's environment."""
    opaque: str | None = None
    """Why it is not understood."""
    background: bool = False
    """It leaves a job running."""
    foreign: bool = False
    """It runs what others have set up for it, such as hooks, plug-ins and settings: more may happen than it is for."""
    reproduces: bool = False
    """It runs a script or inline code."""
    argv: tuple[str, ...] | None = None
    """Its arguments in one fixed spelling; None keeps them as typed."""
    texts: tuple[tuple[str, str], ...] = ()
    """File contents that its own text carries; "" as the path marks a patch."""
    prints: str | None = None
    """The text that it prints, where its own words are that text."""
    makes_patch: bool = False
    """It prints the repair as a patch: into a file, that is a submission."""
    moves_to: str | None = None
    """It changes the working directory: the directory as spelled, "" if that is not known."""
    unknown: bool = False
    """No table knows the program."""


Understand: TypeAlias = Callable[[Invocation], Part]

PROGRAMS: dict[str, Understand] = {}
"""Every known program by name; filled by the modules of ``programs/``."""


def program(*names: str) -> Callable[[Understand], Understand]:
    """Register a function as the knowledge about the programs ``names``."""

    def register(understand: Understand) -> Understand:
        for name in names:
            assert name not in PROGRAMS, f"two modules know the program {name!r}"
            PROGRAMS[name] = understand
        return understand

    return register


def inspects(view: View | None = None, **more: object) -> Part:
    """A part that shows file content and changes nothing."""
    return Part(category=Category.INSPECT, comparable=True, view=view, **more)  # type: ignore[arg-type]


def searches(**more: object) -> Part:
    """A part that looks for things and changes nothing."""
    return Part(category=Category.SEARCH, comparable=True, **more)  # type: ignore[arg-type]


def writes(*paths: str, category: Category = Category.MODIFY, **more: object) -> Part:
    """A part that changes the files ``paths`` and nothing else."""
    return Part(category=category, effects=Effects.LISTED, writes=paths, scope=Scope.FILES, **more)  # type: ignore[arg-type]


def runs(category: Category = Category.OTHER, **more: object) -> Part:
    """A part that may change anything."""
    return Part(category=category, effects=Effects.UNKNOWN, **more)  # type: ignore[arg-type]
