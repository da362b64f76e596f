"""Starts mini-swe-agent with Ledger named in its configuration.

``execledger run`` finds the Python that the agent's console script runs with, and replaces itself by that Python:

    python -P -m execledger.agents.mini.launch OPTIONS PROGRAM ARGUMENTS...

There the user's own options stay as they are. Ledger's are added behind them as ``-c key=value``; no file is written.
"""

from __future__ import annotations

import atexit
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, NamedTuple

from execledger.agents.mini.config import options_of
from execledger.agents.mini.witness import note_environments
from execledger.agents.programs import interpreter_of
from execledger.agents.registry import Launch
from execledger.errors import LedgerError
from execledger.extras import requirement
from execledger.redact import redact
from execledger.runs.account import sentences

PRESENT = """
import importlib.util, sys
sys.path = [folder for folder in sys.path if folder]
try:
    from importlib.metadata import version
    print(version("litellm"))
except Exception:
    print("?")
sys.exit(3 if sys.version_info < (3, 11) else importlib.util.find_spec("execledger") is None)
"""
"""A program for the agent's Python: prints litellm's version, and exits with 0 if it can import our package.

The current directory does not count."""
TOO_OLD = 3
"""Its exit status in a Python that is too old for our package."""
BROKEN_LITELLM = ("1.106.", "1.108.0", "1.108.1", "1.108.2", "1.108.3")
"""Versions of litellm that break every tool call of an unmodified mini-swe-agent: how their numbers begin."""


def start(script: str, arguments: list[str], launch: Launch) -> int:
    """Replace this process by the agent whose console script is ``script``, with Ledger in its configuration."""
    program = Path(script).name
    interpreter = interpreter_of(script)
    check(interpreter, program)
    placement, sealed = launch.options.get("--placement"), launch.options.get("--sealed")
    if sealed and runner_of(program, arguments) not in ("mini", None):
        raise LedgerError(
            f"--sealed: found with {program} {arguments[0]}, whose instances run side by side on this machine",
            hint="its configuration says whether commands run in containers; Ledger reads it there",
        )
    own = {"placement": placement, "sealed": sealed}
    given = json.dumps({**launch.asked, **{name: value for name, value in own.items() if value}})
    os.execv(interpreter, [interpreter, "-P", "-m", "execledger.agents.mini.launch", given, program, *arguments])


def check(interpreter: str, program: str) -> None:
    """See that a Python can import our package; the error says what to do."""
    try:
        status = subprocess.run([interpreter, "-c", PRESENT], stdout=subprocess.DEVNULL, check=False).returncode
    except OSError as error:
        raise LedgerError(
            f"{interpreter} runs {program}, but can't be started: {error.strerror}", hint="install mini-swe-agent anew"
        ) from error
    if status == TOO_OLD:
        raise LedgerError(
            f"{interpreter} runs {program}, and is too old for execledger",
            hint="install mini-swe-agent with Python 3.11 or newer",
        )
    if status:
        raise LedgerError(f"{interpreter} runs {program}, but can't import execledger", hint=remedy(interpreter))


def remedy(interpreter: str) -> str:
    """The one line that makes our package importable for another Python."""
    tool = re.search(r"/(pipx/venvs|uv/tools)/([^/]+)/", interpreter)
    if tool and tool[1] == "pipx/venvs":
        return f"pipx inject {tool[2]} {requirement()}"
    if tool:
        return f"uv tool install {tool[2]} --with {requirement()}"
    return f"{shlex.quote(interpreter)} -m pip install {requirement()}"


def problems(python: str, ask: Callable[[list[str]], tuple[str, int | None]]) -> Iterator[tuple[str, str]]:
    """What keeps mini-swe-agent in this Python from working with Ledger, each with its repair."""
    litellm, status = ask([python, "-c", PRESENT])
    if litellm.startswith(BROKEN_LITELLM):
        fix = f"{python} -m pip install 'litellm!=1.106.*,!=1.108.0,!=1.108.1,!=1.108.2,!=1.108.3'"
        yield f"litellm {litellm} breaks every tool call of it, with and without Ledger", fix
    if status == TOO_OLD:
        yield f"{python} is too old for execledger", "install mini-swe-agent with Python 3.11 or newer"
    elif status != 0:
        yield f"{python} can't import execledger", remedy(python)


