"""The container engine of the tests: what it runs, what it notes, and that it leaves nothing behind."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from tests.support.agents.npm import NotInstalled
from tests.support.containers import engine as engine_module
from tests.support.containers.engine import Engine, Executed, engine


def test_a_command_has_its_own_containers_and_notes_its_calls(containers: Engine, tmp_path: Path) -> None:
    """Two ``docker`` commands of one engine: each knows the containers that were started by it, and no others."""
    image = containers.image("noted", {"testbed/a b": "one\n", "usr/local/bin/say": "#!/bin/sh\ncat '/testbed/a b'\n"})
    for name in ("mine", "theirs"):
        (tmp_path / name).mkdir()
    mine, theirs = (containers.docker(tmp_path / name) for name in ("mine", "theirs"))
    for docker in (mine, theirs):
        os.spawnv(os.P_WAIT, docker.executable, ["docker", "run", "-d", "--rm", image, "sleep", "10m"])
    (container,) = mine.containers()
    assert theirs.containers() != [container]
    words = ["docker", "exec", "-w", "/", "-e", "A=1", container, "sh", "-c", 'test "$(say)" = one\n']
    assert os.spawnv(os.P_WAIT, mine.executable, words) == 0
    assert (mine.executed(), theirs.executed()) == ([Executed(container, words[-1])], [])
    assert containers.run(container, "say") == "one\n"
    assert containers.holds(container, "[ -e /testbed ]") and not containers.holds(container, "[ -e /absent ]")
    theirs.remove()
    assert theirs.gone() and mine.containers() == [container]
    mine.remove()
    assert mine.gone()


def test_programs_of_the_image(containers: Engine) -> None:
    """It has git, and a Python that runs tests."""
    image = containers.image("programs", {"a/test_a.py": "import unittest\n"}, "cd /a && git init -q && git add .")
    words = ["run", "--rm", "-w", "/a", image, "bash", "-c", "git status --short; python3 -m unittest -q test_a 2>&1"]
    assert "A  test_a.py" in containers.podman(*words, check=False)
    assert "Ran 0 tests" in containers.podman(*words, check=False)


def test_the_docker_api_is_served(containers: Engine) -> None:
    """A client of Docker's API is answered at the socket, for as long as it is open."""
    with containers.service() as address, socket.socket(socket.AF_UNIX) as client:
        client.connect(address.removeprefix("unix://"))
        client.sendall(b"GET /_ping HTTP/1.0\r\n\r\n")
        assert client.recv(100).startswith(b"HTTP/1.0 200 OK")


def test_an_engine_leaves_nothing_and_touches_no_other(containers: Engine, tmp_path: Path) -> None:
    """Its container runs when it is left: container, processes, mounts and folder are gone; another's are not."""
    docker = containers.docker(tmp_path)
    os.spawnv(os.P_WAIT, docker.executable, ["docker", "run", "-d", containers.base("busybox"), "sleep", "10m"])
    with engine() as other:
        other.podman("run", "-d", other.base("gnu"), "sleep", "10m")
        assert other.processes() and not set(other.processes()) & set(containers.processes())
        assert str(other.folder) in Path("/proc/mounts").read_text()
    assert (other.processes(), other.folder.exists()) == ([], False)
    assert str(other.folder) not in Path("/proc/mounts").read_text()
    (container,) = docker.containers()
    assert containers.run(container, "echo runs") == "runs\n"
    docker.remove()


def test_a_missing_program_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """And how to get it."""
    monkeypatch.setattr(engine_module, "SEARCHED", str(tmp_path))
    with pytest.raises(NotInstalled, match=r"podman is not installed|on Linux, as root"), engine():
        pass
