"""Redundant snippet re-reads in recorded runs, by agent and model, checked by brute force.

    python -m benchmarks.rereads CORPUS

The brute force (``_reread_truth``) shares with Ledger which files' lines a command shows, and neither how these lines
are found in an output nor how they are compared. It also says what the definition's conditions leave out.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator

from msgspec import Struct, field

from benchmarks._reread_truth import Piece, Truth
from benchmarks.audit import placed
from execledger.agents.formats import read_run
from execledger.core.policy import Policy, Preset
from execledger.core.rereads import TITLES, RereadCounts, Rereads
from execledger.runs.find import find_runs
from execledger.runs.recording import Recorded, Run
from execledger.runs.replay import Replayed, replay
from execledger.vocabulary.actions import Edit, Patch, Search, Write
from execledger.vocabulary.decisions import Step
from execledger.vocabulary.records import CHANGED, CommandRecord, Effects

NEEDS_CORPUS = True
BEFORE = re.compile(r"^ *(\d{1,9})(?:\t|→)|^(?:([^\s:]{1,400}):)?(\d{1,9}):|^(?:([^\s:]{1,400}\.\w+)-)?(\d{1,9})-")
"""What is printed in front of lines."""


class Found(Struct):
    """What one agent and model came to."""

    runs: int = 0
    calls: int = 0
    turns: int = 0
    counts: RereadCounts = field(default_factory=RereadCounts)
    unmoved: int = 0
    elsewhere: int = 0
    any_file: int = 0
    any_lines: int = 0
    scripts: int = 0
    referred: Counter[Preset] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


def pieces(record: CommandRecord, recorded: Recorded) -> Iterator[Piece]:
    """The file contents in a recorded result."""
    echo = isinstance(recorded.action.call, Edit | Write | Patch)
    numbered = echo or isinstance(recorded.action.call, Search)
    named = record.writes if echo else record.contents
    own = frozenset(name.rpartition("/")[2] for name in named)
    own = own if len(own) <= 8 else frozenset(("",))
    for part in recorded.observation.pieces if named else ():
        lines: list[tuple[frozenset[str], int | None, str]] = []
        for line in part.removesuffix("\n").split("\n"):
            name, number, text = split(record, line)
            if line == "--" or (numbered and number is None):
                yield from by_file(lines)
                lines = []
            else:
                lines.append((frozenset((name.rpartition("/")[2],)) if name else own, number, text))
        yield from by_file(lines)


def printed(call: Replayed) -> Iterator[Piece]:
    """What a script or inline code prints, as if it were lines of some file."""
    alone = call.record.reproduces and not call.record.contents
    for part in call.recorded.observation.pieces if alone else ():
        lines = (split(call.record, line) for line in part.removesuffix("\n").split("\n"))
        yield Piece(frozenset(("",)), tuple((number, text) for _, number, text in lines))


def split(record: CommandRecord, line: str) -> tuple[str, int | None, str]:
    """The name and the number in front of a line, and its text."""
    if record.view is not None:
        mark = record.view.numbering
        found = re.match(rf" *(\d{{1,18}}) *{re.escape(mark)}", line) if mark and mark != CHANGED else None
        return ("", int(found[1]), line[found.end() :]) if found else ("", None, line)
    found = BEFORE.match(line)
    if found is None:
        return "", None, line
    return found[2] or found[4] or "", int(found[1] or found[3] or found[5]), line[found.end() :]


def by_file(lines: list[tuple[frozenset[str], int | None, str]]) -> Iterator[Piece]:
    """Neighbours of one file."""
    start = 0
    for at in range(1, len(lines) + 1):
        if at == len(lines) or lines[at][0] != lines[start][0]:
            yield Piece(lines[start][0], tuple((number, text) for _, number, text in lines[start:at]))
            start = at


class Places:
    """Reads of single files since something may last have moved their lines."""

    def __init__(self) -> None:
        self._truth = Truth()
        self._shown: dict[str, dict[int, str]] = {}

    def take(self, call: Replayed, returned: list[Piece]) -> tuple[bool, bool]:
        """Whether a read repeats lines of these reads, and whether only lines that were at another place."""
        if call.record.effects is not Effects.NONE:
            self._truth = Truth()
            self._shown.clear()
        own = placed(call.index, call.record.view, call.recorded.observation)
        if own.path is None or not own.all_placed:
            return False, False
        before = self._shown.get(own.path, {})
        stood = {place for place, text in own.places.items() if before.get(place) == text}
        self._shown[own.path] = before | own.places
        again = self._truth.take(returned)
        return again, again and not any({place, place + 1, place + 2} <= stood for place in stood)


def measure(found: Found, run: Run) -> None:
    """Count one run."""
    found.runs += 1
    found.turns += run.turns
    truth, places = Truth(), Places()
    any_file, any_lines = Truth(any_file=True), Truth(min_words=0)
    for call in replay(run):
        found.calls += 1
        found.counts.count(call.reread)
        returned = list(pieces(call.record, call.recorded))
        found.scripts += call.reread is not None or truth.again(list(printed(call)))
        asked = not isinstance(call.recorded.action.call, Edit | Write | Patch)
        if (truth.take(returned) and asked) != (call.reread is not None):
            found.wrong.append(f"{run.name} {call.index}")
        found.any_file += any_file.take(returned) and asked
        found.any_lines += any_lines.take(returned) and asked
        again, elsewhere = places.take(call, returned)
        found.unmoved += again
        found.elsewhere += elsewhere


def measure_referred(found: Found, run: Run, preset: Preset) -> None:
    """Count one run as if Ledger had taken part: by references where outputs would not have been shown."""
    rereads = Rereads()
    for call in replay(run, Policy(preset=preset)):
        step = Step(call.recorded.action, call.decision, call.recorded.observation, call.shown)
        found.referred[preset] += rereads.take(step, call.record) is not None


def label(run: Run) -> str:
    """The agent and the model."""
    model = run.model.rpartition("/")[2] or "model not recorded"
    return f"{run.agent.partition(' ')[0]}, {model}"


def rows(sources: dict[str, Found]) -> Iterator[list[str]]:
    """The table: what was counted, and the number for each agent and model."""
    every = list(sources.values())
    yield ["", *sources]
    yield ["---"] * (len(sources) + 1)
    yield ["runs", *(f"{one.runs:,}" for one in every)]
    yield ["model calls", *(f"{one.turns:,}" for one in every)]
    yield ["redundant snippet re-reads per 100 model calls", *(per_100(one, one.counts.rereads) for one in every)]
    for name, title in TITLES.items():
        lead = "&nbsp;" * (len(title) - len(title.lstrip()))
        yield [lead + title.lstrip(), *(f"{getattr(one.counts, name):,}" for one in every)]
    elsewhere = (f"{one.elsewhere:,} of {one.unmoved:,}" for one in every)
    yield ["alike, but at another place, of the reads between which nothing can have moved", *elsewhere]
    yield ["per 100, if lines of other files counted", *(per_100(one, one.any_file) for one in every)]
    yield ["per 100, if blank lines and brackets counted", *(per_100(one, one.any_lines) for one in every)]

    yield ["per 100, if what scripts print counted", *(per_100(one, one.scripts) for one in every)]
    for preset in Preset:
        title = f"per 100, counted with the references of `{preset.value}` in place of outputs"
        yield [title, *(per_100(one, one.referred[preset]) for one in every)]


def per_100(found: Found, number: int) -> str:
    """A number for every hundred model calls."""
    return f"{100 * number / max(found.turns, 1):.1f}"


def main() -> int:
    """Print the table; the exit status says whether brute force agrees on every command."""
    sources: dict[str, Found] = {}
    for source in find_runs(sys.argv[1:]):
        run = read_run(source.name, source.read())
        found = sources.setdefault(label(run), Found())
        measure(found, run)
        for preset in Preset:
            measure_referred(found, run, preset)
    for row in rows(dict(sorted(sources.items()))):
        print("| " + " | ".join(row) + " |")
    wrong = [name for one in sources.values() for name in one.wrong]
    calls = sum(one.calls for one in sources.values())
    for name in wrong[:20]:
        print(f"brute force disagrees: {name}")
    print(f"rereads: {'NOT held' if wrong else 'held'}: brute force disagrees on {len(wrong)} of {calls:,} commands")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
