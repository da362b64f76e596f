"""``git``: looking and changing."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from execledger.shell.facts import Part
from execledger.vocabulary.records import Category
from tests.shell.programs.calling import FOREIGN_LOOK, LOOK, changes, kind, kinds, understand, writing


@pytest.mark.parametrize(
    "line",
    [
        "git branch",
        "git branch -avv",
        "git branch --contains abc",
        "git branch --list 'x*'",
        "git tag -l 'v*'",
        "git tag --points-at HEAD",
        "git remote -v",
        "git config user.name",
        "git config --get user.name",
        "git config -l",
        "git worktree list",
        "git symbolic-ref HEAD",
        "git rev-parse --show-toplevel",
        "git --no-pager -c color.ui=never -c core.pager=cat ls-tree HEAD",
    ],
)
def test_looking(line: str) -> None:
    """Looking at a repository's own records is a search."""
    assert understand(line) == LOOK


@pytest.mark.parametrize(
    "line",
    [
        "git status --short",
        "git log --oneline -5",
        "git show HEAD:a.py",
        "git --no-pager -c color.ui=never -c core.pager=cat blame a.py",
        "git grep -n foo",
        "git stash list",
        "git stash show -p",
        "git reflog",
        "git bisect log",
        "git apply --check x.patch",
        "git apply --stat x.patch",
        "git clean -nfd",
        "git add --dry-run .",
        "git archive HEAD",
        "git submodule status",
        "git -C sub ls-files",
        "git diff --stat",
        "git diff --name-only",
    ],
)
def test_looking_with_the_help_of_others(line: str) -> None:
    """Settings may name a program that shows differences, converts or cleans a file, watches the tree, or signs."""
    assert understand(line) == FOREIGN_LOOK


@pytest.mark.parametrize(
    "line",
    [
        "git rm -n a.py --no-dry-run",
        "git clean -n --no-dry-run -f",
        "git clean -n -d --no-dry-r -f",
        "git apply --check --no-check x.patch",
        "git apply --stat --app x.patch",
        "git format-patch --stdout --no-stdout -1",
    ],
)
def test_a_look_that_is_taken_back(line: str) -> None:
    """A later option undoes the one that only looks, and git takes shortened names."""
    assert kind(line)[1] == "unknown"


def test_a_diff_prints_a_patch() -> None:
    """Into a file it would be a submission."""
    assert understand("git diff") == replace(FOREIGN_LOOK, makes_patch=True)
    assert understand("git format-patch --stdout -1") == replace(FOREIGN_LOOK, makes_patch=True)


def test_output_options_write() -> None:
    """Every diff-like look can write its output to a file."""
    assert understand("git diff --output=p.patch") == writing("p.patch", category=Category.SUBMIT, foreign=True)
    for line in ("git log -p --output p.patch", "git reflog -p --output=p.patch", "git stash show --outp=p.patch"):
        assert understand(line) == writing("p.patch", foreign=True), line
    assert understand("git diff -- --output") == replace(FOREIGN_LOOK, makes_patch=True)
    assert understand("git diff --output-indicator-new=x") == replace(FOREIGN_LOOK, makes_patch=True)


def test_looks_that_run_programs() -> None:
    """A pager of one's own or a setting may run anything."""
    assert kinds("git grep -O foo", "git grep --open-files-in-pager=vim foo", "git -c core.fsmonitor=x status") == {
        ("search", "unknown")
    }
    assert kinds("git -c alias.x=!rm x", "git $x", "git frobnicate", "git difftool") == {("other", "unknown")}


@pytest.mark.parametrize(
    "line",
    [
        "git add -A",
        "git commit -m x",
        "git branch new",
        "git branch --color new",
        "git branch -D old",
        "git branch -m a b",
        "git tag v1",
        "git tag -d v1",
        "git remote add o x",
        "git config user.name me",
        "git config --unset user.name",
        "git stash drop",
        "git reset",
        "git reset HEAD a.py",
        "git restore --staged a.py",
        "git rm --cached a.py",
        "git apply --cached x.patch",
        "git checkout -b new",
        "git symbolic-ref HEAD refs/x",
        "git gc",
    ],
)
def test_records_change(line: str) -> None:
    """The repository's records change, no file of the tree."""
    assert changes(line) == ("unknown", "REPOSITORY", [])


@pytest.mark.parametrize(
    "line",
    [
        "git stash",
        "git stash pop",
        "git reset --hard",
        "git reset --har HEAD~1",
        "git merge x",
        "git rebase x",
        "git pull",
        "git switch x",
        "git checkout main",
        "git checkout -",
        "git checkout v1.2",
        "git checkout feature/x.y1",
        "git checkout src tests",
        "git checkout -b x origin/main",
        "git checkout -- '*.py'",
        "git checkout -- :/",
        "git restore $x",
        "git clean -fd",
        "git clean -fd -e node",
        "git clean -fde node",
        "git apply x.patch",
        "git cherry-pick x",
        "git bisect start",
        "git -C $d checkout -- a.py",
    ],
)
def test_the_tree_may_change(line: str) -> None:
    """Any file of the tree may change."""
    assert changes(line) == ("unknown", "TREE", [])


@pytest.mark.parametrize(
    ("line", "paths"),
    [
        ("git checkout -- a.py b", ["a.py", "b"]),
        ("git checkout HEAD~2 -- src", ["src"]),
        ("git checkout HEAD a.py", ["a.py"]),
        ("git checkout abc1234 src/foo", ["src/foo"]),
        ("git checkout a.py", ["a.py"]),
        ("git checkout .", ["."]),
        ("git restore a.py", ["a.py"]),
        ("git restore -s HEAD~1 --staged --worktree a.py", ["a.py"]),
        ("git restore .", ["."]),
        ("git rm -f a.py", ["a.py"]),
        ("git mv a b", ["a", "b"]),
        ("git mv a b dir", ["a", "b", "dir/a", "dir/b"]),
        ("git clean -fd build", ["build"]),
        ("git -C sub -C deep restore a.py", ["sub/deep/a.py"]),
    ],
)
def test_named_files_change(line: str, paths: list[str]) -> None:
    """Only the files that it names change."""
    assert changes(line) == ("listed", "FILES", paths)


def test_set_up_and_sending() -> None:
    """Fetching sets up; pushing changes nothing here that we know of."""
    assert kinds("git clone x", "git init", "git fetch", "git submodule update --init") == {("setup", "unknown")}
    assert kind("git push") == ("other", "unknown")
    assert kind("git format-patch -1") == ("modify", "unknown")
    assert understand("git --version") == Part(category=Category.OTHER)


def test_other_systems() -> None:
    """Mercurial and Subversion have the same words for looking."""
    assert understand("hg status") == FOREIGN_LOOK
    assert understand("svn log -l 3") == FOREIGN_LOOK
    assert kinds("hg update x", "svn revert a", "hg diff --config x=y", "jj status") == {("modify", "unknown")}


def test_the_clock() -> None:
    """Times that are told from now on change by themselves."""
    for line in (
        "git log --format=%cr",
        "git log --date=relative",
        "git log --relative-date",
        "git log --since=yesterday",
        "git for-each-ref '--format=%(committerdate:relative)'",
        "git show HEAD@{yesterday}",
    ):
        assert understand(line).volatile, line
    for line in ("git log -5", "git diff HEAD@{1}", "git log --format=%cd", "git diff --relative", "git log @{u}.."):
        assert not understand(line).volatile, line
