"""One agent's conversation under a ledger: what its requests tell, what it is shown, and what it proposes.

The history says what was called and answered; the ledger says what that means; edits make the answer stable.
"""

from __future__ import annotations

import secrets
from collections.abc import Container
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from execledger.core.fingerprint import digest
from execledger.core.govern import FAULT, UNFINISHED
from execledger.core.policy import Preset
from execledger.core.step import propose
from execledger.proxy.content_encoding import Decoder
from execledger.proxy.dialect import Dialect, Request
from execledger.proxy.edits import CallEdit, Edit, EditStore, ResultEdit
from execledger.proxy.history import Answered, History, Watched
from execledger.proxy.limits import MAX_ITEMS, MAX_NEW, MAX_RESULT
from execledger.proxy.response_editor import ResponseEditor
from execledger.proxy.worker import Work
from execledger.proxy.workspace import Workspace
from execledger.redact import redact
from execledger.session.adapter import Adapter, ToolCall
from execledger.vocabulary.actions import Action, Observation
from execledger.vocabulary.decisions import Allow, Decision, Shown, Step

UNSEEN = Allow("not-governed", ("the call was proposed while Ledger was not there",))
"""The decision about a call that is met in a history, answered already."""
NO_SHIM = Allow("no-shim", ("nothing without effects can take its place",))
"""The decision about a call that would be suppressed, if the agent had a call without effects to run instead."""


class _Proposed(Struct, frozen=True):
    """A call that was sent to the client, and has no result yet."""

    call: ToolCall
    """What the model asked for."""
    cwd: str | None
    """Where commands started then."""
    action: Action
    """What the call would do there; the ledger has understood it already."""
    decision: Decision
    """What was decided."""
    clock: int
    """How many commands that may write had run by then."""
    concurrent: bool
    """Something that may write stood before it in the same turn, or was under way elsewhere."""
    writes: bool
    """It may write itself."""


class _Judged(Struct, frozen=True):
    """What becomes of a proposed call."""

    shim: ToolCall | None
    """What takes its place, if it is not to run."""
    pending: bool
    """Whether the next call of the same answer follows a possible write."""


class Turn(Struct, frozen=True):
    """One request as the model is asked it, and what its answer is judged by."""

    items: list[bytes]
    """The items, as they are sent on."""
    visible: Container[int]
    """The steps whose results stand in it."""
    cwd: str | None
    """Where the next command starts."""


