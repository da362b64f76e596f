"""How Claude Code is led to the proxy: settings are merged, the user's own address becomes the upstream."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from yarl import URL

from execledger.agents.claude import launch
from execledger.agents.claude.launch import ADDRESS, _given_settings, check_provider, effective_variables
from execledger.errors import LedgerError


def test_the_last_settings_of_the_user_are_merged(tmp_path: Path) -> None:
    """Claude Code takes only one ``--settings``; what follows ``--`` is no option."""
    file = tmp_path / "mine.json"
    file.write_text('{"model": "opus"}')
    words = ["-p", "--settings", '{"a": 1}', f"--settings={file}", "--", "--settings", "x"]
    assert _given_settings(words) == (["-p", "--", "--settings", "x"], {"model": "opus"})
    assert _given_settings(["-p"]) == (["-p"], {})
    assert _given_settings(["-p", "--settings"]) == (["-p", "--settings"], {})


@pytest.mark.parametrize("value", ["{", "/nowhere/at/all.json", "[]"])
def test_settings_that_are_none_are_named(value: str) -> None:
    """The error says what was found and what was expected."""
    with pytest.raises(LedgerError, match="--settings"):
        _given_settings(["--settings", value])


def test_the_strongest_source_names_the_upstream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Options, then the user's file, then the environment; a file with a byte order mark is read."""
    monkeypatch.chdir(tmp_path)
    environment = {"HOME": str(tmp_path / "home"), ADDRESS: "http://variable"}
    assert dict(effective_variables({}, environment))[ADDRESS] == "http://variable"
    file = tmp_path / "home" / ".claude" / "settings.json"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"\xef\xbb\xbf" + json.dumps({"env": {ADDRESS: "http://file"}}).encode())
    assert dict(effective_variables({}, environment))[ADDRESS] == "http://file"
    assert dict(effective_variables({"env": {ADDRESS: "http://option"}}, environment))[ADDRESS] == "http://option"
    file.write_bytes(b"\xff")
    assert dict(effective_variables({}, environment))[ADDRESS] == "http://variable"


