"""A recorded run, in the same shape for every agent: what was proposed and what came back, in order."""

from __future__ import annotations

from msgspec import Struct

from execledger.core.actions import Action, Observation


class Recorded(Struct, frozen=True):
    """One tool call that has a recorded result."""

    action: Action
    """What was proposed."""
    observation: Observation
    """What came back, as the model was shown it."""
    turn: int
    """Which model call proposed it, from 0: the model calls after it read its result again."""


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
