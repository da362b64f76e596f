"""Codex's own catalog of models, with the tools offered directly.

Most models of newer versions are asked to write scripts that call tools, and a script's calls can't be told apart from
outside. The same catalog without that mode makes the calls direct; whoever compares runs gives it to all of them.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import msgspec

from execledger.errors import LedgerError


def direct_tools(program: str, folder: Path) -> Path:
    """Write the catalog into ``folder``; its file."""
    command = [program, "debug", "models", "--bundled"]
    found = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    try:
        catalog = json.loads(found.stdout)
        entries = msgspec.convert(catalog["models"], list[Any])
    except (ValueError, KeyError, TypeError):
        said = found.stderr.strip().splitlines()[-1:] or ["nothing"]
        hint = "leave --direct-tools out: versions without the catalog offer their tools directly"
        raise LedgerError(f"codex debug models --bundled: found {said[0]!r}, expected a catalog", hint=hint) from None
    for model in (entry for entry in entries if isinstance(entry, dict)):
        model |= {name: value for name, value in (("tool_mode", None), ("use_responses_lite", False)) if name in model}
    path = folder / "models.json"
    path.write_text(json.dumps(catalog), encoding="utf-8")
    return path
