"""Prompts of real agents with and without Ledger, counted by a real inference engine with a real prefix cache.

    python -m benchmarks.engine [--arms NAME ...] [--agents NAME ...] [--commands N]

The real mini-swe-agent and the real Codex each play the session of the demo without Ledger and with it, and their
upstream is llama.cpp, in each arm with a cold cache: a real chat template, a real tokenizer, a real prefix cache, and
the time that uncached tokens take. It takes each request as the agent, or Ledger, sent it, and a script replaces the
one token that it generates (``tests.support.servers.engine``). Compare within one run only: ``time`` is the wall time
of all requests as a share of the base's.

A request *loses its prefix* if the engine had to process tokens again that the request before had sent as part of its
history; the state view is not part of it, and neither is what opens the model's turn.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from execledger.demo.mini import SUBMIT
from execledger.demo.session import COMMANDS, TASK, make_session_repository
from tests.support.agents.codex import CURRENT, CodexHome, codex, run_codex
from tests.support.agents.mini import run_mini
from tests.support.servers.engine import TIMEOUT, ChatUpstream, Engine, Processed, through
from tests.support.servers.responses import ResponsesServer, call, say, turns

ARMS: dict[str, tuple[str, ...] | None] = {
    "base": None,
    "verified": ("--preset", "verified"),
    "verified, every call": ("--preset", "verified", "--cadence", "every"),
    "paper": ("--preset", "paper"),
    "paper, focused": ("--preset", "paper", "--cadence", "focused"),
}
"""The arms: None for the agent alone, else the options of ``execledger run``."""
SESSION = 4 * TIMEOUT
"""Seconds after which a session is given up."""


class Arm(NamedTuple):
    """The requests of one arm, as the engine counted them."""

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
        """Wall time of all requests."""
        return sum(one.seconds for one in self.calls)


def launcher(options: tuple[str, ...] | None) -> tuple[str, ...]:
    """What is put before an agent's command line to start it in an arm."""
    return () if options is None else (sys.executable, "-m", "execledger", "run", "--no-settings", *options, "--")


def play_mini(engine: Engine, options: tuple[str, ...] | None, folder: Path, commands: Sequence[str]) -> None:
    """Play a session with the real mini-swe-agent, which speaks Chat Completions."""
    repository = folder / "repository"
    repository.mkdir(parents=True)
    make_session_repository(repository)
    with ChatUpstream(engine, [*([command] for command in commands), [SUBMIT]]) as upstream:
        run = run_mini(
            upstream,
            TASK,
            repository,
            folder / "home",
            message_format="chat",
            prefix=launcher(options),
            timeout=SESSION,
        )
    assert run.status == 0 and not upstream.faults, f"{run.output[-2000:]} {upstream.faults}"


def play_codex(engine: Engine, options: tuple[str, ...] | None, folder: Path, commands: Sequence[str]) -> None:
    """Play the same session with the real Codex, which speaks the Responses API."""
    folder.mkdir(parents=True)
    home = CodexHome(folder)
    make_session_repository(home.repository)
    script = turns(*(call("exec_command", cmd=command) for command in commands), say("Done."), thoughts=False)
    with ResponsesServer(through(engine, script)) as server:
        run = run_codex(codex(CURRENT), TASK, url=server.url, home=home, prefix=launcher(options), timeout=SESSION)
    assert run.status == 0 and not server.faults, f"{run.errors[-2000:]} {server.faults}"


AGENTS: dict[str, Callable[[Engine, tuple[str, ...] | None, Path, Sequence[str]], None]] = {
    "mini-swe-agent": play_mini,
    "Codex": play_codex,
}
"""What plays a session with each agent."""


def played(agent: str, name: str, folder: Path, model: Path, commands: Sequence[str]) -> Arm:
    """Play one arm in a folder of its own, with an engine whose cache is cold."""
    with Engine(model) as engine:
        AGENTS[agent](engine, ARMS[name], folder, commands)
        arm = Arm(agent, name, engine.processed, sum(engine.lost()))
    print(f"{agent}, {name}: {len(arm.calls)} requests in {arm.seconds:.0f} s", file=sys.stderr)
    return arm


def rows(arms: Sequence[Arm]) -> Iterator[str]:
    """The table."""
    yield (
        f"{'agent':16}{'arm':22}{'requests':>9}{'tokens':>10}{'cached':>10}{'processed':>10}{'of base':>9}"
        f"{'time':>9}{'seconds':>9}{'lost':>6}"
    )
    for arm in arms:
        base = next(one for one in arms if one.agent == arm.agent and one.name == "base")
        new, own = arm.tokens - arm.cached, base.tokens - base.cached
        yield (
            f"{arm.agent:16}{arm.name:22}{len(arm.calls):9,}{arm.tokens:10,}{arm.cached:10,}{new:10,}{new / own:9.1%}"
            f"{arm.seconds / base.seconds:9.1%}{arm.seconds:9.1f}{arm.lost:6,}"
        )


def main() -> int:
    """Print the table; the exit status says whether every request kept its prefix."""
    parser = argparse.ArgumentParser(description="Prompts with and without Ledger, counted by a real engine.")
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=list(ARMS), help="arms to play; base always is")
    parser.add_argument("--agents", nargs="+", choices=AGENTS, default=list(AGENTS), help="agents to play")
    parser.add_argument(
        "--commands", type=int, default=len(COMMANDS), help="play only so many of the session's commands"
    )
    chosen = parser.parse_args()
    names = list(dict.fromkeys(["base", *chosen.arms]))
    arms: list[Arm] = []
    with tempfile.TemporaryDirectory(prefix="engine-") as scratch:
        model = Path(scratch, "model")
        model.mkdir()
        for agent in chosen.agents:
            for number, name in enumerate(names):
                folder = Path(scratch, agent, str(number))
                arms.append(played(agent, name, folder, model, COMMANDS[: chosen.commands]))
    for line in rows(arms):
        print(line)
    lost = sum(arm.lost for arm in arms)
    longest = max(one.tokens for arm in arms for one in arm.calls)
    verdict = "held" if not lost else "NOT held"
    print(f"engine: {verdict}: {lost} tokens of histories were processed again; the longest prompt has {longest:,}")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
