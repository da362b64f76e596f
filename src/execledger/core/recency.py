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
"""The path that stands for any file."""


class Recency:
    """The steps that changed a file, and those whose results may show lines of it at places that are not known."""

    def __init__(self) -> None:
        """No file was read yet."""
        self._paths: dict[str, list[str]] = {}
        self._changes: dict[str, list[int]] = {}
        self._every_change: list[int] = []
        self._looks: dict[tuple[str, str], list[int]] = {}
        self._results: dict[str, list[int]] = {}

    def follow(self, path: str) -> None:
        """From now on ``named`` knows ``path``, of which a result has shown lines."""
        paths = self._paths.setdefault(_key(path), [])
        if path not in paths:
            paths.append(path)

    def change(self, step: int, path: str) -> None:
        """``step`` wrote ``path`` or the folder of that name, or may have written ``ANY`` file."""
        for steps in (self._changes.setdefault(path, []), self._every_change):
            if steps[-1:] != [step]:
                steps.append(step)

    def result(self, step: int, thread: str) -> None:
        """``step`` printed something, of whatever kind."""
        self._results.setdefault(thread, []).append(step)

    def look(self, step: int, thread: str, path: str) -> None:
        """The result of ``step`` may show lines of ``path`` or of ``ANY`` file."""
        self._looks.setdefault((thread, path), []).append(step)

    def named(self, text: str) -> list[str]:
        """The files whose lines were shown and that ``text`` may name."""
        if not self._paths:
            return []
        words = set(WORD.findall(COLOUR.sub("", text) if "\x1b" in text else text))
        keys = [word for word in sorted(words) if word in self._paths]
        return [path for key in (*keys, ANY) for path in self._paths.get(key, ())]

    def since(self, thread: str, path: str, visible: Container[int]) -> int:
        """The oldest step whose result may be referred to for lines of ``path`` at known places; -1 if any may."""
        looks = (self._looks.get((thread, path), []), self._looks.get((thread, ANY), []))
        return _since(self._changed(path), looks, visible)

    def since_any(self, thread: str, path: str, visible: Container[int]) -> int:
        """The same for what has no places, of ``path`` or of ``ANY`` files: every result may show it differently."""
        changes = self._changed(path) if path else [self._every_change]
        return _since(changes, (self._results.get(thread, []),), visible)

    def _changed(self, path: str) -> list[list[int]]:
        """The steps that changed ``path`` itself, a folder above it, or any file."""
        found = [self._changes.get(ANY, [])]
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


def _key(path: str) -> str:
    """The word by which a file is found in a text; ``ANY`` for a name that may be printed in other letters."""
    name = path.rpartition("/")[2]
    words = WORD.findall(name)
    return words[-1] if words and PLAIN.fullmatch(name) else ANY
