"""The paper's metric: redundant snippet re-reads."""

from __future__ import annotations

import pytest

from execledger.core.rereads import reread
from tests.core.stories import Story, text


def after_a_read(*more: str) -> Story:
    story = Story()
    story.do("sed -n '1,30p' a.py", text(30))
    for command in more:
        story.do(command)
    return story


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("sed -n '1,30p' a.py", "exact"),
        ("head -n 30 a.py", "exact"),
        ("sed -n '5,9p' a.py", "within"),
        ("sed -n '5,31p' a.py", ""),
        ("cat a.py", ""),
        ("tail -n 5 a.py", ""),
        ("sed -n '1,30p' b.py", ""),
        ("grep value a.py", ""),
    ],
)
def test_a_read_within_returned_lines_is_redundant(command: str, expected: str) -> None:
    """The very same range is a sub-count."""
    story = after_a_read()
    assert reread(story.ledger, story.action(command)) == expected


@pytest.mark.parametrize(
    ("between", "expected"),
    [("echo x >> a.py", ""), ("git stash", ""), ("echo x >> b.py", "exact"), ("python -m pytest", "exact")],
)
def test_only_the_counter_of_the_file_matters(between: str, expected: str) -> None:
    """An edit of the file, or one that may reach it, makes the read new."""
    story = after_a_read(between)
    assert reread(story.ledger, story.action("sed -n '1,30p' a.py")) == expected


def test_ranges_returned_by_several_reads_add_up() -> None:
    """The metric asks for lines, not for results."""
    story = after_a_read()
    story.do("sed -n '31,60p' a.py", text(10, 31))
    found = [reread(story.ledger, story.action(command)) for command in ("sed -n '20,40p' a.py", "cat a.py")]
    assert found == ["within", "within"]


def test_a_suppressed_read_is_redundant_too() -> None:
    """What counts is that it was proposed."""
    story = Story(sealed=True)
    story.do("cat a.py", text(30))
    story.do("cat a.py")
    assert reread(story.ledger, story.action("cat a.py")) == "exact"


def test_another_thread_has_not_read_it() -> None:
    """Each conversation has its own reads."""
    story = after_a_read()
    assert reread(story.ledger, story.action("sed -n '1,30p' a.py", thread="sub")) == ""
