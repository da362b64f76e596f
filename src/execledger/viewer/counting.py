"""What a run came to in one line of the list: counted step by step, from a journal's events or from a replay."""

from __future__ import annotations

import hashlib

from msgspec import Struct

from execledger.core.actions import Observation
from execledger.core.decisions import Reuse, Step
from execledger.core.policy import Policy
from execledger.journal.events import Ended, Event, FaultCaught, Started, StepRecorded, ViewRendered
from execledger.journal.reader import Trouble, read_events
from execledger.replay import output_bytes, replay
from execledger.trajectories.codex import Resolve
from execledger.trajectories.formats import read_run
from execledger.trajectories.journal import FORMAT as JOURNAL
from execledger.trajectories.journal import is_journal
from execledger.trajectories.recording import Run
from execledger.trajectories.usage import summed

TASK_LENGTH = 200
"""Characters of the task that stand in the list."""


class Sums(Struct, kw_only=True):
    """What a run came to."""

    steps: int = 0
    """Commands that the agent proposed."""
    turns: int = 0
    """Calls of the model."""
    reuses: int = 0
    """Commands that a reference answered before they ran."""
    elided: int = 0
    """Commands that ran, with a reference in place of their output."""
    nudges: int = 0
    """Commands with a remark behind their output."""
    rereads: int = 0
    """Redundant snippet re-reads."""
    view_bytes: int = 0
    """What state views added to the model's input."""
    input_tokens: int | None = None
    """Tokens of input, as the provider counted them; None where that is not recorded."""
    faults: int = 0
    """Faults of Ledger's own that were caught."""
    ended: str = ""
    """How it ended, in the agent's own word."""


class RunLine(Sums, kw_only=True):
    """One run in the list."""

    id: str
    """A digest of the name: what addresses of the page are made of."""
    name: str
    """Where it was found."""
    format: str = ""
    """The format that it is kept in."""
    agent: str = ""
    """The agent, with its version where that is recorded."""
    model: str = ""
    """The model."""
    task: str = ""
    """How the task begins."""
    saved_bytes: int = 0
    """What references kept out of the model's input, counted once for every later call of the model."""
    live: bool = False
    """More is to come."""
    pending: bool = False
    """It is not counted yet."""


class Origin(Struct, frozen=True, kw_only=True):
    """Which run it is."""

    name: str
    """Where it was found."""
    format: str
    """The format that it is kept in."""
    agent: str
    """The agent."""
    model: str
    """The model."""
    task: str
    """The text of the first task message."""

    @classmethod
    def of_run(cls, run: Run) -> Origin:
        """The origin that a recorded run tells."""
        return cls(name=run.name, format=run.format, agent=run.agent, model=run.model, task=run.task)

    @classmethod
    def of_journal(cls, name: str, start: Started) -> Origin:
        """The origin that the start of a journal tells."""
        return cls(name=name, format=JOURNAL, agent=start.agent, model=start.model, task=start.task)


class Count(Sums, kw_only=True):
    """A run, added up step by step."""

    over: bool = False
    """Its end is recorded."""
    _spared: int = 0
    _spared_turns: int = 0
    _asked: list[tuple[str, str | None, int]] = []

    def add(self, step: Step, turn: int, truth: Observation | None = None, *, again: bool = False) -> None:
        """Count a step; ``truth`` is what it really returned, where that is known otherwise than by the step."""
        shown, size = step.shown, self._size(step, truth)
        suppressed = isinstance(step.decision, Reuse) and shown.kind == "reference"
        self.steps += 1
        self.turns = max(self.turns, turn + 1)
        self.reuses += suppressed
        self.elided += shown.kind == "reference" and not suppressed
        self.nudges += shown.kind == "remark"
        self.rereads += again
        self._asked.append((step.action.command, step.action.cwd, size or 0))
        if shown.kind == "full" or size is None:
            return
        spared = (size if shown.kind == "reference" else 0) - len(shown.text.encode("utf-8", "replace"))
        self._spared += spared
        self._spared_turns += spared * (turn + 1)

    def _size(self, step: Step, truth: Observation | None) -> int | None:
        """Bytes of the true output. Of a command that did not run they are known only if it ran before as it stands."""
        if truth is not None:
            return output_bytes(truth)
        if step.shown.result is not None or step.shown.kind != "reference":
            return step.shown.result.size if step.shown.result else output_bytes(step.observation)
        same = (
            size
            for at in step.shown.refers_to
            for command, cwd, size in self._asked[at : at + 1]
            if (command, cwd) == (step.action.command, step.action.cwd)
        )
        return next(same, None)

    @property
    def saved_bytes(self) -> int:
        """What references kept out of the model's input, counted once for every later call of the model."""
        return self._spared * self.turns - self._spared_turns

    def add_view(self, text: str) -> None:
        """Count a state view."""
        self.view_bytes += len(text.encode("utf-8", "replace"))

    def add_event(self, event: Event) -> None:
        """Count an event of a journal."""
        match event:
            case StepRecorded():
                self.over = False
                self.add(event.step, event.turn, again=bool(event.reread))
            case ViewRendered():
                self.add_view(event.text)
            case FaultCaught():
                self.faults += 1
            case Ended():
                self.over, self.ended = True, event.reason
                self.input_tokens = event.input_tokens
                self.turns = max(self.turns, event.model_calls or 0)

    def add_run(self, run: Run) -> None:
        """Count what a recorded run tells besides its steps."""
        totals = run.totals or summed(list(run.model_calls))
        self.input_tokens = totals.input if totals is not None else None
        self.turns, self.ended, self.over = max(self.turns, run.turns), run.ended, True

    def line(self, origin: Origin, *, live: bool = False) -> RunLine:
        """The line in the list."""
        return RunLine(
            **{name: getattr(self, name) for name in Sums.__struct_fields__},
            id=run_id(origin.name),
            name=origin.name,
            format=origin.format,
            agent=origin.agent,
            model=origin.model,
            task=origin.task[:TASK_LENGTH],
            saved_bytes=self.saved_bytes,
            live=live,
        )


def run_id(name: str) -> str:
    """The id of the run that was found at ``name``."""
    return hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def counted(name: str, data: bytes, policy: Policy | None, resolve: Resolve | None) -> tuple[RunLine, bool]:
    """The line of one run, and whether its end is recorded; a journal tells what happened, another run is replayed."""
    count = Count()
    if policy is None and is_journal(data):
        events = read_events(name, data, Trouble())
        start = next(events)
        assert isinstance(start, Started), "read_events begins with the start"
        for event in events:
            if not isinstance(event, StepRecorded) or event.index == count.steps:
                count.add_event(event)
        return count.line(Origin.of_journal(name, start)), count.over
    run = read_run(name, data, resolve)
    count.add_run(run)
    for call in replay(run, policy):
        step = Step(call.recorded.action, call.decision, call.recorded.observation, call.shown)
        count.add(step, call.recorded.turn, call.recorded.observation, again=bool(call.reread))
        count.add_view(call.view.text if call.view is not None else "")
    count.steps = len(run.steps)
    return count.line(Origin.of_run(run)), True
