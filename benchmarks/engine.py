"""Prompts of real agents with and without Ledger, counted by a real inference engine with a real prefix cache.

    python -m benchmarks.engine [--arms NAME ...] [--agents NAME ...]

The real mini-swe-agent and the real Codex each play the session of the demo against a scripted model, without Ledger
and with it. What they sent is then read by llama.cpp, request by request and each arm on a cold cache: a real chat
template, a real tokenizer, a real prefix cache, and the time that uncached tokens take. Compare within one run only.

A request *loses its prefix* if the engine had to process tokens again that the request before had sent as part of its
history; the state view is not part of it, and neither is what opens the model's turn.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from execledger.demo.live import play_session
from execledger.demo.session import COMMANDS, TASK, make_session_repository
from execledger.testing.scripted_model import Json
from tests.support.agents.codex import CURRENT, CodexHome, codex, run_codex
from tests.support.servers.engine import Engine, Processed, chat_request
from tests.support.servers.responses import ResponsesServer, call, say, turns

ARMS: dict[str, tuple[str, ...] | None] = {
    "base": None,
    "verified": ("--preset", "verified"),
    "verified, every call": ("--preset", "verified", "--cadence", "every"),
    "paper": ("--preset", "paper"),
    "paper, focused": ("--preset", "paper", "--cadence", "focused"),
}
"""The arms: None for the agent alone, else the options of ``execledger run``."""
VIEW = "<execution_state>"
OPENING = 8
"""Tokens that a template may put behind the history of a request to open the model's turn."""


class Arm(NamedTuple):
    """What one arm sent, as the engine counted it."""

    agent: str
    """The agent."""
    name: str
    """The arm."""
    calls: list[Processed]
    """Its requests."""
    lost: int
    """Tokens of histories that were processed again."""

    @property
    def tokens(self) -> int:
        """Tokens of all prompts."""
        return sum(one.tokens for one in self.calls)

    @property
    def cached(self) -> int:
        """Tokens that the cache served."""
        return sum(one.cached for one in self.calls)

    @property
    def seconds(self) -> float:
        """How long the others took."""
        return sum(one.milliseconds for one in self.calls) / 1e3


def mini_requests(options: tuple[str, ...] | None, folder: Path) -> list[Json]:
    """What the real mini-swe-agent sent to its model in the session."""
    requests, _ = play_session(options, folder)
    return [request.body for request in requests]


def codex_requests(options: tuple[str, ...] | None, folder: Path) -> list[Json]:
    """What the real Codex sent to its model in the same session."""
    folder.mkdir(parents=True)
    home = CodexHome(folder)
    make_session_repository(home.repository)
    script = turns(*(call("exec_command", cmd=command) for command in COMMANDS), say("Done."))
    ledger = () if options is None else (sys.executable, "-m", "execledger", "run", "--no-settings", *options, "--")
    with ResponsesServer(script) as server:
        run = run_codex(codex(CURRENT), TASK, url=server.url, home=home, prefix=ledger)
    assert run.status == 0 and not server.faults, f"{run.errors[-2000:]} {server.faults}"
    return [request.body for request in server.requests if request.kind == "turn"]


AGENTS = {"mini-swe-agent": mini_requests, "Codex": codex_requests}


def without_view(body: Json) -> Json:
    """The request without the state view at its end."""
    kept = [message for message in body["messages"] if not message["content"].startswith(VIEW)]
    return {**body, "messages": kept}


def counted(agent: str, name: str, bodies: Sequence[Json], folder: Path) -> Arm:
    """Have the engine read the requests of one arm, on a cold cache."""
    calls, lost, before = [], 0, 0
    with Engine(folder) as engine:
        for body in map(chat_request, bodies):
            calls.append(engine.process(body))
            lost += max(0, before - calls[-1].cached)
            before = len(engine.tokens(without_view(body))) - OPENING
            print(f"\r{agent}, {name}: {len(calls)} of {len(bodies)} ", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return Arm(agent, name, calls, lost)


def rows(arms: Sequence[Arm]) -> Iterator[str]:
    """The table."""
    yield (
        f"{'agent':16}{'arm':22}{'requests':>9}{'tokens':>10}{'cached':>10}{'processed':>10}{'of base':>9}"
        f"{'seconds':>9}{'of base':>9}{'lost':>6}"
    )
    for arm in arms:
        base = next(one for one in arms if one.agent == arm.agent and one.name == "base")
        new, own = arm.tokens - arm.cached, base.tokens - base.cached
        yield (
            f"{arm.agent:16}{arm.name:22}{len(arm.calls):9,}{arm.tokens:10,}{arm.cached:10,}{new:10,}{new / own:9.1%}"
            f"{arm.seconds:9.1f}{arm.seconds / base.seconds:9.1%}{arm.lost:6,}"
        )


def main() -> int:
    """Print the table; the exit status says whether every request kept its prefix."""
    parser = argparse.ArgumentParser(description="Prompts with and without Ledger, counted by a real engine.")
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=list(ARMS), help="arms to play; base always is")
    parser.add_argument("--agents", nargs="+", choices=AGENTS, default=list(AGENTS), help="agents to play")
    chosen = parser.parse_args()
    names = list(dict.fromkeys(["base", *chosen.arms]))
    arms: list[Arm] = []
    with tempfile.TemporaryDirectory(prefix="engine-") as scratch:
        model = Path(scratch, "model")
        model.mkdir()
        for agent in chosen.agents:
            for number, name in enumerate(names):
                bodies = AGENTS[agent](ARMS[name], Path(scratch, agent, str(number)))
                arms.append(counted(agent, name, bodies, model))
    for line in rows(arms):
        print(line)
    lost = sum(arm.lost for arm in arms)
    longest = max(one.tokens for arm in arms for one in arm.calls)
    verdict = "held" if not lost else "NOT held"
    print(f"engine: {verdict}: {lost} tokens of histories were processed again; the longest prompt has {longest:,}")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
