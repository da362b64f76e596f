"""Runs the real mini-swe-agent, as its users start it, against the scripted model server.

Each run is a process with an environment of its own: no key, no network, no file of the user's. ``config`` adds ``-c``
options after the harness's own, so they win; ``prefix`` is a launcher.
"""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from execledger.demo.mini import LOOPBACK_MODEL, TIMEOUT, config_options, console_script, environment, run_client
from execledger.testing.scripted_model import ModelServer, Request
from tests.support.agents.swebench import SPLIT, Instance, write_dataset

STANDINS = Path(__file__).parents[1] / "standins"
"""A folder for Python's path with modules in place of packages that are slow to import."""


class Format(NamedTuple):
    """One of the message formats that mini-swe-agent speaks."""

    model_class: str
    """The model class, by its short name or its path."""
    model_name: str
    """The model's name, whose beginning chooses the provider."""
    mini_config: str
    """The configuration file of ``mini`` that goes with it."""
    swebench_config: str
    """The configuration file of ``mini-extra swebench`` that goes with it."""
    base: str
    """What the provider wants behind the server's address."""


FORMATS = {
    "chat": Format("litellm", "openai/scripted", "mini.yaml", "swebench.yaml", "/v1"),
    "responses": Format("litellm_response", "openai/scripted", "mini.yaml", "swebench.yaml", "/v1"),
    "text": Format("litellm_textbased", "openai/scripted", "mini_textbased.yaml", "swebench_backticks.yaml", "/v1"),
    "anthropic": Format("litellm", "anthropic/claude-scripted", "mini.yaml", "swebench.yaml", ""),
    "openrouter": Format(LOOPBACK_MODEL, "scripted", "mini.yaml", "swebench.yaml", "/v1"),
}
"""The formats: chat with tool calls, OpenAI Responses, one command in the text, Anthropic Messages, and chat again
through the agent's OpenRouter model, which is quick to start: the others import litellm, which takes seconds."""


class ContainerCommand(Protocol):
    """A stand-in for docker, or a real engine's command."""

    @property
    def executable(self) -> Path:
        """The command to call in place of docker."""


class MiniRun(NamedTuple):
    """What came of a run."""

    status: int
    """The exit status of the process."""
    output: str
    """What it printed, errors included."""
    trajectories: dict[str, Any]
    """The saved runs, by instance; of ``mini``, the only one is called ``mini``."""
    predictions: dict[str, Any]
    """What a batch run wrote to ``preds.json``."""
    requests: list[Request]
    """What the model server was asked."""


def installed() -> bool:
    """Whether mini-swe-agent can be run from this Python; it is not imported, since that prints and makes folders."""
    return importlib.util.find_spec("minisweagent") is not None


def quick_start() -> dict[str, str]:
    """The variables with which a process imports the stand-ins, for tests that are about something else."""
    return {"PYTHONPATH": os.pathsep.join(filter(None, (str(STANDINS), os.environ.get("PYTHONPATH"))))}


def model_options(server: ModelServer, message_format: str, config_file: str) -> list[str]:
    """The options that make a run use the server."""
    chosen = FORMATS[message_format]
    specs = [
        config_file,
        f"model.model_class={chosen.model_class}",
        f"model.model_name={chosen.model_name}",
        f"model.model_kwargs.api_base={server.url}{chosen.base}",
        "model.cost_tracking=ignore_errors",
    ]
    return config_options(specs)


def mini_command(
    server: ModelServer,
    task: str,
    trajectory: Path,
    *,
    message_format: str = "openrouter",
    config: Sequence[str] = (),
    options: Sequence[str] = ("-y", "--exit-immediately"),
) -> list[str]:
    """The command line of ``mini`` on a task."""
    model = model_options(server, message_format, FORMATS[message_format].mini_config)
    words = [console_script("mini"), "-t", task, "-o", str(trajectory)]
    return [*words, *model, *config_options(config), *options]


def swebench_command(
    server: ModelServer,
    dataset: Path,
    output: Path,
    docker: ContainerCommand,
    *,
    message_format: str = "openrouter",
    workers: int = 2,
    config: Sequence[str] = (),
    options: Sequence[str] = (),
) -> list[str]:
    """The command line of ``mini-extra swebench`` on a dataset folder."""
    model = model_options(server, message_format, FORMATS[message_format].swebench_config)
    words = [console_script("mini-extra"), "swebench", "--subset", str(dataset), "--split", SPLIT]
    words += ["-o", str(output), "-w", str(workers)]
    container = config_options([f"environment.executable={docker.executable}"])
    return [*words, *model, *container, *config_options(config), *options]


def run_mini(
    server: ModelServer,
    task: str,
    folder: Path,
    home: Path,
    *,
    message_format: str = "openrouter",
    config: Sequence[str] = (),
    options: Sequence[str] = ("-y", "--exit-immediately"),
    prefix: Sequence[str] = (),
    extra: Mapping[str, str] | None = None,
    timeout: float = TIMEOUT,
) -> MiniRun:
    """Run ``mini`` on a task in ``folder``; what it keeps goes into ``home``."""
    trajectory, earlier = home / "mini.traj.json", len(server.requests)
    trajectory.unlink(missing_ok=True)
    command = mini_command(server, task, trajectory, message_format=message_format, config=config, options=options)
    status, output = run_client([*prefix, *command], folder, environment(home, extra), timeout)
    trajectories = {"mini": read_json(trajectory)} if trajectory.exists() else {}
    return MiniRun(status, output, trajectories, {}, server.requests[earlier:])


def run_swebench(
    server: ModelServer,
    instances: Sequence[Instance],
    docker: ContainerCommand,
    home: Path,
    *,
    message_format: str = "openrouter",
    workers: int = 2,
    config: Sequence[str] = (),
    options: Sequence[str] = (),
    prefix: Sequence[str] = (),
    extra: Mapping[str, str] | None = None,
) -> MiniRun:
    """Run ``mini-extra swebench`` on instances; its output folder is ``home/output``, which may exist already."""
    dataset, results, earlier = write_dataset(home / "dataset", instances), home / "output", len(server.requests)
    command = swebench_command(
        server,
        dataset,
        results,
        docker,
        message_format=message_format,
        workers=workers,
        config=config,
        options=options,
    )
    status, output = run_client([*prefix, *command], home, environment(home, extra))
    trajectories = {path.parent.name: read_json(path) for path in sorted(results.glob("*/*.traj.json"))}
    predictions = read_json(results / "preds.json") if (results / "preds.json").exists() else {}
    return MiniRun(status, output, trajectories, predictions, server.requests[earlier:])


def read_json(path: Path) -> Any:
    """What a JSON file holds."""
    return json.loads(path.read_text(encoding="utf-8"))
