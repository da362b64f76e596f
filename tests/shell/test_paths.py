"""Paths joined with the directory that a command runs in."""

from __future__ import annotations

import pytest

from execledger.shell.paths import UNRECORDED_DIRECTORY, known_part, resolve, spell, unstable


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


def test_above_the_directory_that_was_not_recorded_nothing_is_known() -> None:
    """Beneath it, paths are comparable; a step up may lead anywhere, and is never taken for an absolute path."""
    inside = f"{UNRECORDED_DIRECTORY}/src"
    assert resolve(UNRECORDED_DIRECTORY, "src/./a.py") == f"{inside}/a.py"
    assert resolve(inside, "..") == UNRECORDED_DIRECTORY
    assert resolve(UNRECORDED_DIRECTORY, "/a.py") == "/a.py"
    assert resolve(inside, "../../a.py") is None


@pytest.mark.parametrize(
    ("path", "known"),
    [
        (f"{UNRECORDED_DIRECTORY}/src/a.py", "src/a.py"),
        (UNRECORDED_DIRECTORY, "."),
        (f"{UNRECORDED_DIRECTORY}-2/a.py", f"{UNRECORDED_DIRECTORY}-2/a.py"),
        ("/repo/a.py", "/repo/a.py"),
    ],
)
def test_the_placeholder_is_no_part_of_a_path_for_people(path: str, known: str) -> None:
    """A path beneath it is relative, any other as it is."""
    assert known_part(path) == known


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
