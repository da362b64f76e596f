"""The lasting switch: what it writes can be undone, and nothing of the user's is lost."""

from __future__ import annotations

import json
import os
import subprocess
import tomllib
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from execledger.agents.claude import standing as claude
from execledger.agents.claude.launch import ADDRESS, OFFICIAL
from execledger.agents.codex import standing as codex
from execledger.agents.registry import proxy_clients
from execledger.agents.user_files import read_user_file, replace_user_file, with_block, without_block
from execledger.errors import LedgerError
from execledger.journal.pause import pause_file
from execledger.proxy.serve import Proxy, ProxySettings
from tests.cli.conftest import Execledger

URL = "http://127.0.0.1:8787/claude"
RC = b"export PATH=$PATH:~/bin\n# caf\xe9\nalias ll='ls -l'"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with a ``claude`` and a ``codex`` on the path that print what they are started with."""
    for name in ("claude", "codex"):
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo {name} 0.166.0 || echo "bare {name}" "$@"\n')
        program.chmod(0o755)
    for name in ("ZDOTDIR", "XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "ANTHROPIC_BASE_URL", "EXECLEDGER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("SHELL", "/bin/bash")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_block_is_written_once_and_removed_without_a_trace(execledger: Execledger, home: Path) -> None:
    """The file keeps its bytes, its mode, and its place behind a symbolic link."""
    real = home / "dotfiles" / "bashrc"
    real.parent.mkdir()
    real.write_bytes(RC)
    real.chmod(0o640)
    (home / ".bashrc").symlink_to(real)
    for _ in range(2):
        assert execledger("on", "claude", "--install").status == 0
        assert real.read_bytes().count(b"function claude {") == 1
    assert execledger("on", "codex", "--install").status == 0
    assert real.read_bytes().startswith(RC) and (home / ".bashrc").is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    assert execledger("off", "claude").status == 0
    assert b"claude" not in real.read_bytes() and b"function codex {" in real.read_bytes()
    execledger("off", "codex")
    assert real.read_bytes() == RC + b"\n"
    assert sorted(os.listdir(real.parent)) == ["bashrc"]
    assert "found nothing that" in execledger("off", "codex").err


def test_the_function_starts_the_agent_with_ledger_and_without_where_there_is_none(
    execledger: Execledger, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a real shell that ends at the first failure, also with an alias of the same name before it."""

    def run() -> tuple[str, str]:
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
        return done.stdout, done.stderr

    # A name that a shell would take apart, in a folder that other shells do not search.
    ledger = home / "it's an $env" / "execledger"
    ledger.parent.mkdir()
    monkeypatch.setenv("PATH", f"{ledger.parent}:{os.environ['PATH']}")
    ledger.write_text('#!/bin/sh\nprintf "<%s>" "$@"\n')
    ledger.chmod(0o755)
    printed = execledger("on", "claude").out
    monkeypatch.setenv("PATH", f"{home / 'bin'}:/usr/bin:/bin")
    assert not (home / ".bashrc").exists()
    script = f"set -e\n{printed}shopt -s expand_aliases\nalias claude='false'\n{printed}claude -p 'a  b' \"\"\n"
    assert run() == ("<run><--><claude><-p><a  b><>", "")
    ledger.unlink()
    assert run() == ("bare claude -p a  b \n", f"{ledger}: not found, claude runs without Ledger\n")


def test_all_programs_of_an_agent_are_named(execledger: Execledger, home: Path) -> None:
    """An empty start file that was there before stays."""
    for name in ("mini", "mini-extra"):
        (home / "bin" / name).symlink_to("claude")
    (home / ".bashrc").touch()
    assert "new shells start mini and mini-extra with Ledger" in execledger("on", "mini", "--install").err
    assert "mini and mini-extra without Ledger; in this one: unset -f mini mini-extra" in execledger("off", "mini").err
    assert (home / ".bashrc").read_bytes() == b""


@pytest.mark.parametrize("options", [["--install"], ["--proxy", "--port", "8787"], ["--shell", "zsh"]])
def test_options_for_an_agent_need_one(execledger: Execledger, home: Path, options: list[str]) -> None:
    """A pause goes on."""
    execledger("off")
    refused = execledger("on", *options)
    given = " and ".join(option for option in options if option.startswith("--"))
    assert (refused.status, refused.out) == (2, "")
    assert refused.err.startswith(f"execledger: on: found {given} without an agent, expected one\n")
    assert pause_file().exists()


