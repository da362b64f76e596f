"""A whole evaluation of the example tasks with real parts, and whether its report says what the scripts lead to.

``eval run`` with the four arms and two trials: mini-swe-agent's batch runner in real containers; ``eval grade`` by the
official harness of SWE-bench; ``eval report`` and ``eval export``. The model is a script that solves some tasks in some
arms, by a table; so nothing here tells whether Ledger helps a model. If all is as scripted, docs/example-evaluation.md
is written anew, with the report as a user gets it.
"""

from __future__ import annotations

import importlib.metadata
import re
import shutil
import sys
import tempfile
from datetime import date
from pathlib import Path

from tests.support.agents.npm import NotInstalled
from tests.support.containers.engine import Engine, engine
from tests.support.containers.userland import SEARCHED
from tests.support.tasks.evaluation import (
    ARMS,
    SOLVED,
    TRIALS,
    Bench,
    ExpectedRun,
    expected_arms,
    expected_runs,
    exported_runs,
    reported_arms,
)

NEEDED = {"wrap": "perl", "duration": "node"}
"""The programs without which an image can't hold a task's language."""
EXPORT = ("export", "out", "-o", "tables")
PAGE = Path(__file__).parents[1] / "docs" / "example-evaluation.md"
HEAD = """\
# A whole evaluation of the example tasks

Written by `python -m benchmarks.evaluation` on {date}: the commands of [own-tasks.md](own-tasks.md), \
with mini-swe-agent {mini} in real containers and the harness of SWE-bench {swebench}, on {tasks} tasks.
The model is a script that solves some tasks in some arms and not in others, \
by a table in `tests/support/tasks/evaluation.py`.
So these figures show that the chain works, and nothing about models: which arm resolves more is what the script says.
The benchmark compares every run and the report's totals with the script \
and with the requests that the model's server got.

"""
COLUMNS = "| arm | resolved, trial 1 | resolved, trial 2 | model calls | input tokens | output tokens |"


def table(runs: list[ExpectedRun]) -> str:
    """A row per arm: what was graded in each trial, and totals of both."""
    lines = [COLUMNS, "| --- | --- | --- | --- | --- | --- |"]
    for arm in ARMS:
        own = [run for run in runs if run.arm == arm]
        graded = [[run.resolved for run in own if run.trial == trial] for trial in TRIALS]
        cells = [arm, *(f"{sum(one)} of {len(one)}" for one in graded)]
        cells += [f"{sum(getattr(run, name) for run in own):,}" for name in ExpectedRun._fields[-3:]]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def report_of(home: Path) -> str:
    """The report in Markdown, its headings below those of the page."""
    text = (home / "report" / "report.md").read_text(encoding="utf-8").partition("\n")[2]
    return "\n## What `execledger eval report` says of it\n" + re.sub(r"^#", "##", text, flags=re.MULTILINE)


def evaluate(containers: Engine, home: Path, tasks: list[str]) -> tuple[list[ExpectedRun], list[str]]:
    """Run, grade and report; the runs as they were exported, and what is not as expected."""
    bench = Bench(containers, home, tasks, {})
    calls = (("run", "plan.toml", "-o", "out", "--batch", "2", "--threads", "2"), ("grade", "out", "--workers", "2"))
    further = (*(("report", "out", "-o", "report", "--format", kind) for kind in ("json", "md")), EXPORT)
    with bench.model() as model:
        for words in (*calls, *further):
            done = bench.grade(*words) if words[0] == "grade" else bench.call(*words)
            print(
                f"$ execledger eval {' '.join(words)}\n{done.err}{done.out if words[0] == 'grade' else ''}", flush=True
            )
            if done.status:
                return [], [f"eval {words[0]} ended with status {done.status}"]
    expected, found = expected_runs(model, tasks), exported_runs(home / "tables")
    wrong = [f"expected {one}, found {other}" for one, other in zip(expected, found, strict=True) if one != other]
    said, arms = reported_arms(home / "report" / "report.json"), expected_arms(expected)
    wrong += [f"{arm}: expected {arms[arm]}, reported {said.get(arm)}" for arm in ARMS if said.get(arm) != arms[arm]]
    return found, [*model.faults, *wrong]


def main() -> int:
    """Evaluate, print the table, and say whether everything held."""
    tasks = [name for name in SOLVED if name not in NEEDED or shutil.which(NEEDED[name], path=SEARCHED)]
    for name in SOLVED.keys() - tasks:
        print(f"{name} is left out: there is no {NEEDED[name]} here")
    try:
        with engine() as containers, tempfile.TemporaryDirectory() as home:
            runs, wrong = evaluate(containers, Path(home).resolve(), tasks)
            report = "" if wrong else report_of(Path(home))
    except NotInstalled as error:
        print(f"evaluation: not run: {error}")
        return 1
    made = table(runs) if runs else ""
    print(made)
    for one in wrong:
        print(f"wrong: {one}")
    if made and not wrong:
        mini, swebench = map(importlib.metadata.version, ("mini-swe-agent", "swebench"))
        head = HEAD.format(date=date.today().isoformat(), tasks=len(tasks), mini=mini, swebench=swebench)
        PAGE.write_text(head + made + report, encoding="utf-8")
    resolved = sum(run.resolved for run in runs)
    said = f"{len(wrong)} figures differ" if wrong else "every run and every total of the report is as scripted"
    print(f"evaluation: {'failed' if wrong else 'held'}: {len(runs)} runs, {resolved} resolved; {said}")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
