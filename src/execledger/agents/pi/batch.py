"""pi over the tasks of an evaluation: ``pi -p`` once for each task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from execledger.agents.headless import HeadlessRunner, TaskRun


class PiRunner(HeadlessRunner):
    """Runs ``pi -p``."""

    takes_effort = True

    def words(self, run: TaskRun) -> Sequence[str]:
        """The words of the command line behind the program."""
        setup = run.setup
        return [
            *("--mode", "json", "--session-dir", str(run.place.own / "sessions")),
            *(("--model", setup.model) if setup.model else ()),
            *(("--thinking", setup.reasoning_effort) if setup.reasoning_effort else ()),
            *("-p", run.prompt),
        ]

    def records(self, run: TaskRun) -> Iterator[tuple[Path, str]]:
        """The one session in the folder of this run."""
        yield run.place.own / "sessions", "*.jsonl"


RUNNER = PiRunner()
"""The runner of pi."""
