"""The switch from outside: its words, and what an unknown one means."""

from __future__ import annotations

import pytest

from execledger import off


@pytest.fixture(autouse=True)
def unreported() -> None:
    """Nothing was reported yet."""
    off._warn.cache_clear()


@pytest.mark.parametrize(
    ("word", "means_off"),
    [
        *((word, False) for word in (None, "", "on", "1", "true", "yes", "ON", " Yes ")),
        *((word, True) for word in ("off", "0", "false", "no", "OFF", " No ")),
    ],
)
def test_the_words_that_are_known(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], word: str | None, means_off: bool
) -> None:
    """In any case, and silently."""
    monkeypatch.delenv("EXECLEDGER", raising=False)
    if word is not None:
        monkeypatch.setenv("EXECLEDGER", word)
    assert (off.is_off(), off.unknown_word(), capsys.readouterr()) == (means_off, "", ("", ""))


def test_an_unknown_word_means_off_and_is_reported_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In one line on standard error; off is the reading that changes nothing."""
    monkeypatch.setenv("EXECLEDGER", "banana")
    assert (off.is_off(), off.is_off(), off.unknown_word()) == (True, True, "banana")
    said = "execledger: EXECLEDGER='banana' is taken as off, expected on, 1, true, yes, or off, 0, false, no\n"
    assert capsys.readouterr() == ("", said)
