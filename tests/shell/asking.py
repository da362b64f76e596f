"""Short ways to ask what a whole command would do."""

from __future__ import annotations

from execledger.shell.classify import classify_command
from execledger.vocabulary.records import CommandRecord, View

HOME = "/r"
"""Where the commands start."""


def ask(command: str, cwd: str | None = HOME) -> CommandRecord:
    """What the command would do."""
    return classify_command(command, cwd)


def reads(command: str, cwd: str | None = HOME) -> list[tuple[str, int, int | None]]:
    """The ranges that it reads for certain; a whole file is from 1 to the end."""
    found = ask(command, cwd).reads
    return [(one.path, one.lines.first if one.lines else 1, one.lines.last if one.lines else None) for one in found]


def view(command: str) -> View | None:
    """The lines that are its whole output."""
    return ask(command).view


def normal(command: str, cwd: str | None = HOME) -> str:
    """Its normal form."""
    return ask(command, cwd).normalized


def outcome(command: str, cwd: str | None = HOME) -> tuple[str, str, list[str]]:
    """Its category, its effects and the files that it names for writing."""
    record = ask(command, cwd)
    assert record.opaque is None, record.opaque
    return record.category.value, record.effects.value, list(record.writes)
