"""What Inspect registers: the hook ``execledger`` and the approver ``execledger/ledger``.

A hook class has one object for each process, and samples run side by side in it: what belongs to an attempt at a sample
is in a context variable. Whatever goes wrong, Inspect's run goes on as if there were no Ledger.
"""

from __future__ import annotations

import os
from contextvars import ContextVar
from functools import cache
from importlib.metadata import version
from logging import getLogger
from typing import TYPE_CHECKING, Any

from inspect_ai.approval import Approval, Approver, approver
from inspect_ai.hooks import Hooks, hooks
from inspect_ai.model import ChatMessage, ChatMessageUser
from inspect_ai.tool import ToolCall, ToolCallView

from execledger.errors import LedgerError
from execledger.off import SWITCHED_OFF, VARIABLE, explained, is_off, is_on, is_switched_off, unknown_word

if TYPE_CHECKING:
    # Older Inspects lack some of these: there this module is imported as well, and says so if it is asked for.
    from inspect_ai.hooks import (
        BeforeModelGenerate,
        ModelUsageData,
        SampleAttemptEnd,
        SampleAttemptStart,
        SampleInit,
        SampleStart,
    )

    from execledger.inspect.attempt import Attempt
    from execledger.inspect.sample import AskedTurn

_LOGGER = getLogger("execledger")
_ATTEMPT: ContextVar[Attempt | None] = ContextVar("execledger_attempt", default=None)
"""The attempt at a sample that the current task belongs to."""
_NOTED: ContextVar[bool] = ContextVar("execledger_noted", default=False)
"""Whether the log of the attempt that is about to start has the policy that was asked for."""
_ASKED: ContextVar[AskedTurn | None] = ContextVar("execledger_asked", default=None)
"""The model call that the current task made last, if its answer is judged."""


@hooks(name="execledger", description="Ledger: state views and references in the input of model calls")
class LedgerHooks(Hooks):  # type: ignore[misc]
    """Informs the model of each sample, and compares the results of its calls."""

    def enabled(self) -> bool:
        """Whether ``EXECLEDGER=on``: an installed package changes nothing by itself."""
        return is_on() and not is_off()

    async def on_sample_init(self, data: SampleInit) -> None:
        """Note in the log what was asked for: the sample may fail before its first attempt, with its sandbox."""
        _note_request()
        _NOTED.set(True)

    async def on_sample_start(self, data: SampleStart) -> None:
        """Note in the log of an Inspect that has no attempts that Ledger takes no part."""
        if not hasattr(Hooks, "on_sample_attempt_start"):
            note_absence(_too_old() or "this Inspect announces no attempts at samples")

    async def on_sample_attempt_start(self, data: SampleAttemptStart) -> None:
        """Begin the ledger of an attempt. The log of a retried one lacks what was noted for the first."""
        _ASKED.set(None)
        _ATTEMPT.set(None)
        if not _NOTED.get():
            _note_request()
        _NOTED.set(False)
        if _too_old():
            return
        try:
            from execledger.inspect.attempt import Attempt

            _ATTEMPT.set(Attempt(f"{data.sample_id}-{data.attempt}", _LOGGER.warning))
        except Exception as error:
            _LOGGER.warning(f"Ledger takes no part in this sample: {type(error).__name__}: {error}")

    async def on_sample_attempt_end(self, data: SampleAttemptEnd) -> None:
        """End it, with its journal."""
        attempt = _ATTEMPT.get()
        _ATTEMPT.set(None)
        if attempt is not None:
            await attempt.end()

    async def on_before_model_generate(self, data: BeforeModelGenerate) -> None:
        """Edit the input of one model call; calls without tools, such as those of graders, stay as they are."""
        attempt = _ATTEMPT.get()
        _ASKED.set(None)
        if attempt is not None and data.tools and data.tool_choice != "none" and data.input:
            _ASKED.set(await attempt.inform(data.input, data.tools, data.model_name, _view))
        elif attempt is not None:
            attempt.leave_alone()

    async def on_model_usage(self, data: ModelUsageData) -> None:
        """Count what an informed call took."""
        attempt = _ATTEMPT.get()
        if attempt is not None and _ASKED.get() is not None:
            attempt.count(data.usage)


