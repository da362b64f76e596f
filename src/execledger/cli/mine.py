"""The user's own sessions, for ``execledger replay --mine``: where agents keep them, and how many were read."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct, to_builtins

from execledger.agents.registry import agents
from execledger.evaluate.counterfactual import Counterfactual
from execledger.runs.account import Net, dollars, share


class Looked(Struct):
    """A place that was looked at."""

    agent: str
    """The agent that keeps sessions there."""
    place: str
    """The pattern of paths."""
    paths: tuple[str, ...]
    """What is there."""
    sessions: int = 0
    """Sessions read from it."""

    def sentence(self) -> str:
        """What was found there, in words."""
        many = f"{self.sessions:,} session{'' if self.sessions == 1 else 's'}" if self.paths else "nothing there"
        return f"{self.agent}: {self.place}: {many}"


class Mine:
    """The places of all registered agents."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        """Look for these places as the agents themselves would, in this environment."""
        self.looked: list[Looked] = [*_places(environment)]

    @property
    def paths(self) -> tuple[str, ...]:
        """The files and folders that are there."""
        return tuple(path for one in self.looked for path in one.paths)

    def count(self, name: str) -> None:
        """Count a session that was read from the source ``name``."""
        for one in self.looked:
            if any(name == path or name.startswith((f"{path}{os.sep}", f"{path}!")) for path in one.paths):
                one.sessions += 1
                return

    def sentences(self) -> Iterator[str]:
        """The places and what was found there, one line each."""
        yield "looked for sessions of your agents:"
        yield from (f"  {one.sentence()}" for one in self.looked)

    def fields(self) -> list[dict[str, Any]]:
        """The same for JSON."""
        return [to_builtins(one) for one in self.looked]


def _places(environment: Mapping[str, str]) -> Iterator[Looked]:
    """The places of all agents; one that two patterns lead to is looked at once."""
    seen: set[str] = set()
    for agent in agents():
        for place in agent.places:
            pattern = place.pattern(environment)
            if pattern not in seen:
                seen.add(pattern)
                yield Looked(agent.name, pattern, tuple(place.found(environment)))


def redundant(found: Counterfactual, worth: Net, calls: int) -> str:
    """What was redundant in the sessions, and what it cost, in one sentence."""
    many = sum(one.calls for one in found.classes.values())
    cost = sum(one.there.dollars for one in found.classes.values())
    of = f", {share(cost / worth.own)} of the {worth.cost_of('session')}" if worth.own else ""
    return (
        f"Redundant in your sessions: {many:,} of {calls:,} calls; sending what they showed again cost "
        f"{dollars(cost)}{of}."
    )
