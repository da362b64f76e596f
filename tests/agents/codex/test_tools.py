"""Codex's tool calls as actions, and the shims that can take their place."""

from __future__ import annotations

import json
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from execledger.agents.codex import tools as codex
from execledger.core.classify import classify
from execledger.session.adapter import Adapter, ToolCall
from execledger.symbols.edits import edited_symbols
from execledger.vocabulary.actions import Action, Aside, Call, Command, OtherTool, Patch
from execledger.vocabulary.records import Category, Effects

PATCH = (
    "*** Begin Patch\n*** Update File: src/shop.py\n@@ class Shop:\n@@     def total(self):\n-        return 0\n"
    "+        return 1\n*** Add File: src/till.py\n+def ring():\n+    pass\n*** Delete File: old.py\n"
    "*** Update File: a.py\n*** Move to: b.py\n@@\n-x = 1\n+x = 2\n*** End Patch\n"
)


def function(name: str, **arguments: object) -> ToolCall:
    return ToolCall(name, json.dumps(arguments))


def script(text: str) -> ToolCall:
    return ToolCall("exec", text, custom=True)


def test_the_module_is_an_adapter() -> None:
    """It has every function that the proxy asks for."""
    adapter: Adapter = codex
    assert adapter.action_of(function("exec_command", cmd="ls"), "/repo", "t") == Action("ls", "/repo", None, "t")


@pytest.mark.parametrize(
    ("call", "command", "cwd"),
    [
        (function("exec_command", cmd="cat a.py"), "cat a.py", "/repo"),
        (function("exec_command", cmd="cat a.py", workdir="src", login=False), "cat a.py", "/repo/src"),
        (function("exec_command", cmd="cat a.py", workdir="/other/./x", yield_time_ms=500), "cat a.py", "/other/x"),
        (function("exec_command", cmd="cat a.py", workdir="", shell="/bin/zsh"), "cat a.py", "/repo"),
        (function("exec_command", cmd="cat a.py", workdir="../x"), "cat a.py", None),
        (function("exec_command", cmd="cat a.py", workdir="~/x"), "cat a.py", None),
        (function("shell_command", command="ls -l", workdir="src", timeout_ms=5), "ls -l", "/repo/src"),
        (function("shell", command=["bash", "-lc", "ls | wc -l"]), "ls | wc -l", "/repo"),
        (function("shell", command=["/usr/bin/zsh", "-c", "ls"], workdir="/x"), "ls", "/x"),
        (function("shell", command=["cat", "two words.txt"]), "cat 'two words.txt'", "/repo"),
        (function("container.exec", command=["git", "log"]), "git log", "/repo"),
        (function("local_shell", type="exec", command=["ls"], working_directory="/w", env={}), "ls", "/w"),
    ],
)
def test_shell_tools_run_commands(call: ToolCall, command: str, cwd: str | None) -> None:
    """Every version's own tool and arguments; a place that is not certain is unknown."""
    assert codex.action_of(call, "/repo") == Action(command, cwd)


@pytest.mark.parametrize("cwd", [None, "relative", "C:\\repo"])
def test_without_a_known_folder_relative_places_are_unknown(cwd: str | None) -> None:
    """An absolute one is not."""
    assert codex.action_of(function("exec_command", cmd="ls", workdir="src"), cwd).cwd is None
    assert codex.action_of(function("exec_command", cmd="ls"), cwd).cwd is None
    assert codex.action_of(function("exec_command", cmd="ls", workdir="/src"), cwd).cwd == "/src"


@pytest.mark.parametrize(
    ("options", "manner"),
    [
        ({"max_output_tokens": 300}, Command("max_output_tokens=300")),
        ({"max_output_tokens": 300, "tty": True}, Command("max_output_tokens=300 tty", verbatim=False)),
        ({"tty": True}, Command("tty", verbatim=False)),
        ({"tty": False, "login": True, "sandbox_permissions": "require_escalated", "justification": "x"}, None),
    ],
)
def test_options_that_change_the_result(options: dict[str, object], manner: Call | None) -> None:
    """A budget, and a terminal; the rest changes how a command may run, not what it shows."""
    assert codex.action_of(function("exec_command", cmd="ls", **options), "/repo") == Action("ls", "/repo", manner)


