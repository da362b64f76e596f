"""Many sessions at once through one proxy process: no error, no cross-talk, and memory that does not leak.

    python -m benchmarks.proxy_soak [--sessions N] [--steps N]

The client acts as Codex does: it runs what it is told to run, and sends its whole history again with each request. Call
ids are the same in all sessions. Both ends check everything that they get: the model's side that every item belongs to
the session, that its own calls come back as it made them, and that each request begins with what it was shown before;
the client's side that every call is its own.

Memory can't stay what it was after the first tenth, although the sessions read everything that there is to read in it:
a ledger keeps a record of each step, and every session has a request on its way at any time, in which its whole history
stands. So there are two bounds. Memory grows by little for each step, wherever in the session it stands; and it does
not grow at all with requests that bring nothing new.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from aiohttp import ClientSession

from benchmarks._client_sessions import ClientSession as Client
from benchmarks._client_sessions import Plan
from benchmarks._proxy_load import Reply, ask, connections, step
from benchmarks._proxy_stacks import Stack, first_line, ours, running
from benchmarks._soak_upstream import LABEL
from execledger.core.policy import Preset

PLAN = Plan(lines=30, fresh=8)
REPEATS = 3
"""How often each session sends its last request again, as a client does whose connection broke."""
MAX_STEP = 12.0
"""Kilobytes that a step may add to the proxy's memory: 5 in the ledger and the history; and its text of 2.3, as it came
or as it goes, in the request that is on its way."""
MAX_REPEATED = 1.1
"""How much more memory there may be when every request was sent again."""
FAULT = "fault of its own"
"""What the proxy says when it has failed, and gone on without Ledger."""


class Soaked(NamedTuple):
    """What came of one pass."""

    seconds: float
    """How long it took."""
    memory: list[float]
    """Megabytes of the proxy's process after each tenth."""
    repeated: float
    """Megabytes when the last requests were sent again, against those before."""
    shims: int
    """Calls that did not run."""
    shown: dict[str, int]
    """How the model was shown results."""
    faults: int
    """How often the proxy failed."""

    def per_step(self, steps: int) -> float:
        """Kilobytes that each step behind the first tenth has added, of so many in all."""
        return (self.memory[-1] - self.memory[0]) * 1024 / (steps * 0.9)


class Crowd:
    """All sessions, on a connection each."""

    def __init__(self, client: ClientSession, proxy: Stack, process: int, sessions: int) -> None:
        """Sessions that have said nothing yet."""
        self.sessions = [Client(PLAN, number, place=f"s{number:05}") for number in range(sessions)]
        self.memory: list[float] = []
        """Megabytes of the proxy's process, whenever it was looked at."""
        self._client, self._proxy, self._process = client, proxy, process

    async def each(self, times: int, looks: int, work: Callable[[Client], Awaitable[Reply]]) -> None:
        """Let every session do something so many times; look at the memory so often meanwhile."""
        total, done = len(self.sessions) * times, 0

        async def agent(session: Client) -> None:
            nonlocal done
            for _ in range(times):
                named = set(LABEL.findall((await work(session)).data.decode()))
                assert named == {session.label}, f"{session.label}: an answer names {sorted(named)}"
                done += 1
                if done * looks // total > (done - 1) * looks // total:
                    self.memory.append(resident(self._process))

        async with asyncio.TaskGroup() as tasks:
            for session in self.sessions:
                tasks.create_task(agent(session))

    async def step(self, session: Client) -> Reply:
        """One more step."""
        return await step(self._client, self._proxy, session)

    async def repeat(self, session: Client) -> Reply:
        """The same request again."""
        return await ask(self._client, self._proxy, session, session.body())


def resident(process: int) -> float:
    """Megabytes of memory that a process holds."""
    told = subprocess.run(["ps", "-o", "rss=", "-p", str(process)], capture_output=True, text=True, check=True)
    return int(told.stdout) / 1024


async def crowded(proxy: Stack, process: int, sessions: int, steps: int) -> tuple[list[float], int]:
    """The memory after each tenth, and before and after the repeats; and how many calls did not run."""
    async with connections() as client:
        crowd = Crowd(client, proxy, process, sessions)
        await crowd.each(steps, 10, crowd.step)
        assert [session.steps for session in crowd.sessions] == [steps] * sessions, "a session stopped too early"
        # The first of these still brings the last step's result.
        await crowd.each(1, 1, crowd.repeat)
        await crowd.each(REPEATS, 1, crowd.repeat)
        return crowd.memory, sum(session.shims for session in crowd.sessions)


def soak(preset: Preset, sessions: int, steps: int) -> Soaked:
    """Run all sessions through a new proxy."""
    script = [sys.executable, "-m", "benchmarks._soak_upstream", str(PLAN.lines), str(PLAN.fresh)]
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        upstream = stack.enter_context(running(script, folder / "upstream.log"))
        proxy, process = ours(first_line(upstream), folder, stack, "soaked", "--preset", preset)
        start = time.perf_counter()
        (*memory, before, after), shims = asyncio.run(crowded(proxy, process, sessions, steps))
        seconds = time.perf_counter() - start
        upstream.terminate()
        shown = json.loads(first_line(upstream))
        faults = (folder / "soaked" / "log").read_text().count(FAULT)
        assert shown.get("by a reference") and bool(shims) == (preset is Preset.PAPER), f"nothing was tried: {shown}"
        return Soaked(seconds, memory, after / before, shims, shown, faults)


def described(preset: Preset, soaked: Soaked, steps: int) -> Sequence[str]:
    """What came of a pass, in lines."""
    shown = ", ".join(f"{count} {manner}" for manner, count in sorted(soaked.shown.items()))
    first, last = soaked.memory[0], soaked.memory[-1]
    return (
        f"{preset}: {soaked.seconds:.0f} s, {soaked.faults} faults; {soaked.shims} calls did not run; {shown}",
        f"  memory by tenths, MB: {' '.join(f'{one:.0f}' for one in soaked.memory)}",
        f"  at the end against the first tenth: {last / first:.2f} times, {soaked.per_step(steps):.1f} KB for each step"
        f" (at most {MAX_STEP:.0f}); after repeats: {soaked.repeated:.2f} times (at most {MAX_REPEATED})",
    )


def main() -> int:
    """Print what came of each pass; the exit status says whether the bounds hold."""
    parser = argparse.ArgumentParser(prog="benchmarks.proxy_soak", description="Many sessions through one proxy.")
    parser.add_argument("--sessions", type=int, default=200)
    parser.add_argument("--steps", type=int, default=100)
    options = parser.parse_args()
    # Whatever was started ends with us, also when we are told to end.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    total = options.sessions * options.steps
    passes: list[Soaked] = []
    print(f"{options.sessions} sessions of {options.steps} steps at once, {PLAN.lines} lines of output each")
    for preset in (Preset.VERIFIED, Preset.PAPER):
        passes.append(soak(preset, options.sessions, options.steps))
        print("\n".join(described(preset, passes[-1], total)), flush=True)
    faults = sum(soaked.faults for soaked in passes)
    added = max(soaked.per_step(total) for soaked in passes)
    repeated = max(soaked.repeated for soaked in passes)
    held = not faults and added <= MAX_STEP and repeated <= MAX_REPEATED
    print(
        f"proxy_soak: {'held' if held else 'NOT held'}: {faults} faults, no cross-talk, {added:.1f} KB of memory for"
        f" each step (at most {MAX_STEP:.0f}), {repeated:.2f} times after repeats (at most {MAX_REPEATED})"
    )
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
