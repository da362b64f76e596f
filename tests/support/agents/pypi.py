"""Installs Python packages for tests with real agents, each set into a virtual environment of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from tests.support.agents.npm import NotInstalled, cache_folder, install_step, locked


def environment_with(name: str, python: str, *requirements: str, alone: tuple[str, ...] = ()) -> Path:
    """The folder of a virtual environment with these packages, made with a Python of this version, such as 3.12.

    Those that are to be ``alone`` are installed without what they depend on.
    """
    home = cache_folder() / name
    # An environment can't be moved: a file in it says that it is complete.
    complete = home / "complete"
    if not complete.is_file():
        cache_folder().mkdir(parents=True, exist_ok=True)
        with locked(home.with_name(f"{name}.lock")):
            # Whoever waited for the lock finds what the other has installed.
            if not complete.is_file():
                shutil.rmtree(home, ignore_errors=True)
                _install(home, find_python(python), requirements, alone)
                complete.touch()
    return home


def find_python(version: str) -> str:
    """A Python of this version: on the path, or among those of pyenv."""
    named = shutil.which(f"python{version}")
    others = sorted(Path.home().glob(f".pyenv/versions/{version}*/bin/python"))
    for found in (*([named] if named else []), *map(str, others)):
        if subprocess.run([found, "--version"], capture_output=True, check=False).returncode == 0:
            return found
    raise NotInstalled(f"there is no Python {version} here", "install it")


def _install(home: Path, python: str, requirements: tuple[str, ...], alone: tuple[str, ...]) -> None:
    """Make the environment."""
    install_step((python, "-m", "venv", str(home)), os.environ, f"{python} made no virtual environment")
    own = str(home / "bin" / "python")
    uv = shutil.which("uv")
    # Most of what is installed is never imported, and need not be compiled.
    pip = (uv, "pip", "install", "--python", own) if uv else (own, "-m", "pip", "install", "--no-compile")
    for options, packages in (((), requirements), (("--no-deps",), alone)):
        if packages:
            reason = f"{' '.join(packages)} could not be installed"
            install_step((*pip, "--quiet", *options, *packages), os.environ, reason)
