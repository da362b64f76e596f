"""Which results are recent enough to be referred to."""

from __future__ import annotations

import pytest

from execledger.core.recency import ANY, MAX_LOOKS, Recency, key_of

FILE = "/repo/src/a.py"
ALL = range(1_000)


def recency(changes: dict[int, str], looks: dict[int, str]) -> Recency:
    """What these steps changed, and which files the results of these may show."""
    found = Recency()
    for step in sorted({*changes, *looks}):
        if step in changes:
            found.change(step, changes[step])
        if step in looks:
            found.result(step, "")
            found.look(step, "", key_of(looks[step]) if looks[step] else ANY)
    return found


@pytest.mark.parametrize(
    ("changes", "looks", "since"),
    [
        ([], [], -1),
        ([], [1], -1),
        ([1], [2], -1),
        ([2], [1], -1),
        ([1, 3], [], -1),
        ([1, 3], [0], -1),
        ([1, 3], [2], 1),
        ([1, 3], [4], -1),
        ([1, 3, 5], [2], 1),
        ([1, 3, 5], [4], 3),
        ([1, 3, 5], [2, 4, 6], 3),
        # A command that changes the file and prints something: it may show what it has made of it.
        ([1, 3], [1], 1),
        ([1, 3], [3], -1),
        ([2], [2], -1),
    ],
)
def test_a_look_between_two_changes_counts(changes: list[int], looks: list[int], since: int) -> None:
    """What was seen before the change that it follows is not referred to."""
    found = recency(dict.fromkeys(changes, FILE), dict.fromkeys(looks, FILE))
    assert found.since("", FILE, ALL) == since
    assert found.since_any("", FILE, ALL) == since
    assert found.since_any("", ANY, ALL) == since
    assert found.since("", "/repo/b.py", ALL) == -1


@pytest.mark.parametrize("changed", [FILE, "/repo/src", "/repo", ANY])
@pytest.mark.parametrize("seen", [FILE, ANY])
def test_a_folder_and_any_file_reach_every_file(changed: str, seen: str) -> None:
    """A write to a folder, a write of unknown reach, and a result that may show any file."""
    found = recency({1: changed, 3: FILE}, {2: seen})
    assert found.since("", FILE, ALL) == 1


def test_only_what_is_visible_on_the_thread_counts() -> None:
    """A result of another conversation, or one that left the request, is not visible."""
    found = recency({1: FILE, 9: FILE}, {2: FILE})
    assert (found.since("other", FILE, ALL), found.since("", FILE, range(3, 9))) == (-1, -1)
    found.change(10, FILE)
    assert found.since("", FILE, range(2, 3)) == 1


def test_looks_are_asked_for_up_to_a_bound() -> None:
    """If so many are hidden, an older one is not looked for."""
    found = recency({1: FILE, 500: FILE}, dict.fromkeys(range(2, 2 + MAX_LOOKS + 1), FILE))
    assert found.since("", FILE, frozenset((3,))) == 1
    assert found.since("", FILE, frozenset((2,))) == -1


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/repo/a.py", "cat a.py"),
        ("/repo/a.py", "src/a.py:12: error"),
        ("/repo/a.py", "./a.py-12-text"),
        ("/repo/a.py", "(in a.py)."),
        ("/repo/a.py", "\x1b[35m\x1b[Ka.py\x1b[m\x1b[K:12"),
        ("/repo/a.py", "a.py\x0012:x"),
        ("/repo/.env", "ls -a: .env"),
        ("/repo/my-file.py", "my-file.py|12"),
        ("/repo/Makefile", "Makefile:3"),
        ("/repo/my file.py", "anything"),
        ("/repo/größe.py", '"gr\\303\\266\\303\\237e.py"'),
    ],
)
def test_a_file_is_found_in_a_text_that_names_it(path: str, text: str) -> None:
    """In whatever form; a name that programs may quote or escape is taken as named by everything."""
    found = Recency()
    found.follow(path)
    assert found.named(text) == [key_of(path)]


@pytest.mark.parametrize("text", ["", "b.py", "a.pyc", "a py", "ba.py", "a.py.orig"])
def test_other_names_are_not_that_file(text: str) -> None:
    """Nor is a text without any."""
    found = Recency()
    found.follow("/repo/a.py")
    found.follow("/repo/a.py")
    assert found.named(text) == []
    assert found.named("a.py") == ["a.py"]


@pytest.mark.parametrize("name", ["__init__.py", "my file.py"])
def test_files_of_one_name_are_noted_together(name: str) -> None:
    """However many there are, a text names one key; a change and a look that name it reach all of them."""
    found, paths = Recency(), [f"/repo/{folder}/{name}" for folder in range(50)]
    for path in paths:
        found.follow(path)
    (key,) = found.named(name)
    found.change(1, key)
    found.look(2, "", key)
    found.change(3, paths[7])
    assert [found.since("", path, ALL) for path in paths] == [-1] * 7 + [1] + [-1] * 42
    assert found.spelled(f"search x in {paths[7]}") == [paths[7]]
