"""What our proxy adds to a request, side by side in one run with none, and with mitmproxy and LiteLLM.

    python -m benchmarks.proxy [--quick] [--without-peers] [--without-http] [--dialect NAME]...

Every stack is a process of its own on loopback, before the same scripted upstream. Sessions are made up, in each
dialect as one client of it speaks: each request brings the whole history and one step more, of about 4 KB. Full mode
writes journals and edits to disk. Where first bytes are timed, the upstream takes its time between two events, as a
model does; some proxies hold the first back until more have come. The stacks take turns, so that the machine's moods
meet all alike: compare within one run only.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import signal
import statistics
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from aiohttp import ClientError, ClientSession

from benchmarks._client_sessions import ClientSession as Client
from benchmarks._client_sessions import Plan
from benchmarks._proxy_cost import Cost, costs
from benchmarks._proxy_load import Rate, Reply, ask, at_once, connections, explain, step
from benchmarks._proxy_stacks import LITELLM, MITMPROXY, PeerError, Stack, first_line, litellm, mitmproxy, ours, running
from benchmarks._wires import WIRES, Wire
from execledger import __version__
from execledger.core.policy import Preset

PLAN = Plan(lines=66, fresh=1_000_000)
HISTORIES = (1, 40, 80)
LOADED = 41
"""Steps of history behind the requests that are counted per second."""
EVENTS = 200
"""Deltas in the answers whose events are counted per second."""
DIRECT, THROUGH = "direct", "pass-through"
FULL = {f"full ({preset})": preset for preset in Preset}

MAX_OF_MITMPROXY = 1.5
"""What full mode may add to the first byte, in terms of what mitmproxy adds."""
MAX_OF_LITELLM = 0.1
"""The same, of LiteLLM."""
MAX_PASSES = 4.0
"""How much more a long history may cost than a short one, in terms of decoding what it is longer by."""


class Effort(NamedTuple):
    """How much is measured."""

    rounds: int
    """Sessions whose first bytes are timed."""
    connections: dict[int, int]
    """How many connections at once, and how many sessions on them."""
    sessions: int
    """Sessions whose processor time is taken."""


USUAL = Effort(20, {1: 40, 50: 100, 500: 500}, 15)
QUICK = Effort(3, {1: 4, 50: 50}, 3)
First = dict[int, dict[str, list[float]]]
Rates = dict[str, dict[int, Rate | None]]


def started(folder: Path, stack: ExitStack, peers: bool) -> list[Stack]:
    """Every stack, started; a peer that can't be is named, and left out."""
    script = ["-m", "benchmarks._model_upstream", PLAN.lines, PLAN.fresh, EVENTS, *HISTORIES]
    upstream = first_line(stack.enter_context(running([sys.executable, *map(str, script)], folder / "upstream.log")))
    stacks = [Stack(DIRECT, upstream), ours(upstream, folder, stack, THROUGH, "--pass-through")[0]]
    stacks += [ours(upstream, folder, stack, name, "--preset", preset)[0] for name, preset in FULL.items()]
    if not peers:
        return stacks
    for peer, start in ((MITMPROXY, mitmproxy), (LITELLM, litellm)):
        try:
            stacks.append(start(upstream, folder, stack))
        except PeerError as error:
            print(f"{peer.name} is left out: {error}")
    return stacks


