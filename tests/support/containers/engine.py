"""A real container engine without a daemon: podman and runc, with a configuration, a store and locks of its own.

    with engine() as containers:
        image = containers.image("task", {"testbed/a.py": "x = 1\\n"})
        docker = containers.docker(tmp_path)
        DockerEnvironment(image=image, executable=str(docker.executable), cwd="/testbed")

Everything lies in a new folder for temporary files, so that several processes and several checkouts have engines at the
same time. When it is left, its containers, its processes and the folder are gone.
"""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal, NamedTuple

from tests.support.agents.npm import NotInstalled
from tests.support.containers import userland

SEARCHED = f"{os.environ.get('PATH', '')}:{userland.SEARCHED}"
"""Where podman and runc are looked for: runc may be in a folder for administrators."""
NEEDED = ("podman", "runc", "busybox")
"""The programs without which there is no engine; the last one is that of an image."""
CONFIGURATION = """\
[containers]
# The engine's own defaults are above what a process without CAP_SYS_RESOURCE may ask for.
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
netns = "none"
[engine]
cgroup_manager = "cgroupfs"
events_logger = "none"
# Locks in shared memory would be those of every other engine on this machine.
lock_type = "file"
runtime = "runc"
# A `sleep` that is process 1 does not end on SIGTERM: a stop would wait for this time in vain.
stop_timeout = 0
tmp_dir = "{folder}/tmp"
[engine.runtimes]
runc = ["{runc}"]
"""
"""``containers.conf``."""
STORE = """\
[storage]
driver = "overlay"
graphroot = "{folder}/store"
runroot = "{folder}/run"
[storage.options.overlay]
# Otherwise a mount would be left.
skip_mount_home = "true"
"""
"""``storage.conf``."""
COMMAND = """\
#!/bin/sh
# Notes its words in a file that appears complete, labels new containers, and becomes podman.
{variables}
note={calls}/$(date +%s%N).$$
printf '%s\\0' "$@" > "$note.part" && mv "$note.part" "$note.call"
if [ "$1" = run ]; then shift; set -- run --label {label} "$@"; fi
# The harness of SWE-bench gives a container 15 seconds, which one whose process 1 ignores SIGTERM uses up.
if [ "$1 $2" = "stop --time=15" ]; then shift 2; set -- stop --time=0 "$@"; fi
exec {podman} "$@"
"""
"""The ``docker`` command of one test."""
LABEL = "execledger.test"
"""The label of containers that were started by such a command; its value is the command's folder."""
PATIENCE = 60.0
"""Seconds after which something that must happen is given up."""
Base = Literal["gnu", "tasks", "busybox"]
"""What images begin with."""


class Executed(NamedTuple):
    """A command that was given to a container."""

    container: str
    """The container's id."""
    command: str
    """The last word: what its interpreter runs."""


class Docker:
    """A command to call in place of docker, which notes its calls; its containers are told apart from all others."""

    def __init__(self, engine: Engine, folder: Path) -> None:
        """Write the command into a folder, which must exist."""
        self.executable = folder / "docker"
        """The command."""
        self._engine, self._label, self._calls = engine, f"{LABEL}={folder}", folder / "docker-calls"
        self._calls.mkdir()
        variables = "\n".join(f"export {name}={shlex.quote(value)}" for name, value in engine.variables.items())
        words = {"calls": self._calls, "label": self._label, "podman": engine.program}
        quoted = {name: shlex.quote(str(word)) for name, word in words.items()}
        self.executable.write_text(COMMAND.format(variables=variables, **quoted))
        self.executable.chmod(0o755)

    def calls(self) -> list[list[str]]:
        """The words of each call, in the order in which they began."""
        notes = sorted(self._calls.glob("*.call"))
        return [note.read_bytes().decode("utf-8", "surrogateescape").split("\0")[:-1] for note in notes]

    def executed(self) -> list[Executed]:
        """The commands that were given to containers, in order; all of DockerEnvironment's have an interpreter."""
        words = [call for call in self.calls() if call[0] == "exec"]
        return [Executed(_container(call), call[-1]) for call in words]

    def containers(self) -> list[str]:
        """The ids of the containers that were started by this command and are not removed yet."""
        return self._engine.podman("ps", "-aq", "--no-trunc", "--filter", f"label={self._label}").split()

    def gone(self) -> bool:
        """Wait until its containers are removed by whoever started them; False if they stay."""
        return _eventually(lambda: not self.containers())

    def remove(self) -> None:
        """Remove those of its containers that are left."""
        self._engine.remove(*self.containers())


