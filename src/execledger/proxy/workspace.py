"""One session's workspace: the ledger that its conversations share, and which step is which.

Writes belong to the workspace, whoever made them; observations belong to the conversation that saw them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Container, Iterable

from execledger.proxy.limits import MAX_STEPS, MAX_TAKEN, STEP
from execledger.session.session import Session
from execledger.vocabulary.decisions import Step

MANY = 2
"""Writers that have to be known: with so many, for each of them there is another."""


class Workspace:
    """The ledger of one session."""

    def __init__(self, session: Session, name: str, writers: set[str]) -> None:
        """An empty workspace; ``writers`` names those that may have written, and all workspaces of a proxy share it."""
        self.session = session
        self.lock = asyncio.Lock()
        """Held by who touches anything of the session, on the event loop or on the worker's thread.

        It is fair: requests are taken in one after the other, in the order in which they came.
        """
        self._name = name
        self._writers = writers
        self.writing: set[str] = set()
        """The conversations that have a call under way that may write."""
        self.turn = 0
        """How many times a model was asked to act."""
        self.unseen = False
        """Calls were met in a history that nobody here saw happen: before a pause, or in another proxy."""
        self.let_go = False
        """It is no longer kept: what the session does from now on is told to another workspace."""
        self.taken = 0
        """What its ledger has taken in, in characters."""
        self._steps: dict[tuple[str, str], int] = {}
        self._sources: dict[str, int] = {}
        self._chains: list[str] = []
        self._threads: dict[str, list[int]] = {}

    def write(self, thread: str) -> None:
        """A conversation of this workspace has been told of a call that may write."""
        self.writing.add(thread)
        if len(self._writers) < MANY:
            self._writers.add(self._name)

    def knows_all(self, thread: str) -> bool:
        """Whatever may have written is known, and done, for all that ``thread`` can tell."""
        return not (self.unseen or self._writers - {self._name} or self.busy(thread))

    def busy(self, thread: str) -> bool:
        """Another conversation has a call under way that may write, or may have one without our knowing."""
        return self.let_go or bool(self.writing - {thread})

    @property
    def full(self) -> bool:
        """It has taken in all that one session may."""
        return len(self._chains) >= MAX_STEPS or self.taken >= MAX_TAKEN

    def recorded(self, thread: str, chain: str) -> int | None:
        """The step of ``thread`` at this point of its history, if it was recorded before."""
        return self._steps.get((thread, chain))

    def source(self, chain: str) -> int | None:
        """The step of any conversation at this point of a history that it shares with others."""
        return self._sources.get(chain)

    def steps_of(self, thread: str, chains: Iterable[str]) -> tuple[int, ...]:
        """The steps at these points, as far as they are known; the thread's own before those that it was born with."""
        found = (self._steps.get((thread, chain), self._sources.get(chain)) for chain in chains)
        return tuple(step for step in found if step is not None)

    def chains_of(self, steps: Iterable[int]) -> tuple[str, ...]:
        """The points of the history at which these steps stand."""
        return tuple(self._chains[step] for step in steps)

    def record(self, step: Step, chain: str, sealed: bool, since: int) -> int:
        """Take a completed step in; its number. ``since`` is the first step that stood in view."""
        at = len(self._chains)
        self.session.record(step, self.turn, sealed, since)
        self._chains.append(chain)
        self.taken += STEP + len(step.observation.output)
        self._steps[step.action.thread, chain] = at
        self._sources.setdefault(chain, at)
        self._threads.setdefault(step.action.thread, []).append(at)
        return at

    def visible(self, thread: str, steps: list[int]) -> Container[int]:
        """The steps that a request shows; a range where it shows all of the conversation's since some step."""
        mine = self._threads.get(thread, [])
        if not steps:
            return range(len(self._chains), len(self._chains))
        if steps == mine[-len(steps) :]:
            return range(steps[0], len(self._chains))
        return frozenset(steps)
