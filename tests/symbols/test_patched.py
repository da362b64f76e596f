"""Which symbols a patch touches."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from execledger.shell.patches import looks_like_patch, patched_paths
from execledger.symbols.outline import edited, outline
from execledger.symbols.patched import PatchedFile, patched


def unified(path: str, heading: str, *lines: str) -> str:
    """A patch of one hunk."""
    old = sum(line[0] in " -" for line in lines)
    new = sum(line[0] in " +" for line in lines)
    body = "\n".join(lines)
    return f"--- a/{path}\n+++ b/{path}\n@@ -10,{old} +10,{new} @@ {heading}\n{body}\n"


@pytest.mark.parametrize(
    ("path", "heading", "lines", "names"),
    [
        ("a.py", "", (" def f():", "-    return 1", "+    return 2"), "f"),
        ("a.py", "def f(x,", ("     y = 1", "-    return 1", "+    return 2"), "f"),
        ("a.py", "class Model:", ("     limit = 1", "+    extra = 2", " ", "     def save(self):"), "Model"),
        ("a.py", "class Model:", ("     def save(self):", "-        return 1", "+        return 2"), "Model.save"),
        ("a.py", "def f(self):", ("         x = 1", " ", "+    def g(self):", "+        y = 2"), "g"),
        ("a.py", "def f():", ("     return 1", " ", "-LIMIT = 1", "+LIMIT = 2"), ""),
        ("a.py", "class Model:", ("     x = 1", " ", " def f():", "-    y = 1", "+    y = 2"), "f"),
        ("a.py", "import os", ("     x = 1", "+    y = 2"), ""),
        ("a.py", "", ("-def f():", "-    pass", "+def g():", "+    pass"), "f g"),
        ("a.ts", "export class Store {", ("   find(key: string) {", "-    a();", "+    b();", "   }"), "Store.find"),
        ("a.go", "func (s *Server) Run(", (" \tx := 1", "-\ty()", "+\tz()", " }"), "Server.Run"),
        ("a.go", "type Server struct {", (" \tport int", "+\thost string", " }", "+func f() {", "+}"), "Server f"),
        ("A.java", "public class A", ("     }", " ", "+    int f() {", "+        return 1;", "+    }"), "A.f"),
        ("a.rs", "impl Shape for Round {", ("     fn area(&self) {", "+        x();", "     }"), "Round.area"),
        ("a.c", "static int f(int a)", (" {", "+    x();", "     return 1;", " }"), "f"),
        ("a.cpp", "void A::f(int a,", ("     x();", "+    y();", " }"), "A.f"),
    ],
)
def test_hunks_count_for_definitions_and_headings(path: str, heading: str, lines: tuple[str, ...], names: str) -> None:
    """A changed line counts for the definition in the hunk, else for the heading's, as far as that one reaches."""
    added, removed = (sum(line[0] == sign for line in lines) for sign in "+-")
    expected = PatchedFile(path, tuple(names.split()), added, removed)
    assert patched(unified(path, heading, *lines)) == (expected,)


def test_a_patch_of_several_files() -> None:
    """Each file has its own answer, in order; the symbols of a file in no known language are unknown."""
    text = unified("a.go", "func f() {", "-\ta()", "+\tb()") + unified("notes.md", "# Title", "+text")
    assert patched(text) == (PatchedFile("a.go", ("f",), 1, 1), PatchedFile("notes.md", None, 1, 0))


ENVELOPE = """\
*** Begin Patch
*** Update File: src/a.py
*** Move to: src/b.py
@@ class Model
@@     def save
-        return 1
+        return 2
@@ def helper():
     x = 1
+    y = 2
*** Add File: c.js
+class A {
+  run() {}
+}
*** Delete File: d.py
*** End Patch
"""


def test_the_other_form_of_patches() -> None:
    """Stacked headings qualify each other, also where they are only begun; added files count whole."""
    assert patched(ENVELOPE) == (
        PatchedFile("src/b.py", ("Model.save", "helper"), 2, 1),
        PatchedFile("c.js", ("A", "A.run"), 3, 0),
        PatchedFile("d.py", (), 0, 0),
    )


PATCHES = ["--- a/x.py\n", "+++ b/x.ts\n", "@@ -1,2 +1,2 @@ class A {\n", "diff --git a/x b/x\n", "rename from x\n"]
ENVELOPES = ["*** Begin Patch\n", "*** Update File: a.go\n", "*** Move to: b.rs\n", "*** End Patch\n", "@@ def f\n"]
CODE = ["class A {\n", "def f(self):\n", "func (s *S) F() {\n", *'+-(){}`"\r\n\t\0 ', '"""', "/*", "*/"]
PIECES = st.sampled_from([*PATCHES, *ENVELOPES, *CODE])
TEXTS = st.text(max_size=60) | st.lists(PIECES | st.text(max_size=4), max_size=25).map("".join)
PATHS = st.sampled_from([f"a.{suffix}" for suffix in "py js ts tsx go java rs c cpp txt".split()]) | st.text(max_size=8)


@given(PATHS, TEXTS, TEXTS)
def test_no_text_is_too_strange(path: str, old: str, new: str) -> None:
    """Any text has an answer, the same one each time."""
    answers = [(outline(path, old), edited(path, old, new), patched(old), patched_paths(new, 1)) for _ in range(2)]
    assert answers[0] == answers[1]
    assert [file.path for file in patched(old) if file.path not in patched_paths(old)] == []
    assert not looks_like_patch(old) or old.lstrip()[:3] in ("dif", "---", "***")
