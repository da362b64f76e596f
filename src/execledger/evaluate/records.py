"""What is kept of an evaluated run: one row per run and one per call, the same for every table, figure and file."""

from __future__ import annotations

from msgspec import Struct

from execledger.runs.usage import Tokens


class RunRow(Struct, frozen=True, kw_only=True):
    """One run of one instance in one arm.

    What only Ledger's journal tells, from ``executed`` on, is None where Ledger took part and its journal is not there.
    """

    run: str
    """Where it is recorded."""
    instance: str = ""
    """The task, such as an instance of SWE-bench."""
    arm: str = "base"
    """Which switches of Ledger were on: base, inform, govern, both or shadow; without Ledger's part in it, base."""
    trial: int = 1
    """Which of several runs of the arm it is, from 1."""
    agent: str = ""
    """The agent, with its version."""
    model: str = ""
    """The model."""
    preset: str = ""
    """Ledger's preset; empty in the arm base."""
    ended: str = ""
    """How it ended, in the agent's own word."""
    resolved: bool | None = None
    """Whether the repair passes the tests; None where nobody has graded it."""
    model_calls: int = 0
    """Calls of the model."""
    proposed: int = 0
    """Commands that the model proposed."""
    executed: int | None = 0
    """Commands that ran."""
    suppressed: int | None = 0
    """Commands that a reference answered without running."""
    elided: int | None = 0
    """Commands that ran, and whose output a reference replaced."""
    nudged: int | None = 0
    """Commands whose result got a remark."""
    rereads: int | None = 0
    """Redundant snippet re-reads."""
    covered_rereads: int | None = 0
    """As ``RereadCounts.covered_rereads``."""
    exact_rereads: int | None = 0
    """As ``RereadCounts.exact_rereads``."""
    partial_rereads: int | None = 0
    """As ``RereadCounts.partial_rereads``."""
    edited_rereads: int | None = 0
    """As ``RereadCounts.edited_rereads``."""
    found_rereads: int | None = 0
    """As ``RereadCounts.found_rereads``."""
    printed_rereads: int | None = 0
    """As ``RereadCounts.printed_rereads``."""
    files_rereads: int | None = 0
    """As ``RereadCounts.files_rereads``."""
    search_rereads: int | None = 0
    """As ``RereadCounts.search_rereads``."""
    false_reuses: int | None = 0
    """Reuses that the true output contradicts, where it is known."""
    tokens: Tokens | None = None
    """Tokens; None where neither the provider's count nor an estimate is to be had."""
    estimated: bool = False
    """The tokens are estimated, not counted by the provider."""
    cost: float | None = None
    """Dollars under the price table; None where the model has no price or the tokens are not known."""
    reported_cost: float | None = None
    """Dollars as the agent recorded them, where it did."""
    view_tokens: int | None = 0
    """Tokens of the state views, estimated."""
    view_cost: float | None = None
    """What the views cost, with what they keep out of the cached prefix; part of ``cost`` where they were sent."""
    faults: int | None = 0
    """Faults of Ledger's own."""
    input_by_call: tuple[int, ...] = ()
    """Tokens of input, call by call, for the figures."""
