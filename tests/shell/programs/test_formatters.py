"""Formatters and linters."""

from __future__ import annotations

from tests.shell.programs.calling import changes, kinds, understand, writing


def test_formatters_change_the_files_they_are_given() -> None:
    """A name with an extension is a file."""
    for line in (
        "black -l 100 a.py",
        "isort --profile black a.py",
        "autopep8 -i -a a.py",
        "yapf -i a.py",
        "prettier --write a.py",
        "eslint --fix a.py",
        "gofmt -l -w a.py",
        "clang-format -i a.py",
    ):
        assert understand(line) == writing("a.py", foreign=True), line


def test_formatters_over_folders() -> None:
    """Folders, patterns and computed names may be any file."""
    for line in ("black .", "black src", "isort $x", "prettier --write 'src/**/*.js'", "rubocop -A"):
        assert changes(line) == ("unknown", "TREE", []), line
    assert changes("black a.py $x") == ("unknown", "TREE", ["a.py"])


def test_formatters_that_write_more() -> None:
    """They follow imports, leave backups or keep a cache in the tree."""
    assert changes("ruff format a.py") == ("unknown", "TREE", ["a.py"])
    assert changes("ruff check --fix a.py") == ("unknown", "TREE", ["a.py"])
    assert changes("rustfmt main.rs") == ("unknown", "TREE", ["main.rs"])
    assert changes("2to3 -w a.py") == ("unknown", "TREE", ["a.py"])


def test_checks() -> None:
    """A check rewrites nothing but may keep caches."""
    assert kinds(
        "black --check a.py",
        "isort --diff a.py",
        "autopep8 a.py",
        "prettier --check a.js",
        "eslint a.js",
        "eslint --fix-dry-run a.js",
        "ruff check a.py",
        "ruff format --diff a.py",
        "gofmt -d a.go",
        "flake8 a.py",
        "mypy a.py",
        "tsc",
    ) == {("other", "unknown")}


def test_versions() -> None:
    """Asking for the version does nothing."""
    assert kinds("black --version", "ruff --help", "ruff version") == {("other", "none")}
