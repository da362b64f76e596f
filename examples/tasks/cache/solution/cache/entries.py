"""The entries."""

from cache.statistics import Statistics


class Cache:
    """Keeps so many entries; the one that was not used for the longest time is dropped first."""

    def __init__(self, size):
        if size < 1:
            raise ValueError(f"the size is {size}, expected at least 1")
        self.size = size
        self.statistics = Statistics()
        # A dictionary keeps the order in which keys were added: the first is the one to drop.
        self._entries = {}

    def __contains__(self, key):
        return key in self._entries

    def __len__(self):
        return len(self._entries)

    def put(self, key, value):
        """Store an entry, which counts as use."""
        self._entries.pop(key, None)
        self._entries[key] = value
        while len(self._entries) > self.size:
            del self._entries[next(iter(self._entries))]

    def get(self, key, default=None):
        """The value of an entry; the default if there is none."""
        found = key in self._entries
        self.statistics.note(found)
        if not found:
            return default
        value = self._entries.pop(key)
        self._entries[key] = value
        return value
