"""OpenHands CLI over the tasks of an evaluation: ``openhands --headless`` once for each task."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from execledger.agents.headless import HeadlessRunner, TaskRun
from execledger.agents.openhands.launch import ADDRESS, KEY, MODEL, OPTION


class OpenHandsRunner(HeadlessRunner):
    """Runs ``openhands --headless``."""

    def words(self, run: TaskRun) -> Sequence[str]:
        """The words of the command line behind the program; variables count if the plan or the user sets one."""
        by_variables = run.setup.model or any(os.environ.get(name) for name in (ADDRESS, KEY, MODEL))
        return ["--headless", "--json", *((OPTION,) if by_variables else ()), "-t", run.prompt]

    def variables(self, run: TaskRun) -> Mapping[str, str]:
        """The model, and a folder for the conversation of this run."""
        own = {"OPENHANDS_CONVERSATIONS_DIR": str(run.place.own / "conversations")}
        return {**own, MODEL: run.setup.model} if run.setup.model else own

    def records(self, run: TaskRun) -> Iterator[tuple[Path, str]]:
        """The events of that conversation, each in a file."""
        yield run.place.own / "conversations", "*/events/*.json"


RUNNER = OpenHandsRunner()
"""The runner of OpenHands CLI."""
