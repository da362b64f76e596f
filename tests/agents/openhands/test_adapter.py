"""OpenHands behind the proxy: who asks, what a call would do, and what is the client's own in a result."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from execledger.agents.openhands.adapter import ADAPTER
from execledger.agents.openhands.launch import upstream_of
from execledger.errors import LedgerError
from execledger.session.adapter import Asked, ToolCall
from execledger.testing.adapters import Example, check_calls
from execledger.vocabulary.actions import Edit, OtherTool, Read

LINES = "".join(f"line {number} of a file\n" for number in range(1, 41))
NUMBERED = "".join(f"{number:6}\tline {number} of a file\n" for number in range(1, 41))
HEADER = "Here's the result of running `cat -n` on /repo/a.py:\n"


def call(tool: str, **given: object) -> ToolCall:
    return ToolCall(tool, json.dumps({**given, "summary": "x", "security_risk": "LOW"}))


def ended(code: int, place: str = "/repo", words: str = "") -> str:
    first = words or f"completed with exit code {code}."
    return (
        f"\n[The command {first}]\n[Current working directory: {place}]\n[Python interpreter: /usr/bin/python]\n"
        f"[Command finished with exit code {code}]"
    )


CAT = call("terminal", command="cat a.py")
VIEW = call("file_editor", command="view", path="/repo/a.py")


def test_the_promises_of_an_adapter_are_kept() -> None:
    """Commands with all that follows their output, and files behind their header."""
    check_calls(
        ADAPTER,
        [
            Example(CAT, (LINES.rstrip() + ended(0),), "cat a.py", LINES.rstrip()),
            Example(VIEW, (HEADER + NUMBERED,), output=NUMBERED),
        ],
    )


def test_who_asks_and_where() -> None:
    """The SDK names its conversation; the CLI states the directory, and so does every result of a command."""
    assert ADAPTER.asked({"x-litellm-session-id": "s"}, "", "x") == Asked("s", "s", True, "openhands")
    assert not ADAPTER.asked({}, "", "x").named
    said = "...\nYour current working directory is: /repo\nUser operating system: Linux"
    assert ADAPTER.cwd_of(said) == "/repo"
    move = call("terminal", command="cd src && pwd")
    assert ADAPTER.cwd_after(move, None, "/repo") is None
    assert ADAPTER.cwd_after(move, ("/repo/src" + ended(0, "/repo/src"),), "/repo") == "/repo/src"
    assert ADAPTER.cwd_after(CAT, (LINES + ended(0),), None) == "/repo"


def test_what_calls_would_do() -> None:
    """Descriptions are not part of a call; input to a running program may do anything."""
    assert ADAPTER.action_of(VIEW, "/repo").call == Read("/repo/a.py", numbering="\t")
    assert "summary" not in ADAPTER.action_of(VIEW, "/repo").command
    edit = call("file_editor", command="str_replace", path="a.py", old_str="x", new_str="y")
    assert ADAPTER.action_of(edit, "/repo").call == Edit("a.py", "x", "y")
    assert ADAPTER.action_of(call("terminal", command="y", is_input=True), "/repo").call == OtherTool()
    assert ADAPTER.action_of(call("task", prompt="x"), "/repo").call == OtherTool()


def test_results() -> None:
    """Exit codes; commands that have not ended, clipped outputs and messages in place of a file prove nothing."""
    failed = ADAPTER.observation_of(CAT, ("no" + ended(3),))
    assert (failed.output, failed.exit_status) == ("no", 3)
    still = ended(-1, words="has no new output after 30 seconds. You may wait.")
    assert ADAPTER.observation_of(CAT, (LINES + still,)).timed_out
    clipped = f"{LINES}<response clipped><NOTE>The rest is long.</NOTE>{LINES}"
    assert ADAPTER.observation_of(CAT, (clipped + ended(0),)).truncated
    before = f"[Below is the output of the previous command.]\n{LINES}"
    assert ADAPTER.observation_of(CAT, (before + ended(0),)).truncated
    assert ADAPTER.observation_of(CAT, (ended(0),)).truncated
    missing = ADAPTER.observation_of(VIEW, ("Invalid `path` parameter: /repo/a.py. The path does not exist.",))
    assert missing.output != "" and missing.truncated and missing.failed


def test_shims() -> None:
    """Only for commands that can't change the shell's directory."""
    assert ADAPTER.shim_of(CAT, "m", "x") is not None
    assert ADAPTER.shim_of(call("terminal", command="cd src && cat a.py"), "m", "x") is None
    assert ADAPTER.shim_of(VIEW, "m", "x") is None


def test_the_upstream(tmp_path: Path) -> None:
    """Variables count only with the option for them; then the stored address, then that of the model's provider."""
    environment = {"HOME": str(tmp_path), "LLM_BASE_URL": "http://variable", "LLM_MODEL": "openai/x"}
    assert upstream_of(environment, given=True) == "http://variable"
    with pytest.raises(LedgerError, match="not known"):
        upstream_of(environment, given=False)
    folder = tmp_path / ".openhands"
    folder.mkdir()
    for stored, found in (
        ({"model": "anthropic/x"}, "https://api.anthropic.com"),
        ({"model": "anthropic/x", "base_url": "http://stored"}, "http://stored"),
    ):
        (folder / "agent_settings.json").write_text(json.dumps({"llm": stored}))
        assert upstream_of(environment, given=False) == found
    (folder / "agent_settings.json").write_text(json.dumps({"llm": {"model": "bedrock/x"}}))
    with pytest.raises(LedgerError, match="can't be redirected"):
        upstream_of(environment, given=False)
