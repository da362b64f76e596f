"""How much a state view knows: the statuses of the ranges that it lists, with and without the witness.

    python -m benchmarks.knowing CORPUS [--runs 60]

Sessions have the shape of recorded runs: which file and which lines each step reads, where it edits, tests and
installs. They are executed in a real folder with a real shell; tests and installers are programs that may write, and
in every third session somebody else writes between the steps. A reader who shares no code with the witness checks
every status of every view against the files. The figures of ``verified`` without a witness and of ``paper`` are beside
those with one, and then what a look costs, as a ratio to reading and hashing the same bytes.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from execledger.agents.formats import read_run
from execledger.core.classify import classify
from execledger.core.policy import Cadence, Policy, Preset
from execledger.core.witness import ShownRange
from execledger.runs.find import find_runs
from execledger.runs.recording import Run
from execledger.session.witness import LocalWitness
from execledger.vocabulary.records import Category
from tests.support.knowing import Known, Setting, Shape, session
from tests.support.view_reader import DEFINITE, INDEFINITE, NO_CLAIM, NOT_BY_YOU

NEEDS_CORPUS = True
MAX_STEPS = 120
"""Steps of a recorded run that are played."""
WHOLE = Policy(cadence=Cadence.EVERY)
"""Whole views list more ranges."""
ARMS = (
    ("verified, witness", Setting(WHOLE, "local")),
    ("verified", Setting(WHOLE)),
    ("sealed, probes", Setting(WHOLE, "probe", sealed=True)),
    ("sealed", Setting(WHOLE, sealed=True)),
    ("paper", Setting(Policy(preset=Preset.PAPER))),
)
"""What is compared: the words of the preset ``verified`` with a witness and without, and those of ``paper``."""
WORDS = (*DEFINITE, *INDEFINITE, NO_CLAIM)
FILES, FILE_BYTES, ROUNDS = 20, 20_000, 40


def shapes(run: Run) -> Iterator[Shape]:
    """The steps of a recorded run, without its text."""
    files: dict[str, int] = {}
    for step in run.steps[:MAX_STEPS]:
        record = classify(step.action)
        view = record.view
        named = view.path if view is not None else record.writes[0] if record.writes else ""
        number = files.setdefault(named, len(files))
        if view is not None:
            lines = view.ranges[0]
            yield Shape("read", number, max(lines.first, 1), lines.last or 0)
        elif step.observation.timed_out:
            yield Shape("timeout")
        elif record.background:
            yield Shape("background")
        elif record.category is Category.TEST:
            yield Shape("test")
        elif record.category is Category.SETUP:
            yield Shape("install")
        elif record.category is Category.MODIFY and record.writes:
            yield Shape("edit", number)
        else:
            yield Shape("search" if record.category is Category.SEARCH else "other", number)


def played(job: tuple[int, tuple[Shape, ...], int]) -> Known:
    """One session under one arm; others write in every third one."""
    seed, steps, arm = job
    return session(steps, seed, ARMS[arm][1]._replace(hostile=seed % 3 == 0))


def costs() -> tuple[float, float]:
    """Seconds of a look at unchanged and at changed files, as multiples of reading and hashing the same bytes."""
    with tempfile.TemporaryDirectory() as root:
        asked: dict[str, tuple[ShownRange, ...]] = {}
        for number in range(FILES):
            path = Path(root) / f"{number}.py"
            lines = [f"value_{line} = compute({line}, number={number})" for line in range(FILE_BYTES // 40)]
            path.write_text("\n".join(lines) + "\n")
            asked[str(path)] = (ShownRange(0, 1, tuple(lines[:200])), ShownRange(1, 301, tuple(lines[300:400])))
        witness = LocalWitness()
        witness.look(asked)
        times: dict[str, list[float]] = {"hash": [], "same": [], "changed": []}
        for round_ in range(ROUNDS):
            start = time.perf_counter()
            for name in asked:
                hashlib.blake2b(Path(name).read_bytes(), digest_size=12).hexdigest()
            times["hash"].append(time.perf_counter() - start)
            for what in ("changed", "same"):
                if what == "changed":
                    for name in asked:
                        with Path(name).open("a") as file:
                            file.write(f"more = {round_}\n")
                start = time.perf_counter()
                witness.look(asked)
                times[what].append(time.perf_counter() - start)
    # The best of all rounds: what else the machine does meanwhile is not asked for.
    base = min(times["hash"])
    return min(times["same"]) / base, min(times["changed"]) / base


def main() -> int:
    """Print the tables; 1 if a word about a range was wrong, or if the witness makes views longer."""
    parser = argparse.ArgumentParser(description="How much a state view knows.")
    parser.add_argument("paths", nargs="+")
    parser.add_argument("--runs", type=int, default=60, help="recorded runs per agent and model")
    options = parser.parse_args()
    taken: Counter[str] = Counter()
    jobs: list[tuple[str, tuple[int, tuple[Shape, ...], int]]] = []
    for source in find_runs(options.paths):
        run = read_run(source.name, source.read())
        group = f"{run.agent.partition(' ')[0]} {run.model}".strip()
        if taken[group] < options.runs and run.steps:
            taken[group] += 1
            steps = tuple(shapes(run))
            jobs += [(group, (taken[group], steps, arm)) for arm in range(len(ARMS))]
    found = {(group, arm): Known() for group in taken for arm in range(len(ARMS))}
    with ProcessPoolExecutor() as pool:
        for (group, (_, _, arm)), known in zip(jobs, pool.map(played, (job for _, job in jobs)), strict=True):
            found[group, arm].add(known)
    return report(taken, found)


def report(taken: Counter[str], found: dict[tuple[str, int], Known]) -> int:
    """Print what the sessions came to, and what a look costs."""
    heads = ("runs", "views of", "views", "bytes", "ranges", "definite", *WORDS, NOT_BY_YOU, "probes per call", "wrong")
    print(f"| {' | '.join(heads)} |\n{'| --- ' * len(heads)}|")
    wrong: list[str] = []
    for (group, arm), known in found.items():
        name, setting = ARMS[arm]
        total, views = max(known.ranges.total(), 1), max(known.views, 1)
        probes = f"{known.probes / views:.2f}" if setting.looks == "probe" else "-"
        cells = (f"{taken[group]} {group}", name, f"{known.views:,}", f"{known.bytes / views:.0f}", f"{total:,}")
        shares = (f"{known.definite:.1%}", *(f"{known.ranges[word] / total:.1%}" for word in WORDS))
        print(f"| {' | '.join((*cells, *shares, f'{known.others:,}', probes, str(len(known.wrong))))} |")
        if setting.looks:
            wrong += [f"{group}, {name}: {one}" for one in known.wrong]
            longer = known.bytes > found[group, arm + 1].bytes
            wrong += [f"{group}, {name}: longer views than without"] if longer else []
    same, changed = costs()
    print(f"\nA look at {FILES} files of {FILE_BYTES // 1000} KB, in times of reading and hashing them: ", end="")
    print(f"{same:.2f} if nothing has changed, {changed:.2f} if every file has.")
    for one in wrong[:20]:
        print(f"wrong: {one}", file=sys.stderr)
    verdict = "NOT held" if wrong else "held"
    print(f"knowing: {verdict}: {len(wrong)} wrong statuses or longer views; a look takes {same:.2f} to {changed:.2f}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
