"""From one shell command, without running it, to what it would do.

The walk goes through the syntax tree once, left to right: each simple command is looked up in ``programs/`` and says
what it does (``Part``), pipes compose views, and ``summary`` puts everything together. One unknown part makes the
whole unknown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from execledger.core.records import WHOLE, CommandRecord, Effects, View
from execledger.shell import programs  # noqa: F401  (fills PROGRAMS)
from execledger.shell.normalize import Normal, is_cat
from execledger.shell.parts import NOTHING, PROGRAMS, Invocation, Knowledge, Part, runs
from execledger.shell.paths import HARMLESS, resolve, spell, unstable
from execledger.shell.programs.readers import apply
from execledger.shell.programs.scripts import language_of, written_by
from execledger.shell.summary import Found, opaque_record, summarize
from execledger.shell.syntax import parse
from execledger.shell.tree import Compound, Node, Opaque, Pipeline, Redirect, Sequence, Simple, Word
from execledger.shell.wrappers import peel

MAX_NESTING = 12
"""Scripts inside scripts (``bash -c``, substitutions) that we follow."""

SYSTEM = ("/bin", "/usr", "/sbin", "/opt")
"""Where the machine's own programs stand: a ``bin/test`` elsewhere is the project's."""

SILENT = frozenset(
    ("cd", "true", ":", "set", "export", "test", "[", "shopt", "umask", "unset", "trap", "wait", "sleep")
)
"""Programs that print nothing: what stands beside them is still the only output."""


def classify_command(command: str, cwd: str | None = None, knowledge: Knowledge = NOTHING) -> CommandRecord:
    """What the shell command ``command`` would do if it started in ``cwd``."""
    tree = parse(command)
    if isinstance(tree, Opaque):
        return opaque_record(command, cwd, tree.reason)
    walk = _Walk(cwd, knowledge)
    tree = walk.leading_cd(tree)
    walk.sequence(tree)
    if walk.found.opaque is not None:
        return opaque_record(command, cwd, walk.found.opaque, walk.found)
    exact = Normal(walk.spelled, exact=True).sequence(tree)
    normal = Normal(walk.spelled, exact=False).sequence(tree) if walk.incidental else exact
    if walk.start != cwd:
        normal, exact = f"cd {walk.start} && {normal}", f"cd {walk.start} && {exact}"
    return summarize(walk.found, normal or "cd", exact or "cd", cwd)


class _Walk:
    """One pass over a command's tree."""

    def __init__(self, cwd: str | None, knowledge: Knowledge) -> None:
        self.cwd = self.start = cwd
        self.knowledge = knowledge
        self.found = Found()
        self.spelled: dict[int, tuple[str, ...]] = {}
        self.incidental = False
        self._nesting = 0
        self._texts = 0

    def leading_cd(self, tree: Sequence) -> Sequence:
        """Enter a literal leading ``cd`` and take it off the tree."""
        while len(tree.items) > 1:
            first = tree.items[0]
            words = first.node.words if isinstance(first.node, Simple) else ()
            plain = isinstance(first.node, Simple) and not (first.node.redirects or first.node.assignments)
            if not plain or len(words) != 2 or words[0].literal != "cd" or first.operator not in ("&&", ";"):
                break
            target = words[1].literal
            path = None if target is None or target.startswith("-") else resolve(self.cwd, target)
            if path is None or (first.operator == ";" and path != self.cwd):
                break
            self.cwd = self.start = path
            tree = Sequence(tree.items[1:])
        return tree

    def sequence(self, sequence: Sequence, *, certain: bool = True) -> None:
        """Walk a list; what stands behind ``||`` may not run."""
        items = sequence.items
        for at, item in enumerate(items):
            behind = items[at - 1].operator if at else ""
            alternative = behind == "||" or item.operator == "||" or item.negated
            if item.operator == "&":
                self.found.background = True
            before = self.cwd
            self._entry(item.node, certain=certain and not alternative, last=at == len(items) - 1)
            if self.cwd != before and (alternative or not certain or item.operator == "&"):
                self.cwd = None

    def _entry(self, node: Node, *, certain: bool, last: bool) -> None:
        """Walk one member of a list and note what it prints."""
        part, silent = self._stage(node, fed=False)
        self.found.printed(part.view, certain=certain, silent=silent, last=last)

    def _stage(self, node: Node, *, fed: bool) -> tuple[Part, bool]:
        """Walk a node as one stage of a pipe: what it does, and whether it prints nothing."""
        if isinstance(node, Simple):
            return self._simple(node, fed=fed)
        if isinstance(node, Pipeline):
            return self._pipeline(node, fed=fed)
        before = self.cwd
        if isinstance(node, Compound) and node.kind in ("subshell", "group") and not node.redirects:
            view = self._list(node.bodies[0]) if node.bodies else None
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
        for at, stage in enumerate(node.parts):
            part, silent = self._stage(stage, fed=fed or at > 0)
            if at == 0:
                view = part.view
            else:
                view = apply(view, part.selection) if view is not None and part.selection is not None else None
            self.cwd = before
            self.found.patching = self.found.patching or part.makes_patch
        self.found.patching = False
        return Part(view=view), silent

    def _compound(self, node: Compound) -> None:
        for word in node.words:
            self._word(word)
        if node.kind in ("for", "case"):
            self.found.literal = False
        for body in node.bodies:
            self.sequence(body, certain=False)
        self._redirects(node.redirects, Part())

    def _simple(self, node: Simple, *, fed: bool) -> tuple[Part, bool]:
        """Look a simple command up, and note its effects, words and redirections."""
        for word in (*node.assignments, *node.words):
            self._word(word)
        peeled = peel(node.words)
        self.found.background = self.found.background or peeled.background
        self.found.volatile = self.found.volatile or peeled.volatile
        fed_view, fed_file, body = self._input(node.redirects)
        before = self.cwd
        if peeled.moved is not None:
            self.cwd = resolve(self.cwd, peeled.moved.literal) if peeled.moved.literal else None
        if peeled.script is not None:
            part = self._script(peeled.script)
        else:
            part = self._program(peeled.words, body, fed or fed_file)
        if peeled.moved is not None:
            self.cwd = before
        if part.argv is not None and len(peeled.words) == len(node.words):
            self.spelled[id(node)] = part.argv
        if fed_view is not None:
            part = replace(part, view=apply(fed_view, part.selection) if part.selection is not None else None)
        silent = self._redirects(node.redirects, part) or (bool(node.words) and node.words[0].literal in SILENT)
        self.found.part(part, self.knowledge.patches)
        self._scripts_written()
        return part, silent or not node.words

    def _scripts_written(self) -> None:
        """A script that the command has just written may be run by what stands behind it."""
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
        if self.cwd is None:
            self.found.literal = False
        call = Invocation(known_name(name), words[1:], body, fed, self.cwd, self.knowledge)
        understand = PROGRAMS.get(call.name)
        if understand is not None:
            part = understand(call)
        elif "/" in name:
            part = PROGRAMS["bash"](replace(call, name="bash", args=words))
        else:
            part = runs(unknown=True)
            self.found.unknown_programs.append(name)
        if part.moves_to is not None:
            self.cwd = resolve(self.cwd, part.moves_to) if part.moves_to else None
        return self._joined(part)

    def _joined(self, part: Part) -> Part:
        """The part with its paths spelled from the root where the working directory is known."""
        view = part.view
        if view is not None and unstable(view.path):
            part = replace(part, view=None, volatile=True, comparable=False)
        elif view is not None:
            part = replace(part, view=replace(view, path=spell(self.cwd, view.path)))
        if part.writes:
            part = replace(part, writes=tuple(spell(self.cwd, path) for path in part.writes))
        if part.texts:
            part = replace(part, texts=tuple((path and spell(self.cwd, path), text) for path, text in part.texts))
        return part

    def _script(self, script: Word) -> Part:
        """The text behind ``bash -c``."""
        tree = parse(script.literal) if script.literal is not None else Opaque("eval")
        if isinstance(tree, Opaque) or self._nesting >= MAX_NESTING:
            return Part(opaque=tree.reason if isinstance(tree, Opaque) else "too-deep")
        before = self.cwd
        view = self._list(tree)
        self.cwd = before
        return Part(view=view, comparable=True)

    def _list(self, tree: Sequence) -> View | None:
        """Walk a list that prints in place of this command: one view in it stays one view."""
        views = len(self.found.views)
        self._nested(tree)
        inner, self.found.views[views:] = self.found.views[views:], []
        shown = [entry for entry in inner if not entry.silent]
        return shown[0].view if len(shown) == 1 and shown[0].certain and shown[0].last else None

    def _nested(self, tree: Sequence) -> None:
        self._nesting += 1
        self.sequence(tree)
        self._nesting -= 1

    def _word(self, word: Word) -> None:
        """A dynamic word, and the commands inside it."""
        if word.literal is None:
            self.found.literal = False
        self._inner(word.scripts)

    def _inner(self, scripts: tuple[Sequence, ...]) -> None:
        """Commands whose output becomes a word: they count, but they print nothing themselves."""
        for script in scripts:
            if self._nesting >= MAX_NESTING:
                self.found.opaque = "too-deep"
                return
            before, views = self.cwd, len(self.found.views)
            self._nested(script)
            del self.found.views[views:]
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
                view = View(spell(self.cwd, path), (WHOLE,)) if path and not unstable(path) else None
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
            if redirect.operator == ">&" and target is not None and (target.isdigit() or target == "-"):
                away = away or (redirect.descriptor in (None, 1) and target != "1")
                continue
            away = away or redirect.descriptor in (None, 1) or redirect.operator.startswith("&")
            if target in HARMLESS:
                away = away and target == "/dev/null"
            elif target is None:
                self.found.effects.append(Effects.UNKNOWN)
                self.found.redirected(None, part, None, self.cwd)
            else:
                carried = body if part.selection is not None else part.prints
                shown = carried if redirect.descriptor in (None, 1) else None
                self.found.redirected(spell(self.cwd, target), part, shown, self.cwd)
        return away


