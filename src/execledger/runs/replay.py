"""Replay of a recorded run: what Ledger would have decided, and whether it would have been right.

The agent's behaviour is held fixed: each recorded call is proposed and settled in order (``core.step``). The decision
never uses the call's recorded output; that output then shows what a real run would have returned.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from execledger.core.inform import StateView
from execledger.core.ledger import Ledger
from execledger.core.policy import Policy
from execledger.core.rereads import Reread, Rereads
from execledger.core.step import propose, settle
from execledger.runs.looks import take_sightings
from execledger.runs.providers import for_model
from execledger.runs.recording import Recorded, Run
from execledger.symbols.edits import edited_symbols
from execledger.vocabulary.actions import Observation
from execledger.vocabulary.decisions import Allow, Compared, Decision, Reuse, Shown, Step
from execledger.vocabulary.records import CommandRecord

INHERITED = Allow("inherited")
"""The decision of a call that a forked thread has from its parent."""
RECORDED = Allow("recorded")
"""The decision of a call that was recorded without Ledger."""


class Line(Struct, frozen=True, omit_defaults=True):
    """One line of the decisions file: the contract with programs that read it."""

    trajectory: str
    """The run."""
    index: int
    """The call, counted from 0."""
    command: str
    """The command or call."""
    category: str
    """Its category."""
    effects: str
    """Its effects."""
    decision: str
    """allow, reuse or nudge: made without the call's own output."""
    rule: str
    """The rule that decided."""
    refers_to: tuple[int, ...]
    """The calls that the decision refers to."""
    compared: Compared | None
    """How the recorded output compares with what is visible."""
    compared_to: tuple[int, ...]
    """The calls that are equal to the output or cover it."""
    shown: str
    """What the model would have been shown: full, reference, partial or remark."""
    elided: tuple[tuple[int, int, int], ...] = ()
    """Of a partial reference: the first and last line of each omitted run of the file, and the call that showed it."""


class Replayed(Struct, frozen=True):
    """One replayed call."""

    index: int
    """The call, counted from 0."""
    recorded: Recorded
    """The call and its recorded result."""
    record: CommandRecord
    """What it does, as classified."""
    decision: Decision
    """What was decided, without its result."""
    shown: Shown
    """What the model would have been shown."""
    reread: Reread | None
    """The kind of redundant snippet re-read that it is, by what the run recorded; None if it is none."""
    view: StateView | None
    """The state view before it, where it is the first call of a model turn."""
    looked_again: int = 0
    """References of the last three calls that it is a second look at."""
    stopped: tuple[int, int] | None = None
    """Second looks and settled references at which eliding ended in this run; None while it goes on."""

    @property
    def false(self) -> bool:
        """Whether it is a reuse whose recorded output differs from what it refers to."""
        return isinstance(self.decision, Reuse) and self.shown.compared == "different"

    def line(self, run: str) -> Line:
        """Return the call as a line of the decisions file."""
        return Line(
            # A file name may be invalid UTF-8; the decisions file must be valid.
            trajectory=run.encode("utf-8", "replace").decode(),
            index=self.index,
            command=self.recorded.action.command,
            category=self.record.category.value,
            effects=self.record.effects.value,
            decision=type(self.decision).__name__.lower(),
            rule=self.decision.rule,
            refers_to=self.decision.refers_to,
            compared=self.shown.compared,
            compared_to=self.shown.compared_to,
            shown=self.shown.kind,
            elided=self.shown.omitted,
        )


def replay(run: Run, policy: Policy | None = None, ledger: Ledger | None = None) -> Iterator[Replayed]:
    """Replay ``run`` call by call; a ``ledger`` that the caller passes has the state afterwards."""
    ledger = new_ledger(run, policy) if ledger is None else ledger
    turn = -1
    since = 0
    compactions = set(run.compactions)
    pending = False
    rereads = Rereads()
    for index, recorded in enumerate(run.steps):
        if index in compactions:
            since = index
        visible = range(since, index)
        take_sightings(ledger, recorded)
        record = ledger.classify(recorded.action)
        if recorded.inherits is not None:
            rereads.take(as_recorded(recorded), record)
            ledger.record(
                Step(recorded.action, INHERITED, recorded.observation, Shown("full"), inherits=recorded.inherits)
            )
            continue
        view = None
        if recorded.turn != turn:
            turn = recorded.turn
            view = ledger.inform(visible, run.container, recorded.action.thread) if ledger.policy.inform else None
            pending = False
        # If calls ran one after the other, each was proposed after the results of those before it.
        proposal = propose(ledger, recorded.action, visible, run.container, pending and run.parallel)
        pending = proposal.pending
        step = settle(ledger, proposal, recorded.observation)
        # What the reference pointed at that the run was answered with is what the same reference points at here.
        answered = recorded.suppressed and isinstance(proposal.decision, Reuse)
        again = rereads.take(step if answered else as_recorded(recorded), record)
        looks = (ledger.looked_again, ledger.second_looks.stopped)
        yield Replayed(index, recorded, record, proposal.decision, step.shown, again, view, *looks)


def new_ledger(run: Run, policy: Policy | None = None) -> Ledger:
    """Return an empty ledger for ``run``, under ``policy``, else the run's own policy, else the default."""
    return Ledger(run.task, policy_of(run, policy), edited_symbols)


def policy_of(run: Run, policy: Policy | None = None) -> Policy:
    """Return the policy that ``run`` is replayed under: its own, or the chosen or default one for its model.

    Of its own, shadow mode is left out: a replay changes nothing, and says what would have been shown.
    """
    if policy is None and run.policy is not None:
        return replace(run.policy, shadow=False)
    return for_model(policy or Policy(), run.model)


def as_recorded(recorded: Recorded) -> Step:
    """Return the step of a call as it was recorded: as Ledger completed it, or run and shown as it came."""
    if recorded.governed is not None:
        return recorded.governed.step
    return Step(recorded.action, RECORDED, recorded.observation, Shown("full"), inherits=recorded.inherits)


def output_bytes(observation: Observation) -> int:
    """Return the bytes of an output in the model's input, without the harness's wrapping."""
    return len(observation.output.encode("utf-8", "replace")) + len(observation.stderr.encode("utf-8", "replace"))


def spared_bytes(shown: Shown, output: str) -> int:
    """Return by how many bytes what is shown of ``output`` is shorter."""
    return len(output.encode("utf-8", "replace")) - len(shown.applied(output).encode("utf-8", "replace"))
