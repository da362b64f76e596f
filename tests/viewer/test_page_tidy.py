"""Properties of the page's own files: what they never do, how large they are, what in them is dead."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

from execledger.viewer.assets import IMPORT

PAGE = Path(__file__).parents[2] / "src/execledger/viewer/page"
MODULES = sorted(PAGE.glob("*.js"))
LINES, WIDTH = 250, 120
FORBIDDEN = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|srcdoc|\beval\(|new Function|createContextualFragment"
    r"|setAttribute\(\"style|cssText|javascript:|https?://|@import|url\("
)
"""What makes markup, scripts or styles out of text, or asks for something elsewhere."""
EXPORTED = re.compile(r"^export (?:async function|function|class|const) (\w+)", re.MULTILINE)


@pytest.mark.parametrize("path", sorted(PAGE.iterdir()), ids=lambda path: path.name)
def test_nothing_turns_text_into_markup_or_asks_elsewhere(path: Path) -> None:
    """No file of the page has a word for it."""
    found = [(number, line) for number, line in enumerate(path.read_text().split("\n"), 1) if FORBIDDEN.search(line)]
    assert found == []


def test_the_page_itself_has_no_style_or_script_in_it() -> None:
    """The policy would forbid them."""
    assert re.findall(r"<style|\sstyle=|\son\w+=|<script(?![^>]* src=)", (PAGE / "index.html").read_text()) == []


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.name)
def test_a_module_is_small_and_says_what_it_is(path: Path) -> None:
    """It begins with a comment, and neither it nor a line of it is long; whatever it exports has a comment too."""
    lines = path.read_text().split("\n")
    assert lines[0].startswith("/**") and lines[-1] == ""
    assert len(lines) <= LINES + 1
    assert [line for line in lines if len(line) > WIDTH or line != line.rstrip()] == []
    bare = [line for before, line in pairwise(lines) if EXPORTED.match(line) and not commented(before)]
    assert bare == []


def commented(before: str) -> bool:
    """Whether what stands above a line is a comment, or another of a group."""
    return before.endswith("*/") or before.startswith("export const")


def test_whatever_is_exported_is_imported() -> None:
    """By another module, or by a test of the module."""
    texts = {path.name: path.read_text() for path in MODULES}
    tests = (Path(__file__).parent / "test_page_modules.py").read_text()
    used = {
        (found["file"], name)
        for text in texts.values()
        for found in IMPORT.finditer(text)
        for name in re.findall(r"\w+", found["names"] or "")
    }
    exported = {(file, name) for file, text in texts.items() for name in EXPORTED.findall(text)}
    assert {(file, name) for file, name in exported - used if f'"{name}"' not in tests} == set()
    assert used <= exported
