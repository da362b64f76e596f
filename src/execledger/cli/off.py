"""``execledger off``: pause Ledger in running sessions; ``execledger off AGENT``: undo ``execledger on AGENT``."""

from __future__ import annotations

import os

import click

from execledger.agents.registry import Agent, StandingSettings
from execledger.agents.user_files import read_user_file, replace_user_file, without_block
from execledger.cli.on import CREATED, SHELLS, known, start_file
from execledger.journal.pause import begin_pause


@click.command("off")
@click.argument("agent", required=False)
def command(agent: str | None) -> None:
    """Pause Ledger in every running session behind its proxy, or remove what `execledger on AGENT --install` wrote.

    From its next request on, a paused session is passed on unchanged; what the model was shown before stays as it was.
    """
    if agent is None:
        begin_pause()
        click.echo("Ledger is off in all sessions that run now behind its proxy; `execledger on` resumes.", err=True)
        click.echo("mini-swe-agent, which has no proxy, is not paused.", err=True)
        return
    done = [*_removed_functions(known(agent)), *_removed_settings(known(agent))]
    for line in done or [f"{agent}: found nothing that `execledger on {agent} --install` wrote"]:
        click.echo(line, err=True)


def _removed_functions(agent: Agent) -> list[str]:
    """Remove the marked blocks from the start files of all shells; what was done."""
    done = []
    for shell in SHELLS:
        path = start_file(shell)
        before = read_user_file(path)
        rest = without_block(before, agent.key, path) if before is not None else None
        if rest is not None:
            replace_user_file(path, before, None if rest == CREATED else rest)
            here = f"{'functions -e' if shell == 'fish' else 'unset -f'} {' '.join(agent.programs)}"
            done.append(f"{path}: new shells start {' and '.join(agent.programs)} without Ledger; in this one: {here}")
    return done


def _removed_settings(agent: Agent) -> list[str]:
    """Remove a standing proxy's address from the agent's settings; what was done."""
    if not agent.standing:
        return []
    settings: StandingSettings = agent.part("standing")
    path = settings.file(os.environ)
    before = read_user_file(path)
    rest = settings.without_address(before, path) if before is not None else ""
    if isinstance(rest, str):
        return []
    replace_user_file(path, before, rest)
    return [f"{path}: {agent.key} uses its own address from its next start"]
