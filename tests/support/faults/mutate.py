"""Seeded damage to inputs: bytes, texts, JSON values and files of lines, in the ways that have broken other programs.

The same seed gives the same inputs, so that a failure has a number. ``watched`` limits the time of whatever is
fed with them: an input that takes too much of the processor is a failure like any other.
"""

from __future__ import annotations

import json
import random
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from types import FrameType
from typing import Any, TypeVar

T = TypeVar("T")
SECONDS = 20.0
"""Seconds of processor time that one input may take: a thousand times what any of them needs."""
DEEP = 10_000
"""Levels of nesting: far beyond what any reader follows."""
ODD = (
    "'",
    '"',
    "`",
    "\\",
    "\n",
    "\r\n",
    "\t",
    "\0",
    "\u202e",
    "\u200f",
    "\ufeff",
    "\u2028",
    "\x1b[31m",
    "\x1b]0;t\x07",
    "\ud800",
    "\udfff",
    "\U0001f600",
    "$(",
    "${",
    "((",
    "<<E\n",
    "&",
    "|",
    ";",
    ">",
    "</output>",
    "<returncode>0</returncode>",
    "%s",
    "[Ledger: not run]",
    "\n\n",
)
"""Pieces of text with a meaning for some parser."""
WRONG: tuple[Any, ...] = (None, True, 0, -1, 2**63, 10**400, 1.5, "", "x", [], {}, [[]], {"": None}, [None], -(2**31))
"""Values of every type, for places where another is expected."""
_MARK = "~mutated~"
"""Stands for what no encoder writes, until it is written."""
_RAW = (
    "[" * DEEP + "]" * DEEP,
    '{"a":' * DEEP + "1" + "}" * DEEP,
    "1e999",
    "-" + "9" * 5000,
    "0." + "1" * 5000,
    '"\\ud800"',
    '"\\udc00\\ud800"',
    "NaN",
    "tru",
    '"\\x"',
    "01",
    "",
)
"""Pieces of JSON text that encoders never write, and some that are none."""


class Gone:
    """In place of a value in ``each_change``: the value is taken out."""


class TooSlow(BaseException):
    """An input took too long. Nothing that catches faults catches this one."""