MODEL = "execledger.agents.mini_swe_agent.LedgerModel"
"""The model class that we name."""
RUNNERS = {
    "mini": "minisweagent.run.mini",
    "swebench": "minisweagent.run.benchmarks.swebench",
    "swebench-single": "minisweagent.run.benchmarks.swebench_single",
    "programbench": "minisweagent.run.benchmarks.programbench",
}
"""The runners, by program or subcommand, and the modules of their command lines."""


class ConfigOptions(NamedTuple):
    """What a command line of the agent says about its configuration."""

    specs: list[str]
    """The values of ``-c``, or the runner's own default."""
    given: bool
    """They are the user's, and not the default."""
    model_class: str
    """The value of ``--model-class``; empty if it is not given."""


def runner_of(program: str, arguments: list[str]) -> str | None:
    """Which runner a command line starts; None for what runs no agent, such as the inspector."""
    if program in ("mini", "mini-swe-agent"):
        return "mini"
    return arguments[0] if arguments and arguments[0] in RUNNERS else None


def asked_of(runner: str, arguments: list[str]) -> ConfigOptions:
    """What the command line says, read by the agent's own parser, since only that knows every spelling."""
    from typer.main import get_command

    command = get_command(import_module(RUNNERS[runner]).app)
    words = arguments if runner == "mini" else arguments[1:]
    # Resilient: a mistake in the command line is the agent's to report.
    context = command.make_context(runner, list(words), resilient_parsing=True)
    names = {option: str(parameter.name) for parameter in command.params for option in parameter.opts}
    config, model_class = names["--config"], names.get("--model-class", "")
    source = context.get_parameter_source(config)
    given = source is not None and source.name == "COMMANDLINE"
    return ConfigOptions(list(context.params.get(config) or ()), given, context.params.get(model_class) or "")


def injected(runner: str, arguments: list[str], options: dict[str, Any]) -> list[str]:
    """The command line with Ledger in it, behind the user's own words."""
    asked = asked_of(runner, arguments)
    # Any -c drops the default file, so it has to be named.
    added = [] if asked.given else [word for spec in asked.specs for word in ("-c", spec)]
    settings = {f"ledger.{name}": value for name, value in options.items()}
    model = configured_model(asked.specs)
    options_of(model.get("ledger"))
    inner = asked.model_class or str(model.get("model_class") or "")
    if inner != MODEL:
        settings = {"model_class": MODEL, "ledger.inner_model_class": inner, **settings}
    for name, value in settings.items():
        added += ["-c", f"model.{name}={value if isinstance(value, str) else json.dumps(value)}"]
    # This option is stronger than any configuration, and the last one of several counts.
    return [*arguments, *added, *(("--model-class", MODEL) if asked.model_class else ())]


def configured_model(specs: list[str]) -> dict[str, Any]:
    """What the user's configuration says about the model."""
    from minisweagent.config import get_config_from_spec
    from minisweagent.utils.serialize import recursive_merge

    whole = recursive_merge(*((get_config_from_spec(spec) or {}) for spec in specs))
    return whole.get("model") or {}


def tell_summary() -> None:
    """Say on standard error what Ledger did in this process."""
    adapter = sys.modules.get("execledger.agents.mini.model")
    for sentence in sentences(adapter.RUNS) if adapter is not None else ():
        print(sentence, file=sys.stderr)


def main() -> None:
    """Start the agent's own program in this process, so that signals and the exit status are its own."""
    options, program, arguments = json.loads(sys.argv[1]), sys.argv[2], sys.argv[3:]
    runner = runner_of(program, arguments)
    if runner is not None:
        try:
            arguments = injected(runner, arguments, options)
            note_environments()
            atexit.register(tell_summary)
        except LedgerError as error:
            print(f"execledger: {redact(str(error))}", file=sys.stderr)
            sys.exit(2)
        except Exception as error:
            # A file that is missing, say: the agent meets the same, and reports it in its own way.
            said = redact(str(error))
            print(f"Ledger: not in this run, since the agent's configuration can't be read: {said}", file=sys.stderr)
    entry = next(iter(entry_points(group="console_scripts", name=program)))
    # The agent calls itself what it finds here, in its usage for one.
    sys.argv, sys.modules["__main__"].__package__ = [program, *arguments], None
    sys.exit(entry.load()())


if __name__ == "__main__":
    main()
