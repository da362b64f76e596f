"""Every check, in the order in which they are told."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from execledger.agents.registry import agents as registered
from execledger.doctor import agents, engines, environment, installation, roundtrip
from execledger.doctor.findings import Check, Finding, guarded


def checks() -> tuple[tuple[str, Check], ...]:
    """The checks, by name."""
    return (
        ("package", installation.package),
        ("extras", installation.extras),
        ("state folder", installation.folders),
        *((one.name, partial(agents.agent, one)) for one in registered()),
        ("agents", agents.nothing_to_run),
        ("Harbor", engines.harbor),
        ("proxy", roundtrip.proxy),
        ("viewer", roundtrip.viewer),
        ("switches", environment.switches),
        ("web proxy", environment.web_proxies),
        ("addresses", environment.addresses),
    )


def examine() -> Iterator[Finding]:
    """Whatever there is to tell, one thing after the other."""
    for name, check in checks():
        yield from guarded(name, check)
