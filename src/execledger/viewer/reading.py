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

from msgspec import Struct

from execledger.core.fingerprint import fingerprint
from execledger.core.ledger import Ledger
from execledger.core.policy import Policy
from execledger.errors import UnreadableRun
from execledger.evaluate.counterfactual import CounterfactualRun
from execledger.journal.events import Event, StepRecorded, ViewRendered
from execledger.journal.reader import NO_EVENT, JournalReader, Place, has_end
from execledger.runs.account import Account
from execledger.runs.prices import load_prices
from execledger.runs.recording import Recorded, Run
from execledger.runs.replay import INHERITED, Replayed, replay
from execledger.viewer.counting import Origin, RunLine, run_line
from execledger.viewer.model import OUTPUT_LENGTH, News, RunAnswer, StepAnswer, StepDetail, Telling
from execledger.viewer.tracks import Span
from execledger.vocabulary.actions import Observation
from execledger.vocabulary.decisions import Decision, Shown, Step


class Call(Struct, frozen=True):
    """What a replay makes of one call."""

    decision: Decision
    """What is decided."""
    shown: Shown
    """What the model would be shown."""
    view: str
    """The state view that the model would read before it; "" if there is none."""

    def step(self, recorded: Recorded) -> Step:
        """The step that it makes of a recorded call."""
        return Step(recorded.action, self.decision, recorded.observation, self.shown, inherits=recorded.inherits)


BORN_WITH = Call(INHERITED, Shown("full"), "")
"""What stands for a call that a conversation was born with."""


def told_calls(run: Run, ledger: Ledger, account: Account) -> Iterator[Call]:
    """Every call of ``run`` in order, replayed in ``ledger`` and added to ``account``."""
    priced, prices = CounterfactualRun(run, ledger), load_prices()
    views: dict[str, tuple[int, str]] = {}
    told = 0
    for replayed in replay(run, ledger=ledger):
        # Calls that a conversation was born with are taken in on the way to the next one.
        yield from _born_with(run, told, replayed.index, account)
        call = Call(replayed.decision, replayed.shown, _view(replayed, views))
        account.add_replayed(replayed)
        priced.add(replayed)
        told = replayed.index + 1
        yield call
    yield from _born_with(run, told, len(run.steps), account)
    if not ledger.policy.shadow:
        account.worth = priced.close(prices).worth(prices.date)


def _born_with(run: Run, first: int, end: int, account: Account) -> Iterator[Call]:
    for recorded in run.steps[first:end]:
        account.add_step(BORN_WITH.step(recorded), recorded.turn, truth=recorded.observation)
        yield BORN_WITH


def _view(replayed: Replayed, views: dict[str, tuple[int, str]]) -> str:
    """The view that the model would have read: the one before its turn."""
    thread, turn = replayed.recorded.action.thread, replayed.recorded.turn
    if replayed.view is not None:
        views[thread] = (turn, replayed.view.text)
    of_turn, text = views.get(thread, (-1, ""))
    return text if of_turn == turn else ""


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
            return run_line(self.telling.account, self.telling.origin)

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
    def _told(self, index: int) -> StepDetail:
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
        self.telling.account.add_run(run)
        self._calls = told_calls(run, self.telling.tracks.ledger, self.telling.account)
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

    def _told(self, index: int) -> StepDetail:
        recorded, call = self._run.steps[index], self._decided[index]
        return StepDetail(step=call.step(recorded), truth=recorded.observation, turn=recorded.turn, view=call.view)


class JournalReading(Reading):
    """What Ledger did, from the journal that it kept."""

    def __init__(self, name: str, opener: Callable[[], BinaryIO]) -> None:
        """The journal that ``opener`` opens for reading; raises ``UnreadableRun`` if it is none."""
        with opener() as file:
            self._journal = JournalReader(name, file)
        start = self._journal.start
        super().__init__(Telling(Origin.of_journal(name, start), start.known_policy(), governed=True))
        self._opener = opener
        self._file: BinaryIO | None = None
        self._lines: list[tuple[Place, Place | None]] = []
        self._views: dict[str, tuple[int | None, Place]] = {}

    @property
    def offset(self) -> int:
        """How much of the file was read."""
        return self._journal.offset

    def ends(self) -> bool:
        """The end of the journal is written, though it may not be read yet."""
        if self.waits or self.over:
            return self.telling.account.over
        with self._opener() as file:
            return has_end(file)

    def trouble(self) -> tuple[str, ...]:
        """What was not as it should be in the journal."""
        return (*super().trouble(), *self._journal.trouble.sentences())

    @contextmanager
    def _opened(self) -> Iterator[None]:
        with self._opener() as self._file:
            self._file.seek(self.offset)
            yield
        self._file = None

    def _next(self) -> bool:
        """Take in lines up to the next step."""
        assert self._file is not None
        while (found := self._journal.next(self._file)) is not None:
            place, event = found
            self._take(event, place)
            if isinstance(event, StepRecorded):
                return True
        self.over = self.telling.account.over
        return False

    def _take(self, event: Event, place: Place) -> None:
        if isinstance(event, StepRecorded):
            self.telling.tracks.ledger.record(event.step)
            self.telling.add(event.step, event.turn, event.since)
            self._lines.append((place, self._view_of(event)))
        elif isinstance(event, ViewRendered):
            self._views[event.thread] = (None, place)
        self.telling.account.add(event)

    def _view_of(self, event: StepRecorded) -> Place | None:
        """The view that the model read before a step: it is read in one turn, and the first step tells which."""
        thread = event.step.action.thread
        turn, view = self._views.get(thread, (None, None))
        if view is not None and turn is None:
            self._views[thread] = (event.turn, view)
        return view if turn in (None, event.turn) else None

    def _told(self, index: int) -> StepDetail:
        place, view = self._lines[index]
        event = self._read(place)
        text = self._read(view) if view is not None else None
        if not isinstance(event, StepRecorded):
            name = self.telling.origin.name
            raise UnreadableRun(name, f"found another line at step {index}, expected the one that stood there")
        return StepDetail(
            step=event.step,
            truth=self._truth(event.step),
            turn=event.turn,
            view=text.text if isinstance(text, ViewRendered) else "",
        )

    def _truth(self, step: Step) -> Observation:
        """What a step returned: what it shows, or what stands in the result that its reference points at."""
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
        """The event at a place; None if something else stands there by now."""
        with self._opener() as file:
            file.seek(place.offset)
            line = file.read(place.size)
        try:
            return self._journal.decode(line).event
        except NO_EVENT:
            return None
