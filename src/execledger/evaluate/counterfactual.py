"""What Ledger would have cost and saved on recorded runs, holding the agent's behaviour fixed and pricing caches in.

An output of n tokens that a reference would have replaced saves n uncached (or written) tokens once, and n at each
later call of the same window, cached as far as the provider's cache reached. A state view costs its tokens uncached at
every call, and what the model wrote in a step is uncached once more in the next one, as far as it would have been
cached. ``caching`` holds that model; all tokens but the runs' own are estimated from bytes.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct, field

from execledger.core.ledger import Ledger
from execledger.core.wording import quantity
from execledger.evaluate.redundancy import Kind, Redundancies
from execledger.runs.account import Net
from execledger.runs.caching import PromptCache, is_unknown, text_bytes, timeline, usage
from execledger.runs.prices import Prices
from execledger.runs.recording import Run
from execledger.runs.replay import Replayed, spared_bytes
from execledger.runs.usage import Tokens, tokens_in


class Amount(Struct):
    """Tokens, and what they cost."""

    tokens: Tokens = field(default_factory=Tokens)
    """The tokens."""
    dollars: float = 0.0
    """Their cost; that of unknown models at the assumed price."""

    def add(self, other: Amount) -> None:
        """Add another amount."""
        self.tokens += other.tokens
        self.dollars += other.dollars

    @property
    def negative(self) -> Amount:
        """The same with the other sign."""
        return Amount(-self.tokens, 0.0 - self.dollars)


class RedundancyClass(Struct):
    """One class of redundancy."""

    calls: int = 0
    """Calls in it."""
    there: Amount = field(default_factory=Amount)
    """What sending their redundant text took, in the call behind each and in all later ones."""
    spared: int = 0
    """Those in whose place, or in place of some of whose lines, the model would have been shown a reference."""
    saved: Amount = field(default_factory=Amount)
    """What that would have saved, less the references."""

    def add(self, other: RedundancyClass) -> None:
        """Add what was found elsewhere."""
        self.calls += other.calls
        self.there.add(other.there)
        self.spared += other.spared
        self.saved.add(other.saved)


class Counterfactual(Struct):
    """What recorded runs took, and what they would have taken with Ledger."""

    runs: int = 0
    """Runs."""
    estimated: int = 0
    """Those whose own tokens are estimated, at least in part."""
    unknown: int = 0
    """Those of whose own tokens nothing is known: they are no part of what the runs took."""
    cache_untold: int = 0
    """Those whose provider counted tokens and reported none that came from a cache, not even 0."""
    priced: dict[str, int] = field(default_factory=dict)
    """How many of them were given the price of which model."""
    price_dates: dict[str, str] = field(default_factory=dict)
    """The day of the price of each of these models."""
    unpriced: int = 0
    """Those whose model has no price, so that they were given the assumed one."""
    own: Amount = field(default_factory=Amount)
    """What the runs took as they were."""
    classes: dict[Kind, RedundancyClass] = field(default_factory=lambda: {kind: RedundancyClass() for kind in Kind})
    """What was redundant, and what references would have saved of it."""
    files: dict[str, RedundancyClass] = field(default_factory=dict)
    """The same by file, for redundant reads of one file; names are relative to the folder in which it was read."""
    unclassified: RedundancyClass = field(default_factory=RedundancyClass)
    """What references would have saved of outputs that can't be compared: journals do not hold them."""
    blind_edits: int = 0
    """Edits of a file that was read and then changed, and not read again, whether they failed or not."""
    remarks: Amount = field(default_factory=Amount)
    """What remarks would have taken."""
    views: Amount = field(default_factory=Amount)
    """What the state views would have taken: their own tokens, uncached at every call."""
    repeated_views: int = 0
    """Tokens of these views in calls that proposed no command: each is charged with the view before it."""
    kept_out: Amount = field(default_factory=Amount)
    """What the views would have kept out of the cached prefix: uncached once instead of cached."""

    @property
    def saved(self) -> Amount:
        """What all references would have saved."""
        return _sum(found.saved for found in (*self.classes.values(), self.unclassified))

    @property
    def net(self) -> Amount:
        """What would have been saved in all; negative where Ledger would have cost more than it saved."""
        return _sum((self.saved, self.remarks.negative, self.views.negative, self.kept_out.negative))

    def worth(self) -> Net:
        """What would have been saved and spent, and the net."""
        saved, views = self.saved, _sum((self.views, self.kept_out))
        return Net(
            saved=saved.dollars,
            remarks=self.remarks.dollars,
            views=views.dollars,
            saved_tokens=saved.tokens,
            remark_tokens=self.remarks.tokens,
            view_tokens=views.tokens,
            own=None if self.unknown == self.runs > 0 else self.own.dollars,
            estimated=bool(self.estimated or self.unpriced),
            runs=self.runs - self.unknown,
            prices=dict(self.price_dates),
        )

    def counted(self, what: str) -> str:
        """Of how many runs the provider counted the tokens, and of how many nothing is known; ``what`` names one."""
        counted = self.runs - self.estimated - self.unknown
        unknown = f"; of {self.unknown:,} nothing is known" if self.unknown else ""
        return f"The tokens of {counted:,} of {quantity(self.runs, what)} were counted by the provider{unknown}"

    @property
    def caveat(self) -> str:
        """What the share leaves out where no cached tokens are reported; "" if they are in all runs."""
        if not self.cache_untold:
            return ""
        runs = f"{self.runs:,} runs have" if self.runs != 1 else "1 run has"
        return (
            f"{self.cache_untold:,} of {runs} no report of cached tokens: what was sent again is charged as"
            " cached in what Ledger saves and spends, and as uncached in what they cost, so that the share of that is a"
            " lower bound."
        )

    def add(self, other: Counterfactual) -> None:
        """Add other runs."""
        self.runs += other.runs
        self.estimated += other.estimated
        self.unknown += other.unknown
        self.cache_untold += other.cache_untold
        self.unpriced += other.unpriced
        for model, runs in other.priced.items():
            self.priced[model] = self.priced.get(model, 0) + runs
        self.price_dates.update(other.price_dates)
        self.own.add(other.own)
        for kind, found in other.classes.items():
            self.classes[kind].add(found)
        for name, found in other.files.items():
            self.files.setdefault(name, RedundancyClass()).add(found)
        self.unclassified.add(other.unclassified)
        self.blind_edits += other.blind_edits
        self.remarks.add(other.remarks)
        self.views.add(other.views)
        self.repeated_views += other.repeated_views
        self.kept_out.add(other.kept_out)


