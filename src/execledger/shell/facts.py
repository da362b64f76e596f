"""The records that describe programs: one ``Facts`` per program, which maps an ``Invocation`` to a ``Part``.

Each module of ``programs/`` states the facts of one family in a tuple ``FACTS``; ``programs.PROGRAMS`` is the registry
of all of them. Everything else that is asked about a program (is it harmless, may its output be reused before running,
which variables change what it does, whose lines does it print) is derived from its record.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache

from msgspec import Struct
from msgspec.structs import replace

from execledger.shell.options import Options, parse_options
from execledger.shell.tree import Word
from execledger.shell.words import may_be_option
from execledger.vocabulary.records import Category, Effects, Lines, Scope, View


class Knowledge(Struct, frozen=True):
    """What earlier commands of the run change about the meaning of a command."""

    patches: frozenset[str] = frozenset()
    """Patch files for submission: named by the task's instructions, or written by an earlier ``git diff >``."""
    scripts: Mapping[str, tuple[str, ...]] = {}
    """Scripts that the agent wrote, and the files that each names for writing."""


NOTHING = Knowledge()
"""A command seen without its history."""


class Selection(Struct, frozen=True, gc=False):
    """What a filter lets through of the lines on its standard input."""

    positions: tuple[Lines, ...] | None = None
    """The lines that pass, by position; None is all of them."""
    numbering: str = ""
    """What it prints between a line's number and its text; "" if it does not number."""
    form: str = ""
    """The program, if it may print other bytes than those of the lines that pass; see ``View.form``."""


class Invocation(Struct, frozen=True, gc=False):
    """One simple command, wrappers removed."""

    name: str
    """The program's name, without its directory."""
    args: tuple[Word, ...]
    """Its arguments."""
    programs: Programs
    """The registry in which a program that it runs is looked up."""
    body: str | None = None
    """The text of a here-document or here-string on its standard input."""
    fed: bool = False
    """Its standard input is a pipe or a file."""
    cwd: str | None = None
    """Where it runs, if that is known."""
    knowledge: Knowledge = NOTHING
    """What earlier commands of the run change about its meaning."""

    def running(self, name: str, args: tuple[Word, ...]) -> Invocation:
        """The invocation of the program ``name`` with ``args``, run by this one in the same place."""
        return Invocation(name, args, self.programs, self.body, self.fed, self.cwd, self.knowledge)


class Part(Struct, frozen=True, kw_only=True, gc=False):
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
    """The registry does not have the program."""


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


def doubted(part: Part) -> Part:
    """The same part with unknown effects: the program may change more than its arguments say."""
    return replace(part, effects=Effects.UNKNOWN, category=part.category or Category.OTHER, view=None, comparable=False)


class Allowed(Struct, frozen=True):
    """The options with which a reader only reads: any other option makes its effects unknown.

    So does a computed word that may turn out to be an option: ``sort $x`` writes where ``x`` is ``-o file``. A program
    without any option that writes or runs something, such as ``cat``, needs no list.
    """

    short: str = ""
    """Its options, as getopt spells them; "" where the program's own parsing of them is enough."""
    long: str = ""
    """Its long options, between blanks; with ":" behind those that take a value, "?" if only after "="."""
    checked: bool = True
    """Options that are not listed make its effects unknown; else only computed words do."""

    def permits(self, args: tuple[Word, ...]) -> bool:
        """All options among ``args`` are listed, and no computed word may be an option."""
        for word in args:
            if word.literal == "--":
                break
            if word.literal is None and may_be_option(word):
                return False
        return not self.checked or not parse_options(args, self.short, _long_options(self.long)).unknown


COMPUTED = Allowed(checked=False)
"""For programs that parse all of their options: only a computed word that may be an option is in doubt."""


@cache
def _long_options(names: str) -> dict[str, str]:
    return {name.rstrip(":?"): name for name in names.split()}


class Sources(Struct, frozen=True):
    """What the output of a plain reader depends on."""

    files: tuple[str, ...] = ()
    """The files and folders that it names."""
    walks: bool = False
    """It walks folders, and may print output and errors in any order."""
    stdin: bool = False
    """Where it names no file, it reads its standard input."""


class Reader(Struct, frozen=True):
    """The arguments with which a program's output depends on nothing but the files that it names.

    None of these options asks the clock, the environment, other processes or the terminal.
    """

    short: str = ""
    """Its options, as getopt spells them."""
    long: Mapping[str, str] = {}
    """Its long options."""
    texts: int = 0
    """How many operands come before the files: a pattern, a script. With ``-e`` there are none."""
    stdin: bool = True
    """Without files it reads its standard input."""
    lists: bool = False
    """It lists folders."""
    recursive: str = "r"
    """Options with which it walks folders."""
    here: bool = False
    """With these options and without files it walks the working directory."""
    lenient: bool = False
    """It prints a word that looks like an unknown option."""
    rewrite: Callable[[tuple[Word, ...]], tuple[Word, ...]] | None = None
    """Rewrites an old spelling of its options."""
    accepts: Callable[[list[str], list[str]], bool] | None = None
    """Whether its scripts and its files are such that it only prints."""

    def options(self, args: tuple[Word, ...]) -> Options:
        """``args``, parsed by the options of this record."""
        return parse_options(self.rewrite(args) if self.rewrite else args, self.short, self.long)

    def sources(self, args: tuple[Word, ...]) -> Sources | None:
        """What it reads with the literal arguments ``args``; None if its output may depend on more."""
        options = self.options(args)
        given = options.values("e")
        texts = [] if self.texts == 0 or options.has("e") else list(options.paths[: self.texts])
        files = list(options.paths[len(texts) :])
        if (options.unknown and not self.lenient) or (self.texts == 1 and not texts and not options.has("e")):
            return None
        if self.accepts and not self.accepts([*texts, *(word.literal or "" for word in given)], files):
            return None
        walks = options.has(*self.recursive)
        return Sources(tuple(files), self.lists or walks, self.stdin and not (self.here and walks))


