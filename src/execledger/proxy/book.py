"""Every conversation that passes through the proxy, by session and thread.

The book itself is used on the event loop only. The ledger and the conversations of a session require its lock, which a
request holds from the lookup of its conversation until it is ready to be forwarded.
"""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import takewhile
from pathlib import Path
from typing import Generic, TypeVar

from msgspec import Struct

from execledger.core.fingerprint import digest
from execledger.core.policy import Policy
from execledger.journal.events import Started, policy_fields
from execledger.proxy.call_reports import CallReports
from execledger.proxy.clients import Clients, OnlyClient
from execledger.proxy.conversation import Conversation, Workspace
from execledger.proxy.deferred_journal import DeferredJournal, Schedule
from execledger.proxy.dialect import LeafFormat, TurnRequest
from execledger.proxy.edits import EditStore
from execledger.proxy.limits import IDLE_SECONDS, KEPT_TAKEN, MAX_SESSIONS, MAX_THREADS
from execledger.proxy.worker import Work, run_to_end
from execledger.runs.account import Account
from execledger.runs.providers import for_model
from execledger.session.adapter import Adapter, Asked
from execledger.session.session import Session
from execledger.session.witness import LocalWitness
from execledger.version import __version__

MAX_SUMMARIES = 10_000
"""Summaries that a long-running proxy keeps for its end; the journals have all of them."""
BEFORE = "\0before"
"""The name under which a session's conversations before its eviction count as writing; no thread has it."""


class Rules(Struct, frozen=True, kw_only=True):
    """The settings that apply to all conversations of a proxy."""

    policy: Policy = Policy()
    """The policy of every session."""
    sealed: bool = False
    """Only the agent's own commands can write, as in a container of its own."""
    local_files: bool = False
    """The agents' files are on this machine: a witness reads them below the agents' working directories."""
    journals: Path | None = None
    """The folder for journals; None writes none."""
    reports: CallReports | None = None
    """What hooks of the agent report; None if it has none."""
    tell: Callable[[str], None] = lambda _: None
    """Shows a message to the user."""


RequestT = TypeVar("RequestT", bound=TurnRequest, covariant=True)


class Received(Struct, Generic[RequestT], frozen=True):
    """A request that was split, with its dialect and its sender."""

    dialect: LeafFormat
    """The format of its leaves."""
    request: RequestT
    """The request."""
    adapter: Adapter
    """The adapter of the agent that sent it."""
    asked: Asked
    """The session and thread that it belongs to."""
    informed: bool = False
    """Another Ledger between the client and this proxy has added a state view to it."""
    task: str | None = None
    """The task of the conversation; None if it was not looked for yet."""


