"""The places in which agents keep the recorded runs of a user, as their own variables set them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from glob import escape, glob
from pathlib import Path

from msgspec import Struct


class RunPlace(Struct, frozen=True):
    """A place for recorded runs, below the folder of an agent."""

    default: str
    """The agent's folder, relative to the user's home."""
    below: str
    """The runs, as a pattern of paths below that folder."""
    variables: tuple[tuple[str, str], ...] = ()
    """Variables that set another folder, the strongest first; each with a path below its value."""

    def pattern(self, environment: Mapping[str, str]) -> str:
        """The pattern of the paths at which runs are, in this environment."""
        home = Path(environment.get("HOME") or Path.home())
        for name, inner in self.variables:
            if value := environment.get(name):
                return os.path.join(escape(os.path.expanduser(value)), inner, self.below)
        return os.path.join(escape(str(home)), self.default, self.below)

    def found(self, environment: Mapping[str, str]) -> Iterator[str]:
        """The files and folders that are there."""
        yield from sorted(glob(self.pattern(environment)))
