"""``execledger run -- AGENT ...``: start an unmodified agent with Ledger around it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from execledger.agents.programs import find_program
from execledger.agents.registry import REFUSED, Agent, Launch, Option, agent_of, agents
from execledger.cli.settings_files import user_file, with_files
from execledger.cli.switches import Switches, switches, tell
from execledger.core.wording import printable
from execledger.errors import LedgerError
from execledger.extras import install_command, missing, needing
from execledger.off import is_off, is_on

UPSTREAM, PASS_THROUGH = "--upstream", "--pass-through"
"""The options of agents behind the proxy that name the address of the model, and that have nothing changed."""


def _argument(option: Option) -> str:
    """The name of the parameter in which click gives an agent's option."""
    return option.name.removeprefix("--").replace("-", "_")


def _agents_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of all agents, each with the agents that take it in its help."""
    takers: dict[Option, list[str]] = {}
    for one in agents():
        for option in one.options:
            takers.setdefault(option, []).append(one.key)
    for option, keys in reversed(takers.items()):
        text = f"{', '.join(keys)}: {option.help}"
        if option.choices:
            command = click.option(option.name, type=click.Choice(option.choices), help=text)(command)
        elif option.metavar:
            command = click.option(option.name, metavar=option.metavar, help=text)(command)
        else:
            command = click.option(option.name, is_flag=True, help=text)(command)
    return command


@click.command("run", context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False})
@switches
@_agents_options
@click.option("--no-settings", is_flag=True, help="Read no file of settings: not yours, and not the project's.")
@click.option("--fail-open", is_flag=True, help="If Ledger refuses to start AGENT, start it without Ledger.")
@click.option("--view", is_flag=True, help="Show the run in the browser while it goes on.")
@click.option("--no-browser", is_flag=True, help="With --view: only say where the run is shown.")
@click.argument("agent", nargs=-1, type=click.UNPROCESSED, metavar="-- AGENT [ARGUMENTS]...")
def command(
    switches: Switches,
    no_settings: bool,
    fail_open: bool,
    view: bool,
    no_browser: bool,
    agent: tuple[str, ...],
    **options: Any,
) -> int:
    """Start AGENT (mini, mini-extra swebench, codex exec, ...) with Ledger around it.

    Its options, its files and its exit status stay its own.
    """
    if not agent:
        raise LedgerError("run: found no agent to start", hint=known_agents())
    name, *arguments = agent
    if Path(name).name == "execledger":
        # It brings a Ledger of its own, and two would say everything twice.
        program = find_program(name, install_command("mini"))
        os.execv(program, [program, *arguments])
    chosen = agent_of(name)
    if chosen is None or chosen.use != "run":
        raise unknown_agent(name, chosen)
    program = find_program(name, chosen.how_to_install())
    own = own_options(chosen, options)
    try:
        enabled, disabled_by = not is_off(), None
        if enabled and not no_settings:
            switches, disabled_by = with_files(switches, Path.cwd(), os.environ, tell)
            disabled_by = None if is_on() else disabled_by
        if disabled_by is not None:
            enabled = passes_on(chosen, own, disabled_by)
            own[PASS_THROUGH] = True
        if enabled:
            journals = switches.journals() if disabled_by is None else None
            launch = Launch(policy=switches.policy(), journals=journals, asked=switches.asked(), options=own)
            with needing(chosen.extra, chosen.modules):
                start = chosen.part("launcher")
            if view and disabled_by is None:
                show(launch.journals, browser=not no_browser)
            status: int = start(program, arguments, launch)
            return status
    except Exception as error:
        # Launchers raise only while the agent has not worked yet.
        refused = isinstance(error, LedgerError | click.ClickException)
        if refused and not fail_open:
            raise
        why = f"{error}" if refused else f"a fault of its own: {type(error).__name__}: {error}"
        with suppress(Exception):
            tell(f"Ledger: {chosen.key} is started without it: {why}")
    os.execv(program, [program, *arguments])


def passes_on(chosen: Agent, own: Mapping[str, Any], file: Path) -> bool:
    """Whether an agent is started behind a proxy that changes nothing, as ``file`` disables Ledger; it is named.

    A project can't undo what the user asked for, nor the refusals of what its other files choose.
    """
    users = file == user_file(os.environ)
    passed_on = UPSTREAM in own if users else any(option.name == PASS_THROUGH for option in chosen.options)
    if passed_on or not users:
        done = "its requests are passed on unchanged" if passed_on else "it is started without it"
        tell(f"{printable(str(file))}: disables Ledger for {chosen.key}, {done} (EXECLEDGER=on overrides this)")
    return passed_on


def own_options(chosen: Agent, values: dict[str, Any]) -> dict[str, Any]:
    """The agent's own options that were given, by name; one of another agent is an error."""
    given = {}
    for option in {option: None for one in agents() for option in one.options}:
        value = values[_argument(option)]
        if value and option not in chosen.options:
            hint = chosen.instead.get(option.name, "execledger run --help")
            raise LedgerError(f"{option.name}: found with {chosen.key}, which has no such option", hint=hint)
        if value:
            given[option.name] = value
    return given


def show(folder: Path | None, *, browser: bool) -> None:
    """Start a viewer beside the agent that is about to be started, and say where it is.

    What goes wrong with it is said, and the agent starts all the same; only options that contradict each other are a
    mistake.
    """
    if folder is None:
        raise LedgerError("--view: found with --journal off, expected journals to view", hint="execledger run --help")
    from execledger.viewer.sidecar import start

    try:
        # Looked for and not loaded: the agent should not wait for that.
        if lacks := missing("view"):
            raise LedgerError(f"{lacks[0]}: not installed", hint=install_command("view"))
        said = f"this run is shown at {start(folder, browser=browser)}"
    except (LedgerError, OSError, ValueError) as error:
        said = f"this run is not shown: {error}"
    click.echo(f"Ledger: {said}", err=True)


def known_agents() -> str:
    """The agents that can be run, with their programs."""
    listed = ", ".join(f"{one.name} ({', '.join(one.programs)})" for one in agents() if one.use == "run")
    return f"Ledger can run: {listed}; `execledger doctor` says which of them are here"


def unknown_agent(name: str, read: Agent | None) -> LedgerError:
    """The error for a program that Ledger can't run; ``read`` is its agent, if its recorded runs can be read."""
    if refused := REFUSED.get(Path(name).name):
        return LedgerError(f"{name}: {refused[0]}", hint=f"{refused[1]}; {known_agents()}")
    if read is None:
        return LedgerError(f"{name or repr(name)}: no agent that Ledger can run", hint=known_agents())
    if read.use == "load":
        return LedgerError(f"{name}: {read.name} loads Ledger itself", hint=f"EXECLEDGER=on {name} ...")
    hint = f"its recorded runs can be read: execledger replay PATH...; {known_agents()}"
    return LedgerError(f"{name}: {read.name} can't be run with Ledger yet", hint=hint)
