"""``execledger run -- codex`` and ``execledger proxy``: keys and logins, options, statuses, signals, sudden death."""

from __future__ import annotations

import base64
import json
import re
import select
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import Raw

from execledger.extras import install_command
from execledger.testing.scripted_model import Usage
from tests.clients import test_mini_launch
from tests.clients.conftest import crossed
from tests.clients.stage import INVENTORY, NOT_RUN, RAN, cat, reference, results, shell, view
from tests.clients.test_mini_launch import Bell, Ended
from tests.support.agents.codex import CURRENT, MODEL, OLD, CodexHome, codex, codex_command, start_codex
from tests.support.agents.terminal import END, ENTER, Terminal
from tests.support.servers.responses import Gate, Request, ResponsesServer, answer, custom, refuse, say, turns

pytestmark = pytest.mark.clients

EXECLEDGER = (sys.executable, "-m", "execledger")
LAUNCHER = (*EXECLEDGER, "run", "--cadence", "every")
TASK = ("exec", "--json", "--skip-git-repo-check", "Mend it.")
USAGE = Usage(1000, 0, 0, 10)
"""What each turn is said to have cost, with Ledger or without."""
DONE = answer(say("All done."), usage=USAGE)
TWICE = [answer(cat(INVENTORY), usage=USAGE), answer(cat(INVENTORY), usage=USAGE), DONE]
"""A conversation in which one file is read two times."""
KEYS = {"CODEX_API_KEY": "sk-environment"}
OF_ONE_RUN = re.compile(
    r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|_[0-9a-f]{8}_|\b1\d{9,12}(\.\d+)?\b"
    r"|Chunk ID: [0-9a-f]{6}|Wall time: [0-9.]+ seconds"
)
PATIENCE = 60.0
"""Seconds after which something that must happen is given up."""

bell = test_mini_launch.bell


