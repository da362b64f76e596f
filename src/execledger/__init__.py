"""Ledger: a deterministic layer around an unmodified coding agent.

It keeps an execution ledger of what the agent has observed, modified and attempted.
"""

from __future__ import annotations

__version__ = "0.1.0"

__all__ = ["__version__"]
