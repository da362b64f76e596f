"""From one shell command, without running it, to what it would do.

The walk goes through the syntax tree once, left to right: each simple command is looked up in ``programs/`` and says
what it does (``Part``), pipes compose views, and ``summary`` puts everything together. One unknown part makes the
whole unknown.
"""

from __future__ import annotations

import itertools
import re

from msgspec.structs import replace

from execledger.shell.environment import acts
from execledger.shell.evaluation import DECLARES, evaluates, evaluates_compound
from execledger.shell.facts import NOTHING, Facts, Invocation, Knowledge, Part, Programs, doubted, runs
from execledger.shell.normalize import Normal, is_cat, quote
from execledger.shell.paths import (
    BY_PROCESS,
    HARMLESS,
    PARENT,
    PROGRAM_FOLDERS,
    beneath,
    goes_on,
    leading_cd,
    machine_name,
    moves,
    names_unstable,
    resolve,
    spell,
    stops_at_failures,
    unstable,
)
from execledger.shell.programs import PROGRAMS
from execledger.shell.programs.interpreters import script as run_script
from execledger.shell.programs.readers import apply
from execledger.shell.scripts import Scripts, is_script
from execledger.shell.summary import Found, opaque_record, summarize
from execledger.shell.syntax import parse, parse_until_error
from execledger.shell.tree import Compound, Node, Opaque, Pipeline, Redirect, Sequence, Simple, Word
from execledger.shell.wrappers import Peeled, peel
from execledger.vocabulary.records import WHOLE, Category, CommandRecord, Effects, Scope, View

MAX_NESTING = 12
"""Scripts inside scripts (``bash -c``, substitutions) that are followed."""

EXPANSION = re.compile(r"[$`\\]")
"""Signs that mean more to the shell than themselves."""

HERE = "."
"""Where a command starts if that is not known: its paths stay relative to it."""

UNKNOWN = Facts(names="", does=runs(unknown=True))
"""What is known about any other program."""

OUTLIVING = re.compile(r"[<>]\(")
"""A process substitution: the shell does not wait for the commands in it."""


def classify_command(
    command: str, cwd: str | None = None, knowledge: Knowledge = NOTHING, programs: Programs = PROGRAMS
) -> CommandRecord:
    """What the shell command ``command`` would do if it started in ``cwd``, by the facts in ``programs``."""
    tree = parse(command)
    if isinstance(tree, Opaque):
        walk = _Walk(HERE if cwd is None else cwd, knowledge, programs)
        walk.sequence(parse_until_error(command))
        return opaque_record(command, cwd, tree.reason, walk.found)
    tree, start = leading_cd(tree, HERE if cwd is None else cwd)
    walk = _Walk(start, knowledge, programs, HERE if cwd is None else cwd, tree)
    walk.sequence(tree)
    if walk.found.opaque is not None:
        return opaque_record(command, cwd, walk.found.opaque, walk.found)
    # Where the start is not known, neither is what any relative path means.
    walk.found.literal = walk.found.literal and cwd is not None
    walk.found.volatile = walk.found.volatile or names_unstable(command)
    exact = Normal(walk.spelled, walk.quiet, exact=True).sequence(tree)
    normal = Normal(walk.spelled, walk.quiet, exact=False).sequence(tree) if walk.incidental else exact
    if walk.start != (cwd or HERE):
        entered = f"cd {quote(walk.start)} && "
        normal, exact = entered + normal, entered + exact
    return summarize(walk.found, normal or "cd", exact or "cd", cwd)


