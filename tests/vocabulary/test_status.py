"""The words of the state view for observed ranges."""

from __future__ import annotations

import pytest

from execledger.vocabulary.status import RangeStatus, Status

WORDS = {
    "current, in context": RangeStatus(Status.CURRENT, True),
    "possibly stale, in context": RangeStatus(Status.POSSIBLY_STALE, True),
    "stale, seen, no longer in context": RangeStatus(Status.STALE, False),
    "in context": RangeStatus(Status.NO_CLAIM, True),
    "seen, no longer in context": RangeStatus(Status.NO_CLAIM, False),
}


@pytest.mark.parametrize(("words", "status"), WORDS.items())
def test_a_status_is_written_in_words(words: str, status: RangeStatus) -> None:
    """A range without a claim has only the words about its context."""
    assert str(status) == words
