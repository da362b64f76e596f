"""One agent's conversation under a ledger, and the workspace that the conversations of a session share.

The history says what was called and answered, the ledger decides, and stored edits keep what the model was shown.
Writes belong to the workspace, whichever conversation made them; observations belong to the conversation that saw them.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Container, Iterable
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from execledger.core.fingerprint import digest, fingerprint
from execledger.core.govern import FAULT, UNFINISHED
from execledger.core.policy import Preset
from execledger.core.step import propose
from execledger.core.working_tree import is_looked_behind
from execledger.proxy.call_reports import CallReport, CallReports
from execledger.proxy.content_encoding import Decoder
from execledger.proxy.dialect import Dialect, LeafFormat, TurnRequest
from execledger.proxy.edits import CallEdit, Edit, EditStore, ResultEdit
from execledger.proxy.history import AnsweredCall, History, RecordedCall, shim_ran
from execledger.proxy.limits import MAX_ITEMS, MAX_NEW, MAX_RESULT, MAX_STEPS, MAX_TAKEN, STEP
from execledger.proxy.response_editor import ResponseEditor
from execledger.proxy.whole_answer import WholeAnswer
from execledger.proxy.worker import PORTION, Work
from execledger.redact import redact
from execledger.runs.providers import binds_reasoning
from execledger.session.adapter import Adapter, ToolCall
from execledger.session.session import Session
from execledger.session.witness import LocalWitness
from execledger.vocabulary.actions import Action, Observation
from execledger.vocabulary.decisions import Allow, Decision, Shown, Step

UNSEEN = Allow("not-governed", ("the call was proposed while Ledger was not there",))
"""The decision about a call that was already answered when it was first met in a history."""
NOT_EDITED = Allow("not-governed", ("its stored edit is for another text, or the call in its place was not run",))
"""The decision about a call whose result is shown as it came, although an edit of it is stored."""
NO_SHIM = Allow("no-shim", ("nothing without effects can take its place",))
"""The decision about a call that would be suppressed, but has no call without effects to run in its place."""
UNNAMED = "\0"
"""Prefix of the keys of proposed calls that have no id; no id has it."""
MANY = 2
"""Writers that have to be remembered: with so many, each of them has another beside it."""


class Workspace:
    """The ledger of one session, and the steps of its conversations."""

    def __init__(self, session: Session, name: str, writers: set[str], witness: LocalWitness | None = None) -> None:
        """An empty workspace; ``writers``, shared by all workspaces of a proxy, names those that may have written."""
        self.session = session
        self.witness = witness
        """Looks at the session's files; None if they are not to be looked at."""
        self.lock = asyncio.Lock()
        """Held for every use of the session, on the event loop and on the worker thread.

        It is fair: the requests of a session are processed in the order of their arrival.
        """
        self._name = name
        self._writers = writers
        self.writing: set[str] = set()
        """The conversations that have an unanswered call that may write."""
        self.turn = 0
        """The number of requests so far in which a model was asked to act."""
        self.unseen = False
        """Some calls were not seen when they were made: before a pause, through another proxy, or unread."""
        self.let_go = False
        """The session was evicted: its later requests belong to another workspace."""
        self.taken = 0
        """The characters that its ledger has recorded."""
        self._steps: dict[str, dict[str, int]] = {}
        self._sources: dict[str, int] = {}
        self._chains: list[str] = []
        self._threads: dict[str, list[int]] = {}

    def write(self, thread: str) -> None:
        """Note that a conversation was sent a call that may write."""
        self.writing.add(thread)
        if len(self._writers) < MANY:
            self._writers.add(self._name)

    def knows_all(self, thread: str) -> bool:
        """Whether every command that may have written is known and completed, from the view of ``thread``."""
        return not (self.unseen or self._writers - {self._name} or self.busy(thread))

    def busy(self, thread: str) -> bool:
        """Whether another conversation has an unanswered call that may write, or may have one unknown to us."""
        return self.let_go or bool(self.writing - {thread})

    @property
    def full(self) -> bool:
        """Whether it has recorded as much as one session may."""
        return len(self._chains) >= MAX_STEPS or self.taken >= MAX_TAKEN

    def recorded(self, thread: str, chain: str) -> int | None:
        """The step of ``thread`` at this point of its history, if it was recorded before."""
        return self._steps.get(thread, {}).get(chain)

    def source(self, chain: str) -> int | None:
        """The first step of any conversation at this point of a history, which forked conversations share."""
        return self._sources.get(chain)

    def steps_of(self, thread: str, chains: Iterable[str]) -> tuple[int, ...]:
        """The known steps at these points of a history: the thread's own if it has one, else an inherited one."""
        mine = self._steps.get(thread, {})
        found = (mine.get(chain, self._sources.get(chain)) for chain in chains)
        return tuple(step for step in found if step is not None)

    def chains_of(self, steps: Iterable[int]) -> tuple[str, ...]:
        """The points of the history at which these steps were recorded."""
        return tuple(self._chains[step] for step in steps)

    def record(self, step: Step, chain: str, sealed: bool, since: int) -> int:
        """Record a completed step; its number. ``since`` is the first step that was visible."""
        at = len(self._chains)
        self.session.record(step, self.turn, sealed, since)
        self._chains.append(chain)
        self.taken += STEP + len(step.observation.output)
        self._steps.setdefault(step.action.thread, {})[chain] = at
        self._sources.setdefault(chain, at)
        self._threads.setdefault(step.action.thread, []).append(at)
        return at

    def visible(self, thread: str, steps: list[int]) -> Container[int]:
        """The steps that a request shows; a range if it shows all of the conversation's since some step."""
        mine = self._threads.get(thread, [])
        if not steps:
            return range(len(self._chains), len(self._chains))
        if steps == mine[-len(steps) :]:
            return range(steps[0], len(self._chains))
        return frozenset(steps)


