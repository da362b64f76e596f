"""Files that error messages name."""

from __future__ import annotations

import pytest

from execledger.core.safeguards import MAX_FILES, files_in_errors, names_file
from execledger.shell.paths import UNRECORDED_DIRECTORY


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ('Traceback (most recent call last):\n  File "/repo/a.py", line 3, in f\nValueError\n', {"/repo/a.py"}),
        ("src/a.c:12:5: error: expected ';'\n", {"src/a.c"}),
        ("error[E0308]: mismatched types\n  --> src/main.rs:4:9\n", {"src/main.rs"}),
        ("TypeError: x\n    at run (/repo/lib/a.js:10:3)\n", {"/repo/lib/a.js"}),
        ("tests/test_a.py:7: AssertionError\nFAILED tests/test_a.py::test_x\n", {"tests/test_a.py"}),
        ("./a.go:3:2: undefined: x (compile error)\n", {"./a.go"}),
        ("src/a.ts(12,5): error TS2304: no\n", {"src/a.ts"}),
        ("a.py:3: value = 1\nb.py:9: other = 2\n", set()),
        ("All is well.\n", set()),
    ],
)
def test_tracebacks_and_compiler_messages_name_files(output: str, expected: set[str]) -> None:
    """As they spell them; an output without an error names none."""
    assert files_in_errors(output) == expected


def test_an_endless_list_of_errors_is_cut() -> None:
    """The first files are enough."""
    output = "".join(f"f{n}.c:1: error: no\n" for n in range(500))
    assert files_in_errors(output) == {f"f{n}.c" for n in range(MAX_FILES)}


@pytest.mark.parametrize(
    ("name", "path", "expected"),
    [
        ("/repo/a.py", "/repo/a.py", True),
        ("a.py", "/repo/src/a.py", True),
        ("./src/a.py", "/repo/src/a.py", True),
        ("src/a.py", "/repo/lib/a.py", False),
        ("a.py", "/repo/aa.py", False),
        ("/other/a.py", "/repo/a.py", False),
        ("/repo/src/a.py", f"{UNRECORDED_DIRECTORY}/src/a.py", True),
        ("/repo/lib/a.py", f"{UNRECORDED_DIRECTORY}/src/a.py", False),
        ("/repo/a.py", UNRECORDED_DIRECTORY, False),
    ],
)
def test_a_name_in_an_error_may_be_relative(name: str, path: str, expected: bool) -> None:
    """To a folder that we don't know, but never to a part of a name; so may the path where the run recorded none."""
    assert names_file(frozenset({name}), path) is expected
