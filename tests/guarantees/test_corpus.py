"""Recorded runs of real agents, where there are some: nothing false may be claimed on them."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from benchmarks.audit import audit_corpus
from execledger.core.policy import Preset

CORPUS = "EXECLEDGER_CORPUS"
"""The variable that names the recorded runs; ``dev.py guarantees --corpus PATH`` sets it."""


@pytest.mark.guarantee("false-reuse", "visibility")
def test_recorded_runs(full: bool, figure: Callable[[str], None]) -> None:
    """Every reuse and every claim about a recorded output is borne out by the recorded outputs themselves."""
    path = os.environ.get(CORPUS, "")
    if not path:
        pytest.skip(f"there are no recorded runs: {CORPUS} is not set")
    if not full:
        pytest.skip("recorded runs are part of the long form alone")
    audit = audit_corpus([path], Preset.VERIFIED)
    assert audit.calls, f"no recorded run was found in {CORPUS}"
    assert (audit.false_reuses.total(), audit.false_claims) == (0, [])
    figure(f"0 false of {audit.reuses:,} reuses and {audit.claims:,} claims in {audit.calls:,} recorded calls")
