"""Gemini CLI over the tasks of an evaluation: ``gemini -p`` once for each task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from execledger.agents.headless import HeadlessRunner, TaskRun
from execledger.agents.work_folder import Home

HOME = Home("GEMINI_CLI_HOME", "")
"""The folder that holds ``.gemini``, in which the user's Gemini CLI keeps its settings and sessions."""


class GeminiRunner(HeadlessRunner):
    """Runs ``gemini -p``."""

    def words(self, run: TaskRun) -> Sequence[str]:
        """The words of the command line behind the program."""
        model = run.setup.model
        return [
            *("-p", run.prompt, "--yolo", "--skip-trust", "-o", "stream-json", "--session-id", run.session),
            *(("-m", model) if model else ()),
        ]

    def records(self, run: TaskRun) -> Iterator[tuple[Path, str]]:
        """The file of the session, which is named by the beginning of its id, and those of its sub-agents."""
        for pattern in (f"*/chats/session-*-{run.session[:8]}.jsonl", f"*/chats/{run.session}/*.jsonl"):
            yield HOME.folder / ".gemini" / "tmp", pattern

    def is_main(self, run: TaskRun, name: str, data: bytes) -> bool:
        """Sub-agents have files in a folder of the session's name."""
        return Path(name).parent.name == "chats"


RUNNER = GeminiRunner()
"""The runner of Gemini CLI."""
