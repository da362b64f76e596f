"""Modification state: local and global counters, the focus, and what transient files do to them."""

from __future__ import annotations

from execledger.core.modifications import MAX_SYMBOLS, Modifications, Modified
from execledger.vocabulary.records import Category, CommandRecord, Effects, Scope


def write(*paths: str, scope: Scope = Scope.FILES) -> CommandRecord:
    return CommandRecord(Category.MODIFY, "write", writes=paths, effects=Effects.LISTED, scope=scope)


def after(*records: CommandRecord) -> Modifications:
    changes = Modifications()
    for step, record in enumerate(records):
        changes.advance(step, record, "/repo")
    return changes


def test_a_write_advances_its_file_and_the_global_counter() -> None:
    """And no other file."""
    changes = after(write("/repo/a.py"), write("/repo/a.py"), write("/repo/b.py"))
    counters = [changes.local(path) for path in ("/repo/a.py", "/repo/b.py", "/repo/c.py")]
    assert (counters, changes.everywhere) == ([2, 1, 0], 3)


def test_a_write_to_a_folder_reaches_every_file_below_it() -> None:
    """But not a folder that merely begins alike."""
    changes = after(write("/repo/src"))
    assert [changes.local(path) for path in ("/repo/src/deep/a.py", "/repo/src2/a.py", "/repo/a.py")] == [1, 0, 0]


def test_a_write_to_the_tree_reaches_every_file() -> None:
    """A stash may have changed anything."""
    changes = after(write(scope=Scope.TREE))
    assert (changes.local("/repo/a.py"), changes.local("/else/b"), changes.everywhere) == (1, 1, 1)


def test_a_commit_moves_the_global_counter_alone() -> None:
    """The repository's own records are state that searches depend on, files are as they were."""
    changes = after(write(scope=Scope.REPOSITORY))
    assert (changes.local("/repo/a.py"), changes.everywhere) == (0, 1)


def test_a_transient_file_moves_only_its_own_counter() -> None:
    """It is left out of the global counter and of the focus."""
    changes = after(write("/repo/debug.log"))
    assert (changes.local("/repo/debug.log"), changes.everywhere, changes.recent) == (1, 0, {})


def test_a_write_of_both_kinds_counts() -> None:
    """One file that counts is enough, and it alone is in focus."""
    changes = after(write("/repo/debug.log", "/repo/a.py"))
    assert (changes.everywhere, changes.recent) == (1, {"/repo/a.py": Modified("/repo/a.py", 0, None)})


def test_the_most_recently_modified_file_stands_last() -> None:
    """A file that is modified again moves to the end and keeps its symbols."""
    changes = after(write("/repo/a.py"), write("/repo/b.py"))
    changes.name_symbols("/repo/a.py", ("run",))
    changes.advance(2, write("/repo/a.py"), "/repo")
    assert list(changes.recent.values()) == [Modified("/repo/b.py", 1, None), Modified("/repo/a.py", 2, ("run",))]


def test_symbols_are_named_once_newest_last_and_bounded() -> None:
    """A file that was never modified has none to name."""
    changes = after(write("/repo/a.py"))
    changes.name_symbols("/repo/a.py", ("one", "two"))
    changes.name_symbols("/repo/a.py", ("one",))
    changes.name_symbols("/repo/b.py", ("three",))
    assert changes.recent == {"/repo/a.py": Modified("/repo/a.py", 0, ("two", "one"))}
    changes.name_symbols("/repo/a.py", tuple(f"s{n}" for n in range(40)))
    assert changes.recent["/repo/a.py"].symbols == tuple(f"s{n}" for n in range(40 - MAX_SYMBOLS, 40))
