"""``execledger explain``: the contract with programs, and the words for people."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from tests.cli.conftest import Execledger


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (
            "cat a.py",
            {
                "category": "inspect",
                "reads": [{"path": "/repo/a.py", "lines": None}],
                "writes": [],
                "effects": "none",
                "opaque": None,
            },
        ),
        (
            "cd src && sed -n '5,9p' a.py | cat",
            {
                "category": "inspect",
                "reads": [{"path": "/repo/src/a.py", "lines": [5, 9]}],
                "writes": [],
                "effects": "none",
                "opaque": None,
            },
        ),
        (
            "tail -n 20 a.py; tail -n +7 b.py",
            {
                "category": "inspect",
                "reads": [{"path": "/repo/a.py", "lines": [-20, None]}, {"path": "/repo/b.py", "lines": [7, None]}],
                "writes": [],
                "effects": "none",
                "opaque": None,
            },
        ),
        (
            "echo x > a.py && pytest -q",
            {"category": "modify", "reads": [], "writes": ["/repo/a.py"], "effects": "unknown", "opaque": None},
        ),
        (
            "git diff > /out/p.diff",
            {"category": "submit", "reads": [], "writes": ["/out/p.diff"], "effects": "listed", "opaque": None},
        ),
        (
            "echo $(cat a.py",
            {"category": "other", "reads": [], "writes": [], "effects": "unknown", "opaque": "syntax"},
        ),
    ],
)
def test_json_is_the_contract_with_programs(execledger: Execledger, command: str, expected: dict[str, object]) -> None:
    """Exactly these keys, in one line; paths joined with the directory and a leading ``cd``."""
    called = execledger("explain", command, "--cwd", "/repo", "--json")
    found = json.loads(called.out)
    assert isinstance(found.pop("normalized"), str)
    assert (called.status, called.err, called.out.count("\n"), found) == (0, "", 1, expected)


def test_the_normal_form_is_without_what_does_not_matter(execledger: Execledger) -> None:
    """Spacing, quoting and harmless redirects."""
    called = execledger("explain", "grep  -n 'name'   \"a.py\" 2>/dev/null", "--json")
    assert json.loads(called.out)["normalized"] == "grep -n name a.py"


def test_without_a_directory_paths_stay_as_they_are_written(execledger: Execledger) -> None:
    """Where the command starts is not known."""
    called = execledger("explain", "cat src/a.py; head -n 3 /etc/hosts", "--json")
    assert [read["path"] for read in json.loads(called.out)["reads"]] == ["src/a.py", "/etc/hosts"]


def test_a_relative_directory_is_refused(
    execledger: Execledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command starts at one place; what a relative path means depends on who reads it."""
    monkeypatch.chdir(tmp_path)
    expected = f"execledger: --cwd: found 'src', expected an absolute path\nhint: --cwd {tmp_path}/src\n"
    assert execledger("explain", "cat a.py", "--cwd", "src") == (2, "", expected)


def test_words_for_people(execledger: Execledger) -> None:
    """One fact per line."""
    called = execledger("explain", "cd src && sed -n '5,9p' a.py && cat b.py && frobnicate > c.py", "--cwd", "/repo")
    assert called.out == snapshot("""\
category:   modify
normalized: cd /repo/src && sed -n 5,9p a.py && cat b.py && frobnicate >c.py
reads:      /repo/src/a.py 5-9
reads:      /repo/src/b.py
writes:     /repo/src/c.py
effects:    unknown
unknown:    frobnicate
""")


def test_an_opaque_command_says_why(execledger: Execledger) -> None:
    """The reason code, and what it means."""
    assert execledger("explain", "if true; then").out == snapshot("""\
category:   other
normalized: if true; then
effects:    unknown
opaque:     syntax: it is not valid shell, or is shell that our grammar does not know
""")


@pytest.mark.parametrize("command", ["", "\x00", "(" * 5000, "-- -x"])
def test_hostile_commands_are_explained_like_any_other(execledger: Execledger, command: str) -> None:
    """Nothing raises."""
    called = execledger("explain", "--json", "--", command)
    assert (called.status, set(json.loads(called.out))) == (
        0,
        {"category", "normalized", "reads", "writes", "effects", "opaque"},
    )
