"""Sessions in a real folder and a real shell, and a reader who checks every status of every state view.

The reader knows what was shown of each line (it reads the files itself, before a command does) and what the files hold
now. It parses the view as text, and shares no code with the witness.
"""

from __future__ import annotations

import os
import re
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
from execledger.session.chronicle import Chronicle
from execledger.session.session import Session
from execledger.session.witness import LocalWitness
from execledger.vocabulary.actions import Action, Observation

Kind = Literal["read", "search", "edit", "test", "install", "other"]
GROUP = re.compile(r"(?P<ranges>[^()]*) \((?P<words>[^()]*)\)(?:; |$)")
"""Ranges of a file in the view, and what is said of them."""
DEFINITE = ("current", "now at", "changed", "gone")
"""Status words that claim something certain."""
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


class Shape(NamedTuple):
    """One step of a session: what kind it is of, and what it is about."""

    kind: Kind
    file: int = 0
    """Which file, counted from 0."""
    first: int = 1
    """The first line that is read."""
    last: int = 0
    """The last line that is read; 0 is the end of the file."""


@dataclass
class Known:
    """What views have said, and what of it was wrong."""

    steps: int = 0
    views: int = 0
    bytes: int = 0
    ranges: Counter[str] = field(default_factory=Counter)
    """Ranges that were listed, by their status."""
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
        self.wrong += other.wrong


