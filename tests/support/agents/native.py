"""Clients whose npm package holds a native program for each machine: installing one, and running it to its end."""

from __future__ import annotations

import functools
import platform
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.support.agents.npm import NotInstalled, npm_package
from tests.support.agents.sessions import AgentHome

MACHINES = {
    ("Darwin", "arm64"): "darwin-arm64",
    ("Darwin", "x86_64"): "darwin-x64",
    ("Linux", "aarch64"): "linux-arm64",
    ("Linux", "x86_64"): "linux-x64",
}
"""How packages name the machines that they have programs for."""


TIMEOUT = 900.0
"""Seconds after which a run is given up; some clients take a minute to start on a busy machine."""


@functools.cache
def native(package: str, version: str, prefix: str, path: str) -> Path:
    """The program at ``path`` in the package for this machine, whose name begins with ``prefix``."""
    machine = MACHINES.get((platform.system(), platform.machine()))
    if machine is None:
        raise NotInstalled(f"{package} has no program for {platform.system()} {platform.machine()}")
    found = npm_package(package, version) / "node_modules" / f"{prefix}-{machine}" / path
    if not found.is_file():
        raise NotInstalled(f"{found}: not there, though {package} should hold it")
    return found


class ClientRun(NamedTuple):
    """What came of a run."""

    status: int
    """The exit status of the process."""
    output: str
    """What it printed."""
    errors: str
    """What was said beside."""


def run_client(command: Sequence[str], home: AgentHome, variables: Mapping[str, str]) -> ClientRun:
    """Run a command in the repository, with these variables and no others of the user's."""
    done = subprocess.run(
        command,
        cwd=home.repository,
        env={**home.variables(), **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=TIMEOUT,
        check=False,
    )
    return ClientRun(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))
