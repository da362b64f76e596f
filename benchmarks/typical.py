"""The length of recorded runs, the sizes of their outputs and their share of re-reads, beside the demo's session.

    python -m benchmarks.typical CORPUS

The demo is to play a session like those that agents really have: its column is to be near the medians.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean, median, quantiles

from msgspec import Struct, field

from execledger.agents.formats import read_run
from execledger.core.policy import Policy
from execledger.demo.session import COMMANDS, TASK, make_session_repository
from execledger.runs.find import find_runs
from execledger.runs.recording import Recorded, Run
from execledger.runs.replay import output_bytes, replay
from execledger.vocabulary.actions import Action, Observation

NEEDS_CORPUS = True
AS_RECORDED = Policy(govern=False, inform=False)
"""The runs as they were: only re-reads are judged."""


class Typical(Struct):
    """What the runs of one set are like."""

    steps: list[int] = field(default_factory=list)
    """Commands of each run."""
    sizes: list[int] = field(default_factory=list)
    """Bytes of each output."""
    rereads: int = 0
    """Redundant snippet re-reads."""

    def add(self, run: Run, rereads: int) -> None:
        """Take in one run."""
        self.steps.append(len(run.steps))
        self.sizes += (output_bytes(recorded.observation) for recorded in run.steps)
        self.rereads += rereads

    def rows(self) -> Iterator[tuple[str, str]]:
        """Title and number of each row."""
        yield "runs", f"{len(self.steps):,}"
        yield "commands of a run, median", f"{median(self.steps):,.0f}"
        yield "bytes of an output, median", f"{median(self.sizes):,.0f}"
        yield "bytes of an output, mean", f"{fmean(self.sizes):,.0f}"
        yield "bytes of an output, nine in ten are below", f"{quantiles(self.sizes, n=10)[-1]:,.0f}"
        yield "redundant snippet re-reads per 100 commands", f"{100 * self.rereads / len(self.sizes):.1f}"


def rereads_of(run: Run) -> int:
    """How many commands of a run are redundant snippet re-reads."""
    return sum(call.reread is not None for call in replay(run, AS_RECORDED))


def demo_session() -> Run:
    """The session of the demo, as its commands run in a folder."""
    with tempfile.TemporaryDirectory() as place:
        make_session_repository(Path(place))
        steps = tuple(_ran(command, place, turn) for turn, command in enumerate(COMMANDS))
    return Run(
        name="the demo's session",
        format="",
        agent="",
        model="",
        task=TASK,
        container=False,
        turns=len(steps),
        steps=steps,
    )


def _ran(command: str, folder: str, turn: int) -> Recorded:
    done = subprocess.run(
        ("bash", "-c", command), cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    observation = Observation(done.stdout.decode("utf-8", "replace"), exit_status=done.returncode)
    return Recorded(Action(command, folder), observation, turn)


def main(paths: list[str]) -> None:
    """Print one column per set, one for all runs, and one for the demo."""
    sets: dict[str, Typical] = {}
    every, demo = Typical(), Typical()
    for source in find_runs(paths):
        run = read_run(source.name, source.read())
        name, rereads = Path(run.name.partition("!")[0]).name.partition(".")[0], rereads_of(run)
        for found in (sets.setdefault(name, Typical()), every):
            found.add(run, rereads)
    session = demo_session()
    demo.add(session, rereads_of(session))
    columns = {**sets, "all": every, "the demo": demo}
    print(f"|  | {' | '.join(columns)} |\n|{' --- |' * (len(columns) + 1)}")
    for row in zip(*(found.rows() for found in columns.values()), strict=True):
        print(f"| {row[0][0]} | {' | '.join(number for _, number in row)} |")
    print(f"\ntypical: counted {len(sets)} sets of runs and the demo; there is no mark")


if __name__ == "__main__":
    main(sys.argv[1:])
