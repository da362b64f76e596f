"""Comma-separated values in memory."""

from records.reader import read
from records.writer import write

__all__ = ["read", "write"]
