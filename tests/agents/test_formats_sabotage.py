"""Every call of the readers of recorded runs broken in turn: one run is named as not read, and the others are read."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from execledger.cli.runs import read_runs
from tests.agents.test_formats import SAMPLES
from tests.guarantees.test_fuzz_readers import FILES_OF_LINES, OPENCODE, SESSIONS, json_lines
from tests.runs.samples import encoded
from tests.support.faults.sabotage import call_sites, sabotaged

pytestmark = pytest.mark.faults
READING = re.compile(
    r"/agents/(\w+/(recorded|events|tools|messages)|call_log|table_adapter)|/runs/(atif|spans|journals|decoding)"
)
"""The files whose calls are broken."""


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """A file of every format."""
    every = [encoded(sample) for sample in (*SAMPLES, OPENCODE)]
    every += [json_lines(rows) for rows in (*FILES_OF_LINES, *SESSIONS.values())]
    paths = [tmp_path / f"{number:02}.json" for number in range(len(every))]
    for path, data in zip(paths, every, strict=True):
        path.write_bytes(data)
    return paths


@pytest.mark.guarantee("fail-open")
def test_a_fault_in_a_reader_costs_one_run(files: list[Path], full: bool, figure: Callable[[str], None]) -> None:
    """Wherever a reader fails, that one run is named with the fault, and all others are read."""
    paths, unreadable = tuple(map(str, files)), list[str]()

    def work() -> int:
        unreadable.clear()
        return sum(1 for _ in read_runs(paths, unreadable))

    assert (work(), unreadable) == (len(files), [])
    sites = [site for site in call_sites(work) if READING.search(site.caller.co_filename)]
    planted = told = 0
    for site in sites if full else sites[::4]:
        with sabotaged(site) as trap:
            read = work()
        if trap.sprung:
            planted += 1
            told += len(unreadable)
            assert read == len(files) - len(unreadable) >= len(files) - 1, site
            assert all(": a fault of execledger's own, please report: Sabotage: " in reason for reason in unreadable)
    figure(f"{planted:,} planted faults in readers of {len(files)} files: {told:,} runs not read, all others read")
    assert told > planted / 2
