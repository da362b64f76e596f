"""A real Chromium, for tests that ask for it; skipped where there is none, unless it is required."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.support.agents.npm import NotInstalled, required
from tests.support.chromium import browser
from tests.viewer.browsing import Tab, opened_tab

if TYPE_CHECKING:
    from playwright.sync_api import Browser


# Not for the whole session: while it is there, its driver's event loop runs, and nobody else can start one.
@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """The browser."""
    try:
        with browser() as opened:
            yield opened
    except NotInstalled as error:
        if required():
            raise
        pytest.skip(str(error))


@pytest.fixture
def tab(chromium: Browser) -> Iterator[Tab]:
    """A tab on a laptop's screen."""
    with opened_tab(chromium) as opened:
        yield opened
