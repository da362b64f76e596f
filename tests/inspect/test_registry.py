"""What Inspect imports of Ledger, in an Inspect that is older than what Ledger needs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

OLD = {
    "approval": "Approval = Approver = object\ndef approver(name): return lambda made: made\n",
    "hooks": "class Hooks: pass\ndef hooks(name, description): return lambda made: made\n",
    "log": "class transcript:\n    def info(self, noted, source): print(noted['absent'])\n",
    "model": "ChatMessage = ChatMessageUser = object\n",
    "tool": "ToolCall = ToolCallView = object\n",
}
"""The modules of Inspect that are imported, with the names that each version of the last years has."""
ATTEMPTS = "class Hooks: on_sample_attempt_start = None\ndef hooks(name, description): return lambda made: made\n"
"""The module with hooks of an Inspect that announces attempts at samples."""
NEW = {
    "_util/error": "class PrerequisiteError(SystemExit): pass\n",
    "agent": "current_agent_bridge_context = None\n",
    "log": "transcript = None\n",
    "util": "SandboxEnvironment = current_span_id = sandbox = None\n",
}
"""Modules of a recent Inspect, with the names that the approver needs to be made."""
SAMPLE = """
import asyncio
from types import SimpleNamespace as Data
from execledger.inspect.registry import LedgerHooks

async def sample(hooks):
    await hooks.on_sample_start(Data())
    for _ in range(attempts):
        await hooks.on_sample_attempt_start(Data(sample_id="one", attempt=1))
        await hooks.on_before_model_generate(Data(tools=[], tool_choice="auto", input=[]))
        await hooks.on_before_model_generate(Data(tools=[], tool_choice="auto", input=[]))

print(LedgerHooks().enabled())
asyncio.run(sample(LedgerHooks())) if LedgerHooks().enabled() else None
"""
"""A sample as Inspect announces it."""


def announced(folder: Path, version: str, switch: str, attempts: int) -> tuple[list[str], str]:
    """Whether the hook is enabled and what it notes in the log of a sample, and what it warns of."""
    for name, content in (OLD | {"hooks": ATTEMPTS if attempts else OLD["hooks"]}).items():
        path = folder / "inspect_ai" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    about = folder / "inspect_ai-0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: inspect_ai\nVersion: {version}\n")
    searched = os.pathsep.join((str(folder), *filter(None, sys.path)))
    environment = {**os.environ, "PYTHONPATH": searched, "EXECLEDGER": switch}
    command = [sys.executable, "-P", "-c", f"attempts = {attempts}{SAMPLE}"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.splitlines(), done.stderr.strip()


def approver_made(folder: Path, switch: str, chosen: str = "") -> tuple[int, str]:
    """The exit status of a process that makes the approver twice, with this ``EXECLEDGER`` and options; what it says.

    Of Inspect it has the names that the options need, and an error that prints its message.
    """
    for name, content in (OLD | NEW).items():
        path = folder / "inspect_ai" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    about = folder / "inspect_ai-0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: inspect_ai\nVersion: 0.3.285\n")
    searched = os.pathsep.join((str(folder), *filter(None, sys.path)))
    environment = {**os.environ, "PYTHONPATH": searched, "EXECLEDGER": switch, "EXECLEDGER_OPTIONS": chosen}
    made = "from execledger.inspect.registry import ledger\nledger(), ledger()"
    command = [sys.executable, "-P", "-c", made]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr.strip()


def older(version: str) -> str:
    """Why Ledger takes no part in a sample of this version."""
    return f"found inspect-ai {version}, expected 0.3.285 or newer"


@pytest.mark.parametrize(
    ("version", "switch", "attempts", "noted"),
    [
        ("0.3.120", "", 0, []),
        ("0.3.120", "on", 0, [older("0.3.120")]),
        ("0.3.284", "on", 1, [older("0.3.284")]),
        ("0.3.284", "on", 2, [older("0.3.284")] * 2),
    ],
)
def test_an_older_inspect_is_named(tmp_path: Path, version: str, switch: str, attempts: int, noted: list[str]) -> None:
    """It imports Ledger without an error and runs without it: if Ledger is asked for, a warning says so once, and the
    log of each attempt, so that it is no sample without Ledger."""
    said = f"Ledger takes no part: {older(version)}" if noted else ""
    assert announced(tmp_path, version, switch, attempts) == ([str(bool(switch)), *noted], said)


@pytest.mark.parametrize("version", ["0.3.285", "0.4.0.dev1+g12", "unknown"])
def test_other_versions_are_recent_enough(tmp_path: Path, version: str) -> None:
    """They get as far as the parts of Inspect that are not there in this test."""
    printed, warned = announced(tmp_path, version, "on", 1)
    assert printed == ["True", "ModuleNotFoundError: No module named 'inspect_ai.agent'"]
    assert warned == f"Ledger takes no part in this sample: {printed[1]}"


NOT_ON = "EXECLEDGER is not on: nothing is suppressed, no view is given"


@pytest.mark.parametrize(
    ("switch", "said"),
    [
        ("", NOT_ON),
        ("off", ""),
        ("onn", f"{NOT_ON}: EXECLEDGER='onn' is taken as off, expected on, 1, true, yes, or off, 0, false, no"),
        ("on", ""),
    ],
)
def test_an_approver_without_ledger_says_so_once(tmp_path: Path, switch: str, said: str) -> None:
    """Otherwise a forgotten or misspelt variable would give a run without Ledger that nothing tells apart."""
    assert approver_made(tmp_path, switch) == (0, said)


def test_wrong_options_end_the_run_before_its_first_sample(tmp_path: Path) -> None:
    """Inspect makes the approver before it runs anything, and shows this message; brackets are no markup."""
    assert approver_made(tmp_path, "on", "presett=[paper]") == (
        1,
        "EXECLEDGER_OPTIONS='presett=\\[paper]': Object contains unknown field `presett`\n"
        "hint: the options are: preset, inform, govern, shadow, witness, cadence, partial",
    )
