"""Policies of tests."""

from __future__ import annotations

from execledger.core.policy import Policy

UNPRICED = Policy(second_look_rate=0.0, min_output=300)
"""For tests of proofs, as versions without a price decided: whatever is proven and has 300 bytes is elided."""
