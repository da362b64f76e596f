"""``execledger run -- AGENT ...``: start an unmodified agent with Ledger around it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import click

from execledger.core.policy import Preset
from execledger.errors import LedgerError

MINI = ("mini", "mini-swe-agent", "mini-extra", "mini-e")
"""The programs of mini-swe-agent."""
PRESENT = "import importlib.util as u, sys; sys.exit(u.find_spec('execledger') is None)"
"""Whether our package can be imported, asked of another Python."""


@click.command("run", context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False})
@click.option("--preset", type=click.Choice([one.value for one in Preset]), help="The proof that a reuse needs.")
@click.option("--no-inform", is_flag=True, help="Place no state view.")
@click.option("--no-govern", is_flag=True, help="Judge no actions and compare no results.")
@click.option("--shadow", is_flag=True, help="Record what would be done, and change nothing.")
@click.option("--journal", metavar="DIR", help="Where the journals go; `off` writes none.")
@click.option("--placement", type=click.Choice(["auto", "message", "inside"]), help="Where the state view stands.")
@click.argument("agent", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- AGENT [ARGUMENTS]...")
def command(
    preset: str | None,
    no_inform: bool,
    no_govern: bool,
    shadow: bool,
    journal: str | None,
    placement: str | None,
    agent: tuple[str, ...],
) -> None:
    """Start AGENT (mini, mini-extra swebench, ...) with Ledger around it.

    Its options, its files and its exit status stay its own.
    """
    program = Path(agent[0]).name
    if program not in MINI:
        raise LedgerError(f"{agent[0]}: no agent that Ledger can run", hint=f"it can run: {', '.join(MINI)}")
    script = find_program(agent[0])
    if os.environ.get("EXECLEDGER", "").lower() == "off":
        os.execv(script, [script, *agent[1:]])
    interpreter = interpreter_of(script)
    if subprocess.run([interpreter, "-c", PRESENT], check=False).returncode:
        raise LedgerError(f"{interpreter} runs {program}, but can't import execledger", hint=remedy(interpreter))
    options: dict[str, object] = {"inform": not no_inform, "govern": not no_govern, "shadow": shadow}
    options |= {name: value for name, value in (("preset", preset), ("placement", placement)) if value}
    if journal:
        options["journal"] = journal if journal == "off" else str(Path(journal).absolute())
        os.environ["EXECLEDGER_JOURNAL"] = str(options["journal"])
    start = [interpreter, "-P", "-m", "execledger.agents.mini_start", json.dumps(options), program, *agent[1:]]
    sys.stdout.flush()
    os.execv(interpreter, start)


def find_program(name: str) -> str:
    """The agent's program: on the path, or beside our own Python."""
    found = shutil.which(name) or shutil.which(name, path=str(Path(sys.executable).parent))
    if found is None:
        raise LedgerError(f"{name}: not found on the path", hint="pip install 'execledger[mini]'")
    return found


def interpreter_of(script: str) -> str:
    """The Python that a console script runs with, from its first lines."""
    head = Path(script).read_bytes()[:2000].decode("utf-8", "replace")
    for pattern in (r"^#!\s*(\S*python[\d.]*)\s*$", r"^'''exec'\s+\"?([^\"\n]*?python[\d.]*)\"?\s"):
        match = re.search(pattern, head, re.MULTILINE)
        if match:
            return match[1]
    raise LedgerError(f"{script}: found no Python in its first line, expected a console script of mini-swe-agent")


def remedy(interpreter: str) -> str:
    """The one line that makes our package importable for another Python."""
    tool = re.search(r"/(pipx/venvs|uv/tools)/([^/]+)/", interpreter)
    if tool and tool[1] == "pipx/venvs":
        return f"pipx inject {tool[2]} execledger"
    if tool:
        return f"uv tool install {tool[2]} --with execledger"
    return f"{interpreter} -m pip install execledger"
