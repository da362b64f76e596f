"""Installs the real ``codex`` and runs it, as its users start it, against a server that speaks the Responses API.

The program is the native one of the npm package, without its Node launcher.
Each run is a process with an environment of its own: no key, no file of the user's. The provider is given on the
command line; ``config`` adds ``-c`` options after the harness's own, so they win; ``prefix`` is a launcher.
"""

from __future__ import annotations

import functools
import json
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from execledger.agents.codex import AGENT as CODEX
from execledger.demo.repository import make_repository
from tests.support.agents.npm import NotInstalled, npm_package
from tests.support.agents.terminal import Terminal

CURRENT = CODEX.tested[-1]
"""The version that users have."""
OLD = CODEX.tested[0]
"""A version before 0.130, with ``shell`` tools and plain headers."""
PACKAGE = "@openai/codex"
"""The npm package."""
TRIPLES = {
    ("Darwin", "arm64"): "aarch64-apple-darwin",
    ("Darwin", "x86_64"): "x86_64-apple-darwin",
    ("Linux", "aarch64"): "aarch64-unknown-linux-musl",
    ("Linux", "x86_64"): "x86_64-unknown-linux-musl",
}
"""How the package names the machines that it has programs for."""


@functools.cache
def codex(version: str) -> Path:
    """The native ``codex`` of a version, installed if it is not there yet; safe where several processes ask at once."""
    return _native(npm_package(PACKAGE, version))


def _native(folder: Path) -> Path:
    """The program for this machine in an installed package; it was in ``vendor/*/codex`` before 0.140."""
    machine = (platform.system(), platform.machine())
    if (triple := TRIPLES.get(machine)) is None:
        raise NotInstalled(f"codex has no program for {' '.join(machine)}")
    scope = folder / "node_modules" / "@openai"
    for found in sorted(scope.glob(f"*/vendor/{triple}/*/codex")):
        return found
    raise NotInstalled(f"{folder}: no codex for {triple}, which its package should hold", "remove that folder")


MODEL = "gpt-5.5"
"""A model that is offered ``exec_command`` and ``apply_patch`` as tools of their own in every version."""
KEY = "SCRIPTED_KEY"
"""The variable that holds the key of the custom provider."""
PASSED_ON = ("PATH", "LANG", "LC_ALL", "USER", "PYTHONPATH", "VIRTUAL_ENV")
"""Variables of this process that a run sees; keys and proxies are not among them."""
UNGUARDED = ("--dangerously-bypass-approvals-and-sandbox",)
"""Runs every command at once, without a sandbox."""
TIMEOUT = 120.0
"""Seconds after which a run is given up."""
SETTINGS = """check_for_update_on_startup = false
[analytics]
enabled = false
[features]
plugins = false
[notice.model_migrations]
"gpt-5.5" = "gpt-6-sol"
[projects.{repository}]
trust_level = "trusted"
"""
"""The user's own settings: nothing is asked of the network, and the repository is trusted."""

Provider: TypeAlias = Literal["custom", "openai"]
"""How the server is made known: as a provider of its own, or as the address of the built-in one."""


class CodexHome:
    """A user's folders for ``codex``, and a small repository to work in."""

    def __init__(self, folder: Path) -> None:
        """Make the folders below one that is there; those that are there already stay as they are."""
        self.user = folder / "user"
        """The user's home folder."""
        self.codex = folder / "codex"
        """What ``codex`` keeps its sessions and settings in."""
        # codex refuses to put its helpers below the folder for temporary files, so that is none of the others.
        self.temporary = folder / "temporary"
        """The folder for temporary files."""
        self.repository = folder / "repository"
        """The repository to work in."""
        for path in (self.user, self.codex, self.temporary):
            path.mkdir(exist_ok=True)
        if not self.repository.exists():
            make_repository(self.repository)
        if not self.settings.exists():
            self.settings.write_text(SETTINGS.format(repository=json.dumps(str(self.repository))))

    @property
    def settings(self) -> Path:
        """The user's settings file."""
        return self.codex / "config.toml"

    def rollouts(self, thread: str = "") -> list[Path]:
        """The recorded sessions, the oldest first, or only those of a thread."""
        return sorted(self.codex.glob(f"sessions/**/rollout-*{thread}.jsonl"))

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        """The whole environment of a run."""
        return {
            **{name: os.environ[name] for name in PASSED_ON if name in os.environ},
            "CODEX_HOME": str(self.codex),
            "HOME": str(self.user),
            "TMPDIR": str(self.temporary),
            "TERM": "xterm-256color",
            KEY: "dummy",
            **(extra or {}),
        }


