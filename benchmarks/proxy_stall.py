"""How long others wait while the proxy takes in a long history: `/healthz`, and a small session on its own connection.

    python -m benchmarks.proxy_stall [NAME...]

The real proxy is a process of its own, with journals on disk, before a server that answers at once. Each history is new
to it, and is sent by another process. Both kinds of waits are measured as long again without it, in the same run: the
difference of the longest is what the history adds. A busy machine shows in both.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from http.client import HTTPConnection
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from benchmarks._proxy_stacks import ROOT, first_line, ours, running
from benchmarks._stall_histories import HISTORIES, body_of, post, usual
from execledger import __version__

BOUND = 0.050
"""Seconds that a history may add to the longest wait."""
PAUSE = 0.003
"""Seconds between two questions."""
AFTER = 1.0
"""Seconds that are measured behind the answer to a long history: its journal is written then."""


class Waits(NamedTuple):
    """What others waited, in seconds."""

    health: list[float]
    """For `/healthz`."""
    small: list[float]
    """For the whole answer to a small request."""


class Poller:
    """Asks again and again, on a thread of its own, while it is entered."""

    def __init__(self, ask: Callable[[], None]) -> None:
        """Asks by calling ``ask``."""
        self.waits: list[float] = []
        self._ask = ask
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Poller:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(PAUSE):
            start = time.perf_counter()
            self._ask()
            self.waits.append(time.perf_counter() - start)


def measured(url: str, while_: Callable[[], None]) -> Waits:
    """What others wait while something is done."""
    where = urlsplit(url)
    health, small = (HTTPConnection(where.hostname or "", where.port, timeout=600) for _ in range(2))
    body = body_of(usual(20_000))

    def ask_health() -> None:
        health.request("GET", "/healthz")
        health.getresponse().read()

    def ask_small() -> None:
        post(small, f"{where.path}/responses", "small", body)

    ask_health()
    ask_small()
    with Poller(ask_health) as first, Poller(ask_small) as second:
        while_()
    return Waits(first.waits, second.waits)


def sent(url: str, name: str) -> tuple[float, Waits, Waits]:
    """How long a history took, what others waited meanwhile, and as long again without it."""
    command = [sys.executable, "-m", "benchmarks._stall_histories", url, name]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as sender:
        assert sender.stdin is not None and sender.stdout is not None
        pipe, answer = sender.stdin, sender.stdout
        answer.readline()
        taken: list[float] = []

        def send() -> None:
            pipe.write("\n")
            pipe.flush()
            taken.append(float(answer.readline() or "nan"))
            time.sleep(AFTER)

        during = measured(url, send)
        without = measured(url, lambda: time.sleep(taken[0] + AFTER))
    return taken[0], during, without


def main() -> int:
    """Print the table; the exit status says whether the bound holds."""
    parser = argparse.ArgumentParser(prog="benchmarks.proxy_stall", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"some of: {', '.join(HISTORIES)}")
    names = parser.parse_args().names or list(HISTORIES)
    held = True
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        script = [sys.executable, "-m", "benchmarks._stall_upstream"]
        upstream = first_line(stack.enter_context(running(script, Path(folder) / "upstream.log")))
        proxy, _ = ours(upstream, Path(folder), stack, "full")
        print(f"execledger {__version__}, Python {sys.version.split()[0]}: longest wait of others, ms")
        print(f"{'':24}{'taken':>8}  {'/healthz':>8}{'without':>8}{'adds':>8}  {'small':>8}{'without':>8}{'adds':>8}")
        for name in names:
            taken, during, without = sent(proxy.url, name)
            added = [max(0.0, max(now) - max(then)) for now, then in zip(during, without, strict=True)]
            held = held and max(added) <= BOUND
            cells = "".join(
                f"  {max(now) * 1e3:8.1f}{max(then) * 1e3:8.1f}{more * 1e3:8.1f}"
                for now, then, more in zip(during, without, added, strict=True)
            )
            print(f"{name:24}{taken:7.1f}s{cells}", flush=True)
    print(f"proxy stall: {'held' if held else 'NOT held'}: a long history adds at most {BOUND * 1e3:.0f} ms")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
