"""Codex's tools that look at files. The answers here are those of the real 0.80.0 and 0.116.0, folders shortened."""

from __future__ import annotations

import json

import pytest

from execledger.agents.codex import tools as codex
from execledger.core.classify import classify
from execledger.core.ledger import Ledger
from execledger.core.lines import Returned, returned
from execledger.session.adapter import ToolCall
from execledger.vocabulary.actions import Aside, Call, Observation, Read, Search
from execledger.vocabulary.decisions import Allow, Shown, Step
from execledger.vocabulary.records import Category, Effects, Lines

PATH = "/repo/a.py"


def look(name: str, **given: object) -> ToolCall:
    return ToolCall(name, json.dumps(given))


def slice_of(first: int, last: int) -> Read:
    return Read(PATH, first, last, numbering=": ", prefix="L", form="read_file")


def shown_by(call: ToolCall, text: str) -> Returned | None:
    """The lines that an answer is understood to show."""
    view = classify(codex.action_of(call, "/repo")).view
    return returned(view, codex.observation_of(call, (text,))) if view is not None else None


@pytest.mark.parametrize(
    ("call", "action"),
    [
        (look("read_file", file_path=PATH), slice_of(1, 2000)),
        (look("read_file", file_path=PATH, offset=5, limit=16, mode="slice"), slice_of(5, 20)),
        (look("read_file", file_path=PATH, limit=2, indentation=None), slice_of(1, 2)),
        (look("read_file", file_path=PATH, offset=5, mode="indentation"), Search(PATH, shows=True)),
        (look("read_file", file_path=PATH, indentation={"max_levels": 1}), Search(PATH, shows=True)),
        # What the tool refuses, and what it is not known to take.
        (look("read_file", file_path="a.py"), Aside()),
        (look("read_file", file_path=PATH, offset=0), Aside()),
        (look("read_file", file_path=PATH, offset=5.0), Aside()),
        (look("read_file", file_path=PATH, offset=None), Aside()),
        (look("read_file", file_path=PATH, limit=0), Aside()),
        (look("read_file", file_path=PATH, mode=None), Aside()),
        (look("read_file", file_path=PATH, encoding="latin-1"), Aside()),
        (look("read_file", path=PATH), Aside()),
        (ToolCall("read_file", "{"), Aside()),
        (look("grep_files", pattern="x"), Search()),
        (look("grep_files", pattern="x", include="*.py", path="src", limit=9), Search("src")),
        (look("grep_files", pattern=" "), Aside()),
        (look("grep_files", pattern="x", context=3), Aside()),
        (look("list_dir", dir_path="/repo", offset=1, limit=2, depth=1), Search("/repo")),
        (look("list_dir", dir_path="src"), Aside()),
        (look("list_dir", dir_path="/repo", depth=0), Aside()),
    ],
)
def test_what_is_looked_at(call: ToolCall, action: Call) -> None:
    """A slice is a read of its lines; nothing is claimed where an argument is unknown, refused or out of range."""
    found = codex.action_of(call, "/repo")
    assert (found.call, found.cwd) == (action, "/repo")
    record = classify(found)
    assert (record.effects, record.may_write) == (Effects.NONE, False)
    assert record.category is {Read: Category.INSPECT, Search: Category.SEARCH, Aside: Category.OTHER}[type(action)]


def test_a_slice_is_a_read_of_its_lines() -> None:
    """Numbers, places and the end of the file are known; whether the last line ends with a newline is not."""
    part = look("read_file", file_path=PATH, offset=5, limit=3)
    assert shown_by(part, "L5: \nL6: class A:\nL7:     x: int") == Returned(
        (("", "class A:", "    x: int"),), ((5, 6, 7),), (Lines(5, 7),), None, newline=None
    )
    rest = look("read_file", file_path=PATH, offset=33, limit=50)
    assert shown_by(rest, 'L33:         """Text: one."""\nL34:         return 1') == Returned(
        (('        """Text: one."""', "        return 1"),), ((33, 34),), (Lines(33, 34),), 34, newline=None
    )


@pytest.mark.parametrize(
    "text", ["5: x", "L5:x", "L5 x", "LL5: x", "x\nL5: y", "L5: x\ny", "L4: x", "L8: x", "L6: x\nL5: y"]
)
def test_an_answer_that_is_not_as_it_should_be_shows_no_lines(text: str) -> None:
    """Another form, a line without a number, lines that were not asked for or that go back."""
    assert shown_by(look("read_file", file_path=PATH, offset=5, limit=3), text) is None


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (look("read_file", file_path=PATH, offset=35), "offset exceeds file length"),
        (look("read_file", file_path=PATH), "failed to read file: No such file or directory (os error 2)"),
        (look("read_file", file_path=PATH), "failed to read file: Is a directory (os error 21)"),
        (look("read_file", file_path=PATH), "unsupported call: read_file"),
        (look("read_file", file_path="a.py"), "file_path must be an absolute path"),
        (
            look("read_file", file_path=PATH, mode="Slice"),
            "failed to parse function arguments: unknown variant",
        ),
        (
            look("grep_files", pattern="("),
            "rg failed: rg: regex parse error:\n    (?:()\n    ^\nerror",
        ),
        (
            look("grep_files", pattern="x", path="y"),
            "unable to access `/repo/y`: No such file or directory (os error 2)",
        ),
        (look("list_dir", dir_path="/repo", offset=100), "offset exceeds directory entry count"),
        (look("list_dir", dir_path=PATH), "failed to read directory: Not a directory (os error 20)"),
    ],
)
def test_complaints_are_failures(call: ToolCall, text: str) -> None:
    """They show nothing, and nothing refers to them."""
    assert codex.observation_of(call, (text,)) == Observation(text, failed=True)
    assert shown_by(call, text) is None


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (look("grep_files", pattern="x"), "/repo/tests/test_a.py\n/repo/a.py"),
        (look("grep_files", pattern="x"), "No matches found."),
        (
            look("list_dir", dir_path="/repo"),
            "Absolute path: /repo\n.git/\n  HEAD\na@\nMore than 3 entries found",
        ),
        (look("list_dir", dir_path="/repo/empty"), "Absolute path: /repo/empty"),
        (look("read_file", file_path=PATH, mode="indentation"), "L7: x\nL8: y"),
    ],
)
def test_other_answers_are_results(call: ToolCall, text: str) -> None:
    """They can be compared, and hold no lines of a file."""
    assert codex.observation_of(call, (text,)) == Observation(text)
    assert shown_by(call, text) is None


