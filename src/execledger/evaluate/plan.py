"""The plan of an evaluation: an agent with a model, tasks, and arms that differ only in Ledger's switches.

A plan is a TOML file or options of ``execledger eval run``. Its digest covers every key that may change a result, and
not those that say how the work is distributed over processes and machines.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from execledger.agents.plan_keys import PlanKey, at_least_one, finite_limit
from execledger.agents.registry import Agent, agent_of, evaluated
from execledger.core.policy import Preset
from execledger.errors import LedgerError

SWITCHES: dict[str, tuple[str, ...] | None] = {
    "base": None,
    "inform": ("--no-govern",),
    "govern": ("--no-inform",),
    "both": (),
    "every": ("--cadence", "every"),
    "focused": ("--cadence", "focused"),
    "shadow": ("--shadow",),
}
"""Options of ``execledger run`` in each arm; None in the arm base, which runs the agent without Ledger."""
MOST_TRIALS = 1_000
"""Highest number of trials: each has a folder, which is looked into again and again."""
_AT = " - at `$"
"""The words between an error of msgspec and the path of the value."""
_KINDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "a text",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
}
"""The words for types in messages."""
_SLICE = re.compile(r"(?:-?\d+)?(?::(?:-?\d+)?){1,2}")
_SECRET = re.compile(r"(?:api_?key|secret|password|authorization|bearer_token)$", re.IGNORECASE)


NO_OPTIONS: Mapping[str, str] = {}
"""The options of values that all come from a plan."""


class EngineName(StrEnum):
    """Where the jobs of an evaluation run."""

    LOCAL = "local"
    """Processes on this machine."""
    RAY = "ray"
    """A Ray cluster whose machines share the output folder."""


class Cache(StrEnum):
    """Whether runs may share entries of the provider's prompt cache."""

    ISOLATED = "isolated"
    """They do not: the prompt of every run begins with another salt. Some agents send a cache key per session
    instead, which isolates runs if the provider follows it."""
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
    EVERY = "every"
    """Both paths, with the whole state view at every model call."""
    FOCUSED = "focused"
    """Both paths, with focused state views."""
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
    workers: int = 2
    """Number of parallel processes of the agent."""
    batch: int = 1
    """Number of tasks per process."""
    engine: EngineName = EngineName.LOCAL
    """Where jobs run."""
    address: str = ""
    """ray: address of the cluster; "" to start one on this machine."""
    own: dict[str, Any] = {}
    """Values of keys that belong to the agent (``PlanKey``), if they are not defaults; in the text of a plan these are
    keys like all others."""

    @classmethod
    def from_toml(cls, text: str, where: str = "plan") -> Plan:
        """Return the plan that a TOML text describes; ``where`` names it in errors."""
        try:
            values = tomllib.loads(text)
        except (ValueError, RecursionError) as error:
            raise LedgerError(f"{where} is not TOML: {error}") from None
        return cls.from_values(values, where)

    @classmethod
    def from_values(
        cls, values: Mapping[str, Any], where: str = "plan", options: Mapping[str, str] = NO_OPTIONS
    ) -> Plan:
        """Return the plan with these values; raises ``LedgerError`` if one is unknown or wrong, or it can't be run.

        ``options`` has the command line's options by their keys for values that were given there, for errors.
        """
        return cls.recorded(values, where, options).checked(where, options)

    @classmethod
    def recorded(cls, values: Mapping[str, Any], where: str = "plan", options: Mapping[str, str] = NO_OPTIONS) -> Plan:
        """Return the plan with these values, whether or not it can be run here; raises ``LedgerError`` for others."""
        unknown = [key for key in values if key not in keys()]
        if unknown:
            raise LedgerError(f"{where} has the unknown key `{unknown[0]}`", hint=f"allowed are: {', '.join(keys())}")
        try:
            # Undecodable bytes of a command line would only fail where the plan is stored.
            json.dumps(values, default=str, ensure_ascii=False).encode()
            plan = msgspec.convert({name: values[name] for name in values if name in GENERAL}, cls)
            return replace(plan, own=_own_values(plan.agent, values))
        except msgspec.ValidationError as error:
            hint = "every key is explained in docs/evaluate.md"
            raise LedgerError(_blamed(refused_value(error, values), where, options), hint=hint) from None
        except UnicodeEncodeError as error:
            raise LedgerError(f"{where}: found {_around(error)!r}, expected text in UTF-8") from None

    def checked(self, where: str = "plan", options: Mapping[str, str] = NO_OPTIONS) -> Plan:
        """Return the plan itself; raises ``LedgerError`` if it can't be run."""
        for fault in self._faults():
            raise LedgerError(_blamed(fault, where, options), hint="every key is explained in docs/evaluate.md")
        return self

    def _faults(self) -> Iterator[str]:
        checks = {"trials": at_least_one, "workers": at_least_one, "batch": at_least_one, "time_limit": finite_limit}
        for name, fault in checks.items():
            if said := fault(getattr(self, name)):
                yield f"`{name}` {said}"
        if self.trials > MOST_TRIALS:
            yield f"`trials` is {self.trials}, expected at most {MOST_TRIALS:,}"
        if unknown := self.unknown_agent:
            yield unknown
        if not self.arms or len(set(self.arms)) < len(self.arms):
            yield f"`arms` is {list(map(str, self.arms))}, expected each of at least one arm once"
        if self.slice and (not _SLICE.fullmatch(self.slice) or re.search(":.*:-?0+$", self.slice)):
            yield f"`slice` is {self.slice!r}, expected as in 0:50"
        known_keys = {key.name: key for key in plan_keys(self.agent)}
        for name, value in self.own.items():
            if name not in known_keys:
                yield f"`{name}` means nothing to {self.agent}"
            elif said := known_keys[name].fault(value):
                yield f"`{name}` {said}"
        for name in self.dotted():
            if _SECRET.search(name):
                # Plans are stored in plan.json.
                yield f"`settings` holds {name}, expected keys in the environment alone"

    def dotted(self) -> dict[str, Any]:
        """Return the agent's settings by their dotted names."""
        return dict(_dotted(self.settings, ""))

    def agent_values(self) -> dict[str, Any]:
        """Return the values of the keys that belong to the agent, defaults included."""
        return {key.name: self.own.get(key.name, key.default) for key in plan_keys(self.agent)}

    def values(self) -> dict[str, Any]:
        """Return all values by their keys, as plain data: what ``from_values`` reads back."""
        fields: dict[str, Any] = msgspec.to_builtins(self)
        del fields["own"]
        own: dict[str, Any] = msgspec.to_builtins(self.agent_values() | self.own)
        return fields | own

    @property
    def unknown_agent(self) -> str:
        """What is wrong with the name of the agent, as in a plan that a newer version stored; "" if it is known."""
        known = [one.key for one in evaluated()]
        return "" if self.agent in known else f"`agent` is {self.agent!r}, expected {' or '.join(known)}"

    @property
    def record(self) -> Agent:
        """The agent in the registry."""
        found = agent_of(self.agent)
        assert found is not None, "a plan that was checked names a registered agent"
        return found

    def matters(self) -> dict[str, Any]:
        """Return the values that may change a result, as plain data."""
        return {name: value for name, value in self.values().items() if name not in distribution_keys()}

    def digest(self) -> str:
        """Return a short digest of the values that may change a result."""
        spelled = msgspec.json.encode(self.matters(), order="deterministic")
        return hashlib.sha256(spelled).hexdigest()[:16]


def difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """Describe the differences between two tables; "" if there are none."""
    names = [name for name in dict.fromkeys([*before, *after]) if before.get(name) != after.get(name)]
    return "; ".join(f"`{name}` was {before.get(name)!r} and is {after.get(name)!r}" for name in names)


def _blamed(fault: str, where: str, options: Mapping[str, str]) -> str:
    """Return a fault, which begins with its key, with the option that the value came from, else with the plan."""
    named = re.match(r"`(\w+)[^`]*`", fault)
    if named is None or named[1] not in options:
        return f"{where}: {fault}"
    return f"`{options[named[1]]}`{fault[named.end() :]}"


def _around(error: UnicodeEncodeError) -> str:
    """Return the word that can't be encoded, of a text in JSON."""
    before, after = error.object[: error.start], error.object[error.start :]
    return before.rpartition('"')[2] + after.partition('"')[0]


def refused_value(error: msgspec.ValidationError, values: Mapping[str, Any]) -> str:
    """Describe a value that is refused: its key, what was found, and what was expected."""
    complaint, _, path = str(error).partition(_AT)
    place = path.rstrip("`").removeprefix(".")
    if not place:
        return f"{complaint[0].lower()}{complaint[1:]}"
    found: Any = values
    for step in re.findall(r"\w+", place):
        found = found[step] if isinstance(found, Mapping) else found[int(step)]
    kinds = re.match(r"Expected `([\w |]+)`", complaint)
    allowed = _ALLOWED.get(place.partition("[")[0])
    if kinds:
        words = " or ".join(_KINDS.get(kind, kind) for kind in kinds[1].split(" | ") if kind != "null")
    elif allowed:
        words = " or ".join(allowed)
    else:
        return f"`{place}` is {found!r}: {complaint}"
    return f"`{place}` is {found!r}, expected {words}"


def _dotted(table: Mapping[str, Any], lead: str) -> Iterator[tuple[str, Any]]:
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _dotted(value, f"{lead}{name}.")
        else:
            yield f"{lead}{name}", value


_ALLOWED: dict[str, type[StrEnum]] = {"arms": ArmName, "cache": Cache, "preset": Preset, "engine": EngineName}
"""The words that a key may have."""
GENERAL = tuple(name for name in Plan.__struct_fields__ if name != "own")
"""The keys that every agent has."""


def plan_keys(agent: str) -> tuple[PlanKey, ...]:
    """Return the keys that belong to an agent, given by its key in the registry."""
    return next((one.plan_keys for one in evaluated() if one.key == agent), ())


def keys() -> tuple[str, ...]:
    """Return every key of a plan, those of agents included."""
    return tuple(dict.fromkeys([*GENERAL, *(key.name for one in evaluated() for key in one.plan_keys)]))


def distribution_keys() -> frozenset[str]:
    """Return the keys that say how the work is distributed, and may change from one call to the next."""
    own = (key.name for one in evaluated() for key in one.plan_keys if key.distributes)
    return frozenset(("program", "workers", "batch", "engine", "address", *own))


def _own_values(agent: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of agents' keys that are not defaults; those of other agents' keys are kept for the error."""
    found: dict[str, Any] = {}
    for name in values.keys() - {*GENERAL}:
        own = [key for key in plan_keys(agent) if key.name == name]
        same = own or [key for one in evaluated() for key in one.plan_keys if key.name == name]
        try:
            value = msgspec.convert(values[name], same[0].kind)
        except msgspec.ValidationError as error:
            complaint, _, path = str(error).partition(_AT)
            raise msgspec.ValidationError(f"{complaint}{_AT}.{name}{path.rstrip('`')}`") from None
        if value not in [key.default for key in same]:
            found[name] = value
    return dict(sorted(found.items()))
