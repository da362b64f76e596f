"""Somebody else: writers that no command of the session tells of.

Each changes one thing in the way that some validity check of other tools does not see: the size and the time of
change are restored, the write goes through memory, a link leads elsewhere, a file appears beneath a searched folder.
"""

from __future__ import annotations

import mmap
import os
import random
from collections.abc import Callable
from pathlib import Path

from tests.support.simulation.commands import FILES


def same_size(path: Path, random_: random.Random) -> None:
    """One byte is another, and size and times are what they were."""
    before, text = path.stat(), path.read_bytes()
    if text:
        at = random_.randrange(len(text))
        path.write_bytes(text[:at] + b"Z" + text[at + 1 :])
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def through_memory(path: Path, random_: random.Random) -> None:
    """One byte is another, written through a mapping."""
    with path.open("r+b") as file:
        if size := os.fstat(file.fileno()).st_size:
            with mmap.mmap(file.fileno(), size) as mapped:
                mapped[random_.randrange(size)] = ord("M")


def appended(path: Path, random_: random.Random) -> None:
    """One more line, as an editor saves it."""
    path.write_bytes(path.read_bytes() + f"by an editor {random_.random()}\n".encode())


def replaced(path: Path, random_: random.Random) -> None:
    """Another file under the same name."""
    other = path.with_name("." + path.name)
    other.write_text("".join(f"replaced {n} {random_.random()}\n" for n in range(random_.randint(1, 30))))
    other.replace(path)


def reverted(path: Path, random_: random.Random) -> None:
    """Changed and changed back: what was seen is still true."""
    text = path.read_bytes()
    path.write_bytes(b"for a moment\n")
    path.write_bytes(text)


def touched(path: Path, random_: random.Random) -> None:
    """Only the times differ."""
    path.touch()


def retargeted(path: Path, random_: random.Random) -> None:
    """A link leads elsewhere."""
    link = next(parent for parent in path.parents if (parent / "link.txt").is_symlink()) / "link.txt"
    link.unlink()
    link.symlink_to(random_.choice(("a.py", "b.txt", "src/c.py")))


def appeared(path: Path, random_: random.Random) -> None:
    """A new file beneath a folder that is listed and searched."""
    path.with_name(f"new_{random_.randint(1, 9)}.py").write_text("value_1 = appeared\n")


WRITERS: tuple[Callable[[Path, random.Random], None], ...] = (
    same_size,
    through_memory,
    appended,
    replaced,
    reverted,
    touched,
    retargeted,
    appeared,
)
"""Every way to write that a session may meet."""


def hostile_write(folder: Path, random_: random.Random, files: tuple[str, ...] = FILES) -> None:
    """Somebody else writes to one of ``files``, or to what stands beside it."""
    path = (folder / random_.choice(files)).resolve()
    if path.is_file() and (folder / "link.txt").is_symlink():
        random_.choice(WRITERS)(path, random_)
