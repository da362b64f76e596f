"""A viewer beside a running agent: a process of its own, which ends when the agent does.

    python -P -m execledger.viewer.beside PARENT FOLDER NEWER BROWSER

The launcher starts it and may then become the agent: the process id stays, so whoever is its parent when it starts is
the agent later. It has a session of its own, since what is typed at the agent's terminal is not meant for it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from execledger.errors import LedgerError

LOOK_SECONDS = 0.3
"""How often the parent is looked for."""
LINGER_SECONDS = 2.0
"""How long the viewer outlives the agent, so that open pages hear of the end."""


def start(folder: Path, *, browser: bool) -> str:
    """Start a viewer on the journals that are written to ``folder`` from now on; its address."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise LedgerError(f"{folder}: there can be no journals to view: {error.strerror or error}") from error
    # Some file systems tell times in whole seconds.
    told = (os.getpid(), folder, time.time() - 1, int(browser))
    process = subprocess.Popen(
        (sys.executable, "-P", "-m", "execledger.viewer.beside", *map(str, told)),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert process.stdout is not None
    with process.stdout as said:
        address = said.readline().decode().strip()
    if not address:
        raise LedgerError("the viewer can't be started", hint=f"execledger view {folder}")
    return address


def main(parent: int, folder: str, newer: float, browser: bool) -> None:
    """Serve until the parent is gone, and a moment longer."""
    from execledger.viewer.browser import open_browser
    from execledger.viewer.server import Settings, Viewer

    with Viewer(Settings(paths=(folder,), newer=newer)) as viewer:
        print(viewer.url, flush=True)
        # Nobody listens any more, and a browser may have something to say.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if browser:
            open_browser(viewer.url)
        while os.getppid() == parent:
            time.sleep(LOOK_SECONDS)
        time.sleep(LINGER_SECONDS)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], float(sys.argv[3]), sys.argv[4] == "1")
