"""mini-swe-agent's own batch runner over the tasks of an evaluation, with or without Ledger around it.

The runner saves a task's trajectory when the task has ended, and rewrites its ``preds.json`` in place. So a whole
trajectory marks a task as finished, and the runner's predictions are never read: ours are made from the trajectories.

The system prompt of a run begins with a salt, so that no run finds in the provider's prompt cache what another one has
sent. The agent's own configuration puts it there, in every arm, base included. Salts differ between runs and have the
same number of digits, which tokenizers cut into the same number of tokens.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from execledger.agents import processes
from execledger.agents.evaluation import (
    Batch,
    Instance,
    Setup,
    TaskResult,
    answer_of,
    decoded,
    held,
    last_words,
    settings,
    stored,
    unanswered,
)
from execledger.agents.programs import interpreter_of
from execledger.errors import LedgerError

PREDICTIONS = "preds.json"
"""The runner's own predictions."""
PACKAGES = ("mini-swe-agent", "litellm", "datasets")
"""The packages whose versions may change a result."""
_ASK_VERSIONS = """
import importlib.metadata, importlib.util, json, os, platform, sys
found = {"python": platform.python_version()}
for name in sys.argv[1:]:
    try:
        found[name] = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        found[name] = ""
# Found and not imported: the package prints and writes when it is.
package = importlib.util.find_spec("minisweagent")
print(json.dumps([found, os.path.dirname(package.origin) if package else ""]))
"""
"""A program for the agent's Python: prints the versions of packages, and where the agent's package is."""
_SHARED = 'cache = "shared" in the plan does without a salt'
_ASK_TEMPLATE = """
import json, sys
from minisweagent.config import get_config_from_spec
found = None
for spec in sys.argv[1:]:
    found = (get_config_from_spec(spec).get("agent") or {}).get("system_template", found)
print(json.dumps(found))
"""
"""A program for the agent's Python: prints the system template of its configuration."""


class _Stats(Struct, frozen=True):
    instance_cost: float | None = None


class _Named(Struct, frozen=True):
    model_name: str = ""


class _Config(Struct, frozen=True):
    model: _Named = _Named()


class _Info(Struct, frozen=True):
    exit_status: str | None = None
    submission: str | None = None
    model_stats: _Stats = _Stats()
    config: _Config = _Config()


class _Trajectory(Struct, frozen=True):
    """What the runner saves when a task has ended, and not before."""

    instance_id: str
    info: _Info


def finished(folder: Path) -> TaskResult | None:
    """The result in a task's trajectory; None if there is none, or it is torn."""
    saved = decoded(folder / f"{folder.name}.traj.json", _Trajectory)
    if saved is None or saved.instance_id != folder.name:
        return None
    return TaskResult(
        instance_id=saved.instance_id,
        model_name_or_path=saved.info.config.model.model_name,
        model_patch=saved.info.submission or "",
        ended=saved.info.exit_status or "",
        cost=saved.info.model_stats.instance_cost,
    )


def work(batch: Batch) -> str:
    """Run the tasks that the batch's folder does not hold yet; why some are not finished, "" if all are."""
    with held(batch.folder) as lock:
        left = _unfinished(batch, batch.tasks)
        # Torn files would stop the runner, or make it skip a task.
        (batch.folder / PREDICTIONS).unlink(missing_ok=True)
        for task in left:
            shutil.rmtree(batch.folder / task.instance_id, ignore_errors=True)
        status = 0
        if left:
            words = command(batch, left)
            with batch.log.open("ab") as output:
                status = processes.run(words, cwd=batch.setup.cwd, hold=lock, output=output, heeds_interrupts=True)
        missing = _unfinished(batch, left)
    return f"ended with status {status}: {_reason(last_words(batch.log))} ({batch.log})" if missing else ""


def _unfinished(batch: Batch, tasks: Sequence[Instance]) -> list[Instance]:
    """The tasks that have no result yet."""
    folders = ((task, batch.folder / task.instance_id) for task in tasks)
    return [task for task, folder in folders if stored(folder) is None and finished(folder) is None]


def _reason(words: str) -> str:
    """The reason of a failure; the agent's last words name a command of Docker that failed, and not why it did."""
    docker = shutil.which("docker") if "docker" in words else None
    return (unanswered(docker) if docker else "") or words or "it said nothing"


