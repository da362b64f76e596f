"""Somebody who looks at the page in a real browser, and notices whatever goes wrong in it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Dialog, Locator, Page

TIMEOUT = 60_000.0
"""Milliseconds that anything in the browser may take: machines that run tests can be slow."""
LAPTOP = {"width": 1366, "height": 768}
"""A laptop's screen."""
TALL = {"width": 1366, "height": 2400}
"""A screen on which every row of a short list is in sight."""
ZOOMED = {"width": 683, "height": 384}
"""The laptop's screen at 200 % zoom."""
RANGE = re.compile(
    r"(?P<name>.*), lines? (?P<first>\d+)(?:\u2013(?P<last>\d+))?: (?P<state>.*), shown by step (?P<step>\d+)"
)
"""How the file map calls a range."""
ROWS = """() => [...document.querySelectorAll(".file-row")].map((row) => [
  row.querySelector(".file-name").title,
  [...row.querySelectorAll(".range")].map((range) => range.getAttribute("aria-label")),
])"""
"""The files of the map, and what their ranges are called."""


class Tab:
    """A tab of the browser."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.wrongs: list[str] = []
        """What went wrong: faults of scripts, what the policy forbids, dialogs, requests to elsewhere."""
        page.on("pageerror", lambda error: self.wrongs.append(f"fault: {error}"))
        page.on("console", lambda said: self.wrongs.append(said.text) if said.type == "error" else None)
        page.on("dialog", self._shown)
        page.on("request", lambda request: self._asked(request.url))

    def _shown(self, dialog: Dialog) -> None:
        self.wrongs.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _asked(self, url: str) -> None:
        if not url.startswith(("http://127.0.0.1:", "file:///", "data:,")):
            self.wrongs.append(f"asked for {url}")

    def open(self, base: str, address: str = "#/") -> None:
        """Open an address of the page."""
        self.page.goto(base + address)

    def hurry(self) -> None:
        """Have what is opened from now on wait a tenth of the time, wherever it waits."""
        self.page.add_init_script(
            "const wait = window.setTimeout;"
            "window.setTimeout = (action, delay, ...rest) => wait(action, delay / 10, ...rest);"
        )

    def press(self, *keys: str) -> None:
        """Press keys, one after the other."""
        for key in keys:
            self.page.keyboard.press(key)

    def at(self, step: int) -> None:
        """Wait until all of a step is shown."""
        self.find(".step-panel h2", f"Step {step}").wait_for()

    def find(self, selector: str, text: str | None = None) -> Locator:
        """The elements at a selector, or those of them with just this text."""
        found = self.page.locator(selector)
        return found if text is None else found.filter(has_text=re.compile(f"^{re.escape(text)}$"))

    def text(self, selector: str) -> str:
        """The text of an element, once it is there."""
        return self.page.locator(selector).inner_text()

    def texts(self, selector: str) -> list[str]:
        """The texts of the elements at a selector, in the order in which one sees them."""
        return self.page.locator(selector).all_inner_texts()

    def become(self, read: Callable[[], object], wanted: object) -> None:
        """Wait until what is read in the page is what is wanted; if that never comes, the two are compared."""
        until = time.monotonic() + TIMEOUT / 1000
        while (found := read()) != wanted and time.monotonic() < until:
            self.page.wait_for_timeout(20)
        assert found == wanted

    def map(self) -> dict[str, list[list[Any]]]:
        """What the file map shows, by path: first and last line, state, and step of each range."""
        rows: list[tuple[str, list[str]]] = self.page.evaluate(ROWS)
        return {path: [_range(label) for label in labels] for path, labels in rows if labels}


def _range(label: str) -> list[Any]:
    """First and last line, state and step of a range, from what it is called."""
    found = RANGE.fullmatch(label)
    assert found is not None, label
    return [int(found["first"]), int(found["last"] or found["first"]), found["state"], int(found["step"])]


@contextmanager
def opened_tab(browser: Browser, screen: dict[str, int] | None = None, **options: Any) -> Iterator[Tab]:
    """A tab in which nothing may go wrong."""
    context = browser.new_context(viewport=screen or LAPTOP, **options)  # type: ignore[arg-type]
    context.set_default_timeout(TIMEOUT)
    try:
        tab = Tab(context.new_page())
        yield tab
        assert tab.wrongs == []
    finally:
        context.close()


def joined(ranges: list[list[Any]]) -> list[list[Any]]:
    """Ranges with neighbours of one state and step put together: how they are cut is nobody's concern."""
    result: list[list[Any]] = []
    for first, last, state, step in sorted(ranges):
        if result and result[-1][1] + 1 == first and result[-1][2:] == [state, step]:
            result[-1][1] = last
        else:
            result.append([first, last, state, step])
    return result
