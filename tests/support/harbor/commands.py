"""Prints, in Harbor's Python, which program each of our agents starts behind the shell function.

Each agent is set up and run in an environment that records its commands and runs none.
"""

from __future__ import annotations

import asyncio
import json
import re
import tempfile
from pathlib import Path
from typing import Any

import execledger.harbor as ours
from harbor.environments.base import ExecResult
from harbor.models.agent.context import AgentContext

MODELS = {"LedgerClaude": "anthropic/m", "LedgerGemini": "google/m"}
"""Models of agents that take none of OpenAI's."""


class RecordingEnvironment:
    """An environment in which every command succeeds and prints the same."""

    default_user = None

    def __init__(self) -> None:
        """Start without commands."""
        self.commands: list[str] = []

    async def exec(self, command: str, **_: Any) -> ExecResult:
        """Record a command."""
        self.commands.append(command)
        return ExecResult(stdout="CODEX_RUNTIME_ID 1000 1000\n", stderr="", return_code=0)

    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        """Take a file, and forget it."""


async def started(name: str) -> list[str]:
    """The agent's name in Harbor, and the programs behind the function in its commands."""
    kind: Any = getattr(ours, name)
    model = MODELS.get(name, "openai/m")
    agent = kind(logs_dir=Path(tempfile.mkdtemp()), model_name=model, ledger="--sealed", ledger_install="present")
    environment = RecordingEnvironment()
    await agent.install(environment)
    at = len(environment.commands)
    await agent.run("the task", environment, AgentContext())
    behind = [text.partition("esac; ")[2] for text in environment.commands[at:]]
    word = re.compile(rf"(?:[;&|] |= ){re.escape(agent.program)} (?:-|exec )")
    return [kind.name(), *(agent.program for text in behind if word.search(text))]


if __name__ == "__main__":
    print(json.dumps({name: asyncio.run(started(name)) for name in ours.AGENTS}))
