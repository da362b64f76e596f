"""Takes the pictures of the page that the README shows: ``python -m tests.support.pictures FOLDER``.

They show the recorded run of the demo in the machine's own Chromium, so that nobody has to make one by hand.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from execledger import demo
from execledger.errors import LedgerError
from execledger.viewer.counting import run_id
from execledger.viewer.server import Settings, Viewer
from tests.support.chromium import browser

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

DEMO = Path(demo.__file__).with_name("demo.traj.json")
"""The run."""
STEP = 9
"""Right after an edit: one part of the file was read again, the rest of what is known of it has gone stale."""
VIEWS = {"run.png": "body", "filemap.png": ".map-panel"}
"""The pictures, and the parts of the page that they show."""


def take_pictures(opened: Browser, folder: Path) -> list[Path]:
    """Take every picture; where they are."""
    folder.mkdir(parents=True, exist_ok=True)
    with Viewer(Settings(paths=(str(DEMO),))) as viewer:
        page = opened.new_page(viewport={"width": 1366, "height": 860}, device_scale_factor=1.5)
        page.set_default_timeout(120_000)
        page.goto(f"{viewer.url}#/run/{run_id(str(DEMO))}/{STEP}")
        page.locator(".step-panel h2", has_text=f"Step {STEP}").wait_for()
        return [_picture(page, part, folder / name) for name, part in VIEWS.items()]


def _picture(page: Page, part: str, path: Path) -> Path:
    # Without a pointer and without a focus, as somebody sees it who only looks.
    page.evaluate("() => document.activeElement.blur()")
    page.locator(part).screenshot(path=path, animations="disabled")
    return path


if __name__ == "__main__":
    try:
        with browser() as chromium:
            print(*take_pictures(chromium, Path(sys.argv[1])), sep="\n")
    except LedgerError as error:
        sys.exit(f"{error}")
