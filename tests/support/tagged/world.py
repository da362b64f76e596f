"""Files with tagged lines, a shell beside them, and changes of their text."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from random import Random

TAG = re.compile(r"K\d+v\d+k")
"""A line's identity and its version."""
NAMES = (
    *(
        "a.py",
        "src/a.py",
        "sub/a.py",
        "src/deep/mod.c",
        "größe.txt",
        "日本.md",
        "my notes.txt",
        "-dash.txt",
        "a[1].txt",
    ),
    *(".hidden", "Makefile", "x-y.z.cfg", "don't.txt", "a.py.txt"),
)
TAILS = (
    *(
        "value = compute(1)",
        "return item",
        "größe = 'äöü'",
        "日本語 テスト",
        "\tindented\twith tabs",
        "}",
        "",
        "x" * 90,
    ),
    *("a:12:b 7-c", "[Ledger: output omitted.]"),
)
"""Texts after a tag, including ones that a parser may misread."""
WHO = {
    f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in (("NAME", "a"), ("EMAIL", "a@b"))
}
WHEN = {f"GIT_{who}_DATE": "2026-01-01T00:00:00Z" for who in ("AUTHOR", "COMMITTER")}

Snapshot = dict[str, str]
"""The text of every file, by its path."""


def rows(text: str) -> list[str]:
    """The lines of a text; a final newline ends the last one."""
    return text.removesuffix("\n").split("\n") if text else []


def tag(line: str) -> str:
    """The tag of a line; "" if it has none."""
    found = TAG.search(line)
    return found[0] if found else ""


class World:
    """A folder with files, perhaps a repository, and a shell in it."""

    def __init__(self, random: Random, place: Path) -> None:
        self.random, self.folder = random, place / "repo"
        self.home = place / "home"
        for folder in (self.folder, self.home):
            folder.mkdir()
        self.versions = self.lines = 0
        self.crlf = random.random() < 0.1
        self.files = [self.folder / name for name in random.sample(NAMES, random.randint(1, 3))]
        for path in self.files:
            count = random.choice((0, 1)) if random.random() < 0.08 else random.randint(8, 60)
            self.put(path, self.new_text(count, ended=random.random() > 0.12))
        if len(self.files) > 1 and random.random() < 0.15:
            self.put(self.files[1], self.text(self.files[0]))
        self.repository = random.random() < 0.45
        if self.repository:
            self.run("git init -q && git add -A && git commit -qm one")

    def run(self, command: str) -> tuple[str, int]:
        """Run a command in the shell: what it prints, and its exit status."""
        surroundings = {"PATH": os.environ["PATH"], "HOME": str(self.home), "LC_ALL": "C.UTF-8", "TERM": "dumb"}
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env={**surroundings, "GIT_CONFIG_NOSYSTEM": "1", **WHO, **WHEN},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        return done.stdout.decode("utf-8", "replace"), done.returncode

    def put(self, path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())

    def text(self, path: Path) -> str:
        return path.read_bytes().decode("utf-8", "replace") if path.is_file() else ""

    def snapshot(self) -> Snapshot:
        """The text of every file as it is now."""
        paths = [Path(base, name) for base, _, names in os.walk(self.folder) for name in names if "/.git" not in base]
        return {str(path): self.text(path) for path in paths}

    def new_line(self, line: int = 0) -> str:
        """A line that no file has: a new one, or another version of ``line``."""
        self.versions += 1
        self.lines += not line
        return f"K{line or self.lines}v{self.versions}k {self.random.choice(TAILS)}".rstrip()

    def new_text(self, count: int, *, ended: bool) -> str:
        """A text of so many lines, with empty ones and repeated blocks in it."""
        lines: list[str] = []
        while len(lines) < count:
            kind = self.random.random()
            block = lines[-self.random.randint(1, 4) :] if kind < 0.06 else [""] if kind < 0.12 else []
            lines += block or [self.new_line()]
        return self._joined(lines, ended=ended)

    def _joined(self, lines: list[str], *, ended: bool) -> str:
        end = "\r\n" if self.crlf else "\n"
        return end.join(lines) + (end if ended and lines else "")

    def changed(self, text: str) -> str:
        """The text with a few changes of lines, blocks and ends."""
        random = self.random
        lines = [line.rstrip("\r") for line in rows(text)]
        ended = text.endswith("\n") or not text
        for _ in range(random.choice((1, 1, 2, 3))):
            first = random.randrange(len(lines) + 1)
            last = min(len(lines), first + random.choice((1, 1, 2, 5, 9)))
            block = lines[first:last]
            match random.choice("rrrriiiddddcmheent"):
                case "r":
                    lines[first:last] = [
                        self.new_line(int(tag(line)[1:].split("v")[0] or 0)) for line in block if tag(line)
                    ]
                case "i":
                    lines[first:first] = [self.new_line() for _ in range(random.choice((1, 2, 4)))]
                case "d":
                    del lines[first:last]
                case "c":
                    lines += block
                case "m":
                    del lines[first:last]
                    to = random.randrange(len(lines) + 1)
                    lines[to:to] = block
                case "h":
                    del lines[: random.randint(1, 8)]
                case "e":
                    del lines[max(1, len(lines) - random.randint(1, 8)) :]
                case "n":
                    ended = not ended
                case _:
                    lines.append(self.new_line())
        return self._joined(lines, ended=ended)
