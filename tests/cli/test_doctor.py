"""``execledger doctor`` as a user and a script call it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from execledger.cli.doctor import line
from execledger.doctor.findings import Finding


def doctor(home: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run it for a user of whom nothing is known."""
    kept = {name: os.environ[name] for name in ("PYTHONPATH", "VIRTUAL_ENV", "LANG") if name in os.environ}
    environment = {
        **kept,
        "PATH": "/usr/bin:/bin",
        "HOME": str(home),
        "XDG_STATE_HOME": str(home / "state"),
        **variables,
    }
    command = [sys.executable, "-m", "execledger", "doctor", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=False)


def test_a_sound_machine_is_told_so(tmp_path: Path) -> None:
    """As JSON for scripts, with status 0; standard error stays empty, and nothing is written."""
    called = doctor(tmp_path, "--json")
    told = json.loads(called.stdout)
    assert (called.returncode, told["ok"], called.stderr) == (0, True, ""), called.stdout
    assert {"python", "execledger", "extras", "proxy", "viewer", "Codex"} <= {one["check"] for one in told["findings"]}
    assert not (tmp_path / "state").exists()


def test_what_is_to_be_fixed_makes_the_status_1(tmp_path: Path) -> None:
    """One line says what, the next one what to do."""
    called = doctor(tmp_path, http_proxy="http://proxy.example:3128", EXECLEDGER="off")
    assert (called.returncode, called.stderr) == (1, "")
    assert "FIX   web proxy: http://proxy.example:3128 is asked for 127.0.0.1 too" in called.stdout
    assert "      -> export NO_PROXY=127.0.0.1,localhost" in called.stdout
    assert "note  EXECLEDGER: EXECLEDGER=off: every entry point passes through" in called.stdout
    assert called.stdout.endswith("\n1 to fix\n")


def test_a_wrong_option_is_a_mistake_of_the_caller(tmp_path: Path) -> None:
    """Status 2, before anything is looked at."""
    called = doctor(tmp_path, "--cure")
    assert (called.returncode, called.stdout) == (2, "")


def test_a_finding_is_a_line() -> None:
    """And a second one where something is to be done."""
    assert line(Finding("a", "ok", "fine")) == "ok    a: fine"
    assert line(Finding("a", "fix", "broken", "mend it")) == "FIX   a: broken\n      -> mend it"


def test_a_state_folder_that_leads_nowhere_makes_the_status_1(tmp_path: Path) -> None:
    """It is named, with what to do."""
    state = tmp_path / "place"
    state.mkdir()
    (state / "execledger").symlink_to("nowhere")
    called = doctor(tmp_path, XDG_STATE_HOME=str(state))
    assert called.returncode == 1
    assert f"FIX   state folder: {state / 'execledger'}: can't be read: found a symbolic link" in called.stdout
