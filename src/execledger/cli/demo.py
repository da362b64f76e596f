"""``execledger demo``: the real mini-swe-agent with a scripted model, without and with Ledger.

Where mini-swe-agent is not installed, or with ``--recorded``, a small recorded run is replayed instead, decision by
decision. A scripted model does not react to what it is shown, so both show decisions, not their effect on a model.
"""

from __future__ import annotations

from importlib.util import find_spec

import click

from execledger.extras import install_command


@click.command("demo")
@click.option("--recorded", is_flag=True, help="Replay a recorded run, decision by decision.")
@click.option("--full", is_flag=True, help="Show every output whole.")
def command(recorded: bool, full: bool) -> None:
    """Show what Ledger does: live, with the real mini-swe-agent and a scripted model, or on a recorded run."""
    if recorded or find_spec("minisweagent") is None:
        from execledger.demo.recorded import show_recorded

        if not recorded:
            click.echo(f"mini-swe-agent is not installed ({install_command('mini')}): a recorded run instead.\n")
        show_recorded(full)
    else:
        from execledger.demo.live import show_live

        show_live()
