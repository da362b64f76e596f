"""Sums over many runs, each of which has its ``Account``: over journals for ``stats``, over replays for ``replay``.

Both are added up run by run, so that memory does not grow with the runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, TypeAlias

from msgspec import Struct, field, to_builtins
from msgspec.structs import replace

from execledger.journal.events import BYPASSED, Counts
from execledger.journal.reader import Trouble
from execledger.runs.account import Account
from execledger.runs.recording import Run
from execledger.runs.replay import Replayed
from execledger.vocabulary.records import Effects

MAX_NAMES = 50
"""Files with trouble that are named; more are only counted, so that memory does not grow with the runs."""

MAX_FOREIGN = 3
"""Files that are no journals and are named; more are only counted."""


Looks: TypeAlias = dict[str, tuple[int, int]]
"""By model: second looks, and the references that they are a share of."""


def add_looks(looks: Looks, run: Account) -> None:
    """Add the second looks of a run to those of its model; nothing if it has no references."""
    counts, (looked, references) = run.counts, looks.get(run.model, (0, 0))
    if counts.references:
        looks[run.model] = (looked + counts.second_looks, references + counts.references)


def look_rows(looks: Looks) -> Iterator[tuple[str, str, str]]:
    """Title, number and rate of each model's second looks; nothing if there is one model."""
    for model, (looked, references) in sorted(looks.items()) if len(looks) > 1 else ():
        yield f"  {model or 'unknown model'}", f"{looked:,}", f"{looked / references:.0%} of {references:,} references"


class Totals(Struct):
    """Many runs, added up."""

    runs: int = 0
    """Journals that were read."""
    unended: int = 0
    """Those whose end is missing: still running, or killed."""
    shadow_runs: int = 0
    """Those in shadow mode."""
    bypassed: int = 0
    """Those whose agent sent no request through Ledger."""
    model_calls: int = 0
    """Calls of the model."""
    counts: Counts = field(default_factory=Counts)
    """What happened."""
    second_looks: Looks = field(default_factory=dict)
    """By model: second looks, and the references that were counted."""
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

    def add(self, name: str, run: Account, trouble: Trouble) -> None:
        """Take in one run."""
        self.runs += 1
        self.shadow_runs += run.shadow
        self.bypassed += run.ended == BYPASSED
        self.model_calls += run.model_calls
        self.counts.add(run.counts)
        add_looks(self.second_looks, run)
        self.unended += run.end is None
        self._add_usage(run)
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

    def _add_usage(self, run: Account) -> None:
        """Add what the calls of the model took, each number over the runs that report it."""
        tokens, cost = run.tokens, run.took.cost
        self.runs_with_tokens += tokens.input is not None
        self.runs_with_cost += cost is not None
        reported = {"input_tokens": tokens.input, "cached_tokens": tokens.cached, "output_tokens": tokens.output}
        for name, number in {**reported, "cost": cost}.items():
            if number is not None:
                setattr(self, name, (getattr(self, name) or 0) + number)


class Tally(Struct):
    """Many replayed runs, added up."""

    runs: int = 0
    """Runs read."""
    unreadable: list[str] = field(default_factory=list)
    """Files that could not be read, with the reason."""
    troubled: list[str] = field(default_factory=list)
    """Runs that were read, but not whole, with what is wrong with them."""
    counts: Counts = field(default_factory=Counts)
    """What happened in the replays."""
    looks: Looks = field(default_factory=dict)
    """By model: second looks, and references."""
    took_part: int = 0
    """Those that Ledger took part in: their tokens are those after its edits."""
    turns: int = 0
    """Model calls."""
    categories: Counter[str] = field(default_factory=Counter)
    """Calls by category."""
    opaque: Counter[str] = field(default_factory=Counter)
    """Opaque calls by reason."""
    unknown: int = 0
    """Calls with unknown effects."""
    programs: int = 0
    """Simple commands."""
    unknown_programs: Counter[str] = field(default_factory=Counter)
    """Programs that no table knows."""
    reuses: Counter[str] = field(default_factory=Counter)
    """Reuses before running, by rule."""
    nudges: Counter[str] = field(default_factory=Counter)
    """Nudges, by rule."""
    elided: Counter[str] = field(default_factory=Counter)
    """References after running, by how the output compared."""
    omissions: int = 0
    """Runs of lines that partial references omit."""
    false: list[str] = field(default_factory=list)
    """False reuses, by run and index."""
    read_bytes: int = 0
    """Bytes of output, each counted once for every later model call."""
    saved_bytes: int = 0
    """Bytes that references would have kept out, counted in the same way."""
    partial_bytes: int = 0
    """Those of them that partial references would have kept out."""
    untold: int = 0
    """Calls whose recorded output is unknown: it is not among ``read_bytes``."""

    def fields(self) -> dict[str, Any]:
        """All numbers as a flat object, for JSON; ``calls`` and ``remarks`` are names of two counts for readers."""
        fields: dict[str, Any] = to_builtins(self)
        counts: dict[str, int] = fields.pop("counts")
        return {**counts, **fields, "calls": self.counts.proposed, "remarks": self.counts.nudged}

    def classified(self, run: Run, call: Replayed) -> None:
        """Count how one call was understood, and name it if its reuse is false."""
        record = call.record
        self.categories[record.category.value] += 1
        if record.opaque:
            self.opaque[record.opaque] += 1
        elif record.effects is Effects.UNKNOWN:
            self.unknown += 1
        self.programs += record.programs
        self.unknown_programs.update(record.unknown_programs)
        if call.false:
            name = run.name.encode("utf-8", "replace").decode()
            self.false.append(f"{name} {call.index}: {call.recorded.action.command[:80]!r}")

    def add(self, run: Run, account: Account) -> None:
        """Add one run, when all of its calls are counted."""
        self.runs += 1
        self.took_part += run.took_part
        self.counts.add(account.counts)
        add_looks(self.looks, account)
        self.turns += account.model_calls
        if run.trouble:
            self.troubled.append(f"{run.name}: {'; '.join(run.trouble)}")
        self.reuses.update(account.reuses)
        self.elided.update(account.elided)
        self.omissions += account.omissions
        self.nudges.update(account.nudges)
        self.read_bytes += account.read_bytes
        self.saved_bytes += account.saved_bytes
        self.partial_bytes += account.partial_bytes
        self.untold += account.unknown_outputs
