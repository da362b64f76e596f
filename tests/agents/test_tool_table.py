"""Tools as a table: what calls would do, what is the client's own in a result, and the adapter made of both."""

from __future__ import annotations

import json
import re

import pytest

from execledger.agents.table_adapter import AgentClient, TableAdapter
from execledger.agents.tool_table import AgentTool, Frame, Tools
from execledger.session.adapter import Adapter, Asked, ToolCall
from execledger.testing.adapters import Example, check_calls
from execledger.vocabulary.actions import Action, Aside, Call, Edit, Observation, OtherTool, Patch, Read, Search, Write

SHELL = Frame(
    echo="Ran: {command}\n",
    head=re.compile(r"(?P<cut>Too long: see [^\n]*\n)?Output: "),
    tail=re.compile(r"(?:\nCode: (?P<status>\d+))?(?:\nIn: (?P<place>/[^\n]*))?\nPID: \d+\Z"),
    required=True,
    empty=("(none)",),
    status=0,
)
PARTS = Frame(
    head=re.compile(r"(?:Lines (?P<first>\d+)-(?P<last>\d+) of (?P<total>\d+)\n\n)?"),
    gap=re.compile(r"\.\.\. \[truncated\]\Z"),
)
TOOLS = Tools(
    table={
        "sh": AgentTool(kind="run", command="cmd", directory="dir", background="bg", beside=("why",), frame=SHELL),
        "read": AgentTool(
            kind="read", path=("path", "file"), first="from", from_zero=True, count="n", beside=("why",), frame=PARTS
        ),
        "view": AgentTool(kind="read", path=("path",), span="range", numbering=": "),
        "part": AgentTool(kind="read", path=("path",), first="a", last="b", numbering=": ", otherwise=("page",)),
        "grep": AgentTool(kind="search", path=("path",)),
        "edit": AgentTool(kind="edit", path=("path",), old="old", new="new", beside=("why",)),
        "edits": AgentTool(kind="edit", path=("path",), edits="all", old="old", new="new"),
        "write": AgentTool(kind="write", path=("path",), new="text"),
        "patch": AgentTool(kind="patch", new="patch"),
        "plan": AgentTool(kind="aside"),
    },
    stub=re.compile(r"\[unchanged"),
    running=re.compile(r"Started in the background"),
    failure=re.compile(r"No such file: "),
)
CLIENT = AgentClient(
    name="small",
    tools=TOOLS,
    version=re.compile(r"Small/(\d[\w.]*)"),
    session=("x-session",),
    parent=("x-parent",),
    own_words=re.compile(r"<context>"),
    place=re.compile(r"^Folder: (/.*)$", re.MULTILINE),
    side=re.compile(r"Sum up"),
    reminder="note",
    keeps_directory=True,
)
ADAPTER = TableAdapter(CLIENT)
PROTOCOL: Adapter = ADAPTER
NOTE = "<note>\nkeep it short\n</note>"
LINES = "".join(f"line {number} of a file\n" for number in range(1, 31))


def call(name: str, **given: object) -> ToolCall:
    return ToolCall(name, json.dumps(given))


def ran(command: str, output: str, code: int = 0, pid: int = 7, before: str = "") -> str:
    """A result of the shell as the client writes it."""
    return f"Ran: {command}\n{before}Output: {output}" + (f"\nCode: {code}" if code else "") + f"\nPID: {pid}"


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (call("read", path="a"), Read("a", form="read")),
        (call("read", file="a", **{"from": 4, "n": 2}), Read("a", 5, 6, form="read")),
        (call("read", path="a", **{"from": "4"}), Read("a", 5, form="read")),
        (call("read", path="a", why="because"), Read("a", form="read")),
        (call("read", path="a", encoding="latin-1"), Search("a", shows=True)),
        (call("read", path="a", n=-1), OtherTool()),
        (call("view", path="a"), Read("a", numbering=": ")),
        (call("view", path="a", range=[3, -1]), Read("a", 3, numbering=": ")),
        (call("view", path="a", range=[3, 2]), OtherTool()),
        (call("view", path="a", range=[3]), OtherTool()),
        (call("part", path="a", a=2, b=9), Read("a", 2, 9, numbering=": ")),
        (call("part", path="a", page=2), Search()),
        (call("grep", path="src"), Search("src", shows=True)),
        (call("grep", pattern="x"), Search()),
        (call("edit", path="a", old="x", new="y"), Edit("a", "x", "y")),
        (call("edits", path="a", all=[{"old": "x", "new": "y"}, {"old": "v", "new": "w"}]), Edit("a", "x\nv", "y\nw")),
        (call("edits", path="a"), OtherTool()),
        (call("write", path="a", text="y"), Write("a", "y")),
        (call("write", text="y"), OtherTool()),
        (call("patch", patch="*** Begin Patch"), Patch("*** Begin Patch")),
        (call("plan", anything=1), Aside()),
        (call("else", path="a"), OtherTool()),
    ],
)
def test_a_call_is_what_the_table_says(made: ToolCall, expected: Call) -> None:
    """Arguments that do not fit make a call of unknown effects; without numbers an unknown one leaves lines unknown."""
    assert ADAPTER.action_of(made, "/repo").call == expected


