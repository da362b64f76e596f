"""The names of tasks: an instance of SWE-bench is known by its form wherever it stands."""

from __future__ import annotations

import re

_INSTANCE = re.compile(r"(?:instance_)?([A-Za-z0-9][A-Za-z0-9.-]*__(?!.*__)[A-Za-z0-9][\w.-]*-\d+)")
_ENDINGS = re.compile(r"(?:\.(?:run\w+|traj|trajectory|json|jsonl|events))+")


def instance_of(name: str, *told: object) -> str:
    """The task that a run is about: as it says itself, else by the name of its file or of a folder around it."""
    for word in told:
        if isinstance(word, str) and word:
            return word
    for part in reversed(re.split(r"[/!\\]", name)):
        stem = _ENDINGS.split(part, maxsplit=1)[0]
        if found := _INSTANCE.fullmatch(stem):
            return found[1]
    return ""