@pytest.mark.parametrize("options", [["--port", "9000"], ["--proxy", "--shell", "zsh"]])
def test_options_that_would_do_nothing_are_refused(execledger: Execledger, home: Path, options: list[str]) -> None:
    """A port belongs to a proxy, and a shell reads no settings."""
    refused = execledger("on", "claude", *options)
    assert (refused.status, refused.out) == (2, "")
    assert "on: found --" in refused.err and "expected" in refused.err


def test_a_folder_in_place_of_a_file_is_refused(execledger: Execledger, home: Path) -> None:
    """As anything else that is no regular file."""
    (home / ".bashrc").mkdir()
    words = "found something other than a short regular file, expected one to edit"
    refused = execledger("on", "claude", "--install", "--shell", "bash")
    assert refused == (2, "", f"execledger: {home}/.bashrc: {words}\n")
    (home / ".bashrc").rmdir()
    (home / ".claude" / "settings.json").mkdir(parents=True)
    assert execledger("off", "claude") == (2, "", f"execledger: {home}/.claude/settings.json: {words}\n")


def test_every_shell_has_its_file(execledger: Execledger, home: Path) -> None:
    """A shell that is not known is named."""
    for shell, file in (("zsh", ".zshrc"), ("fish", ".config/fish/config.fish"), ("bash", ".bashrc")):
        assert execledger("on", "claude", "--install", "--shell", shell).status == 0
        assert "execledger claude" in (home / file).read_text()
    (home / ".zshrc").write_text((home / ".zshrc").read_text() + "mine\n")
    without = "new shells start claude without Ledger; in this one:"
    assert execledger("off", "claude").err == (
        f"{home}/.bashrc: {without} unset -f claude\n"
        f"{home}/.zshrc: {without} unset -f claude\n"
        f"{home}/.config/fish/config.fish: {without} functions -e claude\n"
    )
    # What `on` created and where nothing else is left is removed.
    assert not (home / ".bashrc").exists() and not (home / ".config/fish/config.fish").exists()
    assert (home / ".zshrc").read_text() == "# This file was created by `execledger on`.\nmine\n"
    os.environ["SHELL"] = "/bin/tcsh"
    assert "SHELL is 'tcsh', expected one of bash, zsh, fish" in execledger("on", "claude").err


@pytest.mark.parametrize("name", ["nobody", "openhands-that-is-not"])
def test_an_agent_that_is_not_known_is_refused(execledger: Execledger, home: Path, name: str) -> None:
    """By both verbs."""
    assert [execledger(verb, name).status for verb in ("on", "off")] == [2, 2]


def test_settings_lead_to_a_standing_proxy_only_while_it_runs(execledger: Execledger, home: Path) -> None:
    """Without a proxy the agent would not reach its model: then nothing is written."""
    settings = home / ".claude" / "settings.json"
    settings.parent.mkdir()
    given = {"env": {"A": "b", ADDRESS: "https://gateway.example"}, "model": "opus", "hooks": {}}
    text = json.dumps(given, indent=2) + "\n"
    settings.write_text(text)
    with Proxy(ProxySettings(adapter=proxy_clients(), routes={"/claude": "https://gateway.example"})) as proxy:
        refused = execledger("on", "codex", "--proxy", "--install", "--port", proxy.port)
        assert (refused.status, "found no proxy for codex" in refused.err) == (2, True)
        assert execledger("on", "claude", "--proxy", "--install", "--port", proxy.port).status == 0
        installed = json.loads(settings.read_text())
        assert installed["env"][ADDRESS] == f"http://127.0.0.1:{proxy.port}/claude"
        again = execledger("on", "claude", "--proxy", "--port", proxy.port).err
        assert "--upstream claude=https://gateway.example" in again
    closed = execledger("on", "claude", "--proxy", "--install", "--port", proxy.port)
    assert (closed.status, json.loads(settings.read_text())) == (2, installed)
    assert "leads claude to a standing proxy already" in execledger("on", "claude", "--install").err
    assert execledger("off", "claude").status == 0
    assert settings.read_text() == text


