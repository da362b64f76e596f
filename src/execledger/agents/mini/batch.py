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
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from execledger.agents import processes
from execledger.agents.evaluation import (
    Batch,
    Failure,
    Instance,
    Needs,
    Problem,
    Setup,
    TaskResult,
    answer_of,
    decoded,
    held,
    image_here,
    last_words,
    refused_start,
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
LOCAL_PRICES = "LITELLM_LOCAL_MODEL_COST_MAP"
"""Variable by which litellm takes the list of prices in its package, and fetches none."""
USUAL = ("swebench.yaml",)
"""The configuration of plans that name none."""
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
    exception_str: str | None = None
    traceback: str | None = None
    model_stats: _Stats = _Stats()
    config: _Config = _Config()


class _Trajectory(Struct, frozen=True):
    """What the runner saves when a task has ended, and not before."""

    instance_id: str
    info: _Info
    messages: list[Any] = []


NO_FAILURE = ("Submitted", "LimitsExceeded", "")
"""How runs end that the agent has ended, or the plan's limits of steps and dollars."""
_CONTAINER_GONE = re.compile(
    r"\s*Error response from daemon: (?:No such container|[Cc]ontainer \w+ is not running)"
    r"|\s*Error: (?:can only create exec sessions on running containers|no container with name or ID|no such container)"
)
"""What Docker and podman print in place of a command's output if the container has ended."""


def failure(saved: _Trajectory) -> str:
    """What ended a run if it was not the agent: the kind of failure and details; "" otherwise."""
    info, status = saved.info, saved.info.exit_status or ""
    if gone := _gone(saved.messages):
        return Failure.CONTAINER.because(gone)
    if status in NO_FAILURE:
        return ""
    if status == "TimeExceeded":
        return Failure.TIMEOUT.because("the run reached the limit of time in the plan")
    if status == "RepeatedFormatError":
        return Failure.FORMAT.because("the model's answers had no valid tool call, several times in a row")
    told = f"{status}: {info.exception_str or ''}"
    if re.search(r"[/\\](?:litellm|minisweagent[/\\]models)[/\\]|loopback_model", info.traceback or ""):
        return Failure.API.because(told)
    return (Failure.TIMEOUT if "Timeout" in status else Failure.OTHER).because(told)


def _gone(messages: list[Any]) -> str:
    """What the container program said at the last command of a run, if the container had ended; else ""."""
    extras = (one.get("extra") for one in reversed(messages) if isinstance(one, dict))
    last = next((one for one in extras if isinstance(one, dict) and one.get("returncode") is not None), {})
    output = str(last.get("raw_output") or "")
    return output if last.get("returncode") and _CONTAINER_GONE.match(output) else ""


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
        failure=failure(saved),
    )


def work(batch: Batch) -> dict[str, str]:
    """Run the tasks that the batch's folder does not hold yet; by name, why tasks are not finished."""
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
        return {task.instance_id: f"{_reason(batch, task, status)} ({batch.log})" for task in missing}


def _unfinished(batch: Batch, tasks: Sequence[Instance]) -> list[Instance]:
    """The tasks that have no result yet."""
    folders = ((task, batch.folder / task.instance_id) for task in tasks)
    return [task for task, folder in folders if stored(folder) is None and finished(folder) is None]


def _reason(batch: Batch, task: Instance, status: int) -> str:
    """Why a task has no result; the agent names a command of Docker that failed, and drops what Docker said."""
    log = batch.folder / "minisweagent.log"
    said = log.read_text(encoding="utf-8", errors="replace") if log.is_file() else ""
    own = re.findall(rf"Error processing instance {re.escape(task.instance_id)}: (.*)", said)
    words = own[-1] if own else f"ended with status {status}: {last_words(batch.log) or 'it said nothing'}"
    docker = re.search(r"Command '?\['(.*?)', 'run',", words)
    if docker is None:
        return Failure.OTHER.because(words)
    if silent := unanswered(docker[1]):
        return Failure.OTHER.because(silent)
    try:
        here = image_here(docker[1], task.image)
        late = "timed out" in words
        refused = refused_start(docker[1], task.image) if here and not late else ""
    except LedgerError as error:
        return Failure.OTHER.because(error.message)
    if not here:
        return Failure.IMAGE.because(f"{task.image} is not in the local store, and could not be pulled")
    if refused:
        return Failure.OTHER.because(f"no container of {task.image} can be started: {refused}")
    return (Failure.TIMEOUT if late else Failure.OTHER).because(words)


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


