"""Combines what the walk over a syntax tree found into one command record."""

from __future__ import annotations

import re

from msgspec import Struct, field

from execledger.shell.facts import Part
from execledger.shell.transient import scratch_name, transient
from execledger.vocabulary.records import STRENGTH, WHOLE, Category, CommandRecord, Effects, FileRange, Scope, View

BACKGROUND = re.compile(r"(?<![&<>])&(?![&>\d])")
"""What may be the mark of a background job, in text that is not understood."""


class Printed(Struct):
    """What one member of a list prints."""

    view: View | None
    """The lines of a file, if it prints nothing else."""
    certain: bool
    """It runs whenever the command runs to its end."""
    silent: bool
    """Its output goes to a file, or it has none."""
    last: bool
    """The command's exit status is its own."""


class Found(Struct):
    """Everything that a walk found, in order."""

    categories: list[Category] = field(default_factory=list)
    """The categories of the parts that have one."""
    effects: list[Effects] = field(default_factory=list)
    """The effects of the parts."""
    tests: int = 0
    """Those of them that are unknown and belong to a test."""
    writes: list[str] = field(default_factory=list)
    """The files named for writing."""
    creates: list[str] = field(default_factory=list)
    """Those of them that are written as new files."""
    files: list[str] = field(default_factory=list)
    """Those of them that are no folders."""
    scope: Scope = Scope.NONE
    """The widest scope of a recognised write."""
    views: list[Printed] = field(default_factory=list)
    """What the members of the list print."""
    comparable: bool = True
    """All parts are known readers, searchers or printers."""
    literal: bool = True
    """All words are literal."""
    looks_at: list[str] = field(default_factory=list)
    """Words of readers and searchers that may name a file."""
    shows: list[str] = field(default_factory=list)
    """Words of readers that may name a file, "" for one that is not literal."""
    contents: list[str] = field(default_factory=list)
    """Files whose lines are printed, "" for one that only the output names."""
    volatile: bool = False
    """Some output depends on more than files."""
    upward: bool = False
    """A path has a step up in it, so which file it names depends on links."""
    noisy: bool = False
    """Something is printed among the output that is no program's own, as ``time`` does."""
    background: bool = False
    """A job is left running."""
    harmless: bool = True
    """Every program is sure to write nothing."""
    foreign: bool = False
    """Something runs what others have set up for it."""
    reproduces: bool = False
    """A script or inline code runs."""
    opaque: str | None = None
    """Why a part is not understood."""
    patches: list[str] = field(default_factory=list)
    """Patch files for submission."""
    texts: list[tuple[str, str]] = field(default_factory=list)
    """Contents that the command's own text carries."""
    programs: int = 0
    """Simple commands."""
    unknown_programs: list[str] = field(default_factory=list)
    """Programs that the registry does not have."""
    patching: bool = False
    """A patch for submission comes down the pipe that is being walked."""

    def part(self, part: Part, patches: frozenset[str]) -> None:
        """Note one simple command."""
        if self.patching and part.writes:
            self.patches += part.writes
            self.categories.append(Category.SUBMIT)
        if part.category is not None:
            showing = part.view is not None and (part.view.path in patches or part.view.path in self.patches)
            self.categories.append(Category.SUBMIT if showing else part.category)
        self.effects.append(part.effects)
        self.tests += part.effects is Effects.UNKNOWN and part.category is Category.TEST
        if part.writes:
            self.writes += part.writes
            self.files += (path for path in part.writes if path not in part.folders)
        if part.creates:
            self._create(part.creates)
        self.scope = max(self.scope, part.scope)
        self.comparable = self.comparable and part.comparable
        self.volatile = self.volatile or part.volatile
        self.background = self.background or part.background
        self.foreign = self.foreign or part.foreign
        self.reproduces = self.reproduces or part.reproduces
        self.opaque = self.opaque or part.opaque
        self.texts += part.texts

    def _create(self, paths: tuple[str, ...]) -> None:
        """Note new files; what was looked at before was there already."""
        self.creates += [path for path in paths if path not in self.looks_at]

    def printed(self, view: View | None, *, certain: bool, silent: bool, last: bool) -> None:
        """Note what a member of the list prints."""
        self.views.append(Printed(view, certain, silent, last))

    def redirected(self, path: str | None, part: Part, body: str | None, cwd: str | None, *, whole: bool) -> None:
        """Note a redirection into a file; a patch made for submission makes the command a submission.

        With ``whole``, what was in the file before is replaced.
        """
        self.comparable = False
        if path is None:
            self.categories.append(Category.MODIFY)
            self.scope = max(self.scope, Scope.TREE)
            return
        self.writes.append(path)
        self.files.append(path)
        if whole:
            self._create((path,))
        self.effects.append(Effects.LISTED)
        self.scope = max(self.scope, Scope.FILES)
        if part.makes_patch or self.patching:
            self.patches.append(path)
            self.categories.append(Category.SUBMIT)
        elif not ((transient(path, cwd) or scratch_name(path)) and part.category in (Category.TEST, Category.SETUP)):
            self.categories.append(Category.MODIFY)
        if body is not None:
            self.texts.append((path, body))


