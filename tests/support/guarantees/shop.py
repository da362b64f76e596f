"""A small shop to read and to change: a folder of files under many names, and a gate for jobs in the background."""

from __future__ import annotations

import os
import select
import time
from pathlib import Path

from tests.support.recorder import run_command

DEADLINE = 120.0
"""Seconds after which a background job is given up: far more than it needs on the slowest machine."""


_LINES = "".join(f"value_{number} = compute(number={number})\n" for number in range(1, 61))
FILES = {
    "src/stock.py": _LINES,
    **{f"src/module_{n}.py": f'"""Module {n} of the shop."""\nvalue_{n} = {n}\n' for n in range(1, 21)},
    "spare/stock.py": _LINES.replace("value_", "value_spare_"),
    "docs/guide.md": _LINES.replace("value_", "value_guide_"),
    "docs/other.md": _LINES.replace("value_", "value_other_"),
    "docs/stamp": "",
    "build/made.txt": _LINES.replace("value_", "value_made_"),
    ".gitignore": "build/\n",
    "settings.sh": "export SHOP_FILE=src/stock.py\n" + "".join(f"export SHOP_{n}={n * 1111}\n" for n in range(30)),
    "tools/__init__.py": "",
    "tools/edit.py": ("p = 'src/stock.py'\nt = open(p).read().replace('value_2', 'edited_2')\nopen(p, 'w').write(t)\n"),
    "tools/generate.py": "p = 'build/made.txt'\nt = open(p).read().upper()\nopen(p, 'w').write(t)\n",
    "tools/shelve.sh": "git stash -q\n",
    "tools/format": "#!/bin/sh\nsed -i 's/value_2[0-9] = /other_x = /' \"$1\"/*.py\n",
    "tests/__init__.py": "",
    "tests/test_stock.py": (
        "import unittest\n\n\nclass T(unittest.TestCase):\n    def test(self):\n        import tools.edit\n"
    ),
}
"""What the shop is made of."""
LINKS = {"linked.py": "src/stock.py", "linked": "src", "current.md": "docs/guide.md"}
"""Other names in it, and where they lead; ``twin.py`` is the stock as well."""
LONG_AGO = 1_600_000_000
"""When everything was written: whatever is written later is newer."""


def populate(folder: Path, *, repository: bool = True) -> None:
    """Make the shop; as a repository, it has changes that are not committed, and files that are not known."""
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / "tools/format").chmod(0o755)
    for name, target in LINKS.items():
        (folder / name).symlink_to(target)
    os.link(folder / "src/stock.py", folder / "twin.py")
    if repository:
        _commit(folder)
    for path in folder.rglob("*"):
        os.utime(path, (LONG_AGO, LONG_AGO), follow_symlinks=False)


def _commit(folder: Path) -> None:
    """Make a repository of the folder, and give git something to tell."""
    settle = "export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1; git init -q . && git config user.name shop"
    settle += " && git config user.email shop@localhost && tar cf spare.tar spare && git add -A && git commit -qm all"
    # Uncommitted lines give git something to tell; the write goes through both names of the file.
    settle += " && sed 's/value_/value_late_/' docs/other.md | head -n 20 | tee -a src/stock.py >> docs/guide.md"
    settle += " && mkdir notes && touch notes/an_untracked_note_{1..12}.txt"
    output, status = run_command(settle, folder)
    assert status == 0, output


class Pipes:
    """Two named pipes by which a background job is held back and says that it has written; no time is guessed."""

    def __init__(self, folder: Path) -> None:
        """Make the pipes in ``folder``."""
        self._folder = folder
        folder.mkdir()
        for name in ("go", "done"):
            os.mkfifo(folder / name)

    def release(self) -> None:
        """Let the job go, and return when it has written."""
        done = os.open(self._folder / "done", os.O_RDONLY | os.O_NONBLOCK)
        try:
            end = time.monotonic() + DEADLINE
            while True:
                try:
                    go = os.open(self._folder / "go", os.O_WRONLY | os.O_NONBLOCK)
                    break
                except OSError:
                    # Nobody waits at the pipe yet.
                    assert time.monotonic() < end, "the background job never came to its pipe"
                    select.select((), (), (), 0.01)
            os.write(go, b"\n")
            os.close(go)
            ready, _, _ = select.select((done,), (), (), DEADLINE)
            assert ready, "the background job was let go and never wrote"
        finally:
            os.close(done)