class _Walk:
    """One pass over a command's tree."""

    def __init__(
        self,
        start: str,
        knowledge: Knowledge,
        programs: Programs,
        origin: str | None = None,
        tree: Sequence | None = None,
    ) -> None:
        self.start = start
        self.origin = start if origin is None else origin
        self._tree = tree
        self.cwd: str | None = start
        self.knowledge = knowledge
        self.programs = programs
        self.found = Found()
        self.spelled: dict[int, tuple[str, ...]] = {}
        self.quiet: set[int] = set()
        self.incidental = False
        self._certain = True
        self._doubted: set[str] = set()
        self._strict = False
        self._nesting = 0
        self._texts = 0

    def sequence(self, sequence: Sequence, *, certain: bool = True) -> None:
        """Walk a list of commands: one after ``||`` may not run, and the exit status of one before ``||``, after ``!``
        or in the background is not the list's."""
        items = sequence.items
        outer = self._certain
        perhaps = False
        entered = {self.start} if sequence is self._tree else set[str]()
        for at, item in enumerate(items):
            # Behind ``!`` what follows runs if something fails, and that it does is not certain.
            unlikely = at and (
                items[at - 1].operator == "||" or (items[at - 1].negated and items[at - 1].operator == "&&")
            )
            self._certain = certain and not unlikely
            last = at == len(items) - 1 and not item.negated and item.operator != "&"
            before = self.cwd
            self._entry(item.node, certain=self._certain, last=last)
            if item.operator == "&":
                self.found.background = True
                self.cwd = before
            elif self.cwd != before and not (self._certain and moves(item, items[at + 1 :])):
                self.cwd = None
            # A failure ends it, by ``|| exit`` or ``set -e``; in the middle of ``&&`` the latter does not count.
            stops = item.operator == "||" or (item.operator == ";" and self._strict)
            if self.cwd is not None and self.cwd != before and not stops:
                entered.add(self.cwd)
            # A folder that is entered only if something else succeeds is that of what depends on the same, no more.
            perhaps = perhaps or (self.cwd != before and at > 0 and not goes_on(items[at - 1]))
            if perhaps and item.operator == ";":
                self.cwd, perhaps = None, False
            self._strict = stops_at_failures(item, self._strict)
            if item.operator == ";":
                # The commands after it run even if the folder could not be entered.
                self._doubted.update(path for path in entered if not self._exists(path))
                entered.clear()
        self._certain = outer

    def _exists(self, path: str) -> bool:
        """A folder that is there for certain: the command starts in it or beneath it, or has just made it."""
        return path == "/" or beneath(self.origin, path) or path in self.found.writes

    def _entry(self, node: Node, *, certain: bool, last: bool) -> None:
        """Walk one member of a list and note what it prints."""
        part, silent = self._stage(node, fed=False)
        self.found.contents += part.contents or ()
        self.found.printed(part.view, certain=certain, silent=silent, last=last)

    def _stage(self, node: Node, *, fed: bool) -> tuple[Part, bool]:
        """Walk a node as one stage of a pipe: what it does, and whether it prints nothing."""
        if isinstance(node, Simple):
            return self._simple(node, fed=fed)
        if isinstance(node, Pipeline):
            return self._pipeline(node, fed=fed)
        before = self.cwd
        if isinstance(node, Compound) and node.kind in ("subshell", "group") and not node.redirects:
            view = self._list(node.bodies[0])
            self.cwd = before if node.kind == "subshell" else self.cwd
            return Part(view=view), False
        if isinstance(node, Compound):
            self._compound(node)
        else:
            self.sequence(node, certain=False)
        self.cwd = before if isinstance(node, Compound) and node.kind == "subshell" else self._after(before)
        return Part(), False

    def _after(self, before: str | None) -> str | None:
        """The directory behind a body that may or may not have run."""
        return before if self.cwd == before else None

    def _pipeline(self, node: Pipeline, *, fed: bool) -> tuple[Part, bool]:
        """Compose the stages' views; every stage has its own subshell."""
        before = self.cwd
        self.incidental = self.incidental or is_cat(node.parts[-1])
        view: View | None = None
        silent = False
        printed: tuple[str, ...] = ()
        views, shows = len(self.found.views), len(self.found.shows)
        for at, stage in enumerate(node.parts):
            part, silent = self._stage(stage, fed=fed or at > 0)
            printed = printed if part.contents is None else part.contents
            if part.category is Category.SEARCH:
                # What a search lets through comes with its place, or without one.
                del self.found.shows[shows:]
            if silent and at < len(node.parts) - 1:
                # Its output goes elsewhere: the next stage reads nothing.
                view = None
            elif at == 0:
                view = part.view
            else:
                view = apply(view, part.selection) if view is not None and part.selection is not None else None
            self.cwd = before
            self.found.patching = self.found.patching or part.makes_patch
        self.found.patching = False
        del self.found.views[views:]
        return Part(view=view, contents=printed), silent

    def _compound(self, node: Compound) -> None:
        for word in node.words:
            self._word(word)
        if evaluates_compound(node, self.programs):
            self.found.effects.append(Effects.UNKNOWN)
        if node.kind in ("for", "case"):
            self.found.literal = False
        self._redirects(node.redirects, Part())
        for body in node.bodies:
            self.sequence(body, certain=False)

    def _simple(self, node: Simple, *, fed: bool) -> tuple[Part, bool]:
        """Look a simple command up, and note its effects, words and redirections."""
        for word in (*node.assignments, *node.words):
            if word.literal is None:
                self._word(word)
        peeled = peel(node.words)
        self._environment(node, peeled)
        self.found.background = self.found.background or peeled.background
        self.found.volatile = self.found.volatile or peeled.volatile
        # Timings and traces are printed among the output.
        self.found.noisy = self.found.noisy or peeled.volatile
        fed_view, fed_file, body = self._input(node.redirects) if node.redirects else (None, False, None)
        if peeled.unfed:
            fed, fed_view, fed_file, body = False, None, False, None
        before = self.cwd
        if peeled.moved is not None:
            self.cwd = resolve(self.cwd, peeled.moved.literal) if peeled.moved.literal else None
        if peeled.script is not None:
            part = self._script(peeled.script)
        else:
            part = self._program(peeled.words, body, fed or fed_file)
        after, self.cwd = before if peeled.apart else self.cwd, before
        if part.argv is not None and len(peeled.words) == len(node.words):
            self.spelled[id(node)] = part.argv
        if part.comparable:
            self.quiet.add(id(node))
        if any(redirect.expands for redirect in node.redirects):
            part = without_expansions(part)
        if fed_view is not None and part.selection is not None:
            part = replace(part, view=apply(fed_view, part.selection), contents=(fed_view.path,))
        # A file behind a redirection is opened before ``cd`` moves.
        silent = self._redirects(node.redirects, part) or self._prints_nothing(node.words, part)
        self.cwd = after
        self.found.part(part, self.knowledge.patches)
        self._scripts_written()
        return part, silent

    def _prints_nothing(self, words: tuple[Word, ...], part: Part) -> bool:
        """The command has no output if it succeeds; ``cd -`` prints where it goes."""
        facts = self.programs.find(words[0].literal or "") if words else None
        return not words or (facts is not None and part.moves_to != "" and facts.is_silent(words[1:]))

    def _environment(self, node: Simple, peeled: Peeled) -> None:
        """What may change what known programs do: variables that are given to one or set, and hidden evaluation."""
        words = peeled.words
        set_ = words[1:] if words and words[0].literal in DECLARES else ()
        assigned = (*node.assignments, *peeled.given, *set_)
        if any(acts(word, self.programs) for word in assigned) or evaluates(node, words, self.programs):
            self.found.effects.append(Effects.UNKNOWN)

    def _scripts_written(self) -> None:
        """Note the scripts that the command has just written: a later part of it may run them."""
        if len(self.found.texts) == self._texts:
            return
        scripts = [(path, text) for path, text in self.found.texts[self._texts :] if is_script(path)]
        self._texts = len(self.found.texts)
        if scripts:
            known = Scripts(self.knowledge.scripts)
            for path, text in scripts:
                known.write(path, text, self.cwd)
            self.knowledge = replace(self.knowledge, scripts=known)

    def _program(self, words: tuple[Word, ...], body: str | None, fed: bool) -> Part:
        """What the program does, its paths joined with the working directory."""
        if not words:
            return Part(comparable=True)
        name = words[0].literal
        self.found.programs += 1
        if name is None:
            return Part(opaque="dynamic-program")
        # A folder that is not known, or that changes by itself, makes the output depend on more than files.
        self.found.literal = self.found.literal and self.cwd is not None
        files = named_files(words[1:])
        self.found.volatile = self.found.volatile or unstable(self.cwd or "") or any(map(unstable, files))
        if name != "cd" and any(".." in file and PARENT.search(file) for file in files):
            self.found.upward = True
        call = Invocation(
            known_name(name, self.programs), words[1:], self.programs, body, fed, self.cwd, self.knowledge
        )
        facts = self.programs.find(call.name)
        if facts is not None:
            part = facts.part(call)
            part = doubted(part) if "/" in machine_name(name) else part
        elif "/" in name:
            part = run_script(call.running("bash", words), words, "")
        else:
            part = runs(unknown=True)
            self.found.unknown_programs.append(name)
        sure = part.effects is not Effects.NONE or (facts is not None and facts.harmless(call.args))
        self.found.harmless = self.found.harmless and sure
        if part.comparable:
            self.found.looks_at += [spell(self.cwd, text) for text in files]
        if part.category is Category.INSPECT or _executes_reader(call):
            self.found.shows += [spell(self.cwd, part.view.path)] if part.view else _operands(call, self.cwd)
        if part.moves_to is not None:
            self._enter(part.moves_to)
        contents = (facts or UNKNOWN).printed_files(call, part)
        return self._joined(part if contents == part.contents else replace(part, contents=contents))

    def _enter(self, folder: str) -> None:
        """Change the working directory; from one that may not have been entered, a relative path leads anywhere."""
        doubted = self.cwd in self._doubted and not folder.startswith("/")
        self.cwd = resolve(self.cwd, folder) if folder else None
        if doubted and self.cwd is not None:
            self._doubted.add(self.cwd)

    def _joined(self, part: Part) -> Part:
        """The part with its paths joined with the working directory; what is relative to a lost one is not certain."""
        view = part.view
        if view is not None and view.path.endswith(("/", "/.")):
            part = replace(part, view=None)
        elif view is not None and unstable(view.path):
            part = replace(part, view=None, volatile=True, comparable=False)
        elif view is not None:
            path = self._path(view.path)
            if path != view.path:
                part = replace(part, view=replace(view, path=path) if path is not None else None)
        if part.writes:
            paths = [self._written(path) for path in part.writes]
            known = tuple(path for path in paths if path is not None)
            creates, folders = (
                tuple(path for path in map(self._written, named) if path is not None)
                for named in (part.creates, part.folders)
            )
            part = replace(part, writes=known, creates=creates, folders=folders)
            if len(known) < len(paths):
                part = replace(part, effects=Effects.UNKNOWN, scope=Scope.TREE)
        if part.texts:
            texts = [(path and self._written(path), text) for path, text in part.texts]
            part = replace(part, texts=tuple((path, text) for path, text in texts if path is not None))
        return part

    def _path(self, path: str) -> str | None:
        """The path as it is meant in the working directory; None if it is relative and leads where nothing is known."""
        return resolve(self.cwd, path)

    def _written(self, path: str) -> str | None:
        """The same for a path that is written; None also where the folder may not have been entered, or in ``/proc``.

        A read in the wrong folder shows in its output, which begins with the error of ``cd``; a write does not show.
        """
        meant = self._path(path) if path.startswith("/") or self.cwd not in self._doubted else None
        return None if meant is not None and BY_PROCESS.match(meant) else meant

    def _script(self, script: Word) -> Part:
        """The text behind ``bash -c``."""
        tree = parse(script.literal) if script.literal is not None else Opaque("eval")
        if self._nesting >= MAX_NESTING:
            return Part(opaque="too-deep")
        before = self.cwd
        if isinstance(tree, Opaque):
            self._nested(parse_until_error(script.literal or ""))
            self.cwd = before
            return Part(opaque=tree.reason)
        view = self._list(tree)
        self.cwd = before
        return Part(view=view, comparable=True)

    def _list(self, tree: Sequence) -> View | None:
        """Walk a list that prints in place of this command: one view in it stays one view."""
        views = len(self.found.views)
        self._nested(tree)
        shown = [entry for entry in self.found.views[views:] if not entry.silent]
        if len(shown) == 1 and shown[0].certain and shown[0].last:
            self.found.views.remove(shown[0])
            return shown[0].view
        for entry in shown:
            entry.last = False
        return None

    def _nested(self, tree: Sequence) -> None:
        self._nesting += 1
        self.sequence(tree, certain=self._certain)
        self._nesting -= 1

    def _word(self, word: Word) -> None:
        """A dynamic word, and the commands inside it; one that may outlive the command must not write."""
        if word.literal is None:
            self.found.literal = False
        before = len(self.found.effects)
        self._inner(word.scripts)
        if word.scripts and OUTLIVING.search(word.source):
            acting = any(effects is not Effects.NONE for effects in self.found.effects[before:])
            self.found.background = self.found.background or acting

    def _inner(self, scripts: tuple[Sequence, ...]) -> None:
        """Commands whose output becomes a word: they count, but they print nothing themselves."""
        for script in scripts:
            if self._nesting >= MAX_NESTING:
                self.found.opaque = "too-deep"
                return
            before, views, printed = self.cwd, len(self.found.views), len(self.found.contents)
            self._nested(script)
            del self.found.views[views:]
            del self.found.contents[printed:]
            self.cwd = before

    def _input(self, redirects: tuple[Redirect, ...]) -> tuple[View | None, bool, str | None]:
        """Standard input: the view of a file behind ``<``, whether it is one, and the text of a here-document."""
        view, fed, body = None, False, None
        for redirect in redirects:
            if redirect.descriptor not in (None, 0):
                continue
            if redirect.operator == "<":
                fed = True
                path = redirect.target.literal if redirect.target else None
                certain = path and not unstable(path) and not path.endswith(("/", "/."))
                spelled = self._path(path) if path and certain else None
                self.found.shows.append(spelled or "")
                view = View(spelled, (WHOLE,)) if spelled is not None else None
            elif redirect.body is not None:
                fed, body = True, redirect.body
            elif redirect.operator == "<<<" and redirect.target is not None:
                fed, body = True, redirect.target.literal
        return view, fed, body

    def _redirects(self, redirects: tuple[Redirect, ...], part: Part) -> bool:
        """Note the files written by redirection; true if the output goes elsewhere."""
        away = False
        body = next((one.body for one in redirects if one.body is not None), None)
        for redirect in redirects:
            self.incidental = True
            self._inner(redirect.scripts)
            if redirect.target is not None:
                self._word(redirect.target)
            if ">" not in redirect.operator or redirect.target is None:
                continue
            target = redirect.target.literal
            path = self._written(target) if target else None
            if redirect.operator == ">&" and target is not None and (target.isdigit() or target == "-"):
                away = away or (redirect.descriptor in (None, 1) and target != "1")
                opened = ("-", "0", "1", "2", *(str(one.descriptor) for one in redirects))
                if target not in opened:
                    # A persistent shell may have opened it upon any file.
                    self.found.effects.append(Effects.UNKNOWN)
                continue
            away = away or redirect.descriptor in (None, 1) or redirect.operator.startswith("&")
            if target in HARMLESS:
                away = away and target == "/dev/null"
            elif path is None:
                self.found.effects.append(Effects.UNKNOWN)
                self.found.redirected(None, part, None, self.cwd, whole=False)
            else:
                carried = body if part.selection is not None else part.prints
                shown = carried if redirect.descriptor in (None, 1) else None
                self.found.redirected(path, part, shown, self.cwd, whole=">>" not in redirect.operator)
        return away


