"""Which symbols the replacement of a snippet touches."""

from __future__ import annotations

import pytest

from execledger.symbols.outline import edited

METHODS = """\
    def load(self):
        return 1

    @cached
    def save(self):
        return 2
"""


@pytest.mark.parametrize(
    ("path", "old", "new", "names"),
    [
        ("a.py", METHODS, METHODS.replace("2", "3"), "save"),
        ("a.py", METHODS, METHODS.replace("@cached", "@traced"), "save"),
        ("a.py", METHODS, METHODS.replace("load", "read"), "load read"),
        ("a.py", METHODS, METHODS, ""),
        ("a.py", METHODS, "", "load save"),
        ("a.py", "", "class A:\n    def b(self):\n        pass\n", "A A.b"),
        ("a.py", "import os\n", "import os\nimport re\n", ""),
        ("a.py", "    x = 1\n\ndef save(self):\n    y = 1\n", "    x = 2\n\ndef save(self):\n    y = 1\n", ""),
        ("a.py", "def f():\n    pass\n\nLIMIT = 1\n", "def f():\n    pass\n\nLIMIT = 2\n", ""),
        ("a.py", "return 1", "return 2", ""),
        ("a.js", "  save() {\n    a();\n  }\n  load() {\n", "  save() {\n    a();\n    b();\n  }\n  load() {", "save"),
        ("a.go", "func f() {\n\ta()\n}\n\nfunc g() {\n", "func f() {\n\tb()\n}\n\nfunc g() {\n", "f"),
        ("a.rs", "#[test]\nfn f() {}\n", "#[ignore]\nfn f() {}\n", "f"),
        ("A.java", "    int x;\n    int f() { return x; }\n", "    long x;\n    int f() { return x; }\n", ""),
        ("a.cpp", "int A::f() {\n  return 1;\n}\n", "int A::f() {\n  return 2;\n}\n", "A.f"),
    ],
)  # fmt: skip
def test_changed_lines_count_for_the_definition_they_stand_in(path: str, old: str, new: str, names: str) -> None:
    """A changed line counts for the innermost definition around it in the snippet, and for none if there is none."""
    assert edited(path, old, new) == tuple(names.split())


def test_an_unknown_language_is_unknown() -> None:
    """Nothing is said of files that are not source text we know."""
    assert edited("notes.txt", "def f(): pass", "def g(): pass") is None


def test_long_snippets_count_as_changed_throughout() -> None:
    """Texts too long to be aligned are compared from both ends only."""
    body = "".join(f"func f{number}() {{\n\treturn\n}}\n" for number in range(200))
    old = body.replace("f0()", "first()").replace("f199()", "last()")
    assert edited("a.go", old, body) == ("first", *(f"f{number}" for number in range(1, 199)), "last", "f0", "f199")
