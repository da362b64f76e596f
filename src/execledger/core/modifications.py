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
    """The files that the agent is known to have changed, and the counters of their changes."""

    def __init__(self) -> None:
        """Start without changes."""
        self.everywhere = 0
        """The global change counter."""
        self.recent: dict[str, Modified] = {}
        """Modified files without transient ones, the most recently modified last."""
        self._scratch = Scratch()
        self._counters: dict[str, int] = {}
        self._edits: dict[str, int] = {}

    def local(self, path: str) -> int:
        """Return the change counter of ``path``: its own, its folders' and that of writes to any file, summed."""
        total = self._counters.get("", 0)
        at = len(path)
        while at > 0:
            total += self._counters.get(path[:at], 0)
            at = path.rfind("/", 0, at)
        return total

    def counters(self, path: str) -> tuple[int, int]:
        """Return the change counter of ``path``, and how many writes to exactly this file succeeded."""
        return self.local(path), self._edits.get(path, 0)

    def transient(self, path: str, home: str | None) -> bool:
        """Whether ``path`` is a backup, a log or a scratch file; ``home`` is the working directory."""
        return transient(path, home) or self._scratch.created(path)

    def doubtful(self, path: str, home: str | None) -> bool:
        """Whether ``path`` may be transient, so that the global counter may not include its changes."""
        return transient(path, home) or self._scratch.perhaps(path)

    def mention(self, text: str) -> None:
        """Record a text of the run: a file that it names is not one that the run creates later."""
        self._scratch.mention(text)

    def advance(self, step: int, record: CommandRecord, home: str | None, *, failed: bool = False) -> None:
        """Record the writes that ``record`` names; ``home`` is the working directory.

        A command that ``failed`` may have written, so it advances the counters, but its files are not listed as
        modified; nor are folders, except paths that were listed before.
        """
        for path in record.creates:
            self._scratch.create(path, home)
        counts = record.scope in (Scope.REPOSITORY, Scope.TREE)
        for path in record.writes:
            # A path relative to an unknown folder may be any file.
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
        """Add symbols to a modified file."""
        modified = self.recent.get(path)
        if modified is not None:
            kept = (name for name in modified.symbols or () if name not in symbols)
            self.recent[path] = replace(modified, symbols=(*kept, *symbols)[-MAX_SYMBOLS:])
