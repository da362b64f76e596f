"""What is looked at before an evaluation starts anything: every problem is told at once, with a hint."""

from __future__ import annotations

from collections import namedtuple
from pathlib import Path

import pytest

from execledger.agents.evaluation import Instance, Needs, Problem, Setup, container_needs
from execledger.errors import LedgerError
from execledger.evaluate.experiment import setup_of
from execledger.evaluate.plan import EngineName, Plan
from execledger.evaluate.preflight import Checks, _graph_root
from tests.support.agents.mini import installed

needs_mini = pytest.mark.skipif(not installed(), reason="mini-swe-agent is not installed")
Usage = namedtuple("Usage", "total used free")


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key that Codex reads."""
    monkeypatch.setenv("CODEX_API_KEY", "x")


def task(name: str, image: str = "") -> Instance:
    return Instance(instance_id=name, problem_statement="it", image_name=image or None)


def docker(folder: Path, script: str) -> str:
    """A container program of a few lines; its path."""
    folder.mkdir(exist_ok=True)
    path = folder / "docker"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


def looked(plan: Plan, folder: Path, *tasks: Instance) -> list[Problem]:
    checks = Checks()
    checks.look(plan, setup_of(plan, "codex", folder), tasks, folder / "out")
    return checks.problems


def codex(**own: object) -> Plan:
    return Plan(agent="codex", model="gpt-5-mini", own=own)


STORE = """case "$1 $2" in
  "version ") ;;
  "image inspect") shift 4; for name; do case $name in */here*) ;; *) exit 1;; esac; done ;;
  "manifest inspect") case $3 in */there*) ;; *) echo "no such manifest: $3" >&2; exit 1;; esac ;;
  "info --format") echo / ;;
esac"""
"""Has the images whose names begin with here; its registry those that begin with there."""


def test_all_problems_are_told_at_once() -> None:
    """With a hint each; one problem alone is told as it is, and warnings stop nothing."""
    checks = Checks()
    assert checks.tried(lambda: 1) == 1
    checks.refuse()
    checks.problems.append(Problem("the model has no price", "check its name", warning=True))
    checks.refuse()

    def fails() -> int:
        raise LedgerError("x: found no such subset", hint="known are a, b")

    assert checks.tried(fails) is None
    with pytest.raises(LedgerError) as caught:
        checks.refuse()
    assert (caught.value.message, caught.value.hint) == (
        "found one problem, and started nothing: x: found no such subset",
        "known are a, b",
    )
    checks.problems.append(Problem("docker: not found"))
    with pytest.raises(LedgerError) as caught:
        checks.refuse()
    assert str(caught.value) == (
        "found 2 problems, and started nothing:\n- x: found no such subset\n  hint: known are a, b\n- docker: not found"
    )
    assert checks.warnings == ["warning: the model has no price; check its name"]


def test_a_container_program_must_be_there_and_answer(tmp_path: Path) -> None:
    """Agents with prepared repositories need none, and on a cluster it is not this machine's."""
    missing = looked(codex(docker="no-such-docker"), tmp_path, task("a"))
    assert [one.message for one in missing] == ["no-such-docker: not found, expected the container program"]
    silent = docker(tmp_path / "silent", "echo 'Cannot connect to the Docker daemon' >&2; exit 1")
    (problem,) = looked(codex(docker=silent), tmp_path, task("a"))
    assert problem.message == f"{silent} does not answer: Cannot connect to the Docker daemon"
    assert problem.hint == "start Docker, or set DOCKER_HOST"
    (tmp_path / "repos" / "a" / ".git").mkdir(parents=True)
    assert looked(codex(docker=silent, repos="repos"), tmp_path, task("a")) == []
    (absent,) = looked(codex(docker=silent, repos="repos"), tmp_path, task("a"), task("b"))
    assert absent.message == "repos: found no repository of b"
    cluster = Plan(agent="codex", model="gpt-5-mini", engine=EngineName.RAY, own={"docker": silent})
    assert looked(cluster, tmp_path, task("a")) == []


def test_images_are_here_or_can_be_pulled(tmp_path: Path) -> None:
    """One that must be built is a problem; one that its registry does not show is a warning: a mirror may have it."""
    plan = codex(docker=docker(tmp_path / "bin", STORE))
    assert looked(plan, tmp_path, task("a", "localhost/here:1"), task("b", "docker.io/x/here:2")) == []
    absent = ("localhost/gone:1", "localhost/lost:1", "docker.io/x/nowhere:1", "docker.io/x/here:2")
    found = looked(plan, tmp_path, *(task(name, name) for name in absent))
    assert [(one.message, one.warning) for one in found] == [
        ("localhost/gone:1 and 1 more: not in the local store", False),
        (
            "docker.io/x/nowhere:1: not in the local store, and not found in its registry:"
            " no such manifest: docker.io/x/nowhere:1",
            True,
        ),
    ]


@pytest.mark.parametrize("question", ["version ", "image inspect"])
def test_a_container_program_that_hangs_is_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, question: str
) -> None:
    """Whichever question it does not answer."""
    monkeypatch.setattr("execledger.agents.evaluation.ANSWER_SECONDS", 0.5)
    silent = docker(tmp_path / "bin", f'case "$1 $2" in "{question}") exec sleep 600;; esac')
    (problem,) = looked(codex(docker=silent), tmp_path, task("a"))
    assert problem == Problem(f"{silent} does not answer within 0.5 seconds", "start Docker, or set DOCKER_HOST")


def test_a_container_program_that_hangs_is_waited_for_in_vain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it stores images stays unknown, and the root is looked at."""
    monkeypatch.setattr("execledger.evaluate.preflight.SECONDS", 0.1)
    assert _graph_root(docker(tmp_path / "bin", "exec sleep 60")) == Path("/")


def test_little_room_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For the output, and as a warning where images are still to be pulled."""
    plan = codex(docker=docker(tmp_path / "bin", STORE))
    free = {"bytes": 50_000_000_000}
    monkeypatch.setattr("execledger.evaluate.preflight.shutil.disk_usage", lambda _: Usage(0, 0, free["bytes"]))
    (warned,) = looked(plan, tmp_path, task("a", "docker.io/x/there:1"))
    assert warned == Problem(
        "1 images are to be pulled, and 50 GB are free", "the harness of SWE-bench asks for 120 GB", warning=True
    )
    free["bytes"] = 100_000_000
    (short,) = looked(plan, tmp_path, task("a", "localhost/here:1"))
    assert short.message == f"{tmp_path / 'out'}: 0.1 GB are free, expected 2"


def test_a_model_without_a_price_is_a_warning(tmp_path: Path) -> None:
    """Nothing else is known about its name, and the hint says so."""
    plan = Plan(agent="codex", model="gpt-6-nowhere", own={"repos": "."})
    (found,) = looked(plan, tmp_path)
    assert found == Problem(
        "the model `gpt-6-nowhere` has no price in Ledger's table: its cost is unknown",
        "check its name, which was not checked: its client has no list of models that could be asked;"
        " `eval report --prices FILE` takes prices of your own",
        warning=True,
    )


def test_needs_by_the_keys_of_a_plan() -> None:
    """The images of the tasks, each once; nothing where the agent's keys name no container program."""
    setup = Setup(program="x", cwd=Path(), model="m", keys={"docker": "podman"})
    several = [task("a", "one"), task("b", "one"), task("c__d")]
    images = ("one", "docker.io/swebench/sweb.eval.x86_64.c_1776_d:latest")
    assert container_needs(setup, several) == Needs(docker="podman", images=images, model="m")
    assert container_needs(Setup(program="x", cwd=Path()), several) == Needs()
