"""Where a told run comes from: here the replay of a recorded run; ``journal_reading`` has the journal that may grow.

Both are read step by step, so that the first steps can be shown before the last are read.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from execledger.core.policy import Policy
from execledger.runs.recording import Run
from execledger.viewer.counting import Origin, RunLine
from execledger.viewer.model import OUTPUT_LENGTH, News, RunAnswer, StepAnswer, Telling, Told
from execledger.viewer.replaying import Call, told_calls
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
        # How many threads wait for the lock to ask: reading on makes way for them.
        self._asking: list[None] = []

    def read(self, seconds: float | None = None, steps: int | None = None) -> None:
        """Read on for so long, or until so many steps are there, or as far as there is anything at hand.

        Whoever has a question meanwhile does not wait for the end of it: then less is read, unless it is to be all.
        """
        until = None if seconds is None else time.monotonic() + seconds
        with self._lock, self._opened():
            self.waits = False
            while not self.over and (steps is None or len(self.telling) < steps):
                if not self._attempt():
                    self.waits = True
                    break
                if until is not None and (self._asking or time.monotonic() > until):
                    break
            if self.over:
                self.telling.tracks.let_go()

    @contextmanager
    def _asked(self) -> Iterator[None]:
        """Hold the lock for a question."""
        self._asking.append(None)
        with self._lock:
            self._asking.pop()
            yield

    def answer(self, *, live: bool = False) -> RunAnswer:
        """All that was read; ``live`` where the agent may still be at work."""
        with self._asked():
            return self.telling.answer(self.trouble(), live=live and not self.over, more=self._more(live))

    def news(self, first: int, *, live: bool = False) -> News:
        """What was read from step ``first`` on."""
        with self._asked():
            return self.telling.news(first, live=live and not self.over, more=self._more(live))

    def line(self) -> RunLine:
        """The run in one line."""
        with self._asked():
            return self.telling.count.line(self.telling.origin)

    def _more(self, live: bool) -> bool:
        return not self.over and (live or not self.waits)

    def step(self, index: int, limit: int = OUTPUT_LENGTH) -> StepAnswer:
        """One step in full, with at most ``limit`` characters of its output."""
        with self._asked():
            before = self.telling.before(index)
            earlier = None if before is None else self._told(before)
            return self.telling.step_answer(index, self._told(index), earlier, limit)

    def output(self, index: int) -> str:
        """The whole output of a step."""
        with self._asked():
            return self._told(index).truth.output

    def map_at(self, index: int) -> dict[str, list[Span]]:
        """The file map behind a step."""
        with self._asked():
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
        # Where Ledger took part in a run it knows what went out of view on which thread; elsewhere the run tells.
        self._tells_since = bool(run.steps) and all(one.governed is not None for one in run.steps)
        if not self._tells_since:
            self.telling.compactions += run.compactions
        self._run = run
        self._calls = told_calls(run, self.telling.tracks.ledger, self.telling.count)
        self._decided: list[Call] = []

    def _next(self) -> bool:
        call = next(self._calls, None)
        if call is None:
            self.over = True
            return False
        recorded = self._run.steps[len(self._decided)]
        self._decided.append(call)
        since = recorded.governed.since if recorded.governed is not None and self._tells_since else None
        self.telling.add(call.step(recorded), recorded.turn, since)
        return True

    def _told(self, index: int) -> Told:
        recorded, call = self._run.steps[index], self._decided[index]
        return Told(step=call.step(recorded), truth=recorded.observation, turn=recorded.turn, view=call.view)
