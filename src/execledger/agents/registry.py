"""The registry of agents: one line for each, the package that holds all that Ledger knows of it.

Such a package has one record, ``AGENT``. It says what the agent is called, in which versions it was tested, and where
in the package its parts are: the launcher, the adapter for the proxy, the formats of its recorded runs, the runner of
evaluations. ``execledger run``, ``proxy``, ``doctor``, ``eval`` and ``replay`` read these records, and import a part
when they need it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

import msgspec
from msgspec import Struct

from execledger.agents.places import RunPlace
from execledger.agents.plan_keys import PlanKey
from execledger.core.policy import Policy
from execledger.errors import LedgerError
from execledger.extras import install_command
from execledger.proxy.clients import Client, Clients
from execledger.session.adapter import Adapter, Calls, Signs, ToolCall

PACKAGES: tuple[str, ...] = (
    "execledger.agents.mini",
    "execledger.agents.codex",
    "execledger.agents.claude",
    "execledger.agents.opencode",
    "execledger.agents.copilot",
    "execledger.agents.pi",
    "execledger.agents.gemini",
    "execledger.agents.qwen",
    "execledger.agents.openhands",
    "execledger.agents.swe_agent",
    "execledger.agents.inspect_ai",
)
"""The packages of all agents, in the order in which they are listed."""

REFUSED: Mapping[str, tuple[str, str]] = {
    "aider": ("Aider uses no tools: it sends whole files in its prompt", "nothing in its sessions could be omitted"),
    "amp": ("Amp reaches its models only through its own server, whose address can't be replaced", "use another agent"),
}
"""Programs of agents that Ledger can't be put around, with the reason and a hint."""

OURS = "ledger-"
"""Prefix of an agent's name in engines, if it runs with Ledger."""

Version: TypeAlias = tuple[int, ...]
"""The numbers of a version."""
Problems: TypeAlias = Callable[[str, Callable[[list[str]], tuple[str, int | None]]], Iterator[tuple[str, str]]]
"""Takes the Python of an agent and a function that runs a command and gives its output and exit status; yields what
keeps the agent from working with Ledger, and how to repair it."""


class Option(Struct, frozen=True, kw_only=True):
    """An option of ``execledger run`` that belongs to one agent."""

    name: str
    """Its spelling, such as ``--upstream``."""
    help: str
    """Its help text."""
    choices: tuple[str, ...] = ()
    """The values that it takes, if these are few."""
    metavar: str = ""
    """The word for its value in the help text; an option with neither choices nor this is a flag."""


SEALED = Option(name="--sealed", help="it has this machine to itself, as in a container.")
"""The user's promise that nothing but the agent's own commands writes files here: proven reuses need not run."""
PROXY_OPTIONS = (
    Option(name="--upstream", metavar="URL", help="a server that speaks the same API as its own, in place of it."),
    SEALED,
    Option(name="--pass-through", help="change nothing, not a byte."),
)
"""The options of agents that reach their model through the proxy."""
HOOKS = Option(name="--hooks", help="have its hooks report exit codes and directories of commands that ended.")
"""The option of agents whose hooks report what their requests lack."""


class Launch(Struct, frozen=True, kw_only=True):
    """The options of one call of ``execledger run``."""

    policy: Policy
    """The policy."""
    journals: Path | None
    """The folder for journals; None if none are written."""
    asked: Mapping[str, object]
    """The fields of the policy that the user set, and no defaults: the agent's own configuration may set others."""
    options: Mapping[str, Any]
    """The agent's own options that the user gave, by name."""


