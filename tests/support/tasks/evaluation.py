"""A whole evaluation of the example tasks with real parts, the model excepted.

The real batch runner works in real containers, under ``execledger eval run``; the official harness of SWE-bench grades
the repairs, through the engine's Docker API. The model is a script that solves a task or not by a table, so what the
report must say is known beforehand, from the table and from the requests that the model got.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from execledger.demo.mini import LOOPBACK_MODEL, SUBMIT, environment
from execledger.evaluate.experiment import Salted
from execledger.evaluate.study import Study
from execledger.testing.scripted_model import ModelServer, OffScript, Request, Script
from tests.support.containers.engine import Engine

TASKS = Path(__file__).parents[3] / "examples" / "tasks"
"""The example tasks."""
BASE = "localhost/execledger-tasks/base:1"
"""The image that their script builds upon."""
ARMS = ("base", "inform", "govern", "both")
"""The arms."""
TRIALS = (1, 2)
"""The trials."""
SOLVED: Mapping[str, Mapping[int, Sequence[str]]] = {
    "intervals": {1: ARMS, 2: ARMS},
    "versions": {1: ("base", "govern"), 2: ("base",)},
    "records": {1: ("inform", "both"), 2: ("inform", "both")},
    "cache": {1: ARMS, 2: ()},
    "duration": {1: (), 2: ("both",)},
    "sums": {1: ("base", "both"), 2: ("govern", "both")},
    "backup": {1: (), 2: ()},
    "wrap": {1: (), 2: ()},
}
"""In which arms the script solves each task, by trial."""
LOST = "wrap"
"""The task at which the script never submits anything: its run ends at the limit of steps."""
READ: Mapping[str, Sequence[str]] = {
    "intervals": ("spans/merging.py", "spans/model.py", "spans/gaps.py", "test_spans.py"),
    "versions": ("lib/versions.sh", "bin/newest", "test.sh"),
    "records": ("records/writer.py", "records/reader.py", "test_records.py"),
    "cache": ("cache/entries.py", "cache/statistics.py", "test_cache.py"),
    "duration": ("lib/format.js", "lib/units.js", "test.js"),
    "sums": ("summary.awk", "test.sh"),
    "backup": ("bin/rotate", "lib/backups.sh", "test.sh"),
    "wrap": ("lib/Wrap.pm", "test.pl"),
}
"""The files that the script reads; the first one again before it repairs something, and after that."""
STEP_LIMIT = 12
"""Model calls after which a run ends; no script but the one for ``LOST`` takes as many."""
SALT = re.compile(r"^Run (\d+)\.")
"""The beginning of every system prompt, by which runs are told apart."""
EVAL = (sys.executable, "-m", "execledger", "eval")
PATIENCE = 1800.0
"""Seconds after which a command is given up."""
GRADINGS = 3
"""Times that a grading is tried on a machine that loses outputs."""


class Cell(NamedTuple):
    """One run: what its salt stands for."""

    arm: str
    """The arm."""
    task: str
    """The task, by the name of its folder."""
    trial: int
    """The trial."""

    @property
    def solved(self) -> bool:
        """Whether the script solves the task in this run."""
        return self.arm in SOLVED[self.task][self.trial]


class Ended(NamedTuple):
    """What a command left."""

    status: int
    """Its exit status."""
    out: str
    """What it printed."""
    err: str
    """What it complained about."""


def short(instance: str) -> str:
    """The name of a task's folder."""
    return instance.removeprefix("example__").removesuffix("-1")


def applied(patch: str) -> str:
    """The command that applies a patch."""
    return f"git apply <<'PATCH'\n{patch}PATCH"


def script(row: Mapping[str, Any], *, solved: bool) -> Script:
    """What the model does about a task: it reads, repairs or does something useless, tests, and submits the change."""
    task = short(row["instance_id"])
    files = READ[task]
    reads = [[f"cat {name}"] for name in (*files, files[0])]
    begun: list[list[str]] = [["ls -R . | head -40"], *reads]
    if task == LOST:
        return [*begun, *[[f"cat {files[0]}"]] * STEP_LIMIT]
    repair = applied(row["patch"]) if solved else f"sed -i '1s/$/ /' {files[0]}"
    tests = re.findall(r"Start Test Output'\n(.*?)\n: '>>>>> End", row["eval_script"], re.DOTALL)[0]
    ended = [[repair], [f"cat {files[0]}"], [tests], ["git diff > /tmp/patch.txt"], [f"{SUBMIT} && cat /tmp/patch.txt"]]
    return [*begun, *ended]


