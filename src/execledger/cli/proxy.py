"""``execledger proxy``: the model-API proxy, standing, for any number of agents at once."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
from collections.abc import Iterable, Mapping, Sequence

import click

from execledger.agents.registry import StandingSettings, proxied, proxy_adapter, proxy_clients
from execledger.cli.settings_files import with_files
from execledger.cli.switches import Switches, proxy_rules, switches, tell
from execledger.core.wording import printable
from execledger.errors import LedgerError
from execledger.journal.folder import edits_file
from execledger.off import is_off, is_on
from execledger.runs.account import sentences


@click.command("proxy")
@click.option(
    "--upstream",
    "upstreams",
    required=True,
    multiple=True,
    metavar="[AGENT=]URL",
    help="The model's API: a base address that replaces /v1, or for one agent a base address that replaces /AGENT.",
)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="The port on loopback; a free one if left out.")
@click.option("--sealed", is_flag=True, help="The agents have this machine to themselves, as in a container.")
@click.option("--pass-through", is_flag=True, help="Change nothing, not a byte.")
@click.option(
    "--agent",
    type=click.Choice([one.key for one in proxied()]),
    help="The agent that sends every request; without this, each request shows its agent or is forwarded unchanged.",
)
@switches
def command(
    upstreams: tuple[str, ...], port: int, sealed: bool, pass_through: bool, agent: str | None, switches: Switches
) -> None:
    """Stand between any number of agents and their models, until stopped."""
    # The projects of its agents are not known here.
    switches, disabled_by = with_files(switches, None, os.environ, tell)
    rules = proxy_rules(switches, sealed)
    upstream, routes = divided(upstreams)
    from execledger.proxy.serve import Proxy, ProxySettings

    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    settings = ProxySettings(
        adapter=proxy_adapter(agent) if agent else proxy_clients(),
        upstream=upstream,
        routes=routes,
        route_proxies=web_proxies(routes, os.environ),
        rules=rules,
        edits=edits_file(),
        port=port,
        pass_through=pass_through or is_off() or (disabled_by is not None and not is_on()),
    )
    with Proxy(settings) as proxy:
        for prefix in (*([""] if upstream else ()), *routes):
            click.echo(proxy.base(prefix) if prefix else proxy.url)
        sys.stdout.flush()
        stopped.wait()
    for sentence in sentences(proxy.summaries):
        click.echo(sentence, err=True)


def web_proxies(routes: Iterable[str], environment: Mapping[str, str]) -> dict[str, Mapping[str, str]]:
    """The web proxies of routes whose agents name them in their own settings, which are said."""
    found: dict[str, Mapping[str, str]] = {}
    for agent in proxied():
        prefix = f"/{agent.key}"
        settings: StandingSettings | None = agent.part("standing") if agent.standing and prefix in routes else None
        given = settings.web_proxies(environment) if settings is not None else None
        if settings is not None and given is not None:
            found[prefix] = given
            tell(f"{agent.key}: the web proxy is that of {printable(str(settings.file(environment)))}")
    return found


def divided(upstreams: Sequence[str]) -> tuple[str, dict[str, str]]:
    """The upstream of all requests, "" if there is none, and those of agents by the path prefixes of their routes."""
    known = [one.key for one in proxied()]
    plain, routes = "", {}
    for given in upstreams:
        agent, _, url = given.partition("=")
        if agent in known:
            routes[f"/{agent}"] = url
        elif url and re.fullmatch(r"[\w-]+", agent):
            hint = f"expected one of {', '.join(known)}, or an address alone"
            raise LedgerError(f"--upstream {given}: {agent!r} is no agent that a proxy serves", hint=hint)
        elif plain:
            hint = f"one address for all, and any of {', '.join(known)} before a further one: claude=URL"
            raise LedgerError(f"--upstream {given}: found a second address for all agents", hint=hint)
        else:
            plain = given
    return plain, routes
