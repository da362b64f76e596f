"""The plan of an evaluation: an agent with a model, tasks, and arms that differ only in Ledger's switches.

A plan is a TOML file or options of ``execledger eval run``. Its digest covers every key that may change a result, and
not those that say how the work is distributed over processes and machines.
"""

from __future__ import annotations

import hashlib
import math
import re
import tomllib
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any

import msgspec
from msgspec import Struct

from execledger.agents.evaluation import PLACE
from execledger.agents.registry import Agent, agent_of, evaluated
from execledger.core.policy import Preset
from execledger.errors import LedgerError

SWITCHES: dict[str, tuple[str, ...] | None] = {
    "base": None,
    "inform": ("--no-govern",),
    "govern": ("--no-inform",),
    "both": (),
    "shadow": ("--shadow",),
}
"""Options of ``execledger run`` in each arm; None in the arm base, which runs the agent without Ledger."""
PROMPT = f"""The working directory is the repository of a project. Below is an issue that was reported for it.
Repair the project's code so that the issue is resolved, in a way that fits the rest of the code. Leave the existing
tests and the set-up of the project as they are. You work alone: nobody answers questions. Commit nothing.

<pr_description>
{PLACE}
</pr_description>"""
"""Default prompt for Codex."""
_SECRET = re.compile(r"(?:api_?key|secret|password|authorization|bearer_token)$", re.IGNORECASE)


class EngineName(StrEnum):
    """Where the jobs of an evaluation run."""

    LOCAL = "local"
    """Processes on this machine."""
    RAY = "ray"
    """A Ray cluster whose machines share the output folder."""


class Cache(StrEnum):
    """Whether runs may share entries of the provider's prompt cache."""

    ISOLATED = "isolated"
    """They do not: the prompt of every run begins with another salt. Codex sends a cache key per session instead, which
    isolates runs if the provider follows it."""
    SHARED = "shared"
    """They may, so tokens and cost depend on the order of runs."""


class ArmName(StrEnum):
    """The arms of the paper, and a control arm."""

    BASE = "base"
    """The agent without Ledger."""
    INFORM = "inform"
    """The state view alone."""
    GOVERN = "govern"
    """The governing policy alone."""
    BOTH = "both"
    """Both paths: the full system."""
    SHADOW = "shadow"
    """Ledger records and changes nothing: a difference from base is chance, or an error of the evaluation."""


PAPER = (ArmName.BASE, ArmName.INFORM, ArmName.GOVERN, ArmName.BOTH)
"""The arms of the paper."""


