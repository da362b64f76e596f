"""``execledger run -- AGENT ...``: start an unmodified agent with Ledger around it."""

from __future__ import annotations

import os
from pathlib import Path

import click

from execledger.agents.programs import find_program
from execledger.agents.registry import AGENTS as SUPPORTED
from execledger.cli.switches import Switches, proxy_rules, switches
from execledger.errors import LedgerError
from execledger.extras import install_command, missing
from execledger.off import is_off

AGENTS = {
    "mini": "mini",
    "mini-swe-agent": "mini",
    "mini-extra": "mini",
    "mini-e": "mini",
    "codex": "codex",
}
"""The programs that Ledger can run, and the extra that each of them needs."""


@click.command("run", context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False})
@switches
@click.option(
    "--placement", type=click.Choice(["auto", "message", "inside"]), help="mini: where the state view stands."
)
@click.option("--upstream", metavar="URL", help="codex: a server that speaks the Responses API, in place of its own.")
@click.option("--sealed", is_flag=True, help="codex: it has this machine to itself, as in a container.")
@click.option("--direct-tools", is_flag=True, help="codex: have tools called directly, not by scripts of the model.")
@click.option("--pass-through", is_flag=True, help="codex: change nothing, not a byte.")
@click.option("--view", is_flag=True, help="Show the run in the browser while it goes on.")
@click.option("--no-browser", is_flag=True, help="With --view: only say where the run is shown.")
@click.argument("agent", nargs=-1, type=click.UNPROCESSED, metavar="-- AGENT [ARGUMENTS]...")
def command(
    switches: Switches,
    placement: str | None,
    upstream: str | None,
    sealed: bool,
    direct_tools: bool,
    pass_through: bool,
    view: bool,
    no_browser: bool,
    agent: tuple[str, ...],
) -> int:
    """Start AGENT (mini, mini-extra swebench, codex exec, ...) with Ledger around it.

    Its options, its files and its exit status stay its own.
    """
    if not agent:
        raise LedgerError("run: found no agent to start", hint=known_agents())
    name, *arguments = agent
    if Path(name).name == "execledger":
        # It brings a Ledger of its own, and two would say everything twice.
        program = find_program(name, "")
        os.execv(program, [program, *arguments])
    kind = AGENTS.get(Path(name).name)
    if kind is None:
        raise unknown_agent(name)
    program = find_program(name, kind)
    if is_off():
        os.execv(program, [program, *arguments])
    if kind == "codex":
        refuse(kind, {"--placement": placement})
        rules = proxy_rules(switches, sealed)
        if view:
            show(switches.journals(), browser=not no_browser)
        from execledger.agents.codex.launch import Launch
        from execledger.agents.codex.launch import start as start_codex

        launch = Launch(
            rules=rules,
            upstream=upstream or "",
            direct=direct_tools,
            pass_through=pass_through,
        )
        return start_codex(program, arguments, launch)
    given = {"--upstream": upstream, "--sealed": sealed, "--direct-tools": direct_tools}
    refuse(kind, {**given, "--pass-through": pass_through})
    if view:
        show(switches.journals(), browser=not no_browser)
    from execledger.agents.mini.launch import start as start_mini

    start_mini(program, arguments, switches.asked() | ({"placement": placement} if placement else {}))
    raise AssertionError("the agent has taken our place")


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
    listed = ", ".join(f"{one.name} ({', '.join(one.programs)})" for one in SUPPORTED if one.use == "run")
    return f"Ledger can run: {listed}; `execledger doctor` says which of them are here"


def unknown_agent(name: str) -> LedgerError:
    """What can be done with a program that Ledger can't run."""
    read = next((one for one in SUPPORTED if one.use == "read" and Path(name).name in one.programs), None)
    if read is None:
        return LedgerError(f"{name or repr(name)}: no agent that Ledger can run", hint=known_agents())
    hint = f"its recorded runs can be read: execledger replay PATH...; {known_agents()}"
    return LedgerError(f"{name}: {read.name} can't be run with Ledger yet", hint=hint)


OTHER_WAY = {
    "--sealed": "mini-swe-agent's configuration says whether its commands run in a container; Ledger reads it there",
    "--upstream": "mini-swe-agent has the model's address in its configuration: -c model.model_kwargs.api_base=URL",
    "--pass-through": "EXECLEDGER=off starts the agent without Ledger",
}
"""What to do in place of an option that an agent does not have."""


def refuse(kind: str, given: dict[str, object]) -> None:
    """An option that means nothing to this agent is a mistake."""
    for option, value in given.items():
        if value:
            hint = OTHER_WAY.get(option, "execledger run --help")
            raise LedgerError(f"{option}: found with {kind}, which has no such option", hint=hint)