def test_printed_settings_are_those_that_install_writes(execledger: Execledger, home: Path) -> None:
    """Put in place by hand, they can be undone."""
    settings = home / ".claude" / "settings.json"
    settings.parent.mkdir()
    text = json.dumps({"env": {ADDRESS: "https://gateway.example"}, "model": "opus"}, indent=2) + "\n"
    settings.write_text(text)
    settings.write_text(execledger("on", "claude", "--proxy").out)
    assert json.loads(settings.read_text())["env"][ADDRESS] == "http://127.0.0.1:8787/claude"
    assert execledger("off", "claude").status == 0
    assert settings.read_text() == text


@pytest.mark.parametrize("install", [[], ["--install"]])
@pytest.mark.parametrize(
    ("broken", "words"),
    [
        ("{bad", "settings.json: is no JSON"),
        ("[]", "settings.json: found no JSON object"),
        ('{"env": {"ANTHROPIC_BASE_URL": 5}}', "'5' as the address of Claude Code's model: expected an http"),
        ('{"env": {"ANTHROPIC_BASE_URL": "ftp://x"}}', "'ftp://x' as the address of Claude Code's model: expected"),
        ('{"env": {"ANTHROPIC_BASE_URL": "http://["}}', "'http://[' as the address of Claude Code's model: expected"),
    ],
)
def test_settings_that_can_not_be_understood_are_refused(
    execledger: Execledger, home: Path, broken: str, words: str, install: list[str]
) -> None:
    """Whether they are to be printed or written."""
    settings = home / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(broken)
    refused = execledger("on", "claude", "--proxy", *install)
    assert (refused.status, refused.out, words in refused.err) == (2, "", True)
    assert settings.read_text() == broken


scalars: st.SearchStrategy[Any] = st.none() | st.booleans() | st.integers() | st.text(max_size=8)
values = scalars | st.lists(scalars, max_size=3) | st.dictionaries(st.text(max_size=4), scalars, max_size=3)
variables = st.dictionaries(
    st.sampled_from([ADDRESS, "_CLAUDE_CODE_ASSUME_FIRST_PARTY_BASE_URL", "X", "NO_PROXY", "no_proxy"]),
    st.text(max_size=9),
)


@given(
    st.dictionaries(st.text(max_size=6), values, max_size=4),
    st.none() | variables,
    st.sampled_from([OFFICIAL, "http://g"]),
)
def test_settings_of_claude_code_come_back_as_they_were(
    others: dict[str, Any], env: dict[str, str] | None, upstream: str
) -> None:
    """Whatever they held; written twice, they are the same."""
    path = Path("settings.json")
    settings = {name: value for name, value in others.items() if name != "env"} | ({} if env is None else {"env": env})
    text = json.dumps(settings).encode()
    installed = claude.with_address(text, URL, upstream, path)
    written = json.loads(installed)["env"]
    assert written[ADDRESS] == URL
    for name in ("NO_PROXY", "no_proxy"):
        assert written[name] == "*" or "127.0.0.1" in written[name].split(",")
    assert claude.with_address(installed, URL, upstream, path) == installed
    back = claude.without_address(installed, path)
    assert isinstance(back, bytes) and list(json.loads(back).items()) == list(settings.items())
    assert isinstance(claude.without_address(text, path), str)


def test_a_file_that_was_made_is_removed_and_what_the_user_changed_stays() -> None:
    """An address that the user has set since is the user's."""
    path = Path("settings.json")
    made = claude.with_address(None, URL, OFFICIAL, path)
    assert claude.without_address(made, path) is None
    changed = json.loads(made)
    changed["env"][ADDRESS] = "https://mine"
    back = claude.without_address(json.dumps(changed).encode(), path)
    assert isinstance(back, bytes) and json.loads(back) == {"env": {ADDRESS: "https://mine"}}
    for broken in (b"{", b"[]", b'{"env": []}', b"// no\n{}"):
        with pytest.raises(LedgerError, match=r"settings\.json: "):
            claude.with_address(broken, URL, OFFICIAL, path)


