"""The audit finds what was planted for it, and is not led astray by what it can't do or read."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.audit import (
    PLANTED,
    Answer,
    Dependency,
    NotDone,
    Vulnerability,
    ask_advisories,
    find_secrets,
    judged,
    main,
    tree_files,
)

ROOT = Path(__file__).resolve().parents[2]
# Put together here, so that this file holds none.
KEYS = {
    "GitHub Token": "ghp" + "_" + "a1B2" * 9,
    "AWS Access Key": "AKI" + "A" + "Q1W2E3R4T5Y6U7I8",
    "Private Key": "-----BEGIN RSA " + "PRIVATE KEY-----",
    "Slack Token": "xoxb" + "-123456789012-123456789012-abcdefABCDEF",
    "Basic Auth Credentials": "https://me:" + "swordfish@example.com",
}


def planted(tree: Path, folder: str = "src") -> None:
    for number, key in enumerate(KEYS.values()):
        path = tree / folder / f"file{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# a file\nKEY = '{key}'\n")


def test_a_planted_key_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of each kind, with its file and line; the status says so."""
    planted(tmp_path)
    assert set(find_secrets(tmp_path)) == {(f"src/file{number}.py", 2, kind) for number, kind in enumerate(KEYS)}
    assert main(["--no-dependencies", str(tmp_path)]) == 1
    assert "src/file0.py:2: GitHub Token\n" in capsys.readouterr().out


def test_what_others_made_is_left_out(tmp_path: Path) -> None:
    """Where the tree is no checkout; odd files do no harm."""
    for folder in (".venv/lib", "node_modules/x", "build", "artifacts", "x.egg-info", "a/__pycache__"):
        planted(tmp_path, folder)
    (tmp_path / "binary").write_bytes(b"\0" + KEYS["GitHub Token"].encode())
    (tmp_path / "large").write_text(KEYS["GitHub Token"] + "\n" * 2_000_000)
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    (tmp_path / "no text").write_bytes(b"\xff\xfe caf\xe9\n")
    os.mkfifo(tmp_path / "pipe")
    assert list(find_secrets(tmp_path)) == []


def test_a_checkout_tells_its_own_files(tmp_path: Path) -> None:
    """Those that are ignored are fetched or made; those that are not added yet count."""
    git = ("git", "-C", str(tmp_path), "-c", "init.defaultBranch=main")
    try:
        subprocess.run([*git, "init", "-q"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("there is no git here")
    planted(tmp_path, "own")
    planted(tmp_path, "fetched")
    (tmp_path / ".gitignore").write_text("fetched\n")
    assert {path.relative_to(tmp_path).parts[0] for path in tree_files(tmp_path)} == {".gitignore", "own"}


def test_this_tree_holds_no_secret_but_the_planted() -> None:
    """And no file is on the list of planted ones that is not there."""
    assert list(find_secrets(ROOT)) == []
    assert [name for name in PLANTED if not (ROOT / name).is_file()] == []


def answering(text: str, status: int = 0) -> list[str]:
    return [sys.executable, "-c", f"import sys; print({text!r}); sys.exit({status})"]


def test_a_known_vulnerability_is_told() -> None:
    """As the tool answers it, whatever its exit status."""
    answer = '{"dependencies": [{"name": "a", "version": "1", "vulns": [{"id": "X-1", "fix_versions": ["2"]}]}]}'
    (package,) = ask_advisories(answering(answer, status=1)).dependencies
    assert (package.name, [known.id for known in package.vulns]) == ("a", ["X-1"])


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (answering("no json"), "no answer from the advisory service: status 0"),
        ([sys.executable, "-c", "raise ConnectionError('no route')"], "ConnectionError: no route"),
        (["nothing-of-this-name"], "it can't be started: No such file or directory"),
        ([sys.executable, "-c", "import time; time.sleep(600)"], "no answer within 1 seconds"),
    ],
)
def test_no_service_is_no_failure(command: list[str], words: str) -> None:
    """The reason is said."""
    with pytest.raises(NotDone, match=words):
        ask_advisories(command, seconds=1.0 if "time.sleep" in command[-1] else 60.0)


@pytest.mark.parametrize(("fixes", "status"), [(("2",), 1), ((), 0)])
def test_only_what_an_update_mends_fails(
    capsys: pytest.CaptureFixture[str], fixes: tuple[str, ...], status: int
) -> None:
    """A vulnerability without a fix is printed, and is no failure."""
    assert judged(Answer((Dependency("a", "1", (Vulnerability("X-1", fixes),)),))) == status
    assert capsys.readouterr().out.startswith("a 1: X-1, ")
