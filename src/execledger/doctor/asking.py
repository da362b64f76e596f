"""Asking another program something, within a time: one that hangs is ended with all that it started."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress

from msgspec import Struct

ASK_SECONDS = 60.0
"""How long a program may take to say its version."""
SAID = 20_000
"""Bytes of an answer that are looked at."""


class Said(Struct, frozen=True):
    """What a program answered."""

    text: str
    """What it printed; where it printed nothing, its errors."""
    status: int | None
    """Its exit status; None if it was ended, or could not be started."""
    trouble: str = ""
    """Why there is no answer; "" if there is one."""


def ask(command: Sequence[str], seconds: float = ASK_SECONDS) -> Said:
    """Run a program that is to say something and end."""
    # Files, not pipes: a process that outlives the program would keep a pipe open, and us waiting.
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        try:
            program = subprocess.Popen(
                list(command), stdin=subprocess.DEVNULL, stdout=out, stderr=errors, start_new_session=True
            )
        except (OSError, ValueError) as error:
            return Said("", None, f"can't be started: {getattr(error, 'strerror', None) or error}")
        try:
            status = program.wait(seconds)
        except subprocess.TimeoutExpired:
            return Said("", None, f"did not answer within {seconds:g} seconds")
        finally:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(program.pid, signal.SIGKILL)
            program.wait()
        texts = []
        for file in (out, errors):
            file.seek(0)
            texts.append(file.read(SAID).decode("utf-8", "replace").strip())
    return Said(texts[0] or texts[1], status, "" if status == 0 else f"ended with status {status}")
