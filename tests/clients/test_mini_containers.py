"""Ledger under the real mini-swe-agent in real containers: what is suppressed, and what the probe finds."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from execledger.core.witness_limits import PROBE_SECONDS
from execledger.session import probe
from execledger.session.probe import BEGIN as PROBE
from tests.support.containers.engine import PATIENCE, Base, Docker, Engine

pytest.importorskip("minisweagent", reason="mini-swe-agent is not installed: pip install 'execledger[mini]'")

from minisweagent.agents.default import DefaultAgent
from minisweagent.environments.docker import DockerEnvironment

from execledger.agents.mini import witness as mini_witness
from execledger.agents.mini.messages import Message, text_of
from execledger.agents.mini.model import LedgerModel
from tests.agents.mini.test_model import SUBMIT, Recording, turn
from tests.session.test_working_tree import REMARK

pytestmark = pytest.mark.clients

TEXT = "".join(
    f"value_{line} = {line}  # {'long enough for a reference to be worth it':->60}\n" for line in range(1, 31)
)
READ, PART = "cat a.py", "sed -n '5,20p' a.py"
LATE = "while [ ! -e /tmp/go ]; do sleep 0.02; done; echo late = 1 >> a.py; touch /tmp/done"
"""Writes to the file when it is told to, and says when that is done."""
FILES = {"testbed/a.py": TEXT, "testbed/start.sh": f"({LATE}) > /dev/null 2>&1 &\n"}
NOT_RUN = "[Ledger: not run, "


class Meanwhile(Recording):
    """A scripted model; what is done while it thinks is given, by the number of the request."""

    others: Mapping[int, Callable[[], object]]

    def query(self, messages: list[Message], **kwargs: Any) -> Message:
        message = super().query(messages, **kwargs)
        self.others.get(len(self.requests), lambda: None)()
        return message


class Played(NamedTuple):
    """A run that has ended."""

    requests: list[list[Message]]
    """What the model was asked."""
    ran: list[str]
    """The agent's commands that reached the container."""
    probes: int
    """The commands of the witness that reached it."""
    saved: dict[str, Any]
    """The trajectory."""

    @property
    def lines(self) -> list[str]:
        """The line about the file in each state view; "" where there is none."""
        views = [text_of(request[-1]).split("\n") for request in self.requests]
        return [next((line for line in view if line.startswith("- a.py: ") and ")" in line), "") for view in views]

    @property
    def shown(self) -> list[str]:
        """What the model was shown for each of its commands, but for the one that ended the run."""
        return [text_of(one) for one in self.saved["messages"] if one.get("role") == "tool"]


class Stage:
    """Where runs take place: a container each, which is removed behind it."""

    def __init__(self, engine: Engine, folder: Path) -> None:
        self.engine, self._folder, self._runs = engine, folder, 0

    def play(
        self,
        image: str,
        *commands: str,
        others: Mapping[int, str] | None = None,
        wrapped: bool = True,
        limited: str = "",
        interpreter: Sequence[str] = ("bash", "-c"),
        **options: Any,
    ) -> Played:
        """Run the agent over scripted commands; ``others`` are somebody else's, by the number of a request.

        Of the commands, ``limited`` has a second of time.
        """
        self._runs += 1
        folder = self._folder / str(self._runs)
        folder.mkdir()
        docker = self.engine.docker(folder)
        inner = Meanwhile(outputs=[turn(number, command) for number, command in enumerate([*commands, SUBMIT])])
        environment = DockerEnvironment(
            image=image,
            executable=str(docker.executable),
            cwd="/testbed",
            timeout=int(PATIENCE),
            container_timeout="10m",
            interpreter=list(interpreter),
        )
        try:
            (container,) = docker.containers()
            limit = partial(setattr, environment.config, "timeout")
            limits = {at: partial(limit, 1 if one == limited else int(PATIENCE)) for at, one in enumerate(commands, 1)}
            acts = {at: partial(self._act, docker, container, one) for at, one in (others or {}).items()}
            inner.others = {**limits, **acts}
            model = LedgerModel.wrap(inner, env=environment, **{"cadence": "every"} | options) if wrapped else inner
            # Where it can't submit any more, the limit ends the run.
            bounds = {"step_limit": len(commands) + 1, "cost_limit": 100.0}
            agent = DefaultAgent(model, environment, system_template="s", instance_template="{{task}}", **bounds)
            agent.run("Mend it.")
            saved = json.loads(json.dumps(agent.save(None)))
        finally:
            # The environment would have a shell remove it some time later.
            environment.container_id = None
            docker.remove()
        executed = [one.command for one in docker.executed()]
        ran = [command for command in executed if PROBE not in command and command != SUBMIT]
        return Played(inner.requests, ran, sum(PROBE in command for command in executed), saved)

    def _act(self, docker: Docker, container: str, command: str) -> None:
        """Somebody else's command in the agent's container; ``remove`` removes it."""
        if command == "remove":
            docker.remove()
        else:
            self.engine.run(container, command)


