"""Figures that others published, for reference beside a report's own; they are never mixed with those."""

from __future__ import annotations

from msgspec import Struct


class Published(Struct, frozen=True):
    """Pass@1 of one method with one model on the 500 instances of SWE-bench Verified, under mini-swe-agent."""

    method: str
    """The method."""
    model: str
    """The model."""
    base: float
    """Pass@1 without it."""
    method_rate: float
    """Pass@1 with it."""


# As Ledger's paper cites them from the papers of SWE-Pruner and LaMR; their set-ups differ from each other and from any
# of ours.
PUBLISHED = (
    Published("SWE-Pruner", "Claude Sonnet 4.5", 0.706, 0.720),
    Published("SWE-Pruner", "GLM-4.6", 0.554, 0.566),
    Published("LaMR", "Claude Sonnet 4.5", 0.706, 0.718),
    Published("LaMR", "Claude Opus 4.6", 0.756, 0.760),
)
