"""The page while things change: a run that grows, a server that goes away and comes back, and no server at all."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from execledger.journal.events import Counts, Ended
from execledger.viewer.counting import run_id
from execledger.viewer.export import export
from tests.journal.runs import start
from tests.viewer.browsing import Tab, joined, opened_tab
from tests.viewer.stage import DEMO, Page, api, journal_bytes, served, shown, simulated, told

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.clients

STEPS = told([shown(f"sed -n '{n},{n + 4}p' a.py", "".join(f"{n}-{line}\n" for line in range(5))) for n in range(1, 9)])
"""A run of eight steps, which has not ended."""


def append(path: Path, first: int, last: int | None = None) -> None:
    """Write more events to a journal, as an agent does."""
    with path.open("ab") as file:
        file.write(journal_bytes(STEPS[first:last]))


def has_steps(tab: Tab, count: int) -> None:
    """Wait until the timeline has so many steps."""
    tab.find(f".timeline [role=slider][aria-valuemax='{count - 1}']").wait_for()


def follow(tab: Tab, asked: Page, path: Path) -> None:
    """Open the last step of a run."""
    tab.open(f"http://127.0.0.1:{asked.port}/", f"#/run/{run_id(str(path))}/last")


def test_a_run_is_followed_while_it_grows(tab: Tab, tmp_path: Path) -> None:
    """Whoever looks at the last step sees the next one; whoever looks at another is left there; the end is told."""
    path = tmp_path / "live.jsonl"
    append(path, 0, 3)
    with served(path) as asked:
        follow(tab, asked, path)
        tab.at(1)
        assert tab.text(".run-head .live-badge") == "live"
        append(path, 3, 6)
        tab.at(4)
        has_steps(tab, 5)
        tab.press("g")
        tab.at(0)
        append(path, 6)
        has_steps(tab, 8)
        assert tab.text(".step-panel h2") == "Step 0"
        tab.press("G")
        tab.at(7)
        own = asked.get(f"{api(path)}/map?at=7")["files"]
        assert {file: joined(ranges) for file, ranges in tab.map().items()} == {
            file: joined(ranges) for file, ranges in own.items()
        }
        with path.open("ab") as file:
            file.write(journal_bytes([Ended(reason="Submitted", counts=Counts())]))
        tab.find("#connection", "the run has ended").wait_for()
        assert tab.find(".run-head .live-badge").count() == 0


def test_the_list_follows_a_run_that_grows(tab: Tab, tmp_path: Path) -> None:
    """Its number of steps is that of the journal, soon after, and the focus stays where it was."""
    path = tmp_path / "live.jsonl"
    append(path, 0, 3)
    tab.hurry()
    with served(tmp_path) as asked:
        tab.open(f"http://127.0.0.1:{asked.port}/")
        tab.find(".rows .live-badge").wait_for()
        tab.find(".rows .cell.number", "2").first.wait_for()
        tab.press("j")
        append(path, 3)
        tab.find(".rows .cell.number", "8").first.wait_for()
        assert tab.page.evaluate("() => document.activeElement.textContent") == f"Mend it. {path.name}"


def test_a_run_that_is_coming_is_gone_to(tab: Tab, tmp_path: Path) -> None:
    """The page waits for a run that has not begun, and follows it as soon as it has."""
    with served(tmp_path) as asked:
        tab.open(f"http://127.0.0.1:{asked.port}/", "#/coming")
        tab.find("h1", "A run is coming").wait_for()
        path = tmp_path / "new.jsonl"
        append(path, 0, 1)
        tab.find(".run-head .run-name", "new.jsonl").wait_for()
        append(path, 1, 3)
        tab.at(1)
        append(path, 3, 5)
        tab.at(3)
        assert f"#/run/{run_id(str(path))}" in tab.page.url


def test_a_list_that_was_empty_fills(tab: Tab, tmp_path: Path) -> None:
    """Runs that begin while the list is open come into it, and those that are deleted go."""
    tab.hurry()
    with served(tmp_path) as asked:
        tab.open(f"http://127.0.0.1:{asked.port}/", "#/?sort=name")
        tab.find(".runs-view [role=status]", "0 runs").wait_for()
        append(tmp_path / "one.jsonl", 0, 2)
        tab.find(".rows .cell.number", "1").first.wait_for()
        # What is as it was is left alone: a row that is marked here is still the same one later.
        tab.page.evaluate("() => { document.querySelector('.rows .run-row').dataset.mark = 'mine'; }")
        append(tmp_path / "two.jsonl", 0, 2)
        tab.find(".runs-view [role=status]", "2 runs").wait_for()
        tab.become(lambda: tab.find("[data-mark=mine]").count(), 1)
        (tmp_path / "one.jsonl").unlink()
        tab.find(".runs-view [role=status]", "1 run").wait_for()


def test_a_run_whose_file_is_deleted_is_said_to_be_gone(tab: Tab, tmp_path: Path) -> None:
    """What was read of it stays, and it is not called live any more."""
    path = tmp_path / "live.jsonl"
    append(path, 0, 4)
    with served(tmp_path) as asked:
        follow(tab, asked, path)
        tab.at(2)
        tab.find("#connection", "live").wait_for()
        path.unlink()
        tab.find("#connection").filter(has_text="the file of this run is gone").wait_for()
        assert tab.find(".run-head .live-badge").count() == 0
        assert tab.text(".step-panel h2") == "Step 2"


def test_a_server_that_comes_back_is_found_again(tab: Tab, tmp_path: Path) -> None:
    """The page says that the connection is lost, takes it up again, and nothing is missing or there twice."""
    path = tmp_path / "live.jsonl"
    append(path, 0, 4)
    asked_for: list[str] = []
    tab.page.on("request", lambda request: asked_for.append(request.url))
    with served(path) as asked:
        follow(tab, asked, path)
        tab.at(2)
        tab.find("#connection", "live").wait_for()
    assert [url.partition("?")[2] for url in asked_for if "/events" in url] == ["after=3"], "only what is new"
    tab.find("#connection").filter(has_text="connection lost").wait_for()
    append(path, 4, 7)
    with served(path, port=asked.port) as again:
        tab.at(5)
        append(path, 7)
        tab.at(7)
        has_steps(tab, 8)
        own = again.get(f"{api(path)}/map?at=7")["files"]
        assert {file: joined(ranges) for file, ranges in tab.map().items()} == {
            file: joined(ranges) for file, ranges in own.items()
        }
        tab.press("k")
        tab.at(6)
    # The browser complains about a server that is not there, as it should.
    tab.wrongs[:] = [wrong for wrong in tab.wrongs if not wrong.startswith("Failed to load resource: net::ERR_")]


def test_an_export_opens_from_disk_without_a_network(chromium: Browser, tmp_path: Path) -> None:
    """The list, a run by the keyboard, its map and a comparison are all there, and nothing is asked of anybody."""
    journal, target = tmp_path / "one.jsonl", tmp_path / "runs.html"
    journal.write_bytes(journal_bytes(simulated(tmp_path / "work", 4)))
    export((str(DEMO), str(journal)), target, None, None, print)
    with served(DEMO) as asked:
        own = asked.get(f"{api(DEMO)}/map?at=9")["files"]
    with opened_tab(chromium, offline=True) as tab:
        tab.open(target.as_uri())
        tab.page.get_by_label("Search runs").fill("scripted")
        tab.find(".runs-view [role=status]", "1 run").wait_for()
        tab.find(".run-name", DEMO.name).click()
        tab.at(0)
        tab.press(*"jjjjjjjjj")
        tab.at(9)
        assert tab.map() == own
        tab.open(target.as_uri(), f"#/compare/{run_id(str(DEMO))}/{run_id(str(journal))}")
        tab.find(".pair-row").first.wait_for()
        assert tab.texts(".totals thead a") == [DEMO.name, journal.name]


def test_an_export_of_many_runs_says_what_it_does_not_hold(chromium: Browser, tmp_path: Path) -> None:
    """With too many runs to compare each with each, the list says so, and filters all the same."""
    for number in range(5):
        begun = start(agent=f"agent {number % 2}")
        (tmp_path / f"{number}.jsonl").write_bytes(journal_bytes([begun, *STEPS[1:3]]))
    export((str(tmp_path),), tmp_path / "runs.html", None, None, print)
    with opened_tab(chromium, offline=True) as tab:
        tab.open((tmp_path / "runs.html").as_uri(), "#/?agent=agent+1")
        tab.find(".runs-view [role=status]", "2 runs").wait_for()
        assert tab.text(".toolbar > button") == "Too many runs: this file holds no comparisons"
        assert tab.find(".toolbar > button").is_disabled()
