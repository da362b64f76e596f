"""The paper's metric: a proposed read of lines that were returned before and have not changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from execledger.core.actions import Action
from execledger.core.coverage import absolute
from execledger.shell.ranges import covers, union

if TYPE_CHECKING:
    from execledger.core.ledger import Ledger


def reread(ledger: Ledger, action: Action) -> Literal["", "within", "exact"]:
    """Whether ``action`` is a redundant snippet re-read: "exact" if the very same range was returned before."""
    view = ledger.classify(action).view
    if view is None or not view.path.startswith("/"):
        return ""
    local = ledger.modifications.local(view.path)
    records = [one for one in ledger.observed(action.thread, view.path) if one.local == local]
    end = next((one.end for one in reversed(records) if one.end is not None), None)
    asked = [absolute(lines, end, floating=view.floating) for lines in view.ranges]
    wanted = tuple(lines for lines in asked if lines is not None)
    if not records or len(wanted) != len(asked):
        return ""
    seen = union((), tuple(lines for one in records for lines in one.ranges if lines.first > 0))
    if not all(covers(seen, lines, end) for lines in wanted):
        return ""
    return "exact" if any(one.ranges == wanted for one in records) else "within"
