"""Copilot CLI over the tasks of an evaluation: ``copilot -p`` once for each task."""

from __future__ import annotations

from execledger.agents.call_log import text_field
from execledger.agents.headless import FailedEnd, HeadlessRunner, TaskRun, named_error
from execledger.agents.work_folder import Home
from execledger.runs.recording import Run


class CopilotRunner(HeadlessRunner, frozen=True, kw_only=True):
    """Runs ``copilot -p``."""

    def error(self, run: TaskRun, recorded: Run) -> FailedEnd | None:
        """The session's error behind which the model has not answered any more, with its type."""
        kinds = ("session.error", "assistant.message")
        events = [event for event in run.events() if event.get("type") in kinds]
        if not events or events[-1]["type"] != kinds[0]:
            return None
        kind, details = text_field(events[-1], "data", "errorType"), self.error_in(events[-1])
        return self.classified(named_error(kind, details))


RUNNER = CopilotRunner(
    access="execledger.agents.copilot.access",
    words=(
        *("--allow-all-tools", "--no-color", "--no-auto-update"),
        *("--output-format", "json", "--session-id", "{session}", "-p"),
    ),
    api_errors=(
        r"\A(?:authentication|authorization|context_limit|model_call|query|quota|rate_limit)(?::|\Z)"
        r"|(?i:\bC?API ?error:)"
    ),
    effort="--reasoning-effort",
    home=Home("COPILOT_HOME", ".copilot"),
    # The events of sub-agents are among them.
    records=("session-state/{session}/events.jsonl",),
)
"""The runner of Copilot CLI."""
