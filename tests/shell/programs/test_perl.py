"""Perl one-liners."""

from __future__ import annotations

from tests.shell.programs.calling import SHOW, changes, kinds, understand, writing


def test_plain_substitutions_edit_in_place() -> None:
    """Only the files change, and backups are named."""
    assert understand("perl -pi -e 's/a/b/' f g") == writing("f", "g")
    assert understand("perl -i.bak -pe 's{a}{b}g; tr/x/y/' f") == writing("f", "f.bak")
    assert understand(r"perl -0777pi -e 's|a\n|b|gs' f") == writing("f")
    assert understand("perl -i -ne 'print unless /x/' f") == writing("f")


def test_code_in_place() -> None:
    """Other code may do more than edit."""
    for code in (
        "s/a/b/e",
        "s/a/`id`/",
        "s/a/@{[system(1)]}/",
        "system(1)",
        "s/(?{ system(1) })/b/",
        "unlink 1; s/a/b/",
    ):
        assert changes(f"perl -pi -e '{code}' f") == ("unknown", "FILES", ["f"]), code
    assert changes("perl -MFoo -pi -e 's/a/b/' f") == ("unknown", "FILES", ["f"])
    assert changes("perl -pi -e 's/a/b/' $f") == ("unknown", "TREE", [])
    assert changes("perl -pi -e $code f") == ("unknown", "FILES", ["f"])


def test_a_suffix_takes_the_rest_of_its_word() -> None:
    """``-pie`` keeps backups with an ``e`` and has no code."""
    assert kinds("perl -pie s/a/b/ f") == {("other", "unknown")}


def test_printing_lines() -> None:
    """Patterns and line numbers alone only show."""
    assert understand("perl -ne 'print if /foo/' f") == SHOW
    assert understand("perl -ne 'print if 5..9' f") == SHOW
    assert understand("perl -pe 's/a/b/' f") == SHOW
    assert kinds("perl -pe 's/a/b/' 'rm x|'", "perl -ne 'print `x`' f", "perl -e 'print 1'") == {("other", "unknown")}
