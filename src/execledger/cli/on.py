"""``execledger on``: end a pause; ``execledger on AGENT``: Ledger at every start of an agent, without a prefix."""

from __future__ import annotations

import http.client
import json
import os
import shlex
import shutil
import sys
from pathlib import Path
from urllib.parse import urlsplit

import click

from execledger.agents.programs import find_program
from execledger.agents.registry import Agent, StandingSettings, agent_of
from execledger.agents.user_files import read_user_file, replace_user_file, with_block, without_block
from execledger.cli.run import known_agents, unknown_agent
from execledger.errors import LedgerError
from execledger.journal.pause import end_pause

PORT = 8787
"""The port of a standing proxy, if no other is named."""
HEALTH_SECONDS = 5.0
"""How long a standing proxy may take to answer."""
SHELLS = ("bash", "zsh", "fish")
"""The shells for which a function can be written."""
POSIX = """unalias {name} 2>/dev/null || true
function {name} {{ if command -v {ledger} >/dev/null 2>&1; then {ledger} run -- {name} "$@"; \
else printf '%s\\n' {missing} >&2; command {name} "$@"; fi; }}
"""
FISH = """function {name}; if command -q {ledger}; {ledger} run -- {name} $argv; \
else; printf '%s\\n' {missing} >&2; command {name} $argv; end; end
"""
MISSING = "{ledger}: not found, {name} runs without Ledger"
"""What a function says where Ledger is not found."""
CREATED = b"# This file was created by `execledger on`.\n"
"""The first line of a start file that did not exist before: if nothing else is left of it, it is removed."""


@click.command("on")
@click.argument("agent", required=False)
@click.option("--shell", type=click.Choice(SHELLS), help="The shell to write for; by default that of `SHELL`.")
@click.option("--proxy", is_flag=True, help="Settings for a standing proxy: editors' extensions read them as well.")
@click.option("--port", type=click.IntRange(1, 65535), help=f"The proxy's port.  [default: {PORT}]")
@click.option("--install", is_flag=True, help="Write it into the file that it is for; `off AGENT` undoes it.")
def command(agent: str | None, shell: str | None, proxy: bool, port: int | None, install: bool) -> None:
    """Resume Ledger in running sessions; with AGENT, print what starts AGENT with Ledger from now on."""
    if agent is None:
        options = {"--shell": shell, "--proxy": proxy, "--port": port, "--install": install}
        if given := [name for name, value in options.items() if value]:
            raise LedgerError(f"on: found {' and '.join(given)} without an agent, expected one", hint=known_agents())
        was = end_pause()
        click.echo("Ledger is on again in running sessions." if was else "Ledger was not switched off.", err=True)
        return
    chosen = known(agent)
    if proxy and shell:
        raise LedgerError("on: found --shell and --proxy, expected one: settings are read by no shell")
    if port and not proxy:
        raise LedgerError("on: found --port without --proxy, expected both", hint=f"on {agent} --proxy --port {port}")
    if proxy:
        _standing(chosen, port or PORT, install=install)
    else:
        _function(chosen, shell or default_shell(), install=install)


def known(name: str) -> Agent:
    """The agent with this name that Ledger can run."""
    found = agent_of(name)
    if found is None or found.use != "run":
        raise unknown_agent(name, found)
    return found


def default_shell() -> str:
    """The user's shell, by ``SHELL``."""
    name = Path(os.environ.get("SHELL", "")).name
    if name not in SHELLS:
        raise LedgerError(f"SHELL is {name or 'not set'!r}, expected one of {', '.join(SHELLS)}", hint="--shell bash")
    return name


def start_file(shell: str) -> Path:
    """The file that a shell reads when it starts."""
    home = Path(os.environ.get("HOME") or os.path.expanduser("~"))
    if shell == "fish":
        return Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config") / "fish" / "config.fish"
    return Path(os.environ.get("ZDOTDIR") or home) / ".zshrc" if shell == "zsh" else home / ".bashrc"


def functions(agent: Agent, shell: str) -> str:
    """The shell's functions that start an agent's programs with Ledger, and without it where Ledger is not found."""
    ledger = own_program()
    template, quoted = (FISH, _fish_quoted) if shell == "fish" else (POSIX, shlex.quote)
    return "".join(
        template.format(name=name, ledger=quoted(ledger), missing=quoted(MISSING.format(name=name, ledger=ledger)))
        for name in agent.programs
    )


