"""A session: one run of one agent under a ledger, with its journal. Every live adapter works through it.

It calls the two halves of the loop in ``core.step`` and fails open: a fault inside Ledger is counted and reported, and
never raised into the agent's run. A fault while deciding affects only that decision: the action is allowed, its result
is shown as it came, there is no view. A fault while recording, or ``MAX_FAULTS`` of any kind, turns Ledger off for the
rest of the run.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Generator, Sequence
from functools import partial
from typing import TypeVar

from msgspec.structs import replace

from execledger.core import compare
from execledger.core.faults import Faults
from execledger.core.ledger import Ledger
from execledger.core.policy import Policy
from execledger.core.rereads import Rereads
from execledger.core.step import Proposal, complete, propose, suppresses
from execledger.core.working_tree import is_looked_behind
from execledger.journal.events import Sighted, StepRecorded, ViewRendered, recorded_without_lines
from execledger.redact import redact
from execledger.session.chronicle import Chronicle
from execledger.session.tree import TreeDigest
from execledger.session.witness import Witness
from execledger.symbols.edits import edited_symbols
from execledger.vocabulary.actions import Action, Observation
from execledger.vocabulary.decisions import Decision, Step
from execledger.vocabulary.records import CommandRecord
from execledger.vocabulary.sightings import FileSighting, Sighting, TreeSighting

T = TypeVar("T")


class Session:
    """One run of an agent under a ledger."""

    def __init__(
        self, policy: Policy, task: str, chronicle: Chronicle, tell: Callable[[str], None] = lambda _: None
    ) -> None:
        """Start a session for ``task``; ``tell`` is called with a message to the user for each internal fault."""
        self.policy = policy
        self.faults = Faults(partial(_tell_fault, chronicle, tell))
        self.ledger = Ledger(task, policy, edited_symbols, self.faults)
        self._rereads: Rereads | None = Rereads()
        self.chronicle = chronicle
        self._found: dict[tuple[str, str], FileSighting] = {}
        # The last two steps that may have written, since the last look at the working tree by a probe.
        self._wrote: list[int] = []

    @property
    def active(self) -> bool:
        """Whether Ledger is still on, after faults of its own."""
        return not self.faults.off

    def following(self, where: str, work: Generator[int, None, T], otherwise: T) -> Generator[int, None, T]:
        """Return the result of ``work``, a generator that records steps; after a fault in it Ledger is off."""
        if not self.active:
            return otherwise
        try:
            return (yield from work)
        except GeneratorExit:
            # The caller was cancelled.
            raise
        except BaseException as error:
            self.faults.end(where, error)
            if isinstance(error, Exception):
                return otherwise
            # The agent handles interruptions; the interrupted work is not used any more.
            raise

    def look(
        self,
        witness: Witness,
        thread: str = "",
        since: int = 0,
        *,
        unrecorded_writes: bool = False,
        folders: Sequence[str] = (),
    ) -> None:
        """Look at the files that the next view may list; a fault in that costs this look.

        Only at files of which a step from ``since`` on has shown lines: right behind a result, these are enough.
        ``unrecorded_writes``: the agent may have written what this ledger does not know of. The working tree of
        ``folders`` is looked at as well, if one step may have changed it since the last look.
        """
        if not self.policy.looks or self.policy.shadow:
            return
        look = partial(self._look, witness, thread, since, unrecorded_writes, folders)
        if not self.faults.guarded("witness", look, False):
            self.forget_sightings(thread)

    def _look(self, witness: Witness, thread: str, since: int, unrecorded_writes: bool, folders: Sequence[str]) -> bool:
        """Take a look, and say whether what is known is as true as before."""
        asked = self.ledger.questions(thread, since) if self.policy.inform else {}
        writes = self.ledger.possible_writes
        writes = replace(writes, at_any_time=unrecorded_writes or writes.at_any_time)
        step = self._looked_behind() if folders else None
        looked, tree = witness.look(asked, writes, folders if step is not None else ())
        if folders:
            self._wrote = []
        if step is not None:
            self.take_tree(folders, tree or TreeDigest(reason="the look failed"), step)
        if not looked:
            return looked is None or not asked
        found = {file.path: file for file in looked}
        again = tuple(path for path, file in found.items() if self._found.get((thread, path)) == file)
        files = tuple(file for path, file in found.items() if path not in again)
        self._found.update({(thread, file.path): file for file in files})
        self._take(Sighting(files, again, thread, unrecorded_writes))
        return True

    def _looked_behind(self) -> int | None:
        """The step behind which the working tree is looked at now; None if that would prove nothing.

        Of two steps that may have written it is not known which did.
        """
        if len(self._wrote) != 1 or not self.tree_matters:
            return None
        step = self._wrote[0]
        looked = self.ledger.tree.behind(step) is not None
        return step if is_looked_behind(self.ledger.results[step].record) and not looked else None

    @property
    def tree_matters(self) -> bool:
        """Whether a look at the working tree may lead to a remark."""
        ledger, policy = self.ledger, self.policy
        may_say = policy.govern and policy.looks and not policy.shadow and ledger.nudges < policy.max_nudges
        return may_say and not ledger.left_running

    def wants_tree(self, action: Action, decision: Decision, observation: Observation) -> bool:
        """Whether only a look at the working tree, behind this result, is missing for the remark of a nudge."""
        record = self.ledger.classify(action)
        ask = partial(compare.wants_tree, self.ledger, record, decision, observation)
        return self.faults.guarded("compare", ask, False)

    def look_at_tree(self, witness: Witness, folders: Sequence[str], actions: Sequence[Action]) -> None:
        """Look at the working tree behind the results of ``actions``, before these are compared and recorded.

        Nothing is looked at if none of them may have changed it in an unknown way, or if several may have written.
        """
        self.faults.guarded("witness", lambda: self._look_at_tree(witness, folders, actions), None)

    def _look_at_tree(self, witness: Witness, folders: Sequence[str], actions: Sequence[Action]) -> None:
        if not folders or not self.tree_matters:
            return
        records = [self.ledger.classify(action) for action in actions]
        writers = [at for at, record in enumerate(records) if record.may_write]
        if len(writers) == 1 and is_looked_behind(records[writers[0]]):
            self.take_tree(folders, witness.tree(folders), len(self.ledger) + writers[0])

    def take_tree(self, folders: Sequence[str], found: TreeDigest, step: int | None = None) -> None:
        """Record a look at the working tree behind ``step``, or else behind the step that is recorded next.

        One without a result is recorded only if earlier ones had some.
        """
        step = len(self.ledger) if step is None else step
        if found.digest or self.ledger.tree.known:
            self._take(Sighting(tree=TreeSighting(step, tuple(folders), found.digest, found.reason)))

    def forget_sightings(self, thread: str = "") -> None:
        """Record that the findings of earlier looks may not be true any more; nothing if there are none."""
        self.faults.guarded("witness", lambda: self._forget(thread), None)

    def _forget(self, thread: str) -> None:
        kept = {key: file for key, file in self._found.items() if key[0] != thread}
        if kept != self._found:
            self._found = kept
            self._take(Sighting(thread=thread))

    def _take(self, sighting: Sighting) -> None:
        self.ledger.witness(sighting)
        self.chronicle.note(Sighted(index=len(self.ledger), sighting=sighting))

    def view(
        self,
        sealed: bool,
        visible: Container[int] | None = None,
        thread: str = "",
        embedded: Container[str] = (),
    ) -> str:
        """Return the state view for the next model call; "" if none is shown.

        ``embedded`` are files whose text the client itself has put into the model's context.
        """
        if not self.policy.inform or self.policy.shadow:
            return ""
        return self.faults.guarded("inform", lambda: self._view(sealed, visible, thread, embedded), "")

    def _view(self, sealed: bool, visible: Container[int] | None, thread: str, embedded: Container[str]) -> str:
        text = self.ledger.inform(visible, sealed, thread, embedded).text
        if text:
            self.chronicle.note(ViewRendered(index=len(self.ledger), text=text, thread=thread))
        return text

    def propose(self, actions: list[Action], sealed: bool, visible: Container[int] | None = None) -> list[Proposal]:
        """Judge the actions of one model turn in order, before any of them runs."""
        proposals: list[Proposal] = []
        for action in actions:
            pending = bool(proposals) and proposals[-1].pending
            proposals.append(propose(self.ledger, action, visible, sealed, pending))
        return proposals

    def suppresses(self, decision: Decision) -> bool:
        """Whether an action with this decision is not to be run."""
        return suppresses(self.ledger, decision)

    def complete(
        self, action: Action, decision: Decision, observation: Observation | None, visible: Container[int]
    ) -> Step:
        """Return the completed step, not recorded yet; ``observation`` is None if the action was suppressed."""
        return complete(self.ledger, action, decision, observation, visible)

    def record(self, step: Step, turn: int = 0, sealed: bool = False, since: int = 0) -> None:
        """Record a completed step in the ledger and the journal; ``since`` is the first step that was visible."""
        record = self.ledger.classify(step.action)
        if record.may_write:
            self._wrote = [*self._wrote[-1:], len(self.ledger)]
        self.ledger.record(step)
        if self.active:
            event, with_lines = recorded_without_lines(self.ledger, step, turn=turn, sealed=sealed, since=since)
            self.chronicle.note(event, partial(self._completed, event, with_lines, step, record))

    def _completed(
        self, event: StepRecorded, with_lines: Callable[[], StepRecorded], step: Step, record: CommandRecord
    ) -> StepRecorded:
        """Return the event of a step with the fields that are slow to compute: withheld lines, re-read kind.

        Events are completed in their order. After a fault in judging a re-read, no more are judged. Whether Ledger is
        off by now does not matter: it was on when the step was recorded.
        """
        try:
            event = with_lines()
        except Exception as error:
            self.faults.note("journal", error)
        rereads, self._rereads = self._rereads, None
        if rereads is None:
            return event
        try:
            event = replace(event, snippet=rereads.take(step, record) or "none")
        except Exception as error:
            self.faults.note("measure", error)
            return event
        self._rereads = rereads
        return event


def _tell_fault(chronicle: Chronicle, tell: Callable[[str], None], where: str, error: BaseException, off: bool) -> None:
    """Write a fault to the journal, count it, and report it to the user."""
    try:
        chronicle.fault(where, error)
    except Exception:
        chronicle.summary.counts.faults += 1
    now = "is off for the rest of this run" if off else "goes on"
    tell(f"Ledger {now}, after a fault of its own in {where}: {error_text(error)}")


def error_text(error: BaseException) -> str:
    """Return an error as text for the user: its class and its message, redacted and clipped."""
    return f"{type(error).__name__}: {redact(str(error))[:200]}"
