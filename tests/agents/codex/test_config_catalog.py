"""The catalog of models with direct tools: made from whatever Codex prints, or refused in one sentence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from execledger.agents.codex.config import direct_tools
from execledger.errors import LedgerError


def printing(folder: Path, text: str) -> str:
    """A program that prints a text, whatever it is asked."""
    (folder / "said").write_text(text)
    program = folder / "codex"
    program.write_text(f"#!/bin/sh\ncat '{folder / 'said'}'\n")
    program.chmod(0o755)
    return str(program)


def test_only_what_asks_for_scripts_is_changed(tmp_path: Path) -> None:
    """An entry that is no model stays as it is."""
    models = [{"slug": "a", "tool_mode": "code"}, {"slug": "b"}, "odd", None]
    made = direct_tools(printing(tmp_path, json.dumps({"models": models, "more": 1})), tmp_path)
    expected = [{"slug": "a", "tool_mode": None}, {"slug": "b"}, "odd", None]
    assert json.loads(made.read_text()) == {"models": expected, "more": 1}


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"models": 3}', '{"models": {"a": {}}}', "null"])
def test_what_is_no_catalog_is_refused(tmp_path: Path, text: str) -> None:
    """With a way around it."""
    with pytest.raises(LedgerError, match="expected a catalog"):
        direct_tools(printing(tmp_path, text), tmp_path)
