"""Partial references, resolved as their reader would: each by the lines that an earlier result showed."""

from __future__ import annotations

import re
from collections.abc import Container

_OMITTED = re.compile(r"^\[Ledger: lines (\d+)-(\d+) of \S+ omitted, as shown by `[^`]*`, \d+ commands? ago\.\]$", re.M)


def expanded(text: str, shown: str) -> str:
    """A text with the lines of ``shown``, a whole file, in place of each reference to some of them."""
    lines = shown.split("\n")
    return _OMITTED.sub(lambda match: "\n".join(lines[int(match[1]) - 1 : int(match[2])]), text)


_REFERENCE = re.compile(r"\[Ledger: lines? (\d+)(?:-(\d+))? of .+ omitted, as shown by `(.+)`, (\d+) commands? ago\.\]")
_READS = ((r"cat (\S+)", "1"), (r"head -n \d+ (\S+)", "1"), (r"sed -n '(\d+),\d+p' (\S+)", r"\1"))
"""Commands whose output is lines of a file one after the other, each with the number of the first one."""


class Reader:
    """A reader of results who takes each omitted line from the result that is named in its place.

    He knows results by the distance that he counts and by their commands, and their lines by what he was shown.
    """

    def __init__(self) -> None:
        self._shown: list[tuple[str, dict[int, str]]] = []

    def read(self, command: str, text: str, visible: Container[int] | None = None) -> str:
        """What the command printed, as the reader understands ``text``; fails where a reference can't be followed."""
        place = next((int(re.sub(form, at, command)) for form, at in _READS if re.fullmatch(form, command)), 0)
        rows, own = list[str](), dict[int, str]()
        known = place > 0
        for row in text.split("\n"):
            if (found := _REFERENCE.fullmatch(row)) is None:
                own[place] = row
                rows.append(row)
                place += 1
                continue
            first, last, back = int(found[1]), int(found[2] or found[1]), int(found[4])
            at = len(self._shown) - back
            assert at >= 0 and (visible is None or at in visible), f"{row} points at a result that is not visible"
            named, lines = self._shown[at]
            clipped = found[3].endswith("...") and named.startswith(found[3][:-3])
            assert clipped or named == found[3], f"{row} points at {named}"
            assert place == first, f"{row} is in the place of line {place}"
            rows += [lines[one] for one in range(first, last + 1)]
            place = last + 1
        self._shown.append((command, own if known else {}))
        return "\n".join(rows)