@pytest.fixture
def stage(containers: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    """A stage whose journals are the test's own; probes have as much time as a busy machine takes."""
    monkeypatch.setenv("EXECLEDGER_JOURNAL", str(tmp_path / "journals"))
    monkeypatch.setattr(mini_witness, "PROBE_SECONDS", PATIENCE)
    monkeypatch.setattr(probe, "TREE_PROBE_SECONDS", int(PATIENCE))
    yield Stage(containers, tmp_path)


@pytest.fixture(scope="module")
def image(containers: Engine) -> str:
    """An image with the file."""
    return containers.image("numbered", FILES)


# The seal


def test_a_covered_read_does_not_reach_a_sealed_container(stage: Stage, image: str) -> None:
    """Until something is written, what was shown is referred to; behind a write the command runs."""
    played = stage.play(image, READ, PART, "sed -i 1d a.py", PART)
    assert played.ran == [READ, "sed -i 1d a.py", PART]
    assert [NOT_RUN in text for text in played.shown] == [False, True, False, False]
    assert "value_21 = 21 " in played.shown[3], "line 20 now"


JOBS = {
    "in the background": f"({LATE}) > /dev/null 2>&1 &",
    "left by a script": "sh start.sh",
    "beyond the time limit": LATE,
}
"""Commands of which something goes on in the container when they have returned."""


# That a command leaves a job in the background is seen before it runs, and tested without containers.
@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=pytest.mark.long if one == "in the background" else []) for one in JOBS]
)
def test_what_goes_on_in_the_container_ends_the_seal(stage: Stage, image: str, name: str) -> None:
    """What writes later is a job in the background, or a command whose client was killed; no read is suppressed."""
    others = {6: "touch /tmp/go; while [ ! -e /tmp/done ]; do sleep 0.02; done"}
    job = JOBS[name]
    played = stage.play(image, READ, PART, job, READ, PART, READ, others=others, limited=LATE)
    assert [NOT_RUN in text for text in played.shown] == [False, True, False, False, False, False]
    assert played.ran == [READ, job, READ, PART, READ]
    assert ["\nlate = 1" in text for text in played.shown] == [False] * 5 + [True]
    assert "31" in played.lines[6] and "30" not in played.lines[6]


# The probe


@pytest.mark.parametrize(("base", "interpreter"), [("gnu", ("bash", "-lc")), ("busybox", ("sh", "-c"))])
def test_the_view_says_what_the_containers_file_holds(
    stage: Stage, containers: Engine, base: Base, interpreter: tuple[str, ...]
) -> None:
    """With the tools of GNU and of busybox: the same, moved, changed, gone, and back again."""
    image = containers.image(f"{base}-numbered", {**FILES, "saved/a.py": TEXT}, base=base)
    edits = ("sed -i 1d a.py", "sed -i '9s/.*/other = 1/' a.py", "rm a.py", "cp /saved/a.py a.py")
    commands = (PART, "ls", "make all", *edits)
    played = stage.play(image, *commands, interpreter=interpreter)
    assert played.lines[1:] == [
        "- a.py: 5-20 (current)",
        "- a.py: 5-20 (current)",
        "- a.py: 5-20 (current)",
        "- a.py: 5-20 (now at 4-19)",
        "- a.py: 5-20 (changed)",
        "- a.py: 5-20 (gone)",
        "- a.py: 5-20 (current)",
    ]
    assert (played.ran, played.probes) == (list(commands), 6), "none behind ls, which writes nothing and shows no lines"


def test_somebody_else_writes_into_the_container(stage: Stage, image: str) -> None:
    """A probe sees the file of the container as it is, whoever has written to it."""
    played = stage.play(image, PART, "make all", "make all", others={3: "sed -i '7s/.*/theirs = 1/' /testbed/a.py"})
    assert [line.partition("(")[2] for line in played.lines[2:]] == ["current)", "changed)"]


UNUSABLE = {
    "no sha256sum": ({}, "rm $(command -v sha256sum)"),
    "a sed that hangs": ({"usr/local/bin/sed": "#!/bin/sh\nexec sleep 600\n"}, ""),
}
"""Images in which no probe has a usable answer: files, and a command that changes the image."""