class Conversation:
    """One thread of a workspace."""

    def __init__(
        self, workspace: Workspace, thread: str, dialect: Dialect, adapter: Adapter, store: EditStore, *, sealed: bool
    ) -> None:
        """A conversation of which nothing is known yet."""
        self._workspace = workspace
        self._thread = thread
        self._dialect = dialect
        self._adapter = adapter
        self._store = store
        self._may_be_sealed = sealed
        self._history = History(dialect, adapter, store)
        self._proposed: dict[str, _Proposed] = {}
        self.lock = workspace.lock
        """The session's lock: to be held whenever anything here is called."""

    @property
    def _sealed(self) -> bool:
        """Nothing but this session's own commands can write, and they are all known and done."""
        return self._may_be_sealed and self._workspace.knows_all(self._thread)

    def continues(self, request: Request) -> bool:
        """The request begins with everything that is known of this conversation."""
        return self._history.continues(request.marks)

    # Inform

    def informed(self, request: Request, *, turn: bool, view: bool = True) -> Work[Turn | None]:
        """The request as the model is to be asked it; None if Ledger is off for this session, or it is too much.

        A request that is a ``turn`` of the agent ends with the state view, unless there is to be no ``view``.
        """
        asking = yield from self._workspace.session.following("inform", self._informed(request, turn, view), None)
        if asking is None:
            # From here on nobody knows what this session writes.
            self.overlook()
        return asking

    def _informed(self, request: Request, turn: bool, view: bool) -> Work[Turn | None]:
        """The history as the model is to be shown it, with the state view at its end."""
        workspace = self._workspace
        if len(request.items) > MAX_ITEMS or workspace.full:
            return None
        reach = self._history.reach(request.items, request.marks, MAX_NEW)
        if reach < len(request.items):
            # The model is shown all of it now, so that nothing in it is to be shown otherwise later.
            self._proposed.clear()
            yield from self._history.following(request.items[:reach], request.marks[:reach], self._watch, turn=False)
            return None
        items = yield from self._history.following(request.items, request.marks, self._watch, turn=turn)
        if turn:
            self._give_up()
            workspace.turn += 1
        visible = workspace.visible(self._thread, self._history.steps)
        if turn and view:
            text = workspace.session.view(self._sealed, visible, self._thread)
            items = [*items, self._dialect.tail(text)] if text else items
        return Turn(items, visible, self._history.cwd)

    def _give_up(self) -> None:
        """What was proposed before and has no result by now never gets one; it may have run all the same."""
        left, self._proposed = self._proposed, {}
        workspace = self._workspace
        workspace.writing.discard(self._thread)
        for call_id, proposed in left.items():
            if proposed.writes and not workspace.session.suppresses(proposed.decision):
                lost = Step(proposed.action, UNFINISHED, Observation(timed_out=True), Shown("full"))
                workspace.record(lost, digest(self._history.chain, call_id, "unfinished"), self._sealed, self._since)

    # Compare and record

    def _watch(self, answered: Answered) -> Watched:
        """A call and its result have come up: record them, and settle how the result is shown."""
        workspace = self._workspace
        step = workspace.recorded(self._thread, answered.chain)
        if step is not None:
            return Watched(step)
        proposed = self._proposed.pop(answered.call_id, None)
        if proposed is not None and proposed.call != answered.call:
            proposed = None
        if proposed is not None and proposed.cwd == answered.cwd:
            action = proposed.action
        else:
            action = self._adapter.action_of(answered.call, answered.cwd, self._thread)
        # Who saw it proposed here did not inherit it, whatever another thread has been through.
        source = workspace.source(answered.chain) if proposed is None else None
        completed, edit = self._completed(answered, action, proposed)
        if proposed is None and source is None:
            # What else was done meanwhile, and may still be at it, nobody has told us.
            workspace.unseen = True
        completed = replace(completed, concurrent=self._concurrent(answered, proposed), inherits=source)
        return Watched(workspace.record(completed, answered.chain, self._sealed, self._since), edit)

    @property
    def _since(self) -> int:
        """The first step that stands in view."""
        return self._history.steps[0] if self._history.steps else len(self._workspace.session.ledger)

    def _completed(
        self, answered: Answered, action: Action, proposed: _Proposed | None
    ) -> tuple[Step, ResultEdit | None]:
        """The step; how it is shown comes from its edit, or from comparing it with what is visible."""
        parts, edit = answered.parts, answered.edit
        known = parts is not None and sum(map(len, parts)) <= MAX_RESULT
        observation = Observation(truncated=True)
        if parts is not None and known:
            observation = self._adapter.observation_of(answered.call, parts)
        if edit is not None:
            return self._edited(action, observation, edit), None
        decision = proposed.decision if proposed is not None else UNSEEN
        full = Step(action, decision, observation, Shown("full"))
        if not known or not answered.fresh or proposed is None:
            # A result is judged once, by whoever saw it proposed: all others show it as they find it.
            return full, None
        return self._judged_result(answered, full)

    def _edited(self, action: Action, observation: Observation, edit: Edit) -> Step:
        """The step that an edit tells of: what it refers to has other numbers in every ledger."""
        targets = self._workspace.steps_of(self._thread, edit.targets)
        shown = Shown("reference", edit.reference) if isinstance(edit, CallEdit) else edit.shown
        output = shown.text if shown.kind == "reference" else observation.output
        # The answer to a shim, a refusal included, is not the result of the call that it replaces.
        failed = observation.failed and not isinstance(edit, CallEdit)
        decision = edit.decision if isinstance(edit.decision, Allow) else replace(edit.decision, refers_to=targets)
        lines = shown.lines if len(targets) == len(edit.targets) else ()
        shown = replace(shown, refers_to=targets, lines=lines)
        return Step(action, decision, replace(observation, output=output, failed=failed), shown)

    def _judged_result(self, answered: Answered, full: Step) -> tuple[Step, ResultEdit | None]:
        """A result that the model has not seen: the step, and the edit that shows it, kept before anybody sees it."""
        workspace = self._workspace
        visible = workspace.visible(self._thread, self._history.steps)
        step = workspace.session.complete(full.action, full.decision, full.observation, visible)
        shown = step.shown
        if shown.kind == "full":
            return step, None
        targets = workspace.chains_of(shown.refers_to)
        edit = ResultEdit(answered.chain, step.decision, replace(shown, refers_to=(), compared_to=()), targets)
        # Edits are kept for ever, and nothing secret is.
        kept = self._store.add(edit) if redact(shown.text) == shown.text else None
        if kept == edit:
            return step, edit
        if isinstance(kept, ResultEdit):
            # The same session goes on elsewhere, and its model was shown this very result before.
            return self._edited(full.action, full.observation, kept), kept
        return replace(full, shown=replace(shown, kind="full", text="", refers_to=(), lines=(), end=None)), None

    def _concurrent(self, answered: Answered, proposed: _Proposed | None) -> bool:
        """Something that may write may have run beside it, or behind it, without our knowing."""
        if proposed is not None:
            return proposed.concurrent or proposed.clock != self._workspace.session.ledger.clock
        # What was not seen to happen proves nothing; the published rules take a recorded history as it stands.
        verified = self._workspace.session.policy.preset is Preset.VERIFIED
        return verified or not answered.alone or self._workspace.turn > 0

    # Govern

    def answer(self, turn: Turn, unpack: Decoder | None = None) -> ResponseEditor:
        """An editor for the answer to a request."""
        workspace = self._workspace
        pending = False

        def judge(call_id: str, call: ToolCall) -> ToolCall | None:
            nonlocal pending
            ask = partial(self._judged, turn, call_id, call, pending)
            judged = workspace.session.faults.guarded("govern", ask, None)
            pending = judged is None or judged.pending
            if judged is None:
                # It is sent to the client; its effects are unknown.
                self.overlook()
                return None
            return judged.shim

        return ResponseEditor(self._dialect.stream(judge), workspace.session, self.lock, self.overlook, unpack)

    def overlook(self) -> None:
        """What the model calls next is not told here: it may be writing until the next turn, and may be lost then."""
        self._workspace.write(self._thread)
        self._workspace.unseen = True

    def _judged(self, turn: Turn, call_id: str, call: ToolCall, pending: bool) -> _Judged:
        """Judge a proposed call, and remember it until its result comes."""
        workspace = self._workspace
        action = self._adapter.action_of(call, turn.cwd, self._thread)
        # Asked for each call: an answer takes its time, and others go on meanwhile.
        pending = pending or workspace.busy(self._thread)
        proposal = propose(workspace.session.ledger, action, turn.visible, self._sealed, pending)
        if proposal.may_write:
            workspace.write(self._thread)
        decision, edit = proposal.decision, None
        if proposal.suppressed:
            shown = workspace.session.complete(action, decision, None, turn.visible).shown
            edit = self._call_edit(action, decision, shown, call, call_id) if shown.refers_to else None
            if edit is None:
                # Without a reference to show in its place, after a fault of ours, the call can still be run.
                decision = NO_SHIM if shown.refers_to else FAULT
        clock = workspace.session.ledger.clock
        self._proposed[call_id] = _Proposed(call, turn.cwd, action, decision, clock, pending, proposal.may_write)
        return _Judged(None if edit is None else edit.shim, proposal.pending)

    def _call_edit(
        self, action: Action, decision: Decision, shown: Shown, call: ToolCall, call_id: str
    ) -> CallEdit | None:
        """The edit that keeps a call from running; kept before the client hears of it."""
        mark = secrets.token_hex(8)
        words = f"Instead of {action.command}. Its output still stands above, unchanged."
        shim = self._adapter.shim_of(call, mark, words)
        if shim is None or any(redact(text) != text for text in (call.text, shown.text)):
            return None
        targets = self._workspace.chains_of(shown.refers_to)
        edit = CallEdit(mark, call, shim, decision, shown.text, targets, call_id)
        return edit if self._store.add(edit) == edit else None
