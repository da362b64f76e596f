"""Where an agent works on a task: a copy or a container, what was changed in it, and what is refused."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from execledger.agents import work_folder
from execledger.agents.codex.batch import RUNNER
from execledger.agents.evaluation import Instance, Problem
from execledger.agents.work_folder import clear, opened, unprepared
from execledger.demo.repository import make_repository
from execledger.errors import LedgerError
from execledger.evaluate.experiment import setup_of
from execledger.evaluate.plan import Plan
from tests.support.agents.fake_docker import FakeDocker

CODEX = RUNNER.contained
TASK = Instance(instance_id="ledger__warehouse-1", problem_statement="Repair it.")


def git(folder: Path, *words: str) -> str:
    command = ["git", "-c", "user.name=A", "-c", "user.email=a@localhost", *words]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def changed_in(folder: Path) -> list[str]:
    entries = git(folder, "-c", "core.excludesFile=", "status", "--porcelain", "-uall", "-z").split("\0")
    return sorted(entry.lstrip()[2:].lstrip() for entry in entries if entry)


def sh(folder: Path, script: str) -> None:
    subprocess.run(["sh", "-ec", script], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    """A plan with one prepared repository."""
    make_repository(tmp_path / "repos" / TASK.instance_id)
    return Plan(agent="codex", own={"repos": "repos"})


EDITS = {
    "nothing": ("", []),
    "an edit": ("echo more >> README.md", ["README.md"]),
    "a new file": ("mkdir new && echo a > new/a.py", ["new/a.py"]),
    "a deletion": ("rm README.md", ["README.md"]),
    "its own commits": (
        "echo more >> README.md && git -c user.name=A -c user.email=a@b commit -qam mine && echo a > b.py",
        ["README.md", "b.py"],
    ),
    "another branch": ("git checkout -q -b mine && echo a > b.py && git add b.py", ["b.py"]),
    "what is ignored": ("echo '*.log' > .gitignore && echo a > a.log", [".gitignore"]),
    "settings that would change the patch": (
        "git config diff.noprefix true && git config diff.external false && echo more >> README.md",
        ["README.md"],
    ),
    "a name that needs quotes": ("echo a > 'two words.py'", ["two words.py"]),
}


@pytest.mark.parametrize(("script", "changed"), EDITS.values(), ids=EDITS)
def test_the_repair_is_whatever_was_changed(plan: Plan, tmp_path: Path, script: str, changed: list[str]) -> None:
    """Applied to the prepared repository, it gives the files that the agent left; the original stays as it was."""
    original = tmp_path / "repos" / TASK.instance_id
    before = git(original, "status", "--porcelain")
    with opened(setup_of(plan, "codex", tmp_path), TASK, tmp_path / "scratch", CODEX) as place:
        tree = place.snapshot()
        sh(place.folder, script)
        patch = place.changes_since(tree)
        (tmp_path / "patch").write_text(patch)
        left = {name: (place.folder / name).exists() and (place.folder / name).read_text() for name in changed}
    assert (git(original, "status", "--porcelain"), list((tmp_path / "scratch").iterdir())) == (before, [])
    if patch:
        git(original, "apply", str(tmp_path / "patch"))
    assert changed_in(original) == changed
    assert {name: (original / name).exists() and (original / name).read_text() for name in changed} == left
    assert bool(patch) == bool(changed)


def test_what_was_there_uncommitted_is_no_part_of_the_repair(plan: Plan, tmp_path: Path) -> None:
    """A prepared repository may have been built in."""
    original = tmp_path / "repos" / TASK.instance_id
    sh(original, "echo built > built.txt; echo more >> README.md")
    with opened(setup_of(plan, "codex", tmp_path), TASK, tmp_path / "scratch", CODEX) as place:
        tree = place.snapshot()
        sh(place.folder, "echo a > b.py")
        assert [line for line in place.changes_since(tree).splitlines() if line.startswith("+++")] == ["+++ b/b.py"]


def test_a_repository_at_another_commit_is_refused(plan: Plan, tmp_path: Path) -> None:
    """Its own commit, and one that builds on it, are welcome."""
    original = tmp_path / "repos" / TASK.instance_id
    base = git(original, "rev-parse", "HEAD")
    git(original, "commit", "-q", "--allow-empty", "-m", "prepared")
    for commit in (base, git(original, "rev-parse", "HEAD")):
        task = Instance(instance_id=TASK.instance_id, problem_statement="", base_commit=commit)
        with opened(setup_of(plan, "codex", tmp_path), task, tmp_path / "scratch", CODEX):
            pass
    task = Instance(instance_id=TASK.instance_id, problem_statement="", base_commit="a" * 40)
    with (
        pytest.raises(LedgerError, match="expected it to stand at the commit aaaa"),
        opened(setup_of(plan, "codex", tmp_path), task, tmp_path / "scratch", CODEX),
    ):
        pass


def test_a_missing_repository_is_named(plan: Plan, tmp_path: Path) -> None:
    """By where it was looked for."""
    task = Instance(instance_id="other", problem_statement="")
    with (
        pytest.raises(LedgerError, match="repos/other: found no repository there"),
        opened(setup_of(plan, "codex", tmp_path), task, tmp_path / "scratch", CODEX),
    ):
        pass


def test_what_is_not_prepared_is_found_before_any_run(plan: Plan, tmp_path: Path) -> None:
    """Missing repositories and those at another commit, a few by name; the folder alone if it is none."""
    setup = setup_of(plan, "codex", tmp_path)
    here = Instance(instance_id=TASK.instance_id, problem_statement="")
    assert list(unprepared(setup, [here])) == []
    many = [Instance(instance_id=f"acme__proj-{number}", problem_statement="") for number in range(1, 8)]
    other = Instance(instance_id=TASK.instance_id, problem_statement="", base_commit="a" * 40)
    hint = "`repos` names a folder with a clone for each instance, DIR/INSTANCE, at the instance's base commit"
    assert list(unprepared(setup, [other, *many])) == [
        Problem("repos: found no repository of acme__proj-1, acme__proj-2, acme__proj-3 and 4 more", hint),
        Problem(f"repos: found another commit than the base commit of {TASK.instance_id}", hint),
    ]
    (tmp_path / "file").touch()
    for name, found in (("none", "nothing there"), ("file", "a file")):
        nowhere = Plan(agent="codex", own={"repos": name})
        said = f"{name}: found {found}, expected a folder with prepared repositories"
        assert list(unprepared(setup_of(nowhere, "codex", tmp_path), [here])) == [Problem(said, hint)]


def test_a_container_is_a_place_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program that is started there runs the agent inside, and the repair is taken from inside; then it is gone."""
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex home"))
    docker = FakeDocker.install(tmp_path / "docker")
    make_repository(docker.image / "testbed")
    program = tmp_path / "codex"
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$CODEX_HOME" "$@" > asked.txt\n')
    program.chmod(0o755)
    plan = Plan(agent="codex", own={"docker": str(docker.executable)})
    with opened(setup_of(plan, str(program), tmp_path), TASK, tmp_path / "scratch", CODEX) as place:
        tree = place.snapshot()
        subprocess.run([place.program, "exec", "--json", "two words"], check=True)
        patch = place.changes_since(tree)
        assert (Path(place.program).name, place.sealed) == ("codex", True)
    asked = [line[1:] for line in patch.splitlines() if line.startswith("+") and not line.startswith("+++")]
    assert asked == [str(tmp_path / "codex home"), "exec", "--json", "two words"]
    (container,) = docker.containers.iterdir()
    assert ((container / "stopped").exists(), (container / "image").read_text()) == (True, TASK.image)


