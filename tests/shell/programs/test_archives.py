"""Archives."""

from __future__ import annotations

from tests.shell.programs.calling import LOOK, SHOW, changes, kinds, understand


def test_listing_an_archive() -> None:
    """Listing changes nothing."""
    for line in ("tar tzf a.tgz", "tar -tvf a.tar", "tar --list -f a.tar", "unzip -l a.zip", "gzip -l a.gz"):
        assert understand(line) == LOOK, line


def test_unpacking_may_write_anything() -> None:
    """So does making an archive, and listing that runs a program."""
    for line in (
        "tar xzf a.tgz",
        "tar -cf a.tar d",
        "tar tf a.tar --to-command=x",
        "tar -I x -tf a.tar",
        "tar tf a.tar $more",
        "unzip a.zip",
        "unzip -o a.zip",
        "zip -r a.zip d",
    ):
        assert changes(line) == ("unknown", "TREE", []), line


def test_compressors() -> None:
    """They replace their files, or print."""
    assert changes("gzip -9 a b") == ("unknown", "FILES", ["a", "b"])
    assert understand("gzip -c a") == SHOW
    assert understand("xz -d", fed=True) == SHOW
    assert kinds("zstd a -o b") == {("modify", "unknown")}