class Scripts(Mapping[str, tuple[str, ...]]):
    """Scripts that the agent wrote. What each names for writing is found out when it is asked for: few are ever run."""

    def __init__(self, earlier: Mapping[str, tuple[str, ...]] | None = None) -> None:
        """The scripts in ``earlier``, and those written from now on."""
        self._earlier = earlier if earlier is not None else {}
        self._texts: dict[str, list[tuple[str, str | None]]] = {}
        self._named: dict[str, tuple[str, ...]] = {}

    def write(self, path: str, text: str, cwd: str | None) -> None:
        """Note one more text written to ``path``; a script may be written in pieces, so what they name adds up."""
        self._texts.setdefault(path, []).append((text, cwd))
        self._named.pop(path, None)

    def __getitem__(self, path: str) -> tuple[str, ...]:
        """The files that the script at ``path`` names for writing."""
        if path not in self._texts:
            return self._earlier[path]
        if path not in self._named:
            named = [file for text, cwd in self._texts[path] for file in script_writes(path, text, cwd)]
            self._named[path] = tuple(dict.fromkeys((*self._earlier.get(path, ()), *named)))
        return self._named[path]

    def __iter__(self) -> Iterator[str]:
        """The scripts' paths."""
        return iter({**self._earlier, **self._texts})

    def __len__(self) -> int:
        """How many scripts there are."""
        return len({**self._earlier, **self._texts})

    def __contains__(self, path: object) -> bool:
        """A script was written to ``path``."""
        return path in self._texts or path in self._earlier


def is_script(path: str) -> bool:
    """``path`` is a script by its name."""
    return path.endswith((".sh", ".bash")) or bool(language_of(path))


def script_writes(path: str, text: str, cwd: str | None) -> tuple[str, ...]:
    """The files that a script names for writing."""
    if path.endswith((".sh", ".bash")):
        return classify_command(text, cwd).writes
    return written_by(text, language_of(path))


def known_name(name: str) -> str:
    """The name to look a program up by: that of a program in a ``bin`` folder, or of a known script."""
    folder, slash, base = name.rpartition("/")
    if not slash:
        return name
    spelled = f"{folder.rpartition('/')[2]}/{base}"
    if spelled in PROGRAMS and not folder.startswith(SYSTEM):
        return spelled
    known = base in PROGRAMS and (folder.endswith("bin") or "." in base or base in ("gradlew", "mvnw", "configure"))
    return base if known else name
