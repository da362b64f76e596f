"""``execledger view``, and ``execledger run --view``."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest
from msgspec.structs import replace

from execledger.extras import install_command
from execledger.viewer.server import can_open
from execledger.viewer.sidecar import MAX_SECONDS, QUIET_SECONDS, UNSEEN_SECONDS, stays
from tests.cli.conftest import Execledger
from tests.viewer.stage import DEMO, PATIENCE, Page, eventually, journal_bytes, shown, told, viewers_ended

VIEW = (sys.executable, "-m", "execledger", "view", "--no-browser")


def test_runs_are_written_into_one_file(execledger: Execledger, tmp_path: Path) -> None:
    """What was done is said on standard error, and so is what could not be read."""
    (tmp_path / "bad.json").write_text("{}")
    target = tmp_path / "runs.html"
    called = execledger("view", DEMO, tmp_path / "bad.json", "--export", target)
    assert (called.status, called.out, called.err.splitlines()[-1]) == (0, "", f"{target}: 1 run")
    assert called.err.startswith(f"execledger: not read: {tmp_path / 'bad.json'}: found an empty object")
    assert target.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_another_policy_is_exported_on_request(execledger: Execledger, tmp_path: Path) -> None:
    """The published rules decide otherwise."""
    texts = []
    for options in ((), ("--preset", "paper")):
        assert execledger("view", DEMO, "--export", tmp_path / "runs.html", *options).status == 0
        texts.append((tmp_path / "runs.html").read_text(encoding="utf-8"))
    assert ['"preset":"paper"' in text for text in texts] == [False, True]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("missing",), "missing: found nothing there, expected recorded runs\nhint: give files, folders or archives"),
        ((str(DEMO), "--preset", "strict"), "Invalid value for '--preset'"),
        ((str(DEMO), "--export", "no/such/folder.html"), "no/such/folder.html: can't be written: No such file"),
    ],
)
def test_mistakes_are_named(execledger: Execledger, tmp_path: Path, arguments: tuple[str, ...], words: str) -> None:
    """In a sentence, with exit status 2."""
    called = execledger("view", *arguments)
    assert (called.status, called.out, words in called.err) == (2, "", True)


def test_without_paths_it_is_the_journals_folder(
    execledger: Execledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which may not be there yet: then there is nothing to write into a file."""
    monkeypatch.setenv("EXECLEDGER_JOURNAL", str(tmp_path / "journals"))
    assert f"{tmp_path / 'journals'}: found nothing there" in execledger("view", "--export", tmp_path / "x.html").err
    (tmp_path / "journals").mkdir()
    (tmp_path / "journals" / "one.ledger.jsonl").write_bytes(journal_bytes(told([shown("ls")])))
    assert execledger("view", "--export", tmp_path / "runs.html").status == 0


