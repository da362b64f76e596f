"""``execledger view``, and ``execledger run --view``."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest

from execledger.viewer.browser import can_open
from tests.cli.conftest import Execledger
from tests.viewer.stage import DEMO, PATIENCE, journal_bytes, shown, told

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
        (("missing",), "missing: found nothing there\nhint: `execledger run -- mini ...` writes a journal"),
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
    """Which may not be there yet."""
    monkeypatch.setenv("EXECLEDGER_JOURNAL", str(tmp_path / "journals"))
    assert f"{tmp_path / 'journals'}: found nothing there" in execledger("view").err
    (tmp_path / "journals").mkdir()
    (tmp_path / "journals" / "one.ledger.jsonl").write_bytes(journal_bytes(told([shown("ls")])))
    assert execledger("view", "--export", tmp_path / "runs.html").status == 0


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
        "hint: pip install 'execledger[view]'",
    )


BESIDE = """
import sys
from pathlib import Path
from execledger.viewer.beside import start
print(start(Path(sys.argv[1]), browser=False), flush=True)
sys.stdin.readline()
"""


def test_a_viewer_beside_an_agent_ends_with_it(tmp_path: Path) -> None:
    """It serves the journals that are written from now on, keeps no pipe of the agent's open, and needs no signal."""
    old = tmp_path / "journals" / "old.ledger.jsonl"
    old.parent.mkdir()
    old.write_bytes(journal_bytes(told([shown("ls")])))
    os.utime(old, (1000, 1000))
    command = [sys.executable, "-c", BESIDE, str(old.parent)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as agent:
        assert agent.stdout is not None
        address = agent.stdout.readline().strip()
        (old.parent / "new.ledger.jsonl").write_bytes(journal_bytes(told([shown("pwd")])))
        with urlopen(f"{address}api/runs", timeout=PATIENCE) as answer:
            listing = answer.read()
        # The end of the agent's output is seen at once, though the viewer is still there for a moment.
        agent.communicate("\n", timeout=PATIENCE)
    assert (b"new.ledger.jsonl" in listing, b"old.ledger.jsonl" in listing) == (True, False)
    with pytest.raises(OSError):
        while True:
            urlopen(address, timeout=PATIENCE).close()


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
