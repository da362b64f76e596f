"""Runs an agent with Ledger's proxy between it and its model, for the launchers of such agents.

The proxy lives in this process and the agent is its child, in the same terminal: signals reach it, its exit status
becomes ours, and when this process dies, by whatever signal, the agent is asked to end.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, suppress
from types import FrameType

from msgspec import Struct

from execledger.agents.registry import Launch
from execledger.journal.events import BYPASSED, Started, policy_fields
from execledger.journal.folder import edits_file
from execledger.proxy.book import Rules
from execledger.proxy.call_reports import CallReports, HookPort
from execledger.proxy.relay import PREFIX
from execledger.proxy.serve import Proxy, ProxySettings
from execledger.runs.account import sentences
from execledger.session.adapter import Adapter
from execledger.session.chronicle import Chronicle
from execledger.session.session import error_text
from execledger.version import __version__

PASSED_ON = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
"""Signals that are meant for the agent."""
OF_THE_TERMINAL = (signal.SIGINT, signal.SIGQUIT)
"""Signals that a terminal sends to every process in the foreground, and so to the agent as well."""
SAW_NOTHING = (
    "Ledger saw no request of {program} that lets a model use tools: there was none, or it went to another address "
    "(`execledger doctor` shows what is set up)."
)
"""What is said at the end if no request that asks a model to act reached the proxy."""
STOP_SECONDS = 10.0
"""How long an agent may take to end when it is asked to."""
LONG_SECONDS = 10.0
"""How long an agent must have run for that if it failed: one that failed at once has said why."""
NO_PROXY = ("NO_PROXY", "no_proxy")
"""The variables that list the hosts for which no web proxy is used."""
NEAR = ("127.0.0.1", "localhost")
"""The names of this machine."""
_DEATH_SIGNAL = 1


class AgentCommand(Struct, frozen=True):
    """The command line and environment that lead an agent to the proxy."""

    arguments: list[str]
    """The program's arguments."""
    variables: Mapping[str, str] = {}
    """Variables in addition to those of this process; "" removes one."""


def run_behind_proxy(
    program: str,
    launch: Launch,
    adapter: Adapter,
    upstream: str,
    started: Callable[[str, ExitStack], AgentCommand],
    prefix: str = PREFIX,
    routes: Mapping[str, str] | None = None,
    web_proxies: Mapping[str, str] | None = None,
    reports: CallReports | None = None,
) -> int:
    """Run an agent to its end; its exit status.

    A fault of ours is raised only while the agent has not worked yet, and ended if it was started. ``started`` is given
    the proxy's address, and a stack for what is to be cleaned up at the end. ``routes`` are further path prefixes, each
    with its own upstream; with them, ``upstream`` may be "". ``web_proxies`` are those of the user's settings, by
    scheme, in place of those of the environment; ``reports`` takes what hooks of the agent report.
    """
    # The screen belongs to the agent while it runs.
    told: list[str] = []
    settings = ProxySettings(
        adapter=adapter,
        upstream=upstream,
        prefix=prefix,
        routes=routes or {},
        rules=_rules(launch, told.append, reports),
        edits=edits_file(),
        pass_through="--pass-through" in launch.options,
        web_proxies=web_proxies,
    )
    ended: list[int] = []
    try:
        with ExitStack() as stack:
            # The port is taken first and served last: a process with one thread can start another safely.
            proxy = Proxy(settings)
            stack.callback(proxy.discard)
            how = started(proxy.url, stack)
            command = [program, *how.arguments]
            child = subprocess.Popen(command, env=_environment(how.variables), preexec_fn=_ends_with(os.getpid()))
            stack.callback(_put_an_end_to, child)
            _pass_signals(child)
            begun = time.monotonic()
            with proxy:
                ended.append(child.wait())
        if not proxy.asked_to_act and (ended == [0] or time.monotonic() - begun > LONG_SECONDS):
            told.append(SAW_NOTHING.format(program=os.path.basename(program)))
            _note_bypass(os.path.basename(program), launch, told.append)
        _print_all((*dict.fromkeys(told), *sentences(proxy.summaries)))
    except Exception as error:
        if not ended:
            # The agent has not worked yet: the caller can start it without Ledger.
            raise
        with suppress(Exception):
            print(f"Ledger: a fault of its own behind the end of the agent: {error_text(error)}", file=sys.stderr)
    (status,) = ended
    return status if status >= 0 else _end_by(-status)


