"""The engines of evaluations in this Python, which load Ledger as a plug-in."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

from execledger.agents.registry import parsed
from execledger.doctor.findings import Finding
from execledger.harbor import OLDEST, TESTED


def harbor() -> Iterator[Finding]:
    """Harbor, which imports its agents from the Python that it is installed in."""
    name, works = "Harbor", "`harbor run -a execledger.harbor:LedgerCodex ...`"
    try:
        found = version("harbor")
    except PackageNotFoundError:
        yield Finding(name, "none", f"not in this Python, where {works} would find Ledger")
        return
    tested = f"tested {', '.join(TESTED)}"
    if parsed(found) > parsed(TESTED[-1]):
        yield Finding(name, "note", f"{found}: newer than what was {tested}; {works} works as far as is known")
    elif parsed(found) < parsed(OLDEST):
        yield Finding(name, "note", f"{found}: {works} needs {OLDEST} or newer; {tested}", "pip install -U harbor")
    elif parsed(found) < parsed(TESTED[0]):
        yield Finding(name, "note", f"{found}: older than what was {tested}; {works} works as far as is known")
    else:
        yield Finding(name, "ok", f"{found}: {works} works; {tested}")
