"""The stacks that are measured, each a process of its own on loopback: a scripted upstream, and what stands before it.

LiteLLM and mitmproxy are installed into environments of their own, once.
"""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from benchmarks._wires import WIRES, Wire

ROOT = Path(__file__).resolve().parents[1]
PEERS = ROOT / ".venv" / "peers"
HOST = "127.0.0.1"
START_SECONDS = 120.0
"""How long a stack may take to listen: LiteLLM imports for half a minute on a slow machine."""
KEY = f"sk-{secrets.token_hex(32)}"
"""What clients authorize themselves with; LiteLLM does not start without a key."""


class Stack(NamedTuple):
    """Something that answers requests."""

    name: str
    """What it is called in tables."""
    url: str
    """Its base address."""
    routes: tuple[str, ...] = ()
    """Agents that have a path of their own below it."""

    def address(self, wire: Wire) -> str:
        """Where requests of a dialect are sent."""
        root = self.url.removesuffix("/v1")
        return f"{root}/{wire.agent}{wire.path}" if wire.agent in self.routes else f"{root}{wire.version}{wire.path}"


class Peer(NamedTuple):
    """Another proxy."""

    name: str
    """What it is called in tables."""
    requirement: str
    """What pip is asked for."""
    tool: str
    """The program that it is started by."""


class PeerError(Exception):
    """A peer can't be installed or started."""


MITMPROXY = Peer("mitmproxy", "mitmproxy", "mitmdump")
LITELLM = Peer("LiteLLM", "litellm[proxy]", "litellm")


def installed(peer: Peer) -> Path:
    """The peer's environment, made if it is not there."""
    folder = PEERS / peer.tool
    stamp = folder / "installed"
    if not stamp.is_file():
        print(f"installing {peer.name}, once; this can take minutes", file=sys.stderr)
        python = folder / "bin" / "python"
        if uv := shutil.which("uv"):
            _succeed(uv, "venv", "--quiet", "--clear", "--python", sys.executable, folder)
            _succeed(uv, "pip", "install", "--quiet", "--python", python, peer.requirement)
        else:
            _succeed(sys.executable, "-m", "venv", "--clear", folder)
            _succeed(python, "-m", "pip", "install", "--quiet", peer.requirement)
        stamp.write_text(peer.requirement + "\n")
    return folder


def version(peer: Peer) -> str:
    """The version that is installed."""
    package = peer.requirement.partition("[")[0]
    code = f"import importlib.metadata; print(importlib.metadata.version({package!r}))"
    return _succeed(PEERS / peer.tool / "bin" / "python", "-c", code).strip()


def _succeed(*command: str | Path) -> str:
    """The output of a command that must succeed."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        last = next((line for line in reversed(done.stderr.splitlines()) if line.strip()), "no reason given")
        raise PeerError(f"{Path(command[0]).name}: exit {done.returncode}: {last}")
    return done.stdout


@contextmanager
def running(command: Sequence[str | Path], log: Path, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """A process, ended when this is left; its first line can be read, and what it complains of goes to ``log``."""
    variables = {**os.environ, **environment}
    with (
        log.open("w") as errors,
        subprocess.Popen(command, cwd=ROOT, env=variables, stdout=subprocess.PIPE, stderr=errors, text=True) as process,
    ):
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()


def first_line(process: subprocess.Popen[str]) -> str:
    """What a process says when it is ready."""
    assert process.stdout is not None
    line = process.stdout.readline().strip()
    if not line:
        raise PeerError(f"it ended at once, with exit status {process.wait()}")
    return line


def ours(upstream: str, folder: Path, stack: ExitStack, name: str, *options: str) -> tuple[Stack, int]:
    """Our own proxy, with journals and edits on disk; and its process id."""
    state = folder / name.replace(" ", "-")
    state.mkdir()
    root = upstream.removesuffix("/v1")
    command = [sys.executable, "-m", "execledger", "proxy", "--upstream", f"{root}/v1", "--upstream", f"gemini={root}"]
    command += ["--journal", str(state), *options]
    process = stack.enter_context(running(command, state / "log", XDG_STATE_HOME=str(state), EXECLEDGER=""))
    return Stack(name, first_line(process), ("gemini",)), process.pid


def mitmproxy(upstream: str, folder: Path, stack: ExitStack) -> Stack:
    """mitmproxy as a reverse proxy that streams bodies both ways."""
    base, port = upstream.removesuffix("/v1"), free_port()
    command: list[str | Path] = [
        installed(MITMPROXY) / "bin" / MITMPROXY.tool,
        *("--quiet", "--mode", f"reverse:{base}", "--listen-host", HOST, "--listen-port", str(port)),
        *("--set", "stream_large_bodies=1", "--set", f"confdir={folder / 'mitmproxy'}"),
    ]
    return _listening(MITMPROXY, command, port, folder, stack)


def litellm(upstream: str, folder: Path, stack: ExitStack) -> Stack:
    """LiteLLM's proxy with one server behind it, as a provider of each dialect's kind."""
    port, config, root = free_port(), folder / "litellm.yaml", upstream.removesuffix("/v1")
    config.write_text("model_list:\n" + "".join(_litellm_model(wire, root) for wire in WIRES.values()))
    command: list[str | Path] = [
        installed(LITELLM) / "bin" / LITELLM.tool,
        *("--config", config, "--host", HOST, "--port", str(port), "--num_workers", "1"),
    ]
    settings = {"LITELLM_MASTER_KEY": KEY, "LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_LOG": "ERROR"}
    return _listening(LITELLM, command, port, folder, stack, **settings)


def _litellm_model(wire: Wire, root: str) -> str:
    """The lines of LiteLLM's configuration for the model of a dialect."""
    # It appends the whole path to an address of Anthropic's kind, and the method to one of Google's.
    base = {"anthropic": root, "gemini": f"{root}/v1beta"}.get(wire.provider, f"{root}/v1")
    return (
        f"  - model_name: {wire.model}\n    litellm_params:\n"
        f"      model: {wire.provider}/{wire.model}\n      api_base: {base}\n      api_key: none\n"
    )


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def _listening(
    peer: Peer, command: Sequence[str | Path], port: int, folder: Path, stack: ExitStack, **environment: str
) -> Stack:
    """A started peer; its own words go to a file, so that no pipe fills up."""
    log = folder / f"{peer.tool}.log"
    quiet = ["sh", "-c", 'exec "$@" >&2', "sh", *command]
    process = stack.enter_context(running(quiet, log, **environment))
    deadline = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex((HOST, port)) == 0:
                return Stack(f"{peer.name} {version(peer)}", f"http://{HOST}:{port}/v1")
        time.sleep(0.1)
    last = next((line for line in reversed(log.read_text().splitlines()) if line.strip()), "no reason given")
    raise PeerError(f"it does not listen: {last}")
