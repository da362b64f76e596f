"""The switch that turns Ledger off from outside, for every entry point alike."""

from __future__ import annotations

import os


def is_off() -> bool:
    """Ledger is switched off from outside."""
    return os.environ.get("EXECLEDGER", "").lower() in ("off", "0", "false", "no")
