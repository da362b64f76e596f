"""Installs the real Claude Code and runs it, as its users start it, against a server that speaks the Messages API.

Each run is a process with an environment of its own: no key, no file of the user's. ``prefix`` is a launcher.
"""

from __future__ import annotations

import functools
import json
import platform
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from execledger.agents.claude import AGENT
from tests.support.agents.codex import TIMEOUT
from tests.support.agents.npm import NotInstalled, npm_package
from tests.support.agents.sessions import AgentHome

OLD, CURRENT = AGENT.tested
"""A version that answers an equal read with a stub of its own, and the one that users have."""
MODEL = "claude-sonnet-4-5"
"""The model that is asked for."""
NEWER = "claude-opus-4-8"
"""A model that is sent the client's own words as messages of the system; the last message of a request is one."""
BINDING = "claude-fable-5-1"
"""A model whose reasoning is bound to all that precedes it."""
PACKAGE = "@anthropic-ai/claude-code"
"""The npm package."""
MACHINES = {
    ("Darwin", "arm64"): "darwin-arm64",
    ("Darwin", "x86_64"): "darwin-x64",
    ("Linux", "aarch64"): "linux-arm64",
    ("Linux", "x86_64"): "linux-x64",
}
"""How the package names the machines that it has programs for."""


@functools.cache
def claude(version: str) -> Path:
    """The native ``claude`` of a version, installed if it is not there yet."""
    machine = MACHINES.get((platform.system(), platform.machine()))
    if machine is None:
        raise NotInstalled(f"Claude Code has no program for {platform.system()} {platform.machine()}")
    folder = npm_package(PACKAGE, version)
    found = folder / "node_modules" / f"{PACKAGE}-{machine}" / "claude"
    if not found.is_file():
        raise NotInstalled(f"{folder}: no {found.name} for {machine}, which its package should hold")
    return found


class ClaudeHome(AgentHome):
    """A user's folders for Claude Code, and a small repository to work in."""

    def environment(self, url: str, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        """The whole environment of a run."""
        return {**self.variables(), **self.own_variables(url), **(extra or {})}

    @staticmethod
    def own_variables(url: str) -> dict[str, str]:
        """The variables of Claude Code."""
        return {
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": "dummy",
            "DISABLE_AUTOUPDATER": "1",
            "IS_SANDBOX": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }


class ClaudeRun(NamedTuple):
    """What came of a run."""

    status: int
    """The exit status of the process."""
    events: list[dict[str, Any]]
    """What it reported, event by event."""
    errors: str
    """What was said beside."""

    @property
    def session(self) -> str:
        """The session, by which it can be resumed."""
        return str(next(event["session_id"] for event in self.events if "session_id" in event))


def run_claude(
    binary: Path,
    *arguments: str,
    url: str,
    home: ClaudeHome,
    prefix: Sequence[str] = (),
    extra: Mapping[str, str] | None = None,
    model: str = MODEL,
) -> ClaudeRun:
    """Run ``claude -p`` to its end."""
    words = ("--output-format", "stream-json", "--verbose", "--model", model, "--dangerously-skip-permissions")
    done = subprocess.run(
        [*prefix, str(binary), "-p", *arguments, *words],
        cwd=home.repository,
        env=home.environment(url, extra),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=TIMEOUT,
        check=False,
    )
    lines = done.stdout.decode("utf-8", "replace").splitlines()
    events = [json.loads(line) for line in lines if line.startswith("{")]
    return ClaudeRun(done.returncode, events, done.stderr.decode("utf-8", "replace"))
