"""Which runs of the list are asked for: by words, by agent, model and task, and by whether Ledger had faults.

``page/filters.js`` does the same for an exported page, which has no server.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from msgspec import Struct

from execledger.viewer.counting import RunLine

CHOICES = ("agent", "model", "task")
"""The fields of which one value can be chosen."""
MAX_CHOICES = 200
"""Values of a field that are offered, those of most runs first."""


class Filter(Struct, frozen=True, kw_only=True):
    """What is asked for."""

    q: str = ""
    """Words that all stand in the name, the agent, the model or the task."""
    agent: str = ""
    """The agent; "" is any."""
    model: str = ""
    """The model; "" is any."""
    task: str = ""
    """The task; "" is any."""
    faults: bool = False
    """Only runs in which faults of Ledger's own were caught."""

    def takes(self, line: RunLine) -> bool:
        """The run is one of those that are asked for."""
        if self.faults and not line.faults:
            return False
        if any(getattr(line, name) != chosen for name in CHOICES if (chosen := getattr(self, name))):
            return False
        text = f"{line.name} {line.agent} {line.model} {line.task}".lower()
        return all(word in text for word in self.q.lower().split())


ANY = Filter()
"""All runs."""


def choices(lines: Iterable[RunLine]) -> dict[str, list[tuple[str, int]]]:
    """The values of each field, and how many runs have them."""
    counts: dict[str, Counter[str]] = {name: Counter() for name in CHOICES}
    for line in lines:
        for name, counter in counts.items():
            counter[getattr(line, name)] += 1
    return {
        name: sorted(((value, many) for value, many in counter.items() if value), key=lambda one: (-one[1], one[0]))[
            :MAX_CHOICES
        ]
        for name, counter in counts.items()
    }
