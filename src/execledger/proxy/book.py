"""Every conversation that passes through the proxy, by session and thread.

The book itself belongs to the event loop. What belongs to a session, its ledger and its conversations, is touched only
by who holds the session's lock: a request from when its conversation is looked for until it is ready to be sent.
"""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from execledger import __version__
from execledger.core.policy import Policy
from execledger.journal.events import Started, policy_fields
from execledger.proxy.conversation import Conversation
from execledger.proxy.deferred_journal import DeferredJournal, Schedule
from execledger.proxy.dialect import Dialect, Request
from execledger.proxy.edits import EditStore
from execledger.proxy.limits import IDLE_SECONDS, KEPT_TAKEN, MAX_SESSIONS, MAX_THREADS
from execledger.proxy.worker import Work, run_to_end
from execledger.proxy.workspace import Workspace
from execledger.runs.account import RunSummary
from execledger.session.adapter import Adapter, Asked
from execledger.session.session import Session

MAX_SUMMARIES = 10_000
"""Sessions that a standing proxy can sum up at its end; the journals know them all."""
BEFORE = "\0before"
"""Stands for the conversations of a session before it was let go; no thread has such a name."""


class Rules(Struct, frozen=True, kw_only=True):
    """What the proxy does with conversations."""

    policy: Policy = Policy()
    """What Ledger may do."""
    sealed: bool = False
    """Nothing but the agent's own commands can write: it has the machine to itself."""
    journals: Path | None = None
    """Where journals go; None writes none."""
    tell: Callable[[str], None] = lambda _: None
    """Says what a user should know."""


