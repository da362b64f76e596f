"""What the doctor finds, and how a check is kept from doing harm: it can neither raise nor take for ever."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Literal, TypeAlias

from msgspec import Struct

from execledger.redact import redact

CHECK_SECONDS = 200.0
"""How long one check may take, all of its programs together."""


class Finding(Struct, frozen=True):
    """One thing that was looked at."""

    check: str
    """What was looked at."""
    status: Literal["ok", "none", "note", "fix"]
    """``ok``, ``none``: it is not here and need not be, ``note``: good to know, ``fix``: something does not work."""
    found: str
    """What was found."""
    fix: str = ""
    """What to do, in one line; "" if nothing is to be done."""


Check: TypeAlias = Callable[[], Iterable[Finding]]
"""Looks at one thing."""


def guarded(name: str, check: Check, seconds: float = CHECK_SECONDS) -> list[Finding]:
    """What a check finds; that it failed, or did not end in time, is a finding too."""
    found: list[Finding] = []
    failed: list[BaseException] = []

    def work() -> None:
        try:
            found.extend(check())
        # Whatever is wrong with this machine is what we are here to tell.
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=work, name=f"execledger-doctor-{name}", daemon=True)
    thread.start()
    thread.join(seconds)
    told = list(found)
    if thread.is_alive():
        told.append(
            Finding(name, "fix", f"the check did not end within {seconds:g} seconds", "look at what it hangs on")
        )
    for error in failed:
        reason = redact(f"{type(error).__name__}: {error}".strip())[:300].replace("\n", " ")
        told.append(Finding(name, "fix", f"the check failed: {reason}", "mend this, or report it"))
    return told
