"""Whatever a run holds is text on the page: nothing in it is markup, a script, a style or an address."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from execledger.journal.codec import encode
from execledger.viewer.counting import run_id
from execledger.viewer.export import export
from execledger.vocabulary.actions import Action, Observation
from execledger.vocabulary.decisions import Allow, Nudge, Shown, Step
from tests.journal.runs import start
from tests.viewer.browsing import Tab
from tests.viewer.stage import DEMO, journal_bytes, served, told

pytestmark = pytest.mark.clients

SCRIPT = "</script></pre><script>window.hacked = 1; alert(1)</script><!--"
"""A text that would like to be a script."""
IMAGE = "<img src=x onerror='window.hacked=2;alert(2)'><svg onload=alert(3)><a href='javascript:alert(4)'>x</a>"
"""A text that would like to be an element."""
ESCAPES = "\x1b[31mred\x1b[0m \x1b[2J\x1b]0;title\x07 \x1b[1;4mloud\x1b[0m \u202ebackwards \x00\x08\x7f ok"
"""A text for terminals, with what turns other texts around."""
FILE = "/repo/<b onclick=alert(6)>.py"
"""The name of a file that would like to be an element."""
LONG = 10_000_000
"""Characters of a long line."""


def step(command: str, output: str, stderr: str = "", notice: str = "", *, remark: str = "") -> Step:
    """A step with these texts wherever a step has text."""
    decision = Nudge(SCRIPT, (IMAGE, SCRIPT), (0,)) if remark else Allow(IMAGE, (SCRIPT,))
    observation = Observation(output, exit_status=0, stderr=stderr, notice=notice)
    shown = Shown("remark", remark) if remark else Shown("full")
    return Step(Action(command, f"/{IMAGE}"), decision, observation, shown)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A journal that is full of it, under a name that is no better."""
    steps = [
        step(f"cat '{IMAGE}' {SCRIPT}", SCRIPT + IMAGE, stderr=IMAGE, notice=SCRIPT),
        step(f"echo {ESCAPES}", ESCAPES, remark=IMAGE),
        step("cat long", "x" * LONG + SCRIPT),
        step(f"cat > '{FILE}' <<'PY'\nclass A:\n    pass\nPY", ""),
        step(f"cat '{FILE}'", "class A:\n    pass\n"),
    ]
    path = tmp_path_factory.mktemp("hostile") / "<img src=x onerror=alert(5)>.jsonl"
    begun = start(task=f"<issue>{IMAGE}</issue>{SCRIPT}", agent=IMAGE, model=SCRIPT)
    path.write_bytes(journal_bytes([begun, *told(steps)[1:]]))
    return path