_ASK_NEEDS = """
import json, os, sys
from minisweagent.config import get_config_from_spec
given = json.loads(sys.argv[1])
found = {"environment": {}, "model": {}}

def merge(into, new):
    for key, value in new.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            merge(into[key], value)
        else:
            into[key] = value

for spec in given["config"]:
    merge(found, get_config_from_spec(spec))
environment, model = found["environment"], found["model"]
name = os.environ.get("MSWEA_MODEL_NAME", "") if not model.get("model_name") else model["model_name"]
kind = model.get("model_class") or "litellm"
answer = {
    "environment_class": environment.get("environment_class") or "docker",
    "executable": environment.get("executable") or os.environ.get("MSWEA_DOCKER_EXECUTABLE") or "docker",
    "model_name": name,
    "model_class": kind,
    "model_error": "",
    "missing_keys": [],
    "priced": True,
    "unasked": "",
    "ignores_costs": False,
}
keyed = {"openrouter": "OPENROUTER_API_KEY", "portkey": "PORTKEY_API_KEY", "requesty": "REQUESTY_API_KEY"}
variable = keyed.get(kind.partition("_")[0])
if variable and not os.environ.get(variable):
    answer["missing_keys"] = [variable]

def ask(litellm):
    options = model.get("model_kwargs") or {}
    registry = model.get("litellm_model_registry") or os.environ.get("LITELLM_MODEL_REGISTRY_PATH") or ""
    if os.path.isfile(registry):
        litellm.utils.register_model(json.load(open(registry)))
    try:
        provider = litellm.get_llm_provider(model=name, api_base=options.get("api_base"))[1]
    except ImportError:
        raise
    except Exception as error:
        answer["model_error"] = str(error).splitlines()[0]
    else:
        if not options.get("api_key"):
            asked = litellm.validate_environment(model=name, api_base=options.get("api_base"))
            answer["missing_keys"] = [] if asked["keys_in_environment"] else asked["missing_keys"]
        try:
            # Some families of names are known by a pattern, without a price: there mini-swe-agent finds a cost of 0.
            known = litellm.get_model_info(name)
            answer["priced"] = any(value for key, value in known.items() if "cost" in key or "pricing" in key)
        except ImportError:
            raise
        except Exception:
            answer["priced"] = False

if kind.partition("_")[0] == "litellm" and name:
    tracking = model.get("cost_tracking") or os.environ.get("MSWEA_COST_TRACKING")
    answer["ignores_costs"] = tracking == "ignore_errors"
    try:
        import litellm
        ask(litellm)
    except Exception as error:
        answer["unasked"] = f"{type(error).__name__}: {error}".splitlines()[0]
print(json.dumps(answer))
"""
"""A program for the agent's Python: prints what a configuration of the agent needs of this machine."""


_HALF_IMPORTED = "partially initialized module"
"""What Python says of a module that is imported while another thread imports it."""


def needs(setup: Setup, tasks: Sequence[Instance]) -> Needs:
    """What runs need of this machine, by the agent's own configuration; the agent's Python is asked for it."""
    if not Path(setup.program).is_absolute():  # It was not found.
        return _told_needs(setup, tasks)
    named = [] if not setup.model else [f"model.model_name={json.dumps(setup.model)}"]
    own = [word for word in settings(setup.settings) if word != "-c"]
    given = json.dumps({"config": [*setup.keys["config"], *own, *named]})
    try:
        found = _answer(setup, given)
        problems: list[Problem] = []
        if found["unasked"] and not os.environ.get(LOCAL_PRICES):
            problems = [_unasked(setup, found, warning=True)]
            # The list of prices in the package is not the newest, so what it lacks may be known all the same.
            found = {**_answer(setup, given, **{LOCAL_PRICES: "True"}), "dated": True}
        if found["unasked"]:
            problems = [_unasked(setup, found)]
    except LedgerError as error:
        return _told_needs(setup, tasks, Problem(error.message, error.hint))
    docker = found["executable"] if found["environment_class"] == "docker" else ""
    images = tuple(dict.fromkeys(task.image for task in tasks)) if docker else ()
    problems += _model_problems(found)
    return Needs(docker=docker, images=images, model=found["model_name"], problems=tuple(problems))


