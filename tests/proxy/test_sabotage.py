"""Every call of our own code broken in turn: the agent's conversation goes on, and its history stays what it was."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from execledger.proxy.edits import EditStore
from execledger.testing.sabotage import CallSite, call_sites, sabotaged
from tests.proxy.talk import Talk, message, new_passage, opening

PATCH = "apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: a.py\n@@ def f():\n-    x\n+    y\n*** End Patch\nEOF"
TURNS = (
    ("cat a.py",),
    ("cat a.py",),
    ("cat b.py", "sed -n '3,9p' b.py"),
    (PATCH,),
    ("pytest tests",),
    ("pytest tests",),
    ("cat a.py",),
    ("ls -la 'unfinished",),
)


def conversation(folder: Path, preset: str) -> Talk:
    """A conversation in which everything happens: reuse both ways, a remark, an edit, a compaction, a sub-agent."""
    folder.mkdir()
    passage = new_passage(EditStore(folder / "edits"), preset=preset, journals=folder / "journals")
    talk = Talk(passage)
    for commands in TURNS:
        talk.turn(*commands)
    talk.request(turn=False)
    child = Talk(passage, "s", "child", talk.items)
    child.numbers = 100
    child.turn("cat b.py")
    talk.items = [*opening(), message("user", "Another language model started to solve this problem.")]
    talk.request()
    passage.book.close()
    return talk


def proposed(talk: Talk) -> list[str]:
    """What the client ran, with every shim as a question mark."""
    return ["?" if command.startswith("echo '[ledger:") else command for command in talk.ran]


def sites(folder: Path, preset: str) -> dict[CallSite, int]:
    conversation(folder / "first", preset)
    return call_sites(lambda: conversation(folder / "sites", preset))


@pytest.mark.parametrize("preset", ["paper", "verified"])
@pytest.mark.parametrize("share", [pytest.param(7, id="some"), pytest.param(1, id="all", marks=pytest.mark.long)])
def test_a_fault_anywhere_never_stops_or_changes_a_conversation(tmp_path: Path, preset: str, share: int) -> None:
    """Whatever call fails, first time or last: every request arrives, grows, and answers each call once."""
    asked = [command for commands in TURNS for command in commands]
    for number, (site, times) in enumerate(list(sites(tmp_path, preset).items())[::share]):
        for occurrence in {1, times}:
            with sabotaged(site, occurrence) as trap:
                talk = conversation(tmp_path / f"{number}-{occurrence}", preset)
            where = f"{site}, occurrence {occurrence}"
            assert trap.sprung, where
            ran = proposed(talk)
            assert len(ran) == len(asked), where
            assert all(one in ("?", other) for one, other in zip(ran, asked, strict=True)), where
            shown = talk.sent[len(TURNS)]
            calls = [json.loads(item["arguments"])["cmd"] for item in shown if item["type"] == "function_call"]
            assert calls == asked, where
            assert len(Talk.results(shown)) == len(asked), where
            history = Talk(talk.passage, items=[])
            history.sent = talk.sent[: len(TURNS) + 1]
            assert history.grows(), where
