#!/usr/bin/env python3
"""Builds the images of tasks, and writes the tasks as a dataset in SWE-bench's format.

    python examples/tasks/build.py -o dataset
    execledger eval run examples/tasks/plan.toml -o out

A task is a folder with ``task.toml`` and three folders: ``repo`` is the repository that the agent gets, ``tests`` are
the files that are put over it to grade a repair, and ``solution`` are the files of the reference repair. An image is
the base image with the repository at ``/testbed``, in one commit. Needs git, and Docker or podman.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

HERE = Path(__file__).resolve().parent
BASE = "localhost/execledger-tasks/base:1"
"""Name of the base image; one of this name is used as it is, and otherwise it is built from ``base/Dockerfile``."""
RECIPE = f"FROM {BASE}\nCOPY testbed /testbed\nWORKDIR /testbed\n"
"""The Dockerfile of every task."""
KEYS = ("instance_id", "language", "test_command", "log_parser", "FAIL_TO_PASS", "PASS_TO_PASS", "problem_statement")
"""The keys of ``task.toml``."""
# The same files give the same commit on every machine.
COMMITTED = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    **{
        f"GIT_{who}_{what}": value
        for who in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", "tasks"), ("EMAIL", "tasks@localhost"), ("DATE", "2026-01-01T00:00:00Z"))
    },
}
HEREDOC = "END_OF_TEST_PATCH"
EVAL_SCRIPT = """\
#!/bin/bash
set -uxo pipefail
exec 2>&1
cd /testbed
git config --global --add safe.directory /testbed
rm -f {tests}
{reset}
git apply -v - <<'{heredoc}'
{test_patch}{heredoc}
: '>>>>> Start Test Output'
{test_command}
: '>>>>> End Test Output'
{reset}
"""
"""How a repair is graded, in the container; the two marks are those that the harness looks for."""


class Task(NamedTuple):
    """A task in its folder."""

    folder: Path
    """The folder."""
    fields: Mapping[str, Any]
    """The content of ``task.toml``."""

    @property
    def image(self) -> str:
        """The name of its image."""
        return f"localhost/execledger-tasks/{self.folder.name}:1"

    def overlay(self, name: str) -> list[str]:
        """The files of one of its folders, by their place in the repository."""
        root = self.folder / name
        return sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())


def tasks_in(folder: Path) -> Iterator[Task]:
    """The tasks below a folder."""
    for file in sorted(folder.glob("*/task.toml")):
        fields = tomllib.loads(file.read_text(encoding="utf-8"))
        wrong = [key for key in KEYS if key not in fields] or [key for key in fields if key not in KEYS]
        if wrong:
            fail(f"{file}: `{wrong[0]}` is missing or unknown, expected the keys {', '.join(KEYS)}")
        for name in ("repo", "tests", "solution"):
            if not (file.parent / name).is_dir():
                fail(f"{file.parent / name}: found no such folder, expected files of the task")
        yield Task(file.parent, fields)


def committed(task: Task, place: Path) -> str:
    """Make the repository of a task in a folder, and return the name of its commit."""
    shutil.copytree(task.folder / "repo", place, ignore=shutil.ignore_patterns("__pycache__"))
    git(place, "init", "--quiet", "--initial-branch=main")
    git(place, "add", "--all", "--force")
    git(place, "commit", "--quiet", "--no-gpg-sign", "--message", "The repository of the task")
    return git(place, "rev-parse", "HEAD").strip()


def patch(task: Task, place: Path, name: str) -> str:
    """The difference that the files of ``tests`` or ``solution`` make; the repository is left as it was."""
    shutil.copytree(task.folder / name, place, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    git(place, "add", "--all", "--force")
    made = git(place, "diff", "--cached", "--no-color", "HEAD")
    git(place, "reset", "--quiet", "--hard")
    return made


def row(task: Task, place: Path, commit: str) -> dict[str, Any]:
    """The task as a row of a dataset of SWE-bench."""
    fields = task.fields
    test_patch, tests = patch(task, place, "tests"), task.overlay("tests")
    existing = [name for name in tests if (place / name).exists()]
    script = EVAL_SCRIPT.format(
        tests=shlex.join(tests),
        reset=shlex.join(["git", "checkout", commit, "--", *existing]) if existing else ":",
        heredoc=HEREDOC,
        test_patch=test_patch,
        test_command=fields["test_command"],
    )
    return {
        "instance_id": fields["instance_id"],
        "repo": fields["instance_id"].rpartition("-")[0].replace("__", "/"),
        "version": "1",
        "base_commit": commit,
        "image": task.image,
        "problem_statement": fields["problem_statement"].strip() + "\n",
        "patch": patch(task, place, "solution"),
        "test_patch": test_patch,
        "FAIL_TO_PASS": fields["FAIL_TO_PASS"],
        "PASS_TO_PASS": fields["PASS_TO_PASS"],
        "log_parser": fields["log_parser"],
        "eval_type": "pass_and_fail",
        "eval_script": script,
        "language": fields["language"],
    }


def build(docker: str, image: str, context: Path) -> None:
    """Build an image from the Dockerfile in a folder."""
    run([docker, "build", "--quiet", "--tag", image, str(context)])


def have(docker: str, image: str) -> bool:
    """Whether an image is in the local store."""
    return subprocess.run([docker, "image", "inspect", image], capture_output=True, check=False).returncode == 0


def make(folder: Path, docker: str, names: Sequence[str]) -> list[dict[str, Any]]:
    """Build the images of the tasks in a folder, or of those that are named, and return their rows."""
    found = {task.folder.name: task for task in tasks_in(folder)}
    if missing := [name for name in names if name not in found]:
        fail(f"{folder}: found no task `{missing[0]}`, expected one of {', '.join(found) or 'none'}")
    if not found:
        fail(f"{folder}: found no tasks, expected folders with a task.toml")
    if docker and not have(docker, BASE):
        build(docker, BASE, HERE / "base")
    rows = []
    for task in (found[name] for name in names or found):
        with tempfile.TemporaryDirectory() as scratch:
            place = Path(scratch, "testbed")
            commit = committed(task, place)
            if docker:
                Path(scratch, "Dockerfile").write_text(RECIPE)
                build(docker, task.image, Path(scratch))
            rows.append(row(task, place, commit))
        print(f"{rows[-1]['instance_id']}: {task.image if docker else 'no image'}", flush=True)
    return rows


def git(place: Path, *words: str) -> str:
    """Run git in a repository; what it prints."""
    return run(["git", "-C", str(place), *words], COMMITTED)


def run(words: Sequence[str], variables: Mapping[str, str] | None = None) -> str:
    """Run a program; what it prints. If it fails, so does this script, with the reason."""
    try:
        done = subprocess.run(
            words, env={**os.environ, **(variables or {})}, capture_output=True, text=True, check=False
        )
    except OSError as error:
        fail(f"{words[0]}: can't be started: {error.strerror}")
    if done.returncode:
        fail(f"{shlex.join(words)}: status {done.returncode}: {done.stderr.strip()[-1000:]}")
    return done.stdout


def fail(message: str) -> NoReturn:
    """End with a message."""
    sys.exit(f"build.py: {message}")


def main() -> None:
    """Build the images and write ``test.jsonl``."""
    parser = argparse.ArgumentParser(description="Build the images of tasks, and write them as a dataset.")
    parser.add_argument("tasks", nargs="?", type=Path, default=HERE, help="folder with tasks [default: the examples]")
    parser.add_argument("-o", "--output", type=Path, required=True, help="folder for test.jsonl")
    parser.add_argument("--docker", default="docker", help="container program; '' builds no images")
    parser.add_argument("--task", action="append", default=[], metavar="NAME", help="only this task; may be repeated")
    given = parser.parse_args()
    rows = make(given.tasks, given.docker, given.task)
    given.output.mkdir(parents=True, exist_ok=True)
    file = given.output / "test.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in rows), encoding="utf-8")
    print(f"{len(rows)} tasks are in {file}")


if __name__ == "__main__":
    main()