class OpenSession(Struct):
    """A session that is kept in memory."""

    workspace: Workspace
    """Its ledger."""
    threads: dict[str, Conversation]
    """Its conversations, the one used last at the end."""
    used: float = 0.0
    """When it last said something, by a clock that never jumps."""
    begun: int = 0
    """Conversations that have begun in it: each gets a name of its own, also when others were let go."""
    counted: int = 0
    """What its ledger had taken in by then, as the book has added it up."""
    users: int = 0
    """Requests that wait for its lock, or hold it."""

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Keep it from being evicted meanwhile."""
        self.users += 1
        try:
            yield
        finally:
            self.users -= 1

    @property
    def busy(self) -> bool:
        """Something is done in it, also for a client that has hung up, or waits to be."""
        return self.users > 0 or self.workspace.lock.locked()


class Book:
    """The sessions, the one used last at the end."""

    def __init__(
        self, rules: Rules, dialect: Dialect, adapter: Adapter, store: EditStore, later: Schedule = run_to_end
    ) -> None:
        """No session yet; journals are written when ``later`` says."""
        self.summaries: deque[RunSummary] = deque(maxlen=MAX_SUMMARIES)
        """What the last sessions came to, in the order of their beginning."""
        self._rules = rules
        self._dialect = dialect
        self._adapter = adapter
        self._store = store
        self._later = later
        self._sessions: OrderedDict[str, OpenSession] = OrderedDict()
        self._writers: set[str] = set()
        self._at_work: dict[str, None] = {}
        """Sessions that were let go while one of their calls may have been writing."""
        self._ending: dict[int, OpenSession] = {}
        """Evicted sessions whose journals are not closed yet, by their identity."""
        self._taken = 0
        self._told: set[str] = set()

    def __len__(self) -> int:
        """How many sessions are kept in memory."""
        return len(self._sessions)

    def __contains__(self, session: str) -> bool:
        """Whether a session is kept in memory."""
        return session in self._sessions

    def get(self, session: str) -> OpenSession | None:
        """A session that is kept in memory."""
        return self._sessions.get(session)

    def session(self, asked: Asked, request: Request, task: str | None = None) -> OpenSession:
        """The session that a request belongs to; its ``task``, where that is known already."""
        now = time.monotonic()
        session = self._sessions.get(asked.session)
        if session is not None:
            session.used = now
            self._sessions.move_to_end(asked.session)
        self._let_go(now, session)
        if session is None:
            session = self._sessions[asked.session] = OpenSession(self._begun(asked, request, task), {}, now)
        return session

    def conversation(
        self, session: OpenSession, asked: Asked, request: Request, task: str | None = None
    ) -> Conversation:
        """The conversation that a request belongs to; to be called on the event loop, with the session's lock held."""
        taken = session.workspace.taken
        self._taken, session.counted = self._taken + taken - session.counted, taken
        thread = asked.thread if asked.named else _continued(session, asked.thread, request)
        conversation = session.threads.pop(thread, None)
        if conversation is None:
            session.workspace.session.ledger.begin(thread, self.task_of(request) if task is None else task)
            session.begun += 1
            while len(session.threads) >= MAX_THREADS:
                del session.threads[next(iter(session.threads))]
            conversation = Conversation(
                session.workspace,
                thread,
                self._dialect,
                self._adapter,
                self._store,
                sealed=self._rules.sealed,
            )
        session.threads[thread] = conversation
        return conversation

    def _let_go(self, now: float, asking: OpenSession | None) -> None:
        """Make room for the session that asks, or for a new one; those that have said nothing for long have ended."""
        for _ in range(len(self._sessions)):
            oldest = next(iter(self._sessions.values()))
            others = len(self._sessions) - (asking is not None)
            room = others < MAX_SESSIONS and self._taken <= KEPT_TAKEN
            if oldest is asking or (room and now - oldest.used <= IDLE_SECONDS):
                return
            if oldest.busy:
                self._sessions.move_to_end(next(iter(self._sessions)))
                continue
            name, _ = self._sessions.popitem(last=False)
            self._taken -= oldest.counted
            if oldest.workspace.writing:
                self._at_work[name] = None
            if len(self._at_work) > MAX_SUMMARIES:
                del self._at_work[next(iter(self._at_work))]
            oldest.workspace.let_go = True
            self._ending[id(oldest)] = oldest
            self._later(self._ended(oldest))

    def _ended(self, opened: OpenSession) -> Work[None]:
        """Close a session's journal when everything that waits for it is written."""
        chronicle = opened.workspace.session.chronicle
        if isinstance(chronicle, DeferredJournal):
            yield from chronicle.flush()
        _end(opened)
        self._ending.pop(id(opened), None)

    def close(self) -> None:
        """End every session."""
        for session in (*self._ending.values(), *self._sessions.values()):
            # What goes wrong with one is no reason to leave the others open.
            with suppress(Exception):
                _end(session)
        self._sessions.clear()

    def _tell_once(self, words: str) -> None:
        """Say what went wrong with a journal, unless the same was said of another: all have one folder."""
        if words not in self._told:
            self._told.add(words)
            self._rules.tell(words)

    def task_of(self, request: Request) -> str:
        """What a conversation is about: the first words of the user that are not the agent's own."""
        said = (self._dialect.item(raw) for raw in request.items)
        return next((text for item in said if item.kind == "user" and (text := self._adapter.task_of(item.text))), "")

    def _begun(self, asked: Asked, request: Request, task: str | None) -> Workspace:
        """A new session, with its journal."""
        task = self.task_of(request) if task is None else task
        agent = asked.agent.partition(" ")[0] or "agent"
        name = f"{agent}-{time.strftime('%Y%m%d-%H%M%S')}-{asked.session[:36]}"
        rules = self._rules
        chronicle = DeferredJournal(rules.journals, name, self._tell_once, self._later)
        session = Session(rules.policy, task, chronicle, rules.tell)
        self.summaries.append(chronicle.summary)
        chronicle.note(
            Started(
                software=__version__,
                run=name,
                agent=asked.agent,
                model=request.field("model"),
                task=task,
                policy=policy_fields(rules.policy),
                sealed=rules.sealed,
            )
        )
        workspace = Workspace(session, asked.session, self._writers)
        if asked.session in self._at_work:
            # What was under way when it was let go may write at any time: nobody tells us of its end any more.
            workspace.writing.add(BEFORE)
        return workspace


def _continued(session: OpenSession, name: str, request: Request) -> str:
    """The conversation that a request without a name goes on with; one that fits none is a new one."""
    going_on = (thread for thread, known in session.threads.items() if known.continues(request))
    return next(going_on, f"{name}/{session.begun}")


def _end(opened: OpenSession) -> None:
    """Close a session's journal; an answer that is still on its way is judged by nothing that is known here."""
    opened.workspace.let_go = True
    session = opened.workspace.session
    try:
        session.chronicle.end()
    except Exception as error:
        session.faults.note("end", error)