def _rules(launch: Launch, tell: Callable[[str], None], reports: CallReports | None) -> Rules:
    """What is done with the conversations of an agent that is started as ``launch`` says."""
    return Rules(
        policy=launch.policy,
        sealed="--sealed" in launch.options,
        local_files=True,
        journals=launch.journals,
        reports=reports,
        tell=tell,
    )


def reports_for(launch: Launch, port: HookPort) -> CallReports | None:
    """Where the agent's hooks report to; None if the user did not ask for hooks, or nothing is to be changed."""
    options = launch.options
    return CallReports(port) if "--hooks" in options and "--pass-through" not in options else None


def session_address(url: str) -> str:
    """The proxy's address ``url`` with a path that names a new session, for clients whose requests name none."""
    return f"{url.rstrip('/')}/run/{uuid.uuid4().hex}"


def _note_bypass(agent: str, launch: Launch, tell: Callable[[str], None]) -> None:
    """Record a run that had no request to a model at the proxy, so that ``stats`` counts it."""
    name = f"{agent}-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
    chronicle = Chronicle(launch.journals, name, tell)
    fields = policy_fields(launch.policy)
    chronicle.note(Started(software=__version__, run=name, agent=agent, policy=fields))
    chronicle.end(BYPASSED)


def _print_all(lines: Iterable[str]) -> None:
    """Print what is said at the end."""
    for line in lines:
        print(line, file=sys.stderr)


def _put_an_end_to(child: subprocess.Popen[bytes]) -> None:
    """End an agent that is still running, which it is only after a fault of ours."""
    if child.poll() is None:
        child.terminate()
        try:
            child.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def past_web_proxies(variables: Mapping[str, str]) -> dict[str, str]:
    """The variables with which a web proxy is not used for an address on this machine."""
    listed = [one.strip() for name in NO_PROXY for one in variables.get(name, "").split(",")]
    hosts = dict.fromkeys(filter(None, listed))
    # An asterisk, which means every host, is understood only where it is alone.
    near = "*" if list(hosts) == ["*"] else ",".join({**hosts, **dict.fromkeys(NEAR)})
    return dict.fromkeys(NO_PROXY, near)


def web_proxies_of(variables: Mapping[str, str]) -> dict[str, str]:
    """The web proxies that variables name, by scheme, and as ``no`` the hosts for which none is used."""
    names = {scheme: f"{scheme}_proxy" for scheme in ("http", "https", "no")}
    return {scheme: variables.get(name) or variables.get(name.upper(), "") for scheme, name in names.items()}


def _environment(variables: Mapping[str, str]) -> dict[str, str]:
    """The environment of the agent: a proxy of the network is not used for an address on this machine."""
    merged = {**os.environ, **past_web_proxies(os.environ), **variables}
    return {name: value for name, value in merged.items() if value or name not in variables}


def _end_by(number: int) -> int:
    """End as the agent did, by a signal, so that the parent process sees the same status."""
    # Some signals can't be caught, and have their effect anyway.
    with suppress(OSError):
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    return 128 + number


def _pass_signals(child: subprocess.Popen[bytes]) -> None:
    """Forward signals to the agent, where the terminal does not do it."""

    def forward(number: int, _: FrameType | None) -> None:
        child.send_signal(number)

    def forward_from_elsewhere(number: int, frame: FrameType | None) -> None:
        if not _in_foreground():
            forward(number, frame)

    for number in PASSED_ON:
        signal.signal(number, forward)
    for number in OF_THE_TERMINAL:
        signal.signal(number, forward_from_elsewhere)


def _in_foreground() -> bool:
    """Whether a terminal has this process in its foreground: then its keys reach the agent too."""
    try:
        with open("/dev/tty", "rb", buffering=0) as terminal:
            return os.tcgetpgrp(terminal.fileno()) == os.getpgrp()
    except OSError:
        return False


def _ends_with(parent: int) -> Callable[[], None] | None:
    """What the child does first, where the system can: ask to be ended when ``parent`` dies."""
    if not sys.platform.startswith("linux"):
        return None
    library = ctypes.CDLL(None)

    def ask() -> None:
        library.prctl(_DEATH_SIGNAL, signal.SIGTERM)
        if os.getppid() != parent:
            os._exit(1)

    return ask
