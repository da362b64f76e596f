"""Starts mini-swe-agent with Ledger named in its configuration; called by ``execledger run`` in the agent's own Python.

    python -P -m execledger.agents.mini.start OPTIONS PROGRAM ARGUMENTS...

The user's own options stay as they are. Ours stand behind them as ``-c key=value``, and no file is written.
"""

from __future__ import annotations

import atexit
import json
import sys
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, NamedTuple

from execledger.agents.mini.options import options_of
from execledger.errors import LedgerError
from execledger.redact import redact
from execledger.runs.account import sentences

MODEL = "execledger.agents.mini_swe_agent.LedgerModel"
"""The model class that we name."""
RUNNERS = {
    "mini": "minisweagent.run.mini",
    "swebench": "minisweagent.run.benchmarks.swebench",
    "swebench-single": "minisweagent.run.benchmarks.swebench_single",
    "programbench": "minisweagent.run.benchmarks.programbench",
}
"""The runners, by program or subcommand, and the modules of their command lines."""


class Asked(NamedTuple):
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


def asked_of(runner: str, arguments: list[str]) -> Asked:
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
    return Asked(list(context.params.get(config) or ()), given, context.params.get(model_class) or "")


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
