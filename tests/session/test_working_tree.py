"""Remarks on repeated commands in an unchanged working tree: by real looks at a real folder, and never wrong."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from random import Random

import pytest

from execledger.core.policy import Policy, Preset, WitnessSetting
from execledger.core.witness_limits import MAX_TREE_FAILURES, LookLimits, TreeLimits
from execledger.session import probe as probe_module
from execledger.session.probe import ProbeWitness
from execledger.session.tree import WINDOW
from execledger.session.witness import LocalWitness, Witness
from tests.support.unchanging import EDITS, QUIET, WRITES, RepeatingSession, snapshot

REMARK = (
    "[Ledger: the same {} gave the same result {} ago, and no file of the working tree has changed since, "
    "caches aside.]"
)
PATIENT = LookLimits(tree=TreeLimits(seconds=60))
SETTLED = 50_000_000
"""Nanoseconds that a file system's clock may be behind."""


def executed(command: str) -> str:
    """What a command prints in a real shell."""
    return subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True).stdout


def probe() -> ProbeWitness:
    """A witness that asks a real shell, as in a container."""
    return ProbeWitness(executed)


def local() -> LocalWitness:
    """A witness that waits for a busy machine."""
    return LocalWitness(limits=PATIENT)


def settled() -> LocalWitness:
    """A witness for which files are old that were not changed within the last moments."""
    time.sleep(2 * SETTLED / 1e9)
    return LocalWitness(limits=PATIENT, wall=lambda: time.time_ns() + WINDOW - SETTLED)


def gnu_find() -> bool:
    asked = ["find", ".", "-maxdepth", "0", "-newerct", "@0", "-printf", "x"]
    return subprocess.run(asked, capture_output=True, check=False).returncode == 0


