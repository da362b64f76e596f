"""Where a told run comes from: here the replay of a recorded run; ``journal_reading`` has the journal that may grow.

Both are read step by step, so that the first steps can be shown before the last are read.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from contextlib import AbstractContextManager, nullcontext

from execledger.core.decisions import Decision, Shown, Step
from execledger.core.policy import Policy
from execledger.replay import INHERITED, Replayed, replay
from execledger.trajectories.recording import Run
from execledger.viewer.counting import Origin, RunLine
from execledger.viewer.model import OUTPUT_LENGTH, News, RunAnswer, StepAnswer, Telling, Told
from execledger.viewer.tracks import Span


class Reading(ABC):
    """A run that is read on demand. Every question may be asked on any thread."""

    def __init__(self, telling: Telling) -> None:
        """Nothing was read yet."""
        self.telling = telling
        """What was read so far."""
        self.waits = False
        """Nothing more is at hand at the moment."""
        self.over = False
        """Nothing more will ever come."""
        self._fault = ""
        # Guards the telling: it is added to on one thread while others ask.
        self._lock = threading.Lock()

    def read(self, seconds: float | None = None, steps: int | None = None) -> None:
        """Read on for so long, or until so many steps are there, or as far as there is anything at hand."""
        until = None if seconds is None else time.monotonic() + seconds
        with self._lock, self._opened():
            self.waits = False
            while not self.over and (steps is None or len(self.telling) < steps):
                if not self._attempt():
                    self.waits = True
                    break
                if until is not None and time.monotonic() > until:
                    break
            if self.over:
                self.telling.tracks.let_go()

    def answer(self, *, live: bool = False) -> RunAnswer:
        """All that was read; ``live`` where more may be written."""
        with self._lock:
            return self.telling.answer(self.trouble(), live=self._more(live))

    def news(self, first: int, *, live: bool = False) -> News:
        """What was read from step ``first`` on."""
        with self._lock:
            return self.telling.news(first, live=self._more(live))

    def line(self) -> RunLine:
        """The run in one line."""
        with self._lock:
            return self.telling.count.line(self.telling.origin)

    def _more(self, live: bool) -> bool:
        return not self.over and (live or not self.waits)

    def step(self, index: int, limit: int = OUTPUT_LENGTH) -> StepAnswer:
        """One step in full, with at most ``limit`` characters of its output."""
        with self._lock:
            before = self.telling.before(index)
            earlier = None if before is None else self._told(before)
            return self.telling.step_answer(index, self._told(index), earlier, limit)

    def output(self, index: int) -> str:
        """The whole output of a step."""
        with self._lock:
            return self._told(index).truth.output

    def map_at(self, index: int) -> dict[str, list[Span]]:
        """The file map behind a step."""
        with self._lock:
            return self.telling.tracks.map_at(index)

    def trouble(self) -> tuple[str, ...]:
        """What was not as it should be in the file."""
        return (self._fault,) if self._fault else ()

    def _attempt(self) -> bool:
        """Read one step more. A run is what others wrote: where it breaks the ledger, it ends, and that is said."""
        try:
            return self._next()
        except Exception as error:
            self.over = True
            self._fault = f"it can't be read behind step {len(self.telling) - 1}: {type(error).__name__}: {error}"
            return False

    def _opened(self) -> AbstractContextManager[object]:
        """What is held open while steps are read."""
        return nullcontext()

    @abstractmethod
    def _next(self) -> bool:
        """Read one step more; False if there is none at hand."""

    @abstractmethod
    def _told(self, index: int) -> Told:
        """A step that was read, in full."""


class ReplayReading(Reading):
    """A recorded run that is replayed."""

    def __init__(self, run: Run, policy: Policy | None) -> None:
        """Nothing was replayed yet; ``policy`` may be the run's own."""
        super().__init__(Telling(Origin.of_run(run), policy or run.policy, governed=False))
        self.telling.compactions += run.compactions
        self.telling.count.add_run(run)
        self._run = run
        self._calls = replay(run, ledger=self.telling.tracks.ledger)
        self._decided: list[tuple[Decision, Shown, str]] = []
        self._views: dict[str, tuple[int, str]] = {}

    def _next(self) -> bool:
        call = next(self._calls, None)
        # Calls that a thread was born with are taken in on the way to the next one.
        for index in range(len(self.telling), len(self._run.steps) if call is None else call.index):
            self._add(index, (INHERITED, Shown("full"), ""), again=False)
        if call is None:
            self.over = True
            return False
        self._add(call.index, (call.decision, call.shown, self._view(call)), again=bool(call.reread))
        return True

    def _add(self, index: int, decided: tuple[Decision, Shown, str], *, again: bool) -> None:
        recorded = self._run.steps[index]
        self._decided.append(decided)
        self.telling.add(self._told(index).step, recorded.turn, recorded.observation, again=again)

    def _view(self, call: Replayed) -> str:
        """The view that the model would have read: the one before its turn."""
        thread, turn = call.recorded.action.thread, call.recorded.turn
        if call.view is not None:
            self._views[thread] = (turn, call.view.text)
            self.telling.count.add_view(call.view.text)
        of_turn, text = self._views.get(thread, (-1, ""))
        return text if of_turn == turn else ""

    def _told(self, index: int) -> Told:
        recorded, (decision, shown, view) = self._run.steps[index], self._decided[index]
        step = Step(recorded.action, decision, recorded.observation, shown, inherits=recorded.inherits)
        return Told(step=step, truth=recorded.observation, turn=recorded.turn, view=view)
