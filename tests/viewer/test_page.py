"""The page in a real browser: what one sees and does there, compared with what the server says."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from msgspec.structs import replace

from execledger.core.policy import Policy, Preset
from execledger.journal.events import Counts, Ended, Event, FaultCaught
from execledger.viewer.counting import run_id, tallied
from execledger.vocabulary.actions import Observation
from execledger.vocabulary.decisions import Allow, Fingerprint, Reuse, Shown, Step
from tests.journal.runs import start
from tests.support.chromium import take_pictures
from tests.viewer.browsing import TALL, ZOOMED, Tab, joined, opened_tab
from tests.viewer.stage import DEMO, Page, api, journal_bytes, served, shown, simulated, told

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.clients

WRITE = "cat > a.py <<'PY'\nclass Shelf:\n    def take(self):\n        return 1\nPY"
"""An edit that names what it touches."""
CELL = 72
"""Pixels of a step on the timeline of a run that has room for all of them."""
WIDE = {"width": 1920, "height": 1080}
"""A screen that has room for every column."""
ROOT = Path(__file__).parents[2]
ARTIFACTS = "EXECLEDGER_ARTIFACTS"
"""The variable that says where what tests leave for people is kept: here, pictures of the main views."""


@pytest.fixture(scope="module")
def demo() -> Iterator[Page]:
    """A viewer on the demo's run."""
    with served(DEMO) as asked:
        yield asked


def base(asked: Page) -> str:
    """The address of the page."""
    return f"http://127.0.0.1:{asked.port}/"


def run(path: Path, step: int | str | None = None) -> str:
    """The address of a run or a step within the page."""
    return f"#/run/{run_id(str(path))}" + ("" if step is None else f"/{step}")


def place(tab: Tab) -> str:
    """Where the page says that it is."""
    return "#" + urlsplit(tab.page.url).fragment


def test_a_run_is_opened_from_the_list(tab: Tab, demo: Page) -> None:
    """The list names it with its numbers, and a click shows its first step."""
    tab.open(base(demo))
    tab.find(".run-name", DEMO.name).click()
    tab.at(0)
    assert tab.text(".step-panel .command") == "ls -R warehouse tests"
    titled = ("Taking the last item of a kind fails.", DEMO.name)
    assert (tab.text(".run-head h1"), tab.text(".run-head .run-name")) == titled
    assert "A replay: what Ledger would have done." in tab.text(".run-head")
    assert place(tab).startswith(run(DEMO))


def test_the_keyboard_steps_through_a_run(tab: Tab, demo: Page) -> None:
    """Letters and arrows go from step to step, to either end, and to where Ledger acted; the address follows."""
    tab.open(base(demo), run(DEMO))
    tab.at(0)
    for key, step in (("j", 1), ("ArrowRight", 2), ("k", 1), ("G", 13), ("ArrowLeft", 12), ("g", 0), ("n", 3)):
        tab.press(key)
        tab.at(step)
        assert tab.find(".timeline [role=slider]").get_attribute("aria-valuenow") == str(step)
        assert tab.text(".step-row a[aria-current] .number") == str(step)
    tab.page.wait_for_url(f"**/{run(DEMO, 3)}")
    tab.press("Escape")
    tab.find(".run-name", DEMO.name).wait_for()


def test_a_pointer_moves_along_the_timeline(tab: Tab, demo: Page) -> None:
    """A click selects the step that is drawn there, and dragging goes on to others."""
    tab.open(base(demo), run(DEMO))
    tab.at(0)
    lanes = tab.find(".lanes").bounding_box()
    assert lanes is not None
    mouse = tab.page.mouse
    mouse.move(lanes["x"] + 5.5 * CELL, lanes["y"] + 30)
    tab.become(lambda: tab.text(".tip")[:15], "Step 5: inspect")
    mouse.down()
    tab.at(5)
    mouse.move(lanes["x"] + 11.5 * CELL, lanes["y"] + 30)
    tab.at(11)
    mouse.up()


def test_a_run_is_played_and_paused(tab: Tab, demo: Page) -> None:
    """One step after the other, until the key is pressed again or the end is reached."""
    tab.open(base(demo), run(DEMO, 5))
    tab.at(5)
    tab.press("p")
    tab.find(".play", "Pause").wait_for()
    tab.press("p")
    tab.find(".play", "Play").wait_for()
    tab.press("G", "k", "p")
    tab.at(13)
    tab.find(".play", "Play").wait_for()


def test_a_step_says_what_was_decided_and_why(tab: Tab, demo: Page) -> None:
    """The command, the decision in plain words with rule and proof, what the model was shown and what it was spared."""
    step = demo.get(f"{api(DEMO)}/steps/3")
    tab.open(base(demo), run(DEMO, 3))
    tab.at(3)
    assert tab.text(".step-panel .command") == step["command"]
    assert tab.text(".decision .words") == step["words"]
    assert tab.text(".decision dd:first-of-type") == step["decision"]["rule"]
    assert tab.texts(".decision li") == step["decision"]["proof"]
    assert tab.text(".said .text") == step["shown"]["text"]
    assert tab.text(".withheld .text") == step["output"]["text"]
    tab.find(".decision a", "step 1").first.click()
    tab.at(1)


