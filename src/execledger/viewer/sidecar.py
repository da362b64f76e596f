"""A viewer beside a running agent: a process of its own, which outlives the agent while somebody looks.

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
"""How often the parent is looked for, and then whoever looks."""
UNSEEN_SECONDS = 30.0
"""How long the viewer outlives an agent whose run nobody has looked at: a browser may just be starting."""
QUIET_SECONDS = 150.0
"""How long it waits for a page to ask again: an open one does so twice a minute, a hidden one more rarely."""
MAX_SECONDS = 4 * 3600.0
"""How long it outlives the agent at most."""
COMING = "#/coming"
"""The page that waits for the run, and goes to it."""


def start(folder: Path, *, browser: bool) -> str:
    """Start a viewer on the runs that begin in ``folder`` from now on; the address at which the run will be shown."""
    private_folder(folder)
    with loopback_socket(0) as taken:
        # Some file systems tell times in whole seconds.
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
    """Whether the viewer stays, ``since`` seconds after the agent's end, when it was ``quiet`` for so long."""
    if quiet is None:
        return since < UNSEEN_SECONDS
    return quiet < QUIET_SECONDS and since < MAX_SECONDS


def main(parent: int, descriptor: int, folder: str, newer: float, browser: bool) -> None:
    """Serve until the parent is gone, and then while somebody looks."""
    from execledger.viewer.server import Viewer, ViewerSettings, open_browser

    with Viewer(ViewerSettings(paths=(folder,), newer=newer, taken=socket.socket(fileno=descriptor))) as viewer:
        if browser:
            open_browser(viewer.url + COMING)
        while os.getppid() == parent:
            time.sleep(LOOK_SECONDS)
        ended = time.monotonic()
        while stays(viewer.presence.quiet(), time.monotonic() - ended):
            time.sleep(LOOK_SECONDS)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], float(sys.argv[4]), sys.argv[5] == "1")
