"""A recorded run, in the same shape for every agent: what was proposed and what came back, in order."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from execledger.core.policy import Policy
from execledger.runs.usage import ModelCall
from execledger.vocabulary.actions import Action, Observation
from execledger.vocabulary.decisions import Step
from execledger.vocabulary.sightings import Sighting


class Governed(Struct, frozen=True):
    """What Ledger made of a call while the run was live."""

    step: Step
    """The completed step: the decision with its proof, and what was shown."""
    sealed: bool
    """Nothing but the agent's own commands could write when it was decided."""
    since: int
    """The first step whose result was still visible when it was decided."""
    view: str | None
    """The state view that the model read before it; "" if there was none, None where it was not kept."""
    sightings: tuple[Sighting, ...] = ()
    """What a witness found in the files between the step before and this one, of any thread."""


class ModelReply(Struct, frozen=True):
    """What one call of the model wrote beside its tool calls, and when; nothing of it decides anything in a replay."""

    text: str = ""
    """The text for the reader, without calls and without reasoning; empty where there is none."""
    at: float | None = None
    """When it was recorded, in seconds since 1970; None where the run does not tell."""


class Recorded(Struct, frozen=True):
    """One tool call that has a recorded result."""

    action: Action
    """What was proposed."""
    observation: Observation
    """What came back, as the model was shown it."""
    turn: int
    """Which model call proposed it, from 0: the model calls after it read its result again."""
    governed: Governed | None = None
    """What Ledger made of it; None where it took no part in the run, or did not record it."""
    inherits: int | None = None
    """The call of another thread that this thread was born with: it was made once, and is only seen here."""
    at: float | None = None
    """When it was recorded with its result, in seconds since 1970; None where the run does not tell."""
    seconds: float | None = None
    """How long it ran, where the run itself says so; None where it does not."""
    suppressed: bool = False
    """Ledger answered it with a reference before running, in a log that does not hold what it made of its calls."""

    @property
    def ran(self) -> bool:
        """Whether it was run; False if Ledger answered it with a reference before running."""
        return not (self.suppressed or (self.governed is not None and self.governed.step.suppressed))


class Run(Struct, frozen=True):
    """One agent's work on one task."""

    name: str
    """Where it was found: the file's path as given, or ``archive.tar.xz!member``."""
    format: str
    """The format that it is kept in, such as ``mini-swe-agent-1.1``."""
    agent: str
    """The agent, with its version where that is recorded."""
    model: str
    """The model; empty where it is not recorded."""
    task: str
    """The text of the first task message; empty where there is none."""
    container: bool
    """The commands ran in a container of the agent's own; False where that is not known."""
    turns: int
    """How many calls of the model the run made."""
    steps: tuple[Recorded, ...]
    """The calls that have a recorded result, in order."""
    compactions: tuple[int, ...] = ()
    """The steps before which the context was compacted: earlier results were no longer visible from there on."""
    model_calls: tuple[ModelCall, ...] = ()
    """What each call of the model took, in order; empty where the run does not tell."""
    totals: ModelCall | None = None
    """What all calls of the model took together, as the agent added it up; None where it did not."""
    instance: str = ""
    """The task's name, such as an instance of SWE-bench, where the run tells."""
    ended: str = ""
    """How the run ended, in the agent's own word, where the run tells."""
    failed: bool = False
    """An error ended the run, and its record says so: without model calls, what it took is unknown."""
    parallel: bool = False
    """The calls of one turn may have run side by side."""
    trouble: tuple[str, ...] = ()
    """What was not as it should be in its file, though the run could be read."""
    policy: Policy | None = None
    """The policy that Ledger followed, or was asked to follow in a run that ended before it could; None where it took
    no part, or did not record it."""
    without_ledger: str = ""
    """Why Ledger took no part although it was asked to, where the run tells: then it belongs to no arm."""
    trial: int = 1
    """Which of several runs of the same task it is, from 1, where the run tells."""
    resolved: bool | None = None
    """Whether the task was solved, where the record of the run says so; None where it does not."""
    replies: tuple[ModelReply, ...] = ()
    """What each call of the model wrote, in the order that ``Recorded.turn`` counts; empty if the run does not tell."""

    @property
    def reported_cost(self) -> float | None:
        """Dollars as the agent recorded them: in all, else call by call; None where it did not."""
        if self.totals is not None and self.totals.cost is not None:
            return self.totals.cost
        costs = [call.cost for call in self.model_calls if call.cost is not None]
        return sum(costs) if costs else None

    @property
    def started(self) -> float | None:
        """The first time that is recorded in it, in seconds since 1970; None where there is none."""
        times = (*(one.at for one in self.replies[:1]), *(one.at for one in self.steps[:1]))
        return next((at for at in times if at is not None), None)

    @property
    def took_part(self) -> bool:
        """Whether Ledger took part in it, and not in shadow mode: what it took is what is left after Ledger's edits."""
        return self.policy is not None and not self.policy.shadow

    @property
    def governed(self) -> bool:
        """Whether it was read from a journal, which has the views that were shown, and no tokens written to a cache."""
        return any(recorded.governed is not None for recorded in self.steps)

    @property
    def had_views(self) -> bool:
        """Whether state views may have been sent in it, so that its counts do not tell how a cache does without them.

        In shadow mode there are none, nor where the policy has none, nor where its journal has none.
        """
        if self.policy is not None and (self.policy.shadow or not self.policy.inform):
            return False
        return any(recorded.governed is not None and recorded.governed.view != "" for recorded in self.steps)


def told_replies(replies: Iterable[ModelReply]) -> tuple[ModelReply, ...]:
    """The replies, if any of them has a text or a time; otherwise none."""
    kept = tuple(replies)
    return kept if any(reply != ModelReply() for reply in kept) else ()


def windowed(size: int, steps: int) -> tuple[int, ...]:
    """The compactions that stand for a context in which only the last ``size`` results are kept.

    Every ``size`` steps all is forgotten: what is called visible then always is, though not all that is.
    """
    return tuple(range(size, steps, size))
