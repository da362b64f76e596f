"""Rules that say before which model calls a state view is sent, and what it lists: the product's, and those tried.

A rule sees a ledger and the step that was recorded last, and answers with the files to list, or with the whole view. It
may have a budget: then its views may cost what references have saved so far, and a credit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container
from itertools import islice
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from execledger.core import cadence, inform
from execledger.core.ledger import Ledger
from execledger.core.observations import ObservedFile
from execledger.core.policy import Cadence, Policy
from execledger.vocabulary.decisions import Step
from execledger.vocabulary.records import Category, CommandRecord

WORD = re.compile(r"[\w.+-]+")
Files: TypeAlias = Callable[["WatchedLedger", str], tuple[str, ...]]
WHOLE = ("",)
"""What a rule answers for the whole view."""


class Rule(Struct, frozen=True):
    """One rule that is compared."""

    name: str
    """The rule in words."""
    files: Files
    """The files to list after the step that was recorded last; ``WHOLE``, or none."""
    credit: int | None = None
    """Tokens that views may cost before anything was saved; None if they have no budget."""
    likely: Callable[[WatchedLedger, str], bool] = lambda _, __: True
    """Whether a view may be paid for without a reserve."""
    product: bool = False
    """The product's own rule: its views are those that ``Ledger.inform`` returns."""


class WatchedLedger(Ledger):
    """A ledger that renders, wherever a view may be sent, the views of other rules as well."""

    def __init__(self, task: str, policy: Policy, rules: tuple[Rule, ...]) -> None:
        """For a run with this ``task``."""
        super().__init__(task, policy)
        self.rules = rules
        self.shown: dict[str, str] = {}
        """The views of the last rendering, by the name of the rule."""
        self.step: Step | None = None
        """The step that was recorded last."""
        self._words: frozenset[str] = frozenset()
        self._due: dict[tuple[str, str], tuple[str, ...]] = {}
        self._budgets = {
            rule.name: cadence.Budget(replace(policy, view_credit=rule.credit))
            for rule in rules
            if rule.credit is not None
        }

    def record(self, step: Step) -> None:
        """Record a step, and let each rule with a budget decide about the call behind it."""
        super().record(step)
        self.step = step
        self._words = frozenset(WORD.findall(step.observation.output))
        thread = step.action.thread
        for rule in self.rules if step.inherits is None else ():
            if rule.credit is not None:
                budget, paths = self._budgets[rule.name], rule.files(self, thread)
                budget.record(step)
                paid = bool(paths) and budget.pay(likely=rule.likely(self, thread))
                self._due[rule.name, thread] = paths if paid else ()

    def inform(
        self,
        visible: Container[int] | None = None,
        sealed: bool = False,
        thread: str = "",
        embedded: Container[str] = (),
    ) -> inform.StateView:
        """Return the product's view; ``shown`` has all of them."""
        own, seen = super().inform(visible, sealed, thread, embedded), range(len(self)) if visible is None else visible
        self.shown = {}
        for rule in self.rules:
            paths = rule.files(self, thread) if rule.credit is None else self._due.get((rule.name, thread), ())
            if rule.product:
                view = own
            elif paths == WHOLE:
                view = inform.whole(self, seen, sealed, thread)
            else:
                view = inform.focused(self, paths, seen, sealed, thread)
            self.shown[rule.name] = view.text
        return own

    def touched(self, thread: str, back: int) -> set[str]:
        """The files that the last commands read, wrote or named."""
        recent = [one.record for one in self.results[-back:] if one.thread == thread]
        return {path for record in recent for path in _files(record)}

    def about(self, thread: str, back: int = 1) -> tuple[str, ...]:
        """The files seen before that the last commands touched, or the last output named; most recently seen first."""
        touched = self.touched(thread, back)
        recent = (path for path, _ in self.recent(thread, inform.MAX_FILES))
        return tuple(path for path in recent if path in touched or path.rpartition("/")[2] in self._words)

    def recent(self, thread: str, count: int) -> list[tuple[str, ObservedFile]]:
        """The files read last."""
        return list(islice(reversed(self.files(thread).items()), count))

    def in_parts(self, thread: str, count: int, within: int | None = None, results: int = 2) -> tuple[str, ...]:
        """Those of the files read last whose lines are from several results."""
        calls = self.calls(thread)
        return tuple(
            path
            for path, seen in self.recent(thread, count)
            if len(seen.parts) >= results
            and (within is None or calls - self.results[seen.records[-1].step].ordinal <= within)
        )

    def named(self, thread: str, count: int = cadence.MAX_FILES, results: int = cadence.MIN_RESULTS) -> tuple[str, ...]:
        """Those of the files read last that the last command names, unless it alone shows lines of them."""
        command, calls = self.results[-1].command if self.results else "", self.calls(thread)
        return tuple(
            path
            for path, seen in self.recent(thread, count)
            if path.rpartition("/")[2] in command
            and (len(seen.parts) >= results or calls - self.results[seen.records[-1].step].ordinal > 1)
        )

    @property
    def quiet(self) -> bool:
        """The last command is a test, sets something up, or submits."""
        return bool(self.results) and self.results[-1].record.category in cadence.QUIET


