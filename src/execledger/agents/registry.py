"""Which agents Ledger works with, and in which versions: the one table that the doctor and the tests read.

``oldest`` is what an adapter was made for; ``tested`` are the versions that its tests run, against a scripted model.
"""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

from msgspec import Struct

Version: TypeAlias = tuple[int, ...]
"""A version, as numbers."""


class Supported(Struct, frozen=True, kw_only=True):
    """One agent."""

    name: str
    """What it is called."""
    programs: tuple[str, ...]
    """Its programs; the first one stands for the others."""
    use: Literal["run", "read"]
    """``run``: Ledger can be around it; ``read``: only its recorded runs can be read."""
    package: str = ""
    """The Python package that it is; "" if it is a program that says its version itself."""
    extra: str = ""
    """The extra of ours that it needs."""
    oldest: Version = ()
    """The oldest version that it works with."""
    tested: tuple[str, ...] = ()
    """The versions that its tests run, the newest last."""


MINI = Supported(
    name="mini-swe-agent",
    programs=("mini", "mini-extra"),
    use="run",
    package="mini-swe-agent",
    extra="mini",
    oldest=(2, 0, 0),
    tested=("2.4.6",),
)
CODEX = Supported(
    name="Codex",
    programs=("codex",),
    use="run",
    extra="codex",
    oldest=(0, 80, 0),
    tested=("0.125.0", "0.166.0"),
)
CLAUDE_CODE = Supported(name="Claude Code", programs=("claude",), use="read")
OPENHANDS = Supported(name="OpenHands", programs=("openhands",), use="read", package="openhands")
SWE_AGENT = Supported(name="SWE-agent", programs=("sweagent",), use="read", package="sweagent")
AGENTS = (MINI, CODEX, CLAUDE_CODE, OPENHANDS, SWE_AGENT)
"""Every agent that can be run or read."""
BROKEN_LITELLM = ("1.106.", "1.108.0", "1.108.1", "1.108.2", "1.108.3")
"""Versions of litellm that break every tool call of an unmodified mini-swe-agent: how their numbers begin."""


def parsed(version: str) -> Version:
    """The numbers at the beginning of a version; () if there are none."""
    numbers = re.match(r"\d{1,9}(?:\.\d{1,9})*", version)
    return tuple(map(int, numbers[0].split("."))) if numbers else ()
