"""The events of a journal, one per line, in the order in which they happened.

Names, ids and clock times are arguments, never looked up here, so equal events have equal bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct, convert, to_builtins
from msgspec.structs import replace

from execledger.core.policy import EARLIER, Policy
from execledger.core.rereads import RereadCounts
from execledger.journal.clean import withheld_lines
from execledger.journal.migrate import VERSION
from execledger.vocabulary.decisions import Step
from execledger.vocabulary.records import View
from execledger.vocabulary.sightings import Sighting

if TYPE_CHECKING:
    from execledger.core.ledger import Ledger
    from execledger.core.lines import Returned


class Counts(RereadCounts, kw_only=True):
    """What happened in a run, in numbers."""

    proposed: int = 0
    """Commands that the agent proposed, except for one that ended the run and so has no result."""
    ran: int = 0
    """Those that ran."""
    suppressed: int = 0
    """Those that were reused before running: a reference answered them."""
    elided: int = 0
    """Those that were reused after running: a reference replaced their output."""
    partial: int = 0
    """Those that were reused in part: references replaced some lines of their output."""
    nudged: int = 0
    """Those whose result got a remark."""
    references: int = 0
    """Those answered with a reference whose second looks were counted; older journals have none."""
    second_looks: int = 0
    """References after which the model requested the same content within three calls."""
    measured: int = 0
    """Those that were judged as redundant snippet re-reads or not."""
    views: int = 0
    """State views that were sent, or that a replay would have sent; those without text are not sent."""
    view_bytes: int = 0
    """Bytes that these added to the model's input."""
    faults: int = 0
    """Faults of Ledger itself that were caught."""
    shadow_reuses: int = 0
    """In shadow mode: commands that would have been reused before running."""
    shadow_right: int = 0
    """Those of them whose real output agreed with the decision."""
    shadow_wrong: int = 0
    """Those whose real output was a different one: false reuses."""
    shadow_elided: int = 0
    """In shadow mode: commands that would have been reused after running."""
    shadow_partial: int = 0
    """In shadow mode: commands that would have been reused in part."""
    shadow_nudges: int = 0
    """In shadow mode: remarks that would have been added."""

    def add(self, other: Counts) -> None:
        """Add the counts of another run."""
        for name in Counts.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


class _Event(Struct, frozen=True, kw_only=True, tag_field="event"):
    """Fields of every event."""

    at: float | None = None
    """The wall clock time in seconds, if the caller gives one; not part of any state."""


class Started(_Event, frozen=True, kw_only=True, tag="start"):
    """The first line: which run this is, and its policy."""

    version: int = VERSION
    """The version of the journal's format."""
    software: str
    """The version of execledger that writes."""
    run: str
    """The run's name or id."""
    agent: str = ""
    """The agent, with its version where that is known."""
    model: str = ""
    """The model; "" if unknown."""
    task: str = ""
    """The text of the first task message."""
    policy: dict[str, str | int | float | bool]
    """The policy, as ``policy_fields`` gives it: plain fields, so that a later version can add some."""
    container: bool = False
    """The commands run in a container of the agent's own."""
    sealed: bool = False
    """Nothing but the agent's own commands could write when the run began."""
    altered: bool = False
    """Set by the writer: the task is not as it was given, a secret was redacted."""

    def known_policy(self) -> Policy:
        """The policy, without fields that this version does not know."""
        return known_policy(self.policy)


class ViewRendered(_Event, frozen=True, kw_only=True, tag="view"):
    """A state view was placed at the end of the model's input."""

    index: int
    """The step that it precedes."""
    text: str
    """What the model read."""
    thread: str = ""
    """The conversation that it was placed in."""


class Sighted(_Event, frozen=True, kw_only=True, tag="look"):
    """A witness looked at files before a model call: line numbers, verdicts and digests, never contents."""

    index: int
    """The step that it precedes."""
    sighting: Sighting
    """What it found."""