@pytest.fixture(scope="module", params=["served", "exported"])
def address(request: pytest.FixtureRequest, hostile: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The page with that run, by a server and in a file."""
    if request.param == "served":
        with served(hostile.parent) as asked:
            yield f"http://127.0.0.1:{asked.port}/"
    else:
        target = tmp_path_factory.mktemp("exported") / "runs.html"
        export((str(hostile),), target, None, None, print)
        yield target.as_uri()


def harmless(tab: Tab) -> None:
    """Nothing ran, and no element came out of a text."""
    assert tab.page.evaluate("() => window.hacked") is None
    assert tab.page.evaluate("() => document.querySelectorAll('main :is(img, svg, script, style, iframe)').length") == 0
    foreign = (
        "() => [...document.querySelectorAll('main a')].filter((a) => !/^#|^\\/api\\//.test(a.getAttribute('href')))"
    )
    assert tab.page.evaluate(f"{foreign}.length") == 0


def test_hostile_texts_are_text(tab: Tab, address: str, hostile: Path) -> None:
    """Commands, outputs, proofs, names and remarks read as they were written; what a terminal obeys can be seen."""
    run = f"#/run/{run_id(str(hostile))}"
    tab.open(address)
    tab.find(".rows .cell.number", "5").first.wait_for()
    assert (tab.text(".run-name"), tab.text(".rows .agent")) == (hostile.name, IMAGE)
    harmless(tab)
    tab.open(address, run)
    tab.at(0)
    assert tab.text(".command") == f"cat '{IMAGE}' {SCRIPT}"
    assert tab.texts(".output .text") == [SCRIPT + IMAGE, IMAGE]
    assert tab.texts(".decision li") == [SCRIPT]
    assert tab.text(".decision code") == IMAGE
    harmless(tab)
    tab.press("j")
    tab.at(1)
    text = tab.text(".output .text")
    assert text == "red ␛[2J␛]0;title␇ loud [U+202E]backwards ␀␈␡ ok"
    assert (tab.text(".output .fg-red"), tab.text(".output .bold.underline")) == ("red", "loud")
    assert tab.text(".said .text") == IMAGE
    harmless(tab)
    tab.press("G")
    tab.at(4)
    assert tab.find(".file-name").last.get_attribute("title") == FILE
    harmless(tab)


def test_no_code_can_make_markup_of_a_text(tab: Tab, address: str) -> None:
    """Not even the page's own: the policy forbids what would do it."""
    tab.open(address)
    tab.find(".run-name").wait_for()
    for attempt in (
        "() => { document.body.innerHTML = '<b>x</b>'; }",
        "() => { document.querySelector('main').insertAdjacentHTML('beforeend', '<b>x</b>'); }",
        "() => { new DOMParser().parseFromString('<b>x</b>', 'text/html'); }",
        "() => { window.trustedTypes.createPolicy('ours', { createHTML: (text) => text }); }",
        "() => { document.createElement('script').src = 'x.js'; }",
    ):
        refused = "(attempt) => { try { attempt(); return ''; } catch (error) { return error.name; } }"
        assert tab.page.evaluate(f"() => ({refused})({attempt})") == "TypeError", attempt
    tab.wrongs.clear()  # The browser itself says what it has refused.


def test_a_line_of_ten_megabytes_is_shown_in_parts(tab: Tab, address: str, hostile: Path) -> None:
    """Its head at once, more of it on demand, and its end is there."""
    tab.open(address, f"#/run/{run_id(str(hostile))}/2")
    tab.at(2)
    assert 12_000 <= len(tab.text(".output .text")) < 12_100
    tab.page.get_by_role("button", name="more characters").click()
    text = tab.text(".output .text")
    assert text.endswith(SCRIPT) and "the middle is left out here" in text
    assert 20_000 < len(text) < 210_000
    harmless(tab)


def test_bytes_that_are_no_text_are_marked(tab: Tab, tmp_path: Path) -> None:
    """In a name, in a journal and in a recorded run they are shown as a mark, and what comes behind them is there."""
    name = b"broken \xff.jsonl"
    start, good, other, last = map(encode, told([step("cat x", "fine"), step("cat y", "odd"), step("ls", "end")]))
    path, trajectory = tmp_path / os.fsdecode(name), tmp_path / "bytes.traj.json"
    path.write_bytes(start + good + other.replace(b"odd", b"<\xff\xfe>") + last)
    trajectory.write_bytes(DEMO.read_bytes().replace(b"ls -R warehouse", b"ls -R \xff\xfe"))
    with served(tmp_path) as asked:
        base = f"http://127.0.0.1:{asked.port}/"
        tab.open(base)
        tab.find(".run-name", "broken \ufffd.jsonl").wait_for()
        tab.find(".rows .cell.number", "14").first.wait_for()
        assert tab.find(".unreadable").is_hidden()
        tab.open(base, f"#/run/{run_id(str(path))}/1")
        tab.at(1)
        assert tab.text(".output .text") == "<\ufffd\ufffd>"
        tab.press("G")
        tab.at(2)
        harmless(tab)
        tab.open(base, f"#/run/{run_id(str(trajectory))}/0")
        tab.at(0)
        assert tab.text(".command") == "ls -R \ufffd\ufffd tests"
