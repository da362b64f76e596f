"""Every conversation that passes through the proxy, by session and thread."""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from execledger import __version__
from execledger.agents.adapter import Adapter, Asked
from execledger.agents.session import Session
from execledger.core.policy import Policy
from execledger.journal.events import Started, policy_fields
from execledger.journal.summary import RunSummary
from execledger.proxy.conversation import Conversation
from execledger.proxy.dialect import Dialect, Request
from execledger.proxy.edits import EditStore
from execledger.proxy.later import LateChronicle, Later, at_once
from execledger.proxy.workspace import Workspace

MAX_SESSIONS = 1024
"""Sessions that are kept in memory; one that was let go is rebuilt from its next request and the stored edits."""
MAX_SUMMARIES = 10_000
"""Sessions that a standing proxy can sum up at its end; the journals know them all."""
IDLE_SECONDS = 3600.0
"""How long a session may say nothing before it is taken to have ended."""


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


class _Open(Struct):
    """A session that is kept in memory."""

    workspace: Workspace
    """Its ledger."""
    threads: dict[str, Conversation]
    """Its conversations."""
    used: float = 0.0
    """When it last said something, by a clock that never jumps."""


class Book:
    """The sessions, the one used last at the end."""

    def __init__(
        self, rules: Rules, dialect: Dialect, adapter: Adapter, store: EditStore, later: Later = at_once
    ) -> None:
        """No session yet; journals are written when ``later`` says."""
        self.summaries: deque[RunSummary] = deque(maxlen=MAX_SUMMARIES)
        """What the last sessions came to, in the order of their beginning."""
        self._rules = rules
        self._dialect = dialect
        self._adapter = adapter
        self._store = store
        self._later = later
        self._sessions: OrderedDict[str, _Open] = OrderedDict()
        self._writers: set[str] = set()

    def __len__(self) -> int:
        """How many sessions are kept in memory."""
        return len(self._sessions)

    def __contains__(self, session: str) -> bool:
        """Whether a session is kept in memory."""
        return session in self._sessions

    def conversation(self, asked: Asked, request: Request) -> Conversation:
        """The conversation that a request belongs to."""
        now = time.monotonic()
        session = self._sessions.get(asked.session)
        if session is None:
            self._let_go(now)
            session = self._sessions[asked.session] = _Open(self._begun(asked, request), {})
        session.used = now
        self._sessions.move_to_end(asked.session)
        thread = asked.thread if asked.named else _continued(session, asked.thread, request)
        conversation = session.threads.get(thread)
        if conversation is None:
            session.workspace.session.ledger.begin(thread, self._task(request))
            conversation = session.threads[thread] = Conversation(
                session.workspace,
                thread,
                self._dialect,
                self._adapter,
                self._store,
                sealed=self._rules.sealed,
            )
        return conversation

    def _let_go(self, now: float) -> None:
        """Make room for one more session; those that have said nothing for long have ended."""
        while self._sessions:
            oldest = next(iter(self._sessions.values()))
            if len(self._sessions) < MAX_SESSIONS and now - oldest.used <= IDLE_SECONDS:
                return
            self._sessions.popitem(last=False)
            _end(oldest)

    def close(self) -> None:
        """End every session."""
        for session in self._sessions.values():
            # What goes wrong with one is no reason to leave the others open.
            with suppress(Exception):
                _end(session)
        self._sessions.clear()

    def _task(self, request: Request) -> str:
        """What a conversation is about: the first words of the user that are not the agent's own."""
        said = (self._dialect.item(raw) for raw in request.items)
        return next((text for item in said if item.kind == "user" and (text := self._adapter.task_of(item.text))), "")

    def _begun(self, asked: Asked, request: Request) -> Workspace:
        """A new session, with its journal."""
        task = self._task(request)
        agent = asked.agent.partition(" ")[0] or "agent"
        name = f"{agent}-{time.strftime('%Y%m%d-%H%M%S')}-{asked.session[:36]}"
        rules = self._rules
        chronicle = LateChronicle(rules.journals, name, rules.tell, self._later)
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
        return Workspace(session, asked.session, self._writers)


def _continued(session: _Open, name: str, request: Request) -> str:
    """The conversation that a request without a name goes on with; one that fits none is a new one."""
    going_on = (thread for thread, known in session.threads.items() if known.continues(request))
    return next(going_on, f"{name}/{len(session.threads)}")


def _end(opened: _Open) -> None:
    """Close a session's journal."""
    session = opened.workspace.session
    try:
        session.chronicle.end()
    except Exception as error:
        session.fault("end", error)