class Mutator:
    """Makes bad inputs from good ones."""

    def __init__(self, seed: int, large: int = 100_000) -> None:
        """The inputs of ``seed``; the longest texts in them have ``large`` characters."""
        self._random = random.Random(seed)
        self._large = large

    def data(self, seeds: Sequence[bytes]) -> bytes:
        """One of the seeds with a few bytes flipped, cut, doubled, or taken from another."""
        data = bytearray(self._random.choice(seeds))
        for _ in range(self._few()):
            start, end = self._span(len(data))
            kind = self._random.randrange(6)
            if kind == 0 and data:
                data[start % len(data)] ^= 1 << self._random.randrange(8)
            elif kind == 1:
                del data[start:end]
            elif kind == 2:
                data[end:end] = data[start:end]
            elif kind == 3:
                other = self._random.choice(seeds)
                data[start:end] = other[slice(*self._span(len(other)))]
            elif kind == 4:
                data[start:start] = self._random.choice(ODD).encode("utf-8", "surrogatepass")
            else:
                data[start:end] = self._random.randbytes(self._random.randrange(9))
        return bytes(data)

    def text(self, seeds: Sequence[str]) -> str:
        """One of the seeds with odd signs in it, pieces cut out, doubled or many times over."""
        text = self._random.choice(seeds)
        for _ in range(self._few()):
            start, end = self._span(len(text))
            kind = self._random.randrange(6)
            if kind <= 1:
                text = text[:start] + self._random.choice(ODD) + text[start:]
            elif kind == 2:
                text = text[:start] + text[end:]
            elif kind == 3:
                text = text[:end] + text[start:]
            elif kind == 4:
                other = self._random.choice(seeds)
                text = text[:start] + other[slice(*self._span(len(other)))] + text[end:]
            elif self._random.random() < 0.2:
                piece = text[start:end] or self._random.choice(ODD)
                text = text[:start] + piece * (self._random.choice((9, 99, self._large)) // len(piece) + 1) + text[end:]
        return text[: 2 * self._large]

    def value(self, value: T) -> T:
        """A JSON value with parts of it gone, doubled, renamed or of another type."""
        box = [json.loads(json.dumps(value))]
        for _ in range(self._few()):
            self._damage(box)
        damaged: T = box[0]
        return damaged

    def document(self, value: Any) -> bytes:
        """A damaged JSON text: the value's own damage, and what only a text can have."""
        text = json.dumps(self.value(value), ensure_ascii=self._random.random() < 0.7)
        while _MARK in text:
            text = text.replace(f'"{_MARK}"', self._random.choice(_RAW), 1).replace(_MARK, "\\ud800", 1)
        if self._random.random() < 0.1:
            text = text.replace('{"', '{"type": 1, "', self._random.randrange(3))
        data = text.encode("utf-8", "surrogatepass")
        return self.data([data]) if self._random.random() < 0.2 else data

    def lines(self, rows: Sequence[Any]) -> bytes:
        """A file with one value to a line, some of them damaged, gone, torn, doubled or in another order."""
        left = [self.document(row) if self._random.random() < 0.3 else json.dumps(row).encode() for row in rows]
        for _ in range(self._few() - 1):
            at = self._random.randrange(len(left) + 1)
            kind = self._random.randrange(5)
            if kind == 0:
                del left[at : at + 1]
            elif kind == 1:
                left[at:at] = left[at : at + 1]
            elif kind == 2:
                left.insert(at, self._random.choice((b"", b"{}", b"[]", b"null", b"\0" * 99, b"\xff\xfe", b'{"a"')))
            elif kind == 3 and at < len(left):
                left[at] = left[at][: self._random.randrange(len(left[at]) + 1)]
            else:
                self._random.shuffle(left)
        return b"\n".join(left) + self._random.choice((b"", b"\n", b"\r\n", b"\n\n"))

    def cuts(self, data: bytes) -> list[bytes]:
        """The data in a few pieces, cut anywhere."""
        ends = sorted(self._random.randrange(len(data) + 1) for _ in range(self._random.randrange(9)))
        return [data[start:end] for start, end in zip([0, *ends], [*ends, len(data)], strict=True)]

    def _damage(self, box: list[Any]) -> None:
        """Damage one place in the value."""
        holder: Any = box
        key: Any = 0
        while (inner := holder[key]) and isinstance(inner, list | dict) and self._random.random() < 0.85:
            holder = inner
            key = self._random.choice(list(inner) if isinstance(inner, dict) else range(len(inner)))
        kind = self._random.randrange(8)
        if kind == 0 and holder is not box:
            del holder[key]
        elif kind == 1:
            holder[key] = deepcopy(self._random.choice(WRONG))
        elif kind == 2:
            holder[key] = _MARK
        elif kind == 3 and isinstance(holder, dict):
            holder[self._random.choice((key + " ", key.upper(), "\ud800", "", "type"))] = holder.pop(key)
        elif kind == 4 and isinstance(holder, list) and holder is not box:
            holder[key:key] = [holder[key]] * self._random.choice((1, 2, 50))
        elif isinstance(holder[key], str):
            holder[key] = self.text([holder[key], "cat a.py"])
        elif isinstance(holder[key], int | float):
            holder[key] = self._random.choice((-1, 0, 2**31, 2**63, 1e300, 10**400, 0.5))

    def _few(self) -> int:
        return self._random.choice((1, 1, 1, 2, 2, 3, 5))

    def _span(self, size: int) -> tuple[int, int]:
        start, end = sorted(self._random.randrange(size + 1) for _ in range(2))
        return start, min(end, start + 1000) if self._random.random() < 0.8 else end


def each_change(value: Any, others: Sequence[Any]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """The value with one place in it changed: each place in turn, to each of ``others``; the path to it, and the whole.

    The same object comes again and again, changed at one place at a time: it is to be used at once.
    """
    whole = deepcopy(value)

    def places(holder: Any, path: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], Any]]:
        for key in list(holder if isinstance(holder, dict) else range(len(holder))):
            before = holder[key]
            for other in others:
                if other is not Gone:
                    holder[key] = other
                    yield (*path, key), whole
                elif isinstance(holder, dict):
                    # Out and in again at the end would change the order of the keys.
                    kept = dict(holder)
                    del holder[key]
                    yield (*path, key), whole
                    holder.clear()
                    holder.update(kept)
                else:
                    del holder[key]
                    yield (*path, key), whole
                    holder.insert(key, before)
            holder[key] = before
            if isinstance(before, list | dict):
                yield from places(before, (*path, key))

    yield from places(whole, ())


@contextmanager
def watched(what: Callable[[], str], seconds: float = SECONDS) -> Iterator[None]:
    """Raise ``TooSlow``, with the words of ``what``, if the work in here takes more processor time than ``seconds``."""

    def stop(_: int, __: FrameType | None) -> None:
        raise TooSlow(f"more than {seconds:g} s for {what()}")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
