"""pi behind the proxy; and how much a further agent takes."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path

import pytest

from execledger.agents import pi
from execledger.agents.pi.launch import OFFICIAL, addresses_of, provider_in
from execledger.agents.pi.tools import ADAPTER
from execledger.errors import LedgerError
from execledger.session.adapter import ToolCall
from execledger.testing.adapters import Example, check_calls
from execledger.vocabulary.actions import Edit, OtherTool, Read

MOST = 200
"""Lines that a further agent may take."""
LINES = "".join(f"line {number} of a file\n" for number in range(1, 41))


def call(tool: str, **given: object) -> ToolCall:
    return ToolCall(tool, json.dumps(given))


CAT, READ = call("bash", command="cat a.py"), call("read", path="a.py")


def test_a_further_agent_is_one_small_folder() -> None:
    """All that Ledger needs around it, its launcher included; recorded sessions and evaluations take more."""
    folder = Path(pi.__file__).parent
    needed = [file for file in folder.glob("*.py") if file.name not in ("recorded.py", "batch.py", "access.py")]
    assert sum(len(file.read_text().splitlines()) for file in needed) <= MOST


def test_the_promises_of_an_adapter_are_kept() -> None:
    """Commands, and the bare text of files."""
    check_calls(
        ADAPTER,
        [
            Example(CAT, (LINES,), "cat a.py", LINES),
            Example(READ, (LINES,), output=LINES),
        ],
    )


def test_results() -> None:
    """Exit codes, parts of files, time limits, and messages in place of a file."""
    assert ADAPTER.observation_of(CAT, (LINES,)).exit_status == 0
    assert ADAPTER.observation_of(CAT, (f"{LINES}\n\nCommand exited with code 3",), is_error=True).exit_status == 3
    assert ADAPTER.observation_of(CAT, (f"{LINES}\n\nCommand timed out after 9 seconds",), is_error=True).timed_out
    cut = f"{LINES}\n\n[Showing lines 9-48 of 48 (50.0KB limit). Full output: /tmp/x]"
    assert ADAPTER.observation_of(CAT, (cut,)).truncated
    assert ADAPTER.observation_of(CAT, ("(no output)",)).truncated
    logged = ADAPTER.observation_of(CAT, ("ERROR: one test failed\nEOF: end of the log\n",))
    assert (logged.exit_status, logged.failed, logged.truncated) == (0, False, False)
    part = ADAPTER.observation_of(
        READ, (f"{LINES.rstrip()}\n\n[Showing lines 1-40 of 90. Use offset=41 to continue.]",)
    )
    assert (part.output, part.truncated, part.cut) == (LINES, True, len(LINES))
    for words in ("ENOENT: no such file or directory, access '/repo/a.py'", "Offset 9 is beyond end of file (3 lines)"):
        assert ADAPTER.observation_of(READ, (words,)).failed


def test_calls_and_the_directory() -> None:
    """Edits come as a list, or one by one in older versions; tools of extensions may do anything."""
    assert ADAPTER.action_of(call("read", path="a.py", offset=3, limit=4), "/repo").call == Read(
        "a.py", 3, 6, form="read"
    )
    edits = [{"oldText": "a", "newText": "b"}, {"oldText": "c", "newText": "d"}]
    assert ADAPTER.action_of(call("edit", path="a.py", edits=edits), "/repo").call == Edit("a.py", "a\nc", "b\nd")
    assert ADAPTER.action_of(call("edit", path="a.py", **edits[0]), "/repo").call == Edit("a.py", "a", "b")
    assert ADAPTER.action_of(call("deploy"), "/repo").call == OtherTool()
    assert ADAPTER.cwd_of("You are ...\nCurrent date: 2026-11-16\nCurrent working directory: /repo") == "/repo"
    assert ADAPTER.shim_of(READ, "m", "x") is None and ADAPTER.shim_of(CAT, "m", "x") is not None


def test_addresses_of_providers(tmp_path: Path) -> None:
    """The user's own file has precedence over what is built in, and the option over both."""
    environment = {"HOME": str(tmp_path)}
    assert addresses_of(environment, "", "") == OFFICIAL
    folder = tmp_path / ".pi" / "agent"
    folder.mkdir(parents=True)
    (folder / "models.json").write_text(json.dumps({"providers": {"mine": {"baseUrl": "http://mine"}, "odd": {}}}))
    assert addresses_of(environment, "", "") == {**OFFICIAL, "mine": "http://mine"}
    assert addresses_of(environment, "mine", "http://other")["mine"] == "http://other"
    assert provider_in(["-p", "--provider", "mine", "x"]) == provider_in(["--model", "mine/m"]) == "mine"
    for provider, upstream in (("amazon-bedrock", ""), ("", "http://other")):
        with pytest.raises(LedgerError):
            addresses_of(environment, provider, upstream)


def test_a_file_with_comments_keeps_its_addresses(tmp_path: Path) -> None:
    """pi strips comments and commas before closing brackets; a file that it can't read either is refused."""
    file = tmp_path / "models.json"
    environment = {"PI_CODING_AGENT_DIR": str(tmp_path)}
    file.write_text('{"providers": { // a gateway\n"anthropic": {"baseUrl": "http://gateway//v1",},\n},}')
    assert addresses_of(environment, "", "") == {**OFFICIAL, "anthropic": "http://gateway//v1"}
    file.write_text('{"providers": ')
    with pytest.raises(LedgerError, match="found no settings"):
        addresses_of(environment, "", "")


def test_a_model_with_an_address_of_its_own_is_refused(tmp_path: Path) -> None:
    """Its requests would go to the address of the provider, with the key that belongs to its own."""
    environment = {"PI_CODING_AGENT_DIR": str(tmp_path)}
    for address, refused in (("http://gateway", False), ("http://elsewhere", True)):
        provider = {"baseUrl": "http://gateway", "models": [{"id": "a"}, {"id": "b", "baseUrl": address}]}
        (tmp_path / "models.json").write_text(json.dumps({"providers": {"mine": provider}}))
        with pytest.raises(LedgerError, match="baseUrl of its own") if refused else nullcontext():
            assert addresses_of(environment, "", "")["mine"] == "http://gateway"


def test_a_provider_without_a_known_address_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is named by an option, by a model, or by settings, of which the project's are stronger."""
    home, project = tmp_path / "home", tmp_path / "project"
    for folder in (home, project / ".pi"):
        folder.mkdir(parents=True)
    monkeypatch.chdir(project)
    environment = {"PI_CODING_AGENT_DIR": str(home)}
    for words in (["--provider", "google"], ["--model", "google/gemini-3"]):
        with pytest.raises(LedgerError, match="google: the address"):
            addresses_of(environment, provider_in(words), "")
    assert addresses_of(environment, "google", "http://there")["google"] == "http://there"
    (home / "settings.json").write_text('{"defaultProvider": "google"}')
    with pytest.raises(LedgerError, match="google: the address"):
        addresses_of(environment, provider_in(["-p", "x"]), "")
    assert addresses_of(environment, provider_in(["--model", "gpt-5.4"]), "") == OFFICIAL
    (project / ".pi" / "settings.json").write_text('{"defaultProvider": "github-copilot"}')
    with pytest.raises(LedgerError, match="github-copilot: can't be redirected"):
        addresses_of(environment, provider_in([]), "")
