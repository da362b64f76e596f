"""Which versions of everything a result came about with."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
from pathlib import Path

from execledger import __version__
from execledger.agents.programs import find_program, interpreter_of
from execledger.agents.registry import agent_of
from execledger.errors import LedgerError
from execledger.evaluate.plan import Agent, Plan

PACKAGES = ("mini-swe-agent", "litellm", "datasets")
"""What matters in the environment of mini-swe-agent."""
ASK = """
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
"""Asked of the Python that the agent runs with."""
_NAMES = {Agent.MINI: "mini-extra", Agent.CODEX: "codex"}


def program_of(plan: Plan) -> str:
    """The agent's program."""
    name = _NAMES[plan.agent]
    agent = agent_of(name)
    assert agent is not None, "the program belongs to a registered agent"
    program = find_program(plan.program or name, agent.how_to_install())
    if Path(program).name != name:
        raise LedgerError(f"`program` is {plan.program}, expected a program called {name}")
    return str(Path(program).absolute())


def versions(plan: Plan, cwd: Path) -> dict[str, str]:
    """The versions that matter to a plan that is carried out from ``cwd``; of the user's files, a digest."""
    program = program_of(plan)
    if plan.agent is Agent.CODEX:
        said = _said([program, "--version"])
        return {"execledger": __version__, "codex": said, "python": platform.python_version()}
    asked, package = json.loads(_said([interpreter_of(program), "-I", "-c", ASK, *PACKAGES]))
    _need_configuration(plan, cwd, Path(package) if package else None)
    files = {name: cwd / name for name in plan.config if (cwd / name).is_file()}
    read = {f"config {name}": hashlib.sha256(path.read_bytes()).hexdigest()[:16] for name, path in files.items()}
    return {"execledger": __version__, **asked, **read}


def _need_configuration(plan: Plan, cwd: Path, package: Path | None) -> None:
    """Say so where a configuration file is missing, before every run fails by it; looked for where the agent does."""
    folders = [cwd, cwd / os.environ.get("MSWEA_CONFIG_DIR", ".")]
    folders += [package / "config" / part for part in ("", "extra", "benchmarks")] if package else []
    for name in plan.config if package else ():
        file = name if name.endswith(".yaml") else str(Path(name).with_suffix(".yaml"))
        if "=" not in name and not any((folder / file).exists() for folder in folders):
            raise LedgerError(
                f"{name}: found no such configuration file", hint="`config` names files of mini-swe-agent"
            )


def _said(command: list[str]) -> str:
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise LedgerError(f"{command[0]}: can't be asked for its version: {error}") from error
    return done.stdout.strip()
