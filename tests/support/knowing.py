"""Sessions in a real folder and a real shell with a witness, of which every word of every state view is checked.

The checking reader is ``view_reader``: it reads the files itself, and shares no code with the witness.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Literal, NamedTuple

from execledger.core.policy import Policy
from execledger.core.witness_limits import LookLimits
from execledger.session.chronicle import Chronicle
from execledger.session.probe import ProbeWitness
from execledger.session.session import Session
from execledger.session.witness import LocalWitness, Witness
from execledger.vocabulary.actions import Action, Observation
from tests.support.view_reader import DEFINITE, NOT_BY_YOU, ViewReader

Kind = Literal["read", "search", "edit", "test", "install", "background", "timeout", "other"]
Looks = Literal["", "local", "probe"]
"""How the files are looked at."""
TOOL = """\
import random, sys, pathlib
chance = random.Random(int(sys.argv[1]))
pathlib.Path(".cache").write_text(sys.argv[1])
files = sorted(pathlib.Path(".").glob("*.py"))
for path in files if chance.random() < 0.3 else []:
    lines = path.read_text().split("\\n")
    kind = chance.randrange(4)
    at = chance.randrange(len(lines))
    if kind == 0:
        lines.insert(at, "# formatted")
    elif kind == 1:
        lines[at] = lines[at].rstrip() + "  # noqa"
    path.write_text("\\n".join(lines))
print("ok", chance.random())
"""
"""A program that may write whatever it likes, as tests and installers may."""
LATE = 6
"""How many times a job that was left behind may write."""


class Shape(NamedTuple):
    """One step of a session: what kind it is of, and what it is about."""

    kind: Kind
    file: int = 0
    """Which file, counted from 0."""
    first: int = 1
    """The first line that is read."""
    last: int = 0
    """The last line that is read; 0 is the end of the file."""


class Run(NamedTuple):
    """A command of a session, and what it does, for the reader of the views."""

    command: str
    """The command."""
    name: str = ""
    """The file that it shows or writes."""
    shows: tuple[int, int] | None = None
    """The lines of the file that it shows."""
    writes: bool = False
    """It writes the file."""
    unknown: bool = False
    """It may write any file, now or later."""
    left_running: bool = False
    """It is known to go on behind its result: a job in the background, or a command that was stopped."""
    stopped: bool = False
    """It was stopped by a time limit."""


class Setting(NamedTuple):
    """How a session is run."""

    policy: Policy
    looks: Looks = ""
    sealed: bool = False
    """Nothing but the agent's commands and their jobs write."""
    hostile: bool = False
    """Others write between the steps; in a sealed session, jobs that programs have left behind."""


@dataclass
class Known:
    """What views have said, and what of it was wrong."""

    steps: int = 0
    views: int = 0
    bytes: int = 0
    ranges: Counter[str] = field(default_factory=Counter)
    """Ranges that were listed, by their status."""
    others: int = 0
    """Ranges that were called changed, not by you."""
    probes: int = 0
    """Commands that a witness ran."""
    wrong: list[str] = field(default_factory=list)

    @property
    def definite(self) -> float:
        """The share of the listed ranges whose status is definite."""
        return sum(self.ranges[word] for word in DEFINITE) / max(self.ranges.total(), 1)

    def add(self, other: Known) -> None:
        """Add what another session came to."""
        self.steps += other.steps
        self.views += other.views
        self.bytes += other.bytes
        self.ranges += other.ranges
        self.others += other.others
        self.probes += other.probes
        self.wrong += other.wrong


