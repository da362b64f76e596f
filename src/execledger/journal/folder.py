"""Where journals are kept unless the user says otherwise, and the edits beside them."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path


def journal_folder(environment: Mapping[str, str] | None = None, platform: str = sys.platform) -> Path:
    """The folder for journals: ``EXECLEDGER_JOURNAL``, else the platform's folder for the state of programs."""
    environment = os.environ if environment is None else environment
    if chosen := environment.get("EXECLEDGER_JOURNAL"):
        return Path(chosen)
    return _state_folder(environment, platform) / "execledger" / "journals"


def edits_file(environment: Mapping[str, str] | None = None, platform: str = sys.platform) -> Path:
    """The file with every conversation's edits: always the same one, or a resumed session would not find its own."""
    environment = os.environ if environment is None else environment
    return _state_folder(environment, platform) / "execledger" / "edits.sqlite3"


def _state_folder(environment: Mapping[str, str], platform: str) -> Path:
    home = Path(environment.get("HOME") or os.path.expanduser("~"))
    # The specification tells programs to ignore a relative path here.
    if os.path.isabs(state := environment.get("XDG_STATE_HOME", "")):
        return Path(state)
    return home / "Library" / "Application Support" if platform == "darwin" else home / ".local" / "state"