class _Proposed(Struct, frozen=True):
    """A call that was sent to the client and has no result yet."""

    call: ToolCall
    """What the model asked for."""
    cwd: str | None
    """The working directory at that time."""
    action: Action
    """What the call would do there."""
    decision: Decision
    """The decision about it."""
    clock: int
    """The ledger's clock at that time."""
    concurrent: bool
    """A call that may write preceded it in the same turn, or was unanswered elsewhere."""
    writes: bool
    """It may write itself."""
    unlisted: bool
    """What it may write is not known: the working tree is looked at behind it."""


class Judged(Struct, frozen=True):
    """The outcome for a proposed call."""

    shim: ToolCall | None
    """The call to run in its place, if it is suppressed."""
    pending: bool
    """Whether the next call of the same answer follows a possible write."""
    cwd: str | None
    """The working directory in which the next call of the same answer starts."""


class Turn(Struct, frozen=True):
    """One request as the model is asked it, with what is needed to judge the answer."""

    leaves: list[bytes]
    """The leaves to forward."""
    visible: Container[int]
    """Steps whose results are part of the request."""
    cwd: str | None
    """The working directory of the next command."""


class Conversation:
    """One thread of a workspace."""

    def __init__(
        self,
        workspace: Workspace,
        thread: str,
        dialect: LeafFormat,
        adapter: Adapter,
        store: EditStore,
        *,
        sealed: bool,
        reports: CallReports | None = None,
        role: str = "",
    ) -> None:
        """A conversation without a history; ``reports`` has what hooks of the client report."""
        self.dialect = dialect
        """The wire format of its requests."""
        self._workspace = workspace
        self._thread = thread
        self.adapter = adapter
        """The adapter of the agent whose conversation it is."""
        self.role = role
        """The digest of its instructions, where its requests do not name it."""
        self._store = store
        self._may_be_sealed = sealed
        self._reports = reports
        self._history = History(dialect, adapter, store)
        self._placed = False
        """The instructions of the first request were searched for the working directory."""
        self._proposed: dict[str, _Proposed] = {}
        self._unnamed = 0
        """The number of proposed calls so far that had no id."""
        # The call behind whose result the working tree was looked at, and what records the look.
        self._tree: tuple[str, Callable[[], None]] | None = None
        self.lock = workspace.lock
        """The session's lock, which every method here requires."""

    @property
    def _sealed(self) -> bool:
        """Whether only this session's own commands can write, and all of them are known and completed."""
        return self._may_be_sealed and self._workspace.knows_all(self._thread)

    def continues(self, request: TurnRequest) -> bool:
        """Whether the request begins with the history that the model was last asked to act on here."""
        return self._history.continues(request.marks)

    def condensed(self, request: TurnRequest, calls: Iterable[tuple[int, str]]) -> bool:
        """Whether the request is this conversation with a part of it replaced, as a compaction does.

        ``calls`` are the positions and ids of the request's calls: one behind its own beginning was made here. A fork
        has new calls there.
        """
        same = self._history.common(request.marks)
        return any(at >= same and (name in self._proposed or self._history.has_call(name)) for at, name in calls)

    def known(self, request: TurnRequest) -> int:
        """The number of leaves at the beginning of the request that were followed before."""
        return self._history.common(request.marks)

    def start_in(self, cwd: str) -> None:
        """State the working directory at the beginning, where no message of the client does."""
        if not self._placed:
            self._placed, self._history.first_cwd = True, cwd

    # Inform

    def informed(self, request: TurnRequest, *, turn: bool, view: bool = True) -> Work[Turn | None]:
        """The request as the model is to be asked it; None if Ledger is off for this session, or a limit is exceeded.

        A ``turn`` of the agent ends with the state view, unless ``view`` is false.
        """
        asking = yield from self._workspace.session.following("inform", self._informed(request, turn, view), None)
        if asking is None:
            # From here on the writes of this session are unknown.
            self.overlook()
        return asking

    def _informed(self, request: TurnRequest, turn: bool, view: bool) -> Work[Turn | None]:
        """The history as the model is to be shown it, with the state view at its end."""
        workspace = self._workspace
        if len(request.leaves) > MAX_ITEMS or workspace.full:
            return None
        if not self._placed:
            self._placed, self._history.first_cwd = True, self.adapter.cwd_of(request.instructions)
        reach = self._history.reach(request.leaves, request.marks, MAX_NEW)
        if reach < len(request.leaves):
            # The model sees all of it now, so that no part of it may be edited later.
            self._proposed.clear()
            known = request.leaves[:reach], request.marks[:reach]
            yield from self._history.following(*known, self._recorded, self._reported, turn=False)
            return None
        yield from self._look_at_tree()
        leaves = yield from self._history.following(
            request.leaves, request.marks, self._recorded, self._reported, turn=turn
        )
        if turn:
            self._give_up()
            workspace.turn += 1
        visible = workspace.visible(self._thread, self._history.steps)
        if turn and view and not binds_reasoning(request.model):
            yield from self._look()
            text = workspace.session.view(self._sealed, visible, self._thread, self._history.embedded_files)
            leaves = [*leaves, self.dialect.view_leaf(text)] if text else leaves
        return Turn(leaves, visible, self._history.cwd)

    def _look(self) -> Work[None]:
        """Have the witness look at the files that the state view may list; a fault in that costs this look."""
        session, witness = self._workspace.session, self._workspace.witness
        if witness is not None:
            # Reading files may block: so much weight is not computed on the event loop.
            yield PORTION + 1
            if not session.faults.guarded("witness", partial(self._looked, witness), False):
                session.forget_sightings(self._thread)

    def _looked(self, witness: LocalWitness) -> bool:
        """Look at files below the working directories so far."""
        workspace, cwd = self._workspace, self._history.cwd
        if cwd:
            witness.allow(cwd)
        unrecorded = workspace.unseen or workspace.busy(self._thread)
        workspace.session.look(witness, self._thread, unrecorded_writes=unrecorded)
        return True

    def _look_at_tree(self) -> Work[None]:
        """Have the witness look at the working tree behind the results in this request; a fault costs this look."""
        self._tree = None
        session, witness = self._workspace.session, self._workspace.witness
        if witness is None:
            return
        call_id = session.faults.guarded("witness", self._looked_behind, "")
        if call_id:
            # As for other looks, so much weight is not computed on the event loop.
            yield PORTION + 1
            self._tree = session.faults.guarded("witness", partial(self._tree_behind, call_id, witness), None)

    def _tree_behind(self, call_id: str, witness: LocalWitness) -> tuple[str, Callable[[], None]]:
        """Look at the working tree now: the call that it is behind, and what records the look."""
        folders = witness.folders
        return call_id, partial(self._workspace.session.take_tree, folders, witness.tree(folders))

    def _looked_behind(self) -> str:
        """The call behind whose result the working tree is looked at; "" if that would prove nothing."""
        workspace = self._workspace
        wrote = [(call_id, proposed.unlisted) for call_id, proposed in self._proposed.items() if proposed.writes]
        if len(wrote) != 1 or not wrote[0][1] or workspace.unseen or workspace.busy(self._thread):
            return ""
        return wrote[0][0] if workspace.session.tree_matters else ""

    def _give_up(self) -> None:
        """Record calls that were proposed before and are still unanswered as unfinished: they may have run."""
        left, self._proposed = self._proposed, {}
        workspace = self._workspace
        workspace.writing.discard(self._thread)
        for call_id, proposed in left.items():
            if proposed.writes and not workspace.session.suppresses(proposed.decision):
                lost = Step(proposed.action, UNFINISHED, Observation(timed_out=True), Shown("full"))
                workspace.record(lost, digest(self._history.chain, call_id, "unfinished"), self._sealed, self._since)

    # Compare and record

    def _reported(self, call_id: str, call: ToolCall) -> CallReport | None:
        """The report of a hook on a call; a fault costs this report."""
        reports = self._reports
        if reports is None:
            return None
        take = partial(reports.take, self._thread, call_id, call)
        return self._workspace.session.faults.guarded("hook", take, None)

    def _told(self, answered: AnsweredCall, sent: Observation) -> Observation:
        """The observation of a result, with what a hook reported about it; a fault costs the report."""
        reports, report, parts = self._reports, answered.report, answered.parts
        if reports is None or report is None or parts is None:
            return sent
        ask = partial(reports.port.observation_of, answered.call, parts, answered.is_error, report.told)
        return self._workspace.session.faults.guarded("hook", ask, sent)

    def _recorded(self, answered: AnsweredCall) -> RecordedCall:
        """Record an answered call, and decide how its result is shown."""
        workspace = self._workspace
        step = workspace.recorded(self._thread, answered.chain)
        if step is not None:
            return RecordedCall(step)
        key = self._key_of(answered)
        proposed = self._proposed.pop(key, None)
        if proposed is not None and not answered.call.repeats(proposed.call):
            proposed = None
        if proposed is None and answered.rewritten:
            # It was recorded when it was answered; what the client has put in its place shows nothing.
            return RecordedCall()
        # Where a client has rewritten a history it may not state the directory any more.
        if proposed is not None and answered.call == proposed.call and answered.cwd in (None, proposed.cwd):
            action = proposed.action
        else:
            action = self.adapter.action_of(answered.call, answered.cwd, self._thread)
        # A call that was proposed here is not inherited, even if another thread made the same.
        source = workspace.source(answered.chain) if proposed is None else None
        if proposed is not None and self._tree is not None and self._tree[0] == key:
            workspace.session.faults.guarded("witness", self._tree[1], None)
        completed, edit = self._completed(answered, action, proposed)
        if proposed is None and source is None:
            # Other calls may have been made meanwhile, and may still be running.
            workspace.unseen = True
        completed = replace(completed, concurrent=self._concurrent(answered, proposed), inherits=source)
        return RecordedCall(workspace.record(completed, answered.chain, self._sealed, self._since), edit)

    def _key_of(self, answered: AnsweredCall) -> str:
        """The key of the proposed call that was answered: its id, or that of the first equal call without an id."""
        if answered.call_id in self._proposed:
            return answered.call_id
        unnamed = ((key, one.call) for key, one in self._proposed.items() if key.startswith(UNNAMED))
        return next((key for key, call in unnamed if answered.call.repeats(call)), answered.call_id)

    @property
    def _since(self) -> int:
        """The first visible step."""
        return self._history.steps[0] if self._history.steps else len(self._workspace.session.ledger)

    def _completed(
        self, answered: AnsweredCall, action: Action, proposed: _Proposed | None
    ) -> tuple[Step, ResultEdit | None]:
        """The step, shown as its stored edit says, or else as the comparison with visible results says."""
        parts, edit = answered.parts, answered.edit
        known = parts is not None and sum(map(len, parts)) <= MAX_RESULT
        sent = observation = Observation(truncated=True)
        if parts is not None and known:
            sent = self.adapter.observation_of(answered.call, parts, is_error=answered.is_error)
            observation = self._told(answered, sent)
        if edit is not None and self._applies(edit, answered, sent):
            return self._edited(action, observation, edit), None
        if edit is not None:
            return Step(action, NOT_EDITED, observation, Shown("full")), None
        decision = proposed.decision if proposed is not None else UNSEEN
        full = Step(action, decision, observation, Shown("full"))
        if not known or not answered.fresh or proposed is None:
            # A result is judged once, by the conversation that saw it proposed; all others show it unchanged.
            return full, None
        return self._judged_result(answered, full, sent)

    def _applies(self, edit: Edit, answered: AnsweredCall, observation: Observation) -> bool:
        """Whether the history shows a result as its stored edit says, and not as it came."""
        if isinstance(edit, ResultEdit):
            return edit.fits(observation)
        return shim_ran(self.adapter, edit, answered.parts, is_error=answered.is_error)

    def _edited(self, action: Action, observation: Observation, edit: Edit) -> Step:
        """The step of a stored edit; its targets are translated into the step numbers of this ledger."""
        targets = self._workspace.steps_of(self._thread, edit.targets)
        shown = Shown("reference", edit.reference) if isinstance(edit, CallEdit) else edit.shown
        output = shown.applied(observation.output)
        # The answer to a shim, a refusal included, is not the result of the call that it replaces.
        failed = observation.failed and not isinstance(edit, CallEdit)
        decision = edit.decision if isinstance(edit.decision, Allow) else replace(edit.decision, refers_to=targets)
        if shown.kind == "partial":
            # Which lines it shows follows from those that it omits, also if their results are not known here.
            shown = replace(shown, refers_to=targets if len(targets) == len(edit.targets) else ())
        else:
            shown = replace(shown, refers_to=targets, lines=shown.lines if len(targets) == len(edit.targets) else ())
        return Step(action, decision, replace(observation, output=output, failed=failed), shown)

    def _judged_result(self, answered: AnsweredCall, full: Step, sent: Observation) -> tuple[Step, ResultEdit | None]:
        """The step of a result that the model has not seen, and its edit, which is stored before it is sent.

        The edit is for the result as it was ``sent``: what a hook reported is not there when it is sent again.
        """
        workspace = self._workspace
        visible = workspace.visible(self._thread, self._history.steps)
        step = workspace.session.complete(full.action, full.decision, full.observation, visible)
        shown = step.shown
        if shown.kind == "full":
            return step, None
        targets = workspace.chains_of(shown.refers_to)
        kept_shown = replace(shown, refers_to=(), compared_to=())
        if sent != full.observation and shown.result is not None:
            kept_shown = replace(kept_shown, result=fingerprint(sent, steady=False))
        edit = ResultEdit(answered.chain, step.decision, kept_shown, targets)
        # Edits are stored for good, secrets never are.
        kept = self._store.add(edit) if redact(shown.text) == shown.text else None
        if kept == edit:
            return step, edit
        if isinstance(kept, ResultEdit) and kept.fits(sent):
            # The same session was continued elsewhere, and its model was already shown this result.
            return self._edited(full.action, full.observation, kept), kept
        return replace(full, shown=shown.in_full()), None

    def _concurrent(self, answered: AnsweredCall, proposed: _Proposed | None) -> bool:
        """Whether an unknown command that may write may have run beside it or after it."""
        if proposed is not None:
            return proposed.concurrent or proposed.clock != self._workspace.session.ledger.clock
        # A call that was not seen when it was made proves nothing; the published rules trust a recorded history.
        verified = self._workspace.session.policy.preset is Preset.VERIFIED
        return verified or not answered.alone or self._workspace.turn > 0

    # Govern

    def answer(
        self, turn: Turn, dialect: Dialect, decoder: Decoder | None = None, *, streams: bool = True
    ) -> ResponseEditor:
        """An editor for the answer to a request, streamed or whole, whose content encoding ``decoder`` undoes."""
        propose = ModelAnswer(self, turn).propose
        editor = dialect.stream(propose) if streams else WholeAnswer(dialect, propose)
        session = self._workspace.session
        return ResponseEditor(editor, session, self.lock, self.overlook, decoder, events=streams)

    def may_write(self, call: ToolCall, cwd: str | None) -> bool:
        """Whether a call may write."""
        ledger = self._workspace.session.ledger
        return ledger.classify(self.adapter.action_of(call, cwd, self._thread)).may_write

    def overlook(self) -> None:
        """Note that the next calls of the model are unknown: they may write until the next turn, and stay unseen."""
        self._workspace.write(self._thread)
        self._workspace.unseen = True

    def judged(self, turn: Turn, call_id: str, call: ToolCall, pending: bool, suppress: bool) -> Judged | None:
        """Judge a proposed call, and keep it until its result arrives; None after an internal fault."""
        ask = partial(self._judged, turn, call_id, call, pending, suppress)
        judged = self._workspace.session.faults.guarded("govern", ask, None)
        if judged is None:
            # It is sent to the client; its effects are unknown.
            self.overlook()
        return judged

    def _judged(self, turn: Turn, call_id: str, call: ToolCall, pending: bool, suppress: bool) -> Judged:
        workspace = self._workspace
        action = self.adapter.action_of(call, turn.cwd, self._thread)
        # Evaluated for each call: other conversations go on while an answer is streamed.
        pending = pending or workspace.busy(self._thread)
        proposal = propose(workspace.session.ledger, action, turn.visible, self._sealed, pending)
        if proposal.may_write:
            workspace.write(self._thread)
        decision, edit = proposal.decision, None
        if proposal.suppressed:
            shown = workspace.session.complete(action, decision, None, turn.visible).shown
            if shown.refers_to and suppress:
                edit = self._call_edit(action, decision, shown, call, call_id)
            if edit is None:
                # Without a reference to show in its place, after an internal fault, the call can still be run.
                decision = NO_SHIM if shown.refers_to else FAULT
        ledger = workspace.session.ledger
        unlisted = is_looked_behind(ledger.classify(action))
        # In some dialects the client gives a call its id.
        self._unnamed += not call_id
        key = call_id or f"{UNNAMED}{self._unnamed}"
        self._proposed[key] = _Proposed(
            call, turn.cwd, action, decision, ledger.clock, pending, proposal.may_write, unlisted
        )
        cwd = self.adapter.cwd_after(call, None, turn.cwd) if edit is None else turn.cwd
        return Judged(None if edit is None else edit.shim, proposal.pending, cwd)

    def _call_edit(
        self, action: Action, decision: Decision, shown: Shown, call: ToolCall, call_id: str
    ) -> CallEdit | None:
        """The edit that suppresses a call, stored before the shim is sent to the client; None if it can't be made."""
        mark = secrets.token_hex(8)
        words = f"Instead of {action.command}. Its output still stands above, unchanged."
        shim = self.adapter.shim_of(call, mark, words)
        if shim is None or any(redact(text) != text for text in (call.text, shown.text)):
            return None
        targets = self._workspace.chains_of(shown.refers_to)
        edit = CallEdit(mark, call, shim, decision, shown.text, targets, call_id)
        return edit if self._store.add(edit) == edit else None


class ModelAnswer:
    """Judges the calls of one answer of the model, in their order."""

    def __init__(self, conversation: Conversation, turn: Turn, *, pending: bool = False) -> None:
        """The answer to ``turn``; ``pending`` says that its calls run beside one of them that may write."""
        self._conversation = conversation
        self._turn = turn
        self._pending = pending

    def propose(self, call_id: str, call: ToolCall, *, suppress: bool = True) -> ToolCall | None:
        """Judge the next call: the call to run in its place, or None; ``suppress`` is false if it runs in any case."""
        judged = self._conversation.judged(self._turn, call_id, call, self._pending, suppress)
        self._pending = judged is None or judged.pending
        self._turn = replace(self._turn, cwd=None if judged is None else judged.cwd)
        return None if judged is None else judged.shim