class Folder:
    """The files of a session, what was shown of them, and the commands that make and change them."""

    def __init__(self, root: Path, chance: Random) -> None:
        """An empty folder with one program in it."""
        self.root, self.chance = root, chance
        self.shown: dict[str, dict[int, str]] = {}
        self.past: list[tuple[Path, bytes]] = []
        (root / "tool").write_text(TOOL)
        (root / "Makefile").write_text("test:\n\t@python3 -S tool $(SEED)\n")

    def file(self, number: int) -> Path:
        """A file of the session, made when it is first asked for."""
        path = self.root / f"mod_{number % 24}.py"
        if not path.exists() and path.name not in self.shown:
            size = self.chance.randint(20, 160)
            lines = [self.chance.choice(("", "    pass", f"x{line} = {line}", f"y{line} = 1")) for line in range(size)]
            path.write_text("\n".join(lines) + self.chance.choice(("\n", "\n", "")))
        return path

    def lines(self, path: Path) -> list[str] | None:
        """What a file holds, line by line; None if there is none."""
        if not path.exists():
            return None
        text = path.read_bytes().decode(errors="replace")
        return text.removesuffix("\n").split("\n") if text else []

    def read(self, shape: Shape) -> str:
        """A command that reads lines of a file; what it will show is noted."""
        path = self.file(shape.file)
        lines = self.lines(path) or []
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
        known = self.shown.setdefault(path.name, {})
        known.update({place: lines[place - 1] for place in range(first, last + 1)})
        return command.format(path.name, first, last)

    def edit(self, shape: Shape) -> str:
        """A command that changes a file."""
        name = self.file(shape.file).name
        lines = self.lines(self.root / name) or [""]
        at = self.chance.randint(1, max(len(lines), 1))
        return (
            f"sed -i '{at}s/.*/edited = {at}/' {name}",
            f"sed -i '{at}d' {name}",
            f"sed -i '{at}i inserted = {at}' {name}",
            f"printf 'more = {at}\\n' >> {name}",
            f"python3 -S - <<'E'\np = '{name}'\ns = open(p).read().replace('pass', 'return', 1)\n"
            "open(p, 'w').write(s)\nE",
            f"cat > {name} <<'E'\n" + "\n".join(lines[: at // 2 + 3]) + "\nE",
            f"git mv {name} other.py 2>/dev/null; mv {name} kept && mv kept {name}",
        )[self.chance.randrange(7)]

    def command(self, shape: Shape) -> str:
        """The command for one step."""
        if shape.kind == "read":
            return self.read(shape)
        if shape.kind == "edit":
            return self.edit(shape)
        if shape.kind == "search":
            return f"grep -n edited {self.file(shape.file).name}"
        seed = self.chance.randrange(10**6)
        return {"test": f"make test SEED={seed}", "install": f"python3 -S tool {seed}"}.get(shape.kind, "ls")

    def interfere(self) -> None:
        """Do what a person or another program may do meanwhile."""
        path = self.file(self.chance.randrange(6))
        lines = self.lines(path)
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


def session(shapes: Iterable[Shape], seed: int, policy: Policy, *, witness: bool, hostile: bool) -> Known:
    """Run one session, and check every view."""
    chance, known = Random(seed), Known()
    with tempfile.TemporaryDirectory() as root:
        folder = Folder(Path(root), chance)
        run = Session(policy, "Mend the parser.", Chronicle(None, "", lambda _: None))
        looks = LocalWitness()
        for shape in shapes:
            if witness:
                run.look(looks)
            view = run.view(sealed=False)
            known.views += 1
            known.bytes += len(view.encode())
            check(view, folder, known)
            command = folder.command(shape)
            action = Action(command, root)
            (proposal,) = run.propose([action], sealed=False)
            done = subprocess.run(["bash", "-c", command], cwd=root, capture_output=True, text=True, errors="replace")
            observation = Observation(done.stdout + done.stderr, exit_status=done.returncode)
            run.record(run.complete(action, proposal.decision, observation, range(known.steps)))
            known.steps += 1
            if witness:
                run.look(looks, since=known.steps - 1)
            if hostile and chance.random() < 0.2:
                folder.interfere()
    return known


def check(view: str, folder: Folder, known: Known) -> None:
    """Judge every status of a view as somebody would who believes it."""
    for line in view.split("Seen, most recent first:")[-1].split("\n"):
        name, found, rest = line.removeprefix("- ").partition(": ")
        if not found or not line.startswith("- "):
            continue
        for group in GROUP.finditer(rest):
            words = group["words"]
            status = next((word for word in DEFINITE if words.startswith(word)), "")
            status = status or (
                "possibly stale" if "possibly" in words else "stale" if "stale" in words else "no claim"
            )
            for first, last in places(group["ranges"]):
                known.ranges[status] += 1
                wrong = fault(folder, name, first, last, status, words)
                if wrong:
                    known.wrong.append(f"{line}\n    {group[0]}: {wrong}")


def places(ranges: str) -> list[tuple[int, int]]:
    """The ranges that a view names."""
    whole = re.fullmatch(r"whole, (\d+) lines?", ranges)
    if whole:
        return [(1, int(whole[1]))]
    found = re.findall(r"(?<![\d-])(\d+)(?:-(\d+))?", ranges.partition(" and ")[0])
    return [(int(first), int(last or first)) for first, last in found]


def fault(folder: Folder, name: str, first: int, last: int, status: str, words: str) -> str:
    """What is wrong with a status; "" if it is true."""
    shown, now = folder.shown.get(name, {}), folder.lines(folder.root / name)
    asked = range(first, last + 1)
    if any(place not in shown for place in asked):
        return "a line that was never shown"
    if status == "gone":
        return "" if now is None else "the file is there"
    if status in ("current", "now at", "changed") and now is None:
        return "the file is gone"
    texts = now or []
    shift = 0
    if status == "now at":
        there = re.match(r"now at (\d+)", words)
        shift = int(there[1]) - first if there else 0
        if shift == 0:
            return "moved to where it was"
    if status == "changed" and "in part" in words:
        parts = [texts[place - 1 : place] != [shown[place]] for place in asked]
        return "" if any(parts) else "no line of it is changed"
    for place in asked:
        here = texts[place + shift - 1] if 0 < place + shift <= len(texts) else None
        if status in ("current", "now at") and here != shown[place]:
            return f"line {place} was {shown[place]!r} and is {here!r}"
        if status == "changed" and here == shown[place]:
            return f"line {place} is as it was shown"
    return ""
