"""What Inspect registers: the hook ``execledger`` and the approver ``execledger/ledger``.

A hook class has one object for each process, and samples run side by side in it: what belongs to an attempt at a sample
is in a context variable. Whatever goes wrong, Inspect's run goes on as if there were no Ledger.
"""

from __future__ import annotations

from contextvars import ContextVar
from logging import getLogger
from typing import TYPE_CHECKING, Any

from inspect_ai.approval import Approval, Approver, approver
from inspect_ai.hooks import (
    BeforeModelGenerate,
    Hooks,
    ModelUsageData,
    SampleAttemptEnd,
    SampleAttemptStart,
    hooks,
)
from inspect_ai.model import ChatMessage, ChatMessageUser
from inspect_ai.tool import ToolCall, ToolCallView

from execledger.off import is_off, is_on

if TYPE_CHECKING:
    from execledger.inspect.attempt import Attempt
    from execledger.inspect.sample import AskedTurn

_LOGGER = getLogger("execledger")
_ATTEMPT: ContextVar[Attempt | None] = ContextVar("execledger_attempt", default=None)
"""The attempt at a sample that the current task belongs to."""
_ASKED: ContextVar[AskedTurn | None] = ContextVar("execledger_asked", default=None)
"""The model call that the current task made last, if its answer is judged."""


@hooks(name="execledger", description="Ledger: state views and references in the input of model calls")
class LedgerHooks(Hooks):  # type: ignore[misc]
    """Informs the model of each sample, and compares the results of its calls."""

    def enabled(self) -> bool:
        """Whether ``EXECLEDGER=on``: an installed package changes nothing by itself."""
        return is_on() and not is_off()

    async def on_sample_attempt_start(self, data: SampleAttemptStart) -> None:
        """Begin the ledger of an attempt."""
        _ASKED.set(None)
        _ATTEMPT.set(None)
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

    async def on_model_usage(self, data: ModelUsageData) -> None:
        """Count what an informed call took."""
        attempt = _ATTEMPT.get()
        if attempt is not None and _ASKED.get() is not None:
            attempt.count(data.usage)


@approver(name="ledger")  # type: ignore[untyped-decorator]
def ledger() -> Approver:
    """Replaces calls whose result is known; whatever else is proposed is left to the next approver."""

    async def approve(message: str, call: ToolCall, view: ToolCallView, history: list[ChatMessage]) -> Approval:
        attempt, asked = _ATTEMPT.get(), _ASKED.get()
        last = history[-1] if history else None
        calls: list[Any] = list(getattr(last, "tool_calls", None) or ())
        suppressed = None
        if attempt is not None and asked is not None and any(one.id == call.id for one in calls):
            suppressed = await attempt.judge(asked, calls, call)
        if suppressed is None:
            return Approval(decision="escalate", explanation="to be run")
        modified = ToolCall(id=call.id, function=call.function, arguments=suppressed.arguments, type=call.type)
        proof = {"execledger": {"rule": suppressed.rule, "proof": list(suppressed.proof)}}
        return Approval(decision="modify", modified=modified, explanation=suppressed.reference, metadata=proof)

    return approve


def _view(text: str) -> ChatMessageUser:
    """The message that carries a state view: one block of text."""
    return ChatMessageUser(content=text, metadata={"execledger": "view"})
