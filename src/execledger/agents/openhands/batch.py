"""OpenHands CLI over the tasks of an evaluation: ``openhands --headless`` once for each task."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from execledger.agents.call_log import text_field
from execledger.agents.evaluation import RECORDED
from execledger.agents.headless import FailedEnd, HeadlessRunner, TaskRun, decoded_events, named_error
from execledger.agents.openhands.kept import STATE
from execledger.runs.recording import Run

OPTION = "--override-with-envs"
"""The option with which the CLI reads variables."""
ADDRESS, MODEL, KEY = "LLM_BASE_URL", "LLM_MODEL", "LLM_API_KEY"
"""The variables that it reads then."""

LIMITS = frozenset({"MaxIterationsReached"})
"""Codes of errors that are limits of the agent's own."""
_ERROR_EVENT = b'"ConversationErrorEvent"'
"""What an event that reports an error of the conversation contains."""


class OpenHandsRunner(HeadlessRunner, frozen=True, kw_only=True):
    """Runs ``openhands --headless``."""

    def arguments(self, run: TaskRun) -> Sequence[str]:
        """The words of the command line behind the program; variables count if the plan or the user sets one."""
        by_variables = run.setup.model or any(os.environ.get(name) for name in (ADDRESS, KEY, MODEL))
        return [*((OPTION,) if by_variables else ()), *super().arguments(run)]

    def variables(self, run: TaskRun) -> Mapping[str, str]:
        """The model, and a folder for the conversation of this run."""
        own = {"OPENHANDS_CONVERSATIONS_DIR": run.filled("{own}/conversations")}
        return {**own, MODEL: run.setup.model} if run.setup.model else own

    def error(self, run: TaskRun, recorded: Run) -> FailedEnd | None:
        """The error with which the conversation ended; its limit of iterations is none."""
        if recorded.ended != "error":
            return None
        (file,) = sorted((run.folder / RECORDED).glob("*"))[:1]
        events = [*decoded_events(line for line in file.read_bytes().splitlines() if _ERROR_EVENT in line)]
        last = events[-1] if events else {}
        code, details = text_field(last, "code"), text_field(last, "detail")
        if code in LIMITS:
            return None
        return self.classified(named_error(code, details) or self._reason(run))


RUNNER = OpenHandsRunner(
    access="execledger.agents.openhands.access",
    words=("--headless", "--json", "-t"),
    api_errors=r"\ALLM\w*Error\b|\blitellm\.(?:exceptions\.)?[A-Z]|(?i:\bAPI ?error:)",
    model="",
    # Each event is a file; the tokens are in the file with the state.
    records=("conversations/*/events/*.json", f"conversations/*/{STATE}"),
)
"""The runner of OpenHands CLI."""
