"""Programs that change files by name."""

from __future__ import annotations

from msgspec.structs import replace

from execledger.shell.facts import Part, Selection
from execledger.vocabulary.records import Category, Effects, Scope
from tests.shell.programs.calling import LOOK, SHOW, changes, kind, understand, writing


def test_tee_writes_and_passes_on() -> None:
    """Its input goes into its files and through."""
    expected = Part(
        category=Category.MODIFY,
        effects=Effects.LISTED,
        writes=("a", "b"),
        scope=Scope.FILES,
        selection=Selection(),
        texts=(("a", "x\n"), ("b", "x\n")),
    )
    assert understand("tee -a a b", body="x\n", fed=True) == expected
    assert changes("tee a $b") == ("unknown", "TREE", ["a"])


def test_tee_to_a_device() -> None:
    """A device is no file."""
    part = understand("tee /dev/stderr", fed=True)
    assert (part.effects, part.writes, part.selection) == (Effects.NONE, (), Selection())


def test_copies() -> None:
    """The target, or each source's name inside it."""
    assert understand("cp a.py b.py") == writing("b.py")
    assert understand("cp a.py dir/") == writing("dir/a.py")
    assert understand("cp x/a.py .") == writing("./a.py")
    assert understand("cp a b dir") == writing("dir/a", "dir/b")
    assert understand("cp -t dir a b") == writing("dir/a", "dir/b")
    assert understand("cp -rT a/ dir/") == writing("dir/")
    assert understand("cp -r a/. dir/") == writing("dir/")
    assert understand("cp --parents x/a dir") == writing("dir/x/a")


def test_moves_change_both_names() -> None:
    """The old name is gone, the new one is there."""
    assert understand("mv a b") == writing("a", "b")
    assert understand("mv a b dir") == writing("a", "b", "dir/a", "dir/b")


def test_computed_names() -> None:
    """Only the literal names are certain, and anything may change."""
    assert changes("cp $a b.py") == ("unknown", "TREE", ["b.py"])
    assert changes("cp $a dir") == ("unknown", "TREE", [])
    assert changes("mv a $b") == ("unknown", "TREE", ["a"])
    assert changes("rm a $b") == ("unknown", "TREE", ["a"])
    assert changes("rm") == ("unknown", "TREE", [])


def test_backups_get_unknown_names() -> None:
    """``cp -b`` writes more than its target."""
    assert changes("cp -b a b") == ("unknown", "FILES", ["b"])
    assert changes("cp -S.x a b") == ("unknown", "FILES", ["b"])


def test_simple_changes() -> None:
    """Each operand, and no value of an option."""
    assert understand("rm -rf a b") == writing("a", "b")
    assert understand("mkdir -p -m 755 a/b") == replace(writing("a/b"), creates=("a/b",))
    assert understand("touch -d yesterday a") == replace(writing("a"), creates=("a",))
    assert understand("truncate -s 0 a") == writing("a")
    assert understand("unlink a") == writing("a")
    assert changes("rm --frob a") == ("unknown", "FILES", ["a"])


def test_links_and_installs() -> None:
    """A link is what is written, not what it points at."""
    assert understand("ln -sf ../a b") == writing("b")
    assert understand("ln -s ../a") == writing("a")
    assert understand("install -m 644 a b") == writing("b")
    assert understand("install -d a b") == writing("a", "b")


def test_permissions_are_set_up() -> None:
    """The mode is no file, even if it looks like an option."""
    for line in ("chmod +x a.sh", "chmod -x a.sh", "chmod -R 755 a.sh", "chown me:me a.sh", "chmod --reference=x a.sh"):
        assert understand(line) == writing("a.sh", category=Category.SETUP), line


def test_dd() -> None:
    """Only ``of=`` writes; how long it took is told in any case."""
    assert understand("dd if=a of=b bs=1") == writing("b")
    assert understand("dd if=a") == replace(SHOW, volatile=True)
    assert changes("dd if=a $x") == ("unknown", "TREE", [])


def test_editors() -> None:
    """Their files are likely to change, and more may."""
    assert changes("ed -s a.py") == ("unknown", "FILES", ["a.py"])
    assert changes("vim -es -c wq a.py") == ("unknown", "FILES", ["a.py"])
    assert changes("ex +1d a.py") == ("unknown", "FILES", ["a.py"])


def test_rsync_and_split() -> None:
    """What they write exactly is not worked out."""
    assert changes("rsync -a a/ b/") == ("unknown", "FILES", ["b/"])
    assert changes("rsync -a a/ host:b/") == ("unknown", "TREE", [])
    assert changes("split -l 5 a") == ("unknown", "TREE", [])
    assert kind("rename s/a/b/ a") == ("modify", "unknown")


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
