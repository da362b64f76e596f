"""Which results are recent enough to be referred to, where newer ones may show a file in a form without places.

A newer result that shows a line at its place is compared with it (``seen``). Most results are of another kind: a test
prints a traceback, ``git blame`` annotates, a script prints what it likes. Such a result can differ from an older read,
and the read be right again, only if the file was changed before it and changed again behind it. So a file that was
changed, possibly shown, and changed once more is referred to only in results that are newer than the first change.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Container

COLOUR = re.compile(r"\x1b\[[\d;]*[A-Za-z]")
"""An escape sequence of a terminal, as ``grep --color`` prints them around names."""
WORD = re.compile(r"\w+(?:\.\w+)*", re.ASCII)
"""What the name of a file is made of; a hyphen ends it, for ``grep -A1`` prints ``a.py-12-text``."""
PLAIN = re.compile(r"[\w.-]+", re.ASCII)
"""A name that programs print as it is. They quote and escape others in many ways."""
MAX_LOOKS = 64
"""Results before the last change that are asked whether they are visible: if none of these is, no older one is."""
ANY = ""
"""Placeholder path: any file."""
ODD = "?"
"""The key of all files whose names may be printed in other letters: every text may name them."""


class Recency:
    """The steps that changed a file, and those whose results may show lines of it at places that are not known.

    What a text names is noted once for all files of a key, so that a step costs no more where many have the same name.
    """

    def __init__(self) -> None:
        """No file was read yet."""
        self._paths: dict[str, dict[str, None]] = {}
        self._changes: dict[str, list[int]] = {}
        self._every_change: list[int] = []
        self._looks: dict[tuple[str, str], list[int]] = {}
        self._results: dict[str, list[int]] = {}

    def follow(self, path: str) -> None:
        """From now on ``named`` knows ``path``, of which a result has shown lines."""
        self._paths.setdefault(key_of(path), {})[path] = None

    def change(self, step: int, target: str) -> None:
        """``step`` wrote the file or folder ``target``, or may have written files of that key or ``ANY`` file."""
        for steps in (self._changes.setdefault(target, []), self._every_change):
            if steps[-1:] != [step]:
                steps.append(step)

    def result(self, step: int, thread: str) -> None:
        """``step`` printed something, of whatever kind."""
        self._results.setdefault(thread, []).append(step)

    def look(self, step: int, thread: str, key: str) -> None:
        """The result of ``step`` may show lines of the files of ``key``, or of ``ANY`` file."""
        self._looks.setdefault((thread, key), []).append(step)

    def named(self, text: str) -> list[str]:
        """The keys of the files whose lines were shown and that ``text`` may name."""
        if not self._paths:
            return []
        words = set(WORD.findall(COLOUR.sub("", text) if "\x1b" in text else text))
        return [key for key in (*sorted(words), ODD) if key in self._paths]

    def spelled(self, text: str) -> list[str]:
        """The files whose lines were shown and whose whole path is in ``text``."""
        return [path for key in self.named(text) for path in self._paths[key] if path in text]

    def since(self, thread: str, path: str, visible: Container[int]) -> int:
        """The oldest step whose result may be referred to for lines of ``path`` at known places; -1 if any may."""
        looks = (self._looks.get((thread, key_of(path)), []), self._looks.get((thread, ANY), []))
        return _since(self._changed(path), looks, visible)

    def since_any(self, thread: str, path: str, visible: Container[int]) -> int:
        """The same for what has no places, of ``path`` or of ``ANY`` files: every result may show it differently."""
        changes = self._changed(path) if path else [self._every_change]
        return _since(changes, (self._results.get(thread, []),), visible)

    def _changed(self, path: str) -> list[list[int]]:
        """The steps that changed ``path`` itself, a folder above it, files of its key, or any file."""
        found = [self._changes.get(ANY, []), self._changes.get(key_of(path), [])]
        at = len(path)
        while at > 0:
            found.append(self._changes.get(path[:at], []))
            at = path.rfind("/", 0, at)
        return found


def _since(changes: list[list[int]], looks: tuple[list[int], ...], visible: Container[int]) -> int:
    """The newest change before a visible look that another change followed; all lists ascend."""
    last = max((steps[-1] for steps in changes if steps), default=-1)
    before = [steps[max(at - MAX_LOOKS, 0) : at] for steps in looks if (at := bisect_left(steps, last))]
    newest = max((step for steps in before for step in steps if step in visible), default=-1)
    earlier = [steps[at - 1] for steps in changes if (at := bisect_right(steps, newest))]
    return max(earlier, default=-1)


def key_of(path: str) -> str:
    """The word by which a file is found in a text; ``ODD`` for a name that may be printed in other letters."""
    name = path.rpartition("/")[2]
    words = WORD.findall(name)
    return words[-1] if words and PLAIN.fullmatch(name) else ODD
