"""Starts of real agents that take less time, for tests that are about something else."""

from __future__ import annotations

import os
from pathlib import Path

STANDINS = Path(__file__).with_name("standins")
"""A folder for Python's path, with modules in place of packages that are slow to be imported."""


def variables() -> dict[str, str]:
    """The variables with which a process imports the stand-ins."""
    return {"PYTHONPATH": os.pathsep.join(filter(None, (str(STANDINS), os.environ.get("PYTHONPATH"))))}