def progress(what: str) -> None:
    """Say what is being done, on a line of its own that the next one takes; nothing where nobody looks."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{what}", end="", file=sys.stderr, flush=True)


# First byte


async def first_bytes(client: ClientSession, wire: Wire, stacks: Sequence[Stack], rounds: int) -> First:
    """Seconds to the first byte, by steps of history and stack, one from each round."""
    found: First = {steps: {stack.name: [] for stack in stacks} for steps in HISTORIES}
    for number in range(-1, rounds):
        progress(f"{wire.name}: first bytes: session {number + 1} of {rounds}")
        sessions = {stack.name: Client(PLAN, rounds + number, wire=wire) for stack in stacks if stack.name in FULL}
        for steps in HISTORIES:
            bare = Client(PLAN, rounds + number, steps, wire=wire)
            for stack in stacks:
                while stack.name in sessions and sessions[stack.name].steps < steps:
                    await step(client, stack, sessions[stack.name])
            turn = number % len(stacks)
            for stack in (*stacks[turn:], *stacks[:turn]):
                session = sessions.get(stack.name, bare)
                reply = await ask(client, stack, session, session.body())
                # The first round makes the connections, and whatever a stack makes when it is first asked.
                if number >= 0:
                    found[steps][stack.name].append(reply.first)
                if stack.name in sessions:
                    session.take(reply.data)
    return found


def added(found: First, steps: int, name: str, share: float) -> float:
    """Milliseconds to the first byte that a stack adds to the direct way of the same round; of that one, all of them.

    It is the value below which this share of the rounds lies.
    """
    direct = found[steps][DIRECT]
    own = direct if name == DIRECT else [mine - its for mine, its in zip(found[steps][name], direct, strict=True)]
    return statistics.quantiles(own, n=100, method="inclusive")[round(share * 100) - 1] * 1e3


# Load


async def rates(client: ClientSession, wire: Wire, stacks: Sequence[Stack], effort: Effort, *, words: bool) -> Rates:
    """What each stack does per second: steps of long sessions, or answers in many words."""
    found: Rates = {stack.name: {} for stack in stacks}
    for many, count in effort.connections.items():
        steps = 1 if words else LOADED
        sessions = [Client(PLAN, 100_000 + many + number, steps, wire=wire) for number in range(count)]
        for stack in stacks:
            progress(f"{wire.name}: {'events' if words else 'requests'} per second at {many} connections: {stack.name}")
            copies = [session.copy() for session in sessions]
            try:
                found[stack.name][many] = await rate(client, stack, many, copies, words=words)
            except (ClientError, TimeoutError, AssertionError) as error:
                if stack.name in (DIRECT, THROUGH, *FULL):
                    raise
                print(f"{stack.name} fails at {many} connections: {str(error)[:200]}")
                found[stack.name][many] = None
    return found


async def rate(client: ClientSession, stack: Stack, many: int, sessions: Sequence[Client], *, words: bool) -> Rate:
    """What a stack does per second with sessions that it has met before."""

    async def met(session: Client) -> Reply:
        return await step(client, stack, session)

    async def asked(session: Client) -> Reply:
        return await (explain if words else step)(client, stack, session)

    await at_once(many, sessions, met)
    return await at_once(many, sessions, asked)


# Tables


def print_first_bytes(found: First, sizes: dict[int, int]) -> None:
    """The table of first bytes."""
    print(f"\nfirst byte, ms, of {len(found[1][DIRECT])} sessions: the direct way takes it, the others add to it")
    heads = (f"{steps} steps, {sizes[steps] / 1000:.0f} KB" for steps in HISTORIES)
    print(" " * 24 + "".join(f"{head:>20}" for head in heads))
    print(" " * 24 + f"{'p50':>12}{'p95':>8}" * len(HISTORIES))
    for name in found[1]:
        cells = (f"{added(found, s, name, 0.5):12.2f}{added(found, s, name, 0.95):8.2f}" for s in HISTORIES)
        print(f"{name:24}" + "".join(cells))


def print_rates(requests: Rates, events: Rates) -> None:
    """The table of rates."""
    many = list(next(iter(requests.values())))
    print(f"\nper second, by connections: requests with {LOADED} steps of history, events of answers in words")
    print(" " * 24 + "".join(f"{f'{n}: requests':>16}{'events':>10}" for n in many))
    for name in requests:
        pairs = ((requests[name][n], events[name][n]) for n in many)
        cells = ((f"{a.requests:.0f}" if a else "failed", f"{b.events:.0f}" if b else "failed") for a, b in pairs)
        print(f"{name:24}" + "".join(f"{a:>16}{b:>10}" for a, b in cells))


def print_costs(found: dict[int, Cost]) -> None:
    """The table of processor time."""
    print("\nprocessor time of a request in the proxy, without HTTP, us")
    print("steps      KB  pass-through" + "".join(f"{name:>16}" for name in FULL) + "  msgspec decode")
    for steps, cost in found.items():
        full = "".join(f"{cost.full[preset]:16.0f}" for preset in FULL.values())
        print(f"{steps:5}  {cost.size / 1000:6.0f}  {cost.through:12.1f}{full}  {cost.decode:14.0f}")


# Targets


def against(found: First, peer: str) -> float | None:
    """The most that full mode adds, in terms of what a peer adds; None if the peer was not measured."""
    name = next((name for name in found[1] if name.startswith(peer)), None)
    if name is None:
        return None
    return max(added(found, s, mode, 0.5) / added(found, s, name, 0.5) for s in HISTORIES for mode in FULL)


def growth(found: dict[int, Cost]) -> float:
    """What the longest history costs more than the shortest, in terms of decoding what it is longer by."""
    short, long = found[HISTORIES[0]], found[HISTORIES[-1]]
    return max(long.full[preset] - short.full[preset] for preset in Preset) / (long.decode - short.decode)


class Judged(NamedTuple):
    """What full mode adds in a dialect, in terms of what others need; None where a peer was not measured."""

    mitmproxy: float | None
    """Times what mitmproxy adds to the first byte."""
    litellm: float | None
    """Times what LiteLLM adds to the first byte."""
    decodes: float
    """Decodes of what a long history is longer by than a short one."""

    @property
    def held(self) -> bool:
        """Whether all targets that were measured are met."""
        most = (MAX_OF_MITMPROXY, MAX_OF_LITELLM, MAX_PASSES)
        return all(value <= bound for value, bound in zip(self, most, strict=True) if value is not None)


def judged(first: First, cost: dict[int, Cost]) -> Judged:
    """What was measured in a dialect, as the targets have it."""
    return Judged(against(first, MITMPROXY.name), against(first, LITELLM.name), growth(cost))


def print_targets(found: dict[str, Judged]) -> bool:
    """Print a row of targets for each dialect, and all in one line; whether they hold."""
    print("\ntargets for full mode, the worst of both presets and of all histories: what it adds to the first byte in")
    print("terms of what a peer adds, and decodes of what the longest history is longer by than the shortest")
    print(f"{'':24}{f'mitmproxy (at most {MAX_OF_MITMPROXY})':>26}{f'LiteLLM (at most {MAX_OF_LITELLM})':>26}", end="")
    print(f"{f'decodes (at most {MAX_PASSES:.0f})':>26}")
    for name, one in found.items():
        cells = "".join(f"{'not measured' if value is None else f'{value:.2f}':>26}" for value in one)
        print(f"{name:24}{cells}   {'held' if one.held else 'NOT held'}")
    held = all(one.held for one in found.values())
    told = "; ".join(
        f"{name} " + ", ".join("-" if value is None else f"{value:.2f}" for value in one) for name, one in found.items()
    )
    print(f"proxy: {'held' if held else 'NOT held'}: of mitmproxy, of LiteLLM, decodes: {told}")
    return held


async def measured(wire: Wire, stacks: Sequence[Stack], effort: Effort) -> tuple[First, Rates, Rates]:
    """Everything that is measured over HTTP."""
    async with connections() as client:
        stacks = [stack for stack in stacks if await carries(client, stack, wire)]
        first = await first_bytes(client, wire, stacks, effort.rounds)
        requests = await rates(client, wire, stacks, effort, words=False)
        return first, requests, await rates(client, wire, stacks, effort, words=True)


async def carries(client: ClientSession, stack: Stack, wire: Wire) -> bool:
    """Whether a stack forwards a dialect with its calls; a peer that does not is left out."""
    session = Client(PLAN, 99_999, 1, wire=wire)
    try:
        await step(client, stack, session)
        assert session.steps == 2, "no call is in its answer"
    except (ClientError, TimeoutError, AssertionError) as error:
        if stack.name in (DIRECT, THROUGH, *FULL):
            raise
        print(f"{stack.name} does not carry the dialect {wire.name}: {str(error)[:200]}")
        return False
    return True


def main() -> int:
    """Print the tables; the exit status says whether the targets are met."""
    parser = argparse.ArgumentParser(prog="benchmarks.proxy", description="What our proxy adds to a request.")
    parser.add_argument("--quick", action="store_true", help="a short run, whose figures are rough")
    parser.add_argument("--without-peers", action="store_true", help="install and measure no other proxy")
    parser.add_argument("--without-http", action="store_true", help="only the processor time, for a busy machine")
    parser.add_argument("--dialect", action="append", choices=list(WIRES), help="only this dialect, or these")
    options = parser.parse_args()
    effort = QUICK if options.quick else USUAL
    # Whatever was started ends with us, also when we are told to end.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    # Every connection takes two files in a proxy; the processes that are started have the same limit.
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    wires = [WIRES[name] for name in options.dialect or WIRES]
    targets: dict[str, Judged] = {}
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        cost = {wire.name: costs(wire, PLAN, HISTORIES, effort.sessions, Path(folder) / wire.name) for wire in wires}
        if options.without_http:
            for wire in wires:
                print(f"\n{wire.name}, as {wire.agent} sends it")
                print_costs(cost[wire.name])
            alone = {name: Judged(None, None, growth(found)) for name, found in cost.items()}
            return 0 if print_targets(alone) else 1
        stacks = started(Path(folder), stack, not options.without_peers)
        print(f"execledger {__version__}, Python {sys.version.split()[0]}: {', '.join(s.name for s in stacks)}")
        for wire in wires:
            first, requests, events = asyncio.run(measured(wire, stacks, effort))
            progress("")
            print(f"\n{wire.name}, as {wire.agent} sends it")
            print_first_bytes(first, {steps: found.size for steps, found in cost[wire.name].items()})
            print_rates(requests, events)
            print_costs(cost[wire.name])
            targets[wire.name] = judged(first, cost[wire.name])
    return 0 if print_targets(targets) else 1


if __name__ == "__main__":
    sys.exit(main())
