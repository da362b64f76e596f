"""Copilot CLI over the tasks of an evaluation: ``copilot -p`` once for each task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from execledger.agents.headless import HeadlessRunner, TaskRun
from execledger.agents.work_folder import Contained, Home

HOME = Home("COPILOT_HOME", ".copilot")
"""Where the user's Copilot CLI keeps its settings and sessions."""


class CopilotRunner(HeadlessRunner):
    """Runs ``copilot -p``."""

    contained = Contained(homes=(HOME,), passed=("COPILOT_PROVIDER_BASE_URL", "NO_PROXY", "no_proxy"))
    takes_effort = True

    def words(self, run: TaskRun) -> Sequence[str]:
        """The words of the command line behind the program."""
        setup = run.setup
        return [
            *("-p", run.prompt, "--allow-all-tools", "--no-color", "--no-auto-update"),
            *("--output-format", "json", "--session-id", run.session),
            *(("--model", setup.model) if setup.model else ()),
            *(("--reasoning-effort", setup.reasoning_effort) if setup.reasoning_effort else ()),
        ]

    def records(self, run: TaskRun) -> Iterator[tuple[Path, str]]:
        """The events of the session, those of sub-agents among them."""
        yield HOME.folder / "session-state", f"{run.session}/events.jsonl"


RUNNER = CopilotRunner()
"""The runner of Copilot CLI."""
