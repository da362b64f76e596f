"""Made-up sessions in any dialect: what the model proposes, what commands print, and requests that grow by a step each.

Everything follows from a session's label and a step's number, so that both ends of a proxy can check what reaches
them; every line that a command prints names the session that it belongs to.
"""

from __future__ import annotations

import copy
import re
import zlib
from typing import NamedTuple

from benchmarks._wires import RESPONSES, Proposed, Wire

CYCLE = "read read search read again read edit read test read".split()
"""What a session does, over and over."""
FILES = 12

_RANGE = re.compile(r"sed -n '(\d+),(\d+)p' \S*module_(\d+)\.py")
_NOTE = re.compile(r"echo '([^']*)'")


class Plan(NamedTuple):
    """What the sessions of a benchmark look at."""

    lines: int
    """How many lines a command prints."""
    fresh: int
    """How many distinct ranges are read before they come up again."""

    def command(self, place: str, step: int) -> str:
        """What the model proposes at a step, in the folder ``place``."""
        kind = CYCLE[step % len(CYCLE)]
        if kind == "again":
            return self._read(place, step - 3)
        if kind == "search":
            return f"grep -rn 'value_{step}' {place} --include='*.py' | head -{self.lines}"
        if kind == "edit":
            return f"sed -i '{step}s/strict/loose/' {place}/module_{step % FILES}.py && git diff {place}"
        if kind == "test":
            return f"python -m pytest {place}/test_module_{step % FILES}.py -x -q 2>&1 | tail -{self.lines}"
        return self._read(place, step)

    def _read(self, place: str, step: int) -> str:
        number = step % self.fresh
        first = 1 + number // FILES * self.lines
        return f"sed -n '{first},{first + self.lines - 1}p' {place}/module_{number % FILES}.py"

    def printed(self, label: str, command: str) -> str:
        """What a command prints in a session."""
        if note := _NOTE.fullmatch(command):
            return note[1] + "\n"
        if read := _RANGE.fullmatch(command):
            first, last, number = map(int, read.groups())
            numbers = range(first, last + 1)
            return "".join(f"    {label}_{number}_{at} = compute({at}, mode='strict')\n" for at in numbers)
        mark = zlib.crc32(command.encode()) % 10_000
        return "".join(f"{label}/result_{mark}_{at}: {at * mark} of {command[:24]!r}\n" for at in range(self.lines))


class ClientSession:
    """One session of a client that runs what it is told to run, and sends everything again."""

    def __init__(self, plan: Plan, number: int, steps: int = 0, place: str = "repo", wire: Wire = RESPONSES) -> None:
        """The session of this number, with so many steps behind it."""
        self.label = f"s{number:05}"
        """What every line of its outputs begins with."""
        self.wire = wire
        """The dialect that it speaks."""
        self._name = f"01a1ddc1-0b11-7020-8d98-{number:012}"
        self.headers = wire.headers(self._name)
        """What it sends with each request, but for the authorization."""
        self.steps = 0
        """How many calls it has run."""
        self.shims = 0
        """How many of them were another than the one that the model proposed."""
        self._plan, self._place = plan, place
        self._history = wire.opening(place, f"Mend the parser of {self.label}.")
        for step in range(steps):
            self.take(b"".join(wire.events(plan.command(place, step), step)))

    def copy(self) -> ClientSession:
        """The same session, to be taken on by itself."""
        other = copy.copy(self)
        other._history = [*self._history]
        return other

    def body(self, *, last: str = "") -> bytes:
        """The next request; ``last`` is said by the user at its end."""
        return self.wire.body(self._history, self._name, last)

    def take(self, answer: bytes) -> None:
        """Run what a streamed answer proposes."""
        for call in self.wire.proposed(answer):
            self._run(call)

    def _run(self, call: Proposed) -> None:
        """Keep a call, and behind it what it printed."""
        self.shims += call.command != self._plan.command(self._place, self.steps)
        printed = self._plan.printed(self.label, call.command)
        self._history += [*call.items, self.wire.result(call.name, self.steps, printed)]
        self.steps += 1
