"""The viewer next to a running agent: a process of its own, which outlives the agent while its page is in use.

    python -P -m execledger.viewer.sidecar PARENT SOCKET FOLDER NEWER BROWSER

The launcher takes the port and starts the process, which costs the agent nothing: whoever asks before the viewer
answers waits at the port. The launcher may then become the agent: the process id stays, so whoever is its parent when
it starts is the agent later. It has a session of its own, since what is typed at the agent's terminal is not meant for
it.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

from execledger.journal.folder import private_folder
from execledger.local_server.loopback import HOST, loopback_socket

LOOK_SECONDS = 0.3
"""Seconds between two checks whether the parent runs, and then whether the page is in use."""
UNSEEN_SECONDS = 30.0
"""Seconds that the viewer outlives an agent whose page was never opened: a browser may just be starting."""
QUIET_SECONDS = 150.0
"""Seconds without a request after which a page counts as closed: an open one sends two a minute, a hidden one fewer."""
MAX_SECONDS = 4 * 3600.0
"""Seconds that it outlives the agent at most."""
COMING = "#/coming"
"""The address of the page that waits for the run to begin, and then shows it."""


def start(folder: Path, *, browser: bool) -> str:
    """Start a viewer of the runs that begin in ``folder`` from now on; returns the address of its page."""
    private_folder(folder)
    with loopback_socket(0) as taken:
        # Some file systems keep times in whole seconds.
        told = (os.getpid(), taken.fileno(), folder, time.time() - 1, int(browser))
        subprocess.Popen(
            (sys.executable, "-P", "-m", "execledger.viewer.sidecar", *map(str, told)),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            pass_fds=(taken.fileno(),),
        )
        return f"http://{HOST}:{taken.getsockname()[1]}/{COMING}"


def stays(quiet: float | None, since: float) -> bool:
    """Whether to go on, ``since`` seconds after the agent's end, with the page unused for ``quiet`` seconds."""
    if quiet is None:
        return since < UNSEEN_SECONDS
    return quiet < QUIET_SECONDS and since < MAX_SECONDS


def main(parent: int, descriptor: int, folder: str, newer: float, browser: bool) -> None:
    """Serve until the parent has ended, and then while the page is in use."""
    from execledger.viewer.server import Viewer, ViewerSettings, open_browser

    with Viewer(ViewerSettings(paths=(folder,), newer=newer, taken=socket.socket(fileno=descriptor))) as viewer:
        if browser:
            open_browser(viewer.url + COMING)
        while os.getppid() == parent:
            time.sleep(LOOK_SECONDS)
        ended = time.monotonic()
        while stays(viewer.activity.quiet(), time.monotonic() - ended):
            time.sleep(LOOK_SECONDS)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], float(sys.argv[4]), sys.argv[5] == "1")