def without_expansions(part: Part) -> Part:
    """The part without names that the shell may still replace, as it does in a here-document that it expands."""
    certain = tuple(path for path in part.writes if not EXPANSION.search(path))
    if len(certain) == len(part.writes):
        return part
    return replace(part, writes=certain, effects=Effects.UNKNOWN)


def named_files(words: tuple[Word, ...]) -> list[str]:
    """The words that may name a file: not an option, and with a folder or an extension."""
    texts = [word.literal for word in words if word.literal]
    return [text for text in texts if text[0] != "-" and ("/" in text or "." in text)]


def _operands(call: Invocation, cwd: str | None) -> list[str]:
    """The words of a reader that may name the files that it shows; "" for those that the shell computes."""
    given = [word.literal for word in call.args if not (word.literal or "").startswith("-")]
    if _executes_reader(call) or None in given or not (given or call.fed):
        return [""]
    return [spell(cwd, text) for text in given if text]


def _executes_reader(call: Invocation) -> bool:
    """``find -exec cat {} +``: it shows the files that the search finds."""
    for word, behind in itertools.pairwise(call.args):
        if word.literal in ("-exec", "-execdir"):
            name = behind.literal or ""
            facts = call.programs.find(name)
            return facts is None or facts.part(Invocation(name, (), call.programs)).category is Category.INSPECT
    return False


def known_name(name: str, programs: Programs) -> str:
    """The name to look a program up by: that of a program in a ``bin`` folder, or of a known script."""
    folder, slash, base = name.rpartition("/")
    if not slash:
        return name
    spelled = f"{folder.rpartition('/')[2]}/{base}"
    if spelled in programs and folder not in PROGRAM_FOLDERS:
        return spelled
    known = base in programs and (folder.endswith("bin") or "." in base or base in ("gradlew", "mvnw", "configure"))
    return base if known else name
