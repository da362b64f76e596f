"""Qwen Code over the tasks of an evaluation: ``qwen -p`` once for each task."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from execledger.agents.headless import HeadlessRunner, TaskRun
from execledger.agents.work_folder import Home

HOMES = (Home("QWEN_RUNTIME_DIR", ".qwen"), Home("QWEN_HOME", ".qwen"))
"""Where the user's Qwen Code keeps its sessions: the first whose variable is set."""


class QwenRunner(HeadlessRunner):
    """Runs ``qwen -p``."""

    def words(self, run: TaskRun) -> Sequence[str]:
        """The words of the command line behind the program."""
        model = run.setup.model
        return [
            *("-p", run.prompt, "--yolo", "-o", "stream-json", "--session-id", run.session),
            *(("-m", model) if model else ()),
        ]

    def records(self, run: TaskRun) -> Iterator[tuple[Path, str]]:
        """The file of the session, and those of its sub-agents."""
        home = next((one for one in HOMES if os.environ.get(one.variable)), HOMES[0])
        for pattern in (f"*/chats/{run.session}.jsonl", f"*/subagents/{run.session}/*.jsonl"):
            yield home.folder / "projects", pattern

    def is_main(self, run: TaskRun, name: str, data: bytes) -> bool:
        """Sub-agents have files of their own."""
        return Path(name).stem == run.session


RUNNER = QwenRunner()
"""The runner of Qwen Code."""
