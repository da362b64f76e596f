"""``execledger view``: serves or exports a web page about recorded runs and running agents."""

from __future__ import annotations

import signal
import sys
import threading
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import click

from execledger.agents.formats import shim_resolver
from execledger.cli.runs import chosen_policy, policy_options
from execledger.core.policy import Policy
from execledger.core.wording import quantity
from execledger.errors import LedgerError
from execledger.extras import needing
from execledger.journal.folder import journal_folder, private_folder, require_readable, state_folder
from execledger.runs.find import HINT, absent


@click.command("view")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port on loopback. [default: a free port]")
@click.option("--no-browser", is_flag=True, help="Do not open a browser.")
@click.option("--export", "target", metavar="FILE.html", help="Write a self-contained HTML file instead of serving.")
@policy_options
def command(
    paths: tuple[str, ...],
    port: int,
    no_browser: bool,
    target: str | None,
    preset: str | None,
    policy_file: str | None,
) -> None:
    """Show runs in the browser: files, folders, archives; by default the journals in the state folder.

    A journal shows what Ledger did; any other run, or a journal with --preset or --policy, shows a replay.
    """
    given = paths or (str(journal_folder()),)
    policy = chosen_policy(preset, policy_file)
    # Reading a Codex session may need the edits in the state folder, also if the session lies elsewhere.
    require_readable(state_folder())
    if not paths:
        require_readable(Path(given[0]))
    if target is None and not paths:
        # Before the first run the folder does not exist; journals appear on the page once they are written.
        with suppress(OSError):
            private_folder(Path(given[0]))
    for path in given:
        if found := absent(path):
            hint = HINT if paths else "`execledger run -- mini ...` writes a journal"
            raise LedgerError(f"{path}: found {found}, expected recorded runs", hint=hint)
    if target is not None:
        write(given, target, policy)
    else:
        serve(given, port, policy, browser=not no_browser)


def write(paths: tuple[str, ...], target: str, policy: Policy | None) -> None:
    """Write runs into one HTML file."""
    from execledger.viewer.export import export

    def tell(reason: str) -> None:
        click.echo(f"execledger: not read: {reason}", err=True)

    runs, compared = export(paths, Path(target), policy, shim_resolver(), tell)
    without = "" if compared else "; too many to compare each with each, so the file holds no comparisons"
    click.echo(f"{target}: {quantity(runs, 'run')}{without}", err=True)


def serve(paths: tuple[str, ...], port: int, policy: Policy | None, *, browser: bool) -> None:
    """Serve the page until SIGINT or SIGTERM."""
    require_server()
    from execledger.viewer.server import Viewer, ViewerSettings, open_browser

    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    with Viewer(ViewerSettings(paths=paths, policy=policy, port=port, resolver=shim_resolver)) as viewer:
        click.echo(viewer.url)
        sys.stdout.flush()
        if browser:
            open_browser(viewer.url)
        stopped.wait()


def require_server() -> None:
    """Raise an error that names the extra to install if the server's packages are missing."""
    with needing("view"):
        import_module("execledger.viewer.server")
