"""Gaps between spans."""

from spans.merging import merge
from spans.model import Span


def free(busy, window):
    """The spans of a window in which nothing is busy."""
    inside = [part for span in busy if (part := span.clipped(window))]
    gaps, at = [], window.start
    for span in merge(inside):
        if at < span.start:
            gaps.append(Span(at, span.start))
        at = span.end
    if at < window.end:
        gaps.append(Span(at, window.end))
    return gaps
