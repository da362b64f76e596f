"""One attempt at a sample as Inspect runs it: which agent asks, in which sandbox, with which options."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from inspect_ai.agent import current_agent_bridge_context
from inspect_ai.log import transcript
from inspect_ai.util import SandboxEnvironment, current_span_id, sandbox
from msgspec import Struct

from execledger.agents import registry
from execledger.agents.inspect_ai.tools import ADAPTER, KEY, SCORING, SEALED, is_native
from execledger.agents.mini.adapter import ADAPTER as MINI
from execledger.core.policy import Cadence, Policy, Preset, WitnessSetting
from execledger.errors import LedgerError
from execledger.inspect.messages import Message
from execledger.inspect.registry import note_absence
from execledger.inspect.sample import AskedTurn, Asker, SampleLedger, Suppressed
from execledger.journal.events import policy_fields
from execledger.journal.folder import journal_folder
from execledger.proxy.book import Rules
from execledger.runs.usage import ModelCall, Tokens, recorded_cost
from execledger.version import __version__

OPTIONS = "EXECLEDGER_OPTIONS"
"""The variable that holds the options, such as ``preset=paper,inform=false``."""
LOCAL = "local"
"""The type of sandbox that is a folder of this machine."""
SECONDS = 20
"""How long the sandbox may take to say where commands start."""
LOGIN_SHELL = ("bash", "--login", "-c", "pwd")
"""Prints where the commands of the tool ``bash`` start: it is how they are started."""
MINI_PROCESS = (
    "sh",
    "-c",
    "for p in /proc/[0-9]*; do tr '\\0' ' ' <$p/cmdline 2>/dev/null | grep -q 'resumable_agent[.]ResumableAgent' "
    "&& readlink $p/cwd; done | sort -u",
)
"""Prints where the processes of mini-swe-agent in a sandbox were started, which is where its commands start."""
REWRITTEN = frozenset({"gemini"})
"""Agents whose calls and results Inspect's bridge rewrites: equal calls get one id, which is not the one that the model
gave, and results become JSON text. Ledger takes no part in their runs."""

UNKNOWN = "the tools that the model was offered are not those of an agent that Ledger knows"
"""Why it takes no part where it can't say what a call does."""
NO_TOOLS = "the model was offered no tools"
"""Why it takes no part where there is nothing to judge."""
LEFT_ALONE = "it left model calls alone, after a fault of its own or while it was paused"
"""Why it takes no part where it could."""


class InspectOptions(Struct, frozen=True, forbid_unknown_fields=True):
    """The options of ``EXECLEDGER_OPTIONS``."""

    preset: Preset = Preset.VERIFIED
    """The proof that a reuse needs."""
    inform: bool = True
    """Place the state view."""
    govern: bool = True
    """Judge actions and compare results."""
    shadow: bool = False
    """Record what would be done, and change nothing."""
    witness: WitnessSetting = WitnessSetting.AUTO
    """Look at the files that the state view lists, where they are on this machine."""
    cadence: Cadence = Cadence.AUTO
    """When a state view is sent."""
    partial: bool = True
    """Omit longer runs of visible lines from reads that also show others."""

    def policy(self) -> Policy:
        """The policy that these options ask for."""
        return Policy(**msgspec.structs.asdict(self))


def options(environment: Mapping[str, str]) -> InspectOptions:
    """The options in the environment; raises ``LedgerError`` for what is none."""
    text = environment.get(OPTIONS, "")
    words = [word for word in re.split(r"[,\s]+", text) if word]
    given = dict(word.partition("=")[::2] for word in words)
    try:
        return msgspec.convert(given, InspectOptions, strict=False)
    except msgspec.ValidationError as error:
        known = ", ".join(InspectOptions.__struct_fields__)
        raise LedgerError(f"{OPTIONS}={text!r}: {error}", hint=f"the options are: {known}") from None


def note_policy() -> None:
    """Write into Inspect's log the policy that was asked for; raises ``LedgerError`` if the options are wrong."""
    transcript().info({"asked": policy_fields(options(os.environ).policy())}, source=KEY)


