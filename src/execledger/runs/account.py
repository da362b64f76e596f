"""What runs came to, in numbers: one run while it happens or from its journal, and many runs one after the other."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from execledger.core.rereads import VERDICTS
from execledger.journal.events import Counts, Ended, Event, FaultCaught, Started, StepRecorded, ViewRendered
from execledger.journal.folder import journal_folder
from execledger.journal.reader import Trouble
from execledger.runs.usage import ModelCall
from execledger.vocabulary.decisions import Reuse

MAX_NAMES = 50
"""Files with trouble that are named; more are only counted, so that memory does not grow with the runs."""

MAX_FOREIGN = 3
"""Files that are no journals and are named; more are only counted."""


class RunSummary(Struct):
    """One run, added up event by event."""

    counts: Counts = field(default_factory=Counts)
    """What happened."""
    shadow: bool = False
    """It ran in shadow mode: everything was shown as it came."""
    identity: tuple[str, float] | None = None
    """The run's name and the time of its start, which a copy of its journal shares; None without a time."""
    turns: int = 0
    """Model calls that proposed a command."""
    called: int = 0
    """While it happens: model calls that were answered."""
    took: ModelCall = ModelCall()
    """While it happens: what these calls took, as the provider reports it."""
    end: Ended | None = None
    """How it ended, if that was recorded."""
    journal: str | None = None
    """While it happens: the file that its journal goes to; None if there is none, or it can't be written any more."""
    unwritten: str = ""
    """While it happens: where and why its journal could not be written, or not to its end."""

    def add(self, event: Event) -> None:
        """Take in one event."""
        match event:
            case Started():
                self.shadow = bool(event.policy.get("shadow"))
                self.identity = None if event.at is None else (event.run, event.at)
            case ViewRendered():
                self.counts.views += 1
                self.counts.view_bytes += len(event.text.encode("utf-8", "replace"))
            case StepRecorded():
                self.turns = max(self.turns, event.turn + 1)
                self._step(event)
            case FaultCaught():
                self.counts.faults += 1
            case Ended():
                self.end = event

    @property
    def model_calls(self) -> int:
        """Calls of the model, as the agent counted them or else as the steps tell."""
        told = self.end.model_calls if self.end is not None else None
        return self.turns if told is None else told

    @property
    def incomplete(self) -> bool:
        """The end counts another number of steps than there are."""
        return self.end is not None and self.end.counts.proposed != self.counts.proposed

    def sentence(self) -> str:
        """The run in one line, for its end."""
        counts = self.counts
        done = f"{counts.suppressed} reused before running, {counts.elided} after, {counts.nudged} nudged"
        if self.shadow:
            would = f"{counts.shadow_reuses} would have been reused before running"
            done = f"shadow: {would}, {counts.shadow_wrong} of them wrongly"
        faults = f"; {_many(counts.faults, 'fault')}" if counts.faults else ""
        return f"Ledger: {_many(counts.proposed, 'command')}, {done}{faults}"

    def _step(self, event: StepRecorded) -> None:
        counts, decision, shown = self.counts, event.step.decision, event.step.shown
        suppressed = isinstance(decision, Reuse) and shown.kind == "reference"
        counts.proposed += 1
        counts.ran += not suppressed
        counts.suppressed += suppressed
        counts.elided += shown.kind == "reference" and not suppressed
        counts.nudged += shown.kind == "remark"
        if event.snippet in VERDICTS:
            counts.measured += 1
            counts.count(VERDICTS[event.snippet])
        if self.shadow:
            self._shadow_step(event)

    def _shadow_step(self, event: StepRecorded) -> None:
        counts, shown = self.counts, event.step.shown
        if isinstance(event.step.decision, Reuse):
            counts.shadow_reuses += 1
            counts.shadow_right += shown.compared in ("same", "covered")
            counts.shadow_wrong += shown.compared == "different"
        else:
            counts.shadow_elided += shown.instead == "reference"
            counts.shadow_nudges += shown.instead == "remark"