def test_an_image_that_cannot_be_had_is_told(tmp_path: Path) -> None:
    """With what docker said."""
    broken = tmp_path / "docker"
    broken.write_text("#!/bin/sh\necho 'no such image' >&2\nexit 125\n")
    broken.chmod(0o755)
    plan = Plan(agent="codex", own={"docker": str(broken)})
    with (
        pytest.raises(LedgerError, match="no container could be started: no such image"),
        opened(setup_of(plan, "codex", tmp_path), TASK, tmp_path / "scratch", CODEX),
    ):
        pass


def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    """Copies and containers alike."""
    docker = FakeDocker.install(tmp_path / "docker")
    make_repository(docker.image / "testbed")
    plan = Plan(agent="codex", own={"docker": str(docker.executable)})
    left = opened(setup_of(plan, "codex", tmp_path), TASK, tmp_path / "scratch", CODEX)
    left.__enter__()
    (container,) = docker.containers.iterdir()
    assert not (container / "stopped").exists()
    clear(setup_of(plan, "codex", tmp_path), tmp_path / "scratch")
    assert ((container / "stopped").exists(), (tmp_path / "scratch").exists()) == (True, False)


def test_the_profile_of_a_container_is_sourced_once(tmp_path: Path) -> None:
    """A profile that starts a shell of its own, as `pyenv init` does, ends; what it exports reaches every shell."""
    profile, sourced = tmp_path / "bashrc", tmp_path / "sourced"
    profile.write_text('export FOUND="$FOUND$(bash -c "echo x")"\n')
    sourced.write_text(work_folder.SOURCED.replace(work_folder.PROFILE, str(profile)))
    asked = ["bash", "-c", 'echo "$FOUND ${BASH_ENV-none}"; bash -c \'echo "$FOUND"\'']
    done = subprocess.run(
        asked,
        env={"PATH": os.defpath, "BASH_ENV": str(sourced)},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout == "x none\nx\n"
