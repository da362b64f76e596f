"""A run, read step by step into the page's model: a recorded run is replayed, a journal is read as it grows.

The first steps can be shown before the last are read. Of a journal only the offsets of its lines are kept: a step in
full is read again when it is requested.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import BinaryIO

from msgspec.structs import replace

from execledger.core.fingerprint import fingerprint
from execledger.core.policy import Policy
from execledger.errors import UnreadableRun
from execledger.journal.events import Event, Sighted, StepRecorded, ViewRendered
from execledger.journal.reader import NO_EVENT, JournalReader, Place, has_end
from execledger.runs.looks import LookHistory, Looks
from execledger.runs.recording import ModelReply, Run
from execledger.runs.replay import policy_of
from execledger.viewer.counting import Call, Origin, RunLine, run_line, told_calls
from execledger.viewer.model import OUTPUT_LENGTH, NewSteps, RunAnswer, RunModel, StepAnswer, StepDetail
from execledger.viewer.tracks import Span
from execledger.vocabulary.actions import Observation
from execledger.vocabulary.decisions import Step


class Reading(ABC):
    """A run that is read on demand; its methods may be called on any thread."""

    def __init__(self, model: RunModel) -> None:
        """Start with an empty model."""
        self.model = model
        """The run as far as it was read."""
        self.waits = False
        """There is nothing more to read at the moment."""
        self.over = False
        """The run was read to its end."""
        self._fault = ""
        # Guards the model: one thread adds to it while others read it.
        self._lock = threading.Lock()
        # How many threads wait for the lock to answer a request: reading makes way for them.
        self._asking: list[None] = []

    def read(self, seconds: float | None = None, steps: int | None = None) -> None:
        """Read for ``seconds``, or until there are ``steps`` steps, or as far as possible.

        A waiting request ends a timed read early.
        """
        until = None if seconds is None else time.monotonic() + seconds
        with self._lock, self._opened():
            self.waits = False
            while not self.over and (steps is None or len(self.model) < steps):
                if not self._attempt():
                    self.waits = True
                    break
                if until is not None and (self._asking or time.monotonic() > until):
                    break
            if self.over:
                self.model.tracks.free()

    @contextmanager
    def _asked(self) -> Iterator[None]:
        """Hold the lock to answer a request."""
        self._asking.append(None)
        with self._lock:
            self._asking.pop()
            yield

    def answer(self, *, live: bool = False) -> RunAnswer:
        """The run as far as it was read; ``live`` if the agent may still be running."""
        with self._asked():
            return self.model.answer(self.trouble(), live=live and not self.over, more=self._more(live))

    def news(self, first: int, *, live: bool = False) -> NewSteps:
        """The steps from ``first`` on."""
        with self._asked():
            return self.model.news(first, live=live and not self.over, more=self._more(live))

    def line(self) -> RunLine:
        """The run's line in the list."""
        with self._asked():
            return run_line(self.model.account, self.model.origin)

    def _more(self, live: bool) -> bool:
        return not self.over and (live or not self.waits)

    def step(self, index: int, limit: int = OUTPUT_LENGTH) -> StepAnswer:
        """One step in full, with at most ``limit`` characters of its output."""
        with self._asked():
            before = self.model.before(index)
            earlier = None if before is None else self._full_step(before)
            return self.model.step_answer(index, self._full_step(index), earlier, limit)

    def output(self, index: int) -> str:
        """The whole output of a step."""
        with self._asked():
            return self._full_step(index).truth.output

    def map_at(self, index: int) -> dict[str, list[Span]]:
        """The file map after a step."""
        with self._asked():
            return self.model.tracks.map_at(index)

    def trouble(self) -> tuple[str, ...]:
        """Damage found in the file, in sentences."""
        return (self._fault,) if self._fault else ()

    def _attempt(self) -> bool:
        """Read one step more; a run is foreign input, and one that breaks the ledger ends there, with a sentence."""
        try:
            return self._next()
        except Exception as error:
            self.over = True
            self._fault = f"it can't be read behind step {len(self.model) - 1}: {type(error).__name__}: {error}"
            return False

    def _opened(self) -> AbstractContextManager[object]:
        """A context in which steps are read."""
        return nullcontext()

    @abstractmethod
    def _next(self) -> bool:
        """Read one step more; False if there is none."""

    @abstractmethod
    def _full_step(self, index: int) -> StepDetail:
        """A step that was read before, in full."""


