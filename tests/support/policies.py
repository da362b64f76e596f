"""Policies of tests."""

from __future__ import annotations

from msgspec.structs import replace

from execledger.core.policy import Cadence, Policy

UNPRICED = Policy(second_look_rate=0.0, min_output=300, cadence=Cadence.EVERY)
"""For tests of proofs, as versions without a price decided: whatever is proven and has 300 bytes is elided, and every
call has the whole view."""
WHOLE_VIEWS = Policy(cadence=Cadence.EVERY)
"""For tests of what views say: the whole state, with every call."""
FOCUSED_VIEWS = replace(UNPRICED, cadence=Cadence.FOCUSED, view_credit=1_000_000)
"""For tests of what focused views say: they are sent wherever there is something to list."""
