"""``execledger replay``: replays recorded runs and prints what Ledger would have decided, saved and cost."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import click
import msgspec
from msgspec.structs import replace
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from execledger.cli.mine import Mine, redundant
from execledger.cli.runs import chosen_policy, policy_options, read_runs
from execledger.core.faults import MAX_FAULTS
from execledger.core.policy import BYTES_PER_TOKEN, Policy
from execledger.core.wording import quantity
from execledger.errors import LedgerError
from execledger.evaluate.counterfactual import Amount, Counterfactual, CounterfactualRun
from execledger.evaluate.redundancy_page import MAX_FILES, redundancy_page
from execledger.journal.folder import open_private
from execledger.redact import redact
from execledger.runs.account import METRICS, Account, dollars, input_classes
from execledger.runs.find import HINT
from execledger.runs.prices import Prices, by_day, load_prices
from execledger.runs.replay import new_ledger, replay
from execledger.runs.totals import Tally, look_rows
from execledger.viewer.export import require_replaceable


@click.command("replay")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--mine", is_flag=True, help="Your own sessions: wherever the agents that Ledger knows keep them.")
@click.option("--decisions", metavar="OUT.jsonl", help="Write one JSON line per call.")
@click.option("--strict", is_flag=True, help="Exit with 1 after a false reuse or an internal fault.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
@click.option("--html", "page", metavar="FILE", help="Write a page: what was read twice and what it cost.")
@click.option("--prices", "prices_file", metavar="FILE", help="Prices in TOML, over the shipped ones.")
@policy_options
def command(
    paths: tuple[str, ...],
    mine: bool,
    decisions: str | None,
    strict: bool,
    as_json: bool,
    page: str | None,
    prices_file: str | None,
    preset: str | None,
    policy_file: str | None,
) -> int:
    """Replay recorded runs (files, folders, archives) and measure every decision.

    The exit status is 1 if a PATH does not exist or is a file without a run; the others are replayed all the same.
    """
    if not paths and not mine:
        raise LedgerError("replay: found no recorded runs to read", hint=f"{HINT}, or --mine for your own sessions")
    own, given = (Mine(os.environ) if mine else None), paths
    paths = (*paths, *(own.paths if own is not None else ()))
    policy = chosen_policy(preset, policy_file)
    prices = load_prices(None if prices_file is None else Path(prices_file))
    _check_targets(paths, decisions, page)
    tally, counterfactual = Tally(), Counterfactual()
    with ExitStack() as stack:
        out = stack.enter_context(_opened(decisions)) if decisions else None
        faults: list[str] = []
        presets, read = _replay_all(paths, policy, prices, tally, counterfactual, faults, out, own)
    for line in _remarks(tally, faults, own):
        click.echo(f"execledger: {line}", err=True)
    if not tally.runs and own is not None:
        raise LedgerError("no session of an agent that Ledger knows was found", hint=HINT)
    if not tally.runs:
        raise LedgerError(f"no recorded run was read at {', '.join(paths)}", hint=HINT)
    to_stderr = "-" in (decisions, page)
    worth = counterfactual.worth()
    if as_json:
        found = {
            **tally.fields(),
            "counterfactual": _fields(counterfactual),
            "net": worth.fields(),
            **({"mine": own.fields()} if own is not None else {}),
        }
        click.echo(json.dumps(found, separators=(",", ":")), err=to_stderr)
    else:
        console = Console(highlight=False, stderr=to_stderr)
        console.print(summary(tally, presets, counterfactual), costs(counterfactual))
        if own is not None:
            console.print(redundant(counterfactual, worth, tally.counts.proposed), soft_wrap=True)
        console.print(worth.sentence(would=True), soft_wrap=True)
        if tally.took_part:
            console.print(_took_part(tally), soft_wrap=True)
    if page is not None:
        with _opened(page) as file:
            file.write(redundancy_page(counterfactual, worth, tally.counts.proposed).encode("utf-8", "replace"))
        if page != "-":
            click.echo(f"execledger: the page is in {page}", err=True)
    unread = any(path not in read and not os.path.isdir(path) for path in given)
    return 1 if unread or (strict and (tally.false or tally.counts.faults)) else 0


def _check_targets(paths: tuple[str, ...], decisions: str | None, page: str | None) -> None:
    """Refuse to write over a recorded run, or two things into one file."""
    if decisions and any(_same_file(path, decisions) for path in paths):
        raise LedgerError(f"{decisions}: is also a recorded run to be read, expected a file to write decisions to")
    if page and page == decisions:
        raise LedgerError(f"{page}: is also the file for decisions, expected another one for the page")
    if page and page != "-":
        require_replaceable(Path(page), paths)


def _fields(found: Counterfactual) -> dict[str, Any]:
    """Return the cost table for JSON; of the files, those with the highest cost."""
    fields: dict[str, Any] = msgspec.to_builtins(found)
    ranked = sorted(fields["files"].items(), key=lambda item: (-item[1]["there"]["dollars"], item[0]))
    return {**fields, "files": dict(ranked[:MAX_FILES])}


def _remarks(tally: Tally, faults: list[str], own: Mine | None) -> Iterator[str]:
    """Yield what is said beside the summary: where sessions were looked for, and what was wrong with runs."""
    yield from own.sentences() if own is not None else ()
    yield from (f"not read: {reason}" for reason in tally.unreadable)
    yield from tally.troubled
    yield from (f"false reuse: {false}" for false in tally.false)
    yield from (f"fault of Ledger's own: {fault}" for fault in faults[:MAX_FAULTS])


def _same_file(one: str, other: str) -> bool:
    return os.path.exists(one) and os.path.exists(other) and os.path.samefile(one, other)


@contextmanager
def _opened(path: str) -> Iterator[BinaryIO]:
    """Open a file to write, readable by its owner only; ``-`` is standard output."""
    if path == "-":
        yield sys.stdout.buffer
        return
    try:
        with open_private(Path(path)) as file:
            yield file
    except OSError as error:
        raise LedgerError(f"{path}: can't be written: {error.strerror or error}") from None


def _replay_all(
    paths: tuple[str, ...],
    policy: Policy | None,
    prices: Prices,
    tally: Tally,
    counterfactual: Counterfactual,
    faults: list[str],
    out: BinaryIO | None,
    own: Mine | None,
) -> tuple[list[str], set[str]]:
    """Replay and count every run, and note its first faults in ``faults``.

    Returns the presets that runs were replayed under, and the files and archives that runs were read from.
    """
    left_out: list[str] = []
    skipped: Counter[str] = Counter()
    encoder = msgspec.json.Encoder()
    presets: set[str] = set()
    read: set[str] = set()
    columns = (TextColumn("replaying"), BarColumn(), MofNCompleteColumn(), TextColumn("runs"), TimeElapsedColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as progress:
        bar = progress.add_task("", total=None)
        for run in read_runs(paths, tally.unreadable, left_out, skipped):
            read.add(run.name.partition("!")[0])
            if own is not None:
                own.count(run.name)
            ledger = new_ledger(run, policy)
            presets.add(ledger.policy.preset.value)
            account, priced = Account.of_run(run, ledger.policy), CounterfactualRun(run, ledger)
            for call in replay(run, ledger=ledger):
                tally.classified(run, call)
                priced.add(call, account.add_replayed(call))
                if out is not None:
                    line = call.line(run.name)
                    out.write(encoder.encode(replace(line, command=redact(line.command))) + b"\n")
            account.counts.faults += ledger.faults.count
            tally.add(run, account)
            faults += (f"{run.name}: {fault}" for fault in ledger.faults.first)
            counterfactual.add(priced.close(prices))
            progress.advance(bar)
    if skipped:
        told = "; ".join(f"{what} ({count:,})" for what, count in sorted(skipped.items()))
        click.echo(f"execledger: passed over in folders: {told}", err=True)
    if left_out:
        said = f"journals left out, because they tell of runs that are there: {len(left_out):,}"
        click.echo(f"execledger: {said}", err=True)
    return sorted(presets), read


def summary(tally: Tally, presets: list[str], found: Counterfactual) -> Table:
    """Return the summary as a table for the terminal."""
    table = Table(title=f"replay, preset {' and '.join(presets)}", show_header=False, title_justify="left")
    table.add_column()
    table.add_column(justify="right")
    table.add_column()
    for row in _rows(tally, found):
        table.add_row(*row)
    return table


def _rows(tally: Tally, found: Counterfactual) -> Iterator[tuple[str, str, str]]:
    counts = tally.counts
    calls = max(counts.proposed, 1)
    yield "runs", f"{tally.runs:,}", f"{len(tally.unreadable)} not readable" if tally.unreadable else ""
    yield "model calls", f"{tally.turns:,}", ""
    yield "calls", f"{counts.proposed:,}", _top(tally.categories, 7)
    opaque = tally.opaque.total()
    yield "opaque", f"{opaque:,}", f"{opaque / calls:.1%}{_listed('; ', tally.opaque)}"
    yield "unknown effects", f"{tally.unknown:,}", f"{tally.unknown / calls:.1%}"
    unknown = tally.unknown_programs.total()
    known = 1 - unknown / max(tally.programs, 1)
    yield (
        "simple commands",
        f"{tally.programs:,}",
        f"{known:.2%} are of known programs{_listed('; not: ', tally.unknown_programs, 8)}",
    )
    yield "would be reused before running", f"{tally.reuses.total():,}", _top(tally.reuses)
    yield "false reuses", f"{len(tally.false):,}", ""
    if counts.faults:
        yield "faults of Ledger's own", f"{counts.faults:,}", "what failed was allowed"
    yield "would be reused after running", f"{tally.elided.total():,}", _top(tally.elided)
    yield "would be nudged", f"{tally.nudges.total():,}", f"{counts.nudged} with a remark{_listed('; ', tally.nudges)}"
    yield from (metric.row(counts, would=True) for metric in METRICS if not metric.detailed)
    yield from look_rows(tally.looks)
    yield from counts.rows(f"{100 * counts.rereads / max(tally.turns, 1):.1f} per 100 model calls")
    share = tally.saved_bytes / max(tally.read_bytes, 1)
    yield "output bytes", f"{tally.read_bytes:,}", "each once for every later model call, mostly cached"
    untold = f"; unknown outputs, not counted: {tally.untold:,}" if tally.untold else ""
    yield "references would save", f"{tally.saved_bytes:,}", f"{share:.2%} of these{untold}"
    if tally.partial_bytes:
        part = tally.partial_bytes / max(tally.read_bytes, 1)
        omitted = f"{part:.2%}, by {tally.omissions:,} partial references"
        yield "  of these, in part", f"{tally.partial_bytes:,}", omitted
    repeated = f"; calls without commands add {found.repeated_views:,} tokens" if found.repeated_views else ""
    in_views = f"bytes in {quantity(counts.views, 'view')}, never cached{repeated}"
    yield "state views would take", f"{counts.view_bytes:,}", in_views


def _took_part(tally: Tally) -> str:
    """Return the sentence that the tokens of some runs are not those of runs without Ledger."""
    runs = quantity(tally.runs, "run")
    return f"Ledger took part in {tally.took_part:,} of {runs}: their tokens are those after its edits."


def _top(counter: Counter[str], most: int = 5) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counter.most_common(most))


def _listed(lead: str, counter: Counter[str], most: int = 5) -> str:
    """Return ``lead`` and the largest counts; "" without any."""
    return lead + _top(counter, most) if counter else ""


def costs(found: Counterfactual) -> Table:
    """Return the cost of the runs, and what Ledger would have cost and saved, as a table for the terminal."""
    title = "cost at table prices, the agent's behaviour held fixed"
    table = Table(title=title, title_justify="left", caption=_caption(found), caption_justify="left")
    table.add_column("input tokens")
    rows = [*cost_rows(found)]
    classes = input_classes(amount.tokens for _, _, amount in rows)
    for head in ("calls", *classes, "dollars", "share"):
        table.add_column(head, justify="right")
    for name, calls, amount in rows:
        tokens = [f"{getattr(amount.tokens, one) or 0:,}" for one in classes]
        share = amount.dollars / found.own.dollars if found.own.dollars else 0.0
        money = (dollars(amount.dollars, 4).replace("$", ""), f"{share:.2%}")
        if amount is found.own and found.unknown == found.runs:
            tokens, money = ["unknown"] * len(classes), ("unknown", "")
        table.add_row(name, f"{calls:,}" if calls is not None else "", *tokens, *money)
    return table


def cost_rows(found: Counterfactual) -> Iterator[tuple[str, int | None, Amount]]:
    """Yield the rows of the cost table: title, number of calls, tokens and cost; costs of Ledger are negative."""
    yield "the run as it was" if found.runs == 1 else "the runs as they were", None, found.own
    for kind, one in found.classes.items():
        yield kind.value, one.calls, one.there
        if one.spared:
            yield "  would be saved", one.spared, one.saved
    if found.unclassified.spared:
        yield "  would be saved, output not recorded", found.unclassified.spared, found.unclassified.saved
    spared = sum(one.spared for one in (*found.classes.values(), found.unclassified))
    yield "references would save", spared, found.saved
    yield "remarks would take", None, found.remarks.negative
    yield "state views would take", None, found.views.negative
    yield "kept out of the cache", None, found.kept_out.negative
    yield "net", None, found.net


def _priced(found: Counterfactual) -> Iterator[tuple[str, str]]:
    """Yield each day of prices with its models and how many runs are at the price of each."""
    for day, models in by_day(found.price_dates).items():
        yield day, _top(Counter({name: found.priced[name] for name in models}), len(models))


def _caption(found: Counterfactual) -> str:
    """Return the caption of the cost table: the origin of its tokens and prices."""
    said = [f"{found.counted('run')}; all others are bytes / {BYTES_PER_TOKEN}."]
    said.append(f"Prices of {'; of '.join(f'{day}: {models}' for day, models in _priced(found))}.")
    if found.blind_edits:
        edits = "edit was" if found.blind_edits == 1 else "edits were"
        said.append(f"{found.blind_edits:,} {edits} of a file that had changed since it was read.")
    return " ".join(filter(None, (*said, found.caveat)))