def _sum(amounts: Iterable[Amount]) -> Amount:
    total = Amount()
    for amount in amounts:
        total.add(amount)
    return total


def _file_name(call: Replayed) -> str:
    """Return the file that a read of one file shows, relative to its working folder; "" for other calls."""
    view, cwd = call.record.view, call.recorded.action.cwd
    if view is None:
        return ""
    inside = cwd is not None and view.path.startswith(f"{cwd.rstrip('/')}/")
    return view.path[len((cwd or "").rstrip("/")) + 1 :] if inside else view.path


class CounterfactualRun:
    """The counterfactual of one run; to be told of each call in order, just behind the replay."""

    def __init__(self, run: Run, ledger: Ledger) -> None:
        """For ``run``, which is being replayed with ``ledger``."""
        self._run = run
        self._cache = PromptCache(timeline(run))
        self._redundancies = Redundancies(run, ledger)
        self._total = Counterfactual(runs=1)
        self._views: dict[str, dict[int, int]] = {}

    def add(self, call: Replayed, size: int | None) -> Kind | None:
        """Take in the next call; the class of redundancy that it is in.

        ``size`` is that of its true output, as ``Account.add_replayed`` returns it; None if that is not known.
        """
        total, index = self._total, call.index
        aside = tokens_in(text_bytes(call.shown.text))
        redundant = self._redundancies.take(call)
        if redundant is not None:
            sent = self._cache.sent(tokens_in(redundant.size), index)
            name = _file_name(call)
            by_file = [total.files.setdefault(name, RedundancyClass())] if name else []
            for found in (total.classes[redundant.kind], *by_file):
                found.calls += 1
                found.there.tokens += sent
        if call.shown.kind == "reference" and size is not None and not call.false:
            found = total.classes[redundant.kind] if redundant is not None else total.unclassified
            found.spared += 1
            found.saved.tokens += self._cache.sent(tokens_in(size) - aside, index)
        elif call.shown.kind == "partial":
            found = total.classes[Kind.OVERLAPPING]
            found.spared += 1
            spared = spared_bytes(call.shown, call.recorded.observation.output)
            found.saved.tokens += self._cache.sent(tokens_in(spared), index)
        if call.shown.kind == "remark":
            total.remarks.tokens += self._cache.sent(aside, index)
        if call.view is not None:
            views = self._views.setdefault(call.recorded.action.thread, {})
            views[call.recorded.turn] = tokens_in(text_bytes(call.view.text))
        return None if redundant is None else redundant.kind

    def close(self, prices: Prices) -> Counterfactual:
        """The run's counterfactual, when all calls were taken in."""
        total, own = self._total, usage(self._run)
        total.unknown = int(is_unknown(self._run, own))
        total.own.tokens, total.estimated = own.total, int(own.estimated and not total.unknown)
        total.cache_untold = int(not own.cached_told)
        total.blind_edits = self._redundancies.blind_edits
        self._charge_views()
        name, price = prices.charged(self._run.model)
        total.unpriced = int(prices.price(self._run.model) is None)
        total.priced[name] = total.priced.get(name, 0) + 1
        total.price_dates[name] = prices.day(self._run.model)
        amounts = [total.own, total.remarks, total.views, total.kept_out]
        for found in (*total.classes.values(), *total.files.values(), total.unclassified):
            amounts += [found.there, found.saved]
        for amount in amounts:
            amount.dollars = price.cost(amount.tokens)
        return total

    def _charge_views(self) -> None:
        """Charge the views; where some were sent, calls without one are known, else each call is taken to have one."""
        size, late = self._cache.views(self._views, every_call=not self._run.had_views)
        self._total.views.tokens += Tokens(uncached=size)
        self._total.repeated_views = size - sum(sum(sizes.values()) for sizes in self._views.values())
        self._total.kept_out.tokens += Tokens(uncached=late, cached=-late)
