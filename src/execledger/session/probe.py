"""A witness for files that only the agent's own environment reaches, such as those of its container.

One POSIX shell command prints digests of the lines that results showed, where they were shown and where they would be
if an edit above has moved them, and a digest of the working tree; no contents of a file are printed.
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
    MAX_PROBED_SIZES,
    MAX_TREE_FAILURES,
    TREE_PROBE_SECONDS,
    TREE_WINDOW,
    TreeLimits,
)
from execledger.session.tree import CACHE_EXTENSIONS, CACHE_FOLDERS, TreeDigest, keyed
from execledger.session.witness import SYSTEM_FOLDERS, LookResult, new_key
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


TREE = f"""\
entries() {{
find . -mindepth 1 -type d \\( {" -o ".join(f"-name {name}" for name in sorted(CACHE_FOLDERS))} \\) -prune \
-o {" ".join(f"! -name '*{extension}'" for extension in CACHE_EXTENSIONS)} "$@"
}}
set -f
now=$(date +%s) && cd -- "$1" && [ "$(pwd -P)" != / ] || {{ echo "not a folder"; exit; }}
base=${{2:-$((now - {TREE_WINDOW}))}}
if [ "$now" -lt $((base + {TREE_WINDOW})) ]; then echo "the clock was set back"; exit; fi
all=$(entries \\( -type f -newerct "@$base" -printf '%s+' -o -printf . \\)) ||
{{ echo "not all of it can be listed"; exit; }}
sizes=$(printf %s "$all" | tr -d .)
if [ ${{#all}} -gt {TreeLimits().entries} ] || [ ${{#sizes}} -gt {MAX_PROBED_SIZES} ]
then echo "too many files for a look"; exit; fi
if [ $((${{sizes}}0)) -gt {TreeLimits().bytes} ]; then echo "too many bytes for a look"; exit; fi
known=$(entries \\( -type f ! -newerct "@$base" -printf '%p %m %D %i %s %T@ %C@\\0' -o -printf '%p %y %m %l\\0' \\) \
| sort -z | sha256sum) || {{ echo "a tool is missing"; exit; }}
contents=$(entries -type f -newerct "@$base" -print0 | sort -z | xargs -0 -r sha256sum) ||
{{ echo "a file can't be read"; exit; }}
echo "tree $base $(printf '%s\\n' "$known" "$contents" "$(pwd -P)" | sha256sum | cut -c 1-32)"
"""
"""A script that prints the digest of the working tree in a folder ($1), and the time ($2, if it is given) since when
changed files are known by their contents, all others by what the file system says of them (``session.tree``); or one
line with the reason why it is unknown."""


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
        self._key = new_key()
        self._witnessed = WitnessedDigests(self._key)
        self._looked_after = -1
        self._asked_for: frozenset[tuple[str, int, int]] = frozenset()
        self._failures = 0
        self._base = ""
        self._tree_failures = 0
        self._executed = False

    def look(
        self, questions: Mapping[str, Sequence[ShownRange]], writes: PossibleWrites, folders: Sequence[str] = ()
    ) -> LookResult:
        """The sightings of files, and of the working tree, in one execution; none if this model call has had one."""
        executed, self._executed = self._executed, False
        if self._failures >= MAX_PROBE_FAILURES or executed:
            return LookResult([])
        folder = self._tree_folder(folders)
        wanted = frozenset((path, one.step, one.first) for path, shown in questions.items() for one in shown)
        if (
            writes.commands == self._looked_after
            and not writes.at_any_time
            and wanted <= self._asked_for
            and not folder
        ):
            return LookResult(None)
        asked = self._asked(questions)
        try:
            answers, tree = self._probe(asked, folder) if asked or folder else ([], None)
        except Exception:
            # The agent's own end of a run, too, ends here.
            self._failures += 1
            return LookResult([])
        self._looked_after, self._asked_for = writes.commands, wanted
        return LookResult([self._sighting(one, answer) for one, answer in zip(asked, answers, strict=True)], tree)

    def tree(self, folders: Sequence[str]) -> TreeDigest:
        """What the working tree is at this moment; the next look is left out for it."""
        folder = self._tree_folder(folders)
        if not folder or self._failures >= MAX_PROBE_FAILURES:
            return TreeDigest(reason="not looked at")
        self._executed = True
        try:
            return self._probe([], folder)[1] or TreeDigest()
        except Exception:
            self._failures += 1
            return TreeDigest(reason="the look failed")

    def _tree_folder(self, folders: Sequence[str]) -> str:
        """The working tree, if it can be looked at; "" otherwise."""
        fit = len(folders) == 1 and folders[0].startswith("/") and "\0" not in folders[0] and _encodable(folders[0])
        return folders[0] if fit and self._tree_failures < MAX_TREE_FAILURES else ""

    def _probe(self, asked: Sequence[ProbedFile], folder: str) -> tuple[list[Answered], TreeDigest | None]:
        """Run one command for all of it."""
        tree = tree_command(folder, self._base) if folder else ""
        answers, rest = answered(self._execute(command(asked, tree)), asked, tree=bool(tree))
        return answers, self._digest(rest) if tree else None

    def _digest(self, answer: str) -> TreeDigest:
        """The digest in the answer about the working tree."""
        word, base, digest = (*answer.split(" ", 2), "", "")[:3]
        if word != "tree" or not base.isdecimal() or len(digest) != 32:
            self._tree_failures += 1
            return TreeDigest(reason=answer[:80])
        self._tree_failures, self._base = 0, self._base or base
        return TreeDigest(keyed(self._key, digest))

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


def tree_command(folder: str, base: str) -> str:
    """The command that looks at the working tree in ``folder``; files changed since ``base`` are read."""
    words = (folder, base) if base else (folder,)
    script = f"timeout {TREE_PROBE_SECONDS} sh -c {shlex.quote(TREE)} sh {' '.join(map(shlex.quote, words))}"
    return f"{script} 2>/dev/null || echo 'a look takes too long'\n"


def command(asked: Sequence[ProbedFile], tree: str = "") -> str:
    """The command that looks at these files and, by the command ``tree``, at the working tree."""
    calls = []
    for path, shown, lengths in asked:
        places = (
            f"{one.first} {one.first + len(one.texts) - 1} {length}" for one, length in zip(shown, lengths, strict=True)
        )
        calls.append(f"probe {shlex.quote(path)} {' '.join(places)}\n")
    # A shell of its own: nothing of it is left in an environment that keeps one shell for all commands.
    return f"({FUNCTIONS}{''.join(calls)}{tree}echo {END})"


def answered(output: str, asked: Sequence[ProbedFile], *, tree: bool = False) -> tuple[list[Answered], str]:
    """The answers to a probe, in order, and that about the working tree; raises ``ValueError`` for any other output."""
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
    rest = next(lines, END) if tree else ""
    if next(lines, "") != END:
        raise ValueError("the answer to a probe is cut")
    return found, rest
