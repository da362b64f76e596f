"""Which files are backups, logs and scratch files: by extension, by place, and by name if the run created them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from execledger.shell.transient import (
    MAX_MENTIONED,
    MAX_TEXT,
    NAMES,
    PLAIN,
    Scratch,
    mentioned,
    scratch_name,
    transient,
)

SCRATCH = [
    "repro.py", "reproduce_issue.py", "test_repro.py", "issue_repro.py", "debug.py", "patch.txt", "scratch-2.py",
    "demo.py", "tmp.py", "temp2.txt", "check_it.py", "verify.sh", "test_fix.py", "a_backup.py", "output.txt", "log.txt",
]  # fmt: skip


@pytest.mark.parametrize(
    "path",
    [
        "/repo/a.py.bak", "/repo/a.py.orig", "/repo/a.py~", "/repo/#a.py#", "/repo/x.log", "/repo/tmp/x.py",
        "/tmp/x.py", "/repo/.git/HEAD", "/repo/pkg/__pycache__/a.pyc", "/repo/fix.patch", "/repo/.a.py.swp",
        "/repo/nohup.out",
    ],
)  # fmt: skip
def test_backups_logs_and_scratch_folders_are_transient(path: str) -> None:
    """By extension or by folder."""
    assert transient(path, "/repo")


@pytest.mark.parametrize("name", SCRATCH)
def test_the_name_of_a_scratch_file_alone_makes_none(name: str) -> None:
    """A repository may have a file of that name."""
    assert scratch_name(f"/repo/{name}") and not transient(f"/repo/{name}", "/repo")


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
    assert not transient(path, "/repo") and not scratch_name(path)


def test_folders_above_the_work_do_not_count() -> None:
    """A repository that lies in a temporary folder is a repository all the same."""
    assert not transient("/tmp/run/repo/a.py", "/tmp/run/repo")
    assert transient("/tmp/run/repo/tmp/a.py", "/tmp/run/repo")


@pytest.mark.parametrize("name", SCRATCH)
@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "a.py\n{}\n",
        "src/{}:3: x",
        "see {}.",
        'File "/repo/{}", line 3',
        "+{}",
        "-{}",
        "\x1b[01;31m{}\x1b[0m",
        "?? {}",
    ],
)
def test_names_are_found_however_they_are_printed(text: str, name: str) -> None:
    """In listings, hits, tracebacks, diffs, colours and sentences."""
    # Behind a colour's sign a name that begins with another word can't be distinguished from that word.
    assert name in mentioned(text.format(name)) or (text.startswith("\x1b") and not name.startswith(("re", "de")))


@given(st.from_regex(NAMES, fullmatch=True).filter(PLAIN.fullmatch), st.sampled_from(["", "src/", "\n", "("]))
def test_every_scratch_name_is_found(name: str, before: str) -> None:
    """The hints leave none out."""
    assert name.lower() in mentioned(f"{before}{name}\n") or len(name) > 255


def created(*texts: str, path: str = "/repo/debug.py") -> tuple[bool, bool]:
    """Whether ``path``, written after ``texts``, was certainly or perhaps created."""
    scratch = Scratch()
    for text in texts:
        scratch.mention(text)
    scratch.create(path, "/repo")
    return scratch.created(path), scratch.perhaps(path)


def test_a_file_is_created_if_its_name_was_never_seen() -> None:
    """In doubt it only may have been; a name that is none of a scratch file never is."""
    assert created("a.py\nother.py\n") == (True, True)
    assert created("Debug.py\n") == created(path="debug.py") == (False, True)
    assert created(path="/repo/debug-it now.py") == (False, True)
    assert created(path="/repo/a.py") == (False, False)


def test_a_file_deeper_in_the_repository_may_have_been_there() -> None:
    """Unless the run made its folder; a folder whose name is none of a scratch folder may have been there too."""
    assert created(path="/repo/django/views/debug.py") == created(path="/debug.py") == (False, True)
    scratch = Scratch()
    for path in ("/repo/repro", "/repo/repro/debug.py", "/repo/views", "/repo/views/debug.py"):
        scratch.create(path, "/repo")
    assert scratch.created("/repo/repro/debug.py") and not scratch.created("/repo/views/debug.py")


def test_what_was_created_once_stays_so() -> None:
    """Its name is seen everywhere afterwards."""
    scratch = Scratch()
    scratch.create("/repo/debug.py", "/repo")
    scratch.mention("debug.py")
    scratch.create("/repo/debug.py", "/repo")
    assert scratch.created("/repo/debug.py")


def test_beyond_the_bounds_any_name_may_have_been_seen() -> None:
    """A text that is too long is not searched, and not too many names are remembered."""
    assert created(" " * MAX_TEXT) == (True, True)
    assert created(" " * (MAX_TEXT + 1)) == (False, True)
    many = [
        " ".join(f"check_{number}.py" for number in range(at, at + 1000)) for at in range(0, MAX_MENTIONED + 1, 1000)
    ]
    assert created(*many, "a.py") == (False, True)
