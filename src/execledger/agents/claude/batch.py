"""Claude Code over the tasks of an evaluation: ``claude -p`` once for each task."""

from __future__ import annotations

from collections.abc import Mapping

from execledger.agents.headless import HeadlessRunner, TaskRun
from execledger.agents.work_folder import Contained, Home

HOME = Home("CLAUDE_CONFIG_DIR", ".claude")
"""Where the user's Claude Code keeps its settings and transcripts."""


class ClaudeRunner(HeadlessRunner, frozen=True, kw_only=True):
    """Runs ``claude -p``."""

    def variables(self, run: TaskRun) -> Mapping[str, str]:
        """No update in the middle of an evaluation."""
        return {"DISABLE_AUTOUPDATER": "1"}


RUNNER = ClaudeRunner(
    words=(
        *("-p", "--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions"),
        *("--session-id", "{session}", "--"),
    ),
    effort="--effort",
    settings="--settings",
    home=HOME,
    records=("projects/*/{session}.jsonl",),
    subagents=("projects/*/{session}/subagents/*.jsonl",),
    contained=Contained(
        homes=(HOME,),
        passed=("ANTHROPIC_BASE_URL", "_CLAUDE_CODE_ASSUME_FIRST_PARTY_BASE_URL", "NO_PROXY", "no_proxy"),
        # As the user root, Claude Code skips no permissions without the first.
        fixed=("IS_SANDBOX=1", "DISABLE_AUTOUPDATER=1"),
    ),
)
"""The runner of Claude Code."""
