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
    """Those that are reads of one file all of whose lines were returned by earlier reads."""
    exact_rereads: int | None = 0
    """Those of these that returned the exact same range again."""
    partial_rereads: int | None = 0
    """Those that are reads of one file of which a part was returned by earlier reads."""
    edited_rereads: int | None = 0
    """Those that are reads of one file that was edited, elsewhere, since these lines were returned."""
    found_rereads: int | None = 0
    """Those that are reads of one file, of lines that only a search had returned."""
    printed_rereads: int | None = 0
    """Those that are edits which also print lines of a file."""
    files_rereads: int | None = 0
    """Those that are reads of several files."""
    search_rereads: int | None = 0
    """Those that are searches, or compounds of several commands."""
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
