"""The command line as a user calls it: arguments in, exit status and both streams out."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import NamedTuple

import pytest

from execledger.cli.main import main


class Called(NamedTuple):
    """What a call of the command line left."""

    status: int
    out: str
    err: str


Execledger = Callable[..., Called]


@pytest.fixture
def execledger(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Execledger:
    """Call ``execledger`` with these arguments, in this process and on a terminal of fixed width."""
    monkeypatch.setenv("COLUMNS", "100")

    def call(*arguments: object) -> Called:
        monkeypatch.setattr(sys, "argv", ["execledger", *map(str, arguments)])
        status = main()
        return Called(status, *capsys.readouterr())

    return call
