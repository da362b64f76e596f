"""Sessions in a real folder and a real shell that repeat commands, and a reader who believes the remarks on them.

Scripts of unknown effects run in between and write in whatever way hides it best; somebody else writes between the
steps. The reader reads every byte of the folder behind each result, and shares no code with the witness.
"""

from __future__ import annotations

import hashlib
import os
import stat
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TypeAlias

from execledger.core.policy import Policy
from execledger.session.chronicle import Chronicle
from execledger.session.session import Session
from execledger.session.witness import Witness
from execledger.vocabulary.actions import Action, Observation

CACHES, CACHED = {"__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".git"}, ".pyc"
"""What a reader takes for caches when caches are left aside: these folders, and files whose names end so."""
WRITES = {
    "append": "echo more >> a.txt",
    "same size, old time": "cp -p a.txt ../kept; printf X | dd of=a.txt conv=notrunc 2>/dev/null; "
    "touch -r ../kept a.txt",
    "a copy with its times": "cp -p b.txt a.txt",
    "moved over it": "printf 'other\\n' > b.new; touch -r a.txt b.new; mv b.new a.txt",
    "same size, moved over it": "tr 'a-m' 'b-n' < a.txt > b.new; touch -r a.txt b.new; mv b.new a.txt",
    "swapped": "mv a.txt x; mv b.txt a.txt; mv x b.txt",
    "mode": "chmod u+x a.txt",
    "mode back and forth": "chmod u+x a.txt; chmod u-x a.txt",
    "hard link": "ln -f b.txt a.txt",
    "written through a hard link": "ln -f a.txt ../same; echo again >> ../same",
    "sparse": "truncate -s 300000 a.txt",
    "symbolic link": "ln -sfn b.txt link",
    "symbolic link, other way": "ln -sfn a.txt link",
    "in an ignored folder": "mkdir -p build; date +%N > build/made.txt",
    "a new file": "echo new > new.txt",
    "a log": "date +%N >> run.log",
    "an output": "date +%N > x.out",
    "a backup": "date +%N > a.txt~; date +%N > a.txt.bak",
    "in a folder for scratch": "mkdir -p tmp; date +%N > tmp/x",
    "an installed module": "mkdir -p node_modules/one; date +%N > node_modules/one/index.js",
    "in folders of environments": "mkdir -p .tox/py .cache; date +%N > .tox/py/x; date +%N > .cache/x",
    "gone": "rm -f new.txt build/made.txt",
    "folders swapped": "mv one x; mv two one; mv x two",
    "an empty folder": "mkdir -p empty",
    "no folder": "rmdir empty 2>/dev/null",
    "a pipe": "mkfifo pipe 2>/dev/null",
    "changed in place": "printf Y | dd of=one/deep.txt bs=1 seek=2 conv=notrunc 2>/dev/null",
    "through memory": 'python3 -S -c \'import mmap; f = open("a.txt", "r+b"); m = mmap.mmap(f.fileno(), 0); '
    "m[0] = (m[0] + 1) % 128; m.close()'",
}
"""Ways of changing something; some change nothing in the end."""
QUIET = {
    "nothing": ":",
    "reads": "cat a.txt b.txt > /dev/null",
    "a cache": "mkdir -p __pycache__; date +%N > __pycache__/x.pyc",
    "a compiled file": "date +%N > x.pyc",
    "git's own files": "mkdir -p .git; date +%N > .git/index",
    "the same again": "cp a.txt ../again; cat ../again > a.txt",
    "edited and restored": "cp -p a.txt ../a; echo x >> a.txt; cp -p ../a a.txt",
}
"""Ways of changing nothing, caches aside."""
EDITS = ("sed -i 's/a/b/' a.txt", "sed -i '$a line' b.txt", "printf 'text\\n' > one/deep.txt", "cp b.txt new.txt")
"""Edits that the model makes itself."""
Snapshot: TypeAlias = dict[str, tuple[str, int, str]]


def snapshot(root: Path) -> Snapshot:
    """Every file of a folder: what it is, its mode, and a digest of what it holds; caches aside."""
    found: Snapshot = {}
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name not in CACHES]
        for name in (*names, *folders):
            path = os.path.join(folder, name)
            status, key = os.lstat(path), os.path.relpath(path, root)
            if name.endswith(CACHED):
                continue
            if stat.S_ISREG(status.st_mode):
                data = hashlib.sha256(Path(path).read_bytes()).hexdigest()
            else:
                data = os.readlink(path) if stat.S_ISLNK(status.st_mode) else ""
            found[key] = (stat.filemode(status.st_mode)[0], stat.S_IMODE(status.st_mode), data)
    return found


