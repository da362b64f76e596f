"""Which files are scratch by their name."""

from __future__ import annotations

import pytest

from execledger.core.transient import transient


@pytest.mark.parametrize(
    "path",
    [
        "/repo/repro.py", "/repo/reproduce_issue.py", "/repo/test_repro.py", "/repo/issue_repro.py", "/repo/a.py.bak",
        "/repo/a.py.orig", "/repo/a.py~", "/repo/x.log", "/repo/debug.py", "/repo/tmp/x.py", "/tmp/x.py",
        "/repo/.git/HEAD", "/repo/pkg/__pycache__/a.pyc", "/repo/patch.txt", "/repo/fix.patch", "/repo/.a.py.swp",
        "/repo/scratch-2.py", "/repo/nohup.out",
    ],
)  # fmt: skip
def test_scratch_files_backups_and_logs_are_transient(path: str) -> None:
    """By name, by extension or by folder."""
    assert transient(path, "/repo")


@pytest.mark.parametrize(
    "path",
    [
        "/repo/a.py", "/repo/tests/test_a.py", "/repo/src/reproducible.py", "/repo/debugger.py", "/repo/template.py",
        "/repo/checker.py", "/repo/logging.py", "/repo/demography.py", "/repo/tempo.py", "/repo/src/temp_dir/a.py",
        "/repo/.gitignore", "/repo/output.py", "/repo/backup.py",
    ],
)  # fmt: skip
def test_files_that_only_sound_alike_are_not(path: str) -> None:
    """A real source file must not fall out of focus."""
    assert not transient(path, "/repo")


def test_folders_above_the_work_do_not_count() -> None:
    """A repository that lies in a temporary folder is a repository all the same."""
    assert not transient("/tmp/run/repo/a.py", "/tmp/run/repo")
    assert transient("/tmp/run/repo/tmp/a.py", "/tmp/run/repo")