class ScriptedModel(ModelServer):
    """Answers by the arm, the task and the trial of a run, which it knows from the salt of the prompt."""

    def __init__(
        self, study: Study, rows: Sequence[Mapping[str, Any]], at_turn: Mapping[int, Callable[[], object]]
    ) -> None:
        """At the turns of ``at_turn``, counted from 0, something is done before the model answers."""
        super().__init__([])
        self._at_turn = at_turn
        self._study, self._rows = study, {short(row["instance_id"]): row for row in rows}
        self._cells: dict[str, Cell] = {}

    def cell(self, request: Request) -> Cell:
        """The run that a request belongs to."""
        if not self._cells:
            self._cells = self._salts()
        system = next((item.text for item in request.items if item.speaker == "system"), "")
        found = SALT.match(system)
        if found is None or found[1] not in self._cells:
            raise OffScript(f"found no salt of this evaluation in {system[:40]!r}")
        return self._cells[found[1]]

    def _salts(self) -> dict[str, Cell]:
        recorded = self._study.recorded()
        assert recorded is not None, "no run begins before the plan is stored"
        salted = Salted(study=recorded.salt, template="")
        cells = [Cell(arm, task, trial) for arm in ARMS for task in self._rows for trial in TRIALS]
        return {salted.salt(one.arm, f"example__{one.task}-1", one.trial): one for one in cells}

    def _script_for(self, request: Request) -> Script:
        cell = self.cell(request)
        self._at_turn.get(request.turn, lambda: None)()
        return script(self._rows[cell.task], solved=cell.solved)