# A probe that ends without an answer is the lesser case of one that does not end.
@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=pytest.mark.long if one == "no sha256sum" else []) for one in UNUSABLE]
)
def test_after_three_unusable_answers_nothing_is_probed(
    stage: Stage, containers: Engine, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then, and until then, the view says what it says without a witness."""
    monkeypatch.setattr(mini_witness, "PROBE_SECONDS", PROBE_SECONDS)
    files, run = UNUSABLE[name]
    image = containers.image(name.replace(" ", "-"), {**FILES, **files}, run)
    commands = ("cat a.py", *(f"echo {number} >> b.txt" for number in range(4)))
    played, without = (
        stage.play(image, *commands, interpreter=("bash", "-lc"), witness=witness) for witness in ("auto", "off")
    )
    assert (played.probes, without.probes) == (3, 0)
    assert texts(played) == texts(without)
    assert (played.ran, played.lines) == (without.ran, without.lines)


def texts(played: Played) -> list[str]:
    """What the messages of a trajectory say."""
    return [text_of(message) for message in played.saved["messages"]]


def test_a_container_that_is_removed_fails_as_without_ledger(stage: Stage, image: str) -> None:
    """The agent's own commands fail in it, the run goes on to its end, and no probe changes that."""
    commands = (READ, "make all", "ls", "make all")
    played, plain = (stage.play(image, *commands, others={3: "remove"}, wrapped=wrapped) for wrapped in (True, False))
    ours, theirs = ([re.sub("[0-9a-f]{64}", "ID", text) for text in texts(one)] for one in (played, plain))
    assert ours == theirs
    assert played.saved["info"]["ledger"]["counts"]["faults"] == 0


def test_nothing_of_a_probe_is_kept_or_said(stage: Stage, image: str) -> None:
    """With and without the witness, requests differ in the words of their views and trajectories in Ledger's own."""
    commands = (PART, "make all", "sed -i 1d a.py", "sed -n '1,9p' a.py")
    played, without = (stage.play(image, *commands, witness=witness) for witness in ("auto", "off"))
    assert played.probes and not without.probes and played.lines != without.lines
    for one, other in zip(played.requests, without.requests, strict=True):
        assert list(map(told, one[:-1])) == list(map(told, other[:-1]))
    assert list(map(told, played.saved["messages"])) == list(map(told, without.saved["messages"]))
    said = json.dumps([played.requests, played.saved["messages"]], default=str)
    assert PROBE not in said and not re.search(r"\b[0-9a-f]{32,}\b", said)


def told(message: Message) -> Message:
    """A message without the times and the ids of its run, and without what Ledger notes beside it."""
    extra = {name: value for name, value in message.get("extra", {}).items() if name not in ("timestamp", "ledger")}
    return {**message, "extra": extra}


# The working tree

FAILS, QUIET = "sh repro.sh", "sh quiet.sh"
SCRIPTS = {
    "testbed/repro.sh": "echo boom\nexit 3\n",
    "testbed/quiet.sh": "mkdir -p __pycache__; date +%N > __pycache__/a.pyc\n",
    "testbed/logs.sh": "date +%N >> x.log\n",
    "testbed/scratch.sh": "mkdir -p tmp; date +%N > tmp/x\n",
}


@pytest.fixture(scope="module")
def tree(containers: Engine) -> str:
    """An image with a script that fails, and others that write caches, a log, and a scratch file."""
    return containers.image("tree", {**FILES, **SCRIPTS})


def remarks(played: Played) -> list[str]:
    """The remark behind each command, "" where there is none."""
    return [text[text.index("[Ledger: ") :] if "[Ledger: " in text else "" for text in played.shown]


@pytest.mark.guarantee("working-tree")
def test_a_failure_in_an_unchanged_container_is_remarked_on(stage: Stage, tree: str) -> None:
    """Programs of unknown effects ran in between; a probe of the container's tree has found no change."""
    played = stage.play(tree, FAILS, QUIET, FAILS)
    assert remarks(played) == ["", "", REMARK.format("command", "2 commands")]
    assert played.ran == [FAILS, QUIET, FAILS] and 0 < played.probes <= 4, "at most one for each request"
    assert PROBE not in json.dumps(played.saved["messages"])


@pytest.mark.guarantee("working-tree")
@pytest.mark.parametrize("between", ["sh logs.sh", pytest.param("sh scratch.sh", marks=pytest.mark.long)])
def test_a_log_or_scratch_file_withdraws_the_remark(stage: Stage, tree: str, between: str) -> None:
    """A file of the container's tree has changed, whatever its name is."""
    assert remarks(stage.play(tree, FAILS, between, FAILS)) == [""] * 3


@pytest.mark.guarantee("working-tree")
def test_a_write_of_somebody_else_withdraws_the_remark(stage: Stage, tree: str) -> None:
    """They write into the container while the model answers."""
    others = {3: "touch -r /testbed/a.py /tmp/time; printf X >> /testbed/a.py; touch -r /tmp/time /testbed/a.py"}
    assert remarks(stage.play(tree, FAILS, QUIET, FAILS, others=others)) == [""] * 3


def test_without_the_tools_of_gnu_nothing_is_said_of_a_tree(stage: Stage, containers: Engine) -> None:
    """The `find` of busybox can't print what files are known by."""
    image = containers.image("busybox-tree", {**FILES, **SCRIPTS}, base="busybox")
    played = stage.play(image, FAILS, QUIET, FAILS, interpreter=("sh", "-c"))
    assert remarks(played) == [""] * 3 and "boom" in played.shown[2]
