"""pi over the tasks of an evaluation: ``pi -p`` once for each task."""

from __future__ import annotations

from execledger.agents.call_log import field_of, text_field
from execledger.agents.evaluation import Failure
from execledger.agents.headless import FailedEnd, HeadlessRunner, TaskRun
from execledger.runs.recording import Run


class PiRunner(HeadlessRunner, frozen=True, kw_only=True):
    """Runs ``pi -p``, whose exit status is the same whether or not a request failed."""

    def error(self, run: TaskRun, recorded: Run) -> FailedEnd | None:
        """The failed request that is the last answer of the run; those before were repeated."""
        ends = [event for event in run.events() if event.get("type") == "message_end"]
        answers = [one["message"] for one in ends if field_of(one.get("message"), "role") == "assistant"]
        if not answers or text_field(answers[-1], "stopReason") != "error":
            return None
        return FailedEnd(Failure.API, text_field(answers[-1], "errorMessage") or "a request failed, without a message")


RUNNER = PiRunner(
    access="execledger.agents.pi.access",
    words=("--mode", "json", "--session-dir", "{own}/sessions", "-p"),
    records=("sessions/*.jsonl",),
    effort="--thinking",
)
"""The runner of pi."""
