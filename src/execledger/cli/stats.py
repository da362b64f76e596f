"""``execledger stats``: prints totals over runs, from their journals."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import click
import msgspec
from msgspec import Struct
from rich.console import Console
from rich.table import Table

from execledger.errors import LedgerError, UnreadableRun
from execledger.journal.folder import journal_folder, require_readable
from execledger.journal.reader import Trouble, is_journal, read_events
from execledger.runs.account import METRICS, Account, Net, dollars
from execledger.runs.decoding import TOO_LARGE
from execledger.runs.find import Source, find_runs
from execledger.runs.prices import load_prices
from execledger.runs.totals import MAX_NAMES, Totals, look_rows


@click.command("stats")
@click.argument("paths", nargs=-1, metavar="[DIR]...")
@click.option("--json", "as_json", is_flag=True, help="Print the numbers as JSON.")
def command(paths: tuple[str, ...], as_json: bool) -> None:
    """Print totals over the journals in DIR (files, folders, archives); by default those in the state folder."""
    given = paths or (str(journal_folder()),)
    if not paths:
        require_readable(Path(given[0]))
    # Before the first run, the default folder does not exist.
    totals, worth = add_up(find_runs(given) if paths or os.path.exists(given[0]) else iter(()))
    for sentence in totals.named:
        click.echo(f"execledger: {sentence}", err=True)
    if len(totals.named) == MAX_NAMES:
        click.echo("execledger: more files with trouble are counted, but not named", err=True)
    if totals.repeated:
        click.echo(f"execledger: {totals.repeated:,} copies of runs that were already counted are left out", err=True)
    hint = "`execledger replay PATH...` reads the recorded runs of agents"
    if not totals.runs and (paths or totals.unread):
        raise LedgerError(f"no journal was read at {', '.join(given)}", hint=hint)
    if totals.foreign:
        many = f"{totals.foreign:,} files are" if totals.foreign > 1 else "one file is"
        click.echo(f"execledger: {many} no journal of Ledger; {hint}", err=True)
    if as_json:
        net = None if worth is None else worth.fields()
        click.echo(msgspec.json.encode({**msgspec.to_builtins(totals), "net": net}).decode())
    elif worth is not None:
        console = Console(highlight=False)
        console.print(_table(totals))
        console.print(worth.sentence(), soft_wrap=True)
    else:
        click.echo(f"execledger: no runs yet in {given[0]}", err=True)


def add_up(sources: Iterator[Source]) -> tuple[Totals, Net | None]:
    """Return the totals over these sources, and what Ledger saved and spent; one run is in memory at a time."""
    totals, worth, prices = Totals(), None, load_prices()
    for one in _without_copies(_accounts(sources, totals), totals):
        totals.add(one.name, one.run, one.trouble)
        net = one.run.net(prices)
        worth = net if worth is None else worth + net
    return totals, worth


class _Read(Struct, frozen=True):
    """One journal that was read."""

    name: str
    """Name of its source."""
    run: Account
    """What it counts."""
    trouble: Trouble
    """What is wrong with its lines."""


def _accounts(sources: Iterator[Source], totals: Totals) -> Iterator[_Read]:
    """Yield each journal among the sources; what is no journal, or can't be read, is noted in the totals."""
    for source in sources:
        run, trouble = Account(), Trouble()
        try:
            data = source.read()
            if not is_journal(data):
                totals.skip_foreign(source.name)
                continue
            for event in read_events(source.name, data, trouble):
                run.add(event)
        except UnreadableRun as error:
            totals.skip(str(error))
        except MemoryError:
            totals.skip(f"{source.name}: {TOO_LARGE}")
        else:
            yield _Read(source.name, run, trouble)


def _without_copies(found: Iterator[_Read], totals: Totals) -> Iterator[_Read]:
    """Yield each run once; of several copies one whose end is recorded, the others are counted in the totals.

    Runs without an end are held until all are read, since a whole copy may follow.
    """
    ended: set[tuple[str, float]] = set()
    unended: dict[tuple[str, float], _Read] = {}
    for one in found:
        identity = one.run.identity
        if identity is None:
            yield one
        elif identity in ended or (one.run.end is None and identity in unended):
            totals.repeated += 1
        elif one.run.end is None:
            unended[identity] = one
        else:
            totals.repeated += unended.pop(identity, None) is not None
            ended.add(identity)
            yield one
    yield from unended.values()


def _table(totals: Totals) -> Table:
    table = Table(title="journals", show_header=False, title_justify="left")
    table.add_column()
    table.add_column(justify="right")
    table.add_column()
    for row in _rows(totals):
        table.add_row(*row)
    return table


def _rows(totals: Totals) -> Iterator[tuple[str, str, str]]:
    counts = totals.counts
    yield "runs", f"{totals.runs:,}", _told(unended=totals.unended, torn=totals.torn, incomplete=totals.incomplete)
    if totals.bypassed:
        yield "bypassed", f"{totals.bypassed:,}", "runs whose agent sent no request through Ledger"
    yield "files not read", f"{totals.unread:,}", ""
    yield "model calls", f"{totals.model_calls:,}", ""
    yield from (metric.row(counts) for metric in METRICS)
    yield from look_rows(totals.second_looks)
    if counts.measured:
        unjudged = counts.proposed - counts.measured
        yield from counts.rows(f"{unjudged:,} commands of older journals not judged" if unjudged else "")
    yield from _usage(totals)
    yield "state views", f"{counts.view_bytes:,}", f"bytes in {counts.views:,} views"
    yield "faults", f"{counts.faults:,}", "caught; the runs went on"
    if totals.shadow_runs:
        yield "shadow runs", f"{totals.shadow_runs:,}", "nothing was changed in these"
        judged = f"right {counts.shadow_right:,}, wrong {counts.shadow_wrong:,}"
        yield "would be reused before", f"{counts.shadow_reuses:,}", judged
        yield "would be reused after", f"{counts.shadow_elided:,}", "run, the output replaced by a reference"
        yield "would be reused in part", f"{counts.shadow_partial:,}", "run, some lines of the output replaced"
        yield "would be nudged", f"{counts.shadow_nudges:,}", "run, a remark added"


def _usage(totals: Totals) -> Iterator[tuple[str, str, str]]:
    """Yield rows for tokens and cost if at least one run reports them."""
    runs = f"{totals.runs:,} run{'' if totals.runs == 1 else 's'}"
    if totals.input_tokens is not None:
        cached = "" if totals.cached_tokens is None else f"{totals.cached_tokens:,} cached; "
        note = f"{cached}reported by {totals.runs_with_tokens:,} of {runs}"
        yield "input tokens", f"{totals.input_tokens:,}", note
    if totals.output_tokens is not None:
        yield "output tokens", f"{totals.output_tokens:,}", ""
    if totals.cost is not None:
        yield "cost", dollars(totals.cost, 2), f"reported by {totals.runs_with_cost:,} of {runs}"


def _told(**numbers: int) -> str:
    return ", ".join(f"{number:,} {what}" for what, number in numbers.items() if number)