def test_settings_of_codex_are_a_block_before_all_tables(home: Path) -> None:
    """And are refused where an address is set already, or where nothing can be set beside what is there."""
    path = home / ".codex" / "config.toml"
    given_text = b'# mine\nmodel = "m"\n[tools]\nweb_search = true\n'
    installed = codex.with_address(given_text, URL, "https://x", path)
    assert tomllib.loads(installed.decode()) == {"openai_base_url": URL, "model": "m", "tools": {"web_search": True}}
    assert codex.with_address(installed, URL, "https://x", path) == installed
    assert codex.without_address(installed, path) == given_text
    for refused in (b'openai_base_url = "https://a"\n', b"broken = \n"):
        with pytest.raises(LedgerError, match=r"config\.toml: "):
            codex.with_address(refused, URL, "https://x", path)
    assert codex.upstream({"HOME": str(home)}) == "https://api.openai.com/v1"
    path.parent.mkdir()
    path.write_text(
        'model_provider = "other"\n[model_providers.other]\nbase_url = "http://o"\nwire_api = "responses"\n'
    )
    with pytest.raises(LedgerError, match="can't be set beside what is there"):
        codex.upstream({"HOME": str(home)})


def test_the_upstream_of_codex_is_never_the_standing_proxy(execledger: Execledger, home: Path) -> None:
    """What was installed is not taken for the user's address, and the proxy refuses itself."""
    with Proxy(ProxySettings(adapter=proxy_clients(), routes={"/codex": "https://api.openai.com/v1"})) as proxy:
        for _ in range(2):
            asked = execledger("on", "codex", "--proxy", "--port", proxy.port).err
            assert "--upstream codex=https://api.openai.com/v1" in asked
            assert execledger("on", "codex", "--proxy", "--install", "--port", proxy.port).status == 0
        port = proxy.port
    for own in ("127.0.0.1", "localhost", "0.0.0.0", "[::1]"):
        with pytest.raises(LedgerError, match="is this proxy itself"):
            Proxy(ProxySettings(adapter=proxy_clients(), routes={"/codex": f"http://{own}:{port}/codex"}, port=port))


lines = st.lists(
    st.sampled_from([b"a\n", b"\n", b"# >>> execledger other >>>\n", b"x\xff\r\n", b"# <<< \n"]), max_size=6
)


@given(lines.map(b"".join), st.sampled_from([True, False]))
def test_a_block_comes_and_goes_in_any_text(text: bytes, first: bool) -> None:
    """Bytes that are no text included."""
    path = Path("rc")
    edited = with_block(text, "claude", "body\n", path, first=first)
    assert b"body\n" in edited and without_block(edited, "claude", path) == text
    assert with_block(edited, "claude", "body\n", path, first=first) == edited
    assert without_block(text, "claude", path) is None


@pytest.mark.parametrize("damaged", ["# >>> execledger a >>>\n", "# <<< execledger a <<<\n# >>> execledger a >>>\n"])
def test_damaged_marks_are_refused(damaged: str) -> None:
    """What is between them could be the user's."""
    with pytest.raises(LedgerError, match="damaged block"):
        without_block(damaged.encode(), "a", Path("rc"))


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    """One that changed meanwhile is not overwritten, and what is no file is not touched."""
    file = tmp_path / "rc"
    replace_user_file(file, None, b"one")
    assert (read_user_file(file), file.stat().st_mode & 0o777) == (b"one", 0o600)
    with pytest.raises(LedgerError, match="changed by another program"):
        replace_user_file(file, b"zero", b"two")
    assert file.read_bytes() == b"one" and os.listdir(tmp_path) == ["rc"]
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "nowhere").symlink_to("missing")
    (tmp_path / "folder").mkdir()
    for odd in ("pipe", "nowhere", "folder"):
        with pytest.raises(LedgerError, match="expected"):
            read_user_file(tmp_path / odd)


def test_off_and_on_pause_and_resume_what_runs(execledger: Execledger, home: Path) -> None:
    """A running proxy says so when it is asked."""
    with Proxy(ProxySettings(adapter=proxy_clients(), upstream="http://127.0.0.1:9")) as proxy:

        def paused() -> bool:
            with urllib.request.urlopen(proxy.base("/healthz")) as answer:
                told: bool = json.load(answer)["paused"]
                return told

        assert not paused()
        assert execledger("off").err == (
            "Ledger is off in all sessions that run now behind its proxy; `execledger on` resumes.\n"
            "mini-swe-agent, which has no proxy, is not paused.\n"
        )
        assert paused() and pause_file().exists()
        assert execledger("on").err == "Ledger is on again in running sessions.\n"
        assert not paused()
        assert execledger("on").err == "Ledger was not switched off.\n"
