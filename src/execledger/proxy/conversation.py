"""One agent's conversation under a ledger: what its requests tell, what it is shown, and what it proposes.

The history says what was called and answered; the ledger says what that means; edits make the answer stable.
"""

from __future__ import annotations

import secrets
from collections.abc import Container

from msgspec import Struct
from msgspec.structs import replace

from execledger.agents.adapter import Adapter
from execledger.agents.tool_calls import ToolCall
from execledger.core.actions import Action
from execledger.core.batch import Batch
from execledger.core.decisions import Allow, Decision, Shown, Step
from execledger.core.redact import redact
from execledger.proxy.answer import Answer
from execledger.proxy.coding import Unpacker
from execledger.proxy.dialect import Dialect, Request
from execledger.proxy.edits import CallEdit, EditStore, ResultEdit
from execledger.proxy.history import Answered, History, Watched
from execledger.proxy.workspace import Workspace

UNSEEN = Allow("not-governed", ("the call was proposed while Ledger was not there",))
"""The decision about a call that is met in a history, answered already."""


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
        self._sealed = sealed
        self._history = History(dialect, adapter, store)
        self._visible: Container[int] = range(0)
        self._proposed: dict[str, _Proposed] = {}

    # Inform

    def informed(self, request: Request, *, turn: bool) -> list[bytes] | None:
        """The items of a request as the model is to be shown them; None if Ledger is off for this session."""
        return self._workspace.session.guarded("inform", lambda: self._informed(request, turn), None)

    def _informed(self, request: Request, turn: bool) -> list[bytes]:
        """The history as the model is to be shown it, with the state view at its end."""
        items = self._history.follow(request.items, self._watch, turn=turn)
        self._workspace.writing.discard(self._thread)
        self._visible = self._workspace.visible(self._thread, self._history.steps)
        if not turn or not self._workspace.session.ledger.calls(self._thread):
            return items
        self._workspace.turn += 1
        # What was proposed before and has no result by now never gets one.
        self._proposed.clear()
        view = self._workspace.session.view(self._sealed, self._visible, self._thread)
        return [*items, self._dialect.tail(view)] if view else items

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
        source = workspace.source(answered.chain)
        # A result is judged once, by whoever saw it proposed: all others show it as they find it.
        judge = answered.fresh and proposed is not None and source is None
        completed = self._completed(answered, action, proposed, judge=judge)
        edit = self._result_edit(answered, completed) if answered.edit is None else None
        completed = replace(completed, concurrent=self._concurrent(answered, proposed), inherits=source)
        since = min(self._history.steps, default=len(workspace.session.ledger))
        return Watched(workspace.record(completed, answered.chain, self._sealed, since), edit)

    def _completed(self, answered: Answered, action: Action, proposed: _Proposed | None, *, judge: bool) -> Step:
        """The step; how it is shown comes from its edit, or from comparing it with what is visible."""
        observation = self._adapter.observation_of(answered.call, answered.parts)
        edit = answered.edit
        if isinstance(edit, CallEdit):
            targets = self._workspace.steps_of(edit.targets)
            shown = Shown("reference", edit.reference, targets)
            status = observation.exit_status
            return Step(action, edit.decision, replace(observation, output=edit.reference, exit_status=status), shown)
        if isinstance(edit, ResultEdit):
            shown = replace(edit.shown, refers_to=self._workspace.steps_of(edit.targets), compared_to=())
            output = shown.text if shown.kind == "reference" else observation.output
            return Step(action, edit.decision, replace(observation, output=output), shown)
        decision = proposed.decision if proposed is not None else UNSEEN
        if not judge:
            return Step(action, decision, observation, Shown("full"))
        visible = self._workspace.visible(self._thread, self._history.steps)
        completed = self._workspace.session.complete(action, decision, observation, visible)
        if completed.shown.text != redact(completed.shown.text):
            # Edits are kept for ever, and nothing secret is.
            return Step(action, decision, observation, replace(completed.shown, kind="full", text="", refers_to=()))
        return completed

    def _result_edit(self, answered: Answered, step: Step) -> ResultEdit | None:
        """The edit that shows a result as the step says; kept before anybody sees it."""
        shown = step.shown
        if shown.kind == "full":
            return None
        show = self._adapter.referenced if shown.kind == "reference" else self._adapter.remarked
        parts = show(answered.call, answered.parts, shown.text)
        targets = self._workspace.chains_of(shown.refers_to)
        edit = ResultEdit(answered.chain, parts, step.decision, replace(shown, refers_to=(), compared_to=()), targets)
        self._store.add(edit)
        return edit

    def _concurrent(self, answered: Answered, proposed: _Proposed | None) -> bool:
        """Something that may write may have run beside it."""
        if proposed is None:
            return not answered.alone
        return proposed.concurrent or proposed.clock != self._workspace.session.ledger.clock

    # Govern

    def answer(self, unpack: Unpacker | None = None) -> Answer:
        """An editor for the answer to the last request."""
        workspace = self._workspace
        batch = Batch(workspace.session.ledger, self._visible, self._sealed, workspace.busy(self._thread))

        def propose(call_id: str, call: ToolCall) -> ToolCall | None:
            return workspace.session.guarded("govern", lambda: self._judged(batch, call_id, call), None)

        return Answer(self._dialect.stream(propose), workspace.session, unpack)

    def _judged(self, batch: Batch, call_id: str, call: ToolCall) -> ToolCall | None:
        """Judge a proposed call; the shim that takes its place, if it is not to run."""
        workspace = self._workspace
        cwd = self._history.cwd
        action = self._adapter.action_of(call, cwd, self._thread)
        concurrent = batch.pending
        decision = batch.decide(action)
        if batch.pending:
            workspace.writing.add(self._thread)
        edit = self._call_edit(action, decision, call) if workspace.session.suppresses(decision) else None
        if edit is None and workspace.session.suppresses(decision):
            decision = Allow("no-shim", ("nothing without effects can take its place",))
        self._proposed[call_id] = _Proposed(call, cwd, action, decision, workspace.session.ledger.clock, concurrent)
        return None if edit is None else edit.shim

    def _call_edit(self, action: Action, decision: Decision, call: ToolCall) -> CallEdit | None:
        """The edit that keeps a call from running; kept before the client hears of it."""
        shown = self._workspace.session.complete(action, decision, None, self._visible).shown
        mark = secrets.token_hex(8)
        words = f"Instead of {action.command}. Its output still stands above, unchanged."
        shim = self._adapter.shim_of(call, mark, words)
        if shim is None or any(redact(text) != text for text in (call.text, shown.text)):
            return None
        targets = self._workspace.chains_of(shown.refers_to)
        edit = CallEdit(mark, call, shim, decision, shown.text, targets)
        self._store.add(edit)
        return edit
