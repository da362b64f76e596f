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
def test_a_status_is_written_in_words_and_read_back(words: str, status: RangeStatus) -> None:
    """A range without a claim has only the words about its context."""
    assert (str(status), RangeStatus.parse(words)) == (words, status)


@pytest.mark.parametrize("words", ["", "current", "fresh, in context", "current in context", "stale, gone"])
def test_other_words_are_no_status(words: str) -> None:
    """They are an error, never a guess."""
    with pytest.raises(ValueError, match=r"(?i)status"):
        RangeStatus.parse(words)