def test_commands_start_where_the_call_says() -> None:
    """A step up is not certain, and what does not change a call is not part of it."""
    assert ADAPTER.action_of(call("sh", cmd="ls", why="x"), "/repo", "t") == Action("ls", "/repo", None, "t")
    assert ADAPTER.action_of(call("sh", cmd="ls", dir="src"), "/repo") == Action("ls", "/repo/src")
    assert ADAPTER.action_of(call("sh", cmd="ls", dir="../x"), "/repo") == Action("ls", None)
    assert ADAPTER.action_of(call("sh", cmd=1), "/repo").call == OtherTool()
    assert ADAPTER.action_of(call("edit", path="a", why="x"), "/repo").command == 'edit {"path":"a"}'


def test_the_promises_of_an_adapter_are_kept() -> None:
    """Commands and reads, with and without reminders, in one text or in several."""
    cat = call("sh", cmd="cat a\n# twice")
    check_calls(
        ADAPTER,
        [
            Example(cat, (ran("cat a\n# twice", LINES.rstrip()),), "cat a\n# twice", LINES.rstrip()),
            Example(cat, (ran("cat a\n# twice", LINES.rstrip()), NOTE), output=LINES.rstrip()),
            Example(call("read", path="a"), (LINES,), output=LINES),
            Example(call("read", path="a"), (f"{LINES.rstrip()}\n\n{NOTE}",), output=LINES.rstrip()),
            Example(call("read", path="a", n=2), ("Lines 1-2 of 9\n\none\ntwo",), output="one\ntwo\n"),
        ],
    )


def test_the_clients_frame_is_no_output() -> None:
    """Process ids and exit codes are not compared; a result without the frame is a message of the client."""
    made = call("sh", cmd="make")
    assert ADAPTER.observation_of(made, (ran("make", "built", pid=1),)) == Observation("built", exit_status=0)
    assert ADAPTER.observation_of(made, (ran("make", "built", 2, 9),)) == Observation("built", exit_status=2)
    assert ADAPTER.observation_of(made, ("refused",)) == Observation("refused", truncated=True)
    assert ADAPTER.observation_of(made, (ran("makes", "built"),)).exit_status is None
    assert ADAPTER.observation_of(made, (ran("make", "x\nCode: 7\nPID: 8"),)).output == "x\nCode: 7\nPID: 8"
    cut = ADAPTER.observation_of(made, (ran("make", "built", before="Too long: see /tmp/x\n"),))
    assert cut == Observation("built", exit_status=0, truncated=True)


def test_what_proves_nothing() -> None:
    """An empty output, a command in the background, the client's own stub, a failure in plain words."""
    made = call("sh", cmd="cat a")
    assert ADAPTER.observation_of(made, (ran("cat a", "(none)"),)).output_unknown
    assert ADAPTER.observation_of(made, ("Started in the background.",)).timed_out
    assert ADAPTER.observation_of(call("sh", cmd="cat a", bg=True), (ran("cat a", "x"),)).timed_out
    assert ADAPTER.observation_of(call("read", path="a"), ("[unchanged since line 3]",)).output_unknown
    assert ADAPTER.observation_of(call("read", path="a"), ("No such file: a",)).failed
    assert ADAPTER.observation_of(call("read", path="a"), (LINES,), is_error=True).failed
    assert ADAPTER.observation_of(call("read", path="a"), ()).truncated
    assert ADAPTER.observation_of(call("read", path="a"), (LINES, LINES)).truncated