@pytest.mark.parametrize("name", ["settings.json", "settings.local.json"])
def test_a_project_does_not_choose_who_gets_the_key(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An address in a project's files is refused, unless the user names one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / name).write_text(json.dumps({"env": {ADDRESS: "http://elsewhere"}}))
    with pytest.raises(LedgerError, match="your key, to http://elsewhere"):
        dict(effective_variables({}, {"HOME": str(tmp_path / "home")}))
    assert (
        dict(effective_variables({"env": {ADDRESS: "http://mine"}}, {"HOME": str(tmp_path / "home")}))[ADDRESS]
        == "http://mine"
    )


def test_the_address_of_a_project_is_no_command_and_no_escape(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The hint can be pasted into a shell."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "settings.json").write_text(json.dumps({"env": {ADDRESS: "http://a; touch b\x1b[2J"}}))
    with pytest.raises(LedgerError) as refused:
        dict(effective_variables({}, {"HOME": str(tmp_path / "home")}))
    assert "--upstream 'http://a; touch b?[2J' --" in refused.value.hint and refused.value.message.isprintable()


def test_other_providers_are_refused() -> None:
    """Their requests are signed for an address of their own; a variable that is off refuses nothing."""
    check_provider({"CLAUDE_CODE_USE_BEDROCK": "0"})
    clouds = "BEDROCK VERTEX FOUNDRY ANTHROPIC_AWS ANTHROPIC_GOOGLE_CLOUD MANTLE"
    for name in (f"CLAUDE_CODE_USE_{cloud}" for cloud in clouds.split()):
        with pytest.raises(LedgerError, match="can't be redirected") as refused:
            check_provider({name: "1"})
        assert "--upstream" in refused.value.hint
    # Its requests go to the same address.
    check_provider({"CLAUDE_CODE_USE_GATEWAY": "1"})


def test_a_socket_is_refused() -> None:
    """Requests to the model go to it, whatever address is set."""
    check_provider({"ANTHROPIC_UNIX_SOCKET": ""})
    with pytest.raises(LedgerError, match=r"ANTHROPIC_UNIX_SOCKET is set: .* can't be redirected") as refused:
        check_provider({"ANTHROPIC_UNIX_SOCKET": "/run/claude.sock"})
    assert refused.value.hint == "unset it, and let ANTHROPIC_BASE_URL or --upstream name an address"


def test_the_users_own_file_is_not_a_projects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the home directory both have the same name."""
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "settings.json").write_text(json.dumps({"env": {ADDRESS: "http://mine"}}))
    monkeypatch.chdir(tmp_path)
    assert dict(effective_variables({}, {"HOME": str(tmp_path)}))[ADDRESS] == "http://mine"


CLAUDE = f"""#!{sys.executable}
import json, os, pathlib, sys, urllib.request
options = json.loads(pathlib.Path(sys.argv[sys.argv.index("--settings") + 1]).read_text())
for found in (json.loads(pathlib.Path.home().joinpath(".claude/settings.json").read_text()), options):
    os.environ.update(found["env"])
urllib.request.urlopen(os.environ["ANTHROPIC_BASE_URL"] + "/v1/models").read()
"""
"""A client that asks for its models, with the variables of its settings as Claude Code uses them."""


@pytest.fixture
def web_proxy() -> Iterator[tuple[str, list[str]]]:
    """A web proxy that answers everything itself: its address, and the addresses that it was asked for."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.send_header("content-length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()
    thread.join()
    server.server_close()


def run_claude(home: Path, env: dict[str, str], *options: str) -> subprocess.CompletedProcess[str]:
    """Run that client with Ledger in the folder ``work`` of a home, where the user's settings have these variables."""
    program, settings = home / "claude", home / ".claude" / "settings.json"
    program.write_text(CLAUDE)
    program.chmod(0o755)
    settings.parent.mkdir(exist_ok=True)
    settings.write_text(json.dumps({"env": env}))
    (home / "work").mkdir(exist_ok=True)
    near = ("http_proxy", "https_proxy", "no_proxy", "all_proxy", "anthropic_base_url")
    inherited = {name: value for name, value in os.environ.items() if name.lower() not in near}
    own = {**inherited, "HOME": str(home), "XDG_STATE_HOME": str(home / "state"), "EXECLEDGER": "", ADDRESS: ""}
    command = [sys.executable, "-m", "execledger", "run", *options, "--", str(program)]
    return subprocess.run(command, cwd=home / "work", env=own, capture_output=True, text=True, check=False)


def test_a_web_proxy_in_settings_is_between_ledger_and_the_model_only(
    tmp_path: Path, web_proxy: tuple[str, list[str]]
) -> None:
    """Requests for this machine would reach it in the clear, with the key in them."""
    address, asked = web_proxy
    done = run_claude(tmp_path, {"HTTP_PROXY": address, "NO_PROXY": "intranet", ADDRESS: "http://m.invalid"})
    assert (done.returncode, asked) == (0, ["http://m.invalid/v1/models"]), done.stderr


@pytest.mark.parametrize("in_settings", [True, False])
def test_a_standing_proxy_uses_the_web_proxy_of_the_users_settings(
    tmp_path: Path, web_proxy: tuple[str, list[str]], in_settings: bool
) -> None:
    """For the agent's own route, and says so; without one there, that of its environment."""
    address, asked = web_proxy
    settings = tmp_path / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps({"env": {"HTTP_PROXY": address} if in_settings else {"A": "1"}}))
    inherited = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    own = {**inherited, "HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state"), "EXECLEDGER": ""}
    own |= {"http_proxy": "http://127.0.0.1:9" if in_settings else address}
    command = [sys.executable, "-m", "execledger", "proxy", "--upstream", "claude=http://m.invalid"]
    with subprocess.Popen(command, env=own, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as proxy:
        assert proxy.stdout is not None and proxy.stderr is not None
        with closing(http.client.HTTPConnection("127.0.0.1", URL(proxy.stdout.readline().strip()).port)) as connection:
            connection.request("GET", "/claude/v1/models")
            answer = connection.getresponse().read()
        proxy.send_signal(signal.SIGTERM)
        said = proxy.stderr.read()
    assert (answer, asked) == (b"{}", ["http://m.invalid/v1/models"]), said
    assert (f"claude: the web proxy is that of {settings}" in said) == in_settings


def test_a_project_that_disables_ledger_does_not_undo_what_the_user_asked_for(
    tmp_path: Path, web_proxy: tuple[str, list[str]]
) -> None:
    """Its file is named, ``--upstream`` counts, and what its other files choose is refused as ever."""
    address, asked = web_proxy
    project = tmp_path / "work"
    (project / ".claude").mkdir(parents=True)
    (project / ".execledger.toml").write_text("enabled = false\n")
    done = run_claude(tmp_path, {}, "--upstream", address)
    assert (done.returncode, asked) == (0, ["/v1/models"]), done.stderr
    said = f"{project / '.execledger.toml'}: disables Ledger for claude, its requests are passed on unchanged"
    assert done.stderr.startswith(said)
    assert not list(tmp_path.glob("state/**/*.jsonl"))
    (project / ".claude" / "settings.json").write_text(json.dumps({"env": {ADDRESS: address}}))
    done = run_claude(tmp_path, {})
    assert (done.returncode, asked) == (2, ["/v1/models"]) and "with it your key" in done.stderr


@pytest.mark.parametrize("name", ["HTTPS_PROXY", "http_proxy", "ALL_PROXY"])
def test_a_project_chooses_no_web_proxy(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless it is the user's own, or the user names the same variable."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "settings.json").write_text(json.dumps({"env": {name: "http://evil\x1b[2J"}}))
    environment = {"HOME": str(tmp_path / "home")}
    with pytest.raises(LedgerError, match=f"sets {name} to http://evil") as refused:
        dict(effective_variables({}, environment))
    assert "\x1b" not in str(refused.value)
    for given, own in (({"env": {name: "http://mine"}}, {}), ({}, {name: "http://evil\x1b[2J"})):
        assert name in dict(effective_variables(given, {**environment, **own}))


def test_an_administrators_list_must_name_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes before the list that leads Claude Code to the proxy."""
    managed = tmp_path / "managed.json"
    monkeypatch.setattr(launch, "MANAGED", {"linux": str(managed), sys.platform: str(managed)})
    monkeypatch.chdir(tmp_path)
    for listed, refused in (("intranet", True), ("intranet,127.0.0.1", False), ("*", False)):
        managed.write_text(json.dumps({"env": {"NO_PROXY": listed}}))
        if refused:
            with pytest.raises(LedgerError, match="set NO_PROXY without"):
                dict(effective_variables({}, {"HOME": str(tmp_path)}))
        else:
            assert dict(effective_variables({}, {"HOME": str(tmp_path)}))["NO_PROXY"] == listed


def test_an_administrators_settings_may_be_in_several_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the folder beside the file follow it in the order of their names; hidden ones and others are none."""
    managed = tmp_path / "managed-settings.json"
    folder = tmp_path / "managed-settings.d"
    monkeypatch.setattr(launch, "MANAGED", {"linux": str(managed), sys.platform: str(managed)})
    monkeypatch.chdir(tmp_path)
    folder.mkdir()

    def found() -> dict[str, str]:
        return dict(effective_variables({}, {"HOME": str(tmp_path / "home")}))

    def write(path: Path, **env: str) -> None:
        path.write_text(json.dumps({"env": env}))

    write(managed, A="0", B="0", NO_PROXY="intranet")
    write(folder / "20.json", A="2", NO_PROXY="intranet,127.0.0.1")
    write(folder / "10.json", A="1", C="1")
    write(folder / ".hidden.json", A="3")
    write(folder / "30.json.off", A="4")
    (folder / "40.json").write_text("{")
    (folder / "50.json").mkdir()
    assert {name: found()[name] for name in "ABC"} == {"A": "2", "B": "0", "C": "1"}
    write(folder / "60.json", CLAUDE_CODE_USE_MANTLE="1")
    with pytest.raises(LedgerError, match="can't be redirected"):
        check_provider(found())
    write(folder / "70.json", **{ADDRESS: "http://theirs"})
    with pytest.raises(LedgerError, match="an administrator's settings send Claude Code to http://theirs"):
        found()