def _note_request() -> None:
    """Write into Inspect's log the policy that was asked for, or why Ledger takes no part.

    A sample that fails before its first model call has no other event of Ledger, and is none without Ledger.
    """
    if reason := _too_old():
        note_absence(reason)
        return
    try:
        from execledger.inspect.attempt import note_policy

        note_policy()
    except LedgerError as error:
        note_absence(error.message)
    except Exception as error:
        note_absence(f"{type(error).__name__}: {error}")


def note_absence(reason: str) -> None:
    """Write into Inspect's log why Ledger takes no part in the sample, so that it does not pass for one without."""
    try:
        from inspect_ai.log import transcript

        from execledger.agents.inspect_ai.tools import KEY

        transcript().info({"absent": reason}, source=KEY)
    except Exception as error:
        _LOGGER.warning(f"Ledger could not note in the log that it takes no part: {type(error).__name__}: {error}")


@cache
def _too_old() -> str:
    """What this Inspect lacks that Ledger needs, which is said once; "" if it is recent enough."""
    from execledger.agents.inspect_ai import AGENT
    from execledger.agents.registry import parsed

    found = version("inspect_ai")
    if not () < parsed(found) < AGENT.oldest:
        return ""
    reason = f"found inspect-ai {found}, expected {'.'.join(map(str, AGENT.oldest))} or newer"
    _LOGGER.warning(f"Ledger takes no part: {reason}")
    return reason


@cache
def _warn_off() -> None:
    """Warn, once in a process, that the approver was given and Ledger is not on."""
    unknown = unknown_word()
    found = f": {explained(unknown)}" if unknown else ""
    _LOGGER.warning(f"{VARIABLE} is not on: nothing is suppressed, no view is given{found}")


def _refuse_wrong_options() -> None:
    """Raise what ends Inspect's run with one message if the options of Ledger are wrong; other faults are logged."""
    if _too_old():
        return
    try:
        from rich.markup import escape

        from execledger.inspect.attempt import options

        options(os.environ)
    except LedgerError as error:
        try:
            from inspect_ai._util.error import PrerequisiteError
        except ImportError:
            raise error from None
        # Inspect prints it as markup.
        raise PrerequisiteError(escape(str(error))) from None
    except Exception as error:
        _LOGGER.warning(f"Ledger takes no part: {type(error).__name__}: {error}")


@approver(name="ledger")  # type: ignore[untyped-decorator]
def ledger() -> Approver:
    """Replaces calls whose result is known; whatever else is proposed is left to the next approver.

    Inspect makes it before the first sample: where it can do nothing a warning says so, and wrong options end the run.
    """
    if is_on():
        _refuse_wrong_options()
    elif not is_switched_off():
        _warn_off()
    run = SWITCHED_OFF if is_switched_off() else "to be run"

    async def approve(message: str, call: ToolCall, view: ToolCallView, history: list[ChatMessage]) -> Approval:
        attempt, asked = _ATTEMPT.get(), _ASKED.get()
        last = history[-1] if history else None
        calls: list[Any] = list(getattr(last, "tool_calls", None) or ())
        suppressed = None
        if attempt is not None and asked is not None and any(one.id == call.id for one in calls):
            suppressed = await attempt.judge(asked, calls, call)
        if suppressed is None:
            return Approval(decision="escalate", explanation=run)
        modified = ToolCall(id=call.id, function=call.function, arguments=suppressed.arguments, type=call.type)
        proof = {"execledger": {"rule": suppressed.rule, "proof": list(suppressed.proof)}}
        return Approval(decision="modify", modified=modified, explanation=suppressed.reference, metadata=proof)

    return approve


def _view(text: str) -> ChatMessageUser:
    """The message that carries a state view: one block of text."""
    return ChatMessageUser(content=text, metadata={"execledger": "view"})