needs_find = pytest.mark.skipif(not gnu_find(), reason="`find` has no -printf here: a probe of the tree is unknown")
WITNESSES = [local, settled, pytest.param(probe, marks=needs_find)]
EVERY = {**WRITES, **QUIET}


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Probes have as much time as a busy machine takes."""
    monkeypatch.setattr(probe_module, "TREE_PROBE_SECONDS", 60)


def start(root: Path, witness: Callable[[], Witness] | None, policy: Policy | None = None) -> RepeatingSession:
    """A session in a new folder; its witness begins when the files are there."""
    session = RepeatingSession(root, None, policy)
    session.witness = witness() if witness is not None else None
    return session


@pytest.mark.guarantee("working-tree")
@pytest.mark.parametrize("witness", WITNESSES)
def test_no_remark_is_wrong(
    witness: Callable[[], Witness], tmp_path: Path, full: bool, figure: Callable[[str], None]
) -> None:
    """Over random sessions with hostile scripts and writers, a remark is said only if every byte is as it was."""
    said, sessions, steps = 0, *((2, 25) if witness is probe else (6, 40))
    sessions *= 10 if full else 1
    for seed in range(sessions):
        session = start(tmp_path / str(seed), witness)
        session.wander(Random(seed), steps, hostile=seed % 2 == 1)
        assert session.found.wrong == [], f"seed {seed}"
        said += session.found.said
    assert said > 0
    figure(f"{witness.__name__}: 0 wrong of {said:,} remarks in {sessions * steps:,} steps")


@pytest.mark.guarantee("working-tree")
@pytest.mark.parametrize("witness", WITNESSES)
@pytest.mark.parametrize("command", ["sh repro.sh", "make -s test"])
def test_a_repetition_behind_each_way_of_writing(
    command: str, witness: Callable[[], Witness], tmp_path: Path, full: bool
) -> None:
    """There is a remark if a script in between has changed nothing, and none if it has."""
    missed = []
    # The quickest witness is asked about all ways behind both kinds of command; the others behind one of them, unless
    # the long form is asked for.
    ways = EVERY if full or witness is local or "test" not in command else QUIET
    for number, (name, script) in enumerate(ways.items()):
        session = start(tmp_path / str(number), witness)
        (tmp_path / "step.sh").write_text(script)
        session.run(command)
        before = snapshot(session.root)
        session.run("sh ../step.sh")
        equal = snapshot(session.root) == before
        said = session.run(command)
        assert said in ("", REMARK.format("test" if "test" in command else "command", "2 commands"))
        assert not (said and not equal), name
        missed += [name] if equal and not said else []
    # A file that was old at the first look and is written again is not compared by its contents.
    again = {"mode back and forth", "the same again", "edited and restored"}
    assert set(missed) <= (again if witness is settled else set())


def test_a_script_that_fails_again_and_again_gets_one_remark(tmp_path: Path) -> None:
    """Right behind it, too; the next ones are within the cool-down."""
    session = start(tmp_path / "w", local)
    said = [session.run("sh repro.sh") for _ in range(6)]
    assert said == ["", REMARK.format("command", "1 command"), "", "", "", ""]


@pytest.mark.parametrize("command", ["sh repro.sh", "make -s test"])
def test_edit_and_test_is_work(command: str, tmp_path: Path) -> None:
    """Whatever the edits come to, and wherever they are made: a model that edits in between is not nudged."""
    outside = (f"echo x > {tmp_path}/other", "sed -i 's/none such/x/' a.txt", "touch a.txt", "pip install x || true")
    session = start(tmp_path / "w", local)
    for edit in (*EDITS, *EDITS, *outside, *outside):
        assert (session.run(command), session.edit(edit)) == ("", "")


def test_a_script_that_writes_every_time_is_no_repetition(tmp_path: Path) -> None:
    """Its result is the same, and the tree is not: it may be making progress."""
    session = start(tmp_path / "w", local)
    (session.root / "repro.sh").write_text("echo x >> count.txt; echo boom; exit 3\n")
    assert {session.run("sh repro.sh") for _ in range(9)} == {""}
    (session.root / "repro.sh").write_text("echo x > count.txt; echo boom; exit 3\n")
    assert [bool(session.run("sh repro.sh")) for _ in range(3)] == [False, True, False]


@pytest.mark.parametrize(
    "command",
    [
        "sh fine.sh",
        "sh repro.sh > log.txt",
        "sh repro.sh > /dev/null &",
        "sh killed.sh",
        "cd /tmp && false-program-of-nobody",
        "cd / && sh {root}/repro.sh",
        "date +%N; sh repro.sh",
        "pip install nothing-of-this-name --no-index",
        "nobodys-program",
    ],
)
def test_what_is_not_remarked_on(command: str, tmp_path: Path) -> None:
    """Success, an output in a file, a job, a signal, another folder, another result, a set-up, no program."""
    session = start(tmp_path / "w", local)
    (session.root / "fine.sh").write_text("echo fine\n")
    (session.root / "killed.sh").write_text("kill -9 $$\n")
    assert {session.run(command.format(root=session.root)) for _ in range(3)} == {""}


@pytest.mark.guarantee("working-tree")
def test_behind_a_job_in_the_background_nothing_is_said(tmp_path: Path) -> None:
    """It may write at any time."""
    session = start(tmp_path / "w", local)
    session.run("sh repro.sh")
    session.run("sleep 0.01 &")
    assert {session.run("sh repro.sh") for _ in range(3)} == {""}


@pytest.mark.parametrize(
    "policy", [Policy(preset=Preset.PAPER), Policy(witness=WitnessSetting.OFF), Policy(govern=False)]
)
def test_without_a_witness_all_is_as_before(policy: Policy, tmp_path: Path) -> None:
    """Under ``paper``, without a witness, or without govern, the working tree is not spoken of."""
    session = start(tmp_path / "w", local, policy)
    assert {session.run("sh repro.sh") for _ in range(3)} == {""}
    assert not session.session.ledger.tree.known


def test_govern_alone_looks_at_the_tree(tmp_path: Path) -> None:
    """No state view is needed for that."""
    session = start(tmp_path / "w", local, Policy(inform=False))
    assert [bool(session.run("sh repro.sh")) for _ in range(2)] == [False, True]


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        (TreeLimits(entries=3), "too many files for a look"),
        (TreeLimits(bytes=10), "too many bytes for a look"),
        (TreeLimits(entries=511, seconds=60), "a look takes too long"),
    ],
)
def test_beyond_a_limit_nothing_is_known(limits: TreeLimits, reason: str, tmp_path: Path) -> None:
    """After three such looks there is none any more."""
    for number in range(300):
        (tmp_path / f"{number}.txt").write_text("some text")
    minutes = count(0.0, 60.5 if limits.seconds == 60 else 0.0)
    witness = LocalWitness(limits=LookLimits(tree=limits), clock=lambda: next(minutes))
    found = [witness.tree([str(tmp_path)]).reason for _ in range(MAX_TREE_FAILURES + 1)]
    assert found == [reason] * MAX_TREE_FAILURES + ["earlier looks had no result"]


def test_it_opens_nothing_but_regular_files_below_the_folder(tmp_path: Path) -> None:
    """Pipes, sockets and links, to files elsewhere and in a circle, are known by their names and targets."""
    root, other = tmp_path / "w", tmp_path / "other.txt"
    root.mkdir()
    other.write_text("one")
    os.mkfifo(root / "pipe")
    (root / "out").symlink_to(other)
    (root / "loop").symlink_to(root / "loop")
    (root / "up").symlink_to(tmp_path)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(root / "socket"))
        witnesses: list[Witness] = [LocalWitness(), *([probe()] if gnu_find() else [])]
        for witness in witnesses:
            first = witness.tree([str(root)])
            other.write_text("two")
            assert first.digest and witness.tree([str(root)]) == first
            (root / "out").unlink()
            (root / "out").symlink_to(root / "pipe")
            assert witness.tree([str(root)]).digest not in ("", first.digest)
            (root / "out").unlink()
            (root / "out").symlink_to(other)


def test_the_whole_file_system_and_what_is_no_folder_are_unknown(tmp_path: Path) -> None:
    """So is a folder that may not be listed, unless whoever looks may list everything."""
    for witness in (LocalWitness(), probe()):
        assert [witness.tree([name]).digest for name in ("/", str(tmp_path / "none"))] == ["", ""]
    (tmp_path / "closed").mkdir(mode=0)
    assert LocalWitness().tree([str(tmp_path)]).digest == "" or os.geteuid() == 0


@pytest.mark.guarantee("working-tree")
def test_a_clock_that_was_set_back_makes_it_unknown(tmp_path: Path) -> None:
    """Files that are changed now might seem older than the first look."""
    times = iter([time.time_ns(), time.time_ns() - 10 * WINDOW])
    witness = LocalWitness(wall=lambda: next(times))
    assert [witness.tree([str(tmp_path)]).reason for _ in range(2)] == ["", "the clock was set back"]


@needs_find
def test_a_probe_of_the_tree_prints_no_names_and_runs_no_git(tmp_path: Path) -> None:
    """One line with a digest comes back, from one execution; names may be anything."""
    (tmp_path / "secret name\nof two lines").write_text("secret text")
    (tmp_path / "-rf 'x'").write_text("secret text")
    printed: list[str] = []

    def execute(command: str) -> str:
        printed.append(executed(command))
        return printed[-1]

    assert ProbeWitness(execute).tree([str(tmp_path)]).digest
    assert len(printed) == 1 and "secret" not in printed[0] and len(printed[0].splitlines()) == 3