class StepRecorded(_Event, frozen=True, kw_only=True, tag="step"):
    """A completed step was recorded in the ledger."""

    index: int
    """The step, counted from 0."""
    turn: int
    """The model call that proposed it, from 0."""
    step: Step
    """The action, the decision with its proof, the observation as shown, and the fingerprint of the true result."""
    sealed: bool
    """Nothing but the agent's own commands could write when it was decided."""
    since: int
    """The first step whose result was still visible when it was decided."""
    digest: str
    """The digest of the ledger's state after it."""
    snippet: str | None = None
    """The kind of redundant snippet re-read that it is, or ``none``; None where it was not judged."""
    reread: str | None = None
    """Not written any more, and not counted: the verdict of an older definition, by which only reads within returned
    ranges were re-reads (``within``, ``exact`` or "")."""
    looked_again: int | None = None
    """References of the last three calls that it is a second look at; None where that was not counted."""
    stopped: tuple[int, int] | None = None
    """Second looks and settled references at which eliding ended in this run; None while it goes on."""
    altered: bool = False
    """Set by the writer: the action is not as it was proposed, a secret was redacted."""


class FaultCaught(_Event, frozen=True, kw_only=True, tag="fault"):
    """A fault of Ledger itself was caught, and the agent's run went on."""

    where: str
    """What was being done: ``govern``, ``compare``, ``record``, ``inform`` or the like."""
    error: str
    """The class of the error."""
    message: str = ""
    """Its message; never a traceback, which may quote anything."""


class Ended(_Event, frozen=True, kw_only=True, tag="end"):
    """The last line: how the run ended, and its totals."""

    reason: str = ""
    """How it ended, in the agent's own word, such as ``Submitted``."""
    counts: Counts
    """What was counted during the run, by which a reader notices missing lines."""
    model_calls: int | None = None
    """Calls of the model; None where that is not known."""
    input_tokens: int | None = None
    """Tokens of input, cached ones included; None where the provider did not say."""
    cached_tokens: int | None = None
    """Tokens of input that were read from a cache; None where the provider did not say."""
    output_tokens: int | None = None
    """Tokens of output; None where the provider did not say."""
    cost: float | None = None
    """What the run cost, in dollars; None where that is not known."""


BYPASSED = "bypassed"
"""The reason at the end of a run whose agent sent no request through Ledger."""
Event: TypeAlias = Started | Sighted | ViewRendered | StepRecorded | FaultCaught | Ended


def policy_fields(policy: Policy) -> dict[str, str | int | float | bool]:
    """A policy as plain fields, as the start of a journal has it."""
    fields: dict[str, str | int | float | bool] = to_builtins(policy)
    return fields


def known_policy(fields: dict[str, str | int | float | bool]) -> Policy:
    """The policy that such fields make, without those that are unknown to this version.

    Settings that are missing came later: they have the value by which such runs decided.
    """
    known = {name: value for name, value in fields.items() if name in Policy.__struct_fields__}
    return convert({**EARLIER, **known}, Policy)


def recorded(
    ledger: Ledger, step: Step, *, turn: int, sealed: bool, since: int = 0, at: float | None = None
) -> StepRecorded:
    """The event for ``step``, which ``ledger`` has just recorded.

    It includes the fingerprint of the true result, and the digests of lines with secrets: they can't be computed again
    from the redacted text.
    """
    _, with_lines = recorded_without_lines(ledger, step, turn=turn, sealed=sealed, since=since, at=at)
    return with_lines()


def recorded_without_lines(
    ledger: Ledger, step: Step, *, turn: int, sealed: bool, since: int = 0, at: float | None = None
) -> tuple[StepRecorded, Callable[[], StepRecorded]]:
    """The event of ``recorded`` without the digests of lines with secrets, and the function that returns it with them.

    That function is slow, and reads nothing that changes with later steps.
    """
    index = len(ledger) - 1
    if step.shown.result is None:
        step = replace(step, shown=replace(step.shown, result=ledger.results[index].print))
    event = StepRecorded(
        index=index,
        turn=turn,
        step=step,
        sealed=sealed,
        since=since,
        digest=ledger.digest,
        looked_again=ledger.looked_again,
        stopped=ledger.second_looks.stopped,
        at=at,
    )
    view = ledger.results[index].record.view
    shown = None if view is None else ledger.lines_of(view, step)
    return event, partial(_with_withheld_lines, event, view, shown)


def _with_withheld_lines(event: StepRecorded, view: View | None, shown: Returned | None) -> StepRecorded:
    """The event with the digests of lines with secrets, among those of ``view`` that its step has ``shown``."""
    step = event.step
    if view is None or shown is None or step.shown.kind == "reference" or step.withheld:
        return event
    return replace(event, step=replace(step, withheld=withheld_lines(view, step, shown)))