class Started(test_mini_launch.Started):
    """A process of the test's own group, in the environment of a user of codex."""

    def __init__(self, command: Sequence[str], home: CodexHome, extra: Mapping[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            command,
            cwd=home.repository,
            env=home.environment(extra),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def line(self) -> str:
        """The next line of its output."""
        assert self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE)
        assert ready, "nothing was said"
        return self.process.stdout.readline().rstrip("\n")

    def alive(self, *groups: int) -> list[str]:
        """What of its group, and of others, still runs; the dead that nobody has asked for don't count."""
        shown = subprocess.run(["ps", "-eo", "pgid=,stat=,args="], capture_output=True, text=True, check=True).stdout
        rows = [row.split(None, 2) for row in shown.splitlines()]
        return [row[2] for row in rows if int(row[0]) in (self.process.pid, *groups) and not row[1].startswith("Z")]


def run(prefix: Sequence[str], command: Sequence[str], home: CodexHome, **extra: str) -> Ended:
    """Run a command to its end, with something before it or nothing."""
    return Started([*prefix, *(["--"] if prefix else []), *command], home, extra).end()


def plain(binary: Path, url: str | None = None, **options: Any) -> list[str]:
    """The command line of codex; without an address, the server is the one in the user's settings."""
    return codex_command(binary, *TASK, url=url, **options)


def configure(home: CodexHome, url: str) -> None:
    """Write a provider into the user's settings, with a key and headers of its own."""
    table = f'[model_providers.mine]\nname = "mine"\nbase_url = "{url}"\nenv_key = "SCRIPTED_KEY"\n'
    table += 'http_headers = { "x-mine" = "kept" }\nenv_http_headers = { "x-named" = "SCRIPTED_KEY" }\n'
    home.settings.write_text(f'model_provider = "mine"\n{home.settings.read_text()}\n{table}')


def files(home: CodexHome) -> dict[str, bytes]:
    """The user's settings and login, and the whole of the repository that is not git's."""
    found = [*home.codex.glob("*.toml"), *home.codex.glob("auth.json"), *home.repository.rglob("*")]
    return {str(path): path.read_bytes() for path in found if path.is_file() and ".git" not in path.parts}


def unnamed(text: str) -> str:
    """A text without what is of one run alone: its ids and its times."""
    return OF_ONE_RUN.sub("#", text)


def sent(requests: Sequence[Request]) -> list[tuple[str, dict[str, str], list[tuple[str, str]]]]:
    """What was sent, header by header and field by field as it came; metadata has no order of its own."""
    own = ("content-length", "x-codex-turn-metadata", "client_metadata")
    return [
        (
            request.path,
            {name: unnamed(value) for name, value in request.headers.items() if name not in own},
            [
                (name, unnamed(bytes(raw).decode()))
                for name, raw in msgspec.json.decode(request.plain, type=dict[str, Raw]).items()
                if name not in own
            ],
        )
        for request in requests
    ]


def log_in(home: CodexHome, way: str, url: str) -> dict[str, str]:
    """Give the user a key or a login for the built-in provider; what the environment says of it."""
    # What is asked besides the model stays on this machine, and is not answered.
    addresses = f'openai_base_url = "{url}"\nchatgpt_base_url = "http://127.0.0.1:9/backend-api"\n'
    home.settings.write_text(f"{addresses}{home.settings.read_text()}")
    stored: dict[str, object] = {"OPENAI_API_KEY": "sk-stored"}
    if way == "login":
        claims = {
            "exp": 2**32,
            "email": "user@example.org",
            "https://api.openai.com/auth": {"chatgpt_plan_type": "pro"},
        }
        parts = [base64.urlsafe_b64encode(json.dumps(one).encode()).decode().rstrip("=") for one in ({}, claims)]
        token = ".".join([*parts, "c2lnbmVk"])
        tokens = {"id_token": token, "access_token": token, "refresh_token": "none", "account_id": "account"}
        today = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        stored = {"auth_mode": "chatgpt", "OPENAI_API_KEY": None, "tokens": tokens, "last_refresh": today}
    if way != "variable":
        (home.codex / "auth.json").write_text(json.dumps(stored))
    return KEYS if way == "variable" else {}


def without(home: CodexHome, module: str) -> str:
    """A folder for Python's path with which a module can't be imported."""
    folder = home.user.parent / "path"
    folder.mkdir(exist_ok=True)
    (folder / "sitecustomize.py").write_text(f"import sys\nsys.modules[{module!r}] = None\n")
    return str(folder)


# Where requests go, and what is left as it is


def closing(errors: str) -> list[str]:
    """What Ledger said, without what was saved and spent, which has tests of its own."""
    return [line for line in errors.splitlines() if re.match("Ledger: (?!References )", line)]


def test_the_users_own_provider_is_kept(binary: Path, home: CodexHome) -> None:
    """Key and headers arrive, the output is codex's own byte for byte, ours stands behind its errors; files stay."""
    with ResponsesServer(turns(*TWICE)) as server:
        configure(home, server.url)
        before = files(home)
        alone, under = (run(prefix, plain(binary), home) for prefix in ((), LAUNCHER))
    assert (under.status, server.faults) == (0, []), under.err
    assert (under.status, unnamed(under.out)) == (alone.status, unnamed(alone.out))
    kept = home.user / ".local" / "state" / "execledger"
    assert closing(under.err)[-2:] == [
        "Ledger: 2 commands, 0 reused before running, 1 after, 0 nudged",
        f"Ledger: journals are in {kept / 'journals'}; `execledger stats` adds them up",
    ]
    assert files(home) == before
    assert sorted(path.name for path in kept.iterdir()) == ["edits.sqlite3", "journals"]
    told = [(one.authorized, one.headers["x-mine"], one.headers["x-named"]) for one in server.requests]
    assert told == [(True, "kept", "dummy")] * 6
    assert [bool(view(one)) for one in server.requests] == [False] * 3 + [True] * 3
    shown = results(server.requests[-1])
    assert [reference(text) for text in shown] == ["", RAN]
    assert shown[0] == (home.repository / INVENTORY).read_text()


@crossed("way", ("variable",), ("stored",), ("login",))
def test_the_built_in_provider_keeps_its_key_or_login(way: str, binary: Path, home: CodexHome) -> None:
    """It talks to us at its own wish, over plain HTTP; where it packs its requests they are read."""
    with ResponsesServer(turns(*TWICE)) as server:
        variables = log_in(home, way, server.url)
        before = files(home)
        alone = run((), plain(binary), home, **variables)
        tried = server.websockets
        under = run(LAUNCHER, plain(binary), home, **variables)
    assert (under.status, under.status, server.faults) == (0, alone.status, []), under.err
    assert unnamed(under.out) == unnamed(alone.out)
    assert (tried > 0, server.websockets) == (True, tried)
    mine = [request for request in server.requests if request.kind == "turn"]
    assert [(one.authorized, one.headers.get("chatgpt-account-id")) for one in mine] == [
        (True, "account" if way == "login" else None)
    ] * 6
    packing = ["zstd" if way == "login" else None] * 3 + [None] * 3
    assert [one.headers.get("content-encoding") for one in mine] == packing
    assert [bool(view(one)) for one in mine] == [False] * 3 + [True] * 3
    assert files(home) == before


@crossed("named", (False,), (True,))
def test_an_upstream_can_be_named(named: bool, binary: Path, home: CodexHome) -> None:
    """In place of the built-in provider, with a key if there is one, or of the user's own, whose headers stay."""
    if named:
        configure(home, "http://127.0.0.1:9/v1")
    before = files(home)
    with ResponsesServer(turns(*TWICE)) as server:
        for extra in ({}, {"OPENAI_API_KEY": "sk-1"}):
            ended = run((*LAUNCHER, "--upstream", server.url), plain(binary), home, **extra)
            assert (ended.status, server.faults) == (0, []), ended.err
    told = [(one.authorized, one.headers.get("x-mine"), bool(view(one))) for one in server.requests]
    keyed = [named, named, named, True, True, True]
    assert told == [(key, "kept" if named else None, True) for key in keyed]
    assert files(home) == before


@crossed("way", ("variable",), ("login",))
def test_pass_through_changes_nothing(way: str, binary: Path, home: CodexHome) -> None:
    """Every header and every field is as it came, packed as it was, and nothing is said in the end."""
    with ResponsesServer(turns(*TWICE)) as server:
        variables = log_in(home, way, server.url)
        run((), plain(binary), home, **variables)
        half = len(server.requests)
        ended = run((*LAUNCHER, "--pass-through"), plain(binary), home, **variables)
    assert (ended.status, server.faults, "Ledger" in ended.err) == (0, [], False), ended.err
    assert sent(server.requests[half:]) == sent(server.requests[:half])
    packed = [request.raw != request.plain for request in server.requests if request.kind == "turn"]
    assert packed == [way == "login"] * 6


def test_off_is_off(either: Path, home: CodexHome) -> None:
    """Codex is started as it is, also where what Ledger needs is missing."""
    with ResponsesServer(turns(*TWICE)) as server:
        configure(home, server.url)
        alone = run((), plain(either), home)
        under = run(LAUNCHER, plain(either), home, EXECLEDGER="off", PYTHONPATH=without(home, "aiohttp"))
    assert (under.status, unnamed(under.out), server.faults) == (0, unnamed(alone.out), []), under.err
    assert sent(server.requests[3:]) == sent(server.requests[:3])
    assert "Ledger" not in under.err
    assert not (home.user / ".local").exists()


def test_a_proxy_of_the_network_is_between_us_and_the_model_only(either: Path, home: CodexHome) -> None:
    """Codex finds us on this machine, and we reach the model in the way that the user's environment says."""
    with ResponsesServer(turns(*TWICE)) as server:
        configure(home, "http://model.invalid/v1")
        network = server.url.removesuffix("/v1")
        ended = run(LAUNCHER, plain(either), home, HTTP_PROXY=network, http_proxy=network, no_proxy="example.org")
    assert (ended.status, server.faults) == (0, []), ended.err
    told = [(one.headers["host"], bool(view(one))) for one in server.requests]
    assert told == [("model.invalid", True)] * 3


def test_an_old_version_is_told_by_its_environment(home: CodexHome) -> None:
    """Before there was a setting for the address of the built-in provider, there was a variable."""
    program = home.user / "codex"
    program.write_text('#!/bin/sh\n[ "$1" = --version ] && exec echo codex-cli 0.114.0\necho "$OPENAI_BASE_URL" "$@"\n')
    program.chmod(0o755)
    ended = run(LAUNCHER, [str(program), "exec", "Mend it."], home, OPENAI_BASE_URL="http://127.0.0.1:9/v1")
    address, _, rest = ended.out.partition(" ")
    assert (ended.status, rest) == (0, "exec Mend it.\n")
    # The program that stands in for it asks no model.
    assert ended.err.startswith("Ledger saw no request of codex that lets a model use tools: ")
    stats = run((), [*EXECLEDGER, "stats", "--json"], home)
    assert [json.loads(stats.out)[name] for name in ("runs", "bypassed", "unended")] == [1, 1, 0]
    assert re.fullmatch(r"http://127\.0\.0\.1:\d{2,}/v1", address)


VERSIONS = ("0.100.0", OLD, "0.140.0", "0.152.0", CURRENT)
"""Versions that differ in which options they heed."""
EFFORT = ("-c", 'model_reasoning_effort="high"')


PLACES = {
    "before": (*EFFORT, *TASK),
    "after": (TASK[0], *EFFORT, *TASK[1:]),
    "both": (*EFFORT, TASK[0], *EFFORT, *TASK[1:]),
    "last": (*TASK, *EFFORT),
}
"""Where options can be."""
IN_SHORT = {(OLD, "before"), (OLD, "after"), (CURRENT, "both"), (CURRENT, "last")}
"""What is tried in the short form: each place, with one of the versions of all other tests."""


@pytest.mark.parametrize(
    ("version", "words"),
    [
        pytest.param(
            version, words, id=f"{version}-{place}", marks=[] if (version, place) in IN_SHORT else [pytest.mark.long]
        )
        for version in VERSIONS
        for place, words in PLACES.items()
    ],
)
def test_options_before_and_after_the_subcommand(version: str, words: tuple[str, ...], home: CodexHome) -> None:
    """Wherever the user's own options are, they count, and every request goes through Ledger."""
    with ResponsesServer(turns(*TWICE)) as server:
        configure(home, server.url)
        command = [str(codex(version)), "-m", MODEL, *words]
        ended = run(LAUNCHER, command, home)
    assert (ended.status, server.faults) == (0, []), ended.err
    assert [bool(view(one)) for one in server.requests] == [True] * 3
    assert {one.body["reasoning"]["effort"] for one in server.requests} == {"high"}


# What Ledger does, by its options


@pytest.mark.parametrize(
    ("switch", "seen", "kind", "said"),
    [
        (["--no-inform"], False, RAN, "2 commands, 0 reused before running, 1 after, 0 nudged"),
        (["--no-govern"], True, "", "2 commands, 0 reused before running, 0 after, 0 nudged"),
        (
            ["--shadow"],
            False,
            "",
            "2 commands, shadow: nothing changed; would have been 0 reused before running, 1 after, 0 nudged",
        ),
        (["--preset", "paper"], True, NOT_RUN, "2 commands, 1 reused before running, 0 after, 0 nudged"),
        (["--sealed"], True, NOT_RUN, "2 commands, 1 reused before running, 0 after, 0 nudged"),
    ],
    ids=lambda one: " ".join(one) if isinstance(one, list) else "",
)
def test_switches_say_what_is_done(
    switch: list[str], seen: bool, kind: str, said: str, current: Path, home: CodexHome
) -> None:
    """The view, the reference, and the sentence in the end are as was asked for; journals go where they are told to."""
    with ResponsesServer(turns(*TWICE)) as server:
        configure(home, server.url)
        ended = run((*LAUNCHER, *switch, "--journal", "../kept"), plain(current), home)
    assert (ended.status, server.faults) == (0, []), ended.err
    assert [bool(view(one)) for one in server.requests] == [seen] * 3
    assert [reference(text) for text in results(server.requests[-1])] == ["", kind]
    kept = home.repository / "../kept"
    assert closing(ended.err)[-2:] == [
        f"Ledger: {said}",
        f"Ledger: journals are in {kept}; `execledger stats {kept}` adds them up",
    ]
    assert len([*(home.repository.parent / "kept").glob("*.jsonl")]) == 1


@pytest.mark.parametrize(("switch", "offered"), [((), False), (("--direct-tools",), True)])
def test_tools_can_be_had_directly(switch: Sequence[str], offered: bool, current: Path, home: CodexHome) -> None:
    """A model that is asked to write scripts is offered its tools one by one, and no file stays behind."""
    script = custom("exec", 'text((await tools.exec_command({cmd: "pwd"})).output)')
    with ResponsesServer(turns(shell("pwd") if offered else script, DONE)) as server:
        configure(home, server.url)
        ended = run((*LAUNCHER, *switch), plain(current, model="gpt-6-sol"), home)
    assert (ended.status, server.faults) == (0, []), ended.err
    assert results(server.requests[-1])[-1].splitlines()[-1] == str(home.repository)
    tools = [tool.get("name") for tool in server.requests[0].body.get("tools", ())]
    assert ("exec_command" in tools) == offered
    assert not [*home.temporary.glob("execledger-*")]


# The end of a run


@crossed(
    "words",
    ("--version",),
    ("login status",),
    ("-c model=x login status",),
    ("exec --no-such-option",),
    ("features list",),
)
def test_what_asks_no_model_is_codexs_own(words: str, binary: Path, home: CodexHome) -> None:
    """Its words and its status are those that it has without us, also where its settings name no server."""
    command = [str(binary), *words.split()]
    if "exec" not in words:
        home.settings.write_text(f'model_provider = "none"\n{home.settings.read_text()}')
    alone, under = run((), command, home), run(LAUNCHER, command, home)
    assert under == alone


def test_a_failure_is_passed_on(either: Path, home: CodexHome) -> None:
    """What the model's server refuses, codex reports, and its status is ours."""
    with ResponsesServer(turns(refuse(400, '{"error": {"message": "no such model, says the server"}}'))) as server:
        configure(home, server.url)
        alone, under = (run(prefix, plain(either), home) for prefix in ((), LAUNCHER))
    assert (under.status, unnamed(under.out)) == (alone.status, unnamed(alone.out))
    assert (under.status, "no such model, says the server" in under.out) == (1, True)


@pytest.mark.usefixtures("heeded")
@crossed("number", (signal.SIGINT,), (signal.SIGTERM,), (signal.SIGHUP,))
def test_a_signal_has_the_effect_that_it_has_without_ledger(
    number: signal.Signals, binary: Path, home: CodexHome
) -> None:
    """The same exit status, the same output, and no process is left; ours is said in the end."""
    ends = []
    for prefix in ((), (*LAUNCHER, "--")):
        gate = Gate()
        with ResponsesServer(turns(cat("README.md"), answer(say("Never."), gate=gate))) as server:
            started = Started([*prefix, *plain(binary, server.url)], home)
            assert gate.reached.wait(PATIENCE)
            started.process.send_signal(number)
            ended = started.end()
            gate.open()
        ends.append((ended.status, unnamed(ended.out), started.left()))
    assert ends[1] == ends[0]
    assert (ends[1][0] != 0, ends[1][2]) == (True, False)
    assert "Ledger: 1 command, 0 reused before running, 0 after, 0 nudged" in ended.err


def test_the_death_of_codex_is_ours(current: Path, home: CodexHome) -> None:
    """Killed by a signal that nobody can catch, it is seen to have been, through us."""
    with ResponsesServer(turns(cat("README.md"), shell("kill -9 $PPID"), DONE)) as server:
        configure(home, server.url)
        started = Started([*LAUNCHER, "--", *plain(current)], home)
        ended = started.end()
    assert (ended.status, started.left()) == (-signal.SIGKILL, False)
    assert closing(ended.err)[-2] == "Ledger: 1 command, 0 reused before running, 0 after, 0 nudged"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells a process of its parent's death")
def test_after_our_death_nothing_is_left(either: Path, home: CodexHome, bell: Bell) -> None:
    """Killed without a chance to act while a command runs: codex ends, too, and so does its command."""
    with ResponsesServer(turns(shell(f"echo $$ > {bell.path}; exec sleep 600"))) as server:
        started = Started([*LAUNCHER, "--", *plain(either, server.url)], home)
        held = int(bell.wait())
        before = started.alive(held)
        started.process.kill()
        # Its output ends when the last process that has it ends.
        assert started.end().status == -signal.SIGKILL
    until = time.monotonic() + PATIENCE
    while started.alive(held) and time.monotonic() < until:
        time.sleep(0.01)
    assert (len(before) >= 3, started.alive(held)) == (True, [])


def test_what_cannot_be_kept_stops_nobody(either: Path, home: CodexHome) -> None:
    """Where there is no place for edits and journals, the run goes on, and the end says so."""
    (home.user / "state").write_text("in the way")
    with ResponsesServer(turns(*TWICE)) as server:
        configure(home, server.url)
        ended = run(LAUNCHER, plain(either), home, XDG_STATE_HOME=str(home.user / "state"))
    assert (ended.status, server.faults) == (0, []), ended.err
    assert [reference(text) for text in results(server.requests[-1])] == ["", RAN]
    assert f"Ledger can't keep its edits in {home.user}/state/execledger/edits.sqlite3" in ended.err


# Starts that fail


@pytest.mark.parametrize("module", ["aiohttp", "zstandard"])
@pytest.mark.parametrize("words", [("run", "--", "codex"), ("proxy", "--upstream", "http://127.0.0.1:9/v1")])
def test_what_is_missing_is_named(words: tuple[str, ...], module: str, current: Path, home: CodexHome) -> None:
    """In one line, with the line that brings it."""
    command = [str(current) if word == "codex" else word for word in (*EXECLEDGER, *words)]
    ended = run((), command, home, PYTHONPATH=without(home, module))
    extra = "codex" if "codex" in words else "proxy"
    hint = f"hint: {install_command(extra)}\n"
    assert ended == Ended(2, "", f"execledger: {module}: not installed, it comes with the extra `{extra}`\n{hint}")


def test_mistakes_are_named_before_anything_starts(current: Path, home: CodexHome) -> None:
    """An address that is none, an option of another agent, an agent that is not there, a provider that can't be had."""
    missing = home.user / "codex"
    cases = [
        (["--upstream", "model.example", "--", str(current)], "'model.example' can't be sent on to"),
        (["--placement", "inside", "--", str(current)], "--placement: found with codex"),
        (["--", str(missing)], f"{missing}: found no program there, expected one that can be started"),
        (["--", str(current), "--oss", "exec", "Mend it."], "codex --oss: found a local server"),
        (["--", str(current), "-c", "model_provider=none"], f"{home.settings}: found no base_url to change"),
    ]
    for words, said in cases:
        ended = run((), [*LAUNCHER, *words], home)
        assert (ended.status, ended.out, ended.err.startswith(f"execledger: {said}")) == (2, "", True), ended.err


# On a terminal


LISTENER = """#!{python}
import os, re, signal, sys, urllib.request
heard = {{signal.SIGINT, signal.SIGUSR1}}
signal.pthread_sigmask(signal.SIG_BLOCK, heard)
# The proxy answers when the launcher is ready for signals. It is held until the keyboard's has come here.
urllib.request.urlopen(re.search("http://127[^/]*", " ".join(sys.argv))[0] + "/healthz").read()
os.kill(os.getppid(), signal.SIGSTOP)
print("ready-", flush=True)
came = [signal.sigwait(heard)]
# Of two signals that wait for it, it hands on the lower one first, if at all; the other shows that it is through.
os.kill(os.getppid(), signal.SIGUSR1)
os.kill(os.getppid(), signal.SIGCONT)
while came[-1] != signal.SIGUSR1:
    came.append(signal.sigwait(heard))
print("came:", *(one.name for one in came), "and-no-more", flush=True)
"""
"""A program that says which signals reach it."""
INTERRUPT = "\x03"


def test_an_interruption_from_the_keyboard_comes_once(home: CodexHome) -> None:
    """The terminal tells the agent itself; told by us as well, it would take that for a second wish."""
    configure(home, "http://127.0.0.1:9/v1")
    program = home.user / "codex"
    program.write_text(LISTENER.format(python=sys.executable))
    program.chmod(0o755)
    with Terminal([*LAUNCHER, "--", str(program)], home.repository, home.environment()) as screen:
        screen.wait_for("ready-")
        screen.send(INTERRUPT)
        screen.wait_for("and-no-more")
        status = screen.wait()
    assert (status, screen.text.partition("came:")[2].partition("Ledger")[0]) == (0, "SIGINTSIGUSR1and-no-more")


def test_an_interrupted_run_ends_as_without_ledger(either: Path, home: CodexHome) -> None:
    """Typed while the model thinks."""
    statuses = []
    for prefix in ((), (*LAUNCHER, "--")):
        gate = Gate()
        with ResponsesServer(turns(answer(say("Never."), gate=gate))) as server:
            with Terminal([*prefix, *plain(either, server.url)], home.repository, home.environment()) as screen:
                assert gate.reached.wait(PATIENCE)
                screen.send(INTERRUPT)
                statuses.append(screen.wait())
            gate.open()
    assert statuses[1] == statuses[0] != 0


def test_the_terminal_is_codexs_own_and_then_the_users(binary: Path, home: CodexHome) -> None:
    """Prompts are answered, the end is a clean one with what Ledger did, and what is typed then reaches the shell."""
    shell_script = ["/bin/sh", "-c", '"$@"; echo "status-$?-"; read line; echo "typed-$line-"', "sh", *LAUNCHER, "--"]
    script = turns(cat(INVENTORY), cat(INVENTORY), say("Answer-one."), say("Answer-two."))
    with ResponsesServer(script) as server:
        configure(home, server.url)
        with start_codex(binary, "Start.", url=None, home=home, prefix=shell_script) as screen:
            screen.wait_for("Answer-one.")
            screen.paste("Go on.")
            screen.wait_for("Go on.")
            screen.send(ENTER)
            screen.wait_for("Answer-two.")
            screen.send(END)
            screen.wait_for("2 commands, 0 reused before running, 1 after, 0 nudged")
            screen.wait_for("status-0-")
            screen.send(f"word{ENTER}")
            screen.wait_for("typed-word-")
            status = screen.wait()
    assert (status, server.faults) == (0, [])
    assert [bool(view(one)) for one in server.requests if one.kind == "turn"] == [True] * 4


# The proxy by itself


def healthz(url: str) -> dict[str, Any]:
    """What a proxy says of itself."""
    with urllib.request.urlopen(url.removesuffix("/v1") + "/healthz", timeout=PATIENCE) as told:
        found: dict[str, Any] = json.load(told)
        return found


@pytest.mark.usefixtures("heeded")
# One that is off is ended by SIGTERM, below.
@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.long)])
def test_a_standing_proxy_serves_many(number: signal.Signals, current: Path, old: Path, home: CodexHome) -> None:
    """It says where it is, several runs go through it at once, and a signal ends it with what came of them."""
    gate = Gate()
    held = answer(cat(INVENTORY), gate=gate)
    with ResponsesServer(turns(held, cat(INVENTORY), DONE)) as server:
        proxy = Started([*EXECLEDGER, "proxy", "--upstream", server.url], home)
        url = proxy.line()
        assert (healthz(url)["status"], healthz(url)["sessions"]) == ("ok", 0)
        runs = [Started(codex_command(one, *TASK, url=url), home) for one in (current, old)]
        # Neither is answered before both have asked.
        server.wait_for(2)
        gate.open()
        assert [one.end().status for one in runs] == [0, 0]
        told = healthz(url)
        proxy.process.send_signal(number)
        ended = proxy.end()
    counted = {"sessions": 2, "requests": 6, "faults": 0, "paused": False, "routes": ["/v1"]}
    assert {**told, "version": ""} == {"status": "ok", "version": "", **counted}
    assert (ended.status, ended.out, proxy.left(), server.faults) == (0, "", False, [])
    assert (
        ended.err.splitlines()[0] == "Ledger: 2 runs, 4 commands, 0 reused before running, 2 after, 0 nudged; 0 faults"
    )


def test_a_standing_proxy_that_is_off_passes_everything_on(current: Path, home: CodexHome) -> None:
    """It goes on to serve, and there is nothing to say of it."""
    with ResponsesServer(turns(*TWICE)) as server:
        proxy = Started([*EXECLEDGER, "proxy", "--upstream", server.url], home, {"EXECLEDGER": "off"})
        ended = run((), plain(current, proxy.line()), home)
        proxy.process.terminate()
        assert (ended.status, proxy.end(), server.faults) == (0, Ended(0, "", ""), []), ended.err
    assert [reference(text) for text in results(server.requests[-1])] == ["", ""]
    assert not any(view(one) for one in server.requests)


def test_a_port_that_is_taken_is_named(home: CodexHome) -> None:
    """And one that is free is taken."""
    command = [*EXECLEDGER, "proxy", "--upstream", "http://127.0.0.1:9/v1", "--port"]
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        ended = run((), [*command, port], home)
    assert ended == Ended(2, "", f"execledger: port {port} can't be listened on: Address already in use\n")
    proxy = Started([*command, port], home)
    assert proxy.line() == f"http://127.0.0.1:{port}/v1"
    proxy.process.terminate()
    assert proxy.end() == Ended(0, "", "")