def test_lines_are_those_that_the_frame_names() -> None:
    """A part that ends before what was asked for is cut there, and an empty last line is a line."""
    read = call("read", path="a")
    shown = ADAPTER.observation_of(read, ("Lines 1-2 of 9\n\none\ntwo",))
    assert (shown.output, shown.cut, shown.truncated) == ("one\ntwo\n", 8, True)
    part = call("read", path="a", n=2)
    assert ADAPTER.observation_of(part, ("Lines 1-2 of 9\n\none\n",)) == Observation("one\n\n", notice="Lines 1-2 of 9")
    whole = ADAPTER.observation_of(part, ("Lines 1-2 of 2\n\none\n",))
    assert (whole.output, whole.truncated) == ("one\n", False)
    other = ADAPTER.observation_of(part, ("Lines 3-4 of 9\n\none\ntwo",))
    assert other.truncated and other.cut is None


@pytest.mark.parametrize("head", ["", "Lines 1-3 of 9\n\n"])
def test_lines_with_a_gap_are_not_counted(head: str) -> None:
    """The client's notice in place of what it left out is no line of the file, and what follows it is elsewhere."""
    text = f"{head}one\ntwo\n... [truncated]"
    seen = ADAPTER.observation_of(call("read", path="a"), (text,))
    assert (seen.truncated, seen.cut, seen.pieces) == (True, None, ())


def test_an_edited_result_keeps_the_frame() -> None:
    """A reference takes the place of the output alone, and the client's reminders stay behind it."""
    made = call("sh", cmd="cat a")
    text = ran("cat a", LINES.rstrip(), pid=5)
    assert ADAPTER.referenced(made, (text,), "[R]") == ("Ran: cat a\nOutput: [R]\nPID: 5",)
    assert ADAPTER.referenced(made, (text, NOTE), "[R]\n") == ("Ran: cat a\nOutput: [R]\nPID: 5", NOTE)
    assert ADAPTER.remarked(made, (ran("cat a", "x"),), "[R]") == ("Ran: cat a\nOutput: x\n[R]\nPID: 7",)
    folded = (f"{LINES.rstrip()}\n\n{NOTE}",)
    assert ADAPTER.referenced(call("read", path="a"), folded, "[R]") == (f"[R]\n\n{NOTE}",)


def test_only_commands_in_the_foreground_have_a_shim() -> None:
    """Tools that read always run; a shim keeps the other arguments of the call."""
    shim = ADAPTER.shim_of(call("sh", cmd="cat a", why="x"), "m1", "Instead of cat a.")
    assert shim == ToolCall("sh", '{"cmd":"echo \'[ledger:m1] Instead of cat a.\'","why":"x"}')
    assert ADAPTER.shim_mark(shim) == "m1"
    assert ADAPTER.shim_of(call("read", path="a"), "m1", "x") is None
    assert ADAPTER.shim_of(call("sh", cmd="cat a", bg=True), "m1", "x") is None


def test_who_asks() -> None:
    """From headers; without a name of the session, the launcher's path names it."""
    headers = {"x-session": "s", "user-agent": "Small/1.2"}
    assert ADAPTER.asked(headers, "", "Mend it.") == Asked("s", "s", True, "small 1.2")
    assert ADAPTER.asked({**headers, "x-parent": "p"}, "", "") == Asked("p", "s", True, "small 1.2")
    assert ADAPTER.asked({}, "", "Sum up.") == Asked("", "", False, "small", named=False)
    assert ADAPTER.task_of("<context>\nFolder: /x") == "" and ADAPTER.task_of("Mend it.") == "Mend it."


def test_where_the_shell_is() -> None:
    """As the client states it; where nothing states it, unknown behind a command that may change it."""
    assert ADAPTER.cwd_of("<context>\nFolder: /repo\n") == "/repo"
    moved = call("sh", cmd="cd src")
    assert ADAPTER.cwd_after(moved, None, "/repo") is None
    assert ADAPTER.cwd_after(moved, ("Ran: cd src\nOutput: (none)\nIn: /repo/src\nPID: 1",), "/repo") == "/repo/src"
    assert ADAPTER.cwd_after(call("sh", cmd="ls"), (ran("ls", "a"),), "/repo") == "/repo"
    assert ADAPTER.cwd_after(call("read", path="cd"), (LINES,), "/repo") == "/repo"