def _answer(setup: Setup, given: str, **variables: str) -> dict[str, Any]:
    """What the agent's Python says of a configuration; raises ``LedgerError`` if it says nothing that can be read."""
    command = [interpreter_of(setup.program), "-I", "-c", _ASK_NEEDS, given]
    silent = {**os.environ, "MSWEA_SILENT_STARTUP": "1", **variables}
    asked = subprocess.run(
        command, cwd=setup.cwd, env=silent, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    try:
        found: dict[str, Any] = json.loads(asked.stdout.strip().splitlines()[-1])
    except (IndexError, ValueError):
        said = asked.stderr.strip().splitlines()[-1:] or ["nothing"]
        hint = "see `config` and `settings` of the plan: its files of mini-swe-agent in order, and settings over them"
        raise LedgerError(f"{setup.program}: can't be asked for its configuration: {said[0]}", hint=hint) from None
    return found


def _unasked(setup: Setup, found: Mapping[str, Any], *, warning: bool = False) -> Problem:
    """That litellm could not be asked about the model. It fetches its list of prices, and may fail if it can't."""
    about, reason = f"about the model `{found['model_name']}`", found["unasked"]
    if warning and _HALF_IMPORTED in reason:
        # While it is imported, a thread of its own tries the list of prices again, and both import the same modules.
        what = f"{setup.program}: litellm can't fetch its list of prices, and its import can fail while it tries again"
        return Problem(what, f"runs may fail in the same way, unless `export {LOCAL_PRICES}=True`", warning=True)
    if warning:
        what = f"{setup.program}: litellm can be asked {about} only without fetching its list of prices: {reason}"
        return Problem(what, f"runs may fail in the same way, unless `export {LOCAL_PRICES}=True`", warning=True)
    hint = "`python -c 'import litellm'` in its environment tells more"
    return Problem(f"{setup.program}: litellm can't be asked {about}: {reason}", hint)


def _told_needs(setup: Setup, tasks: Sequence[Instance], *problems: Problem) -> Needs:
    """What runs need by the plan alone, with the problem why the agent's Python could not be asked, if it is there."""
    own = setup.settings
    usual = own.get("environment.environment_class", "docker") == "docker" and setup.keys["config"] == USUAL
    named = str(own.get("environment.executable") or os.environ.get("MSWEA_DOCKER_EXECUTABLE") or "docker")
    images = tuple(dict.fromkeys(task.image for task in tasks)) if usual else ()
    return Needs(docker=named if usual else "", images=images, model=setup.model, problems=problems)


def _model_problems(found: Mapping[str, Any]) -> Iterator[Problem]:
    """What is wrong with the model of a configuration, as far as can be known without asking its provider."""
    name = found["model_name"]
    if not name:
        yield Problem("no model is named", hint='model = "PROVIDER/NAME" in the plan, or --model')
    if found["model_error"]:
        yield Problem(f"the model `{name}`: {found['model_error']}", hint="litellm expects PROVIDER/NAME")
    if missing := found["missing_keys"]:
        keys = " or ".join(missing)
        if any(key.endswith("_API_KEY") for key in missing):
            yield Problem(f"the model `{name}`: found no API key in the environment", hint=f"export {keys}=...")
        else:
            # A profile, a role, the provider's own login or a default address may take their place.
            yield Problem(f"the model `{name}`: found no {keys} in the environment", warning=True)
    if not found["priced"] and not found["ignores_costs"]:
        hint = "check its name; --set model.cost_tracking=ignore_errors runs it without prices"
        unpriced = f"the model `{name}`: litellm knows no price of it, and mini-swe-agent then fails"
        yield Problem(unpriced, hint=hint, warning=bool(found.get("dated")))
    elif not found["priced"]:
        yield Problem(f"the model `{name}`: litellm knows no price of it", hint="check its name", warning=True)


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
        path = Path(name)
        file = path if path.suffix == ".yaml" or not path.name else path.with_suffix(".yaml")
        if "=" not in name and not any(os.path.isfile(folder / file) for folder in folders):
            raise LedgerError(
                f"{name or 'an empty name'}: found no such configuration file",
                hint="`config` names files of mini-swe-agent",
            )


def clear(setup: Setup, scratch: Path) -> None:
    """Nothing is left by killed processes of this runner."""
