"""Suppressed commands of Qwen Code: its header about the shim is not shown, and its reminders are."""

from __future__ import annotations

import json

import pytest

from execledger.agents.qwen.tools import ADAPTER
from execledger.proxy.book import Book, Rules
from execledger.proxy.edits import CallEdit, EditStore
from execledger.proxy.passage import Passage
from execledger.session.adapter import ToolCall
from execledger.vocabulary.decisions import Reuse

MARK = "0123456789abcdef"
REFERENCE = "[Ledger: not run, nothing has changed.]"
REMINDER = "\n\n<system-reminder>\nThe date has changed.\n</system-reminder>"
HEADERS = {"user-agent": "QwenCode/0.24.4 (linux; x64)"}


@pytest.mark.parametrize("reminder", ["", REMINDER])
def test_only_the_reference_and_the_reminders_are_shown(reminder: str) -> None:
    """The header repeats a command that the model has not made."""
    original = ToolCall("run_shell_command", json.dumps({"command": "cat a.py", "is_background": False}))
    shim = ADAPTER.shim_of(original, MARK, "stands for a command")
    assert shim is not None
    store = EditStore(None)
    store.add(CallEdit(MARK, original, shim, Reuse("repeat", ("fact",), (0,)), REFERENCE, call_id="c1"))
    command = json.loads(shim.text)["command"]
    answer = (
        f"Command: {command}\nDirectory: (root)\nOutput: {command[6:-1]}\nError: (none)\nExit Code: 0\n"
        f"Signal: (none)\nProcess Group PGID: 7{reminder}"
    )
    call = {"id": "c1", "type": "function", "function": {"name": shim.name, "arguments": shim.text}}
    messages = [
        {"role": "user", "content": "Mend it."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": answer},
    ]
    request = json.dumps({"model": "m", "tools": [{}], "messages": messages}).encode()
    passage = Passage(Book(Rules(sealed=True), ADAPTER, store))
    shown = json.loads(passage.request("POST", "/v1/chat/completions", HEADERS, request).body)["messages"]
    assert shown[2]["content"] == REFERENCE + reminder and passage.faults == 0
    assert json.loads(shown[1]["tool_calls"][0]["function"]["arguments"])["command"] == "cat a.py"