class Bench:
    """A folder with a dataset, a plan and a ``docker`` command, in which the commands of an evaluation are run."""

    def __init__(self, engine: Engine, home: Path, tasks: Sequence[str], extra: Mapping[str, str]) -> None:
        """Build the images of these tasks, in the engine; ``extra`` are further variables for ``eval run``."""
        self.home, self.study, self._engine = home, Study(home / "out"), engine
        self.docker = engine.docker(home)
        engine.base("tasks", BASE)
        words = [word for name in tasks for word in ("--task", name)]
        self.built = self._run(
            [sys.executable, str(TASKS / "build.py"), "-o", "dataset", "--docker", str(self.docker.executable), *words],
            environment(home, extra),
        )
        assert self.built.status == 0, self.built
        lines = (home / "dataset" / "test.jsonl").read_text(encoding="utf-8").splitlines()
        self.rows: list[dict[str, Any]] = [json.loads(line) for line in lines]
        self._extra = extra

    @contextmanager
    def model(self, at_turn: Mapping[int, Callable[[], object]] | None = None) -> Iterator[ScriptedModel]:
        """The scripted model, with a plan that uses it: that of the examples, with another model."""
        server = ScriptedModel(self.study, self.rows, at_turn or {})
        with server:
            plan = (TASKS / "plan.toml").read_text(encoding="utf-8")
            settings = {
                "environment.executable": str(self.docker.executable),
                "model.model_class": LOOPBACK_MODEL,
                "model.model_kwargs.api_base": f"{server.url}/v1",
                "model.cost_tracking": "ignore_errors",
            }
            lines = [f"{json.dumps(name)} = {json.dumps(value)}" for name, value in settings.items()]
            (self.home / "plan.toml").write_text(f"{plan}step_limit = {STEP_LIMIT}\n\n[settings]\n" + "\n".join(lines))
            yield server

    def call(self, *words: str) -> Ended:
        """Run ``execledger eval``, with the engine as the only Docker."""
        with self._engine.service() as address:
            variables = environment(self.home, self._extra if words[0] == "run" else {})
            variables |= {"DOCKER_HOST": address, "PATH": f"{self.home}:{variables['PATH']}"}
            return self._run([*EVAL, *words], variables)

    def grade(self, *words: str) -> Ended:
        """Run ``execledger eval grade``, again where the machine failed: a busy one can lose an output."""
        for _ in range(GRADINGS - 1):
            if "the machine failed" not in (graded := self.call(*words)).out:
                return graded
        return self.call(*words)

    def _run(self, words: Sequence[str], variables: Mapping[str, str]) -> Ended:
        done = subprocess.run(
            words,
            cwd=self.home,
            env=dict(variables),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        return Ended(done.returncode, done.stdout, done.stderr)


class ExpectedRun(NamedTuple):
    """What must be known of one run, by the script and by the requests that its model got."""

    arm: str
    """The arm."""
    trial: int
    """The trial."""
    instance: str
    """The task."""
    ended: str
    """How it ended."""
    resolved: bool
    """Whether the script solves the task in it."""
    model_calls: int
    """Requests to the model."""
    input_tokens: int
    """Tokens of these requests, as the model's server counted them."""
    output_tokens: int
    """Tokens of the answers."""


def expected_runs(model: ScriptedModel, tasks: Sequence[str]) -> list[ExpectedRun]:
    """Every run, in the order of arm, trial and instance."""
    calls: dict[Cell, list[Request]] = {}
    for request in model.requests:
        calls.setdefault(model.cell(request), []).append(request)
    found = []
    for cell in (Cell(arm, task, trial) for arm in sorted(ARMS) for trial in TRIALS for task in sorted(tasks)):
        usage = [request.usage for request in calls[cell]]
        ended = "LimitsExceeded" if cell.task == LOST else "Submitted"
        spent = (len(usage), sum(one.prompt for one in usage), sum(one.completion for one in usage))
        found.append(ExpectedRun(cell.arm, cell.trial, f"example__{cell.task}-1", ended, cell.solved, *spent))
    return found


EXPORTED = """
SELECT arm, trial, instance, ended, resolved, model_calls,
       uncached_tokens + cached_tokens + written_tokens AS input_tokens, output_tokens
FROM '{file}' ORDER BY arm, trial, instance
"""


def exported_runs(folder: Path) -> list[ExpectedRun]:
    """The runs of ``eval export``, in the same order."""
    import duckdb

    with duckdb.connect() as database:
        rows = database.execute(EXPORTED.format(file=folder / "runs.parquet")).fetchall()
    return [ExpectedRun(*row) for row in rows]


class ExpectedArm(NamedTuple):
    """What the report must say of an arm, where an instance counts with the mean of its trials."""

    resolved: float
    """Resolved instances."""
    calls: float
    """Model calls."""
    input_tokens: float
    """Tokens of input."""


TITLES = {
    "base": "base",
    "+ Ledger (inform only)": "inform",
    "+ Ledger (govern only)": "govern",
    "+ Ledger (inform + govern)": "both",
}
"""The rows of the report's ablation, and their arms."""


def expected_arms(runs: Sequence[ExpectedRun]) -> dict[str, ExpectedArm]:
    """What the report must say of every arm."""
    found = {}
    for arm in ARMS:
        own = [run for run in runs if run.arm == arm]
        sums = (sum(run.resolved for run in own), sum(run.model_calls for run in own), sum(r.input_tokens for r in own))
        found[arm] = ExpectedArm(*(total / len(TRIALS) for total in sums))
    return found


def reported_arms(report: Path) -> dict[str, ExpectedArm]:
    """What the ablation of a report in JSON says of every arm."""
    (table,) = (one for one in json.loads(report.read_text(encoding="utf-8"))["tables"] if one["name"] == "ablation")
    titles = table["columns"]
    rows = [dict(zip(titles, row, strict=True)) for section in table["sections"] for row in section["rows"]]
    return {
        TITLES[row["Method"]["text"]]: ExpectedArm(
            row["Resolved"]["value"],
            row["Calls"]["value"],
            sum(row[name]["value"] for name in ("Uncached", "Written", "Cached") if name in row),
        )
        for row in rows
    }