class Plan(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The plan of an evaluation."""

    agent: str = "mini"
    """The agent, by the name of its program."""
    model: str = ""
    """The model, as the agent names it; "" for that of the agent's own configuration."""
    reasoning_effort: str = ""
    """Reasoning effort, in the provider's terms; "" for the provider's default."""
    settings: dict[str, Any] = {}
    """Further settings of the agent, by its own dotted names or as tables."""
    config: tuple[str, ...] = ("swebench.yaml",)
    """mini: its configuration files, in order."""
    prompt: str = PROMPT
    """codex: the prompt; ``{problem_statement}`` is replaced by the task."""
    direct_tools: bool = False
    """codex: use, in every arm, the same model catalog in which tools are called directly."""
    step_limit: int | None = None
    """mini: model calls per task; None is the agent's own limit."""
    cost_limit: float | None = None
    """mini: dollars per task; None is the agent's own limit."""
    time_limit: int | None = None
    """Seconds per task; None is the agent's own limit."""
    subset: str = "verified"
    """The dataset: a short name of SWE-bench, a name on the hub, or a folder with one file per split."""
    split: str = "test"
    """The split."""
    instances: tuple[str, ...] = ()
    """Names of the tasks; empty for all."""
    slice: str = ""
    """Slice of the tasks, as in ``0:50``."""
    arms: tuple[ArmName, ...] = PAPER
    """The arms."""
    cache: Cache = Cache.ISOLATED
    """Whether runs may share the provider's prompt cache."""
    seed: int | None = None
    """Seed of the order of the arms; None for a random one."""
    preset: Preset = Preset.VERIFIED
    """Preset of every arm with Ledger."""
    trials: int = 1
    """Number of runs per arm and task."""
    program: str = ""
    """The agent's program; "" to find it on the path."""
    repos: str = ""
    """codex: a folder with a prepared repository per task; "" to use the tasks' container images."""
    docker: str = "docker"
    """codex: the container program."""
    variables: tuple[str, ...] = ("OPENAI_API_KEY", "CODEX_API_KEY")
    """codex: names of environment variables that are passed to containers."""
    workers: int = 2
    """Number of parallel processes of the agent."""
    threads: int = 1
    """mini: number of parallel tasks in one process."""
    batch: int = 1
    """Number of tasks per process."""
    engine: EngineName = EngineName.LOCAL
    """Where jobs run."""
    address: str = ""
    """ray: address of the cluster; "" to start one on this machine."""

    @classmethod
    def from_toml(cls, text: str, where: str = "plan") -> Plan:
        """Return the plan that a TOML text describes; ``where`` names it in errors."""
        try:
            values = tomllib.loads(text)
        except (ValueError, RecursionError) as error:
            raise LedgerError(f"{where} is not TOML: {error}") from None
        return cls.from_values(values, where)

    @classmethod
    def from_values(cls, values: Mapping[str, Any], where: str = "plan") -> Plan:
        """Return the plan with these values; raises ``LedgerError`` if one is unknown or wrong."""
        unknown = [key for key in values if key not in cls.__struct_fields__]
        if unknown:
            allowed = ", ".join(cls.__struct_fields__)
            raise LedgerError(f"{where} has the unknown key `{unknown[0]}`", hint=f"allowed are: {allowed}")
        try:
            plan = msgspec.convert(dict(values), cls)
        except (msgspec.ValidationError, UnicodeEncodeError) as error:
            raise LedgerError(f"{where}: {error}", hint="every key is explained in docs/evaluate.md") from None
        return plan.checked(where)

    def checked(self, where: str = "plan") -> Plan:
        """Return the plan itself; raises ``LedgerError`` if it can't be run."""
        for fault in self._faults():
            raise LedgerError(f"{where}: {fault}", hint="every key is explained in docs/evaluate.md")
        return self

    def _faults(self) -> Iterator[str]:
        for name in ("trials", "workers", "threads", "batch"):
            if getattr(self, name) < 1:
                yield f"`{name}` is {getattr(self, name)}, expected at least 1"
        for name in ("step_limit", "cost_limit", "time_limit"):
            if (limit := getattr(self, name)) is not None and not 0 < limit < math.inf:
                yield f"`{name}` is {limit}, expected more than 0 and finite"
        known = [one.key for one in evaluated()]
        if self.agent not in known:
            yield f"`agent` is {self.agent!r}, expected {' or '.join(known)}"
        if not self.arms or len(set(self.arms)) < len(self.arms):
            yield f"`arms` is {list(map(str, self.arms))}, expected each of at least one arm once"
        if self.slice and not re.fullmatch(r"-?\d*(?::-?\d*){1,2}", self.slice):
            yield f"`slice` is {self.slice!r}, expected as in 0:50"
        if PLACE not in self.prompt:
            yield f"`prompt` does not hold {PLACE}"
        for name in self._meaningless:
            if getattr(self, name) != getattr(_DEFAULT, name):
                yield f"`{name}` means nothing to {self.agent}"
        for name in self.dotted():
            if _SECRET.search(name):
                # Plans are stored in plan.json.
                yield f"`settings` holds {name}, expected keys in the environment alone"

    def dotted(self) -> dict[str, Any]:
        """Return the agent's settings by their dotted names."""
        return dict(_dotted(self.settings, ""))

    @property
    def _meaningless(self) -> tuple[str, ...]:
        """Keys that are meant for other agents."""
        return tuple(key for one in evaluated() if one.key != self.agent for key in one.plan_keys)

    @property
    def record(self) -> Agent:
        """The agent in the registry."""
        found = agent_of(self.agent)
        assert found is not None, "a plan that was checked names a registered agent"
        return found

    def matters(self) -> dict[str, Any]:
        """Return the values that may change a result, as plain data."""
        values: dict[str, Any] = msgspec.to_builtins(self)
        return {name: value for name, value in values.items() if name not in (*HOW, *self._meaningless)}

    def digest(self) -> str:
        """Return a short digest of the values that may change a result."""
        spelled = msgspec.json.encode(self.matters(), order="deterministic")
        return hashlib.sha256(spelled).hexdigest()[:16]


def difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """Describe the differences between two tables; "" if there are none."""
    names = [name for name in dict.fromkeys([*before, *after]) if before.get(name) != after.get(name)]
    return "; ".join(f"`{name}` was {before.get(name)!r} and is {after.get(name)!r}" for name in names)


def _dotted(table: Mapping[str, Any], lead: str) -> Iterator[tuple[str, Any]]:
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _dotted(value, f"{lead}{name}.")
        else:
            yield f"{lead}{name}", value


_DEFAULT = Plan()
HOW = ("program", "repos", "docker", "variables", "workers", "threads", "batch", "engine", "address")
"""Keys that say how the work is distributed, and may change from one call to the next."""
