"""What state views cost, what references save, and which redundant reads a view could have prevented.

    python -m benchmarks.worth PATH [--runs N] [--default-only]

For each set of recorded runs and each rule by which views are sent (``_view_rules``), one row: the share of model calls
with a view, the bytes of views, and in per cent of what the runs cost: the views' own tokens, the tokens that they keep
out of the prompt cache, what references and partial references save, and the net. *Reach* is the share of the
redundant reads (compared ``same`` or ``covered``) whose own request carried a view that listed that file and those
lines; of reads that are partly covered, a view that listed that file and some of the lines. The agents' behaviour is
held fixed: whether a model that reads such a view would have done something else is not part of this.

Runs are split into halves by a hash of their names, so that a rule can be chosen on one and checked on the other.
*With second looks*: after one of ten references the model is taken to ask again, so that the reference saves nothing
and one more call is made over the whole context. Prices are those of each run's model; a cached token of an unknown
model counts as a tenth of a new one.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from msgspec import Struct, field

from benchmarks._view_rules import PASSES, Rule, WatchedLedger
from execledger.agents.formats import read_run
from execledger.core.policy import Cadence, Policy
from execledger.errors import UnreadableRun
from execledger.evaluate.redundancy import Kind, Redundancies
from execledger.runs.caching import PromptCache, RunTokens, text_bytes, timeline, usage
from execledger.runs.find import Source, find_runs
from execledger.runs.prices import Price, load_prices
from execledger.runs.providers import for_model
from execledger.runs.recording import Run
from execledger.runs.replay import Replayed, output_bytes, replay
from execledger.runs.usage import Tokens, tokens_in
from execledger.shell.ranges import subtract, union
from execledger.vocabulary.records import Lines

NEEDS_CORPUS = True
SECOND_LOOKS = 0.1
"""Share of references after which the model is taken to ask again."""
LOOK_OUTPUT = 100
"""Tokens that it writes to do so."""
MARKS = {"gemini": 0.6, "gpt5": 0.6, "vorflux": 0.4, "deepseek": 0.4}
"""The reach that ``focused`` is to have on a set, by a word of its name."""


DEFAULT = PASSES[1][1][0].name
"""The product's own rule."""


class Worth(Struct):
    """What one rule makes of a set of runs; amounts are dollars."""

    calls: int = 0
    views: int = 0
    bytes: int = 0
    own: float = 0.0
    cost: float = 0.0
    kept_out: float = 0.0
    references: float = 0.0
    partial: float = 0.0
    remarks: float = 0.0
    looks: float = 0.0
    reads: int = 0
    reached: int = 0
    overlaps: int = 0
    overlaps_reached: int = 0

    def add(self, other: Worth) -> None:
        """Add other runs."""
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    @property
    def net(self) -> float:
        """Dollars saved in all, with no second looks."""
        return self.references + self.partial - self.remarks - self.cost - self.kept_out

    @property
    def reach(self) -> float:
        """Share of the redundant reads that a view could have prevented."""
        return self.reached / max(self.reads, 1)


class Taken(Struct):
    """One run under every rule."""

    set: str
    half: str
    rules: dict[str, Worth] = field(default_factory=dict)


class _Read(Struct, frozen=True):
    """A redundant read, and the request that it answers."""

    thread: str
    turn: int
    name: str
    lines: tuple[Lines, ...]
    whole: bool


def half_of(name: str) -> str:
    """The half that a run belongs to, by its own name: not by the folder that it is in."""
    own = name.rpartition("!")[2].encode("utf-8", "replace")
    return "ab"[hashlib.blake2b(own, digest_size=1).digest()[0] & 1]


def listed(view: str, name: str) -> tuple[Lines, ...]:
    """The lines of a file that a state view lists, read from its text."""
    found = [line.removeprefix(f"- {name}: ") for line in view.split("\n") if line.startswith(f"- {name}: ")]
    ranges: tuple[Lines, ...] = ()
    for words in re.sub(r"\([^)]*\)", "", found[-1]).split(";") if found else ():
        if whole := re.search(r"whole, (\d+) lines", words):
            return (Lines(1, int(whole[1])),)
        plain = re.sub(r"last \d+|and \d+ more", "", words)
        spans = re.findall(r"\b(\d+)(?:-(\d+))?\b", plain)
        ranges = union(ranges, tuple(Lines(int(first), int(last or first)) for first, last in spans))
    return ranges