def command(batch: Batch, tasks: Sequence[Instance]) -> list[str]:
    """The command line for these tasks."""
    setup = batch.setup
    own: dict[str, object] = {
        "model.model_kwargs.reasoning_effort": setup.reasoning_effort or None,
        "agent.step_limit": setup.keys["step_limit"],
        "agent.cost_limit": setup.keys["cost_limit"],
        "agent.wall_time_limit_seconds": setup.time_limit,
    }
    given = {name: value for name, value in own.items() if value is not None}
    names = "|".join(re.escape(task.instance_id) for task in tasks)
    return [
        *batch.around(),
        *(setup.program, "swebench", "--subset", str(batch.dataset), "--split", batch.split),
        *("--filter", f"(?:{names})$"),
        *("-o", str(batch.folder), "-w", str(setup.keys["threads"])),
        *(word for name in setup.keys["config"] for word in ("-c", name)),
        *settings({**given, **setup.settings}),
        *_salted(batch, tasks),
        *(("-m", setup.model) if setup.model else ()),
    ]


def _salted(batch: Batch, tasks: Sequence[Instance]) -> list[str]:
    """The setting that begins the prompt of each task with its salt, behind all others; nothing without salts."""
    if not batch.salts:
        return []
    salts = {task.problem_statement: batch.salts[task.instance_id] for task in tasks}
    template = salted_template(batch.template, salts)
    if len(salts) == 1:
        return settings({"agent.system_template": template})
    # The texts of many tasks are too long for a command line.
    file = batch.folder / "prompt.yaml"
    file.write_text(json.dumps({"agent": {"system_template": template}}), encoding="utf-8")
    return ["-c", str(file)]


def salted_template(template: str, salts: Mapping[str, str]) -> str:
    """A system template that begins with a salt; ``salts`` has that of each task, by the task's text."""
    several = ", ".join(f"{_literal(task)}: {_literal(salt)}" for task, salt in salts.items())
    salt = next(iter(salts.values())) if len(salts) == 1 else f"{{{{ {{{several}}}[task] }}}}"
    return f"Run {salt}.\n\n{template}"


def _literal(text: str) -> str:
    """A text as a literal of a Jinja expression."""
    return '"' + text.encode("unicode_escape").decode().replace('"', r"\"") + '"'


def system_template(setup: Setup) -> str:
    """The system template of mini-swe-agent's configuration; the agent itself is asked, unless the plan sets it."""
    own = setup.settings.get("agent.system_template")
    if isinstance(own, str):
        return own
    command = [interpreter_of(setup.program), "-I", "-c", _ASK_TEMPLATE, *setup.keys["config"]]
    silent = {**os.environ, "MSWEA_SILENT_STARTUP": "1"}
    asked = subprocess.run(
        command, cwd=setup.cwd, env=silent, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    try:
        found = json.loads(asked.stdout.strip().splitlines()[-1])
    except (IndexError, ValueError):
        said = asked.stderr.strip().splitlines()[-1:] or ["nothing"]
        raise LedgerError(f"{setup.program}: can't be asked for its system prompt: {said[0]}", hint=_SHARED) from None
    if not isinstance(found, str):
        named = ", ".join(setup.keys["config"])
        raise LedgerError(f"{named}: found no `agent.system_template` to put a salt before", hint=_SHARED)
    return found


def versions(setup: Setup) -> dict[str, str]:
    """The versions of the agent's Python and packages; of the user's configuration files, a digest."""
    asked, package = json.loads(answer_of([interpreter_of(setup.program), "-I", "-c", _ASK_VERSIONS, *PACKAGES]))
    _need_configuration(setup, Path(package) if package else None)
    files = {name: setup.cwd / name for name in setup.keys["config"] if (setup.cwd / name).is_file()}
    read = {f"config {name}": hashlib.sha256(path.read_bytes()).hexdigest()[:16] for name, path in files.items()}
    return {**asked, **read}


def _need_configuration(setup: Setup, package: Path | None) -> None:
    """Raise an error for a missing configuration file before every run fails by it; searched where the agent does."""
    folders = [setup.cwd, setup.cwd / os.environ.get("MSWEA_CONFIG_DIR", ".")]
    folders += [package / "config" / part for part in ("", "extra", "benchmarks")] if package else []
    for name in setup.keys["config"] if package else ():
        file = name if name.endswith(".yaml") else str(Path(name).with_suffix(".yaml"))
        if "=" not in name and not any((folder / file).exists() for folder in folders):
            raise LedgerError(
                f"{name}: found no such configuration file", hint="`config` names files of mini-swe-agent"
            )


def clear(setup: Setup, scratch: Path) -> None:
    """Nothing is left by killed processes of this runner."""
