"""The demo's recorded run is what its recorder makes."""

from __future__ import annotations

import re
import shutil

import pytest

from execledger.agents.formats import read_run
from execledger.demo.recorded import load
from execledger.runs.recording import Run
from tests.support.recorder import record


def steady(run: Run) -> list[tuple[str, str, int | None]]:
    """The run without what differs from one recording to the next: durations, blob names and tracebacks' markers."""
    return [
        (
            one.action.command,
            re.sub(r"in \d+\.\d+s|index [0-9a-f.]+|^\s*[\^~]+$\n?|\([\w.]+\)", "", one.observation.output, flags=re.M),
            one.observation.exit_status,
        )
        for one in run.steps
    ]


@pytest.mark.skipif(shutil.which("git") is None, reason="the recorder needs git")
def test_the_shipped_run_is_the_recorded_one() -> None:
    """Recording the run anew gives the run that ships, but for durations and names of blobs."""
    assert steady(load()) == steady(read_run("anew", record()))