def test_what_was_not_run_and_what_is_not_kept_are_told_apart(chromium: Browser, tmp_path: Path) -> None:
    """A call that was suppressed has printed nothing and has no exit status; one whose output was replaced has both."""
    read, text = shown("cat a.py", "x\n" * 400), "[Ledger: as above]"
    result, mark = Observation(text, exit_status=0), Fingerprint("another", "another", 800, 400)
    reuse = Step(read.action, Reuse("whole-read", (), (0,)), result, Shown("reference", text, (0,)))
    elided = Step(read.action, Allow("new"), result, Shown("reference", text, (0,), "covered", (0,), mark))
    path = tmp_path / "one.jsonl"
    path.write_bytes(journal_bytes(told([read, shown("frobnicate"), reuse, elided])))
    not_run = "It was not run, so what it would have printed is not known."
    not_kept = "It ran, and the record of this run does not hold what it printed."
    found = []
    for policy in (None, Policy()):
        with served(path, policy=policy) as asked, opened_tab(chromium) as tab:
            for step in (2, 3):
                tab.open(base(asked), run(path, step))
                tab.at(step)
                found.append([line for line in tab.text(".step-panel .output:last-child").split("\n") if line])
    assert found == [
        ["What it would have printed", not_run],
        ["What it printed, replaced by the reference", "exit status 0", "800 B", not_kept],
        ["What it would have printed", not_run],
        ["Output", "exit status 0", not_kept],
    ]


def test_the_state_view_is_what_the_model_saw(tab: Tab, demo: Page) -> None:
    """Its lines are those of the view, byte for byte, the new ones marked; what is gone can be hidden."""
    step = demo.get(f"{api(DEMO)}/steps/9")
    before, now = (step[name].split("\n") for name in ("view_before", "view"))
    tab.open(base(demo), run(DEMO, 9))
    tab.at(9)
    lines = "(name) => [...document.querySelectorAll(`.view-text .${name}`)].map((line) => line.lastChild.data)"
    assert tab.page.evaluate(lines, "added") == [f"{line}\n" for line in now if line not in before]
    assert tab.page.evaluate(lines, "removed") == [f"{line}\n" for line in before if line not in now] != []
    tab.page.get_by_label("Show what is gone").uncheck()
    assert "".join(tab.page.evaluate(lines, "line")) == step["view"] + "\n"


def sessions(folder: Path) -> dict[str, list[Event]]:
    """Journals of simulated sessions, quiet and hostile ones."""
    return {f"{seed}": simulated(folder / f"{seed}", seed, hostile=bool(seed % 2)) for seed in (3, 8)}