NO_FILES = 1_000
"""A number of texts that no command has: none of its operands names a file."""


class Variables(Struct, frozen=True):
    """Environment variables that a program reads."""

    acting: str
    """A pattern of names; their values may make it run or write something, or read something else."""
    pagers: tuple[str, ...] = ()
    """Those of them that name a pager: harmless where the pager is a plain one."""
    harmless: tuple[str, ...] = ()
    """Those of them that change neither what it reads nor what it runs."""


def always(args: tuple[Word, ...]) -> bool:
    """True for any arguments."""
    return True


def never(args: tuple[Word, ...]) -> bool:
    """False for any arguments."""
    return False


def literal(args: tuple[Word, ...]) -> bool:
    """All of ``args`` are literal."""
    return all(word.literal is not None for word in args)


class Facts(Struct, frozen=True, kw_only=True):
    """What is known about one program, or about several that behave alike."""

    names: str
    """Its names, between blanks."""
    does: Part | Callable[[Invocation], Part]
    """What an invocation does, found out from its arguments; a ``Part`` if it does the same with any."""
    allowed: Allowed | None = None
    """The options with which a part without effects is believed; None if all of them."""
    harmless: Callable[[tuple[Word, ...]], bool] = never
    """Whether it is sure to write nothing and to run nothing with these arguments, whatever computed words among them
    turn out to be. That its part has no effects is weaker: it says what the arguments ask for, as far as they can be
    read, and a name that a pattern finds may be an option, or a script be quoted in ways that no parser here knows."""
    provable: Callable[[tuple[Word, ...]], Sources | None] | None = None
    """What its output depends on with these literal arguments, if that is files alone: such an output may be reused
    before running in a sealed environment. None if more than files may matter."""
    contents: Callable[[Invocation], tuple[str, ...] | None] | None = None
    """The files whose lines it prints: see ``Part.contents``. Without this function, the operands of a part that
    inspects, and none of any other."""
    silent: re.Pattern[str] | None = None
    """Matches its arguments, joined by blanks, where it prints nothing if it succeeds; None if it always may print."""
    variables: Variables | None = None
    """The environment variables that change what it does."""

    def part(self, call: Invocation) -> Part:
        """What the invocation ``call`` does: unknown effects where it is given more than is allowed."""
        part = self.does if isinstance(self.does, Part) else self.does(call)
        if self.allowed is None or part.effects is not Effects.NONE or self.allowed.permits(call.args):
            return part
        return doubted(part)

    def printed_files(self, call: Invocation, part: Part) -> tuple[str, ...] | None:
        """The files whose lines ``call`` prints, where ``part`` is what it does: see ``Part.contents``."""
        if part.view is not None:
            return (part.view.path,)
        if self.contents is not None:
            return self.contents(call)
        return named_files(call) if part.category is Category.INSPECT else ()

    def is_silent(self, args: tuple[Word, ...]) -> bool:
        """It prints nothing with ``args`` if it succeeds."""
        return self.silent is not None and bool(self.silent.fullmatch(" ".join(word.source for word in args)))


ANY = re.compile(r"[\s\S]*")
"""Any arguments: for programs that never print."""

NAMED = re.compile(r"[\w@+./~-]*\.[\w.~-]*\w")
"""A word that names a file for certain: plain, and with an extension."""


def named_files(call: Invocation) -> tuple[str, ...] | None:
    """The files that a reader's words name, "" for a computed word or if there is none; None if it is a filter."""
    if call.fed:
        return None
    texts = [word.literal or "" for word in call.args]
    return tuple(text for text in texts if not text or (text[0] != "-" and NAMED.fullmatch(text))) or ("",)


class Programs:
    """The registry: the facts about every known program, by name."""

    def __init__(self, facts: Iterable[Facts]) -> None:
        """Index ``facts`` by name; a name that two records have is a mistake."""
        self.facts = tuple(facts)
        """All records."""
        self._by_name: dict[str, Facts] = {}
        for one in self.facts:
            for name in one.names.split():
                assert name not in self._by_name, f"two records describe the program {name!r}"
                self._by_name[name] = one

    def find(self, name: str) -> Facts | None:
        """The facts about the program ``name``; None if it is unknown."""
        return self._by_name.get(name)

    def __contains__(self, name: str) -> bool:
        """The program ``name`` is known."""
        return name in self._by_name

    def including(self, *facts: Facts) -> Programs:
        """A registry that has ``facts`` as well."""
        return Programs((*self.facts, *facts))
