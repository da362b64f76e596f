"""Secrets in texts, replaced before a text is written anywhere: by shape, by name, by assignment. Pure."""

from __future__ import annotations

from execledger.redact.redaction import redact, suspicious
from execledger.redact.values import REDACTED

__all__ = ["REDACTED", "redact", "suspicious"]
