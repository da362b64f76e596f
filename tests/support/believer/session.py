"""One seeded session: commands in a real shell and changes by others, with Ledger between them and a believer."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

from execledger.agents.codex import tools as codex
from execledger.core.ledger import Ledger
from execledger.core.policy import Policy, Preset
from execledger.core.step import take
from execledger.vocabulary.actions import Action, Observation
from tests.support.believer import edits
from tests.support.believer.displays import PLAIN, Part, Piece, split
from tests.support.believer.judge import Reader, Truth
from tests.support.believer.reads import TEXT, TRUE, Ask, fill, look, several
from tests.support.believer.tools import file_read

GIT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.com",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.com",
    "GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z",
    "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z",
}


@dataclass
class Finding:
    """Something that misleads."""

    what: str
    """The reference, or the claim of the view."""
    kind: str
    """In which way it misleads."""
    why: str
    step: int


@dataclass
class Report:
    """What became of a session."""

    seed: int
    sealed: bool
    commands: list[str] = field(default_factory=list)
    """What was done, with what was shown of it, for a person to read."""
    steps: int = 0
    references: int = 0
    suppressed: int = 0
    partial: int = 0
    elsewhere: int = 0
    claims: int = 0
    views: int = 0
    unsure: list[str] = field(default_factory=list)
    """Commands whose output is not what the generator takes it for: only their text was judged."""
    misleading: list[Finding] = field(default_factory=list)
    false_claims: list[Finding] = field(default_factory=list)


def text_of(random: Random) -> str:
    """A file of one of the kinds in which a place is hard to recognise by its text."""
    count = random.randint(12, 70)
    kind = random.randrange(6)
    if kind <= 1:
        lines = [f"value_{number} = compute(number={number})" for number in range(1, count + 1)]
    elif kind == 2:
        lines = []
        while len(lines) < count:
            lines += [f"int item_{len(lines)}(int value)", "{", "    return item;", "}", ""]
    elif kind == 3:
        cycle = [f"    item {random.randint(1, 9)} of a long list of values" for _ in range(random.randint(2, 6))]
        lines = (cycle * count)[:count]
    elif kind == 4:
        lines = [
            random.choice(("}", "", "    return item", "end", f"\tvalue {random.randint(1, 30)}")) for _ in range(count)
        ]
    else:
        lines = ["the same line of text, over and over"] * count
        lines[random.randrange(count)] = "but one is another"
    if random.random() < 0.15:
        # What programs and parsers of their output may take for something else than text of a line.
        hostile = (
            "a\x0cb",
            "a\x0bb",
            "a\u2028b",
            "a\x85b",
            "a\rb",
            "\x1cz",
            "[Ledger: output omitted.]",
            "     3\tvalue",
            "7:x",
        )
        for _ in range(random.randint(1, 5)):
            lines[random.randrange(len(lines))] = random.choice((*hostile, "x" * 300, "   ", "..."))
    if random.random() < 0.05:
        lines = [f"{number:6}\t{line}" for number, line in enumerate(lines, random.choice((1, 1, 5)))]
    end = "\r\n" if random.random() < 0.07 else "\n"
    return end.join(lines) + ("" if random.random() < 0.1 else end)


class World:
    """A folder with files, and a shell in it."""

    def __init__(self, folder: Path, random: Random) -> None:
        self.folder, self.random = folder, random
        names = ["a.py", "src/a.py", "src/deep/c.txt", "my file.txt", "notes.md"]
        self.files = [folder / name for name in random.sample(names, random.randint(1, 3))]
        if random.random() < 0.25:
            self.files = [folder / "a.py", folder / "src/a.py"]
        self.past: dict[Path, list[str]] = {}
        for path in self.files:
            path.parent.mkdir(parents=True, exist_ok=True)
            self.put(path, text_of(random))
        if len(self.files) > 1 and random.random() < 0.2:
            self.put(self.files[1], self.text(self.files[0]))
        self.repository = random.random() < 0.2
        if self.repository:
            self.run("git init -q && git add -A && git commit -q -m first")
        if random.random() < 0.2:
            (folder / "link.py").symlink_to(self.files[0])
            self.files.append(folder / "link.py")

    def put(self, path: Path, text: str) -> None:
        path.write_bytes(text.encode())

    def text(self, path: Path) -> str:
        try:
            return path.read_bytes().decode("utf-8", "replace")
        except OSError:
            return ""

    def run(self, command: str, cwd: Path | None = None) -> tuple[str, int]:
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "LC_ALL": "C.UTF-8", **GIT}
        done = subprocess.run(
            ("bash", "--noprofile", "--norc", "-c", command),
            cwd=cwd or self.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=60,
            check=False,
        )
        return done.stdout.decode("utf-8", "replace"), done.returncode

    def remember(self) -> None:
        """Keep the contents of the files, for an undo."""
        for path in self.files:
            text, past = self.text(path), self.past.setdefault(path, [])
            if text and text not in past[-1:]:
                past.append(text)


class Author:
    """Decides what is done next, by the real contents of the files."""

    def __init__(self, world: World, random: Random, sealed: bool, tools: bool) -> None:
        self.world, self.random, self.sealed, self.tools = world, random, sealed, tools
        self.main = world.files[0]
        self.range: tuple[int, int] = (1, 20)
        self.edited: Path | None = None
        self.roams = random.random() < 0.2

    def file(self) -> Path:
        return self.main if self.random.random() < 0.7 else self.random.choice(self.world.files)

    def bounds(self, total: int) -> tuple[int, int]:
        """The lines to look at: often about those of the last look, sometimes beyond the end of the file."""
        random = self.random
        first, last = self.range
        kind = random.random()
        if kind < 0.35:
            pass
        elif kind < 0.6:
            first, last = first + random.randint(-4, 4), last + random.randint(-6, 6)
        elif kind < 0.7:
            last = total + random.choice((0, 0, 1, 5))
            first = last - random.randint(8, 25)
        elif kind < 0.8:
            first, last = 1, random.randint(8, max(9, total))
        else:
            first = random.randint(1, max(1, total - 8))
            last = first + random.randint(8, 30)
        first = max(1, min(first, max(1, total)))
        self.range = first, max(first, last)
        return self.range

    def open(self) -> list[Ask]:
        """How a session begins: a look at the whole file."""
        word = shlex.quote(str(self.main.relative_to(self.world.folder)))
        form, style = self.random.choice((("cat", PLAIN), ("cat", PLAIN), ("cat -n", TRUE)))
        return (
            [self.look(self.main)]
            if self.random.random() < 0.3
            else [Ask(f"{form} {word}", (Part(self.main, style=style),))]
        )

    def look(self, path: Path) -> Ask:
        total = len(split(self.world.text(path)))
        if self.tools and self.random.random() < 0.6:
            tool = file_read(self.random, path, *self.bounds(total))
            return Ask(tool.command, (tool,), tool=tool)
        return look(self.random, self.world.folder, path, lambda: self.bounds(total), self.roams)

    def next(self) -> Ask:
        """The next command: after an edit mostly a look at what was edited."""
        random = self.random
        edited, self.edited = self.edited, None
        if edited is not None and random.random() < 0.75:
            return self.look(edited)
        kind = random.random()
        if kind < 0.64:
            return self.look(self.file())
        if kind < 0.68:
            word = shlex.quote(str(self.file().relative_to(self.world.folder)))
            return Ask(fill(random.choice(TEXT), word, *self.bounds(40)))
        if kind < 0.72:
            paths = random.sample(self.world.files, 2) if len(self.world.files) > 1 else [self.main, self.main]
            words = [shlex.quote(str(path.relative_to(self.world.folder))) for path in paths]
            return several(random, paths, words, *self.bounds(40))
        path = self.file()
        self.edited = path
        edit = self.edit(path)
        if random.random() < 0.12 and "\n" not in edit and not self.roams:
            read = self.look(path)
            if read.tool is not None:
                return read
            if random.random() < 0.7:
                return Ask(f"{edit}; {read.command}", read.parts, harmless=False)
            return Ask(f"{read.command}; {edit}", read.parts, harmless=False, early=True)
        return Ask(edit, harmless=False)

    def edit(self, path: Path) -> str:
        """A command that changes a file."""
        random, world = self.random, self.world
        world.remember()
        old = world.text(path)
        word = shlex.quote(str(path.relative_to(world.folder) if random.random() < 0.9 else path))
        kind = random.random()
        others = [one for one in world.files if one != path and one.exists()]
        if old and kind < 0.5:
            return edits.native(random, word, split(old))
        if kind < 0.62:
            return edits.among_files(random, world.folder, path, others, world.repository)
        channel = random.choice(edits.SEALED_CHANNELS if self.sealed else edits.CHANNELS)
        return channel(word, old, self.new(path, old))

    def new(self, path: Path, old: str) -> str:
        """Another text: an earlier one, that of another file, or a changed one."""
        random, past = self.random, self.world.past.get(path) or [""]
        kind = random.random()
        if kind < 0.25:
            return random.choice(past[-3:])
        if kind < 0.3:
            return self.world.text(random.choice(self.world.files)) or old
        return edits.changed(random, old)

    def meddle(self) -> Iterator[str]:
        """Changes by others, between two commands."""
        if self.sealed or self.random.random() > 0.12:
            return
        path = self.file()
        self.world.remember()
        old = self.world.text(path)
        # A file may have become a link to itself.
        with suppress(OSError):
            self.world.put(path, self.new(path, old))
            self.edited = path
            yield f"(another process changes {path.name})"


class Remaining:
    """The numbers of the results that are still part of the request."""

    def __init__(self) -> None:
        self.gone: set[int] = set()

    def __contains__(self, number: object) -> bool:
        return number not in self.gone


def policy_of(random: Random, preset: str) -> Policy:
    """Without a price, sometimes with references for short outputs too, so that more of them are judged."""
    bold: dict[str, float] = {"second_look_rate": 0.0, "min_output": 300}
    if random.random() < 0.5:
        bold |= {
            "min_output": 40,
            "max_share": 1.0,
            "min_run": random.choice((1, 3)),
            "min_omitted": 1,
        }
    known = {name: value for name, value in bold.items() if name in Policy.__struct_fields__}
    return Policy(preset=Preset(preset), **known)  # type: ignore[arg-type]


def play(seed: int, preset: str = "verified", *, tools: bool = False) -> Report:
    """Play one session; the same seed gives the same session. With ``tools``, most reads are calls of a tool."""
    random = Random(seed)
    sealed = random.random() < 0.4
    report = Report(seed, sealed)
    with tempfile.TemporaryDirectory(prefix="believer-") as place:
        folder = Path(place).resolve() / "repo"
        folder.mkdir()
        world = World(folder, random)
        author = Author(world, random, sealed, tools)
        if tools and random.random() < 0.3:
            world.put(author.main, "".join(_lengthened(random, split(world.text(author.main)))))
        ledger = Ledger("<issue>Mend it.</issue>", policy_of(random, preset))
        reader = Reader(folder)
        remaining = Remaining()
        limit = random.randint(300, 1500) if random.random() < 0.15 else None
        pending = author.open()
        length = random.randint(8, 25)
        for step in range(length):
            report.commands += author.meddle()
            if step > 5 and random.random() < 0.02:
                whole = random.random() < 0.7
                gone = range(random.randint(1, step)) if whole else random.sample(range(step), 3)
                remaining.gone.update(gone)
                reader.hide(gone)
                report.commands.append(f"(these results are gone: {sorted(remaining.gone)})")
            ask = pending.pop() if pending else author.next()
            _step(world, ledger, reader, ask, report, remaining, limit)
        report.steps, report.elsewhere = length, reader.elsewhere
    return report


def _step(
    world: World, ledger: Ledger, reader: Reader, ask: Ask, report: Report, visible: Remaining, limit: int | None
) -> None:
    """One command through Ledger, and what the reader makes of what he is shown."""
    truths: list[Truth] = []
    cwd = str(ask.cwd or world.folder)

    def truth(ran: bool) -> Truth:
        early = _displayed(ask) if ask.early else ()
        if ask.tool is not None:
            output, status = ask.tool.answer(), 0
        else:
            output, status = world.run(ask.command, ask.cwd) if ran or ask.harmless else ("", 0)
        pieces = _judged(ask, early or _displayed(ask), output, report)
        cut = (limit // 2, len(output) - limit // 2) if limit and len(output) > limit else None
        return Truth(ask.command, output, status, pieces, ask.harmless, ran, cwd, cut)

    def run(action: Action) -> Observation:
        real = truth(ran=True)
        truths.append(real)
        if ask.tool is not None:
            return codex.observation_of(ask.tool.call, (_shortened(real),))
        if not real.cut:
            return Observation(real.output, exit_status=real.status)
        first, last = real.cut
        shown = real.output[:first] + real.output[last:]
        return Observation(shown, exit_status=real.status, cut=first, truncated=True)

    action = Action(ask.command, cwd) if ask.tool is None else codex.action_of(ask.tool.call, cwd)
    step = take(ledger, action, run, visible, report.sealed)
    real = truths[0] if truths else truth(ran=False)
    number = len(reader.results)
    report.commands.append(f"{number}$ {f'(in {ask.cwd}) ' if ask.cwd else ''}{ask.command}")
    if truths and step.shown.kind in ("full", "remark"):
        reader.show(real)
    else:
        report.references += 1
        report.suppressed += not truths
        report.partial += step.shown.kind == "partial"
        report.commands.append(f"  {step.shown.text}")
        if why := reader.refer(real, step.observation.output):
            report.misleading.append(Finding(step.shown.text, why.kind, str(why), number))
            report.commands.append(f"  MISLEADING ({why.kind}): {why}")
    view = ledger.inform(visible, report.sealed, "").text
    report.views += 1
    for claim, why in reader.claims(view):
        report.claims += 1
        if why:
            report.false_claims.append(Finding(claim.text, why.kind, str(why), number))
            report.commands.append(f"  FALSE CLAIM ({why.kind}): {claim.text}: {why}")


def _lengthened(random: Random, lines: list[str]) -> Iterator[str]:
    """Lines, a few of them about as long as, or longer than, what a tool shows of one."""
    few = random.sample(range(len(lines)), random.randint(1, 2))
    for number, line in enumerate(lines):
        count = random.choice((495, 496, 497, 499, 500, 501, 700)) if number in few else 0
        yield (random.choice("xé") * count)[:count] + line if count else line


def _shortened(real: Truth) -> str:
    """What Codex shows of a long answer."""
    if not real.cut:
        return real.output
    first, last = real.cut
    return f"{real.output[:first]}…{(last - first) // 4 + 1} tokens truncated…{real.output[last:]}"


def _displayed(ask: Ask) -> tuple[Piece, ...]:
    """What a command shows of files as they are."""
    try:
        return tuple(part.display() for part in ask.parts)
    except OSError:
        return ()


def _completed(pieces: tuple[Piece, ...]) -> tuple[Piece, ...]:
    """The last line with a line ending that the file lacks: `sed '9q'` adds it to a ninth line, and to no other."""
    *before, piece = pieces
    *lines, last = piece.lines
    last = last._replace(text=f"{last.text}\n", printed=f"{last.printed}\n")
    return (*before, replace(piece, lines=(*lines, last), completes=True))


def _judged(ask: Ask, pieces: tuple[Piece, ...], output: str, report: Report) -> tuple[Piece, ...] | None:
    """What an output shows of files, if it is what the command asks for; otherwise only its text can be judged."""
    if not pieces:
        return None if ask.harmless else ()
    printed = "".join(line.printed for piece in pieces for line in piece.lines)
    if printed == output:
        return pieces
    if "q' " in ask.command and f"{printed}\n" == output:
        return _completed(pieces)
    report.unsure.append(ask.command)
    return None
