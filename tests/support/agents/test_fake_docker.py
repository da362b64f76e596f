"""The stand-in for docker, called as mini-swe-agent calls it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support.agents.fake_docker import Executed, FakeDocker


@pytest.fixture
def docker(tmp_path: Path) -> FakeDocker:
    """The stand-in, with one running container called ``box``."""
    docker = FakeDocker.install(tmp_path / "docker")
    (docker.image / "testbed").mkdir()
    (docker.image / "testbed" / "a.txt").write_text("one\n")
    assert call(docker, "run", "-d", "--name", "box", "-w", "/testbed", "--rm", "img:1", "sleep", "2h") == (0, "box\n")
    return docker


def call(docker: FakeDocker, *words: str) -> tuple[int, str]:
    """Exit status and all output of a call."""
    done = subprocess.run([docker.executable, *words], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def run(docker: FakeDocker, command: str, *options: str, cwd: str = "/testbed") -> tuple[int, str]:
    return call(docker, "exec", "-w", cwd, *options, "box", "bash", "-c", command)


def test_commands_run_in_the_container(docker: FakeDocker) -> None:
    """The working folder is the container's, also where a command names it, and it has its own name in the output."""
    command = "echo two >> a.txt; cd /testbed && cat ./a.txt && pwd; exit 3"
    assert run(docker, command) == (3, "one\ntwo\n/testbed\n")
    assert (docker.containers / "box/root/testbed/a.txt").read_text() == "one\ntwo\n"
    assert (docker.image / "testbed/a.txt").read_text() == "one\n"


def test_commands_are_logged_as_given(docker: FakeDocker) -> None:
    """Each command is in the log with its image, container and folder."""
    run(docker, "true")
    run(docker, "cat /testbed/a.txt", cwd="/")
    expected = [Executed("img:1", "box", "/testbed", "true"), Executed("img:1", "box", "/", "cat /testbed/a.txt")]
    assert (docker.executed(), docker.executed("img:2")) == (expected, [])


def test_variables_are_the_given_ones(docker: FakeDocker, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command sees what it is given and nothing of the caller's, and a path in it is the container's."""
    monkeypatch.setenv("OUTSIDE", "seen")
    (docker.containers / "box/root/rc").write_text("echo from rc\n")
    options = ("-e", "INSIDE=a=b", "-e", "BASH_ENV=/rc")
    assert run(docker, 'echo "$INSIDE,$OUTSIDE"', *options) == (0, "from rc\na=b,\n")


def test_a_path_that_needs_quotes_is_refused(tmp_path: Path) -> None:
    """The agent puts the path into shell commands without quotes, so such a folder would fail later, and silently."""
    with pytest.raises(ValueError, match="has spaces"):
        FakeDocker.install(tmp_path / "has spaces")


def test_what_does_not_run_says_so(docker: FakeDocker) -> None:
    """A missing folder, a stopped container and an unknown verb fail as they do with docker, and log nothing."""
    assert run(docker, "true", cwd="/nowhere")[0] == 126
    assert call(docker, "stop", "box") == (0, "")
    assert run(docker, "true") == (1, "Error response from daemon: container box is not running\n")
    assert call(docker, "build", ".")[0] == 2
    assert docker.executed() == []