@pytest.mark.parametrize(
    ("call", "structured"),
    [
        (function("exec_command", cmd="ls", environment_id="remote"), OtherTool()),
        (function("exec_command", cmd="Get-Item x", shell="pwsh"), OtherTool()),
        (function("exec_command", command="ls"), OtherTool()),
        (function("exec_command", cmd=3), OtherTool()),
        (ToolCall("exec_command", "{not json"), OtherTool()),
        (ToolCall("exec_command", '{"cmd": "\ud800"}'), OtherTool()),
        (function("shell", command=[]), OtherTool()),
        (function("shell", command="ls"), OtherTool()),
        (function("local_shell", command=["ls"], env={"PATH": "/x"}), OtherTool()),
        (function("write_stdin", session_id=1, chars="y\n"), OtherTool()),
        (function("mcp__files__write", path="a"), OtherTool()),
        (function("collaboration.spawn_agent", message="x"), OtherTool()),
        (function("wait", cell_id="1"), OtherTool()),
        (script("while (true) {}"), OtherTool()),
        (ToolCall("exec_command", "ls", custom=True), OtherTool()),
        (function("exec", cmd="ls"), OtherTool()),
        (function("apply_patch", patch="x"), OtherTool()),
        (function("apply_patch", input=PATCH), Patch(PATCH)),
        (ToolCall("apply_patch", PATCH, custom=True), Patch(PATCH)),
        (function("view_image", path="a.png"), Aside()),
        (function("update_plan", plan=[]), Aside()),
        (function("request_user_input", questions=[]), Aside()),
        (function("update_goal", status="complete"), Aside()),
        (script('text("[ledger:ab12] reused");'), Aside()),
    ],
)
def test_other_tools(call: ToolCall, structured: Call) -> None:
    """Whatever is not certain has unknown effects."""
    action = codex.action_of(call, "/repo", "t")
    assert (action.call, action.cwd, action.thread) == (structured, "/repo", "t")


def test_equal_arguments_are_spelled_alike() -> None:
    """The order of keys and the spacing don't matter; broken ones stay as they are."""
    one, other = ToolCall("x", '{"b": 1, "a": [2]}'), ToolCall("x", '{"a":[2],"b":1}')
    assert codex.action_of(one, None).command == codex.action_of(other, None).command == 'x {"a":[2],"b":1}'
    assert codex.action_of(ToolCall("x", "{"), None).command == "x {"


def test_a_patch_names_its_files_and_symbols() -> None:
    """Files that are changed, made, deleted and moved, and the functions in them."""
    action = codex.action_of(ToolCall("apply_patch", PATCH, custom=True), "/repo")
    record = classify(action)
    assert (record.category, record.effects) == (Category.MODIFY, Effects.LISTED)
    assert record.writes == tuple(f"/repo/{name}" for name in ("src/shop.py", "src/till.py", "old.py", "a.py", "b.py"))
    done = codex.observation_of(ToolCall("apply_patch", PATCH, custom=True), ("Exit code: 0\nWall time: 0 seconds\n",))
    assert edited_symbols(record, action, done) == {
        "/repo/src/shop.py": ("Shop.total",),
        "/repo/src/till.py": ("ring",),
    }


def test_a_patch_in_a_command_names_its_files() -> None:
    """Codex applies it itself, but it reads as the program would."""
    call = function("exec_command", cmd=f"apply_patch <<'EOF'\n{PATCH}EOF", workdir="src")
    assert classify(codex.action_of(call, "/repo")).writes[0] == "/repo/src/src/shop.py"


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ('const r = await tools.exec_command({cmd: "cat a.py"});\ntext(r.output);', Action("cat a.py", "/repo")),
        (
            'text(await tools.exec_command({"cmd": "ls", "workdir": "src"}));',
            Action("ls", "/repo/src", Command("result", verbatim=False)),
        ),
        ('await tools.exec_command({cmd: "touch x"})', Action("touch x", "/repo", Command("nothing", verbatim=False))),
        (
            '// @exec: {"max_output_tokens": 9}\nconst {output} = await tools.exec_command({cmd: "ls"}); text(output)',
            Action("ls", "/repo", Command('{"max_output_tokens": 9}')),
        ),
        ("await tools.apply_patch(`*** x`)", Action("apply_patch *** x", "/repo", Patch("*** x"))),
    ],
)
def test_scripts_of_one_call_are_that_call(text: str, action: Action) -> None:
    """What a script shows of the result is a matter of manner."""
    assert codex.action_of(script(text), "/repo") == action


