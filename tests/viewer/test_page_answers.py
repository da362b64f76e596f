"""What the model wrote and when a step was, in a real browser: what a recording says is what its page shows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from execledger.viewer.export import export
from tests.runs.samples import encoded
from tests.viewer import answers
from tests.viewer.answers import ANSWER_TIMES, COMMANDS, DURATIONS, FORMATS, RESULT_TIMES, TEXTS, iso, ran, said
from tests.viewer.browsing import Tab, opened_tab
from tests.viewer.stage import journal_bytes, served, shown, told
from tests.viewer.test_page import base, run

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.clients

WHEN = "() => document.querySelector('.asked time')?.dateTime ?? ''"
SECRET = "ghp_" + "a1B2" * 9
"""A token that redaction recognises by its shape."""


def facts(tab: Tab) -> list[str]:
    """What is said of a step in a few words each."""
    return tab.texts(".asked .facts li")


def expected_facts(name: str) -> set[str]:
    """What is said of the time that the second step of a session took, by the format that it is kept in."""
    found: set[str] = set()
    if name in RESULT_TIMES:
        found.add("1 min 40 s after the step before")
    if name in DURATIONS:
        found.add("ran 500 ms")
    elif name in RESULT_TIMES & ANSWER_TIMES:
        found.add("result 3.0 s after the model's reply")
    return found


def test_a_step_shows_what_its_recording_says(chromium: Browser, tmp_path: Path) -> None:
    """In every format: the text that the model wrote before that very step, its time, and how long it took."""
    for name, made in FORMATS.items():
        (tmp_path / name).write_bytes(made())
    answers.inspect(tmp_path / "inspect.eval")
    with served(tmp_path) as asked, opened_tab(chromium, timezone_id="Asia/Tokyo") as tab:
        listed = {Path(line["name"].partition("!")[0]).name: line for line in asked.listed()["runs"]}
        assert listed.keys() == {*FORMATS, "inspect.eval"}
        for name, line in listed.items():
            for step in (0, 1):
                tab.open(base(asked), f"#/run/{line['id']}/{step}")
                tab.at(step)
                assert COMMANDS[step] in tab.text(".asked .command"), name
                assert tab.texts(".asked .wrote p") == [TEXTS[step]], name
                at = ran(step) if name in {*RESULT_TIMES, "inspect.eval"} else said(step)
                timeless = name == "swe-agent.traj"
                assert tab.page.evaluate(WHEN) == ("" if timeless else iso(at)), name
            fixed = {"1 min 40 s after the step before", "ran 500 ms"}
            wanted = fixed if name == "inspect.eval" else expected_facts(name)
            assert {fact for fact in facts(tab) if "after the" in fact or "ran " in fact} == wanted, name


def test_a_time_is_that_of_the_reader(chromium: Browser, tmp_path: Path) -> None:
    """A time is shown in the zone of the browser, to the second."""
    path = tmp_path / "mini.traj.json"
    path.write_bytes(answers.mini())
    with served(path) as asked, opened_tab(chromium, timezone_id="Asia/Tokyo") as tab:
        tab.open(base(asked), run(path, 0))
        tab.at(0)
        assert iso(ran(0)) == "2026-05-28T20:26:53.000Z"
        assert tab.text(".asked time") == "2026-05-29 05:26:53"


def test_a_long_text_is_folded(tab: Tab, tmp_path: Path) -> None:
    """Its beginning and its length are shown; unfolded, all of it is there."""
    text = "First of all.\n" + "\n".join(f"Reason {number}." for number in range(200))
    found = json.loads(answers.mini())
    found["messages"][2]["content"] = text
    path = tmp_path / "long.traj.json"
    path.write_bytes(encoded(found))
    with served(path) as asked:
        tab.open(base(asked), run(path, 0))
        tab.at(0)
        summary = tab.text(".wrote summary")
        assert summary.startswith(f"The model wrote {len(text):,} characters: First of all. Reason 0. Reason 1.")
        assert not tab.find(".wrote pre").is_visible()
        tab.find(".wrote summary").click()
        assert tab.text(".wrote pre") == text
        tab.press("j")
        tab.at(1)
        assert tab.texts(".wrote p") == [TEXTS[1]]


def test_a_text_is_shown_as_text(tab: Tab, tmp_path: Path) -> None:
    """Markup in it is not interpreted, and what controls a terminal is made visible."""
    text = "<img src=x onerror=alert(1)> <b>bold</b> \x1b[31m \u202e"
    found = json.loads(answers.mini())
    found["messages"][2]["content"] = text
    path = tmp_path / "hostile.traj.json"
    path.write_bytes(encoded(found))
    with served(path) as asked:
        tab.open(base(asked), run(path, 0))
        tab.at(0)
        assert tab.text(".wrote p").startswith("<img src=x onerror=alert(1)> <b>bold</b>")
        assert "\x1b" not in tab.text(".wrote p") and "\u202e" not in tab.text(".wrote p")
        assert tab.find(".wrote img").count() == tab.find(".wrote b").count() == 0


def test_an_exported_text_is_redacted(tab: Tab, tmp_path: Path) -> None:
    """By the rules for everything else in the file, and a very long one says how much of it is missing."""
    found = json.loads(answers.mini())
    found["messages"][2]["content"] = f"The token is {SECRET}, I think."
    found["messages"][4]["content"] = "word " * 10_000
    path, target = tmp_path / "secret.traj.json", tmp_path / "page.html"
    path.write_bytes(encoded(found))
    export((str(path),), target, None, None, print)
    assert SECRET not in target.read_text()
    tab.open(target.as_uri(), run(path, 0))
    tab.at(0)
    assert tab.text(".wrote p").startswith("The token is ") and SECRET not in tab.text(".wrote p")
    tab.press("j")
    tab.at(1)
    tab.find(".wrote summary").click()
    tab.find(".wrote .more").click()
    assert tab.text(".wrote .hint") == f"{len('word ' * 10_000) - 1 - 20_000:,} more characters are not shown here."


def test_a_journal_has_times_and_no_texts(tab: Tab, tmp_path: Path) -> None:
    """The page says that a journal does not hold what the model wrote."""
    events = told([shown("ls", "a.py\n"), shown("cat a.py", "x\n")])
    path = tmp_path / "run.jsonl"
    path.write_bytes(journal_bytes([replace(event, at=1_780_000_000.0 + at) for at, event in enumerate(events)]))
    with served(path) as asked:
        tab.open(base(asked), run(path, 1))
        tab.at(1)
        assert tab.page.evaluate(WHEN) == "2026-05-28T20:26:42.000Z"
        assert "1.0 s after the step before" in facts(tab)
        assert tab.find(".wrote").count() == 0
        assert "Its journal does not hold what the model wrote." in tab.text(".run-head")
