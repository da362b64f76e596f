"""Counts over replayed runs, added up call by call, so that memory does not grow with the runs."""

from __future__ import annotations

from collections import Counter

from msgspec import field

from execledger.core.rereads import RereadCounts
from execledger.evaluate.counterfactual import Counterfactual
from execledger.runs.recording import Run
from execledger.runs.replay import Replayed, output_bytes
from execledger.vocabulary.decisions import Nudge, Reuse
from execledger.vocabulary.records import Effects


class Tally(RereadCounts):
    """What a replay found."""

    runs: int = 0
    """Runs read."""
    unreadable: list[str] = field(default_factory=list)
    """Files that could not be read, with the reason."""
    troubled: list[str] = field(default_factory=list)
    """Runs that were read, but not whole, with what is wrong with them."""
    calls: int = 0
    """Calls with a recorded result."""
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
    remarks: int = 0
    """Nudges whose remark was shown."""
    elided: Counter[str] = field(default_factory=Counter)
    """References after running, by how the output compared."""
    false: list[str] = field(default_factory=list)
    """False reuses, by run and index."""
    faults: int = 0
    """Faults of Ledger's own: what they kept from being decided was allowed."""
    read_bytes: int = 0
    """Bytes of output, each counted once for every later model call."""
    saved_bytes: int = 0
    """Bytes that references would have kept out, counted in the same way."""
    untold: int = 0
    """Calls whose output no record tells: neither kind of bytes is counted for them."""
    view_bytes: int = 0
    """Bytes of state views, one per model call."""
    counterfactual: Counterfactual = field(default_factory=Counterfactual)
    """What the runs cost, and what Ledger would have cost and saved, in tokens and dollars."""

    def start(self, run: Run) -> None:
        """Begin a run."""
        self.runs += 1
        self.turns += run.turns
        if run.trouble:
            self.troubled.append(f"{run.name}: {'; '.join(run.trouble)}")

    def add(self, run: Run, call: Replayed) -> None:
        """Count one call."""
        self.calls += 1
        self.categories[call.record.category.value] += 1
        if call.record.opaque:
            self.opaque[call.record.opaque] += 1
        elif call.record.effects is Effects.UNKNOWN:
            self.unknown += 1
        self.programs += call.record.programs
        self.unknown_programs.update(call.record.unknown_programs)
        self._decision(run, call)
        self.count(call.reread)
        later = max(run.turns - call.recorded.turn - 1, 0)
        size = output_bytes(call.recorded.observation)
        self.read_bytes += size * later
        self.untold += call.recorded.observation.output_unknown
        if call.shown.kind == "reference" and not call.recorded.observation.output_unknown:
            self.saved_bytes += (size - len(call.shown.text.encode())) * later
        elif call.shown.kind == "remark":
            self.saved_bytes -= len(call.shown.text.encode()) * later
        self.view_bytes += len(call.view.text.encode()) if call.view else 0

    def _decision(self, run: Run, call: Replayed) -> None:
        if isinstance(call.decision, Reuse):
            self.reuses[call.decision.rule] += 1
            if call.false:
                name = run.name.encode("utf-8", "replace").decode()
                self.false.append(f"{name} {call.index}: {call.recorded.action.command[:80]!r}")
        elif call.shown.kind == "reference":
            self.elided[str(call.shown.compared)] += 1
        if isinstance(call.decision, Nudge):
            self.nudges[call.decision.rule] += 1
            self.remarks += call.shown.kind == "remark"
