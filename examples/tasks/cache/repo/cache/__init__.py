"""A cache of limited size."""

from cache.entries import Cache
from cache.statistics import Statistics

__all__ = ["Cache", "Statistics"]