class CodexRun(NamedTuple):
    """What came of a run."""

    status: int
    """The exit status of the process."""
    events: list[dict[str, Any]]
    """What it reported, event by event."""
    errors: str
    """What it said beside."""

    @property
    def thread(self) -> str:
        """The thread that ran, by which it can be resumed."""
        return str(next((event["thread_id"] for event in self.events if event["type"] == "thread.started"), ""))

    @property
    def items(self) -> list[dict[str, Any]]:
        """The completed items that were reported to the user: commands, changed files, messages."""
        return [event["item"] for event in self.events if event["type"] == "item.completed"]

    @property
    def answer(self) -> str:
        """The last words of the model."""
        said = [item["text"] for item in self.items if item["type"] == "agent_message"]
        return str(said[-1]) if said else ""


def options(config: Mapping[str, object]) -> list[str]:
    """Each setting behind its own ``-c``, its value as TOML."""
    return [word for key, value in config.items() for word in ("-c", f"{key}={json.dumps(value)}")]


def provider_options(url: str, provider: Provider = "custom") -> list[str]:
    """The options that make a run use a server."""
    if provider == "openai":
        return options({"model_provider": "openai", "openai_base_url": url})
    table = "model_providers.scripted"
    return options(
        {
            "model_provider": "scripted",
            f"{table}.name": "scripted",
            f"{table}.base_url": url,
            f"{table}.wire_api": "responses",
            f"{table}.env_key": KEY,
        }
    )


def codex_command(
    binary: Path,
    *arguments: str,
    url: str | None,
    provider: Provider = "custom",
    model: str = MODEL,
    config: Mapping[str, object] | None = None,
    guard: Sequence[str] = UNGUARDED,
) -> list[str]:
    """The command line of ``codex``; without an address, whatever the user's settings say is used."""
    given = provider_options(url, provider) if url else []
    return [str(binary), *given, *options({"model": model, **(config or {})}), *guard, *arguments]


def run_codex(
    binary: Path,
    *arguments: str,
    url: str | None,
    home: CodexHome,
    provider: Provider = "custom",
    model: str = MODEL,
    config: Mapping[str, object] | None = None,
    guard: Sequence[str] = UNGUARDED,
    cwd: Path | None = None,
    prefix: Sequence[str] = (),
    extra: Mapping[str, str] | None = None,
    timeout: float = TIMEOUT,
) -> CodexRun:
    """Run ``codex exec`` to its end with a prompt, or with ``resume`` or ``fork``, a thread and a prompt."""
    words = ("exec", "--json", "--skip-git-repo-check", *arguments)
    command = codex_command(binary, *words, url=url, provider=provider, model=model, config=config, guard=guard)
    done = subprocess.run(
        [*prefix, *command],
        cwd=cwd or home.repository,
        env=home.environment(extra),
        # A prompt on the command line is not enough: what comes from there is read, too.
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=timeout,
        check=False,
    )
    lines = done.stdout.decode("utf-8", "replace").splitlines()
    events = [json.loads(line) for line in lines if line.startswith("{")]
    return CodexRun(done.returncode, events, done.stderr.decode("utf-8", "replace"))


def start_codex(
    binary: Path,
    *arguments: str,
    url: str | None,
    home: CodexHome,
    provider: Provider = "custom",
    config: Mapping[str, object] | None = None,
    guard: Sequence[str] = UNGUARDED,
    prefix: Sequence[str] = (),
    extra: Mapping[str, str] | None = None,
) -> Terminal:
    """Start ``codex`` on a terminal, with a prompt, or with ``resume`` or ``fork``, a thread and a prompt."""
    # The other screen would be wiped in the end, and what was said with it.
    words = ("--no-alt-screen", *arguments)
    command = codex_command(binary, *words, url=url, provider=provider, config=config, guard=guard)
    return Terminal([*prefix, *command], home.repository, home.environment(extra))
