"""Command records: what a command would do, found without running it."""

from __future__ import annotations

from enum import IntEnum, StrEnum

from msgspec import Struct


class Category(StrEnum):
    """The operational category of a command."""

    INSPECT = "inspect"
    SEARCH = "search"
    OTHER = "other"
    SETUP = "setup"
    TEST = "test"
    MODIFY = "modify"
    SUBMIT = "submit"


STRENGTH = {category: strength for strength, category in enumerate(Category)}
"""The members of ``Category`` in ascending order of strength: a compound command has the strongest of its parts."""


class Effects(StrEnum):
    """What a command may change."""

    NONE = "none"
    LISTED = "listed"
    UNKNOWN = "unknown"


class Scope(IntEnum):
    """How far a recognised write reaches, for the change counters."""

    NONE = 0
    """No write was recognised."""
    FILES = 1
    """The listed files."""
    REPOSITORY = 2
    """The repository's own records (index, commits), no file of the tree."""
    TREE = 3
    """Any file of the tree: a stash, a checkout of another commit, a formatter over everything."""


class Lines(Struct, frozen=True, order=True):
    """A contiguous run of lines; a negative ``first`` counts from the end: -20 is the last 20 lines."""

    first: int
    """The first line, from 1."""
    last: int | None = None
    """The last line; None is the end of the file."""


WHOLE = Lines(1, None)
"""A whole file."""


CHANGED = "\0"
"""The numbering of a view whose lines are altered, as by ``cat -A``: it neither covers nor is covered."""


class FileRange(Struct, frozen=True):
    """A part of a file that a command certainly reads."""

    path: str
    """The file, joined with the directory that the command runs in."""
    lines: Lines | None = None
    """The lines; None is the whole file."""


class View(Struct, frozen=True):
    """A command that shows lines of one file and nothing else."""

    path: str
    """The file."""
    ranges: tuple[Lines, ...]
    """The lines asked for, in order; a whole file is ``(WHOLE,)``."""
    numbering: str = ""
    """The separator between a line's number and its text: a tab for ``cat -n``, "" if there are no numbers, ``CHANGED``
    if the lines are altered."""
    floating: bool = False
    """The lines depend on the file's length, unless their numbers are printed."""
    form: str = ""
    """The programs that print them, if these may alter some bytes, as ``awk``, ``grep`` and ``nl`` do; "" for ``cat``,
    ``head``, ``tail`` and ``sed``, which copy the file's bytes."""
    prefix: str = ""
    """Prefix of a line's number, such as the ``L`` of ``L12: text``."""
    joined: bool = False
    """Lines are joined with newlines, so the output does not show whether the last line ends with one."""


class CommandRecord(Struct, frozen=True):
    """What a command would do, found without running it."""

    category: Category
    """The strongest category of its parts."""
    normalized: str
    """The normal form, without what does not affect the output: two commands of one normal form print the same if they
    succeed."""
    exact: str = ""
    """The normal form with every redirection kept: two commands of one exact form also end with the same status."""
    cwd: str | None = None
    """The directory in which it starts; None if that is unknown."""
    reads: tuple[FileRange, ...] = ()
    """Files and ranges that are certain."""
    writes: tuple[str, ...] = ()
    """Files that it certainly names for writing, even if other effects are unknown."""
    creates: tuple[str, ...] = ()
    """Those of them that it writes as new files; they may have existed before."""
    folders: tuple[str, ...] = ()
    """Those of them that are folders, or look like folders by their names."""
    effects: Effects = Effects.UNKNOWN
    """What it may change."""
    tests_alone: bool = False
    """Its effects are unknown only because it runs tests."""
    opaque: str | None = None
    """The reason code if it could not be analysed; None otherwise."""
    view: View | None = None
    """Set if it shows lines of one file and nothing else."""
    looks_at: tuple[str, ...] = ()
    """Words of its readers and searchers that may name a file, joined with the directory in which they run."""
    shows: tuple[str, ...] = ()
    """Files whose lines its output may show, because one of its readers names them; "" for any file."""
    contents: tuple[str, ...] = ()
    """Files whose lines its output shows, by a reader or by a text search, as they are spelled; "" for one that only
    the output or the shell names. Empty if it shows no file's lines."""
    comparable: bool = False
    """Every part is a known reader or searcher, so that its output may be compared after running."""
    literal: bool = False
    """Every word is literal and nothing depends on time or processes: its output depends only on files."""
    scope: Scope = Scope.NONE
    """How far its recognised writes reach."""
    background: bool = False
    """It leaves a job running."""
    harmless: bool = True
    """If its effects are none, that is certain: it uses only programs of a short list, with plain words."""
    foreign: bool = False
    """It runs configured code such as hooks and plug-ins, so that it may do more than its effects say."""
    reproduces: bool = False
    """It runs a script or inline code, as for reproducing a problem."""
    patches: tuple[str, ...] = ()
    """Patch files for submission that it writes."""
    texts: tuple[tuple[str, str], ...] = ()
    """File contents and patches in its own text, as (path, text); path "" for a patch."""
    programs: int = 0
    """How many simple commands it has."""
    unknown_programs: tuple[str, ...] = ()
    """Its programs that are in no table."""

    @property
    def may_write(self) -> bool:
        """Whether it may write something, now or later."""
        return self.effects is not Effects.NONE or self.background or self.foreign or not self.harmless
