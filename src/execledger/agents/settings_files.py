"""Settings files of clients: JSON that may have comments, and assignments of variables.

They are only read. A file that is missing or can't be read is empty, as it is for the clients, unless it is refused.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec

from execledger.errors import LedgerError, reason
from execledger.proxy.json_split import NOT_JSON

_COMMENT = re.compile(r'("(?:\\.|[^"\\])*+")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_ASSIGNMENT = re.compile(
    r"""^[ \t]*(?:export[ \t]+)?([\w.-]+)(?:[ \t]*=|:[ \t])[ \t]*(?:'([^']*)'|"([^"]*)"|`([^`]*)`|([^#\r\n]*))""",
    re.MULTILINE,
)
"""An assignment, as clients read it: a comment may follow, and a colon may be in place of the sign."""
_COMMA = re.compile(r'("(?:\\.|[^"\\])*+")|,(?=\s*[}\]])')


def read_settings(path: Path) -> dict[str, Any]:
    """The settings in a file of JSON, which may have comments, commas before closing brackets, a byte order mark."""
    try:
        return parsed_settings(path.read_text("utf-8-sig", "replace"))
    except (OSError, *NOT_JSON):
        return {}


def checked_settings(path: Path) -> dict[str, Any]:
    """The same; a file that is there and can't be read is refused, because what it says would be disregarded."""
    try:
        return parsed_settings(path.read_text("utf-8-sig", "replace"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, *NOT_JSON) as error:
        hint = "mend it: it may say where requests are to go"
        raise LedgerError(f"{path}: found no settings that can be read: {reason(error)}", hint=hint) from None


def parsed_settings(text: str) -> dict[str, Any]:
    """The settings in a text; raises one of ``NOT_JSON`` if there are none."""
    for pattern in (_COMMENT, _COMMA):
        text = pattern.sub(lambda found: found[1] or "", text)
    return msgspec.json.decode(text, type=dict[str, Any])


def nested(settings: object, *names: str) -> Any:
    """The value below these names; None if it is not there."""
    for name in names:
        settings = settings.get(name) if isinstance(settings, dict) else None
    return settings


def read_variables(path: Path) -> dict[str, str]:
    """The variables that a file of assignments sets."""
    try:
        text = path.read_text("utf-8-sig", "replace")
    except OSError:
        return {}
    return {found[1]: found[2] or found[3] or found[4] or found[5].strip() for found in _ASSIGNMENT.finditer(text)}


def nearest_variables(cwd: Path, folder: str) -> Path | None:
    """The first file of assignments from ``cwd`` upward: at each level that in ``folder``, then that beside it."""
    levels = (cwd, *cwd.parents)
    files = (file for level in levels for file in (level / folder / ".env", level / ".env"))
    return next((file for file in files if file.is_file()), None)
