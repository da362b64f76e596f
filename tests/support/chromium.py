"""The real Chromium, for tests, pictures and measurements of the page: the machine's own, driven by Playwright."""

from __future__ import annotations

import functools
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.support.agents.codex_binary import NotInstalled

if TYPE_CHECKING:
    from playwright.sync_api import Browser

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
"""What the program is called, here and there."""
ARGUMENTS = (
    # The pages are our own, and a container's root has no sandbox.
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
"""What it is started with, so that it does nothing of its own accord."""


@functools.cache
def chromium() -> str:
    """The program; raises ``NotInstalled`` where there is none."""
    for name in NAMES:
        if found := shutil.which(name):
            return found
    raise NotInstalled("there is no Chromium on the path", "on Debian, `apt install chromium`")


@contextmanager
def browser(*arguments: str) -> Iterator[Browser]:
    """A browser without a window, with ``arguments`` besides ours; raises ``NotInstalled``."""
    program = chromium()
    try:
        from playwright.sync_api import sync_playwright
    except ImportError as error:
        raise NotInstalled("playwright is not installed", "pip install playwright") from error
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=program, args=[*ARGUMENTS, *arguments])
        try:
            yield opened
        finally:
            opened.close()
