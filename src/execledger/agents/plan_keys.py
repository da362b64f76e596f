"""Keys of an evaluation's plan that belong to agents, and those that several agents share.

The record of an agent lists its keys; ``evaluate.plan`` reads them from plans, and ``execledger eval run`` has options
for them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from msgspec import Struct

PLACE = "{problem_statement}"
"""Placeholder for the task in a prompt."""
PROMPT = f"""The working directory is the repository of a project. Below is an issue that was reported for it.
Repair the project's code so that the issue is resolved, in a way that fits the rest of the code. Leave the existing
tests and the set-up of the project as they are. You work alone: nobody answers questions. Commit nothing.

<pr_description>
{PLACE}
</pr_description>"""
"""Default prompt of agents that bring none for SWE-bench."""


def fits(value: Any) -> str:
    """No fault, for keys of which any value of the right type will do."""
    return ""


def at_least_one(value: int) -> str:
    """The fault of a number below 1; "" if there is none."""
    return "" if value >= 1 else f"is {value}, expected at least 1"


def finite_limit(value: float | None) -> str:
    """The fault of a limit that limits nothing or everything; "" if there is none."""
    return "" if value is None or 0 < value < math.inf else f"is {value}, expected more than 0 and finite"


def holds_place(value: str) -> str:
    """The fault of a prompt without a place for the task; "" if there is none."""
    return "" if PLACE in value else f"does not hold {PLACE}"


class PlanKey(Struct, frozen=True, kw_only=True):
    """A key of an evaluation's plan that belongs to an agent."""

    name: str
    """The key in a plan; with hyphens, the option of ``execledger eval run``."""
    kind: Any
    """The type of its values."""
    default: Any
    """Its default."""
    help: str = ""
    """The help text of the option; "" if there is no option for it."""
    metavar: str | None = None
    """The word for its value in the help text."""
    fault: Callable[[Any], str] = fits
    """What is wrong with a value, in words that follow the key's name; "" if nothing is."""
    distributes: bool = False
    """It says how the work is distributed: results do not depend on it, and it may change from one call to the next."""


TASK_PROMPT = PlanKey(name="prompt", kind=str, default=PROMPT, fault=holds_place)
"""The prompt; its placeholder is replaced by the task."""
REPOS = PlanKey(
    name="repos", kind=str, default="", help="prepared repositories, DIR/INSTANCE.", metavar="DIR", distributes=True
)
"""A folder with a prepared repository per task; "" to use the tasks' container images."""
DOCKER = PlanKey(name="docker", kind=str, default="docker", help="container program.", distributes=True)
"""The container program."""


def variables(*names: str) -> PlanKey:
    """The key for the names of environment variables that are passed to containers."""
    return PlanKey(name="variables", kind=tuple[str, ...], default=names, distributes=True)
