"""``execledger doctor``: checks the installation and prints what to fix."""

from __future__ import annotations

import sys

import click
import msgspec

from execledger.doctor.checks import examine
from execledger.doctor.findings import Finding
from execledger.version import __version__

SIGNS = {"ok": "ok  ", "none": "-   ", "note": "note", "fix": "FIX "}
"""Text before a finding, by its status."""


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
def command(as_json: bool) -> int:
    """Check the installation, find installed agents, test a proxy on loopback, and say what to fix.

    The exit status is 0 if nothing has to be fixed, else 1.
    """
    findings: list[Finding] = []
    for finding in examine():
        findings.append(finding)
        if not as_json:
            click.echo(line(finding))
            sys.stdout.flush()
    broken = sum(finding.status == "fix" for finding in findings)
    if as_json:
        told = {"version": __version__, "ok": not broken, "findings": findings}
        click.echo(msgspec.json.encode(told).decode())
    else:
        click.echo(f"\n{broken} to fix" if broken else "\nall is well")
    return 1 if broken else 0


def line(finding: Finding) -> str:
    """Format a finding as a line, and its fix as a second one."""
    told = f"{SIGNS[finding.status]}  {finding.check}: {finding.found}"
    return f"{told}\n      -> {finding.fix}" if finding.fix else told
