"""Harbor's own agents with Ledger around them: ``harbor run -a execledger.harbor:LedgerCodex ...``.

Each class is a subclass of Harbor's agent and changes none of its commands. While the agent runs, a shell function of
the program's name precedes each command, and calls ``execledger run -- PROGRAM``. Ledger is installed in the task's
environment after the agent. If it can't be installed or started there, the trial runs with the plain agent; its log,
its ``result.json`` and the file ``agent/execledger/not-started.txt`` say so.

The classes are made when Harbor asks for them, so that this module can be imported without Harbor.
"""

from __future__ import annotations

import asyncio
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import types
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.metadata import version
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

from execledger.agents.registry import OURS, agent_of
from execledger.errors import LedgerError
from execledger.extras import installed_from
from execledger.off import VARIABLE, is_off
from execledger.runs.harbor_trials import JOURNALS, METADATA
from execledger.version import __version__

NOT_STARTED = "not-started.txt"
"""The file in the folder for journals that says why a trial ran without Ledger."""
PRESENT = "present"
"""The value of ``ledger_install`` for environments in which Ledger is installed already."""
USAGE_ERROR = 2
"""The exit status of ``execledger run`` for options that it does not know."""
TESTED = ("0.25.0",)
"""The versions of Harbor that the tests run, the newest last."""
OLDEST = "0.23"
"""The oldest version of Harbor whose agents take options as ours do."""
INSTALL_SECONDS = 600
"""Seconds after which an installation is given up, and the trial runs without Ledger."""


class _Inner(Struct, frozen=True):
    """One of Harbor's agents that Ledger can be put around."""

    module: str
    """The module of its class."""
    name: str
    """The name of its class."""
    program: str
    """The program that its commands start."""


AGENTS: Mapping[str, _Inner] = {
    "LedgerCodex": _Inner("harbor.agents.installed.codex", "Codex", "codex"),
    "LedgerMini": _Inner("harbor.agents.installed.mini_swe_agent", "MiniSweAgent", "mini-swe-agent"),
    "LedgerClaude": _Inner("harbor.agents.installed.claude_code", "ClaudeCode", "claude"),
    "LedgerOpencode": _Inner("harbor.agents.installed.opencode", "OpenCode", "opencode"),
    "LedgerGemini": _Inner("harbor.agents.installed.gemini_cli", "GeminiCli", "gemini"),
    "LedgerQwen": _Inner("harbor.agents.installed.qwen_code", "QwenCode", "qwen"),
    "LedgerCopilot": _Inner("harbor.agents.installed.copilot_cli", "CopilotCli", "copilot"),
    "LedgerPi": _Inner("harbor.agents.installed.pi", "Pi", "pi"),
}
"""The classes that Harbor can import from here."""

_HOME = '"$HOME/.local/share/execledger"'
_FRESH = """
export PATH="$HOME/.local/bin:$PATH"
recent='import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))'
if command -v uv >/dev/null 2>&1; then
  uv venv --quiet --clear --python '>=3.11' {home} && uv pip install --quiet --python {home}/bin/python {requirement}
elif python3 -c "$recent" >/dev/null 2>&1; then
  python3 -m venv {home} && {home}/bin/python -m pip install --quiet {requirement}
else
  curl -LsSf https://astral.sh/uv/install.sh | sh &&
  uv venv --quiet --clear --python '>=3.11' {home} && uv pip install --quiet --python {home}/bin/python {requirement}
fi
"""
"""Installs Ledger into an environment of its own; a Python that is recent enough is fetched if there is none."""
_BESIDE = """
export PATH="$HOME/.local/bin:$PATH"
bin="$(dirname "$(readlink -f "$(command -v {program})")")"
if command -v uv >/dev/null 2>&1; then
  uv pip install --quiet --python "$bin/python" {requirement}
else
  "$bin/python" -m pip install --quiet {requirement}
fi && mkdir -p {home}/bin && ln -sf "$bin/execledger" {home}/bin/execledger
"""
"""Installs Ledger beside an agent that imports it."""


class _Result(Protocol):
    """The outcome of a command in an environment."""

    @property
    def stdout(self) -> str | None: ...

    @property
    def stderr(self) -> str | None: ...

    @property
    def return_code(self) -> int: ...


class _Environment(Protocol):
    """The part of Harbor's environments that is used here."""

    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> _Result: ...

    async def upload_file(self, source_path: Path | str, target_path: str) -> None: ...


class LedgerNotStarted(Exception):
    """Ledger can't be installed or started in an environment, with the reason."""


if TYPE_CHECKING:

    class _Agent:
        """The part of Harbor's agents that is used here."""

        options: Any
        logger: Any
        logs_dir: Path
        environment_logs_dir: PurePosixPath

        def __init__(self, *args: Any, **kwargs: Any) -> None: ...

        async def install(self, environment: _Environment) -> None: ...

        async def run(self, instruction: str, environment: _Environment, context: Any) -> None: ...

        async def exec_as_agent(
            self,
            environment: _Environment,
            command: str,
            env: dict[str, str] | None = None,
            cwd: str | None = None,
            timeout_sec: int | None = None,
        ) -> Any: ...

        def populate_context_post_run(self, context: Any) -> None: ...

