"""Counting how often a cache helped."""


class Statistics:
    """Hits and misses."""

    def __init__(self):
        self.hits = 0
        self.misses = 0

    def note(self, hit):
        """Count one question."""
        if hit:
            self.hits += 1
        else:
            self.misses += 1

    @property
    def rate(self):
        """The share of questions that were answered; None before the first one."""
        total = self.hits + self.misses
        return self.hits / total if total else None
