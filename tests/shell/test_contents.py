"""Which files' lines a command's output shows."""

from __future__ import annotations

import pytest

from execledger.core.understand import classify
from execledger.vocabulary.actions import Action, Edit, Read, Search
from tests.shell.asking import ask


@pytest.mark.parametrize(
    ("command", "files"),
    [
        ("cat a.py", ["a.py"]),
        ("cat Makefile", ["Makefile"]),
        ("cat < a.py", ["/r/a.py"]),
        ("nl -ba a.py | sed -n '1,20p'", ["a.py"]),
        ("cat a.py b.py", ["a.py", "b.py"]),
        ("cat a.py $f", ["a.py", ""]),
        ("head -5 a.py; echo; tail -5 b.py", ["a.py", "b.py"]),
        ("for f in *.py; do cat $f; done", [""]),
        ("sed -i 1d a.py && sed -n 1,5p a.py", ["a.py"]),
        ("sed -n '/def a/,/def b/p' a.py", ["a.py"]),
        ("bash -c 'cat a.py'", ["a.py"]),
        ("grep -n x a.py", ["a.py"]),
        ("grep -rn x .", [""]),
        ("rg x src", [""]),
        ("git grep -n x", [""]),
        ("cat a.py | grep x", ["a.py"]),
        ("find . -name '*.py' | xargs grep -n x", [""]),
        ("find . -name '*.py' -exec cat {} +", [""]),
        ("git show HEAD:lib/a.py | sed -n '1,9p'", ["lib/a.py"]),
        ("cat a.py && python - <<'E'\nx\nE\n&& cat b.py", ["a.py"]),
    ],
)
def test_readers_and_text_searches_show_contents(command: str, files: list[str]) -> None:
    """Files as they are spelled; "" where only the output or the shell tells which."""
    assert list(ask(command).contents) == files


@pytest.mark.parametrize(
    "command",
    [
        "ls -la",
        "find . -name '*.py'",
        "wc -l a.py",
        "grep -rl x .",
        "grep -c x a.py",
        "rg --files",
        "git status",
        "git diff a.py",
        "git show HEAD",
        "diff a.py b.py",
        "ls | grep py",
        "python -m pytest a.py",
        "python -m pytest a.py | sed -n '1,20p'",
        "python -m pytest a.py 2>&1 | tail -5",
        "cat a.py | python count.py",
        "python - <<'E'\nprint(open('a.py').read())\nE",
        "cat > a.py <<'E'\nx = 1\nE",
        "python run.py $(cat names.txt)",
    ],
)
def test_all_else_shows_none(command: str) -> None:
    """Listings, names, counts, differences, and what tests and scripts print."""
    assert ask(command).contents == ()


def test_structured_calls() -> None:
    """A read tool shows its file, a search tool what its hits name; an edit tool is asked for no lines."""
    calls = (Read("a.py"), Search(), Edit("a.py"))
    assert [classify(Action("call", "/r", call)).contents for call in calls] == [("/r/a.py",), ("",), ()]
