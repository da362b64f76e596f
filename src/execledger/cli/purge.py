"""``execledger purge``: deletes stored journals by age, by run or all, or rewrites them without secrets."""

from __future__ import annotations

import re
import time
from pathlib import Path

import click
import msgspec

from execledger.core.wording import quantity
from execledger.errors import LedgerError
from execledger.journal.folder import edits_file, journal_folder, require_readable
from execledger.journal.purge import FoundJournal, JournalSelection, PurgeTotals, Skipped, delete, find_journals
from execledger.journal.purge_edits import count_edits, delete_edits
from execledger.journal.rewrite import rewritten
from execledger.runs.find import absent

UNITS = {"h": 3600.0, "d": 86_400.0, "w": 604_800.0}
"""Seconds in an hour, a day and a week."""


@click.command("purge")
@click.argument("paths", nargs=-1, metavar="[DIR]...")
@click.option("--older-than", "age", metavar="AGE", help="Journals last written to longer ago than this: 12h, 30d, 8w.")
@click.option(
    "--run", "runs", multiple=True, metavar="NAME", help="The journal of this run; a prefix of its name is enough."
)
@click.option("--all", "everything", is_flag=True, help="Every journal; without DIR, the stored edits as well.")
@click.option("--redact", is_flag=True, help="Delete nothing; remove secrets that the current patterns find.")
@click.option("--dry-run", is_flag=True, help="Print what would be done, and change nothing.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--json", "as_json", is_flag=True, help="Print the totals as JSON.")
def command(
    paths: tuple[str, ...],
    age: str | None,
    runs: tuple[str, ...],
    everything: bool,
    redact: bool,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> int:
    """Delete journals in DIR, by default those in the state folder, except journals that are being written."""
    if not (age or runs or everything or redact):
        raise LedgerError("purge: found nothing to say which journals", hint="--older-than 30d, --run NAME or --all")
    if everything and (age or runs):
        raise LedgerError("--all: found with --older-than or --run, expected one or the other")
    chosen = JournalSelection(None if age is None else seconds(age), runs)
    there = [Path(path) for path in paths] or [journal_folder()]
    for path in paths:
        if found := absent(path):
            raise LedgerError(f"{path}: found {found}, expected a folder with journals")
    if not paths:
        require_readable(there[0])
    totals = PurgeTotals()
    now = time.time()
    journals = list(find_journals(there, totals.left, now))
    try:
        meant = chosen.among(journals, now)
    except LedgerError as error:
        where = f"in {', '.join(map(str, there))}" + (f", older than {age}" if age else "")
        raise LedgerError(f"{error.message} {where}", hint=error.hint) from None
    totals.kept += len(journals) - len(meant)
    # Other files in a folder are no failure; one that was named is.
    named = {str(path) for path in there}
    others = sum(left.path not in named for left in totals.left)
    if redact:
        _redact(meant, totals, dry_run)
    else:
        edits = edits_file() if everything and not paths else None
        _delete(meant, edits, totals, dry_run=dry_run, yes=yes)
    _tell(totals, as_json, dry_run, redact)
    return 1 if len(totals.left) > others else 0


def seconds(age: str) -> float:
    """Return an age such as ``30d`` in seconds."""
    found = re.fullmatch(r"(\d{1,6})([hdw])", age.strip())
    if found is None:
        raise LedgerError(f"--older-than: found {age!r}, expected a number with h, d or w, such as 30d")
    return int(found[1]) * UNITS[found[2]]


def _delete(meant: list[FoundJournal], edits: Path | None, totals: PurgeTotals, *, dry_run: bool, yes: bool) -> None:
    """Delete the chosen journals, and the stored edits if given, after confirmation."""
    held = count_edits(edits, []) if edits is not None else None
    going = [found for found in meant if not found.busy]
    if (going or held) and not (dry_run or yes):
        size = _size(sum(found.size for found in going))
        what = f"{quantity(len(going), 'journal')}, {size}" + (f", and {quantity(held, 'edit')}" if held else "")
        try:
            agreed = click.confirm(f"Delete {what}?", err=True)
        except click.Abort:
            raise LedgerError("purge: found nobody to ask, nothing was deleted", hint="--yes does not ask") from None
        if not agreed:
            totals.kept += len(meant)
            return
    for found in meant:
        totals.add(found, (lambda _: "") if dry_run else delete)
    if edits is not None:
        totals.edits = (count_edits if dry_run else delete_edits)(edits, totals.left) or 0


def _redact(meant: list[FoundJournal], totals: PurgeTotals, dry_run: bool) -> None:
    """Rewrite the chosen journals without secrets."""
    for found in meant:
        reason = found.busy
        try:
            changed = not reason and rewritten(found, dry_run=dry_run)
        except OSError as error:
            changed, reason = False, f"can't be rewritten: {error.strerror or error}"
        totals.rewritten += changed
        totals.kept += not changed and not reason
        if reason:
            totals.left.append(Skipped(str(found.path), reason))


def _tell(totals: PurgeTotals, as_json: bool, dry_run: bool, redact: bool) -> None:
    for left in totals.left:
        click.echo(f"execledger: left alone: {left.path} {left.reason}", err=True)
    if as_json:
        click.echo(msgspec.json.encode(totals).decode())
        return
    would = "would be " if dry_run else ""
    if redact:
        done = [f"{quantity(totals.rewritten, 'journal')} {would}rewritten without secrets"]
    else:
        done = [f"{quantity(totals.deleted, 'journal')} {would}deleted ({_size(totals.bytes)})"]
    if totals.edits:
        done.append(f"{quantity(totals.edits, 'edit')} {would}deleted")
    click.echo("; ".join([*done, f"{totals.kept} kept", f"{len(totals.left)} left alone"]))


def _size(size: int) -> str:
    """Format a number of bytes."""
    return (
        f"{size:,} bytes" if size < 10_000 else f"{size / 1000:,.0f} kB" if size < 10**7 else f"{size / 10**6:,.0f} MB"
    )
