"""The rivals: each installed once at a fixed version, into an environment of its own, and driven there by a script.

A driver reads runs as lines of JSON and answers each with a line, after a first one that names the version it found.
Nothing of a rival runs in our own process.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from benchmarks._peer_accounts import Answer, Role
from benchmarks._peer_runs import progress

ROOT = Path(__file__).resolve().parents[1]
ENVIRONMENTS = ROOT / ".venv" / "rivals"
DRIVERS = ROOT / "benchmarks" / "rivals"
INSTALL_SECONDS = 1800


class Rival(Struct, frozen=True):
    """Another tool."""

    name: str
    """What it is called in the tables."""
    key: str
    """The folder of its environment; its driver is called after it."""
    package: str
    """What it is installed by."""
    version: str
    """The version that is installed."""
    role: Role
    """What it does: tell of loops, or show results in fewer bytes."""
    python: tuple[int, int] | None
    """The oldest Python that it runs on; None for a package of Node.js."""

    @property
    def folder(self) -> Path:
        """Its environment."""
        return ENVIRONMENTS / self.key

    @property
    def requirement(self) -> str:
        """What the package manager is asked for."""
        return f"{self.package}@{self.version}" if self.python is None else f"{self.package}=={self.version}"


GEMINI = Rival("Gemini CLI core", "gemini", "@google/gemini-cli-core", "0.61.0", "detector", None)
OPENHANDS = Rival("OpenHands SDK", "openhands", "openhands-sdk", "1.58.0", "detector", (3, 12))
HEADROOM = Rival("Headroom", "headroom", "headroom-ai", "0.42.0", "compressor", (3, 10))
RIVALS = (GEMINI, OPENHANDS, HEADROOM)


class NotInstalledError(Exception):
    """A rival can't be installed or does not start; the text says why, on one line."""


class _Greeting(Struct, frozen=True):
    version: str


def install(rival: Rival) -> None:
    """Make the rival's environment, unless its stamp says that it holds this version."""
    stamp = rival.folder / "installed"
    if stamp.is_file() and stamp.read_text() == rival.requirement:
        return
    print(f"installing {rival.name} {rival.version}, once; this can take minutes", file=sys.stderr)
    if rival.python is None:
        _install_node(rival)
    else:
        _install_python(rival, rival.python)
    stamp.write_text(rival.requirement)


def _install_node(rival: Rival) -> None:
    """Install a package of Node.js; its install scripts are not run."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        raise NotInstalledError("found no node and npm")
    rival.folder.mkdir(parents=True, exist_ok=True)
    (rival.folder / "package.json").write_text('{"private": true}\n')
    quiet = ("--no-audit", "--no-fund", "--ignore-scripts", "--prefer-offline", "--loglevel=error")
    _succeed(npm, "install", *quiet, "--prefix", rival.folder, rival.requirement)


def _install_python(rival: Rival, oldest: tuple[int, int]) -> None:
    """Install a package of Python."""
    inner = rival.folder / "bin" / "python"
    if uv := shutil.which("uv"):
        wanted = sys.executable if sys.version_info[:2] >= oldest else ".".join(map(str, oldest))
        _succeed(uv, "venv", "--quiet", "--clear", "--python", wanted, rival.folder)
        _succeed(uv, "pip", "install", "--quiet", "--python", inner, rival.requirement)
    else:
        _succeed(interpreter(oldest), "-m", "venv", "--clear", rival.folder)
        _succeed(inner, "-m", "pip", "install", "--quiet", rival.requirement)


def interpreter(oldest: tuple[int, int]) -> Path:
    """A Python that is new enough: this one, one on the path, or one that pyenv keeps."""
    if sys.version_info[:2] >= oldest:
        return Path(sys.executable)
    names = [f"python3.{minor}" for minor in range(oldest[1], oldest[1] + 4)]
    found = [Path(shim) for name in names if (shim := shutil.which(name))]
    if pyenv := shutil.which("pyenv"):
        with suppress(NotInstalledError):
            kept = Path(_succeed(pyenv, "root").strip()) / "versions"
            found += [place for name in names for place in sorted(kept.glob(f"*/bin/{name}"))]
    for place in found:
        # A name on the path may be a shim for something that is not there.
        with suppress(NotInstalledError):
            _succeed(place, "-c", "import venv, ensurepip")
            return place
    wanted = ".".join(map(str, oldest))
    raise NotInstalledError(f"it needs Python {wanted} or newer, found {sys.version.split()[0]} and no other")


def _succeed(*command: str | Path) -> str:
    """The output of a command that must succeed."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotInstalledError(f"{Path(command[0]).name}: {error}") from error
    if done.returncode:
        raise NotInstalledError(f"{Path(command[0]).name}: exit {done.returncode}: {last_line(done.stderr)}")
    return done.stdout


def last_line(text: str) -> str:
    """The last line that says something: programs say last what stopped them."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "no reason given")


def command_of(rival: Rival) -> list[str | Path]:
    """What starts the rival's driver."""
    if rival.python is None:
        return [shutil.which("node") or "node", DRIVERS / f"drive_{rival.key}.mjs", rival.folder]
    return [rival.folder / "bin" / "python", DRIVERS / f"drive_{rival.key}.py", rival.folder]


def drive(rival: Rival, runs: Iterable[bytes], options: tuple[str, ...] = ()) -> Iterator[Answer]:
    """The rival's answers, one for each run, after it was installed."""
    install(rival)
    yield from converse([*command_of(rival), *options], runs, rival)


def converse(command: Sequence[str | Path], runs: Iterable[bytes], rival: Rival) -> Iterator[Answer]:
    """Start a driver and give it one run after the other; whatever is wrong with it is told in one sentence."""
    rival.folder.mkdir(parents=True, exist_ok=True)
    log = rival.folder / "driver.log"
    # What only a provider's server could answer is not asked for, and nobody is told that we were here.
    quiet = {**os.environ, "DO_NOT_TRACK": "1", "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}
    with (
        log.open("wb") as errors,
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, cwd=rival.folder, env=quiet
        ) as process,
    ):
        assert process.stdin is not None and process.stdout is not None
        try:
            greeting = msgspec.json.decode(process.stdout.readline(), type=_Greeting)
            if greeting.version != rival.version:
                raise NotInstalledError(f"found version {greeting.version}, expected {rival.version}")
            for number, line in enumerate(runs, 1):
                progress(f"{rival.name}: run {number}")
                process.stdin.write(line)
                process.stdin.flush()
                yield msgspec.json.decode(process.stdout.readline(), type=Answer)
        except (msgspec.MsgspecError, OSError) as error:
            process.kill()
            said = last_line(log.read_text(errors="replace"))
            raise NotInstalledError(f"its driver gave no answer: {said}") from error
        finally:
            with suppress(OSError):
                process.stdin.close()
            if process.poll() is None:
                process.terminate()