class StandingSettings(Protocol):
    """Edits an agent's settings of the user, which its terminal and its editors' extensions read."""

    def file(self, environment: Mapping[str, str]) -> Path:
        """The file of settings."""
        ...

    def upstream(self, environment: Mapping[str, str]) -> str:
        """The address that the agent would use without Ledger."""
        ...

    def web_proxies(self, environment: Mapping[str, str]) -> Mapping[str, str] | None:
        """The web proxies that these settings name, by scheme, and as ``no`` the hosts without one; None for none."""
        ...

    def with_address(self, text: bytes | None, url: str, upstream: str, path: Path) -> bytes:
        """The text of the file with the proxy's address in it; raises ``LedgerError`` if that can't be undone."""
        ...

    def without_address(self, text: bytes, path: Path) -> bytes | str | None:
        """The text without it, None to delete the file, or why nothing is to be changed."""
        ...


class Agent(Struct, frozen=True, kw_only=True):
    """One agent. A part is named as ``.module:name``, relative to the agent's package; "" if the agent lacks it."""

    folder: str
    """The package that holds the agent's parts."""
    name: str
    """The agent's name."""
    programs: tuple[str, ...]
    """Its programs; the first one is named in messages."""
    aliases: tuple[str, ...] = ()
    """Other names of the same programs."""
    names: tuple[str, ...] = ()
    """What other programs call the agent, beside the names of its programs: engines, and converters of records."""
    offers: frozenset[str] = frozenset()
    """Tools that no other agent offers together: they identify it where nothing names it."""
    use: Literal["run", "load", "read"]
    """``run``: Ledger can be around it; ``load``: it loads Ledger itself, if ``EXECLEDGER=on``; ``read``: only its
    recorded runs can be read."""
    package: str = ""
    """The Python package that it is; "" if it is a program that prints its version itself."""
    extra: str = ""
    """The extra of ours that it needs."""
    modules: tuple[str, ...] = ()
    """The modules that this extra installs, if it is one of the agent's own."""
    install: str = ""
    """The command that installs the agent; "" if our extra does."""
    oldest: Version = ()
    """The oldest version that works."""
    newer_need: str = ""
    """What versions that work need and older ones do not, as a sentence for the doctor; "" if nothing."""
    tested: tuple[str, ...] = ()
    """The versions that the tests run against a scripted model, the newest last."""
    options: tuple[Option, ...] = ()
    """Its own options of ``execledger run``."""
    instead: Mapping[str, str] = {}
    """For options of other agents: what to do with this one."""
    launcher: str = ""
    """``start(program, arguments, launch) -> exit status``: runs the agent with Ledger."""
    problems: str = ""
    """Checks of the doctor, a ``Problems``; only for agents that are Python packages."""
    adapter: str = ""
    """The module that is its ``Adapter`` for the proxy."""
    dialects: tuple[str, ...] = ()
    """The wire dialects that it speaks, by the names of their modules in ``proxy/dialects``."""
    signs: Signs = Signs()
    """What identifies its requests at a proxy that several agents use."""
    standing: str = ""
    """The module that is its ``StandingSettings``: the user's settings with the address of a standing proxy."""
    formats: str = ""
    """The formats of its recorded runs, a tuple of ``Format``."""
    kept: str = ""
    """What it keeps beyond one file for each run, a ``runs.find.Kept``."""
    places: tuple[RunPlace, ...] = ()
    """Where it keeps the recorded runs of this user."""
    batch: str = ""
    """The module that is its ``Runner`` of evaluations."""
    batch_program: str = ""
    """The program that its runner starts."""
    plan_keys: tuple[PlanKey, ...] = ()
    """The keys of an evaluation's plan that belong to it."""
    isolation: Literal["salt", "cache key", "prompt salt"] = "prompt salt"
    """What keeps its runs apart in a provider's prompt cache: a salt at the start of the system prompt; a cache key
    that it sends with each session; or a salt at the start of the task's prompt, after instructions and tools that are
    the same in all runs."""
    journal_names: str = ""
    """``journal_names(file, data) -> Iterator[str | Path]``: the journal of a run in ``file``, as the path that the
    record holds or as patterns of the journal's name; nothing if the file is not one of this agent."""
    records: tuple[str, ...] = ()
    """The files of recorded runs in the folder of a finished task, as patterns, where its runner has places of its own
    for them."""
    calls: str = ""
    """Its ``Calls``, for runs that other programs recorded or carry out; "" if that is its adapter for the proxy."""
    free_text: frozenset[str] = frozenset()
    """Tools that take free text and no arguments; other programs keep it as the argument ``input``."""
    framed: str = ""
    """Pattern of how a result begins, if the agent itself put its marks around it; "" if it has no such marks."""

    @property
    def key(self) -> str:
        """The word for the agent in options and messages: its first program."""
        return self.programs[0]

    def part(self, name: str) -> Any:
        """Import the part that a field of this record names."""
        module, _, attribute = getattr(self, name).partition(":")
        found = import_module(module, self.folder)
        return getattr(found, attribute) if attribute else found

    def tool_calls(self) -> Calls | None:
        """Its ``Calls``; None if Ledger does not know its tools."""
        field = "calls" if self.calls else "adapter"
        found: Calls | None = self.part(field) if getattr(self, field) else None
        return found

    def call_of(self, tool: str, arguments: object) -> ToolCall:
        """A call of a tool with the arguments that another program kept."""
        given = arguments if isinstance(arguments, dict) else {}
        if tool in self.free_text and given.keys() == {"input"} and isinstance(given["input"], str):
            return ToolCall(tool, given["input"], custom=True)
        return ToolCall(tool, msgspec.json.encode(arguments).decode())

    def how_to_install(self) -> str:
        """The command that installs the agent."""
        return self.install or install_command(self.extra)