else:
    _Agent = object


class Ledgered(_Agent):
    """Puts Ledger around one of Harbor's installed agents; comes before the agent's class among the bases."""

    program: str
    """The program that the agent's commands start."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Take Harbor's arguments; the options ``ledger`` and ``ledger_install`` are Ledger's."""
        super().__init__(*args, **kwargs)
        given = self.options.ledger
        self._flags = tuple(shlex.split(given) if isinstance(given, str) else given)
        self._source = Install.chosen(self.options.ledger_install)
        self._running = False
        self._ledger = ""
        self._status = self._status_fields(installed=False, reason="the agent was not set up")

    async def install(self, environment: _Environment) -> None:
        """Install the agent, then Ledger."""
        await super().install(environment)
        try:
            if is_off():
                raise LedgerNotStarted(f"{VARIABLE} is off")
            ledger, own = await self._install_ledger(environment)
            checked = await environment.exec(f"{ledger} run {shlex.join(self._flags)} --help")
            if checked.return_code not in (0, USAGE_ERROR):
                raise LedgerNotStarted(f"it is installed and can't be started: {_last_words(checked)}")
        except Exception as error:
            # The agent itself is installed, and no fault of ours or of the environment stops the trial.
            known = isinstance(error, LedgerNotStarted)
            self._not_started(str(error) if known else f"{type(error).__name__}: {error}")
            return
        if checked.return_code:
            raise ValueError(f"ledger={shlex.join(self._flags)}: {_last_words(checked)}")
        self._ledger = ledger
        self._status = self._status_fields(installed=True, version=own)

    async def run(self, instruction: str, environment: _Environment, context: Any) -> None:
        """Run the agent; its program is started by ``execledger run`` if Ledger is installed."""
        self._running = True
        try:
            await super().run(instruction, environment, context)
        finally:
            self._running = False

    async def exec_as_agent(
        self,
        environment: _Environment,
        command: str,
        env: dict[str, str] | None = None,
        cwd: str | None = None,
        timeout_sec: int | None = None,
    ) -> Any:
        """Execute a command of the agent, while it runs with the shell function before it."""
        if self._running and self._ledger:
            command = f"{self._function()} {command}"
        return await super().exec_as_agent(environment, command, env=env, cwd=cwd, timeout_sec=timeout_sec)

    def populate_context_post_run(self, context: Any) -> None:
        """Fill in the result of the trial; its metadata say whether Ledger was installed."""
        super().populate_context_post_run(context)
        context.metadata = {**(context.metadata or {}), METADATA: self._status}

    def _function(self) -> str:
        """The definition of a shell function with the name of the program."""
        journals = self.environment_logs_dir / JOURNALS
        options = shlex.join(("--journal", str(journals), "--no-settings", "--fail-open", *self._flags))
        body = f'{self.program}() {{ {self._ledger} run {options} -- {self.program} "$@"; }}'
        # Only bash takes names with hyphens, and not in its POSIX mode; another shell runs the plain program.
        return f'case "$BASH_VERSION:$SHELLOPTS:" in :*|*:posix:*) ;; *) eval {shlex.quote(body)};; esac;'

    async def _install_ledger(self, environment: _Environment) -> tuple[str, str]:
        """Install Ledger in an environment and start it once.

        Gives the shell word for its program and its version, or raises ``LedgerNotStarted``.
        """
        ledger = "execledger"
        if self._source.value != PRESENT:
            ledger = f"{_HOME}/bin/execledger"
            requirement = await self._source.requirement(environment, _extra(self.program))
            script = _BESIDE if _is_imported(self.program) else _FRESH
            text = script.format(home=_HOME, program=self.program, requirement=shlex.quote(requirement))
            done = await environment.exec(text, timeout_sec=INSTALL_SECONDS)
            if done.return_code:
                raise LedgerNotStarted(f"it can't be installed: {_last_words(done)}")
        started = await environment.exec(f"{ledger} --version")
        if started.return_code:
            raise LedgerNotStarted(f"it is installed and can't be started: {_last_words(started)}")
        return ledger, (started.stdout or "").strip().rpartition(" ")[2]

    def _not_started(self, reason: str) -> None:
        """Say that the trial runs without Ledger."""
        self._status = self._status_fields(installed=False, reason=reason)
        self.logger.warning("Ledger: not in this trial, %s runs without it: %s", self.program, reason)
        folder = self.logs_dir / JOURNALS
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            (folder / NOT_STARTED).write_text(f"{reason}\n", encoding="utf-8")

    def _status_fields(self, **status: object) -> dict[str, object]:
        """The fields on Ledger in the metadata of a result: always with its options, as the arm follows from them."""
        return {**status, "options": [*self._flags]}


