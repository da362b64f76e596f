"""Starts Codex with Ledger's proxy between it and its model; called by ``execledger run``.

The proxy lives in this process and Codex is its child, in the same terminal: signals reach it, its exit status becomes
ours, and when we die, by whatever signal, it is told to end.
"""

from __future__ import annotations

import ctypes
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from types import FrameType

from execledger.agents.codex import tools
from execledger.agents.codex.config import Route, Version, direct_tools, overridden, route, subcommand
from execledger.agents.registry import Launch
from execledger.journal.folder import edits_file
from execledger.proxy.book import Rules
from execledger.proxy.serve import Proxy, ProxySettings
from execledger.runs.account import sentences

ASIDE = frozenset(
    "agents apply a archive cloud completion debug delete doctor exec-server features help login logout mcp "
    "migrate-nfs-db migrate-rollouts plugin queue remote-control sandbox unarchive update "
    "-V --version -h --help".split()
)
"""Subcommands and options that ask no model: these start as they are."""
PASSED_ON = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
"""Signals that are meant for the agent."""
OF_THE_TERMINAL = (signal.SIGINT, signal.SIGQUIT)
"""Signals that a terminal sends to every process in the foreground, and so to the agent as well."""
_DEATH_SIGNAL = 1


def start(program: str, arguments: list[str], launch: Launch) -> int:
    """Run Codex to its end; its exit status."""
    if not ASIDE.isdisjoint((subcommand(arguments), *arguments[:1])):
        os.execv(program, [program, *arguments])
    options = launch.options
    chosen = route(arguments, os.environ, lambda: _version(program), options.get("--upstream", ""))
    # The screen is the agent's while it runs.
    told: list[str] = []
    rules = Rules(
        policy=launch.policy,
        sealed="--sealed" in options,
        local_files=True,
        journals=launch.journals,
        tell=told.append,
    )
    with ExitStack() as stack:
        # The port is taken first and served last: a process with one thread can start another safely.
        proxy = Proxy(
            ProxySettings(
                adapter=tools,
                upstream=chosen.upstream,
                rules=rules,
                edits=edits_file(),
                pass_through="--pass-through" in options,
            )
        )
        settings = chosen.settings(proxy.url)
        if "--direct-tools" in options:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="execledger-"))
            settings["model_catalog_json"] = str(direct_tools(program, Path(folder)))
        command = [program, *overridden(arguments, settings)]
        child = subprocess.Popen(command, env=_environment(chosen, proxy.url), preexec_fn=_ends_with(os.getpid()))
        # Without us it would find nobody to talk to.
        stack.callback(_put_an_end_to, child)
        _pass_signals(child)
        with proxy:
            status = child.wait()
    for line in (*dict.fromkeys(told), *sentences(proxy.summaries)):
        print(line, file=sys.stderr)
    return status if status >= 0 else _end_by(-status)


def _put_an_end_to(child: subprocess.Popen[bytes]) -> None:
    """End an agent that is still there, as it is only when something has gone wrong with us."""
    if child.poll() is None:
        child.terminate()
        child.wait()


def _version(program: str) -> Version:
    """Which Codex this is; one that does not say is taken for the newest."""
    asked = subprocess.run(
        [program, "--version"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    found = re.search(r"(\d+)\.(\d+)\.(\d+)", asked.stdout)
    return tuple(map(int, found.groups())) if found else (sys.maxsize,)


def _environment(chosen: Route, url: str) -> dict[str, str]:
    """The environment of Codex: a proxy of the network must not be asked for an address on this machine."""
    names = ("NO_PROXY", "no_proxy")
    near = ",".join(dict.fromkeys([*filter(None, map(os.environ.get, names)), "127.0.0.1"]))
    return {**os.environ, **dict.fromkeys(names, near), **chosen.variables(url)}


def _end_by(number: int) -> int:
    """End as the agent did, by a signal: whoever waits for us should see the same."""
    # Some signals can't be caught, and have their effect anyway.
    with suppress(OSError):
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    return 128 + number


def _pass_signals(child: subprocess.Popen[bytes]) -> None:
    """Hand signals on to the agent, where the terminal does not do it."""

    def hand_on(number: int, _: FrameType | None) -> None:
        child.send_signal(number)

    def leave(number: int, frame: FrameType | None) -> None:
        if not _in_foreground():
            hand_on(number, frame)

    for number in PASSED_ON:
        signal.signal(number, hand_on)
    for number in OF_THE_TERMINAL:
        signal.signal(number, leave)


def _in_foreground() -> bool:
    """A terminal has us in its foreground: what is typed there reaches the agent too."""
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