def own_program() -> str:
    """The absolute path of this program: in another shell, a bare name may be another one or none."""
    ran = sys.argv[0] if Path(sys.argv[0]).name == "execledger" else "execledger"
    return os.path.abspath(shutil.which(ran) or Path(sys.executable).with_name("execledger"))


def _fish_quoted(word: str) -> str:
    """A word in the quotes of fish, in which a backslash escapes itself and the quote."""
    return "'" + word.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _function(agent: Agent, shell: str, *, install: bool) -> None:
    """Print the functions, or write them into the shell's start file."""
    find_program(agent.key, agent.how_to_install())
    text, path = functions(agent, shell), start_file(shell)
    if not install:
        click.echo(text, nl=False)
        click.echo(f"To keep it: execledger on {agent.key} --install, which writes it to {path}", err=True)
        return
    _refuse_second(agent)
    before = read_user_file(path)
    replace_user_file(path, before, with_block(CREATED if before is None else before, agent.key, text, path))
    started = " and ".join(agent.programs)
    click.echo(f"{path}: new shells start {started} with Ledger; `execledger off {agent.key}` undoes it", err=True)


def _refuse_second(agent: Agent) -> None:
    """Refuse functions beside settings: every request would pass two proxies."""
    if not agent.standing:
        return
    settings: StandingSettings = agent.part("standing")
    path = settings.file(os.environ)
    text = read_user_file(path)
    if text is not None and not isinstance(settings.without_address(text, path), str):
        hint = f"execledger off {agent.key} removes it"
        raise LedgerError(f"{path}: leads {agent.key} to a standing proxy already", hint=hint)


def _standing(agent: Agent, port: int, *, install: bool) -> None:
    """Print the settings for a standing proxy and how to start it, or write them."""
    if not agent.standing:
        hint = f"`execledger on {agent.key}` without --proxy works"
        raise LedgerError(f"{agent.name} has no settings for a standing proxy", hint=hint)
    settings: StandingSettings = agent.part("standing")
    path, upstream = settings.file(os.environ), settings.upstream(os.environ)
    if not _is_address(upstream):
        hint = f"it is set in {path} or in the environment"
        raise LedgerError(
            f"{upstream!r} as the address of {agent.name}'s model: expected an http or https URL", hint=hint
        )
    url = f"http://127.0.0.1:{port}/{agent.key}"
    start = f"execledger proxy --port {port} --upstream {shlex.quote(f'{agent.key}={upstream}')}"
    before = read_user_file(path)
    edited = settings.with_address(before, url, upstream, path)
    if not install:
        click.echo(edited, nl=False)
        click.echo(f"With this as {path} (--install writes it), the proxy must run: {start}", err=True)
        return
    for shell in SHELLS:
        if without_block(read_user_file(start_file(shell)) or b"", agent.key, start_file(shell)) is not None:
            hint = f"execledger off {agent.key} removes it"
            raise LedgerError(f"{start_file(shell)}: starts {agent.key} with Ledger already", hint=hint)
    if not _serves(port, agent.key):
        hint = f"start it first, and have it started with this machine: {start}"
        raise LedgerError(f"port {port}: found no proxy for {agent.key}, which needs one from then on", hint=hint)
    replace_user_file(path, before, edited)
    click.echo(f"{path}: {agent.key} uses {url} from its next start; `execledger off {agent.key}` undoes it", err=True)


def _is_address(text: str) -> bool:
    """Whether a text is the address of a server to which the proxy can send requests."""
    try:
        url = urlsplit(text)
        return url.scheme in ("http", "https") and bool(url.hostname) and url.port != 0 and len(text.split()) == 1
    except ValueError:
        return False


def _serves(port: int, agent: str) -> bool:
    """Whether a proxy with a route for an agent answers at a port."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=HEALTH_SECONDS)
    try:
        connection.request("GET", "/healthz")
        found = json.loads(connection.getresponse().read(100_000))
    except (OSError, http.client.HTTPException, ValueError):
        return False
    finally:
        connection.close()
    return isinstance(found, dict) and f"/{agent}" in found.get("routes", ())
