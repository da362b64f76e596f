"""Claude Code over the tasks of an evaluation: ``claude -p`` once for each task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from execledger.agents.evaluation import nested_settings
from execledger.agents.headless import HeadlessRunner, TaskRun
from execledger.agents.work_folder import Contained, Home

HOME = Home("CLAUDE_CONFIG_DIR", ".claude")
"""Where the user's Claude Code keeps its settings and transcripts."""


class ClaudeRunner(HeadlessRunner):
    """Runs ``claude -p``."""

    contained = Contained(
        homes=(HOME,),
        passed=("ANTHROPIC_BASE_URL", "_CLAUDE_CODE_ASSUME_FIRST_PARTY_BASE_URL", "NO_PROXY", "no_proxy"),
        # As the user root, Claude Code skips no permissions without it.
        fixed=("IS_SANDBOX=1", "DISABLE_AUTOUPDATER=1"),
    )
    takes_settings = takes_effort = True

    def words(self, run: TaskRun) -> Sequence[str]:
        """The words of the command line behind the program."""
        setup = run.setup
        own = msgspec.json.encode(nested_settings(setup.settings)).decode()
        return [
            *("-p", "--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions"),
            *("--session-id", run.session),
            *(("--model", setup.model) if setup.model else ()),
            *(("--effort", setup.reasoning_effort) if setup.reasoning_effort else ()),
            *(("--settings", own) if setup.settings else ()),
            *("--", run.prompt),
        ]

    def variables(self, run: TaskRun) -> dict[str, str]:
        """No update in the middle of an evaluation."""
        return {"DISABLE_AUTOUPDATER": "1"}

    def records(self, run: TaskRun) -> Iterator[tuple[Path, str]]:
        """The transcript of the session, and those of its sub-agents."""
        for pattern in (f"*/{run.session}.jsonl", f"*/{run.session}/subagents/*.jsonl"):
            yield HOME.folder / "projects", pattern

    def is_main(self, run: TaskRun, name: str, data: bytes) -> bool:
        """Sub-agents have files of their own."""
        return Path(name).stem == run.session


RUNNER = ClaudeRunner()
"""The runner of Claude Code."""
