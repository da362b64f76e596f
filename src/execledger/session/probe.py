"""A witness for files that only the agent's own environment reaches, such as those of its container.

One POSIX shell command prints digests of the lines that results showed, where they were shown and where they would be
if an edit above has moved them; no contents of a file are printed.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from execledger.core.witness import DigestedLines, PossibleWrites, ShownRange, WitnessedDigests, unread
from execledger.core.witness_limits import (
    MAX_PROBE_COMMAND,
    MAX_PROBE_FAILURES,
    MAX_PROBED_BYTES,
    MAX_PROBED_RANGES,
)
from execledger.session.witness import SYSTEM_FOLDERS, new_key
from execledger.vocabulary.sightings import FileSighting

BEGIN, END = "execledger-probe-begin", "execledger-probe-end"
"""The lines around the answer."""
FUNCTIONS = f"""\
LC_ALL=C; export LC_ALL; unset IFS
digest() {{ sum=$(sed -n -e "$1,$2p" -e "$2q" "$file" | sha256sum); sum=${{sum%% *}}; }}
probe() {{
file=$1; folder=${{1%/*}}; shift
if [ ! -e "$file" ]; then
while [ -n "$folder" ] && [ ! -e "$folder" ]; do folder=${{folder%/*}}; done
if [ -x "$folder/" ]; then echo gone; return; fi
fi
if [ ! -f "$file" ] || [ ! -r "$file" ]; then echo "not a readable file"; return; fi
set -- $(wc -lc <"$file") "$@"
if [ "$2" -gt {MAX_PROBED_BYTES} ]; then echo "too large for a look"; return; fi
now=$1; shift 2; echo "lines $now"
while [ $# -gt 2 ]; do
digest "$1" "$2"; here=$sum sum=- moved=$((now - $3))
if [ "$3" -ge 0 ] && [ "$moved" -ne 0 ] && [ $(($1 + moved)) -gt 0 ]
then digest $(($1 + moved)) $(($2 + moved)); fi
echo "$here $sum"; shift 3
done
}}
echo {BEGIN}
"""
"""Prints what became of one file: that it is gone, why it is not read, or its length and the digests of each range."""


class ProbedFile(NamedTuple):
    """One file of a probe."""

    path: str
    """The file."""
    shown: Sequence[ShownRange]
    """The lines that results showed."""
    lengths: Sequence[int]
    """For each of them, how many lines the file had when they were last found at their places; -1 if never."""


class ProbeWitness:
    """Looks at files by commands in the agent's own environment: after steps that may have written or have shown lines.

    One look finds what the one before it found only if nothing can have written since, and if the lines are the same.
    """

    cheap = False

    def __init__(self, execute: Callable[[str], str]) -> None:
        """``execute`` runs a command within ``PROBE_SECONDS`` and returns its output; what it raises is a failure."""
        self._execute = execute
        self._witnessed = WitnessedDigests(new_key())
        self._looked_after = -1
        self._asked_for: frozenset[tuple[str, int, int]] = frozenset()
        self._failures = 0

    def look(self, questions: Mapping[str, Sequence[ShownRange]], writes: PossibleWrites) -> list[FileSighting] | None:
        """The sightings of files; None if the last look holds for all that is asked, [] after a failure."""
        if self._failures >= MAX_PROBE_FAILURES:
            return []
        wanted = frozenset((path, one.step, one.first) for path, shown in questions.items() for one in shown)
        if writes.commands == self._looked_after and not writes.at_any_time and wanted <= self._asked_for:
            return None
        asked = self._asked(questions)
        try:
            answers = answered(self._execute(command(asked)), asked) if asked else []
        except Exception:
            # The agent's own end of a run, too, ends here.
            self._failures += 1
            return []
        self._looked_after, self._asked_for = writes.commands, wanted
        return [self._sighting(one, answer) for one, answer in zip(asked, answers, strict=True)]

    def _asked(self, questions: Mapping[str, Sequence[ShownRange]]) -> list[ProbedFile]:
        """As many files as one probe may ask for."""
        asked: list[ProbedFile] = []
        ranges, size = 0, len(FUNCTIONS)
        for path, ranges_of in questions.items():
            if path.startswith(SYSTEM_FOLDERS) or "\0" in path or not _encodable(path):
                continue
            shown = [part for one in ranges_of for part in one.parts()]
            ranges += len(shown)
            size += len(path.encode()) * 2 + 24 * len(shown)
            if ranges > MAX_PROBED_RANGES or size > MAX_PROBE_COMMAND:
                break
            asked.append(ProbedFile(path, shown, [self._witnessed.length(path, one) for one in shown]))
        return asked

    def _sighting(self, asked: ProbedFile, answer: Answered) -> FileSighting:
        path, shown, _ = asked
        if answer.reason == "gone":
            return self._witnessed.gone(path, shown)
        if answer.reason:
            return unread(path, shown, answer.reason)
        return self._witnessed.read(path, shown, answer.lines, answer.digests)


def _encodable(path: str) -> bool:
    """Whether a name can be a part of a command: some are no UTF-8."""
    return not any("\ud800" <= character <= "\udfff" for character in path)


class Answered(NamedTuple):
    """What a probe says of one file."""

    reason: str = ""
    """Why it was not read; ``gone`` if it does not exist."""
    lines: int = 0
    """How many lines it has."""
    digests: Sequence[DigestedLines] = ()
    """The digests of each range."""


def command(asked: Sequence[ProbedFile]) -> str:
    """The command that looks at these files."""
    calls = []
    for path, shown, lengths in asked:
        places = (
            f"{one.first} {one.first + len(one.texts) - 1} {length}" for one, length in zip(shown, lengths, strict=True)
        )
        calls.append(f"probe {shlex.quote(path)} {' '.join(places)}\n")
    # A shell of its own: nothing of it is left in an environment that keeps one shell for all commands.
    return f"({FUNCTIONS}{''.join(calls)}echo {END})"


def answered(output: str, asked: Sequence[ProbedFile]) -> list[Answered]:
    """The answers to a probe, in order; raises ``ValueError`` for any other output."""
    lines = iter(output.strip().split("\n"))
    if next(lines) != BEGIN:
        raise ValueError("not the answer to a probe")
    found: list[Answered] = []
    for one in asked:
        word, _, count = next(lines, END).partition(" ")
        if word != "lines":
            if word == END:
                raise ValueError("the answer to a probe is cut")
            found.append(Answered(f"{word} {count}".strip()))
            continue
        digests = []
        for _ in one.shown:
            here, _, there = next(lines, "").partition(" ")
            if len(here) != 64 or len(there) not in (1, 64):
                raise ValueError("a digest is missing")
            digests.append(DigestedLines(here, there if len(there) == 64 else ""))
        found.append(Answered("", int(count), digests))
    if next(lines, "") != END:
        raise ValueError("the answer to a probe is cut")
    return found
