"""Codex over the tasks of an evaluation: ``codex exec`` once for each task."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from execledger.agents.codex.config import direct_tools
from execledger.agents.evaluation import Batch, settings
from execledger.agents.headless import FailedEnd, HeadlessRunner, TaskRun
from execledger.agents.work_folder import Contained, Home
from execledger.runs.recording import Run

HOME = Home("CODEX_HOME", ".codex")
"""Where the user's Codex keeps its settings and sessions."""
UNGUARDED = "--dangerously-bypass-approvals-and-sandbox"
"""In a container, nothing else is there to be guarded."""

API_ERRORS = (
    r"(?i)\bunexpected status\b|\bstream (?:disconnected|closed)\b|\bretry limit\b|\berror sending request\b"
    r"|\busage limit\b|\brate limit (?:reached|exceeded)\b|\b(?:insufficient|current)[ _]quota\b|\bout of credits\b"
    r"|\bquota exceeded\. check your plan\b|\bspend cap\b|\bcontext window\b|\bat capacity\b|\bhigh demand\b"
    r"|\bAPI error:|(?:\A|: )connection failed:|\bresponse stream failed\b|\b(?:invalid_request|rate_limit)_error\b"
    r"|\brate_limit_exceeded\b|\binternal server error\b"
)
"""What it prints if the model's API refuses a request, or can't be reached."""


class CodexRunner(HeadlessRunner, frozen=True, kw_only=True):
    """Runs ``codex exec``, whose settings all have the same option."""

    def arguments(self, run: TaskRun) -> Sequence[str]:
        """The words of the command line behind the program."""
        setup, sealed = run.setup, run.place.sealed
        own: dict[str, Any] = {} if sealed else {"sandbox_mode": "workspace-write"}
        if setup.model:
            own["model"] = setup.model
        if setup.reasoning_effort:
            own["model_reasoning_effort"] = setup.reasoning_effort
        for file in self.needed(run.batch):
            own["model_catalog_json"] = str(file)
        guard = (UNGUARDED,) if sealed else ()
        return [*self.words, *guard, *settings({**own, **setup.settings}), "--", run.prompt]

    def needed(self, batch: Batch) -> Sequence[Path]:
        """The catalog of models, if the plan asks for direct tools."""
        return [catalog(batch.shared, batch.setup.program)] if batch.setup.keys["direct_tools"] else []

    def patterns(self, run: TaskRun, patterns: Sequence[str]) -> Sequence[str]:
        """The patterns for the thread that was started."""
        threads = [event["thread_id"] for event in run.events() if event.get("type") == "thread.started"]
        return [pattern.format(session=thread) for thread in threads for pattern in patterns]

    def ended(self, run: TaskRun, recorded: Run, status: int) -> str:
        """How the last turn ended."""
        kinds = [str(event.get("type")) for event in run.events()]
        turns = [kind for kind in kinds if kind.startswith("turn.")]
        return turns[-1] if turns else f"status {status}"

    def error(self, run: TaskRun, recorded: Run) -> FailedEnd | None:
        """The error of the last turn; those before are attempts that were repeated."""
        events = [event for event in run.events() if str(event.get("type")).startswith(("turn.", "error"))]
        last = events[-1] if events else {}
        return self.classified(self.error_in(last)) if last.get("type") in ("turn.failed", "error") else None


RUNNER = CodexRunner(
    access="execledger.agents.codex.access",
    words=("exec", "--json"),
    api_errors=API_ERRORS,
    effort="-c",
    settings="-c",
    home=HOME,
    records=("sessions/*/rollout-*{session}.jsonl",),
    contained=Contained(homes=(HOME,)),
)
"""The runner of Codex."""


def catalog(shared: Path, program: str) -> Path:
    """The catalog of models that every arm gets, made once."""
    folder = shared / ".catalog"
    if not (folder / "models.json").exists():
        folder.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as beside:
            direct_tools(program, Path(beside)).replace(folder / "models.json")
    return folder / "models.json"
