"""The machine's own Chromium, driven by Playwright, for tests, pictures and measurements of the page.

``python -m tests.support.chromium FOLDER`` takes the pictures that the README shows, of the demo's recorded run.
"""

from __future__ import annotations

import functools
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from execledger import demo
from execledger.errors import LedgerError
from execledger.viewer.counting import run_id
from execledger.viewer.server import Viewer, ViewerSettings
from tests.support.agents.npm import NotInstalled

if TYPE_CHECKING:
    from playwright.sync_api import Browser
if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

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


DEMO = Path(demo.__file__).with_name("demo.traj.json")
"""The run."""
STEP = 9
"""Right after an edit: one part of the file was read again, the rest of what is known of it has gone stale."""
VIEWS = {"run.png": "body", "filemap.png": ".map-panel"}
"""The pictures, and the parts of the page that they show."""


def take_pictures(opened: Browser, folder: Path) -> list[Path]:
    """Take every picture; where they are."""
    folder.mkdir(parents=True, exist_ok=True)
    with Viewer(ViewerSettings(paths=(str(DEMO),))) as viewer:
        page = opened.new_page(viewport={"width": 1366, "height": 860}, device_scale_factor=1.5)
        page.set_default_timeout(120_000)
        page.goto(f"{viewer.url}#/run/{run_id(str(DEMO))}/{STEP}")
        page.locator(".step-panel h2", has_text=f"Step {STEP}").wait_for()
        return [_picture(page, part, folder / name) for name, part in VIEWS.items()]


def _picture(page: Page, part: str, path: Path) -> Path:
    # Without pointer and focus, as in a page that is only looked at.
    page.evaluate("() => document.activeElement.blur()")
    page.locator(part).screenshot(path=path, animations="disabled")
    return path


if __name__ == "__main__":
    try:
        with browser() as opened:
            print(*take_pictures(opened, Path(sys.argv[1])), sep="\n")
    except LedgerError as error:
        sys.exit(f"{error}")
