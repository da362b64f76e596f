"""Finding an agent's program."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from execledger.errors import LedgerError
from execledger.extras import install_command


def find_program(name: str, extra: str) -> str:
    """The agent's program: on the path, or beside our own Python."""
    found = shutil.which(name) or shutil.which(name, path=str(Path(sys.executable).parent))
    if found is None and os.sep in name:
        raise LedgerError(f"{name}: found no program there, expected one that can be started")
    if found is None:
        how = "npm install -g @openai/codex" if extra == "codex" else install_command("mini")
        raise LedgerError(f"{name}: not found on the path", hint=how)
    return found