class _Accounts:
    """The accounts of one run under the rules of one replay."""

    def __init__(self, run: Run, cadence: Cadence, rules: tuple[Rule, ...]) -> None:
        self._run, self._rules = run, rules
        self.ledger = WatchedLedger(run.task, for_model(Policy(cadence=cadence), run.model), rules)
        self._cache, self._own = PromptCache(timeline(run)), usage(run)
        self._price: Price = load_prices().charged(run.model)[1]
        self._redundancies = Redundancies(run, self.ledger)
        self._views: dict[str, dict[str, dict[int, str]]] = {rule.name: {} for rule in rules}
        self._reads: list[_Read] = []
        self._shared = Worth(calls=run.turns, own=self._price.cost(self._own.total))

    def add(self, call: Replayed) -> None:
        """Take in the next call, just behind the replay."""
        thread, turn = call.recorded.action.thread, call.recorded.turn
        if call.view is not None:
            for name, text in self.ledger.shown.items():
                self._views[name].setdefault(thread, {})[turn] = text
        kind = self._redundancies.take(call)
        self._save(call)
        view = call.record.view
        shown = self.ledger.returned(view, call.recorded.observation) if view is not None else None
        if view is None or shown is None or not shown.ranges:
            return
        whole = call.shown.compared in ("same", "covered")
        if whole or (kind is not None and kind.kind is Kind.OVERLAPPING):
            lines = tuple(one for one in shown.ranges if one.first > 0)
            self._reads.append(_Read(thread, turn, self.ledger.name_of(view.path), lines, whole))

    def _save(self, call: Replayed) -> None:
        """Count what the model would have been shown in place of the output."""
        shown, observation, total = call.shown, call.recorded.observation, self._shared
        if shown.kind == "full":
            return
        if shown.kind == "remark":
            total.remarks += self._price.cost(self._cache.sent(tokens_in(text_bytes(shown.text)), call.index))
            return
        assert self.ledger.step is not None, "the replay has just recorded the call"
        left = output_bytes(self.ledger.step.observation)
        spared = tokens_in(output_bytes(observation)) - tokens_in(left)
        amount = self._price.cost(self._cache.sent(spared, call.index))
        if shown.kind == "reference":
            total.references += amount
        else:
            total.partial += amount
        total.looks += SECOND_LOOKS * (amount + self._call_again(call.recorded.turn))

    def _call_again(self, turn: int) -> float:
        """One more call over the context that the next call has, all of it cached."""
        calls = self._own.calls
        context = calls[min(turn + 1, len(calls) - 1)].input if calls else _mean_input(self._own, self._run)
        return self._price.cost(Tokens(cached=context or 0, output=LOOK_OUTPUT))

    def close(self) -> dict[str, Worth]:
        """The accounts, when all calls were taken in."""
        made: dict[str, Worth] = {}
        for rule in self._rules:
            worth = Worth()
            worth.add(self._shared)
            texts = self._views[rule.name]
            sizes = {
                thread: {turn: tokens_in(text_bytes(text)) for turn, text in views.items()}
                for thread, views in texts.items()
            }
            size, late = self._cache.views(sizes, every_call=True)
            worth.cost = self._price.cost(Tokens(uncached=size))
            worth.kept_out = self._price.cost(Tokens(uncached=late, cached=-late))
            sent = [text for views in texts.values() for text in views.values() if text]
            worth.views, worth.bytes = len(sent), sum(map(text_bytes, sent))
            for read in self._reads:
                _reach(worth, read, texts.get(read.thread, {}).get(read.turn, ""))
            made[rule.name] = worth
        return made


def _mean_input(own: RunTokens, run: Run) -> int:
    return (own.total.input or 0) // max(run.turns, 1)


def _reach(worth: Worth, read: _Read, view: str) -> None:
    """Count a redundant read, and whether its request carried a view that listed its lines."""
    ranges = listed(view, read.name) if view else ()
    left = subtract(read.lines, ranges)
    if read.whole:
        worth.reads += 1
        worth.reached += bool(ranges) and not left
    else:
        worth.overlaps += 1
        worth.overlaps_reached += bool(ranges) and left != union((), read.lines)


def taken(source: tuple[str, bytes], *, default_only: bool = False) -> Taken | None:
    """One run under every rule; None if it can't be read."""
    name, content = source
    try:
        run = read_run(name, content)
    except UnreadableRun:
        return None
    made = Taken(name.partition("!")[0].rpartition("/")[2], half_of(name))
    for cadence, rules in PASSES:
        accounts = _Accounts(run, cadence, rules[:1] if default_only else rules)
        for call in replay(run, ledger=accounts.ledger):
            accounts.add(call)
        made.rules.update(accounts.close())
    return made


