"""Filters that may also write."""

from __future__ import annotations

from tests.shell.programs.calling import SHOW, changes, kinds, understand, writing


def test_sort_output() -> None:
    """``-o`` names a file to write, also in a cluster and far from it."""
    assert understand("sort -o out in") == writing("out")
    assert understand("sort -rno out in") == writing("out")
    assert understand("sort in --output=in") == writing("in")
    assert understand("sort -t: -k2,2n in") == SHOW


def test_sort_with_more() -> None:
    """A compressor is a program, an unknown option is unknown, random order is not of the file."""
    assert kinds("sort --compress-program=x f", "sort --frob f") == {("inspect", "unknown")}
    assert understand("sort -R f").volatile


def test_computed_output() -> None:
    """A computed output may be any file."""
    assert changes("sort -o $out in") == ("unknown", "TREE", [])


def test_uniq_and_xxd_write_their_second_operand() -> None:
    """The second operand is the output."""
    assert understand("uniq -f 1 in out") == writing("out")
    assert understand("uniq -f 1 in") == SHOW
    assert understand("xxd -r in out") == writing("out")
    assert kinds("xxd -cols 8 in") == {("inspect", "unknown")}


def test_yq_in_place() -> None:
    """-i edits, -s splits into files."""
    assert understand("yq .a f.yaml") == SHOW
    assert kinds("yq -i .a=1 f.yaml", "yq -yi .a f.yaml") == {("modify", "unknown")}
    assert kinds("yq -s .a f.yaml") == {("inspect", "unknown")}


def test_iconv_and_shuf() -> None:
    """They have -o too."""
    assert understand("iconv -f latin1 -t utf8 a -o b") == writing("b")
    assert understand("shuf -n 3 a").volatile