def _files(record: CommandRecord) -> tuple[str, ...]:
    view = (record.view.path,) if record.view is not None else ()
    return (*view, *(one.path for one in record.reads), *record.writes, *record.looks_at)


def _whole_after_change(ledger: WatchedLedger, thread: str) -> tuple[str, ...]:
    """After a reference, or a command that wrote a file seen before."""
    if ledger.step is None:
        return ()
    last = ledger.results[-1].record
    stale = last.category is Category.MODIFY and any(path in ledger.files(thread) for path in last.writes)
    return WHOLE if stale or ledger.step.shown.kind not in ("full", "remark") else ()


EVERY = (
    Rule("`every`: the whole view, every call", lambda _, __: WHOLE, product=True),
    Rule("the whole view, after a write to a file seen or a reference", _whole_after_change),
    Rule(
        "the whole view, when the last command touched or its output named a file seen before",
        lambda ledger, thread: WHOLE if ledger.about(thread) else (),
    ),
)
"""Rules whose views are whole; the first is the cadence ``every``."""


def _focus(ledger: WatchedLedger, thread: str) -> tuple[str, ...]:
    """The files of the product's rule, without its budget."""
    return cadence.focus(ledger, thread)[0] if ledger.results else ()


def _named(ledger: WatchedLedger, thread: str) -> bool:
    return bool(ledger.named(thread))


def _at_hand(count: int = 3, within: int | None = 20, results: int = 2, *, quiet: bool = True) -> Files:
    """Files that the last command names, and those of several results; the product's rule with other numbers."""

    def files(ledger: WatchedLedger, thread: str) -> tuple[str, ...]:
        chosen = {*ledger.named(thread, count, results), *ledger.in_parts(thread, count, within, results)}
        listed = tuple(path for path, _ in ledger.recent(thread, count) if path in chosen)
        return () if quiet and ledger.quiet else listed

    return files


def _parts(count: int = 3, within: int | None = None, results: int = 2, *, quiet: bool = True) -> Files:
    """Files read last of which several results show lines; with ``quiet``, not right after a test or set-up."""
    return lambda ledger, thread: () if quiet and ledger.quiet else ledger.in_parts(thread, count, within, results)


CREDIT = Policy().view_credit
FOCUSED = (
    Rule("**`focused`**", lambda _, __: (), product=True),
    Rule("files that the last 3 commands touched or the last output named", lambda one, thread: one.about(thread, 3)),
    Rule(
        "the same, when the last command touched or named one",
        lambda one, thread: one.about(thread, 3) if one.about(thread) else (),
    ),
    Rule("the file read last", lambda one, thread: tuple(path for path, _ in one.recent(thread, 1))),
    Rule("3 files read last", lambda one, thread: tuple(path for path, _ in one.recent(thread, 3))),
    Rule("3 files read last, of several results", _parts(quiet=False)),
    Rule("the same, not after a test", _parts()),
    Rule("the same, read within 10 commands", _parts(within=10)),
    Rule("the same, read within 3 commands", _parts(within=3)),
    Rule("`focused` without a budget", _focus),
    Rule(
        "`focused` without a budget, only if the last command names a file",
        lambda one, thread: _focus(one, thread) if one.named(thread) else (),
    ),
    *(Rule(f"`focused`, credit {credit}", _focus, credit, _named) for credit in (0, 400, 600, 800, 1000, 1500)),
    Rule("`focused`, no reserve", _focus, CREDIT),
    Rule(
        "`focused`, only if the last command names a file",
        lambda one, thread: _focus(one, thread) if one.named(thread) else (),
        CREDIT,
    ),
    Rule("`focused`, also after tests", _at_hand(quiet=False), CREDIT, _named),
    Rule("`focused`, files read at any time", _at_hand(within=None), CREDIT, _named),
    Rule("`focused`, within 5 commands", _at_hand(within=5), CREDIT, _named),
    Rule("`focused`, within 10 commands", _at_hand(within=10), CREDIT, _named),
    Rule("`focused`, one file", _at_hand(1), CREDIT, _named),
    Rule("`focused`, two files", _at_hand(2), CREDIT, _named),
    Rule("`focused`, four files", _at_hand(4), CREDIT, _named),
    Rule("`focused`, also files of one result", _at_hand(results=1), CREDIT, _named),
    Rule("`focused`, named files too only if several results show lines", _parts(within=20), CREDIT, _named),
)
"""Rules whose views are focused; the first is the cadence ``focused``."""
PASSES = ((Cadence.EVERY, EVERY), (Cadence.FOCUSED, FOCUSED))
"""Rules that are compared in one replay each."""