@cache
def _records(packages: tuple[str, ...]) -> tuple[Agent, ...]:
    """The records of these packages."""
    return tuple(import_module(package).AGENT for package in packages)


def agents() -> tuple[Agent, ...]:
    """Every registered agent."""
    return _records(PACKAGES)


def agent_of(program: str) -> Agent | None:
    """The agent that a program, given by name or path, belongs to; None if it is no agent's."""
    name = Path(program).name
    return next((one for one in agents() if name in one.programs + one.aliases), None)


def agent_named(name: str) -> Agent | None:
    """The agent that another program calls by this name, such as ``gemini-cli``; None if no agent is called so."""
    word = re.sub(r"[\s_]+", "-", name.strip().lower()).removeprefix(OURS)
    return next((one for one in agents() if word in one.programs + one.aliases + one.names), None)


def agent_offering(tools: Iterable[str]) -> Agent | None:
    """The agent that these tools identify; None if they identify none, or several."""
    offered = frozenset(tools)
    found = [one for one in agents() if one.offers and one.offers <= offered]
    return found[0] if len(found) == 1 else None


def evaluated() -> tuple[Agent, ...]:
    """The agents that can be evaluated."""
    return tuple(one for one in agents() if one.batch)


def proxied() -> tuple[Agent, ...]:
    """The agents that reach their model through the proxy."""
    return tuple(one for one in agents() if one.adapter)


def proxy_adapter(agent: str = "", dialect: str = "") -> Adapter:
    """The adapter of an agent, given by its key, or of the first agent that speaks a dialect."""
    found = [one for one in proxied() if (agent in ("", one.key)) and (not dialect or dialect in one.dialects)]
    if not found:
        known = "; ".join(f"{one.key}: {', '.join(one.dialects)}" for one in proxied())
        raise LedgerError(f"no adapter for {agent or 'any agent'} and {dialect or 'any dialect'}", hint=known)
    adapter: Adapter = found[0].part("adapter")
    return adapter


def proxy_clients() -> Clients:
    """The choice of the adapter for each request of a proxy that any of the agents may use."""
    return Clients([Client(name=one.key, adapter=one.part("adapter"), signs=one.signs) for one in proxied()])


def parsed(version: str) -> Version:
    """The numbers at the beginning of a version; () if there are none."""
    numbers = re.match(r"\d{1,9}(?:\.\d{1,9})*", version)
    return tuple(map(int, numbers[0].split("."))) if numbers else ()
