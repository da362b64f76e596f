"""Looks at the files on the page, in a real browser: between the steps, and with a verdict for each range."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from execledger.viewer.counting import run_id
from tests.core.stories import text
from tests.support.looking import LookingSession
from tests.viewer.browsing import Tab
from tests.viewer.stage import Page, served

pytestmark = pytest.mark.clients

DASH = "\N{EN DASH}"


@pytest.fixture
def looked(tmp_path: Path) -> Iterator[tuple[str, Page]]:
    """The address of a session whose files were looked at, on a viewer."""
    root = tmp_path / "work"
    root.mkdir()
    for number, name in enumerate(("parser.py", "lexer.py", "<b>odd.py")):
        (root / name).write_text(text(20, 100 * number))
    # The results of this session have no carriage returns, so the file can't be compared.
    (root / "data.txt").write_bytes(text(6).replace("\n", "\r\n").encode())
    session = LookingSession(root, tmp_path)
    session.run("cat parser.py")
    session.run("sed -n '5,9p' lexer.py", "cat '<b>odd.py'")
    session.run("cat data.txt")
    session.run("sed -i -e '2s/.*/two/' -e '10i ten' parser.py")
    session.run("ls")
    (root / "lexer.py").write_text("another\n")
    (root / "<b>odd.py").unlink()
    session.run("pwd", "ls")
    path = session.end()
    with served(path) as asked:
        yield f"http://127.0.0.1:{asked.port}/#/run/{run_id(str(path))}", asked


def test_looks_are_between_the_steps_and_in_full_beside_them(tab: Tab, looked: tuple[str, Page]) -> None:
    """A row has what a look newly found; the step behind it has every range with its verdict, reason and origin."""
    address, _ = looked
    tab.open(address, "/6")
    tab.at(6)
    assert tab.texts(".step-rows [role=listitem]") == snapshot(
        [
            """\
0
inspect
cat parser.py\
""",
            """\
1
inspect
sed -n '5,9p' lexer.py\
""",
            """\
2
inspect
cat '<b>odd.py'\
""",
            """\
3
inspect
cat data.txt\
""",
            """\
◎
Looked at:
data.txt: 1-6 unknown (the first look disagreed with what was shown)\
""",
            """\
4
modify
sed -i -e '2s/.*/two/' -e '10i ten' parser.py\
""",
            """\
◎
Looked at:
parser.py: 2 changed, 10-20 moved to 11-21\
""",
            """\
5
search
ls\
""",
            """\
◎
Looked at:
?b?odd.py: 1-20 gone (not by the agent); lexer.py: 5-9 changed (not by the agent)\
""",
            """\
6
inspect
pwd\
""",
            """\
7
search
ls
△
withheld\
""",
        ]
    )
    assert [row.replace(DASH, "-") for row in tab.texts(".looks tbody tr")] == snapshot(
        [
            "data.txt\t1-6 unknown: the first look disagreed with what was shown\tstep 3",
            "?b?odd.py\t1-20 gone (not by the agent)\tstep 2",
            "lexer.py\t5-9 changed (not by the agent)\tstep 1",
            "parser.py\t1 same, 2 changed, 3-9 same, 10-20 moved to 11-21\tstep 0",
        ]
    )
    assert tab.text(".looks summary") == snapshot("Looked at before this call: 4 files (1 gone, 2 changed, 1 unknown)")
    tab.find(".looks a", "step 1").click()
    tab.at(1)


def test_a_look_that_found_nothing_new_is_closed(tab: Tab, looked: tuple[str, Page]) -> None:
    """It has no row; the section of the step opens on demand. Before the first look there is none."""
    address, _ = looked
    tab.open(address, "/1")
    tab.at(1)
    assert tab.find(".looks").get_attribute("open") is None
    tab.press("k")
    tab.at(0)
    assert tab.find(".looks").count() == 0


def test_the_map_has_the_verdicts(tab: Tab, looked: tuple[str, Page]) -> None:
    """Behind an edit the map goes by what ran, and from the next look on by what that found."""
    address, _ = looked
    tab.open(address, "/4")
    tab.at(4)
    maps = [_by_name(tab.map())]
    for step in (5, 6):
        tab.press("j")
        tab.at(step)
        maps.append(_by_name(tab.map()))
    assert maps == snapshot(
        [
            {
                "parser.py": ["1-20 stale, by 0"],
                "lexer.py": ["5-9 possibly stale, by 1"],
                "<b>odd.py": ["1-20 possibly stale, by 2"],
                "data.txt": ["1-6 possibly stale, by 3"],
            },
            {
                "parser.py": ["1-1 current, by 0", "2-2 changed, by 0", "3-9 current, by 0", "10-20 moved, by 0"],
                "lexer.py": ["5-9 current, by 1"],
                "<b>odd.py": ["1-20 current, by 2"],
                "data.txt": ["1-6 possibly stale, by 3"],
            },
            {
                "parser.py": ["1-1 current, by 0", "2-2 changed, by 0", "3-9 current, by 0", "10-20 moved, by 0"],
                "lexer.py": ["5-9 changed, by 1"],
                "<b>odd.py": ["1-20 gone, by 2"],
                "data.txt": ["1-6 possibly stale, by 3"],
            },
        ]
    )
    assert tab.texts(".map-panel .legend li") == snapshot(
        ["current", "moved", "changed", "gone", "possibly stale", "stale", "no claim", "never seen"]
    )
    documented = (Path(__file__).parents[2] / "docs/view.md").read_text()
    assert [word for word in tab.texts(".map-panel .legend li") if word not in documented] == []


def _by_name(found: dict[str, list[list[object]]]) -> dict[str, list[str]]:
    """The ranges of each file in words."""
    return {
        path.rpartition("/")[2]: [f"{first}-{last} {state}, by {step}" for first, last, state, step in ranges]
        for path, ranges in found.items()
    }
