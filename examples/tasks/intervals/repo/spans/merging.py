"""Joining spans."""

from spans.model import Span


def merge(spans):
    """Join spans that overlap or touch; the result is sorted, and has a gap between each two."""
    merged = []
    for span in sorted(spans):
        if merged and span.touches(merged[-1]):
            merged[-1] = Span(merged[-1].start, span.end)
        else:
            merged.append(span)
    return merged
