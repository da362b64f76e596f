"""What a probe of the witness takes in a real container, and its share of a step's time there.

    python -m benchmarks.probe

The agent is the real mini-swe-agent with its Docker environment on a container engine without a daemon (podman, runc;
Linux, as root), and with a scripted model, which answers at once: the time of a real model comes on top of every step,
and the last column computes the share of the probes with one.
"""

from __future__ import annotations

import logging
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.mini_overhead import turns
from execledger.core.witness import ShownRange
from execledger.core.witness_limits import MAX_PROBED_RANGES
from execledger.session.probe import BEGIN, ProbedFile, command
from tests.support.agents.npm import NotInstalled
from tests.support.containers.engine import Engine, engine

LINES = 400
"""Lines of a file."""
ROUNDS = 9
"""Probes of one size, each beside a command that does nothing."""
SIZES = (1, 8, 24, MAX_PROBED_RANGES)
"""Ranges of a probe, two to a file."""
TEST = "sleep {seconds}; echo ran >> test.log"
"""A command that takes its time, and of which it is not known what it writes."""
SESSIONS = {"at once": 0, "in 1 s": 1, "in 5 s": 5}
"""How quickly the tests of a session run."""
STEPS = 24
"""Steps of a session."""
ANSWER_SECONDS = 5
"""How long a model is taken to answer, for the share of a step that has one."""


class Session(NamedTuple):
    """Where the time of a session went."""

    calls: int
    """Model calls."""
    seconds: float
    """The whole session."""
    probes: list[float]
    """The seconds of each probe."""

    @property
    def share(self) -> float:
        """The share of the probes in the time."""
        return sum(self.probes) / self.seconds

    @property
    def row(self) -> str:
        """Its line of the table."""
        probe, step = statistics.mean(self.probes) * 1e3, self.seconds / self.calls
        answered = sum(self.probes) / (self.seconds + ANSWER_SECONDS * self.calls)
        return f"{self.calls:11}  {len(self.probes):6}  {probe:9.0f}  {step:7.2f}  {self.share:5.0%}  {answered:20.0%}"


def file_text(number: int) -> str:
    """The text of a file, with lines as long as those of programs are."""
    return "".join(f"def function_{number}_{line}(argument): return argument + {line}\n" for line in range(LINES))


def session_commands(seconds: int) -> list[str]:
    """A session: of six steps, three read, one edits, one tests and one searches."""
    made = []
    for number in range(STEPS // 6):
        first = 40 * number + 1
        made += [f"sed -n '{first},{first + 60}p' {name}.py" for name in (number, number + 1)]
        made += [f"sed -i '{first + 5}s/argument/other/' {number}.py", TEST.format(seconds=seconds)]
        made += [f"grep -n function_{number}_7 {number}.py", f"cat {number + 2}.py"]
    return made


def environment(containers: Engine, image: str, folder: str) -> Any:
    """The agent's environment in a new container, which notes how long probes take."""
    from minisweagent.environments.docker import DockerEnvironment

    class Timed(DockerEnvironment):  # type: ignore[misc]
        def __init__(self, **config: Any) -> None:
            super().__init__(**config)
            self.probes: list[float] = []

        def execute(self, action: dict[str, Any], cwd: str = "", *, timeout: int | None = None) -> dict[str, Any]:
            start = time.perf_counter()
            try:
                done: dict[str, Any] = super().execute(action, cwd, timeout=timeout)
                return done
            finally:
                if BEGIN in action["command"]:
                    self.probes.append(time.perf_counter() - start)

        def cleanup(self) -> None:
            """The engine removes its containers."""

    docker = containers.docker(Path(folder))
    return Timed(image=image, executable=str(docker.executable), cwd="/testbed", container_timeout="30m")


def played(containers: Engine, image: str, seconds: int) -> Session:
    """One session of the real agent."""
    from minisweagent.agents.default import DefaultAgent
    from minisweagent.models.test_models import DeterministicToolcallModel

    from execledger.agents.mini.model import LedgerModel

    with tempfile.TemporaryDirectory() as folder:
        place = environment(containers, image, folder)
        model = LedgerModel.wrap(
            DeterministicToolcallModel(outputs=turns(session_commands(seconds))), env=place, journal=folder
        )
        limits = {"step_limit": 0, "cost_limit": 0.0}
        agent = DefaultAgent(model, place, system_template="s", instance_template="{{task}}", **limits)
        start = time.perf_counter()
        agent.run("Do it.")
        return Session(agent.n_calls, time.perf_counter() - start, place.probes)


def sizes(containers: Engine, image: str) -> None:
    """Print what probes of several sizes take."""
    print("ranges  `true`, ms  probe, ms")
    with tempfile.TemporaryDirectory() as folder:
        place = environment(containers, image, folder)
        for size in SIZES:
            probe = command([probed(number, size - 2 * number) for number in range((size + 1) // 2)])
            pairs = [(timed(place, "true"), timed(place, probe)) for _ in range(ROUNDS)]
            plain, taken = (statistics.median(column) * 1e3 for column in zip(*pairs, strict=True))
            print(f"{size:6}  {plain:10.0f}  {taken:9.0f}")


def probed(number: int, ranges: int) -> ProbedFile:
    """One file of a probe, with one range of it or two."""
    lines = file_text(number).splitlines()
    shown = [ShownRange(step, first, tuple(lines[first - 1 : first + 79])) for step, first in enumerate((1, 101))]
    return ProbedFile(f"/testbed/{number}.py", shown[:ranges], [LINES] * min(ranges, 2))


def timed(place: Any, words: str) -> float:
    """Seconds of one command."""
    start = time.perf_counter()
    done = place.execute({"command": words})
    assert done["returncode"] == 0, done
    return time.perf_counter() - start


def main() -> int:
    """Print both tables; the exit status says whether there was at most one probe for each model call."""
    os.environ |= {"MSWEA_SILENT_STARTUP": "1", "MSWEA_CONFIGURED": "true", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    logging.disable(logging.CRITICAL)
    try:
        with engine() as containers:
            files = {f"testbed/{number}.py": file_text(number) for number in range(MAX_PROBED_RANGES // 2)}
            image = containers.image("files", files)
            sizes(containers, image)
            print(f"\ntests run  model calls  probes  probe, ms  step, s  share  with answers in {ANSWER_SECONDS} s")
            found = []
            for name, seconds in SESSIONS.items():
                found.append(played(containers, image, seconds))
                print(f"{name:9}  {found[-1].row}")
    except NotInstalled as error:
        print(f"probe: not run: {error}")
        return 1
    held = all(len(one.probes) <= one.calls for one in found)
    shares = " to ".join(f"{share:.0%}" for share in (min(one.share for one in found), max(one.share for one in found)))
    print(
        f"probe: {'held' if held else 'NOT held'}: at most one for each model call; {shares} of a step, model excluded"
    )
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
