"""Starts mini-swe-agent with Ledger named in its configuration; called by ``execledger run`` in the agent's own Python.

    python -P -m execledger.agents.mini_start OPTIONS PROGRAM ARGUMENTS...

The user's own options stay as they are. Ours stand behind them as ``-c key=value``, and no file is written.
"""

from __future__ import annotations

import atexit
import json
import sys
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

MODEL = "execledger.agents.mini_swe_agent.LedgerModel"
"""The model class that we name."""
DEFAULTS = {
    "mini": "minisweagent.run.mini",
    "swebench": "minisweagent.run.benchmarks.swebench",
    "swebench-single": "minisweagent.run.benchmarks.swebench_single",
    "programbench": "minisweagent.run.benchmarks.programbench",
}
"""The runners, by program or subcommand, and the modules that know their default configuration."""


def runner_of(program: str, arguments: list[str]) -> str | None:
    """Which runner a command line starts; None for what runs no agent, such as the inspector."""
    if program in ("mini", "mini-swe-agent"):
        return "mini"
    return arguments[0] if arguments and arguments[0] in DEFAULTS else None


def values_of(arguments: list[str], *names: str) -> list[str]:
    """The values of an option, in any of the spellings that the agent's command line takes."""
    found: list[str] = []
    for at, word in enumerate(arguments):
        for name in names:
            if word == name and at + 1 < len(arguments):
                found.append(arguments[at + 1])
            elif word.startswith(f"{name}=") and name.startswith("--"):
                found.append(word.partition("=")[2])
            elif len(name) == 2 and word.startswith(name) and len(word) > 2:
                found.append(word[2:])
    return found


def without(arguments: list[str], name: str) -> list[str]:
    """The arguments without an option that takes a value."""
    kept: list[str] = []
    skip = False
    for word in arguments:
        if not skip and word != name and not word.startswith(f"{name}="):
            kept.append(word)
        skip = not skip and word == name
    return kept


def injected(runner: str, arguments: list[str], options: dict[str, Any]) -> list[str]:
    """The command line with Ledger in it."""
    specs = values_of(arguments, "-c", "--config")
    added: list[str] = []
    if not specs:
        specs = [str(import_module(DEFAULTS[runner]).DEFAULT_CONFIG_FILE)]
        # Any -c drops the default file, so it has to be named.
        added = ["-c", specs[0]]
    named = values_of(arguments, "--model-class")
    inner = named[-1] if named else configured_class(specs)
    if inner == MODEL:
        return arguments
    settings = {"model_class": MODEL, "ledger.inner_model_class": inner}
    settings |= {f"ledger.{name}": value for name, value in options.items()}
    for name, value in settings.items():
        added += ["-c", f"model.{name}={value if isinstance(value, str) else json.dumps(value)}"]
    return [*without(arguments, "--model-class"), *added]


def configured_class(specs: list[str]) -> str:
    """The model class that the user's configuration names; empty if it names none."""
    from minisweagent.config import get_config_from_spec

    inner = ""
    for spec in specs:
        model = get_config_from_spec(spec).get("model") or {}
        inner = model.get("model_class") or inner
    return str(inner)


def tell_summary() -> None:
    """Say on standard error what Ledger did in this process."""
    from execledger.agents.mini_swe_agent import RUNS
    from execledger.journal.folder import journal_folder

    for summary in RUNS[:1] if len(RUNS) == 1 else ():
        print(summary.sentence(), file=sys.stderr)
    if len(RUNS) > 1:
        counts = [run.counts for run in RUNS]
        print(
            f"Ledger: {len(RUNS)} runs, {sum(one.proposed for one in counts)} commands, "
            f"{sum(one.suppressed for one in counts)} not run, {sum(one.elided for one in counts)} elided, "
            f"{sum(one.nudged for one in counts)} nudged; {sum(one.faults for one in counts)} faults",
            file=sys.stderr,
        )
    if RUNS:
        print(f"Ledger: journals are in {journal_folder()}; `execledger stats` adds them up", file=sys.stderr)


def main() -> None:
    """Start the agent's own program in this process, so that signals and the exit status are its own."""
    options, program, arguments = json.loads(sys.argv[1]), sys.argv[2], sys.argv[3:]
    runner = runner_of(program, arguments)
    if runner is not None:
        arguments = injected(runner, arguments, options)
        atexit.register(tell_summary)
    (entry,) = entry_points(group="console_scripts", name=program)
    sys.argv = [program, *arguments]
    sys.exit(entry.load()())


if __name__ == "__main__":
    main()