def _last_words(done: _Result) -> str:
    """The last line with an error that a failed command printed, else the last one; notices may follow an error."""
    said = f"{done.stdout or ''}\n{done.stderr or ''}".strip().splitlines()
    errors = [line for line in said if "error" in line.lower()]
    return (errors or said or [f"exit status {done.return_code}"])[-1]


def _is_imported(program: str) -> bool:
    """Whether the agent's own Python imports Ledger, and no proxy of ours is between it and its model."""
    agent = agent_of(program)
    return agent is not None and not agent.adapter


def _extra(program: str) -> str:
    """The extra of ours that an agent in an environment needs; "" if it is the agent itself."""
    agent = agent_of(program)
    return agent.extra if agent is not None and agent.adapter else ""


class Install(Struct, frozen=True):
    """What is installed in environments: the option ``ledger_install``."""

    value: str
    """A version of the package, the path of a wheel, a checkout or a source archive, or ``present``."""

    @classmethod
    def chosen(cls, value: str) -> Install:
        """The installation that an option names, else what is installed here; raises ``ValueError`` for a path in the
        option where nothing is."""
        if not value:
            source = cls(installed_from()[0] or __version__)
            return source if source.is_path else cls(__version__)
        chosen = cls(value)
        path = Path(value).expanduser()
        if chosen.is_wheel and not path.is_file():
            raise ValueError(f"ledger_install={value}: found no such file, expected a wheel")
        if chosen.is_archive and not path.is_file():
            raise ValueError(f"ledger_install={value}: found no such file, expected a source archive")
        if "/" in value and not chosen.is_path:
            raise ValueError(f"ledger_install={value}: found no such folder, expected a checkout")
        return chosen

    @property
    def is_wheel(self) -> bool:
        """Whether it is named like a wheel."""
        return self.value.endswith(".whl")

    @property
    def is_archive(self) -> bool:
        """Whether it is named like a source archive, of which a wheel can be built."""
        return self.value.endswith((".tar.gz", ".zip"))

    @property
    def is_path(self) -> bool:
        """Whether it is the path of something from which a wheel is taken or built."""
        path = Path(self.value).expanduser()
        return path.is_file() if self.is_wheel or self.is_archive else path.is_dir()

    async def requirement(self, environment: _Environment, extra: str) -> str:
        """The requirement for pip or uv; a wheel is built if necessary, and uploaded."""
        package = f"execledger[{extra}]" if extra else "execledger"
        path = Path(self.value).expanduser()
        if not self.is_path:
            return f"{package}=={self.value}"
        wheel = path if self.is_wheel else await asyncio.to_thread(built_wheel, path.resolve())
        target = f"/installed-agent/{wheel.name}"
        await environment.upload_file(wheel, target)
        await environment.exec(f"chmod a+r {shlex.quote(target)}", user="root")
        return f"{package} @ file://{target}"


_BUILDING = threading.Lock()
"""Held while a wheel is built: trials that start together build it once."""


def built_wheel(source: Path) -> Path:
    """The wheel of a checkout or source archive, built at the first call of a process; raises ``LedgerNotStarted``."""
    with _BUILDING:
        return _built_wheel(source)


@cache
def _built_wheel(source: Path) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="execledger-wheel-"))
    uv = shutil.which("uv")
    if uv:
        command: Sequence[str] = (uv, "build", "--quiet", "--wheel", "-o", str(folder), str(source))
    else:
        command = (sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(folder), str(source))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wheels = sorted(folder.glob("*.whl"))
    if done.returncode or not wheels:
        said = (done.stderr or done.stdout).strip().splitlines()[-1:]
        raise LedgerNotStarted(f"no wheel can be built of {source}: {''.join(said)}")
    return wheels[0]


@cache
def _agent_class(name: str) -> type:
    """Make the class that Harbor imports."""
    from pydantic import Field, create_model

    known = AGENTS[name]
    inner = getattr(import_module(known.module), known.name)
    if not hasattr(inner, "options_model"):
        # An AttributeError would be reported as a class that is not there.
        raise LedgerError(f"{name}: found harbor {version('harbor')}, expected {OLDEST} or newer")
    flags = Field(default="", description="Options of execledger run, such as --sealed.")
    source = Field(default="", description="Version, wheel, sdist or checkout of execledger to install, or 'present'.")
    fields: dict[str, Any] = {"ledger": (str | list[str], flags), "ledger_install": (str, source)}
    body = {
        "__module__": __name__,
        "__doc__": f"Harbor's {known.name} with Ledger around it.",
        "program": known.program,
        "options_model": create_model(f"{name}Options", __base__=inner.options_model, **fields),
        "name": staticmethod(lambda: OURS + inner.name()),
    }
    return types.new_class(name, (Ledgered, inner), {}, lambda namespace: namespace.update(body))


def __getattr__(name: str) -> type:
    """The class of an agent, made of Harbor's when it is asked for."""
    if name in AGENTS:
        return _agent_class(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
