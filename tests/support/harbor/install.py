"""Installs Harbor into a virtual environment of its own, with this checkout beside it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from execledger.harbor import TESTED
from tests.support.agents.npm import cache_folder, install_step, locked
from tests.support.agents.pypi import find_python

ROOT = Path(__file__).resolve().parents[3]
"""The checkout."""
REQUIREMENTS = """
from importlib.metadata import requires
for one in requires("harbor"):
    if "extra ==" not in one:
        print("certifi" if one.startswith("certifi") else one)
"""
"""Prints what Harbor needs; its bound on certifi is newer than what some indexes have."""


def harbor_environment(version: str = TESTED[-1]) -> Path:
    """The folder of a virtual environment with this version of Harbor, installed if it is not there yet."""
    home = cache_folder() / f"harbor-{version}"
    complete = home / "complete"
    if not complete.is_file():
        cache_folder().mkdir(parents=True, exist_ok=True)
        with locked(home.with_name(f"{home.name}.lock")):
            if not complete.is_file():
                shutil.rmtree(home, ignore_errors=True)
                _install(home, version)
                complete.touch()
    return home


def _install(home: Path, version: str) -> None:
    """Make the environment."""
    python = find_python("3.12")
    install_step((python, "-m", "venv", str(home)), os.environ, f"{python} made no virtual environment")
    own = str(home / "bin" / "python")
    pip = (own, "-m", "pip", "install", "--quiet")
    reason = f"harbor {version} could not be installed"
    install_step((*pip, "--no-deps", f"harbor=={version}"), os.environ, reason)
    listed = subprocess.run([own, "-c", REQUIREMENTS], capture_output=True, text=True, check=True).stdout
    install_step((*pip, *listed.split("\n")[:-1], "-e", str(ROOT)), os.environ, reason)