def test_the_file_map_is_the_ledgers(chromium: Browser, tmp_path: Path) -> None:
    """At every step that is looked at, each line has the state and the step that the ledger's own records give it."""
    paths = [DEMO]
    for name, events in sessions(tmp_path).items():
        paths.append(tmp_path / f"{name}.jsonl")
        paths[-1].write_bytes(journal_bytes(events))
    with served(*paths) as asked, opened_tab(chromium, TALL) as tab:
        for path in paths:
            last = len(asked.get(api(path))["steps"]["category"]) - 1
            for step in sorted({*range(0, last, max(1, last // 12)), last}):
                tab.open(base(asked), run(path, step))
                tab.at(step)
                own: dict[str, Any] = asked.get(f"{api(path)}/map?at={step}")["files"]
                assert {file: joined(ranges) for file, ranges in tab.map().items()} == {
                    file: joined(ranges) for file, ranges in own.items()
                }, (path, step)


def test_a_range_leads_to_the_step_that_showed_it(tab: Tab, demo: Page) -> None:
    """By a click, and by the keyboard."""
    tab.open(base(demo), run(DEMO, 9))
    tab.at(9)
    tab.find(".range.stale").first.click()
    tab.at(7)
    tab.open(base(demo), run(DEMO, 9))
    tab.at(9)
    tab.find(".range.stale").first.focus()
    tab.press("ArrowRight", "ArrowLeft", "Enter")
    tab.at(7)


def test_modified_symbols_are_named(tab: Tab, tmp_path: Path) -> None:
    """From the step on that modified them, on the file that they are in."""
    path = tmp_path / "named.jsonl"
    path.write_bytes(journal_bytes(told([shown("ls"), shown(WRITE), shown("cat a.py", "class Shelf:\n")])))
    with served(path) as asked:
        tab.open(base(asked), run(path, 0))
        tab.at(0)
        assert tab.texts(".modified") == []
        tab.press("j")
        tab.at(1)
        assert tab.texts(".modified") == [f"✎ {' and '.join(symbols(asked, path))}"]
        assert "Shelf.take" in tab.text(".modified")


def symbols(asked: Page, path: Path) -> list[str]:
    """What was modified last, the newest first, as the server tells it."""
    (events,) = [file["events"] for file in asked.get(api(path))["files"]]
    return [name for _, kind, *names in events if kind == "changed" for name in reversed(names[0])]


def test_runs_are_searched_and_sorted(tab: Tab, tmp_path: Path) -> None:
    """By words and by columns, and the address keeps it."""
    for number in range(1, 13):
        (tmp_path / f"run-{number}.jsonl").write_bytes(journal_bytes(told([shown("true")] * number)))
    with served(tmp_path) as asked:
        tab.open(base(asked))
        tab.find(".runs-view [role=status]", "12 runs").wait_for()
        tab.page.get_by_role("button", name="Steps").click()
        tab.find("[role=columnheader][aria-sort=descending]").wait_for()
        assert [name.split(".")[0] for name in tab.texts(".run-name")] == [f"run-{n}" for n in range(12, 0, -1)]
        tab.press("/")
        tab.page.keyboard.type("run-1 jsonl")
        tab.find(".runs-view [role=status]", "4 runs").wait_for()
        assert [name.split(".")[0] for name in tab.texts(".run-name")] == ["run-12", "run-11", "run-10", "run-1"]
        address = place(tab)
        assert "q=run-1+jsonl" in address and "sort=steps" in address
        tab.open("about:blank", "")
        tab.open(base(asked), address)
        tab.find(".runs-view [role=status]", "4 runs").wait_for()
        assert len(tab.texts(".run-name")) == 4


def test_runs_are_chosen_by_the_keyboard(tab: Tab, tmp_path: Path) -> None:
    """By agent, model, task and faults besides words; the address keeps all of it, and Escape lets go of it."""
    for number in range(4):
        fault = [FaultCaught(where="govern", error="KeyError")] if number == 3 else []
        begun = start(agent=f"agent {number % 2}", model=f"model {number // 2}", task=f"<issue>task {number}</issue>")
        (tmp_path / f"run-{number}.jsonl").write_bytes(journal_bytes([begun, *fault]))
    with served(tmp_path) as asked:
        tab.open(base(asked), "#/?sort=name")
        tab.find(".runs-view [role=status]", "4 runs").wait_for()
        # Typed letters choose an entry only if they come fast enough.
        tab.press("f", "ArrowDown", "ArrowDown")
        tab.become(lambda: tab.texts(".run-name"), ["run-1.jsonl", "run-3.jsonl"])
        tab.find(".runs-view [role=status]", "2 runs").wait_for()
        tab.press("Tab", "Tab", "Tab", "Space")
        tab.find(".runs-view [role=status]", "1 run").wait_for()
        tab.become(lambda: place(tab), "#/?agent=agent+1&faults=1&sort=name")
        tab.open("about:blank", "")
        tab.open(base(asked), "#/?agent=agent+1&task=task+1&sort=name")
        tab.find(".runs-view [role=status]", "1 run").wait_for()
        assert tab.texts(".run-name") == ["run-1.jsonl"]
        tab.become(lambda: tab.page.get_by_label("Only one task").input_value(), "task 1")
        tab.press("Escape")
        tab.find(".runs-view [role=status]", "4 runs").wait_for()
        assert place(tab) == "#/?sort=name"


def test_what_shadow_mode_would_have_done_is_shown_as_that(tab: Tab, tmp_path: Path) -> None:
    """In the list, on the timeline and at the step: a command that ran is never said not to have run."""
    read = shown("cat a.py", "x\n" * 400)
    again = Step(read.action, Reuse("repeat", (), (0,)), read.observation, Shown("full", instead="reference"))
    path = tmp_path / "shadow.jsonl"
    path.write_bytes(journal_bytes(told([read, again], Policy(shadow=True))))
    with served(path) as asked:
        tab.open(base(asked))
        tab.find(".rows .hypothetical-badge", "shadow").wait_for()
        tab.become(lambda: [one.split()[0] for one in tab.texts(".rows .cell.number")[1:2]], ["(1)"])
        tab.open(base(asked), run(path, 1))
        tab.at(1)
        assert tab.text(".decision h3").lower() == "would reuse"
        assert tab.text(".decision .badge") == "(◆) would be reused before running"
        assert tab.text(".output h3") == "Output"
        assert "1 would be reused before running" in tab.text(".run-head .facts")
        assert "not executed:" not in tab.page.locator("main").inner_text()
        assert tab.texts(".controls .legend li")[0] == "(◆) would be reused before running"


@pytest.mark.parametrize("replayed", [False, True])
def test_a_replay_says_what_would_have_been_and_a_journal_what_was(tab: Tab, tmp_path: Path, replayed: bool) -> None:
    """Of one run and its step 1, which Ledger reused: everything that is seen, hovered over or heard of its mark."""
    path = tmp_path / "one.jsonl"
    path.write_bytes(journal_bytes(simulated(tmp_path / "work", 5)))
    with served(path, policy=Policy(preset=Preset.PAPER) if replayed else None) as asked:
        tab.open(base(asked), run(path, 1))
        tab.at(1)
        tab.become(lambda: tab.text("#announce").startswith("Step 1, "), True)
        lanes = tab.find(".lanes").bounding_box()
        assert lanes is not None
        cells: int = tab.find(".step-row").first.evaluate("(row) => Number(row.getAttribute('aria-setsize'))")
        tab.page.mouse.move(lanes["x"] + 1.5 * lanes["width"] / cells, lanes["y"] + 30)
        tab.become(lambda: tab.text(".tip")[:7], "Step 1:")
        badge, key = tab.find(".decision .badge"), tab.find(".controls .legend li").first
        head = tab.text(".run-head .facts")
        found = {
            "heading": tab.text(".decision h3").lower(),
            "badge": (badge.inner_text(), badge.get_attribute("title")),
            "in the list of steps": tab.find(".step-row .badge").first.get_attribute("title"),
            "legend": (key.inner_text(), key.get_attribute("title")),
            "timeline": tab.find(".timeline [role=slider]").get_attribute("aria-valuetext"),
            "hover": tab.text(".tip"),
            "heard": tab.text("#announce"),
            "head": [bool(re.search(words, head)) for words in (r"\d would be reused before", "would have been saved")],
        }
        short, words = (
            ("would be reused before running", "an earlier result still holds, and a reference to it would have been")
            if replayed
            else ("reused before running", "not executed: an earlier result still holds, and a reference to it is")
        )
        sign, words = "(◆)" if replayed else "◆", f"{words} the answer"
        brief = f"Step 1: inspect, {words}: cat empty.txt"
        assert found == {
            "heading": "would reuse" if replayed else "reuse",
            "badge": (f"{sign} {short}", words),
            "in the list of steps": f"{short}: {words}",
            "legend": (f"{sign} {short}", words),
            "timeline": brief,
            "hover": brief,
            "heard": f"Step 1, inspect, {words}.",
            "head": [replayed, replayed],
        }


def test_replays_are_told_apart_in_the_list(chromium: Browser, tmp_path: Path) -> None:
    """A badge, brackets, and words for whoever hears or hovers; a journal that is replayed is added up as a replay."""
    path = tmp_path / "one.jsonl"
    path.write_bytes(journal_bytes(simulated(tmp_path / "work", 5)))
    with served(path, policy=Policy(preset=Preset.PAPER)) as asked, opened_tab(chromium, WIDE) as tab:
        tab.open(base(asked))
        tab.find(".rows .hypothetical-badge", "with Ledger, replayed").wait_for()
        cells = dict(zip(tab.texts(".heading .number"), tab.texts(".rows .cell.number"), strict=True))
        would = [name for name, text in cells.items() if re.fullmatch(r"\(.+\)\s+would have been", text)]
        done = ["Reused before", "Reused after", "Reused in part", "Looked again", "Nudged", "Saved", "Spent", "Net"]
        assert would == done
        tab.become(lambda: tab.texts(".sum h2"), ["1 replayed run with Ledger"])
        assert "would have been saved" in tab.text(".sum .facts")
    with served(path) as asked, opened_tab(chromium, WIDE) as tab:
        tab.open(base(asked))
        tab.become(lambda: tab.texts(".sum h2"), ["1 run with Ledger"])
        assert tab.find(".rows .hypothetical-badge").count() == 0
        assert not any("(" in text or "would" in text for text in tab.texts(".rows .cell.number"))


HIDDEN = """(cells) => cells.flatMap((cell) => {
  const { left, right, top, bottom } = cell.getBoundingClientRect();
  const parts = [...cell.querySelectorAll(".hypothetical-badge")].map((part) => part.getBoundingClientRect());
  const cut = parts.some((part) => part.left < left || part.right > right || part.top < top || part.bottom > bottom);
  return cut || (!parts.length && cell.scrollWidth + cell.scrollHeight > cell.clientWidth + cell.clientHeight)
    ? [cell.innerText] : [];
})"""
"""Cells with a badge that is not wholly in sight, and cells without one whose text is cut."""


@pytest.mark.parametrize("width", [1400, 1100])
def test_badges_agents_and_models_are_not_cut(chromium: Browser, tmp_path: Path, width: int) -> None:
    """However long the names are, with a task and without one, of replays and in shadow mode."""
    for shadow in (True, False):
        for task in ("Mend it.", ""):
            policy = Policy(shadow=shadow)
            begun = start(policy, task=task, agent="mini-swe-agent 2.2.7", model="claude-sonnet-4-5")
            name = f"3f2a9c1e-7b64-4d1f-9c55-0a1b2c3d4e5f-3f2a9c1e-7b64-4d1f-{shadow}-{task}.jsonl"
            (tmp_path / name).write_bytes(journal_bytes([begun, *told([shown("ls")], policy)[1:]]))
    found = []
    for chosen in (None, Policy()):
        screen = {"width": width, "height": 900}
        with served(tmp_path, policy=chosen) as asked, opened_tab(chromium, screen) as tab:
            tab.open(base(asked))
            tab.find(".runs-view [role=status]", "4 runs").wait_for()
            found.append(sorted(tab.texts(".rows .hypothetical-badge")))
            assert (
                tab.find(".rows .name:has(.hypothetical-badge), .rows .agent, .rows .model").evaluate_all(HIDDEN) == []
            )
    assert found == [["shadow"] * 2, ["replay"] * 2 + ["with Ledger, replayed"] * 2]


COLUMN_WIDTHS = """() => {
  const cells = (row) => [...document.querySelectorAll(`${row} .cell`)].filter((cell) => cell.offsetWidth);
  const names = cells(".heading").map((cell) => cell.innerText.replace(/\\s+/g, " ").trim());
  const first = cells(".rows .run-row:first-child");
  const row = document.querySelector(".rows .run-row").getBoundingClientRect();
  return {
    widths: Object.fromEntries(names.map((name, at) => [name, first[at].getBoundingClientRect().width])),
    free: row.right - first.at(-1).getBoundingClientRect().right,
  };
}"""
"""Of the columns in sight, the widths by heading, and the pixels behind the last one."""
CUT = "(cells) => cells.filter((cell) => cell.scrollWidth > cell.clientWidth).map((cell) => cell.innerText)"
"""Cells whose text is cut."""
LONG_TITLE = "Querysets lose their ordering after a union of two"


def test_the_title_has_the_room_that_other_columns_leave(chromium: Browser, tmp_path: Path) -> None:
    """A column is as wide as its contents: no number is cut, and one without contents is as wide as its heading."""
    for name, model in (("bare", ""), ("named", "claude-sonnet-4-5")):
        (tmp_path / name).mkdir()
        begun = start(task=f"<issue>{LONG_TITLE}</issue>", agent="vorflux", model=model)
        events = journal_bytes([begun, *told([shown("ls", "x" * 40_000)] * 3)[1:]])
        (tmp_path / name / "one.jsonl").write_bytes(events)
    found = {}
    for name in ("bare", "named"):
        with (
            served(tmp_path / name, policy=Policy()) as asked,
            opened_tab(chromium, {"width": 1400, "height": 900}) as tab,
        ):
            tab.open(base(asked))
            tab.become(partial(tab.texts, ".run-title"), [LONG_TITLE])
            assert tab.find(".rows .number, .rows .run-title").evaluate_all(HIDDEN) == []
            assert tab.find(".rows .number").evaluate_all(CUT) == []
            assert tab.page.evaluate(OVERFLOW) == 0
            found[name] = tab.page.evaluate(COLUMN_WIDTHS)
    bare, named = (found[name]["widths"] for name in ("bare", "named"))
    assert bare["Model"] < 50 < 100 < named["Model"]
    assert bare["Run"] - named["Run"] == pytest.approx(named["Model"] - bare["Model"], abs=1)
    assert bare["Run"] > max(width for column, width in bare.items() if column != "Run") * 4
    assert found["bare"]["free"] == pytest.approx(12, abs=1), "nothing is behind the last column but the padding"


def model_width(tab: Tab) -> int:
    """The width of the column of models, in pixels."""
    widths: dict[str, float] = tab.page.evaluate(COLUMN_WIDTHS)["widths"]
    return round(widths["Model"])


def test_columns_are_measured_anew_where_rows_come_into_sight(chromium: Browser, tmp_path: Path) -> None:
    """A number far down the list is not cut, and a search has the columns of what it finds."""
    for number in range(60):
        model = "a-model-with-a-name" if number == 59 else ""
        begun = start(agent="pi", model=model)
        (tmp_path / f"{number:02}.jsonl").write_bytes(journal_bytes([begun, *told([shown("ls")])[1:]]))
    with served(tmp_path) as asked, opened_tab(chromium, {"width": 1400, "height": 700}) as tab:
        tab.open(base(asked), "#/?sort=name")
        tab.find(".runs-view [role=status]", "60 runs").wait_for()
        narrow = model_width(tab)
        tab.press("G")
        tab.find(".rows .model", "a-model-with-a-name").wait_for()
        assert model_width(tab) > narrow + 50
        assert tab.find(".rows .model").evaluate_all(CUT) == []
        tab.find(".toolbar input[type=search]").fill("00.jsonl")
        tab.become(lambda: len(tab.texts(".rows .model")), 1)
        tab.become(lambda: model_width(tab), narrow)


def test_lines_without_numbers_are_on_the_map(tab: Tab, tmp_path: Path) -> None:
    """The last lines of a file of unknown length are named beside its strip; of what may change, nothing is claimed."""
    steps = [shown("tail -n 3 a.py", "x\ny\nz\n"), shown("sleep 100 &"), shown("cat b.py", "1\n2\n")]
    path = tmp_path / "map.jsonl"
    path.write_bytes(journal_bytes(told(steps)))
    with served(path) as asked:
        tab.open(base(asked), run(path, 2))
        tab.at(2)
        assert tab.texts(".apart") == ["+ the last 3 lines"]
        assert tab.map() == {"/repo/b.py": [[1, 2, "no claim", 2]]}
        tab.find(".apart").click()
        tab.at(0)


def test_a_thousand_runs_are_a_screenful_of_rows(tab: Tab, tmp_path: Path) -> None:
    """Only the rows in sight exist, and the last of a thousand is one key away."""
    data = journal_bytes(told([shown("true")]))
    for number in range(1000):
        (tmp_path / f"{number:04}.jsonl").write_bytes(data)
    with served(tmp_path) as asked:
        tab.open(base(asked), "#/?sort=name")
        tab.find(".runs-view [role=status]").filter(has_text=re.compile("^1,000 runs")).wait_for()
        assert 10 < tab.find(".run-table .rows [role=row]").count() < 40
        tab.press("G")
        tab.find(".run-row.active .run-name", "0999.jsonl").wait_for()
        assert 10 < tab.find(".run-table .rows [role=row]").count() < 40
        tab.press("Enter")
        tab.at(0)


def test_an_address_leads_to_a_step(tab: Tab, demo: Page) -> None:
    """To the step that it names, the last one beyond the end; what is not there is said to be so."""
    tab.open(base(demo), run(DEMO, 7))
    tab.at(7)
    tab.page.evaluate("(address) => { location.hash = address; }", run(DEMO, 99))
    tab.at(13)
    tab.page.evaluate("(address) => { location.hash = address; }", run(DEMO, "last"))
    tab.at(13)
    tab.open("about:blank", "")
    tab.open(base(demo), "#/run/0123456789abcdef/2")
    assert "there is no such run here" in tab.text("[role=alert]")
    tab.wrongs.clear()  # The browser itself says that the answer was a refusal.


def test_two_runs_are_compared(tab: Tab, tmp_path: Path) -> None:
    """Chosen in the list; aligned by command, with what differs and what both came to."""
    same = [shown("ls", "a.py\n"), shown("cat a.py", "one\n")]
    one = [*same, shown("python t.py", "bad\n"), shown("git diff", "+1\n")]
    other = [*same, shown("sed -i s/1/2/ a.py"), shown("python t.py", "good\n"), shown("git diff", "+1\n")]
    for name, steps in (("a", one), ("b", other)):
        (tmp_path / f"{name}.jsonl").write_bytes(journal_bytes(told(steps)))
    with served(tmp_path) as asked:
        tab.open(base(asked), "#/?sort=name")
        tab.find(".run-name", "b.jsonl").wait_for()
        tab.press("j", "x", "j", "x")
        tab.page.get_by_role("button", name="Compare the two").click()
        rows = tab.find(".pair-rows [role=row]")
        rows.nth(4).wait_for()
        signs = [text.split()[0] for text in tab.texts(".pair-rows .sign")]
        assert signs == ["=", "=", "+", "≠", "="]
        assert tab.texts(".totals tbody tr:nth-child(1) td") == ["4", "5", "+1"]
        assert tab.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        tab.page.get_by_label("Only differences").check()
        assert [text.split()[0] for text in tab.texts(".pair-rows .sign")] == ["+", "≠"]
        assert tab.find(".compare-head [role=note]").count() == 0, "these are journals of one task"
        tab.press("n", "Enter")
        tab.at(2)
        assert (tab.text(".run-head h1"), tab.text(".run-head .run-name")) == ("Mend it.", "a.jsonl")


def test_replayed_runs_are_compared_as_replays(chromium: Browser, tmp_path: Path) -> None:
    """Nothing was saved in them, and the page says so; that they had different issues is said, too."""
    for name in ("sums", "dates"):
        found = json.loads(DEMO.read_text())
        found["messages"][1]["content"] = f"Fix this GitHub issue.\n\n## Issue\n\nMend the {name}\n\nMore."
        (tmp_path / f"{name}.traj.json").write_text(json.dumps(found))
    one, other = (run_id(str(tmp_path / f"{name}.traj.json")) for name in ("sums", "dates"))
    with served(tmp_path) as asked, opened_tab(chromium) as tab:
        tab.open(base(asked), f"#/compare/{one}/{other}")
        tab.find(".pair-row").first.wait_for()
        assert tab.texts(".compare-head [role=note]") == [
            "Both runs: a replay; reuse, remarks, savings and views are what would have been.",
            "These two runs had different tasks.\nA: Mend the sums\nB: Mend the dates",
        ]
        assert all("replay" in who for who in tab.texts(".totals thead .hint, .totals tbody th .hint"))


def test_a_comparison_has_the_tokens_behind_its_dollars(chromium: Browser, tmp_path: Path) -> None:
    """Saved, spent and net by class, as the tips of the list have them."""
    again = tmp_path / "again.traj.json"
    again.write_bytes(DEMO.read_bytes())
    line, _ = tallied(str(again), again.read_bytes(), None, None)
    tips = {
        "saved": f"{line.saved_uncached_tokens:,} uncached and {line.saved_cached_tokens:,} cached tokens, estimated",
        "spent": f"views: {line.view_tokens:,} uncached tokens, {line.displaced_tokens:,} of which would have been"
        f" cached, estimated; remarks: {line.remark_uncached_tokens:,} uncached and"
        f" {line.remark_cached_tokens:,} cached tokens, estimated",
        "net": f"{line.net_uncached_tokens:+,} uncached and {line.net_cached_tokens:+,} cached tokens, estimated",
    }
    titles = "(cells) => cells.map((cell) => cell.querySelector('[title]')?.title)"
    with served(tmp_path) as asked, opened_tab(chromium) as tab:
        tab.open(base(asked), f"#/compare/{line.id}/{line.id}")
        tab.find(".pair-row").first.wait_for()
        rows = tab.find(".totals tbody tr")
        for title, tip in tips.items():
            (row,) = [at for at, name in enumerate(tab.texts(".totals tbody th")) if name == title]
            one, other, _ = rows.nth(row).locator("td").evaluate_all(titles)
            assert one == other and one.startswith(tip.replace("-", "\N{MINUS SIGN}")), title


UNDERLINES = """(links) => links.map((link) => {
  const { textUnderlineOffset, fontSize } = getComputedStyle(link);
  return parseFloat(textUnderlineOffset) / parseFloat(fontSize);
})"""
"""How far below a text its underline is, in heights of a letter."""


def test_a_comparison_names_the_prices_and_what_was_only_watched(chromium: Browser, tmp_path: Path) -> None:
    """Prices of two models, one of them assumed; in shadow mode nothing was saved, and no words say that it was."""
    read = shown("cat a.py", "x\n" * 400)
    again = Step(read.action, Reuse("repeat", (), (0,)), read.observation, Shown("full", instead="reference"))
    steps = told([read, again], Policy(shadow=True))[1:]
    policy, ended = Policy(shadow=True), Ended(reason="", counts=Counts(), input_tokens=70, output_tokens=7)
    live, watched = tmp_path / "a__b.jsonl", tmp_path / "shadow.jsonl"
    live.write_bytes(journal_bytes([start(model="nobody-knows"), *told([read])[1:], replace(ended, cost=0.5)]))
    watched.write_bytes(journal_bytes([start(policy, model="claude-sonnet-4-5"), *steps, ended]))
    with served(tmp_path) as asked, opened_tab(chromium) as tab:
        tab.open(base(asked), f"#/compare/{run_id(str(live))}/{run_id(str(watched))}")
        tab.find(".pair-row").first.wait_for()
        rows = dict(zip(tab.texts(".totals tbody th"), tab.texts(".totals tbody tr"), strict=True))
        values = {name: text.split("\t")[1:] for name, text in rows.items()}
        told_prices = ["cost as recorded, savings at gpt-5 (assumed)", "claude-sonnet-4.5", "not the same"]
        assert values["prices"] == told_prices
        assert list(values)[list(values).index("prices") - 1] == "cost"
        assert (values["reused before"][1], values["saved"][1], values["spent"][1]) == ("1", "$0.00", "$0.00")
        assert tab.texts(".compare-head [role=note]") == [
            "Run B: shadow mode; reuse and remarks are what would have been, and nothing was saved or spent."
        ]
        assert min(tab.find(".totals a").evaluate_all(UNDERLINES)) > 0.25, "underscores can be seen"


def test_runs_of_different_tasks_are_told_apart(chromium: Browser, tmp_path: Path) -> None:
    """A remark says so, and at 200 % zoom the numbers of both can be read without scrolling sideways."""
    for name in "ab":
        begun = start(task=f"<issue>Mend {name}.</issue>", model="a-rather-long-name-of-a-model")
        (tmp_path / f"{name}.jsonl").write_bytes(journal_bytes([begun, *told([shown("ls")])[1:]]))
    one, other = (run_id(str(tmp_path / f"{name}.jsonl")) for name in "ab")
    wider = (
        "() => { const head = document.querySelector('.compare-head'); return head.scrollWidth - head.clientWidth; }"
    )
    with served(tmp_path) as asked, opened_tab(chromium, ZOOMED) as tab:
        tab.open(base(asked), f"#/compare/{one}/{other}")
        tab.find(".pair-row").first.wait_for()
        assert tab.text(".warning").split("\n")[0] == "These two runs had different tasks."
        assert tab.page.evaluate(wider) == 0
        assert tab.texts(".totals thead a") == ["a.jsonl", "b.jsonl"]
        tab.open("about:blank", "")
        tab.open(base(asked), f"#/compare/{one}/{one}")
        tab.find(".pair-row").first.wait_for()
        assert tab.find(".warning").count() == 0


WIDER = "(element) => element.scrollWidth - element.clientWidth"
"""How many pixels of an element are behind its right edge."""


@pytest.mark.parametrize("shape", ["two columns", "two rows"])
def test_a_comparison_of_large_runs_fits_the_window(chromium: Browser, tmp_path: Path, shape: str) -> None:
    """With long names and large numbers, at 1,400 pixels and where a row for each run begins."""
    policy = Policy()
    ended = Ended(
        reason="a-rather-long-reason",
        counts=Counts(proposed=1_234_567, faults=12_345),
        model_calls=99_999,
        input_tokens=98_765_432_109,
        cached_tokens=87_654_321_098,
        output_tokens=9_876_543_210,
        cost=1_234_567.89,
    )
    paths = []
    for name in "ab":
        long_name = f"{name}-" + "django__django-12345_with_a_very_long_name_" * 4
        begun = start(
            policy,
            task=f"<issue>{'Mend ' * 40}{name}.</issue>",
            agent="an-agent-with-a-rather-long-name 12.34.56-alpha.7",
            model="a-provider/a-rather-long-name-of-a-model-2026-11-15-preview",
        )
        paths.append(tmp_path / f"{long_name}.jsonl")
        steps = told([shown(f"cat {'directory/' * 30}{name}.py", "x\n" * 400)])[1:]
        paths[-1].write_bytes(journal_bytes([begun, *steps, replace(ended, cost=ended.cost if name == "a" else 1e-5)]))
    one, other = (run_id(str(path)) for path in paths)
    screen = {"width": 1400 if shape == "two columns" else 2260, "height": 900}
    with served(tmp_path) as asked, opened_tab(chromium, screen) as tab:
        tab.open(base(asked), f"#/compare/{one}/{other}")
        tab.find(".pair-row").first.wait_for()
        values = dict(zip(tab.texts(".totals th[scope=row]"), tab.texts(".totals tbody tr"), strict=True))
        told_numbers = " ".join(values.values())
        assert "98,765,432,109" in told_numbers and "$1,234,567.89" in told_numbers
        assert tab.page.evaluate(OVERFLOW) == 0
        for part in (".compare-head", ".totals", ".pair-rows", ".compare-view"):
            assert tab.find(part).evaluate(WIDER) <= 0, part
        if shape == "two rows":
            height = "(cells) => Math.max(...cells.map((cell) => cell.getClientRects()[0].height))"
            assert tab.find(".totals .difference td").evaluate_all(height) < 30, "no sign is on a line of its own"
        right = "(cells) => Math.max(...cells.map((cell) => cell.getBoundingClientRect().right))"
        assert tab.find(".totals :is(th, td)").evaluate_all(right) <= screen["width"]


def test_colours_are_light_or_dark(chromium: Browser, demo: Page) -> None:
    """As the system has it, until a theme is chosen, which is remembered."""
    dark = "() => getComputedStyle(document.body).backgroundColor"
    with opened_tab(chromium, color_scheme="dark") as tab:
        tab.open(base(demo))
        assert tab.page.evaluate(dark) == "rgb(16, 19, 23)"
        tab.press("t")
        assert tab.page.evaluate(dark) == "rgb(243, 244, 246)"
        tab.page.reload()
        assert (tab.page.evaluate(dark), tab.text("#theme")) == ("rgb(243, 244, 246)", "Theme: light")


def test_the_keys_are_explained(tab: Tab, demo: Page) -> None:
    """By a question mark; Escape closes the help and nothing else."""
    tab.open(base(demo), run(DEMO, 5))
    tab.at(5)
    tab.press("?")
    assert "next step or row" in tab.text("dialog")
    tab.press("j", "Escape")
    tab.find("dialog").wait_for(state="hidden")
    assert place(tab) == run(DEMO, 5)


def test_the_readme_shows_pictures_that_can_be_taken_again(chromium: Browser, tmp_path: Path) -> None:
    """Both are those that `dev.py screenshots` takes."""
    shown_there = re.findall(r"\]\(docs/images/([^)]+)\)", (ROOT / "README.md").read_text())
    taken = take_pictures(chromium, tmp_path)
    assert [path.name for path in taken] == shown_there
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in taken)


LOOKS: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "zoomed": {"screen": ZOOMED, "device_scale_factor": 2},
}
OVERFLOW = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
RULES = {"light": "{}", "dark": "{ runOnly: ['color-contrast', 'link-in-text-block'] }"}
"""What Axe looks for; in the dark, only colours differ."""


@pytest.mark.parametrize("look", LOOKS)
def test_the_main_views_can_be_seen_by_all(chromium: Browser, demo: Page, tmp_path: Path, look: str) -> None:
    """Axe finds nothing serious or critical in either theme, and at 200 % zoom nothing has to be scrolled sideways.

    A picture of each is kept in the folder that a variable names, for whoever wants to look.
    """
    axe = Path(pytest.importorskip("axe_playwright_python").__file__).with_name("axe.min.js").read_text()
    kept = os.environ.get(ARTIFACTS)
    folder = Path(kept).absolute() / "viewer" if kept else tmp_path
    itself = f"#/compare/{run_id(str(DEMO))}/{run_id(str(DEMO))}"
    views = {
        "runs": ("#/", ".run-name", None),
        "reuse": (run(DEMO, 3), ".step-panel h2", "Step 3"),
        "run": (run(DEMO, 9), ".step-panel h2", "Step 9"),
        "compare": (itself, ".pair-row", None),
    }
    with opened_tab(chromium, **LOOKS[look]) as tab:
        for name, (address, sign, words) in views.items():
            tab.open(base(demo), address)
            tab.find(sign, words).first.wait_for()
            if look in RULES:
                tab.page.evaluate(axe)
                found = tab.page.evaluate(f"() => axe.run({RULES[look]})")
                serious = [one for one in found["violations"] if one["impact"] in ("serious", "critical")]
                assert [(one["id"], [node["html"] for node in one["nodes"][:3]]) for one in serious] == [], address
            else:
                assert tab.page.evaluate(OVERFLOW) == 0, address
            picture = tab.page.screenshot(path=folder / f"{name}-{look}.png", full_page=look == "zoomed")
            assert picture.startswith(b"\x89PNG") and len(picture) > 10_000
