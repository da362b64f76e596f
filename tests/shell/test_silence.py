"""Commands without output."""

from __future__ import annotations

import pytest

from execledger.shell.options import literal_word
from execledger.shell.parts import Part
from execledger.shell.silence import prints_nothing


def silent(command: str, part: Part | None = None) -> bool:
    return prints_nothing(tuple(literal_word(word) for word in command.split()), part or Part())


@pytest.mark.parametrize(
    "command",
    [
        "",
        "true",
        ":",
        "cd x",
        "test -f x",
        "[ -f x ]",
        "set -e",
        "set -euo pipefail",
        "set -- a",
        "export A=b",
        "umask 022",
        "shopt -s globstar",
        "unset A",
        "sleep 5",
        "wait",
        "trap '' INT",
    ],
)
def test_silent(command: str) -> None:
    """They print nothing if they succeed."""
    assert silent(command)


@pytest.mark.parametrize(
    "command",
    [
        "echo",
        "set",
        "set -o",
        "set -x",
        "set -eux",
        "set -o xtrace",
        "set -v",
        "export",
        "export -p",
        "umask",
        "umask -S",
        "shopt",
        "shopt globstar",
        "trap",
        "trap -p",
        "cat f",
        "pushd x",
    ],
)
def test_not_silent(command: str) -> None:
    """They print something, or make what follows them print more."""
    assert not silent(command)


def test_cd_to_a_place_that_is_not_known() -> None:
    """``cd -`` prints where it goes."""
    assert not silent("cd -", Part(moves_to=""))
    assert silent("cd x", Part(moves_to="x"))