class Folder:
    """The files of a session, and the commands that make and change them."""

    def __init__(self, root: Path, chance: Random) -> None:
        """An empty folder with one program in it."""
        self.root, self.chance = root, chance
        self.made: set[str] = set()
        self.past: list[tuple[Path, bytes]] = []
        (root / "tool").write_text(TOOL)
        (root / "Makefile").write_text("test:\n\t@python3 -S tool $(SEED)\n")

    def file(self, number: int) -> Path:
        """A file of the session, made when it is first asked for."""
        path = self.root / f"mod_{number % 24}.py"
        if path.name not in self.made:
            self.made.add(path.name)
            size = self.chance.randint(20, 160)
            lines = [self.chance.choice(("", "    pass", f"x{line} = {line}", f"y{line} = 1")) for line in range(size)]
            path.write_text("\n".join(lines) + self.chance.choice(("\n", "\n", "")))
        return path

    def lines(self, name: str) -> list[str] | None:
        """What a file holds, line by line; None if there is none."""
        path = self.root / name
        if not path.exists():
            return None
        text = path.read_bytes().decode(errors="replace")
        return text.removesuffix("\n").split("\n") if text else []

    def read(self, shape: Shape) -> Run:
        """A command that reads lines of a file."""
        name = self.file(shape.file).name
        lines = self.lines(name) or []
        first = min(shape.first, max(len(lines), 1))
        last = min(shape.last, len(lines)) if shape.last else len(lines)
        form = self.chance.randrange(5)
        if shape.last == 0 or last < first:
            first, last = 1, len(lines)
            command = ("cat {0}", "cat -n {0}", "nl -ba {0}", "cat ./{0}", "head -n 9999 {0}")[form]
        else:
            command = (
                "sed -n '{1},{2}p' {0}",
                "sed -n '{1},{2}p' {0}",
                "nl -ba {0} | sed -n '{1},{2}p'",
                "head -n {2} {0} | tail -n +{1}",
                "awk 'NR>={1} && NR<={2}' {0}",
            )[form]
        return Run(command.format(name, first, last), name, (first, last))

    def edit(self, shape: Shape) -> Run:
        """A command that changes a file."""
        name = self.file(shape.file).name
        lines = self.lines(name) or [""]
        at = self.chance.randint(1, max(len(lines), 1))
        commands = (
            f"sed -i '{at}s/.*/edited = {at}/' {name}",
            f"sed -i '{at}d' {name}",
            f"sed -i '{at}i inserted = {at}' {name}",
            f"printf 'more = {at}\\n' >> {name}",
            f"cat > {name} <<'E'\n" + "\n".join(lines[: at // 2 + 3]) + "\nE",
            f"git mv {name} other.py 2>/dev/null; mv {name} kept && mv kept {name}",
            f"python3 -S - <<'E'\np = '{name}'\ns = open(p).read().replace('pass', 'return', 1)\n"
            "open(p, 'w').write(s)\nE",
        )
        chosen = self.chance.randrange(len(commands))
        return Run(commands[chosen], name, writes=True, unknown=chosen >= 5)

    def run(self, shape: Shape) -> Run:
        """The command for one step."""
        if shape.kind == "read":
            return self.read(shape)
        if shape.kind == "edit":
            return self.edit(shape)
        if shape.kind == "search":
            name = self.file(shape.file).name
            return Run(f"grep -n edited {name}")
        if shape.kind == "other":
            return Run("ls")
        seed = self.chance.randrange(10**6)
        if shape.kind == "background":
            return Run(f"python3 -S tool {seed} &", unknown=True, left_running=True)
        command = f"python3 -S tool {seed}" if shape.kind == "install" else f"make test SEED={seed}"
        stopped = shape.kind == "timeout"
        return Run(command, unknown=True, left_running=stopped, stopped=stopped)

    def interfere(self) -> None:
        """Do what a person, another program or a job may do meanwhile."""
        path = self.file(self.chance.randrange(6))
        lines = self.lines(path.name)
        kind = self.chance.randrange(6)
        if lines is None or (kind == 0 and self.past):
            path, data = self.chance.choice(self.past) if self.past else (path, b"new\n")
            path.write_bytes(data)
            return
        self.past = [*self.past[-8:], (path, path.read_bytes())]
        if kind <= 1:
            path.unlink()
        elif kind == 2:
            path.write_text("\n".join(["# another", *lines]) + "\n")
        elif kind == 3:
            at = self.chance.randrange(max(len(lines), 1))
            path.write_text("\n".join([*lines[:at], *lines[at + 3 :]]) + "\n")
        elif kind == 4:
            copy = path.with_suffix(".new")
            copy.write_text("\n".join(lines).replace("1", "2"))
            stat = path.stat()
            shutil.move(copy, path)
            # The old times on another text: times prove nothing.
            os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
        else:
            self.chance.shuffle(lines)
            path.write_text("\n".join(lines) + "\n")


class _Playing:
    """One session while it is run."""

    def __init__(self, root: str, seed: int, setting: Setting) -> None:
        self.chance, self.known, self.setting = Random(seed), Known(), setting
        self._folder = Folder(Path(root), self.chance)
        self._session = Session(setting.policy, "Mend the parser.", Chronicle(None, "", lambda _: None))
        self._witness = self._looking()
        self._reader = ViewReader(by_range=setting.looks == "probe")
        # How many times jobs that programs have left behind may still write.
        self._jobs = 0

    def _looking(self) -> Witness | None:
        if self.setting.looks == "local":
            return LocalWitness(limits=LookLimits(seconds=60))
        return ProbeWitness(self._probe) if self.setting.looks == "probe" else None

    def _probe(self, command: str) -> str:
        """Run a probe as the agent's environment would."""
        self.known.probes += 1
        done = subprocess.run(["sh", "-c", command], cwd="/", capture_output=True, text=True, check=True)
        return done.stdout

    def step(self, shape: Shape) -> None:
        """One model call: look, view, command, result, and what others do meanwhile."""
        self._look()
        self._check(self._session.view(self.setting.sealed))
        run = self._folder.run(shape)
        shown = self._folder.lines(run.name) if run.shows else None
        action = Action(run.command, str(self._folder.root))
        (proposal,) = self._session.propose([action], self.setting.sealed)
        observation = None if proposal.suppressed else self._observed(run)
        visible = range(self.known.steps)
        self._session.record(self._session.complete(action, proposal.decision, observation, visible))
        cheap = self._witness is not None and self._witness.cheap
        self._reader.ran(run.name if run.writes else "", unknown=run.unknown, left_running=run.left_running)
        if run.shows and shown:
            first, last = run.shows
            texts = {place: shown[place - 1] for place in range(first, last + 1)}
            self._reader.showed(run.name, texts, looked=cheap)
        self.known.steps += 1
        if cheap:
            self._look(since=self.known.steps - 1)
        if cheap and run.shows:
            # The look is at all that was shown of the file, also by earlier results.
            self._reader.looked(run.name, self._folder.lines(run.name))
        self._jobs = self._jobs + LATE if run.unknown else self._jobs
        self._others_write()

    def _look(self, since: int = 0) -> None:
        if self._witness is not None:
            unrecorded = not (self._witness.cheap or self.setting.sealed)
            self._session.look(self._witness, since=since, unrecorded_writes=unrecorded)

    def _others_write(self) -> None:
        if not self.setting.hostile or self.chance.random() >= 0.2:
            return
        if not self.setting.sealed:
            self._folder.interfere()
        elif self._jobs:
            self._jobs -= 1
            self._folder.interfere()

    def _observed(self, run: Run) -> Observation:
        done = subprocess.run(
            ["bash", "-c", run.command], cwd=self._folder.root, capture_output=True, text=True, errors="replace"
        )
        status = 124 if run.stopped else done.returncode
        return Observation(done.stdout + done.stderr, exit_status=status, timed_out=run.stopped)

    def _check(self, view: str) -> None:
        known = self.known
        known.views += 1
        known.bytes += len(view.encode())
        for claim, wrong in self._reader.check(view, self._folder.lines):
            known.ranges[claim.status] += 1
            known.others += NOT_BY_YOU in claim.words
            if wrong:
                known.wrong.append(
                    f"step {known.steps}: {claim.name}: {claim.first}-{claim.last} ({claim.words}): {wrong}"
                )


def session(shapes: Iterable[Shape], seed: int, setting: Setting) -> Known:
    """Run one session, and check every view."""
    with tempfile.TemporaryDirectory() as root:
        playing = _Playing(root, seed, setting)
        for shape in shapes:
            playing.step(shape)
        return playing.known
