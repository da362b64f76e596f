"""What a command would do, and what a completed step left behind: the ledger's vocabulary."""

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
"""The members of ``Category`` stand in order of strength: a compound command has the strongest of its parts."""


class Effects(StrEnum):
    """What a command may change."""

    NONE = "none"
    LISTED = "listed"
    UNKNOWN = "unknown"


class Scope(IntEnum):
    """How far a recognised write reaches, as far as change counters care."""

    NONE = 0
    """No write was recognised."""
    FILES = 1
    """The listed files."""
    REPOSITORY = 2
    """The repository's own records (index, commits), no file of the tree."""
    TREE = 3
    """Any file of the tree: a stash, a checkout of another commit, a formatter over everything."""


class Lines(Struct, frozen=True, order=True):
    """A contiguous run of lines. Negative ``first`` counts from the end, as in the last 20."""

    first: int
    """The first line, from 1."""
    last: int | None = None
    """The last line; None is the end of the file."""


WHOLE = Lines(1, None)
"""A whole file."""


CHANGED = "\0"
"""The numbering of a view that alters its lines, as ``cat -A`` does: it neither covers nor is covered."""


class FileRange(Struct, frozen=True):
    """A part of a file that a command reads for certain."""

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
    """What stands between a line's number and its text: a tab for ``cat -n``, "" if there are no numbers, ``CHANGED``
    if the lines are not shown as they stand in the file."""
    floating: bool = False
    """Which lines these are depends on the file's length, unless they print their numbers."""
    form: str = ""
    """The programs that print them, where these treat some bytes in a way of their own, as ``awk``, ``grep`` and ``nl``
    do; "" for ``cat``, ``head``, ``tail`` and ``sed``, which pass the file's bytes on."""
    prefix: str = ""
    """Prefix of a line's number, such as the ``L`` of ``L12: text``."""
    joined: bool = False
    """Lines are joined with newlines: whether one ends the file's last line is not shown."""


class CommandRecord(Struct, frozen=True):
    """What a command would do, found without running it."""

    category: Category
    """The strongest category of its parts."""
    normalized: str
    """The command without what certainly does not matter: two commands of one normal form print the same if they
    succeed."""
    exact: str = ""
    """The normal form with every redirection kept: two commands of one exact form also end with the same status."""
    cwd: str | None = None
    """Where it starts."""
    reads: tuple[FileRange, ...] = ()
    """Files and ranges that are certain."""
    writes: tuple[str, ...] = ()
    """Files that it certainly names for writing, also where other effects are unknown."""
    creates: tuple[str, ...] = ()
    """Those of them that it writes as new files; that they were not there already is not certain."""
    folders: tuple[str, ...] = ()
    """Those of them that are folders, or are taken for folders because of their names."""
    effects: Effects = Effects.UNKNOWN
    """What it may change."""
    tests_alone: bool = False
    """Its effects are unknown because of tests and of nothing else."""
    opaque: str | None = None
    """Why it was not understood, as a reason code; None if it was."""
    view: View | None = None
    """Set if it shows lines of one file and nothing else."""
    looks_at: tuple[str, ...] = ()
    """Words of its readers and searchers that may name a file, joined with the directory that they are used in."""
    shows: tuple[str, ...] = ()
    """Files whose lines its output may show, because a reader of its names them; "" if that may be any file."""
    contents: tuple[str, ...] = ()
    """Files whose lines its output shows, by a reader or by a text search, as they are spelled; "" for one that only
    the output or the shell names. Empty if it shows no file's lines."""
    comparable: bool = False
    """Every part is a known reader or searcher: its output may be compared after running."""
    literal: bool = False
    """Every word is literal and nothing in it depends on time or processes: its output depends on files alone."""
    scope: Scope = Scope.NONE
    """How far its recognised writes reach."""
    background: bool = False
    """It leaves a job running."""
    harmless: bool = True
    """There is no doubt about it where its effects are none: it has programs of a short list, and plain words."""
    foreign: bool = False
    """It runs what others have set up for it, such as hooks and plug-ins: more may happen than its effects say."""
    reproduces: bool = False
    """It runs a script or inline code, as one does to reproduce a problem."""
    patches: tuple[str, ...] = ()
    """Patch files for submission that it writes."""
    texts: tuple[tuple[str, str], ...] = ()
    """File contents and patches that its own text carries: (path, text); path "" for a patch."""
    programs: int = 0
    """How many simple commands it has."""
    unknown_programs: tuple[str, ...] = ()
    """Programs in it that no table knows."""

    @property
    def may_write(self) -> bool:
        """Something may be written by it, now or later."""
        return self.effects is not Effects.NONE or self.background or self.foreign or not self.harmless
