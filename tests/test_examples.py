"""The example tasks: their tests fail where a bug is, pass with the reference repair, and are all declared."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from examples.tasks import build

TASKS = {task.folder.name: task for task in build.tasks_in(build.HERE)}
RESULT = re.compile(r"^(?:(ok|not ok) \d+ (.+)|(.+) \.\.\. (ok|FAIL|ERROR))$", re.MULTILINE)
"""A result in TAP, or of Python's unittest."""
INTERPRETERS = {"Python": "python3", "shell": "bash", "awk": "awk", "Perl": "perl", "JavaScript": "node"}


def results(row: dict[str, Any], place: Path, patch: str) -> dict[str, bool]:
    """Which tests pass after a patch, by the script that grades a repair, run in a folder in place of ``/testbed``."""
    if patch:
        subprocess.run(["git", "apply"], cwd=place, input=patch, text=True, check=True)
    script = row["eval_script"].replace("/testbed", str(place))
    home = {"HOME": str(place.parent), "GIT_CONFIG_SYSTEM": "/dev/null", "PYTHONDONTWRITEBYTECODE": "1"}
    variables = {"PATH": "/usr/local/bin:/usr/bin:/bin", **home}
    printed = subprocess.run(["bash", "-c", script], env=variables, capture_output=True, text=True, check=True).stdout
    begun, ended = (printed.index(f">>>>> {word} Test Output") for word in ("Start", "End"))
    return {tap or unit: "ok" in (first, last) for first, tap, unit, last in RESULT.findall(printed[begun:ended])}


@pytest.mark.parametrize("name", TASKS)
def test_a_task_has_a_bug_and_a_repair(name: str, tmp_path: Path) -> None:
    """Before the repair just the tests in FAIL_TO_PASS fail; after it none does, and there are no others."""
    task = TASKS[name]
    if shutil.which(INTERPRETERS[task.fields["language"]], path="/usr/local/bin:/usr/bin:/bin") is None:
        pytest.skip(f"no interpreter for {task.fields['language']}")
    place = tmp_path / "testbed"
    row = build.row(task, place, build.committed(task, place))
    failing, passing = row["FAIL_TO_PASS"], row["PASS_TO_PASS"]
    assert failing and passing
    before = results(row, place, "")
    assert before == {**dict.fromkeys(failing, False), **dict.fromkeys(passing, True)}
    assert results(row, place, row["patch"]) == dict.fromkeys([*failing, *passing], True)


def test_the_languages_and_the_number_of_tasks() -> None:
    """There are tasks in five languages, and each has a name of its own."""
    assert len({task.fields["instance_id"] for task in TASKS.values()}) == len(TASKS) == 8
    assert {task.fields["language"] for task in TASKS.values()} == set(INTERPRETERS)


def test_a_new_test_file_is_put_over_one_of_the_agent(tmp_path: Path) -> None:
    """A task whose tests are new files: a file of the same name that the agent wrote does not count."""
    folder = tmp_path / "tasks" / "new"
    for path, text in (("repo/a.sh", "echo 1\n"), ("tests/t.sh", "echo ok 1 one\n"), ("solution/a.sh", "echo 2\n")):
        (folder / path).parent.mkdir(parents=True)
        (folder / path).write_text(text)
    fields = {"test_command": "bash t.sh", "FAIL_TO_PASS": ["one"], "PASS_TO_PASS": [], "log_parser": "parse_log_tap"}
    task = build.Task(folder, {"instance_id": "a__b-1", "language": "shell", "problem_statement": "it", **fields})
    place = tmp_path / "testbed"
    row = build.row(task, place, build.committed(task, place))
    (place / "t.sh").write_text("echo not ok 1 one\n")
    assert results(row, place, row["patch"]) == {"one": True}
    assert (place / "a.sh").read_text() == "echo 2\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("instance_id = 'a__b-1'", "`language` is missing or unknown"),
        ("".join(f"{key} = 'x'\n" for key in build.KEYS) + "more = 1", "`more` is missing or unknown"),
        ("".join(f"{key} = 'x'\n" for key in build.KEYS), "repo: found no such folder"),
    ],
)
def test_a_broken_task_is_named(tmp_path: Path, text: str, said: str) -> None:
    """With the file or folder, and what was expected."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "task.toml").write_text(text)
    with pytest.raises(SystemExit, match=said):
        build.make(tmp_path, "", [])
    with pytest.raises(SystemExit, match="found no tasks"):
        build.make(tmp_path / "mine", "", [])
