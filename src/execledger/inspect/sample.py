"""One attempt at a sample under a ledger: its conversations, and the edits of their messages.

Everything is kept per attempt, the stored edits too: samples, epochs and arms of an experiment never see each other's.
The conversations themselves are those of the proxy (``proxy.conversation``), with messages in place of wire formats.
"""

from __future__ import annotations

import shlex
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

import anyio
import anyio.to_thread
from msgspec import Struct

from execledger.agents import shims
from execledger.core.fingerprint import digest
from execledger.inspect.messages import LEAVES, Message, MessageRequest, Replaced, arguments_of, call_of, is_view
from execledger.journal.pause import Pause
from execledger.proxy.book import Book, OpenSession, Received, Rules
from execledger.proxy.conversation import Conversation, ModelAnswer, Turn
from execledger.proxy.edits import EditStore
from execledger.proxy.history import History
from execledger.proxy.worker import RunningWork, Work
from execledger.runs.usage import ModelCall
from execledger.session.adapter import Adapter, Asked, ToolCall
from execledger.session.session import error_text

IN_FLIGHT = 64
"""Model calls of one sample whose input is remembered, so that a retry of any of them is recognised."""
T = TypeVar("T")


class Asker(Struct, frozen=True, kw_only=True):
    """The agent that makes a model call."""

    name: str
    """Its name in the journal."""
    adapter: Adapter
    """The adapter of its tools."""
    native: bool
    """Inspect itself runs its tools, and the calls of one turn side by side."""
    cwd: str | None = None
    """The working directory where no message states it; None if it is unknown."""
    span: str = ""
    """The part of the run that it is, such as a sub-agent."""


class AskedTurn:
    """A model call that was informed: what is needed to judge the calls of its answer."""

    def __init__(self, conversation: Conversation, turn: Turn, *, native: bool) -> None:
        """The call that asked for ``turn``; ``native`` if Inspect itself runs the agent's tools."""
        self.native = native
        """Inspect itself runs the tools."""
        self._conversation = conversation
        self._turn = turn
        self._answer: ModelAnswer | None = None
        self._judged: dict[str, ToolCall | None] = {}

    @property
    def adapter(self) -> Adapter:
        """The adapter of the agent that made it."""
        return self._conversation.adapter

    def judge(self, calls: Sequence[tuple[str, ToolCall]], asked: str = "") -> ToolCall | None:
        """Judge the calls of the answer up to the one that is ``asked`` for, by default all of them.

        Only that one may be suppressed: the call to run in its place, or None. Those that are not asked for run.
        """
        if self._answer is None:
            beside = self.native and len(calls) > 1
            pending = beside and any(self._conversation.may_write(call, self._turn.cwd) for _, call in calls)
            self._answer = ModelAnswer(self._conversation, self._turn, pending=pending)
        for call_id, call in calls:
            if call_id not in self._judged:
                self._judged[call_id] = self._answer.propose(call_id, call, suppress=call_id == asked)
            if call_id == asked:
                return self._judged[call_id]
        return None


class Suppressed(Struct, frozen=True):
    """A call that is not to run."""

    arguments: dict[str, Any]
    """The arguments of the call without effects that is run in its place."""
    rule: str
    """The rule of the decision."""
    proof: tuple[str, ...]
    """What the decision was based on."""
    reference: str
    """What the model is shown as the result."""