@dataclass
class Remarks:
    """What the remarks of sessions claimed, and what of it was wrong."""

    steps: int = 0
    said: int = 0
    """Remarks about the working tree."""
    wrong: list[str] = field(default_factory=list)


class RepeatingSession:
    """One session: every command runs for real, with a look behind it as an adapter takes it."""

    def __init__(self, root: Path, witness: Witness | None, policy: Policy | None = None) -> None:
        """Fill ``root`` with a few files and the commands that are repeated."""
        self.root, self.witness = root, witness
        self.session = Session(policy or Policy(), "Mend it.", Chronicle(None, "", lambda _: None))
        self.found = Remarks()
        self._last: dict[str, tuple[int, str, Snapshot]] = {}
        self._edited = -1
        root.mkdir(parents=True, exist_ok=True)
        for name in ("one", "two"):
            (root / name).mkdir()
        for name in ("a.txt", "b.txt", "one/deep.txt", "two/deep.txt"):
            (root / name).write_text(f"text of {name}\nalpha\nbeta\n")
        (root / "link").symlink_to("a.txt")
        (root / "repro.sh").write_text("echo boom\nexit 3\n")
        (root / "Makefile").write_text("test:\n\t@echo 1 failed; exit 1\n")

    def run(self, command: str) -> str:
        """Propose, run, look, compare and record one command; the remark, if there is one."""
        before = snapshot(self.root)
        action = Action(command, str(self.root))
        (proposal,) = self.session.propose([action], sealed=False)
        done = subprocess.run(["bash", "-c", command], cwd=self.root, capture_output=True, text=True, check=False)
        observation = Observation(done.stdout + done.stderr, exit_status=done.returncode)
        if self.witness is not None:
            wanted = self.session.wants_tree(action, proposal.decision, observation)
            if self.witness.cheap or wanted:
                self.session.look_at_tree(self.witness, [str(self.root)], [action])
        now = snapshot(self.root)
        step = self.session.complete(action, proposal.decision, observation, range(len(self.session.ledger)))
        self.session.record(step)
        if self.witness is not None and not self.witness.cheap:
            self.session.look(self.witness, folders=[str(self.root)])
        self._check(command, step.shown.text if step.shown.kind == "remark" else "", observation.output, before, now)
        return step.shown.text if step.shown.kind == "remark" else ""

    def _check(self, command: str, remark: str, output: str, before: Snapshot, now: Snapshot) -> None:
        at, text, then = self._last.get(command, (-1, "", {}))
        equal = at >= 0 and (text, then) == (output, now) and then == before
        self.found.steps += 1
        if "working tree" in remark:
            self.found.said += 1
            if not equal:
                changed = sorted(name for name in {*then, *now} if then.get(name) != now.get(name))
                self.found.wrong.append(f"{command}: {remark}: {changed or 'another state before it'}")
            if self._edited > at:
                self.found.wrong.append(f"{command}: {remark}: the model has edited a file")
        self._last[command] = (self.found.steps, output, now)

    def edit(self, command: str) -> str:
        """An edit that the model makes itself; the remark, if there is one."""
        remark = self.run(command)
        self._edited = self.found.steps
        return remark

    def wander(self, chance: Random, steps: int, *, hostile: bool) -> None:
        """Repeat commands, with writers in between."""
        for number in range(steps):
            kind = chance.random()
            if kind < 0.55:
                self.run(chance.choice(("sh repro.sh", "make -s test", "sh repro.sh")))
            elif kind < 0.75:
                script = chance.choice(list(WRITES.values() if chance.random() < 0.5 else QUIET.values()))
                (self.root.parent / "step.sh").write_text(script)
                self.run(f"sh ../step.sh {number}")
            elif kind < 0.85:
                self.edit(chance.choice(EDITS))
            elif kind < 0.9:
                # From now on the repeated script writes, too, and says nothing of it.
                body = chance.choice(list(WRITES.values()))
                (self.root / "repro.sh").write_text(f"{{ {body}; }} >/dev/null 2>&1\necho boom\nexit 3\n")
            else:
                self.run("ls")
            if hostile and chance.random() < 0.15:
                subprocess.run(["sh", "-c", chance.choice(list(WRITES.values()))], cwd=self.root, check=False)
