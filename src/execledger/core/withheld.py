"""Lines whose text was withheld: a journal keeps no secrets, and knows such a line by its digest.

In the index of shown lines a mark stands for it, and the same line, wherever else it comes up, gets the same mark. So a
ledger that was rebuilt from a journal finds what the live one finds.
"""

from __future__ import annotations

from itertools import chain, count

from msgspec.structs import replace

from execledger.core.fingerprint import digest
from execledger.core.lines import Returned

_SIGN = "\n"
"""How a mark begins: no line holds it."""


def mark(line: str) -> str:
    """What stands for a line whose text was withheld."""
    return line if line.startswith(_SIGN) else _SIGN + digest(line)


def digests(shown: Returned, kept: Returned) -> tuple[tuple[int, str], ...]:
    """The lines that are not kept as they were shown: their places among all of them, and their digests."""
    lines = zip(chain(*shown.texts), chain(*kept.texts), strict=True)
    return tuple((at, digest(line)) for at, (line, other) in enumerate(lines) if line != other)


def marked(kept: Returned, withheld: tuple[tuple[int, str], ...]) -> Returned:
    """``kept`` with marks where lines were withheld."""
    marks = {at: _SIGN + known for at, known in withheld}
    place = count()
    texts = tuple(tuple(marks.get(next(place), line) for line in piece) for piece in kept.texts)
    return replace(kept, texts=texts, withheld=frozenset(marks.values()))