@pytest.mark.parametrize("long", ["x" * 500, "x" * 497, "é" * 249, "x" + "é" * 249])
def test_a_line_that_may_have_been_cut_is_not_shown(long: str) -> None:
    """500 bytes of a line are shown, fewer where a character would go beyond: the lines around it are whole."""
    call = look("read_file", file_path=PATH)
    lines = shown_by(call, f"L1: a\nL2: b\nL3: {long}\nL4: c\nL5: d")
    assert lines is not None
    assert (lines.ranges, lines.end) == ((Lines(1, 2), Lines(4, 5)), 5)
    assert [texts for _, texts in lines.placed()] == [("a", "b"), ("c", "d")]
    last = shown_by(call, f"L1: a\nL2: {long}")
    assert last is not None
    assert (last.ranges, last.end) == ((Lines(1, 1),), None)
    # Where there are several, nothing is recorded.
    assert shown_by(call, f"L1: {long}\nL2: b\nL3: {long}") is None


def test_a_line_that_was_surely_shown_whole() -> None:
    """Up to 496 bytes none was cut."""
    lines = shown_by(look("read_file", file_path=PATH), f"L1: {'x' * 496}\nL2: b")
    assert lines is not None
    assert lines.ranges == (Lines(1, 2),)


def test_a_long_answer_has_a_hole() -> None:
    """Codex leaves out the middle: the whole lines at both ends were shown, at the places that they print."""
    call = look("read_file", file_path=PATH)
    lines = shown_by(call, "L1: a\nL2: b\nL3: c…16696 tokens truncated…xy\nL1499: d\nL1500: e")
    assert lines is not None
    assert (lines.ranges, lines.end) == ((Lines(1, 2), Lines(1499, 1500)), 1500)
    older = "L1: a\nL2: b\nL3: c\n[... omitted 894 of 900 lines ...]\n\nL898: d\nL899: e\nL900: f"
    lines = shown_by(call, f"Total output lines: 900\n\n{older}")
    assert lines is not None
    assert lines.ranges == (Lines(1, 2), Lines(899, 900))
    # A cut line beside the hole makes two.
    assert shown_by(call, f"L1: {'x' * 500}\nL2: b\nL3: c…9 tokens truncated…xy\nL1499: d") is None


@pytest.mark.parametrize(
    ("call", "given"),
    [
        (look("read_file", file_path=PATH, offset=3), {"file_path": "[ledger:ab12] Instead of it"}),
        (look("grep_files", pattern="x"), {"pattern": "", "path": "[ledger:ab12] Instead of it"}),
        (look("list_dir", dir_path="/repo"), {"dir_path": "[ledger:ab12] Instead of it"}),
    ],
)
def test_a_shim_is_refused_by_the_tool(call: ToolCall, given: dict[str, str]) -> None:
    """Its path is no absolute one, or its pattern is empty: nothing is looked at. Only that very call is one."""
    shim = codex.shim_of(call, "ab12", "Instead of it")
    assert shim is not None
    assert (shim.name, json.loads(shim.text), codex.shim_mark(shim)) == (call.name, given, "ab12")
    assert codex.action_of(shim, "/repo").call == Aside()
    assert codex.shim_mark(ToolCall(call.name, json.dumps({**given, "limit": 3}))) is None
    assert codex.shim_mark(call) is None


def test_a_newer_block_ends_what_an_older_read_showed() -> None:
    """Which lines a block shows is not read back, so while it is in sight no older read of the file is referred to."""
    ledger = Ledger()
    block = look("read_file", file_path=PATH, offset=2, mode="indentation")
    text = "\n".join(f"L{number}: a line that is long enough to be worth a reference" for number in range(1, 9))

    def judged(call: ToolCall) -> str:
        action, observation = codex.action_of(call, "/repo"), codex.observation_of(call, (text,))
        return ledger.compare(action, Allow("new"), observation).compared or ""

    def record(call: ToolCall, said: str) -> None:
        action = codex.action_of(call, "/repo")
        ledger.record(Step(action, Allow("new"), codex.observation_of(call, (said,)), Shown("full")))

    part = look("read_file", file_path=PATH, limit=8)
    record(look("read_file", file_path=PATH, limit=9), f"{text}\nL9: and one more")
    assert judged(part) == "covered"
    record(block, "L2: another line")
    assert judged(part) == "different"