class Attempt:
    """One attempt at a sample. Its methods raise nothing."""

    def __init__(self, name: str, tell: Callable[[str], None]) -> None:
        """An attempt of this name; raises ``LedgerError`` if the options are wrong."""
        self._name = name
        self._tell = tell
        self._policy = options(os.environ).policy()
        self._ledger: SampleLedger | None = None
        # What the log says: that Ledger takes part, or why it does not.
        self._noted = self._absent = False
        self._askers: dict[tuple[frozenset[str], bool], Asker | None] = {}
        self._scoring: dict[str, bool] = {"": False}
        # The number of events in Inspect's log when the last of them was looked at.
        self._looked_at = 0

    async def inform(
        self, messages: list[Message], tools: Sequence[Any], model: str, view: Callable[[str], Message]
    ) -> AskedTurn | None:
        """Edit the input of one model call in place; what judges the calls of its answer, None if nothing does."""
        try:
            span = current_span_id() or ""
            asker = None if self._is_scoring(span) else await self._asker(tools)
            if asker is None:
                return None
            ledger = self._ledger = self._ledger or self._opened()
            if self._was_scored():
                await ledger.overlook()
        except Exception as error:
            self._tell(f"Ledger left a model call alone: {type(error).__name__}: {error}")
            self._note_absence(f"{type(error).__name__}: {error}")
            return None
        asked = await ledger.inform(messages, model, msgspec.structs.replace(asker, span=span), view)
        if asked is None:
            self._note_absence(LEFT_ALONE)
        elif not self._noted:
            self._note(ledger, asker)
        return asked

    def leave_alone(self) -> None:
        """Note that a model call offered no tools: in a sample that has no others, Ledger takes no part."""
        self._note_absence(NO_TOOLS)

    async def judge(self, asked: AskedTurn, calls: Sequence[Any], call: Any) -> Suppressed | None:
        """Judge the calls of an answer up to ``call``; None if that is to run."""
        return await self._ledger.judge(asked, calls, call.id) if self._ledger is not None else None

    def count(self, usage: Any) -> None:
        """Count what a model call took; its input leaves out the tokens that were read from a cache or written."""
        if self._ledger is not None:
            read, written = usage.input_tokens_cache_read, usage.input_tokens_cache_write
            tokens = Tokens(uncached=usage.input_tokens, cached=read, written=written, output=usage.output_tokens)
            self._ledger.count(ModelCall(tokens, recorded_cost(usage.total_cost)))

    async def end(self) -> None:
        """End the attempt, with its journal."""
        if self._ledger is not None:
            await self._ledger.end()

    def _opened(self) -> SampleLedger:
        kind = sandbox_type()
        rules = Rules(
            policy=self._policy,
            sealed=kind in SEALED,
            local_files=kind == LOCAL,
            journals=journal_folder(),
            tell=self._tell,
        )
        return SampleLedger(self._name, rules)

    def _note(self, ledger: SampleLedger, asker: Asker) -> None:
        """Write into Inspect's log that Ledger takes part, and where the journal is."""
        self._noted = True
        try:
            journal, policy = ledger.journal or "", policy_fields(self._policy)
            noted = {"version": __version__, "agent": asker.name, "journal": journal, "policy": policy}
            transcript().info(noted, source=KEY)
        except Exception as error:
            self._tell(f"Ledger could not note its journal in the log: {type(error).__name__}: {error}")

    def _note_absence(self, reason: str) -> None:
        """Write into Inspect's log, once, why Ledger takes no part; not if it does in other conversations."""
        if not self._noted and not self._absent:
            self._absent = True
            note_absence(reason)

    def _is_scoring(self, span: str) -> bool:
        """Whether a span is part of the scoring of the sample at its end."""
        if span not in self._scoring:
            # The beginning of a span is one of the last events, and older ones may not be in memory any more.
            recent = transcript().history.resident_events
            event = next((one for one in recent if one.event == "span_begin" and one.id == span), None)
            scoring = event is not None and (event.type in SCORING or self._is_scoring(event.parent_id or ""))
            self._scoring[span] = scoring
        return self._scoring[span]

    def _was_scored(self) -> bool:
        """Whether the sample was scored since the last call: what a scorer writes in the sandbox is not known.

        So it is between the submissions of an agent that has several attempts.
        """
        history = transcript().history
        new, self._looked_at = history.event_count - self._looked_at, history.event_count
        try:
            return any(event.event == "score" for event in history.recent_events(new))
        except Exception:
            # They are in memory no longer, and can't be read.
            return True

    async def _asker(self, tools: Sequence[Any]) -> Asker | None:
        """The agent that offers these tools; None if it is unknown."""
        names = frozenset(tool.name for tool in tools)
        bridged = current_agent_bridge_context() is not None
        key = names, bridged
        if key not in self._askers:
            self._askers[key] = asker = await _asker(tools, names, bridged)
            if asker is None:
                agent = registry.agent_offering(names) if bridged else None
                reason = f"{agent.name} is not supported under Inspect" if agent else UNKNOWN
                if agent is not None:
                    self._tell(f"Ledger takes no part in this conversation: {reason}")
                self._note_absence(reason)
        return self._askers[key]


async def _asker(tools: Sequence[Any], names: frozenset[str], bridged: bool) -> Asker | None:
    """The agent that offers these tools, with the directory in which its commands start."""
    if not bridged:
        parameters = {tool.name: frozenset(tool.parameters.properties) for tool in tools}
        if not is_native(parameters):
            return None
        return Asker(name="inspect", adapter=ADAPTER, native=True, cwd=await _printed(LOGIN_SHELL))
    if names == MINI.tools.table.keys():
        return Asker(name="mini-swe-agent", adapter=MINI, native=False, cwd=await _printed(MINI_PROCESS))
    found = registry.agent_offering(names)
    if found is None or not found.adapter or found.key in REWRITTEN:
        return None
    return Asker(name=found.key, adapter=found.part("adapter"), native=False)


async def _printed(command: Sequence[str]) -> str | None:
    """The one absolute path that a command prints in the sandbox; None if it prints none, or several."""
    try:
        result = await sandbox().exec(list(command), timeout=SECONDS)
    except Exception:
        return None
    # A login shell may print more, before it runs the command.
    lines = result.stdout.splitlines()[-1:] if tuple(command) == LOGIN_SHELL else result.stdout.splitlines()
    return lines[0] if result.success and len(lines) == 1 and lines[0].startswith("/") else None


def sandbox_type() -> str:
    """The type of the sample's sandbox, such as ``docker``; "" if it has none or its type is unknown."""
    try:
        own = type(sandbox().as_type(SandboxEnvironment))
    except Exception:
        return ""
    registered = getattr(own, "__registry_info__", None)
    return str(getattr(registered, "name", "")).rpartition("/")[2]
