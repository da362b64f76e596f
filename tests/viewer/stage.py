"""Runs to look at, and ways to look at them."""

from __future__ import annotations

import gzip
import io
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any

from execledger.core.ledger import Ledger
from execledger.core.policy import Policy
from execledger.journal.codec import encode
from execledger.journal.events import Event, recorded
from execledger.viewer.counting import run_id
from execledger.viewer.live import Pace
from execledger.viewer.reading import JournalReading
from execledger.viewer.server import Viewer, ViewerSettings
from execledger.vocabulary.actions import Action, Observation
from execledger.vocabulary.decisions import Allow, Shown, Step
from tests.journal.runs import TASK, events_of, start
from tests.support.simulation.sessions import simulate

DEMO = Path(__file__).parents[2] / "src/execledger/demo/demo.traj.json"
"""A small recorded run."""
PATIENCE = 180.0
"""Seconds after which something that must happen is given up."""


def eventually(holds: Callable[[], object]) -> None:
    """Wait until something holds; it is a failure if it never does."""
    until = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < until, "it never came to hold"
        time.sleep(0.02)


@contextmanager
def viewers_ended(folder: Path) -> Iterator[None]:
    """In the end, end the viewers that were started beside an agent on ``folder``: they would stay for a while."""
    try:
        yield
    finally:
        for number, words in _processes():
            if "execledger.viewer.sidecar" in words and str(folder) in words:
                with suppress(ProcessLookupError):
                    os.kill(number, signal.SIGTERM)


def _processes() -> Iterator[tuple[int, list[str]]]:
    """Every process, and the words of its command, as far as the system tells."""
    if not Path("/proc/self").exists():
        listed = subprocess.run(["ps", "-axo", "pid=,args="], capture_output=True, text=True, check=True).stdout
        yield from ((int(line.split()[0]), line.split()[1:]) for line in listed.splitlines())
        return
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            yield int(entry.name), os.fsdecode((entry / "cmdline").read_bytes()).split("\0")


def journal_bytes(events: list[Event]) -> bytes:
    """A journal with these events."""
    return b"".join(map(encode, events))


def simulated(folder: Path, seed: int, *, hostile: bool = False, policy: Policy | None = None) -> list[Event]:
    """The events of a session with real commands in ``folder``."""
    folder.mkdir()
    return events_of(simulate(folder, seed, hostile=hostile, policy=policy), sealed=not hostile)


def read_journal(data: bytes, name: str = "one") -> JournalReading:
    """A journal, read to its end."""
    reading = JournalReading(name, lambda: io.BytesIO(data))
    reading.read()
    return reading


def shown(command: str, output: str = "", thread: str = "", **fields: Any) -> Step:
    """A step that was allowed and shown in full."""
    action = Action(command, "/repo", thread=thread)
    return Step(action, Allow("new"), Observation(output, exit_status=0), Shown("full"), **fields)


def told(steps: list[Step], policy: Policy | None = None) -> list[Event]:
    """The events of a run that made these steps, one in each turn."""
    ledger = Ledger(TASK, policy)
    events: list[Event] = [start(policy)]
    for turn, step in enumerate(steps):
        ledger.record(step)
        events.append(recorded(ledger, step, turn=turn, sealed=True))
    return events


QUICK = Pace(first=60.0, poll=0.02, heartbeat=0.1)
"""How often things are done in tests; a run is read to its end before it is shown, however busy the machine is."""


@contextmanager
def served(*paths: Path, **settings: Any) -> Iterator[Page]:
    """A viewer on these paths, and somebody who asks."""
    with Viewer(ViewerSettings(paths=tuple(map(str, paths)), **{"pace": QUICK, **settings})) as viewer:
        yield Page(viewer.port)


class Page:
    """Asks a viewer as a page does."""

    def __init__(self, port: int) -> None:
        self.port = port

    def ask(self, path: str, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body of an answer; a packed one is unpacked."""
        with self.open(path, method, **headers) as answer:
            body = answer.read()
        found = {name.lower(): value for name, value in answer.getheaders()}
        packed = body and found.get("content-encoding") == "gzip"
        return answer.status, found, gzip.decompress(body) if packed else body

    @contextmanager
    def open(self, path: str, method: str = "GET", **headers: str) -> Iterator[HTTPResponse]:
        """An answer that is still coming."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        with closing(connection):
            connection.putrequest(method, path, skip_host="Host" in headers, skip_accept_encoding=True)
            for name, value in headers.items():
                connection.putheader(name.replace("_", "-"), value)
            connection.endheaders()
            with connection.getresponse() as answer:
                yield answer

    def get(self, path: str) -> Any:
        """What an answer says."""
        status, _, body = self.ask(path)
        assert status == 200, body
        return json.loads(body)

    def listed(self, query: str = "") -> Any:
        """The list of runs, once all of them are found and counted."""
        eventually(lambda: (answer := self.get("/api/runs"))["listed"] and not answer["pending"])
        return self.get(f"/api/runs?{query}")

    def error(self, path: str) -> tuple[int, str]:
        """The status and the words of an answer that says no."""
        status, _, body = self.ask(path)
        return status, json.loads(body)["error"]


def api(path: Path | str) -> str:
    """The address of the run at a path."""
    return f"/api/runs/{run_id(str(path))}"
