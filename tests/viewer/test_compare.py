"""Whether two runs that are compared had the same task, whatever their agents put around it."""

from __future__ import annotations

import pytest

from execledger.viewer.compare import compare
from tests.journal.runs import start
from tests.viewer.stage import journal_bytes, read_journal, shown, told

LEAD = "Fix this GitHub issue.\n\n## Issue\n\n"
TITLE = "Sums are off by one."
MORE = "More text here."
LAST = "The last paragraph."


def same_task(*tasks: str) -> bool | None:
    """Whether runs with these task messages are said to have had the same task."""
    one, other = (read_journal(journal_bytes([start(task=task), *told([shown("ls")])[1:]])) for task in tasks)
    return compare(one, other).same_task


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        pytest.param(f"<issue>{TITLE}</issue>", f"<issue>{TITLE}</issue>", True, id="equal"),
        pytest.param(f"<issue>{TITLE}\n\n{MORE}</issue>", f"{TITLE}\n\n{MORE}", True, id="one untagged"),
        pytest.param(
            f"<issue>{TITLE}\n{MORE}\n\n{LAST}</issue>",
            f"{TITLE}\n{MORE}\n\n{LAST}",
            True,
            id="a paragraph of two lines",
        ),
        pytest.param(
            f"<issue>{TITLE}\n{MORE}\n\n{LAST}</issue>",
            f"Please solve this issue: {TITLE}\n{MORE}\n\n{LAST}",
            True,
            id="words before its title",
        ),
        pytest.param(f"<issue>{TITLE}\n{MORE}\n\n{LAST}</issue>", f"{LEAD}{TITLE}\n{MORE}", True, id="under a heading"),
        pytest.param(f"<issue>{TITLE}\n{MORE}</issue>", f"<issue>{TITLE}\n{LAST}</issue>", False, id="equal titles"),
        pytest.param(f"<issue>{TITLE}\n{MORE}</issue>", f"{TITLE}\n{LAST}", False, id="equal titles, one untagged"),
        pytest.param(f"<issue>{TITLE}</issue>", f"<issue>{MORE}</issue>", False, id="other titles"),
        pytest.param(f"<issue>{TITLE}</issue>", "", None, id="none recorded"),
    ],
)
def test_two_runs_had_the_same_task(one: str, other: str, same: bool | None) -> None:
    """By its title, and by its text as far as both tell it: of an untagged issue that is the first paragraph."""
    assert (same_task(one, other), same_task(other, one)) == (same, same)


def test_every_class_of_input_and_the_cost_stand_beside_the_sum() -> None:
    """The sum of cached and uncached tokens alone says nothing about which run cost more."""
    one, other = (read_journal(journal_bytes(told([shown("ls")]))) for _ in range(2))
    names = list(compare(one, other).titles)
    at = names.index("input_tokens")
    assert names[at : at + 6] == [
        "input_tokens",
        "uncached_tokens",
        "written_tokens",
        "cached_tokens",
        "output_tokens",
        "run_cost",
    ]
