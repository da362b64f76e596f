"""Busy and free time, as half-open spans of numbers."""

from spans.gaps import free
from spans.merging import merge
from spans.model import Span

__all__ = ["Span", "free", "merge"]