class Engine:
    """An engine, with its images and containers."""

    def __init__(self, folder: Path, program: str, runc: str) -> None:
        """Write the configuration into an empty folder."""
        self.folder, self.program = folder, program
        self.variables = {
            "CONTAINERS_CONF": str(folder / "containers.conf"),
            "CONTAINERS_STORAGE_CONF": str(folder / "storage.conf"),
            "TMPDIR": str(folder / "tmp"),
        }
        """The variables that make a podman this engine."""
        (folder / "tmp").mkdir()
        (folder / "containers.conf").write_text(CONFIGURATION.format(folder=folder, runc=runc))
        (folder / "storage.conf").write_text(STORE.format(folder=folder))

    def podman(self, *words: str, check: bool = True) -> str:
        """Run podman; what it prints. It raises ``NotInstalled`` if it fails, unless that is not checked."""
        try:
            done = subprocess.run(
                [self.program, *words],
                env={**os.environ, **self.variables},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=PATIENCE,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise NotInstalled(f"podman {words[0]}: {error}") from error
        if check and done.returncode:
            raise NotInstalled(f"podman {words[0]}: status {done.returncode}: {done.stderr.strip()[-500:]}")
        return done.stdout

    def base(self, name: Base, image: str = "") -> str:
        """The image with a userland and nothing else; made when it is asked for first, by this name if one is given."""
        image = image or f"localhost/{name}:1"
        if not self.podman("images", "-q", image).strip():
            archive = getattr(userland, name)(self.folder / "tmp" / f"{name}.tar")
            self.podman("import", "-q", str(archive), image)
            archive.unlink()
        return image

    def image(self, name: str, files: Mapping[str, str | bytes] | Path, run: str = "", base: Base = "gnu") -> str:
        """Build an image: files by their path from the root, or a folder with them, and a command that is run then.

        A name without a registry gets one that is asked for nothing; what is returned is the whole name.
        """
        image = name if "/" in name else f"localhost/{name}:1"
        lines = [f"FROM {self.base(base)}", "COPY . /", *([f"RUN {run}"] if run else [])]
        with tempfile.TemporaryDirectory(dir=self.folder / "tmp") as scratch:
            folder = files if isinstance(files, Path) else _written(files, Path(scratch, "files"))
            recipe = Path(scratch, "Dockerfile")
            recipe.write_text("".join(f"{line}\n" for line in lines))
            self.podman("build", "-q", "--pull=never", "-t", image, "-f", str(recipe), str(folder))
        return image

    def docker(self, folder: Path) -> Docker:
        """Write a ``docker`` command into a folder."""
        return Docker(self, folder)

    def run(self, container: str, command: str) -> str:
        """Run a command in a container, as somebody else than the agent; what it prints."""
        return self.podman("exec", container, "sh", "-c", command)

    def release(self, container: str, command: str) -> None:
        """Run a command that lets the agent go on, again where a busy podman did not start it.

        The agent may remove the container before podman has the output, so a container that is gone is enough.
        """
        until = time.monotonic() + PATIENCE
        while self.podman("exec", container, "sh", "-c", f"{command}; echo done", check=False) != "done\n":
            running = self.podman("ps", "-q", "--no-trunc").split()
            if not any(one.startswith(container) for one in running) or time.monotonic() > until:
                return

    def holds(self, container: str, condition: str) -> bool:
        """Whether a shell's condition holds in a container; False while it does not run."""
        printed = self.podman("exec", container, "sh", "-c", f"if {condition}; then echo yes; fi", check=False)
        return printed == "yes\n"

    @contextmanager
    def service(self) -> Iterator[str]:
        """The Docker API on a socket, for clients that want ``DOCKER_HOST``; yields its address."""
        socket = self.folder / "podman.sock"
        words = [self.program, "system", "service", "--time=0", f"unix://{socket}"]
        with subprocess.Popen(words, env={**os.environ, **self.variables}, stderr=subprocess.DEVNULL) as process:
            try:
                if not _eventually(lambda: socket.exists() or process.poll() is not None) or not socket.exists():
                    raise NotInstalled("podman system service did not start")
                yield f"unix://{socket}"
            finally:
                process.terminate()
                process.wait()
                self._end_monitors()

    def _end_monitors(self) -> None:
        """End the monitors of commands that were run through the service: each waits for five minutes to be asked."""
        for number in self.processes():
            with suppress(OSError):
                if b"/exec_pid" in Path("/proc", str(number), "cmdline").read_bytes():
                    os.kill(number, signal.SIGKILL)

    def remove(self, *containers: str) -> None:
        """Remove containers, whether they run or not; one that is gone by now is no error."""
        if containers:
            self.podman("rm", "--force", "--ignore", "--time", "0", *containers, check=False)

    def processes(self) -> list[int]:
        """The processes of this engine: its monitors of containers, and its commands that are under way."""
        mark, found = os.fsencode(self.folder), []
        for path in Path("/proc").glob("[0-9]*"):
            # It may end meanwhile.
            with suppress(OSError):
                if mark in (path / "environ").read_bytes() or mark in (path / "cmdline").read_bytes():
                    found.append(int(path.name))
        return [number for number in found if number != os.getpid()]

    def close(self) -> None:
        """Remove all containers and wait for the end of all processes."""
        self.remove(*self.podman("ps", "-aq", check=False).split())
        assert _eventually(lambda: not self.processes()), f"processes of the engine are left: {self.processes()}"


@contextmanager
def engine() -> Iterator[Engine]:
    """An engine that was seen to run a container; raises ``NotInstalled`` where there can be none."""
    if platform.system() != "Linux" or os.geteuid() != 0:
        raise NotInstalled("containers are tested on Linux, as root")
    programs = [shutil.which(name, path=SEARCHED) or "" for name in NEEDED]
    if missing := [name for name, found in zip(NEEDED, programs, strict=True) if not found]:
        raise NotInstalled(f"{missing[0]} is not installed", "on Debian, `apt install podman runc busybox-static`")
    with tempfile.TemporaryDirectory(prefix="ledger-pods-") as folder:
        made = Engine(Path(folder).resolve(), programs[0], programs[1])
        try:
            made.podman("run", "--rm", made.base("gnu"), "true")
            yield made
        finally:
            made.close()


def _container(call: Sequence[str]) -> str:
    """The container of an ``exec``: the first word that is neither an option nor the value of one."""
    words = iter(call[1:])
    for word in words:
        if not word.startswith("-"):
            return word
        if word in ("-w", "-e"):
            next(words)
    raise ValueError(f"an exec without a container: {call}")


def _written(files: Mapping[str, str | bytes], folder: Path) -> Path:
    """The folder, with these files in it."""
    folder.mkdir()
    for name, content in files.items():
        path = folder / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        if name.startswith(("bin/", "usr/bin/", "usr/local/bin/")):
            path.chmod(0o755)
    return folder


def _eventually(holds: Callable[[], bool]) -> bool:
    """Wait until something holds; False if it does not in all the time that there is."""
    until = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True