@pytest.mark.parametrize(
    ("call", "shim"),
    [
        (
            function("exec_command", cmd="cat a.py", workdir="gone", max_output_tokens=5),
            ToolCall("exec_command", """{"cmd":"echo '[ledger:ab12] see above'"}"""),
        ),
        (
            function("shell_command", command="cat a.py"),
            ToolCall("shell_command", """{"command":"echo '[ledger:ab12] see above'"}"""),
        ),
        (
            function("shell", command=["bash", "-lc", "cat a.py"]),
            ToolCall("shell", '{"command":["echo","[ledger:ab12] see above"]}'),
        ),
        (
            script('const r = await tools.exec_command({cmd: "cat a.py"});\ntext(r.output);'),
            script('text("[ledger:ab12] see above");'),
        ),
    ],
)
def test_shims_print_a_mark_and_words(call: ToolCall, shim: ToolCall) -> None:
    """The tool is the same, and nothing else of the call is left."""
    assert codex.shim_of(call, "ab12", "see above") == shim
    assert codex.shim_mark(shim) == "ab12"
    assert classify(codex.action_of(shim, None)).effects is Effects.NONE


@pytest.mark.parametrize(
    "call",
    [
        function("exec_command", cmd="top", tty=True),
        function("exec_command", cmd="ls", environment_id="remote"),
        function("local_shell", command=["ls"]),
        function("write_stdin", session_id=1, chars=""),
        function("wait", cell_id="1"),
        function("update_plan", plan=[]),
        function("mcp__x__y"),
        ToolCall("exec_command", "{"),
        ToolCall("apply_patch", PATCH, custom=True),
        script('text(await tools.exec_command({cmd: "ls"}));'),
        script(f"await tools.apply_patch({json.dumps(PATCH)});"),
        script("text(1)"),
    ],
)
def test_some_calls_are_never_swapped(call: ToolCall) -> None:
    """Whatever has effects, a state of its own, or a result that no line of text can stand for."""
    assert codex.shim_of(call, "ab12", "x") is None


@given(st.text())
def test_any_words_are_safe_in_a_shim(words: str) -> None:
    """A shell prints them on one line and does nothing else, and the mark is found again."""
    shim = codex.shim_of(function("exec_command", cmd=words), "ab12", words)
    assert shim is not None and codex.shim_mark(shim) == "ab12"
    command = json.loads(shim.text)["cmd"]
    assert len(command) < 200 and "\n" not in command
    assert shlex.split(command)[0] == "echo" and len(shlex.split(command)) == 2


@pytest.mark.parametrize(
    "call",
    [
        function("exec_command", cmd="echo '[ledger:ab12] x'", workdir="/x"),
        function("exec_command", cmd="echo '[ledger:ab12] x' > a"),
        function("exec_command", cmd="echo '[ledger:] x'"),
        function("exec_command", cmd="echo ledger"),
        function("shell", command=["echo", "[ledger:ab12] x", "y"]),
        function("shell", command=["echo", 3]),
        function("shell_command", cmd="echo '[ledger:ab12] x'"),
        script('text("[ledger:ab12] x"); text("y");'),
        ToolCall("exec_command", "{"),
        ToolCall("apply_patch", 'text("[ledger:ab12] x");', custom=True),
    ],
)
def test_what_only_resembles_a_shim_has_no_mark(call: ToolCall) -> None:
    """Not one word more or less."""
    assert codex.shim_mark(call) is None
