"""Ledger: an execution ledger around an unmodified coding agent.

    ledger = Ledger(task)                                # the execution state of one task
    view = ledger.inform(visible, sealed)                # the state view for the end of the model's input
    proposal = propose(ledger, action, visible, sealed)  # its decision: Allow, Reuse or Nudge
    step = settle(ledger, proposal, observation)         # compared, completed, and recorded in the ledger

``take`` is both halves for callers that can run the action in between. Importing this package has no side effects.
"""

from execledger.core.classify import classify
from execledger.core.inform import StateView
from execledger.core.ledger import Ledger
from execledger.core.policy import Policy, Preset
from execledger.core.step import Proposal, complete, propose, settle, take
from execledger.errors import LedgerError
from execledger.version import __version__ as __version__
from execledger.vocabulary.actions import (
    Action,
    Aside,
    Command,
    Edit,
    Observation,
    OtherTool,
    Patch,
    Read,
    Search,
    Write,
)
from execledger.vocabulary.decisions import Allow, Decision, Nudge, Reuse, Shown, Step
from execledger.vocabulary.records import Category, CommandRecord, Effects

Run = OtherTool
"""The name of ``OtherTool`` in version 0.1, kept for adapters that import it."""

__all__ = [
    "Action",
    "Allow",
    "Aside",
    "Category",
    "Command",
    "CommandRecord",
    "Decision",
    "Edit",
    "Effects",
    "Ledger",
    "LedgerError",
    "Nudge",
    "Observation",
    "OtherTool",
    "Patch",
    "Policy",
    "Preset",
    "Proposal",
    "Read",
    "Reuse",
    "Run",
    "Search",
    "Shown",
    "StateView",
    "Step",
    "Write",
    "classify",
    "complete",
    "propose",
    "settle",
    "take",
]