def summarize(found: Found, normalized: str, exact: str, cwd: str | None) -> CommandRecord:
    """The record of a command that was understood."""
    effects = _widest(found.effects)
    comparable = found.comparable and effects is Effects.NONE
    return CommandRecord(
        category=max(found.categories, key=STRENGTH.__getitem__, default=Category.OTHER),
        normalized=normalized,
        exact=exact,
        cwd=cwd,
        reads=tuple(_reads(found)),
        writes=tuple(dict.fromkeys(found.writes)),
        creates=tuple(dict.fromkeys(found.creates)),
        folders=_folders(found),
        effects=effects,
        tests_alone=0 < found.tests == found.effects.count(Effects.UNKNOWN),
        view=_only_view(found) if comparable and not (found.noisy or found.upward) else None,
        looks_at=tuple(found.looks_at),
        shows=tuple(dict.fromkeys(found.shows)),
        contents=tuple(dict.fromkeys(found.contents)),
        comparable=comparable,
        literal=found.literal and not (found.volatile or found.upward),
        scope=found.scope,
        background=found.background,
        harmless=found.harmless,
        foreign=found.foreign,
        reproduces=found.reproduces,
        patches=tuple(found.patches),
        texts=tuple(found.texts),
        programs=found.programs,
        unknown_programs=tuple(found.unknown_programs),
    )


def opaque_record(command: str, cwd: str | None, reason: str, found: Found) -> CommandRecord:
    """The record of a command that was not understood: unknown in its effects, equal to none but itself.

    ``found`` is what it does as far as it was understood.
    """
    text = command.strip()
    return CommandRecord(
        category=max((*found.categories, Category.OTHER), key=STRENGTH.__getitem__),
        normalized=text,
        exact=command,
        cwd=cwd,
        writes=tuple(dict.fromkeys(found.writes)),
        creates=tuple(dict.fromkeys(found.creates)),
        folders=_folders(found),
        opaque=reason,
        shows=tuple(dict.fromkeys(found.shows)),
        contents=tuple(dict.fromkeys(found.contents)),
        scope=found.scope,
        background=bool(BACKGROUND.search(text)),
        patches=tuple(found.patches),
        texts=tuple(found.texts),
    )


def _folders(found: Found) -> tuple[str, ...]:
    """What is written only where it is a folder."""
    return tuple(path for path in dict.fromkeys(found.writes) if path not in found.files)


def _widest(effects: list[Effects]) -> Effects:
    if Effects.UNKNOWN in effects:
        return Effects.UNKNOWN
    return Effects.LISTED if Effects.LISTED in effects else Effects.NONE


def _only_view(found: Found) -> View | None:
    """The view that is the command's whole output; its exit status must be the command's."""
    shown = [printed for printed in found.views if not printed.silent]
    if len(shown) == 1 and shown[0].certain and shown[0].last:
        return shown[0].view
    return None


def _reads(found: Found) -> list[FileRange]:
    ranges: list[FileRange] = []
    for printed in found.views:
        if printed.view is not None and printed.certain:
            ranges += [FileRange(printed.view.path, None if lines == WHOLE else lines) for lines in printed.view.ranges]
    return ranges
