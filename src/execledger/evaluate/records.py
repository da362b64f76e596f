"""What is kept of an evaluated run: one row per run and one per call, the same for every table, figure and file."""

from __future__ import annotations

from msgspec import Struct, field

from execledger.journal.events import Counts
from execledger.runs.usage import Tokens


class RunRow(Struct, frozen=True, kw_only=True):
    """One run of one instance in one arm.

    What only Ledger's journal tells is None where Ledger took part and its journal is missing: ``counts``,
    ``false_reuses``, and what references saved and views took.
    """

    run: str
    """Where it is recorded."""
    instance: str = ""
    """The task, such as an instance of SWE-bench."""
    arm: str = "base"
    """Which switches of Ledger were on: base, inform, govern, both or shadow, or the cadence that was asked for (every,
    focused) where both were; without Ledger's part in it, base."""
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
    """Whether the repair passes the tests; None if it is not graded, or if the machine failed while it was graded."""
    machine_failure: str = ""
    """Why the machine failed when the repair was tested, in the harness's word; "" where it did not."""
    ambiguous_failure: str = ""
    """Why an unresolved repair may be the machine's failure, in the harness's word; "" where there is no such sign."""
    failure: str = ""
    """What ended the run if it was not the agent: the kind of failure, a colon, and the details; "" otherwise."""
    model_calls: int = 0
    """Calls of the model."""
    proposed: int = 0
    """Commands that the model proposed."""
    counts: Counts | None = field(default_factory=Counts)
    """All that the account of the run counts."""
    false_reuses: int | None = 0
    """Reuses that the true output contradicts, where it is known."""
    tokens: Tokens | None = None
    """Tokens; None where neither the provider's count nor an estimate is to be had."""
    estimated: bool = False
    """The tokens are estimated, not counted by the provider."""
    cached_told: bool = True
    """Whether it was reported how many of the tokens came from a cache; if not, all input counts as uncached."""
    cost: float | None = None
    """Dollars under the price table; None where the model has no price or the tokens are not known."""
    reported_cost: float | None = None
    """Dollars as the agent recorded them, where it did."""
    saved_new_tokens: int | None = 0
    """Tokens that references kept out of the input where they would have been uncached or written, estimated."""
    saved_written_tokens: int | None = 0
    """Those of them that would have been written to the cache; the others would have been uncached."""
    saved_cached_tokens: int | None = 0
    """Tokens that references kept out of the input where they would have been read from the cache, estimated."""
    saved_cost: float | None = None
    """Dollars for both; at the price of ``gpt-5`` where the model has none."""
    remark_new_tokens: int | None = 0
    """Tokens that remarks took where they were uncached or written, estimated."""
    remark_written_tokens: int | None = 0
    """Those of them that were written to the cache; the others were uncached."""
    remark_cached_tokens: int | None = 0
    """Tokens that remarks took where they were read from the cache, estimated."""
    remark_cost: float | None = None
    """Dollars for all of them, as ``saved_cost``."""
    view_tokens: int | None = 0
    """Tokens of the state views, estimated."""
    displaced_tokens: int | None = 0
    """Tokens that state views kept out of the cached prefix: uncached once instead of cached."""
    view_cost: float | None = None
    """Dollars for both; part of ``charged_cost`` where views were sent."""
    charged_cost: float | None = None
    """Dollars as ``cost``; at the assumed price, as ``saved_cost`` and ``view_cost``, where the model has no price."""
    position: int | None = None
    """Planned position of its arm among the arms of its instance and trial, from 0; None if unknown."""
    evaluation: str = ""
    """The folder of its evaluation, as it was given; "" for a run that ``eval run`` did not start."""
    plan: str = ""
    """What may change its result, as JSON: the values of its plan without the choice of arms, tasks and trials, and the
    versions of programs; "" for a run that ``eval run`` did not start."""
    ledger_version: str = ""
    """Version of Ledger that its journal, or the result of a trial of Harbor, names; "" where neither does."""
    input_by_call: tuple[int, ...] = ()
    """Tokens of input, call by call, for the figures."""

    @property
    def lacks_journal(self) -> bool:
        """Whether Ledger took part and its journal is missing."""
        return self.counts is None

    def count(self, name: str) -> int | None:
        """One of the counts; None where they are not known."""
        number: int | None = None if self.counts is None else getattr(self.counts, name)
        return number
