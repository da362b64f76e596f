"""Paths joined with the directory that a command runs in."""

from __future__ import annotations

import pytest

from execledger.shell.paths import resolve, spell, unstable


@pytest.mark.parametrize(
    ("cwd", "path", "resolved"),
    [
        ("/r", "a/b.py", "/r/a/b.py"),
        ("/r", "./a/../b.py", "/r/b.py"),
        ("/r", "../b", "/b"),
        ("/r", "/x//y/", "/x/y"),
        (None, "/x/./y", "/x/y"),
        (None, "a", None),
        ("/r", "", None),
        (".", "a", "a"),
        ("a", "../../b", "../b"),
    ],
)
def test_one_path_for_one_file(cwd: str | None, path: str, resolved: str | None) -> None:
    """Relative to an unknown directory a path means nothing."""
    assert resolve(cwd, path) == resolved


def test_spelling() -> None:
    """For people, a path that can't be resolved stays as it was typed."""
    assert spell("/r", "a") == "/r/a"
    assert spell(None, "./a//b") == "a/b"
    assert spell(None, "") == ""


def test_files_that_change_by_themselves() -> None:
    """What the kernel shows is not kept in files."""
    assert [unstable(path) for path in ("/proc/meminfo", "/sys/x", "/dev/stdin", "/dev/null", "/process", "a")] == [
        True, True, True, False, False, False,
    ]  # fmt: skip
