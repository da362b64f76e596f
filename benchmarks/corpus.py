"""The counterfactual report over recorded runs: runs per second, peak memory, and what it says of each source.

    python -m benchmarks.corpus CORPUS

One tenth of the runs and all of them are taken in processes of their own: memory must not grow with their number.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time

import msgspec
from msgspec import Struct, field

from execledger.agents.formats import read_run
from execledger.cli.replay import cost_rows
from execledger.errors import UnreadableRun
from execledger.evaluate.counterfactual import Counterfactual, CounterfactualRun
from execledger.runs.account import Account
from execledger.runs.find import find_runs
from execledger.runs.prices import load_prices
from execledger.runs.replay import new_ledger, replay

NEEDS_CORPUS = True
MAX_GROWTH = 1.5
"""Ten times the runs may hold a larger one among them, and that is all."""


class Report(Struct):
    """What one process found."""

    every: int
    calls: int = 0
    seconds: float = 0.0
    peak_mb: float = 0.0
    unreadable: int = 0
    sources: dict[str, Counterfactual] = field(default_factory=dict)

    @property
    def runs(self) -> int:
        """How many runs it read."""
        return sum(one.runs for one in self.sources.values())


def report(paths: list[str], every: int) -> Report:
    """The full report over each ``every``-th run."""
    made, prices = Report(every), load_prices()
    start = time.perf_counter()
    for number, source in enumerate(find_runs(paths)):
        if number % every:
            continue
        try:
            run = read_run(source.name, source.read())
        except UnreadableRun:
            made.unreadable += 1
            continue
        ledger = new_ledger(run)
        account, priced = Account.of_run(run, ledger.policy), CounterfactualRun(run, ledger)
        for call in replay(run, ledger=ledger):
            priced.add(call, account.add_replayed(call))
            made.calls += 1
        name = source.name.partition("!")[0].rpartition("/")[2]
        made.sources.setdefault(name, Counterfactual()).add(priced.close(prices))
    made.seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # Linux counts in kilobytes, macOS in bytes.
    made.peak_mb = peak / (1e6 if sys.platform == "darwin" else 1e3)
    return made


def apart(paths: list[str], every: int) -> Report:
    """The report, made in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.corpus", f"--every={every}", *paths]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    return msgspec.json.decode(done.stdout, type=Report)


def table(name: str, found: Counterfactual) -> str:
    """One source in Markdown."""
    counted = f"{found.runs - found.estimated} of {found.runs} runs with the provider's token counts"
    counted += f", {sum(found.priced.values())} with a price"
    lines = [f"**{name}**: {counted}, {found.blind_edits} edits behind a stale read", ""]
    lines += ["| | calls | uncached | cached | written | dollars |", "| --- | --: | --: | --: | --: | --: |"]
    for what, calls, amount in cost_rows(found):
        tokens = amount.tokens
        counts = f"{tokens.uncached:,} | {tokens.cached:,} | {tokens.written:,}"
        lines.append(f"| {what.strip()} | {'' if calls is None else f'{calls:,}'} | {counts} | {amount.dollars:,.4f} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Print the tables; the exit status says whether memory stays bounded."""
    every = [argument for argument in sys.argv[1:] if argument.startswith("--every=")]
    paths = [argument for argument in sys.argv[1:] if argument not in every]
    if every:
        sys.stdout.buffer.write(msgspec.json.encode(report(paths, int(every[0].partition("=")[2]))))
        return 0
    tenth, whole = apart(paths, 10), apart(paths, 1)
    for name, found in whole.sources.items():
        print(table(name, found))
    print("| runs | calls | not read | seconds | runs a second | peak memory |\n| --: | --: | --: | --: | --: | --: |")
    for one in (tenth, whole):
        speed = f"{one.seconds:.1f} | {one.runs / one.seconds:.1f}"
        print(f"| {one.runs} | {one.calls:,} | {one.unreadable} | {speed} | {one.peak_mb:.0f} MB |")
    growth = whole.peak_mb / tenth.peak_mb
    held = growth <= MAX_GROWTH
    print(
        f"corpus: {'held' if held else 'NOT held'}: {whole.runs / whole.seconds:.0f} runs a second, peak "
        f"{whole.peak_mb:.0f} MB, {growth:.2f} times that of a tenth of the runs (at most {MAX_GROWTH})"
    )
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
