"""The type of a span."""

from typing import NamedTuple


class Span(NamedTuple):
    """A half-open span: it contains its start, and not its end."""

    start: float
    end: float

    @property
    def length(self):
        """How long it is."""
        return self.end - self.start

    def touches(self, other):
        """Whether there is no gap between the two."""
        return self.start <= other.end and other.start <= self.end

    def clipped(self, window):
        """The part of it that lies in a window; None if there is none."""
        start, end = max(self.start, window.start), min(self.end, window.end)
        return Span(start, end) if start < end else None
