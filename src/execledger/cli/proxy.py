"""``execledger proxy``: the model-API proxy, standing, for any number of agents at once."""

from __future__ import annotations

import signal
import sys
import threading

import click

from execledger.agents.registry import proxied, proxy_adapter
from execledger.cli.switches import Switches, proxy_rules, switches
from execledger.journal.folder import edits_file
from execledger.off import is_off
from execledger.runs.account import sentences


@click.command("proxy")
@click.option("--upstream", required=True, metavar="URL", help="The model's API: a base address that has /responses.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="The port on loopback; a free one if left out.")
@click.option("--sealed", is_flag=True, help="The agents have this machine to themselves, as in a container.")
@click.option("--pass-through", is_flag=True, help="Change nothing, not a byte.")
@click.option(
    "--agent",
    type=click.Choice([one.key for one in proxied()]),
    default=proxied()[0].key,
    show_default=True,
    help="The agent whose tools are understood.",
)
@switches
def command(upstream: str, port: int, sealed: bool, pass_through: bool, agent: str, switches: Switches) -> None:
    """Stand between agents that speak the Responses API and their model, until stopped."""
    rules = proxy_rules(switches, sealed)
    from execledger.proxy.serve import Proxy, ProxySettings

    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    settings = ProxySettings(
        adapter=proxy_adapter(agent),
        upstream=upstream,
        rules=rules,
        edits=edits_file(),
        port=port,
        pass_through=pass_through or is_off(),
    )
    with Proxy(settings) as proxy:
        click.echo(proxy.url)
        sys.stdout.flush()
        stopped.wait()
    for sentence in sentences(proxy.summaries):
        click.echo(sentence, err=True)