def test_journals_that_are_still_to_come_can_be_waited_for(tmp_path: Path) -> None:
    """Before the first run the folder is not there, and the page lists what is written to it later."""
    folder = tmp_path / "journals"
    environment = {**os.environ, "EXECLEDGER_JOURNAL": str(folder)}
    with subprocess.Popen(VIEW, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        page = Page(urlsplit(process.stdout.readline().strip()).port or 0)
        assert page.get("/api/runs")["total"] == 0
        (folder / "one.ledger.jsonl").write_bytes(journal_bytes(told([shown("ls")])))
        eventually(lambda: page.get("/api/runs")["total"] == 1)
        process.terminate()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_until_it_is_told_to_stop(number: signal.Signals) -> None:
    """The address is all that it prints, and its end is quiet."""
    with subprocess.Popen([*VIEW, str(DEMO)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        with urlopen(address, timeout=PATIENCE) as answer:
            assert answer.status == 200
        process.send_signal(number)
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out, err) == (0, "", "")


def test_without_the_server_the_extra_is_named() -> None:
    """Where aiohttp is not installed."""
    hidden = "import sys; sys.modules['aiohttp'] = None; from execledger.cli.main import main; sys.exit(main())"
    command = [sys.executable, "-c", hidden, "view", str(DEMO)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr.splitlines()[-1]) == (
        2,
        "",
        f"hint: {install_command('view')}",
    )


BESIDE = """
import sys
from pathlib import Path
from execledger.viewer.sidecar import start
print(start(Path(sys.argv[1]), browser=False), flush=True)
sys.stdin.readline()
"""


def test_a_viewer_beside_an_agent_outlives_it(tmp_path: Path) -> None:
    """It serves the runs that begin from now on, keeps no pipe of the agent's open, and does not end with it."""
    folder = tmp_path / "journals"
    folder.mkdir()
    # An old journal, and one of a run that began before this and goes on.
    for name, began in (("old", 1000.0), ("other", 2000.0), ("new", time.time() + 60)):
        first, *rest = told([shown("pwd")])
        (folder / f"{name}.ledger.jsonl").write_bytes(journal_bytes([replace(first, at=began), *rest]))
    os.utime(folder / "old.ledger.jsonl", (1000, 1000))
    for name in ("other", "new"):
        os.utime(folder / f"{name}.ledger.jsonl", (time.time() + 60,) * 2)
    command = [sys.executable, "-c", BESIDE, str(folder)]
    with (
        viewers_ended(folder),
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as agent,
    ):
        assert agent.stdout is not None
        address = urlsplit(agent.stdout.readline().strip())
        assert address.fragment == "/coming"
        page = Page(address.port or 0)
        names = {Path(run["name"]).name for run in page.listed()["runs"]}
        # The end of the agent's output is seen at once, though the viewer is still there.
        agent.communicate("\n", timeout=PATIENCE)
        assert page.get("/api/runs")["total"] == 1
    assert names == {"new.ledger.jsonl"}


def test_a_viewer_stays_while_somebody_looks() -> None:
    """A while if nobody ever came, longer between two questions of an open page, and never for ever."""
    assert [stays(None, since) for since in (0, UNSEEN_SECONDS)] == [True, False]
    assert [stays(quiet, MAX_SECONDS - 1) for quiet in (0, QUIET_SECONDS - 1, QUIET_SECONDS)] == [True, True, False]
    assert not stays(0, MAX_SECONDS)


def test_an_agent_is_started_whether_or_not_it_can_be_shown(tmp_path: Path) -> None:
    """What goes wrong with the viewer is said, and no more."""
    agent = tmp_path / "codex"
    agent.write_text("#!/bin/sh\nexit 7\n")
    agent.chmod(0o755)
    (tmp_path / "file").touch()
    journals = tmp_path / "file" / "journals"
    command = [sys.executable, "-m", "execledger", "run", "--view", "--no-browser", "--journal", str(journals)]
    done = subprocess.run([*command, "--", str(agent), "--version"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.splitlines()[0].startswith("Ledger: this run is not shown: ")) == (7, True)


def test_a_run_without_journals_can_not_be_viewed(
    execledger: Execledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That is said before the agent is started."""
    agent = tmp_path / "codex"
    agent.write_text("#!/bin/sh\nexit 7\n")
    agent.chmod(0o755)
    called = execledger("run", "--view", "--journal", "off", "--", agent)
    assert (called.status, called.err.splitlines()[0]) == (
        2,
        "execledger: --view: found with --journal off, expected journals to view",
    )


@pytest.mark.parametrize(
    ("environment", "platform", "seen"),
    [
        ({}, "linux", False),
        ({"DISPLAY": ":0"}, "linux", True),
        ({"WAYLAND_DISPLAY": "wayland-0"}, "linux", True),
        ({"BROWSER": "firefox"}, "linux", True),
        ({"DISPLAY": ""}, "linux", False),
        ({}, "darwin", True),
    ],
)
def test_a_browser_is_opened_where_it_can_be_seen(environment: dict[str, str], platform: str, seen: bool) -> None:
    """On a machine without a screen nothing is started."""
    assert can_open(environment, platform) == seen