class SampleLedger:
    """The ledger of one attempt at a sample. Its methods raise nothing, and long work is done on another thread."""

    def __init__(self, name: str, rules: Rules) -> None:
        """An attempt without any conversation; ``name`` identifies it in its journal."""
        self._name = name
        self._rules = rules
        self._store = EditStore(None)
        self._unwritten: deque[Work[None]] = deque()
        self._book: Book | None = None
        # Held while the ledger is used: the conversations of a sample share it.
        self._lock = anyio.Lock()
        self._paused = Pause()
        # The last model call of each conversation.
        self._asked: dict[str, AskedTurn] = {}
        self._threads: dict[str, str] = {}
        # Lists of messages that were edited in place, with what was put there.
        self._edited: deque[tuple[list[Message], list[Message], AskedTurn | None]] = deque(maxlen=IN_FLIGHT)
        self._replaced: dict[str, list[Replaced]] = {}

    @property
    def opened(self) -> OpenSession | None:
        """The session of this attempt; None before its first model call."""
        return self._book.get(self._name) if self._book is not None else None

    @property
    def journal(self) -> str | None:
        """The path of the journal; None before the first model call, or if none is written."""
        return None if self.opened is None else self.opened.workspace.session.chronicle.journal

    # Inform

    async def inform(
        self, messages: list[Message], model: str, asker: Asker, view: Callable[[str], Message]
    ) -> AskedTurn | None:
        """Edit the input of one model call in place; what judges the calls of its answer, None if nothing does.

        ``view`` makes the message that carries a state view. A retried call has the list that was edited before, which
        stays as it is.
        """
        for known, left, asked in self._edited:
            if known is messages and _same(known, left):
                return asked
        # Where a provider shares the agent's own list, those of earlier calls are in it.
        given = [message for message in messages if not is_view(message)]
        asked, edited = await self._informed(given, model, asker, view)
        messages[:] = edited
        self._edited.append((messages, edited, asked))
        return asked

    async def _informed(
        self, messages: list[Message], model: str, asker: Asker, view: Callable[[str], Message]
    ) -> tuple[AskedTurn | None, list[Message]]:
        """The input with the decisions of the ledger, else with the stored edits alone, else unchanged."""
        try:
            request = MessageRequest(messages, model, self._replaced)
            found = None if self._paused() else await self._run(self._asking(request, asker))
            if found is not None:
                return found[0], request.edited(found[1].leaves, view)
        except Exception as error:
            self._fault(error)
        try:
            self._overlook()
            return None, await self._run(self._restored(messages, asker.adapter))
        except Exception as error:
            self._fault(error)
        return None, messages

    def _asking(self, request: MessageRequest, asker: Asker) -> Work[tuple[AskedTurn, Turn] | None]:
        """One model call as the model is to be asked it; None if Ledger is off for this attempt."""
        if self._book is None:
            self._book = Book(self._rules, asker.adapter, self._store, self._unwritten.append)
        thread = self._thread(request, asker)
        received = Received(LEAVES, request, asker.adapter, Asked(self._name, thread, turn=True, agent=asker.name))
        conversation = self._book.conversation(self._book.session(received), received)
        if conversation is None:
            return None
        if asker.cwd is not None:
            conversation.start_in(asker.cwd)
        before = self._asked.get(thread)
        at, calls = request.last_calls()
        if before is not None and calls and at >= conversation.known(request):
            # Calls that no approver has seen have run.
            before.judge(calls)
        turn = yield from conversation.informed(request, turn=True)
        if turn is None:
            return None
        asked = self._asked[thread] = AskedTurn(conversation, turn, native=asker.native)
        return asked, turn

    def _thread(self, request: MessageRequest, asker: Asker) -> str:
        """The conversation that a request continues, or whose history was rewritten; else a new one.

        A rewritten history keeps the system prompt and the task; that of a sub-agent has others.
        """
        for name, conversation in self.opened.threads.items() if self.opened is not None else ():
            if conversation.continues(request):
                return name
        leaves = map(LEAVES.leaf, request.leaves)
        task = next((text for one in leaves if one.kind == "user" and (text := asker.adapter.task_of(one.text))), "")
        opening = digest(asker.span, request.instructions, task)
        return self._threads.setdefault(opening, str(len(self._threads)))

    def _restored(self, messages: list[Message], adapter: Adapter) -> Work[list[Message]]:
        """The messages with the stored edits alone."""
        request = MessageRequest(messages, "", self._replaced)
        leaves = yield from History(LEAVES, adapter, self._store).following(request.leaves, request.marks)
        return request.edited(leaves, lambda text: text)

    async def overlook(self) -> None:
        """Note that something unknown may have written in the sandbox."""
        async with self._lock:
            self._overlook()

    # Govern

    async def judge(self, asked: AskedTurn, calls: Sequence[Any], call_id: str) -> Suppressed | None:
        """Judge the calls of an answer up to one of them; None if that is to run."""
        try:
            return await self._run(self._judging(asked, calls, call_id))
        except Exception as error:
            self._fault(error)
            self._overlook()
            return None

    def _judging(self, asked: AskedTurn, calls: Sequence[Any], call_id: str) -> Work[Suppressed | None]:
        given = [(call.id, call_of(call)) for call in calls]
        yield sum(len(call.text) for _, call in given)
        shim = asked.judge(given, call_id)
        mark = asked.adapter.shim_mark(shim) if shim is not None else None
        edit = self._store.call(mark) if mark is not None else None
        if shim is None or edit is None:
            return None
        arguments, reference = arguments_of(shim), edit.reference.strip()
        if asked.native:
            # The agent's history keeps the model's own call, so that the reference can be printed itself.
            note = next(filter(None, map(shims.echoed, arguments.values())))
            replaced = Replaced(edit.original, shim, note, reference)
            self._replaced.setdefault(call_id, []).append(replaced)
            printed = f"echo {shlex.quote(reference)}"
            arguments = {name: printed if shims.echoed(value) == note else value for name, value in arguments.items()}
        return Suppressed(arguments, edit.decision.rule, edit.decision.proof, reference)

    # Account

    def count(self, call: ModelCall) -> None:
        """Count what a model call took."""
        with suppress(Exception):
            if self.opened is not None:
                self.opened.workspace.session.chronicle.add_call(call)

    async def end(self) -> None:
        """Write what is left of the journal and end it."""
        with suppress(Exception):
            await self._run(self._ending())

    def _ending(self) -> Work[None]:
        yield 0
        if self._book is not None:
            self._book.close()
        self._store.close()

    async def _run(self, work: Work[T]) -> T:
        """The result of ``work``; then what it adds to the journal is written."""
        async with self._lock:
            try:
                return await _completed(work)
            finally:
                while self._unwritten:
                    await _completed(self._unwritten.popleft())

    def _overlook(self) -> None:
        """Note that the next calls of the model are unknown."""
        for conversation in self.opened.threads.values() if self.opened is not None else ():
            conversation.overlook()

    def _fault(self, error: Exception) -> None:
        with suppress(Exception):
            self._rules.tell(f"Ledger left a model call alone, after a fault of its own: {error_text(error)}")


def _same(messages: Sequence[Message], others: Sequence[Message]) -> bool:
    """Whether both hold the same objects."""
    return len(messages) == len(others) and all(one is other for one, other in zip(messages, others, strict=True))


async def _completed(work: Work[T]) -> T:
    """The result of ``work``: short work is done here, long work in portions on another thread."""
    running = RunningWork(work)
    ended = running.advance(at_least_one=False)
    while not ended:
        ended = await anyio.to_thread.run_sync(partial(running.advance, at_least_one=True))
    result: T = running.result  # type: ignore[assignment]
    return result
