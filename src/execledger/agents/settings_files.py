"""Settings files of clients: JSON that may have comments, and assignments of variables.

They are only read. A file that is missing or can't be read is empty, as it is for the clients.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec

from execledger.proxy.json_split import NOT_JSON

_COMMENT = re.compile(r'("(?:\\.|[^"\\])*+")|//[^\n]*|/\*.*?\*/', re.DOTALL)


def read_settings(path: Path) -> dict[str, Any]:
    """The settings in a file of JSON, which may have comments and a byte order mark."""
    try:
        text = path.read_text("utf-8-sig")
        return msgspec.json.decode(_COMMENT.sub(lambda found: found[1] or "", text), type=dict[str, Any])
    except (OSError, *NOT_JSON):
        return {}


def nested(settings: object, *names: str) -> Any:
    """The value below these names; None if it is not there."""
    for name in names:
        settings = settings.get(name) if isinstance(settings, dict) else None
    return settings


def read_variables(path: Path) -> dict[str, str]:
    """The variables that a file of assignments sets."""
    try:
        lines = path.read_text("utf-8", "replace").splitlines()
    except OSError:
        return {}
    pairs = (line.removeprefix("export ").partition("=") for line in map(str.strip, lines) if not line.startswith("#"))
    return {name.strip(): value.strip().strip("'\"") for name, sign, value in pairs if sign}