class ReplayReading(Reading):
    """A recorded run that is replayed."""

    def __init__(self, run: Run, policy: Policy | None) -> None:
        """Replay ``run`` under ``policy``, or under the run's own if that is None."""
        super().__init__(RunModel(Origin.of_run(run), policy_of(run, policy)))
        # If Ledger took part in a run, each step has what was out of view; otherwise the run lists its compactions.
        self._tells_since = bool(run.steps) and all(one.governed is not None for one in run.steps)
        if not self._tells_since:
            self.model.compactions += run.compactions
        self._run = run
        self.model.account.add_run(run)
        self._calls = told_calls(run, self.model.tracks.ledger, self.model.account)
        self._decided: list[Call] = []

    def trouble(self) -> tuple[str, ...]:
        """What was wrong with the file, in sentences."""
        return (*super().trouble(), *self._run.trouble)

    def _next(self) -> bool:
        call = next(self._calls, None)
        if call is None:
            self.over = True
            return False
        recorded = self._run.steps[len(self._decided)]
        self._decided.append(call)
        since = recorded.governed.since if recorded.governed is not None and self._tells_since else None
        self.model.add(call.step(recorded), recorded.turn, since)
        return True

    def _full_step(self, index: int) -> StepDetail:
        recorded, call = self._run.steps[index], self._decided[index]
        truth = recorded.observation
        if call.shown.kind == "partial":
            truth = replace(truth, output=call.shown.applied(truth.output))
        turn, calls, replies = recorded.turn, self._run.model_calls, self._run.replies
        return StepDetail(
            step=call.step(recorded),
            truth=truth,
            turn=turn,
            view=call.view,
            call=calls[turn] if turn < len(calls) else None,
            reply=replies[turn] if turn < len(replies) else ModelReply(),
            at=recorded.at,
            seconds=recorded.seconds,
            ran=recorded.ran,
        )


class JournalReading(Reading):
    """A run as Ledger recorded it in a journal, which may still grow."""

    def __init__(self, name: str, opener: Callable[[], BinaryIO]) -> None:
        """The journal that ``opener`` opens for reading; raises ``UnreadableRun`` if it is none."""
        with opener() as file:
            self._journal = JournalReader(name, file)
        start = self._journal.start
        super().__init__(RunModel(Origin.of_journal(name, start), start.known_policy()))
        self._opener = opener
        self._file: BinaryIO | None = None
        self._lines: list[tuple[Place, Place | None]] = []
        self._views: dict[str, tuple[int | None, Place]] = {}
        self._history = LookHistory()
        self._looks: list[Looks] = []

    @property
    def offset(self) -> int:
        """How many bytes of the file were read."""
        return self._journal.offset

    def ends(self) -> bool:
        """Whether the end of the journal is written, though perhaps not read yet."""
        if self.waits or self.over:
            return self.model.account.over
        with self._opener() as file:
            return has_end(file)

    def trouble(self) -> tuple[str, ...]:
        """Damage found in the journal, in sentences."""
        return (*super().trouble(), *self._journal.trouble.sentences())

    @contextmanager
    def _opened(self) -> Iterator[None]:
        with self._opener() as self._file:
            self._file.seek(self.offset)
            yield
        self._file = None

    def _next(self) -> bool:
        """Read lines up to the next step."""
        assert self._file is not None
        while (found := self._journal.next(self._file)) is not None:
            place, event = found
            self._take(event, place)
            if isinstance(event, StepRecorded):
                return True
        self.over = self.model.account.over
        return False

    def _take(self, event: Event, place: Place) -> None:
        ledger = self.model.tracks.ledger
        if isinstance(event, StepRecorded):
            self._looks.append(self._history.before(ledger, event.step.action.thread, event.turn, event.sealed))
            self.model.tracks.look(self._looks[-1])
            ledger.record(event.step)
            self.model.add(event.step, event.turn, event.since, self._looks[-1])
            self._lines.append((place, self._view_of(event)))
        elif isinstance(event, Sighted):
            self._history.take(ledger, event.sighting)
        elif isinstance(event, ViewRendered):
            self._views[event.thread] = (None, place)
        self.model.account.add(event)

    def _view_of(self, event: StepRecorded) -> Place | None:
        """The view that the model read before a step; a view belongs to the turn of the first step after it."""
        thread = event.step.action.thread
        turn, view = self._views.get(thread, (None, None))
        if view is not None and turn is None:
            self._views[thread] = (event.turn, view)
        return view if turn in (None, event.turn) else None

    def _full_step(self, index: int) -> StepDetail:
        place, view = self._lines[index]
        event = self._read(place)
        text = self._read(view) if view is not None else None
        if not isinstance(event, StepRecorded):
            name = self.model.origin.name
            raise UnreadableRun(name, f"found another line at step {index}, expected the one that stood there")
        return StepDetail(
            step=event.step,
            truth=self._truth(event.step),
            turn=event.turn,
            view=text.text if isinstance(text, ViewRendered) else "",
            looks=self._looks[index],
            at=event.at,
            ran=not event.step.suppressed,
        )

    def _truth(self, step: Step) -> Observation:
        """What a step returned: its output as shown, also in part, or the equal result that its reference points at."""
        shown = step.shown
        if shown.kind != "reference":
            return step.observation
        for index in shown.refers_to if shown.compared == "same" else ():
            holder = self._read(self._lines[index][0]) if 0 <= index < len(self._lines) else None
            if isinstance(holder, StepRecorded) and shown.result is not None:
                found = holder.step.observation
                if fingerprint(found, steady=False).digest == shown.result.digest:
                    return found
        return Observation(exit_status=step.observation.exit_status, truncated=True)

    def _read(self, place: Place) -> Event | None:
        """The event at a position; None if something else is there by now."""
        with self._opener() as file:
            file.seek(place.offset)
            line = file.read(place.size)
        try:
            return self._journal.decode(line).event
        except NO_EVENT:
            return None
