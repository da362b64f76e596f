"""Opening the user's browser, where there is one to be seen."""

from __future__ import annotations

import os
import sys
import threading
import webbrowser
from collections.abc import Mapping


def can_open(environment: Mapping[str, str], platform: str = sys.platform) -> bool:
    """Whether a browser would have a screen; one that runs in the terminal is in nobody's interest."""
    return platform == "darwin" or any(environment.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))


def open_browser(url: str) -> None:
    """Open the address if that can be seen; a browser may take its time, so nobody waits for it."""
    if can_open(os.environ):
        threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()
