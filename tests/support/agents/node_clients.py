"""Installs real clients that are programs of Node.js, Qwen Code and Gemini CLI, and runs them against a server.

Each run is a process with an environment of its own: no key, no file of the user's. ``prefix`` is a launcher; what it
starts is a script with the client's own name, since npm's would need the right Node.js on the path.
"""

from __future__ import annotations

import functools
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.support.agents.npm import node, npm_package

TIMEOUT = 300.0
"""Seconds after which a run is given up; some clients take ten to start on a busy machine."""


class NodeRun(NamedTuple):
    """What came of a run."""

    status: int
    """The exit status of the process."""
    output: str
    """What it printed."""
    errors: str
    """What was said beside."""


@functools.cache
def node_client(package: str, version: str, script: str, name: str) -> Path:
    """A program ``name`` that runs the script of a package, installed if it is not there yet."""
    folder = npm_package(package, version)
    program = folder / name
    text = f'#!/bin/sh\nexec "{node()}" "{folder / "node_modules" / package / script}" "$@"\n'
    if not program.exists() or program.read_text() != text:
        beside = folder / f".{name}"
        beside.write_text(text)
        beside.chmod(0o755)
        beside.replace(program)
    return program


def run_client(
    words: Sequence[str | Path], cwd: Path, variables: Mapping[str, str], prefix: Sequence[str] = ()
) -> NodeRun:
    """Run a client to its end."""
    done = subprocess.run(
        [*prefix, *map(str, words)],
        cwd=cwd,
        env=dict(variables),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=TIMEOUT,
        check=False,
    )
    return NodeRun(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))