class OpenSession(Struct):
    """A session that is kept in memory."""

    workspace: Workspace
    """Its ledger."""
    threads: dict[str, Conversation]
    """Its conversations, the one used last at the end."""
    used: float = 0.0
    """The time of its last request, by a monotonic clock."""
    begun: int = 0
    """Conversations that have begun in it: unnamed ones are numbered, and numbers are not used again."""
    counted: int = 0
    """The part of its ledger's size that is included in the book's total."""
    users: int = 0
    """Requests that wait for its lock, or hold it."""

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Protect it from eviction in the meantime."""
        self.users += 1
        try:
            yield
        finally:
            self.users -= 1

    @property
    def busy(self) -> bool:
        """Whether work on it is in progress or waiting, also for a client that has disconnected."""
        return self.users > 0 or self.workspace.lock.locked()


class Book:
    """The sessions in memory, the one used last at the end."""

    def __init__(
        self, rules: Rules, clients: Clients | Adapter, store: EditStore, schedule: Schedule = run_to_end
    ) -> None:
        """A book without sessions; ``clients`` may be the one adapter of all, ``schedule`` runs the work that writes
        journals."""
        self.summaries: deque[Account] = deque(maxlen=MAX_SUMMARIES)
        """The summaries of the last sessions, in the order of their beginning."""
        self.clients = clients if isinstance(clients, Clients) else OnlyClient(clients)
        """The agents whose conversations these are."""
        self.store = store
        """The stored edits."""
        self.rules = rules
        """What the proxy does."""
        self._schedule = schedule
        self._sessions: OrderedDict[str, OpenSession] = OrderedDict()
        self._writers: set[str] = set()
        self._at_work: dict[str, None] = {}
        """Sessions that were evicted while one of their calls may have been writing."""
        self._ending: dict[int, OpenSession] = {}
        """Evicted sessions whose journals are not closed yet, by their identity."""
        self._taken = 0
        self._told: set[str] = set()

    def __len__(self) -> int:
        """The number of sessions in memory."""
        return len(self._sessions)

    def __contains__(self, session: str) -> bool:
        """Whether a session is in memory."""
        return session in self._sessions

    def get(self, session: str) -> OpenSession | None:
        """A session that is in memory."""
        return self._sessions.get(session)

    def session(self, received: Received[TurnRequest]) -> OpenSession:
        """The session that a request belongs to, opened if it is new."""
        asked, now = received.asked, time.monotonic()
        session = self._sessions.get(asked.session)
        if session is not None:
            session.used = now
            self._sessions.move_to_end(asked.session)
        self._evict(now, session)
        if session is None:
            session = self._sessions[asked.session] = OpenSession(self._opened(received), {}, now)
        return session

    def conversation(
        self, session: OpenSession, received: Received[TurnRequest], *, turn: bool = True
    ) -> Conversation | None:
        """The conversation that a request belongs to; called on the event loop with the session's lock held.

        None if the request names none, belongs to none so far, and is no ``turn``: a summary, for example.
        """
        asked, dialect, adapter = received.asked, received.dialect, received.adapter
        taken = session.workspace.taken
        self._taken, session.counted = self._taken + taken - session.counted, taken
        thread = asked.thread if asked.named else _thread_of(session, received)
        if not thread and not turn:
            return None
        thread = thread or f"{asked.thread}/{session.begun}"
        conversation = session.threads.pop(thread, None)
        if conversation is None or conversation.dialect is not dialect or conversation.adapter is not adapter:
            session.workspace.session.ledger.begin(thread, self.task_of(received))
            session.begun += 1
            while len(session.threads) >= MAX_THREADS:
                del session.threads[next(iter(session.threads))]
            rules = self.rules
            conversation = Conversation(
                session.workspace,
                thread,
                dialect,
                adapter,
                self.store,
                sealed=rules.sealed,
                reports=rules.reports,
                role="" if asked.named else _role(received),
            )
        session.threads[thread] = conversation
        return conversation

    def _evict(self, now: float, asking: OpenSession | None) -> None:
        """Make room for the session that asks, or for a new one; sessions that were idle for long have ended."""
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
            self._schedule(self._ended(oldest))

    def _ended(self, opened: OpenSession) -> Work[None]:
        """Close a session's journal after its buffered events are written."""
        chronicle = opened.workspace.session.chronicle
        if isinstance(chronicle, DeferredJournal):
            yield from chronicle.flush()
        _end(opened)
        self._ending.pop(id(opened), None)

    def close(self) -> None:
        """End every session."""
        for session in (*self._ending.values(), *self._sessions.values()):
            # A failure to close one must not leave the others open.
            with suppress(Exception):
                _end(session)
        self._sessions.clear()

    def _tell_once(self, words: str) -> None:
        """Report a failure of a journal once: all journals share a folder, and fail for the same reason."""
        if words not in self._told:
            self._told.add(words)
            self.rules.tell(words)

    def task_of(self, received: Received[TurnRequest]) -> str:
        """The task of a conversation: the first text of the user that the agent did not insert."""
        if received.task is not None:
            return received.task
        leaves = (received.dialect.leaf(raw) for raw in received.request.leaves)
        task_of = received.adapter.task_of
        return next((text for leaf in leaves if leaf.kind == "user" and (text := task_of(leaf.text))), "")

    def _opened(self, received: Received[TurnRequest]) -> Workspace:
        """A new session, with its journal."""
        asked, task = received.asked, self.task_of(received)
        agent = asked.agent.partition(" ")[0] or "agent"
        name = f"{agent}-{time.strftime('%Y%m%d-%H%M%S')}-{asked.session[:36]}"
        rules = self.rules
        chronicle = DeferredJournal(rules.journals, name, self._tell_once, self._schedule)
        policy = for_model(rules.policy, received.request.model)
        session = Session(policy, task, chronicle, rules.tell)
        self.summaries.append(chronicle.summary)
        chronicle.note(
            Started(
                software=__version__,
                run=name,
                agent=asked.agent,
                model=received.request.model,
                task=task,
                policy=policy_fields(policy),
                sealed=rules.sealed,
            )
        )
        witness = session.faults.guarded("witness", lambda: _witness(rules), None)
        workspace = Workspace(session, asked.session, self._writers, witness)
        if asked.session in self._at_work:
            # A call that was unanswered at the eviction may write at any time: its end is not reported any more.
            workspace.writing.add(BEFORE)
        return workspace


def _witness(rules: Rules) -> LocalWitness | None:
    """A witness for the files of one session, below no folder so far; None if they may not be looked at."""
    return LocalWitness(()) if rules.local_files and rules.policy.looks else None


def _thread_of(session: OpenSession, received: Received[TurnRequest]) -> str:
    """The thread that an unnamed request continues, or is a compacted form of; "" if there is none."""
    request, latest = received.request, [*reversed(session.threads.items())]
    if thread := next((thread for thread, known in latest if known.continues(request)), ""):
        return thread
    role = _role(received) if latest else ""
    alike = [(thread, known) for thread, known in latest if known.role == role]
    leaves = [*map(received.dialect.leaf, request.leaves)] if alike else []
    calls = [(at, leaf.call_id) for at, leaf in enumerate(leaves) if leaf.kind == "call" and leaf.call_id]
    if thread := next((thread for thread, known in alike if known.condensed(request, calls)), ""):
        return thread
    texts = [(at, leaf.text) for at, leaf in enumerate(leaves) if leaf.kind == "user"]
    summarised = any(received.adapter.is_summary(text) for _, text in texts)
    # Of several sub-agents with the same instructions it is not known which one has a summary now; and with calls
    # before the last prompt that were not made here, it is another session that the user has resumed.
    resumed = any(at < texts[-1][0] for at, _ in calls) if texts else False
    return alike[0][0] if summarised and len(alike) == 1 and not resumed else ""


def _role(received: Received[TurnRequest]) -> str:
    """The digest of the instructions of a conversation; those of a sub-agent differ from the main agent's."""
    leaves = takewhile(lambda raw: received.dialect.leaf(raw).kind == "context", received.request.leaves)
    return digest(received.request.instructions, *(bytes(raw).decode("utf-8", "replace") for raw in leaves))


def _end(opened: OpenSession) -> None:
    """Close a session's journal; answers that are still being streamed are no longer judged by its ledger."""
    opened.workspace.let_go = True
    session = opened.workspace.session
    try:
        session.chronicle.end()
    except Exception as error:
        session.faults.note("end", error)