def _sampled(sources: Iterable[Source], runs: int) -> Iterator[tuple[str, bytes]]:
    """At most ``runs`` of each set, with their content; 0 for all."""
    counted: Counter[str] = Counter()
    for source in sources:
        name = source.name.partition("!")[0]
        counted[name] += 1
        if not runs or counted[name] <= runs:
            yield source.name, source.read()


def table(found: dict[str, dict[str, Worth]]) -> Iterator[str]:
    """One set in Markdown; ``found`` has the accounts of each rule in both halves and in all."""
    yield (
        "| rule | calls with a view | bytes | cost of views | kept out | references | partial | net | net | with second"
        " looks | reach | partly | half A: reach, net | half B |"
    )
    yield "| --- " + "| --: " * 13 + "|"
    base = next(iter(found.values()))["all"].bytes
    for name, halves in found.items():
        one = halves["all"]
        share = partial(_share, one)
        each = [f"{halves[half].reach:.0%}, {_share(halves[half], halves[half].net)}" for half in "ab"]
        yield (
            f"| {name} | {one.views / max(one.calls, 1):.1%} | {one.bytes:,} ({one.bytes / max(base, 1):.0%}) | "
            f"{share(one.cost)} | {share(one.kept_out)} | {share(one.references)} | {share(one.partial)} | "
            f"${one.net:+.4f} | **{share(one.net)}** | {share(one.net - one.looks)} | {one.reach:.0%} of {one.reads} | "
            f"{one.overlaps_reached / max(one.overlaps, 1):.0%} of {one.overlaps} | {' | '.join(each)} |"
        )


def run_by_run(runs: list[Worth]) -> str:
    """In how many runs of a set the default is worth its price, and what it costs where nothing is saved."""
    gained, lost = sum(one.net > 0 for one in runs), sum(one.net < 0 for one in runs)
    idle = [one for one in runs if not one.references and not one.partial]
    size = max((tokens_in(one.bytes) for one in idle), default=0)
    share = max(((one.cost + one.kept_out) / one.own for one in idle if one.own), default=0.0)
    return (
        f"{DEFAULT}, run by run: net above 0 in {gained} of {len(runs)}, below 0 in {lost}; {len(idle)} without a "
        f"reference, whose views have at most {size:,} tokens and cost at most {share:.1%} of the run"
    )


def _share(of: Worth, amount: float) -> str:
    return f"{amount / of.own:+.2%}" if of.own else "-"


def main() -> int:
    """Print the tables; 1 if focused views cost more than references save, or miss their mark of reach, on a set."""
    parser = argparse.ArgumentParser(description="What state views cost, what references save, and reach.")
    parser.add_argument("paths", nargs="+")
    parser.add_argument("--runs", type=int, default=0, help="runs of each set; all by default")
    parser.add_argument("--default-only", action="store_true", help="the product's two cadences, no other rules")
    options = parser.parse_args()
    sets: dict[str, dict[str, dict[str, Worth]]] = {}
    runs: dict[str, list[Worth]] = {}
    with ProcessPoolExecutor(2) as pool:
        sources = _sampled(find_runs(options.paths), options.runs)
        for one in filter(None, pool.map(partial(taken, default_only=options.default_only), sources, chunksize=8)):
            runs.setdefault(one.set, []).append(one.rules[DEFAULT])
            for name, worth in one.rules.items():
                halves = sets.setdefault(one.set, {}).setdefault(name, {half: Worth() for half in ("a", "b", "all")})
                halves[one.half].add(worth)
                halves["all"].add(worth)
    missed = []
    for name, found in sets.items():
        print(f"**{name}**\n")
        print("\n".join(table(found)), end="\n\n")
        print(run_by_run(runs[name]), end="\n\n")
        default = found[DEFAULT]["all"]
        mark = next((reach for word, reach in MARKS.items() if word in name), 0.0)
        if default.net <= 0 or default.reach < mark:
            missed.append(f"{name}: net {_share(default, default.net)}, reach {default.reach:.0%} (mark {mark:.0%})")
    print(f"worth: {'NOT held: ' + '; '.join(missed) if missed else 'held: focused views cost less than is saved'}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