def sentences(runs: Sequence[RunSummary]) -> list[str]:
    """What Ledger did in one process, for its end, and where the journals of its runs are."""
    if not runs:
        return []
    counts = [run.counts for run in runs]
    many = (
        f"Ledger: {len(runs)} runs, {_many(sum(one.proposed for one in counts), 'command')}, "
        f"{sum(one.suppressed for one in counts)} reused before running, {sum(one.elided for one in counts)} after, "
        f"{sum(one.nudged for one in counts)} nudged; {_many(sum(one.faults for one in counts), 'fault')}"
    )
    told = [runs[0].sentence() if len(runs) == 1 else many]
    for folder in sorted({os.path.dirname(run.journal) for run in runs if run.journal}):
        stats = shlex.join(["execledger", "stats", *([folder] if folder != str(journal_folder()) else [])])
        told.append(f"Ledger: journals are in {folder}; `{stats}` adds them up")
    if unwritten := [run.unwritten for run in runs if run.unwritten]:
        told.append(f"Ledger: {_many(len(unwritten), 'run')} without a complete journal: {unwritten[0]}")
    return told


def _many(count: int, what: str) -> str:
    """A number of things."""
    return f"{count} {what}{'s' if count != 1 else ''}"


class Totals(Struct):
    """Many runs, added up."""

    runs: int = 0
    """Journals that were read."""
    unended: int = 0
    """Those whose end is missing: still running, or killed."""
    shadow_runs: int = 0
    """Those in shadow mode."""
    model_calls: int = 0
    """Calls of the model."""
    counts: Counts = field(default_factory=Counts)
    """What happened."""
    input_tokens: int | None = None
    """Tokens of input, cached ones included, of the runs that say so; None if none does."""
    cached_tokens: int | None = None
    """Tokens of input that were read from a cache."""
    output_tokens: int | None = None
    """Tokens of output."""
    cost: float | None = None
    """What the runs cost, in dollars."""
    runs_with_tokens: int = 0
    """Runs that say how many tokens went in."""
    runs_with_cost: int = 0
    """Runs that say what they cost."""
    torn: int = 0
    """Journals whose last line is torn."""
    incomplete: int = 0
    """Journals in which lines are damaged or missing."""
    unread: int = 0
    """Files that are no journals, or of a newer version."""
    foreign: int = 0
    """Those of them that are no journals at all: runs that an agent recorded, perhaps."""
    repeated: int = 0
    """Journals of runs that another journal already told of: copies, which are not counted again."""
    named: list[str] = field(default_factory=list)
    """The files with trouble, with what it is; at most 50."""

    def add(self, name: str, run: RunSummary, trouble: Trouble) -> None:
        """Take in one run."""
        self.runs += 1
        self.shadow_runs += run.shadow
        self.model_calls += run.model_calls
        for count in Counts.__struct_fields__:
            setattr(self.counts, count, getattr(self.counts, count) + getattr(run.counts, count))
        if run.end is None:
            self.unended += 1
        else:
            self._add_usage(run.end)
        self.torn += trouble.torn
        self.incomplete += run.incomplete or bool(trouble.damaged or trouble.lost)
        said = replace(trouble, miscounted=run.incomplete).sentences()
        if said:
            self.note(f"{name}: {'; '.join(said)}")

    def skip(self, reason: str) -> None:
        """Note a file that could not be read."""
        self.unread += 1
        self.note(reason)

    def skip_foreign(self, name: str) -> None:
        """Note a file that is no journal; in a folder of an agent's runs there may be thousands, so few are named."""
        self.foreign += 1
        self.unread += 1
        if self.foreign <= MAX_FOREIGN:
            self.note(f"{name}: found something else, expected a journal")

    def note(self, sentence: str) -> None:
        """Name a file with trouble, while there is room."""
        if len(self.named) < MAX_NAMES:
            self.named.append(sentence)

    def _add_usage(self, end: Ended) -> None:
        self.runs_with_tokens += end.input_tokens is not None
        self.runs_with_cost += end.cost is not None
        for name in ("input_tokens", "cached_tokens", "output_tokens", "cost"):
            told = getattr(end, name)
            if told is not None:
                setattr(self, name, (getattr(self, name) or 0) + told)
