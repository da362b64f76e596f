"""Patches from the shell."""

from __future__ import annotations

from execledger.shell.facts import Part
from execledger.vocabulary.records import Category, Effects, Scope
from tests.shell.programs.calling import LOOK, changes, understand

DIFF = "--- a/src/x.py\n+++ b/src/x.py\n@@ -1 +1 @@\n-a\n+b\n"
ENVELOPE = "*** Begin Patch\n*** Update File: x.py\n@@\n-a\n+b\n*** End Patch\n"


def patched(path: str, text: str) -> Part:
    return Part(
        category=Category.MODIFY, effects=Effects.LISTED, writes=(path,), scope=Scope.FILES, texts=(("", text),)
    )


def test_patch_from_a_here_document() -> None:
    """The patch itself names its files."""
    assert understand("patch -p1", body=DIFF) == patched("src/x.py", DIFF)
    assert understand("patch -p1 -d sub", body=DIFF) == patched("sub/src/x.py", DIFF)


def test_patch_from_a_file() -> None:
    """What a file patches is not known."""
    for line in ("patch -p1 -i x.diff", "patch -p1", "patch -p1 -d $d"):
        assert changes(line) == ("unknown", "TREE", []), line
    assert changes("patch a.py x.diff") == ("unknown", "FILES", ["a.py"])


def test_dry_run() -> None:
    """Trying a patch changes nothing."""
    assert understand("patch --dry-run -p1 -i x") == LOOK


def test_apply_patch() -> None:
    """The patch is the argument or stands in a here-document."""
    assert understand("apply_patch", body=ENVELOPE) == patched("x.py", ENVELOPE)
    assert understand(f"apply_patch '{ENVELOPE}'") == patched("x.py", ENVELOPE)
    assert changes("apply_patch $x") == ("unknown", "TREE", [])


def test_git_apply() -> None:
    """It reads a patch as ``patch -p1`` does."""
    assert understand("git apply", body=DIFF) == patched("src/x.py", DIFF)
    assert understand("git -C sub apply -R -", body=DIFF) == patched("sub/src/x.py", DIFF)
    assert changes("git apply x.patch", body=DIFF) == ("unknown", "TREE", [])
