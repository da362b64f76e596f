"""``execledger inspect``: what Inspect needs to be told on its own command line."""

from __future__ import annotations

import click

APPROVAL = """\
# For `inspect eval ... --approval ledger.yaml`: calls whose result is known are replaced by a reference.
# This file takes the place of the task's own approvers: add those between the two, and keep `auto` at the end.
approvers:
  - name: execledger/ledger
    tools: "*"
  - name: auto
    tools: "*"
"""
"""A file of approvers; whatever Ledger does not replace is left to the next one, so the last has to approve."""


@click.group("inspect")
def command() -> None:
    """Print what Ledger needs under Inspect."""


@command.command("approval")
def approval() -> None:
    """Print a file of approvers for `inspect eval --approval`."""
    click.echo(APPROVAL, nl=False)
