"""Modification state: change counters per file and for all, and what was modified most recently.

A write to a folder reaches every file below it, and a write with an unknown reach every file, so a file's local
counter is the sum of the counters along its path: no write has to look up which files it reached.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from execledger.shell.transient import Scratch, transient
from execledger.vocabulary.records import CommandRecord, Scope

MAX_SYMBOLS = 12
"""Symbols kept per file, newest last."""


class Modified(Struct, frozen=True):
    """A file that the agent modified."""

    path: str
    """The file."""
    step: int
    """The step that modified it last."""
    symbols: tuple[str, ...] | None
    """The symbols modified so far, newest last; None if they are unknown."""


class Modifications:
    """What the agent is known to have changed."""

    def __init__(self) -> None:
        """Nothing was changed."""
        self.everywhere = 0
        """The global change counter."""
        self.recent: dict[str, Modified] = {}
        """Files that count, the most recently modified last."""
        self._scratch = Scratch()
        self._counters: dict[str, int] = {}
        self._edits: dict[str, int] = {}

    def local(self, path: str) -> int:
        """The change counter of ``path``: its own, its folders', and that of writes to anywhere."""
        total = self._counters.get("", 0)
        at = len(path)
        while at > 0:
            total += self._counters.get(path[:at], 0)
            at = path.rfind("/", 0, at)
        return total

    def counters(self, path: str) -> tuple[int, int]:
        """The change counter of ``path``, and how many writes to this very file succeeded."""
        return self.local(path), self._edits.get(path, 0)

    def transient(self, path: str, home: str | None) -> bool:
        """Changes of ``path`` are left out: it is a backup, a log or a scratch file; ``home`` is where the work is."""
        return transient(path, home) or self._scratch.created(path)

    def doubtful(self, path: str, home: str | None) -> bool:
        """Changes of ``path`` may be left out, so the global counter may not tell of them."""
        return transient(path, home) or self._scratch.perhaps(path)

    def mention(self, text: str) -> None:
        """Take in a text of the run: a file that it names is not taken for one that the run creates later."""
        self._scratch.mention(text)

    def advance(self, step: int, record: CommandRecord, home: str | None, *, failed: bool = False) -> None:
        """Take in the writes that ``record`` names; ``home`` is where the work is.

        One that ``failed`` may have written all the same, so it moves the counters; but nothing is called modified.
        Neither is a folder, unless it is known as a file that was modified before.
        """
        for path in record.creates:
            self._scratch.create(path, home)
        counts = record.scope in (Scope.REPOSITORY, Scope.TREE)
        for path in record.writes:
            # Relative to an unknown folder, it may be any file.
            key = path if path.startswith("/") else ""
            self._counters[key] = self._counters.get(key, 0) + 1
            if not failed:
                self._edits[path] = self._edits.get(path, 0) + 1
            if not self.transient(path, home):
                counts = True
                if failed or (path in record.folders and path not in self.recent):
                    continue
                before = self.recent.pop(path, None)
                self.recent[path] = Modified(path, step, before.symbols if before else None)
        if record.scope is Scope.TREE:
            self._counters[""] = self._counters.get("", 0) + 1
        if counts:
            self.everywhere += 1

    def name_symbols(self, path: str, symbols: tuple[str, ...]) -> None:
        """Add to what is known of a modified file's symbols."""
        modified = self.recent.get(path)
        if modified is not None:
            kept = (name for name in modified.symbols or () if name not in symbols)
            self.recent[path] = replace(modified, symbols=(*kept, *symbols)[-MAX_SYMBOLS:])
