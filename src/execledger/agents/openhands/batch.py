"""OpenHands CLI over the tasks of an evaluation: ``openhands --headless`` once for each task."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from execledger.agents.headless import HeadlessRunner, TaskRun
from execledger.agents.openhands.kept import STATE
from execledger.agents.openhands.launch import ADDRESS, KEY, MODEL, OPTION


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


RUNNER = OpenHandsRunner(
    words=("--headless", "--json", "-t"),
    model="",
    # Each event is a file; the tokens are in the file with the state.
    records=("conversations/*/events/*.json", f"conversations/*/{STATE}"),
)
"""The runner of OpenHands CLI."""
