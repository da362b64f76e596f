"""The files and hunks of a patch."""

from __future__ import annotations

import pytest

from execledger.shell.patches import FilePatch, Hunk, looks_like_patch, parse_patch, patched_paths

GIT = """\
diff --git a/src/a.py b/src/a.py
index 83db48f..bf269f4 100644
--- a/src/a.py
+++ b/src/a.py
@@ -1,3 +1,3 @@ class Model:
 x
--- a/not/a/name
+++ b/not/a/name
 y
diff --git a/new name.py b/new name.py
new file mode 100644
index 0000000..e69de29
diff --git a/old.py b/old.py
deleted file mode 100644
--- a/old.py
+++ /dev/null
@@ -1 +0,0 @@
-x
\\ No newline at end of file
diff --git a/from.py b/to.py
similarity index 90%
rename from from.py
rename to to.py
--- a/from.py
+++ b/to.py
@@ -2 +2 @@
-a
+b
diff --git a/logo.png b/logo.png
Binary files a/logo.png and b/logo.png differ
"""

PLAIN = """\
Only in new: other
diff -ru old/src/a.c new/src/a.c
--- old/src/a.c\t2024-01-01 10:00:00.000000000 +0000
+++ new/src/a.c\t2024-01-02 10:00:00.000000000 +0000
@@ -5,2 +5,3 @@ int main(void)
 {
+  x();

--- old/gone.c
+++ /dev/null
@@ -1 +0,0 @@
-x
"""

ENVELOPE = """\
*** Begin Patch
*** Update File: src/a.py
*** Move to: src/b.py
@@ class Model:
@@     def save(self):
-        return 1
+        return 2

@@
 x
+y
*** End of File
*** Add File: docs/new.md
+*** Update File: not/a/name
+text
*** Delete File: old.txt
*** End Patch
"""


def test_git_patches_name_their_files() -> None:
    """Changed, empty new, deleted, renamed and binary files are all found, and no line of a hunk is taken for one."""
    assert patched_paths(GIT) == ("src/a.py", "new name.py", "old.py", "from.py", "to.py", "logo.png")


def test_git_patches_are_read_hunk_by_hunk() -> None:
    """Hunks are as long as their numbers say, and carry their headings."""
    assert parse_patch(GIT) == [
        FilePatch("", "src/a.py", [Hunk(["class Model:"], [" x", "--- a/not/a/name", "+++ b/not/a/name", " y"])]),
        FilePatch("", "new name.py"),
        FilePatch("old.py", "", [Hunk([], ["-x"])]),
        FilePatch("from.py", "to.py", [Hunk([], ["-a", "+b"])]),
        FilePatch("", "logo.png"),
    ]


@pytest.mark.parametrize(
    ("strip", "paths"),
    [
        (None, ("new/src/a.c", "old/gone.c")),
        (0, ("new/src/a.c", "old/gone.c")),
        (1, ("src/a.c", "gone.c")),
        (2, ("a.c",)),
        (9, ()),
    ],
)
def test_plain_patches_lose_leading_folders(strip: int | None, paths: tuple[str, ...]) -> None:
    """``-pN`` removes leading components; a name that has no more of them is no file."""
    assert patched_paths(PLAIN, strip) == paths


def test_plain_patches_are_read_hunk_by_hunk() -> None:
    """Dates are no part of names, and an empty line stands for an empty line of context."""
    assert parse_patch(PLAIN, 1)[0] == FilePatch("", "src/a.c", [Hunk(["int main(void)"], [" {", "+  x();", " "])])


def test_envelopes_are_read_hunk_by_hunk() -> None:
    """The other form gives the same: files, moves, stacked headings, and added text that looks like a file's header."""
    assert parse_patch(ENVELOPE) == [
        FilePatch(
            "src/a.py",
            "src/b.py",
            [
                Hunk([" class Model:", "     def save(self):"], ["-        return 1", "+        return 2", " "]),
                Hunk([], [" x", "+y"]),
            ],
        ),
        FilePatch("", "docs/new.md", [Hunk([], ["+*** Update File: not/a/name", "+text"])], added=True),
        FilePatch("old.txt", ""),
    ]
    assert patched_paths(ENVELOPE) == ("src/a.py", "src/b.py", "docs/new.md", "old.txt")


@pytest.mark.parametrize(
    ("header", "path"),
    [
        ("--- a/x.py\n+++ b/x.py\n", "x.py"),
        ("--- x.py.orig\n+++ x.py\n", "x.py"),
        ("--- i/x.py\n+++ w/x.py\n", "x.py"),
        ("--- /dev/null\n+++ b/x.py\n", "x.py"),
        ("--- a/x.py\r\n+++ b/x.py\r\n", "x.py"),
        ("--- a/x.py 2024-01-01 10:00:00\n+++ b/x.py 2024-01-01 10:00:00\n", "x.py"),
        ('--- "a/f\\303\\251\\t.py"\n+++ "b/f\\303\\251\\t.py"\n', "fé\t.py"),
        ("--- src/x.py\n+++ src/x.py\n", "src/x.py"),
        ('diff --git "a/\\"q\\".py" "b/\\"q\\".py"\nnew file mode 100644\n', '"q".py'),
        ("diff --git a/x.py b/x.py\nold mode 100644\nnew mode 100755\n", "x.py"),
        ("diff --git a/x.py b/y.py\nsimilarity index 100%\ncopy from x.py\ncopy to y.py\n", "y.py"),
    ],
)
def test_names_are_spelled_in_many_ways(header: str, path: str) -> None:
    """Prefixes, backups, dates, quoting and headers without any hunk all lead to the one file that is written."""
    assert patched_paths(header) == (path,)


@pytest.mark.parametrize("text", ["", "x", "--- a\n", "+++ b\n", "@@ -1 +1 @@\n-a\n+b\n", "*** Begin Patch\n@@\n+x\n"])
def test_what_is_no_patch_names_no_file(text: str) -> None:
    """Text without a complete header has no files."""
    assert patched_paths(text) == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [(GIT, True), (ENVELOPE, True), ("\n" + GIT, True), (PLAIN, False), ("--- a rule ---\n", False), ("", False)],
)
def test_a_patch_is_known_by_its_first_line(text: str, expected: bool) -> None:
    """Only text that starts as a patch looks like one."""
    assert looks_like_patch(text) is expected
