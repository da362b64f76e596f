"""A stand-in for the docker command: a container is a folder on this machine, and commands run in it.

It knows what mini-swe-agent calls: ``run -d``, ``exec``, ``stop``, ``rm`` and ``version``; every image is there.
The working folder is mapped: ``/testbed`` in a command is the container's own, and is ``/testbed`` again in its output.
Any other absolute path is this machine's, so it isolates nothing: use it with scripted commands only.
This file is itself the program that runs as ``docker``, so it imports nothing but the standard library.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

VALUE_OPTIONS = frozenset({"--name", "-w", "--workdir", "-e", "--env"})
"""Options of ``run`` and ``exec`` that take the next word."""


class Executed(NamedTuple):
    """One command that ran in a container."""

    image: str
    """What the container was made from."""
    container: str
    """The container's name."""
    cwd: str
    """The folder in the container."""
    command: str
    """What ran, as it was given."""


class FakeDocker:
    """The stand-in, installed in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        """Where everything of it lies."""

    @classmethod
    def install(cls, folder: Path) -> FakeDocker:
        """Write the executable into a folder, whose path must need no quotes: it becomes part of commands."""
        docker = cls(folder)
        if not re.fullmatch(r"[\w./+-]+", str(docker.folder)):
            raise ValueError(
                f"found the folder {str(docker.folder)!r}, expected one that a shell reads as one plain word"
            )
        docker.image.mkdir(parents=True, exist_ok=True)
        docker.containers.mkdir(exist_ok=True)
        words = (sys.executable, "-I", "-S", str(Path(__file__).resolve()), str(docker.folder))
        docker.executable.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
        docker.executable.chmod(0o755)
        return docker

    @property
    def executable(self) -> Path:
        """The command to call in place of docker."""
        return self.folder / "docker"

    @property
    def image(self) -> Path:
        """The root folder that every new container begins with a copy of, whatever the image's name."""
        return self.folder / "image"

    @property
    def containers(self) -> Path:
        """A folder for each container, kept when it stops: ``root`` in it is the container's root."""
        return self.folder / "containers"

    @property
    def log(self) -> Path:
        """One line of JSON for each command that was started."""
        return self.folder / "executed.jsonl"

    def executed(self, image: str = "") -> list[Executed]:
        """The commands that were started, in order, in containers with this text in their image's name."""
        lines = self.log.read_text(encoding="utf-8").splitlines() if self.log.exists() else []
        found = [Executed(**json.loads(line)) for line in lines]
        return [one for one in found if image in one.image]

    def note(self, one: Executed) -> None:
        """Write to the log; containers do so at the same time."""
        with self.log.open("a", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.write(json.dumps(one._asdict()) + "\n")


class Call(NamedTuple):
    """The words of one call of docker."""

    verb: str
    """What to do."""
    options: list[tuple[str, str]]
    """Its options, those without a value with an empty one."""
    words: list[str]
    """The words after the options."""

    def option(self, *names: str) -> str:
        """The value of an option, by any of its names."""
        return next((value for name, value in self.options if name in names), "")


def read_call(arguments: list[str]) -> Call:
    """Part a command line into verb, options and words."""
    verb, *rest = arguments
    options = []
    while rest and rest[0].startswith("-"):
        name, equals, value = rest.pop(0).partition("=")
        if name in VALUE_OPTIONS and not equals:
            value = rest.pop(0)
        options.append((name, value))
    return Call(verb, options, rest)


def start(docker: FakeDocker, call: Call) -> int:
    """Make a container and print its name."""
    home = docker.containers / call.option("--name")
    shutil.copytree(docker.image, home / "root", symlinks=True)
    inside(home / "root", call.option("-w", "--workdir") or "/").mkdir(parents=True, exist_ok=True)
    (home / "image").write_text(call.words[0])
    print(home.name)
    return 0


def inside(root: Path, path: str) -> Path:
    """Where a container's absolute path lies on this machine."""
    return root / path.lstrip("/")


def execute(docker: FakeDocker, call: Call) -> int:
    """Run a command in a container and pass its output on; the exit status is the command's."""
    name, *interpreter, command = call.words
    home = docker.containers / name
    if not (home / "image").exists() or (home / "stopped").exists():
        print(f"Error response from daemon: container {name} is not running", file=sys.stderr)
        return 1
    cwd = call.option("-w", "--workdir") or "/"
    folder = inside(home / "root", cwd)
    if not folder.is_dir():
        print(f'OCI runtime exec failed: chdir to cwd ("{cwd}"): no such file or directory', file=sys.stderr)
        return 126
    docker.note(Executed((home / "image").read_text(), name, cwd, command))
    mapped = (
        command if cwd == "/" else re.sub(rf"(?<![\w./-]){re.escape(cwd)}(?![\w-])", lambda _: str(folder), command)
    )
    # The output goes through this process, and the command is no part of its session: as with docker, killing the
    # client ends the output and not the command.
    process = subprocess.Popen(
        [*interpreter, mapped],
        cwd=folder,
        env=container_environment(home / "root", call),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    assert process.stdout is not None
    for line in process.stdout:
        sys.stdout.buffer.write(line.replace(os.fsencode(folder), cwd.encode()) if cwd != "/" else line)
        sys.stdout.buffer.flush()
    return process.wait()


def container_environment(root: Path, call: Call) -> dict[str, str]:
    """The variables of a command: none of this process but its path, and paths in them are the container's."""
    pairs = (value.partition("=") for name, value in call.options if name in ("-e", "--env"))
    given = {name: str(inside(root, value)) if value.startswith("/") else value for name, _, value in pairs}
    return {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(root / "root"), "LC_ALL": "C.UTF-8", **given}


def stop(docker: FakeDocker, call: Call) -> int:
    """Stop containers; their folders stay, to be looked at."""
    for name in call.words:
        (docker.containers / name / "stopped").touch()
    return 0


def main(arguments: list[str]) -> int:
    """Do what a command line of docker asks for; the first word is the folder of the stand-in."""
    docker, call = FakeDocker(Path(arguments[0])), read_call(arguments[1:])
    match call.verb:
        case "run":
            return start(docker, call)
        case "exec":
            return execute(docker, call)
        case "stop" | "rm":
            return stop(docker, call)
        case "image" if call.words[:1] == ["inspect"]:
            return 0
        case "version":
            print("Fake docker")
            return 0
    print(
        f"fake docker: found the verb {call.verb!r}, expected run, exec, stop, rm, image inspect or version",
        file=sys.stderr,
    )
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
