"""``execledger explain``: prints the classification of a shell command."""

from __future__ import annotations

import json
import os
import shlex

import click

from execledger.core.classify import classify
from execledger.core.wording import span
from execledger.errors import LedgerError
from execledger.shell.tree import REASONS
from execledger.vocabulary.actions import Action
from execledger.vocabulary.records import CommandRecord, FileRange, Lines


@click.command("explain")
@click.argument("shell_command", metavar="COMMAND", type=click.UNPROCESSED)
@click.option("--cwd", metavar="DIR", help="Working directory of the command, an absolute path. [default: unknown]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(shell_command: str, cwd: str | None, as_json: bool) -> None:
    """Say what COMMAND would do, without running it: category, reads, writes, effects."""
    if cwd is not None and not os.path.isabs(cwd):
        raise LedgerError(
            f"--cwd: found {cwd!r}, expected an absolute path", hint=f"--cwd {shlex.quote(os.path.abspath(cwd))}"
        )
    record = classify(Action(shell_command, cwd))
    if as_json:
        # A file name may contain lone surrogates, which can only be printed escaped.
        click.echo(json.dumps(as_contract(record), ensure_ascii=True))
        return
    for name, value in as_words(record):
        click.echo(f"{name + ':':<12}{value.encode('utf-8', 'replace').decode()}")


def as_contract(record: CommandRecord) -> dict[str, object]:
    """Return the record as the documented JSON object."""
    return {
        "category": record.category.value,
        "normalized": record.normalized,
        "reads": [{"path": one.path, "lines": _pair(one.lines)} for one in record.reads],
        "writes": list(record.writes),
        "effects": record.effects.value,
        "opaque": record.opaque,
    }


def _pair(lines: Lines | None) -> list[int | None] | None:
    return None if lines is None else [lines.first, lines.last]


def as_words(record: CommandRecord) -> list[tuple[str, str]]:
    """Return the record as names and values for printing."""
    rows = [("category", record.category.value), ("normalized", record.normalized)]
    rows += [("reads", _read(one)) for one in record.reads]
    rows += [("writes", path) for path in record.writes]
    rows.append(("effects", record.effects.value))
    if record.opaque is not None:
        rows.append(("opaque", f"{record.opaque}: {REASONS[record.opaque]}"))
    if record.unknown_programs:
        rows.append(("unknown", ", ".join(record.unknown_programs)))
    return rows


def _read(one: FileRange) -> str:
    return one.path if one.lines is None else f"{one.path} {span(one.lines)}"
