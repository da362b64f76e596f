"""Claude Code over the tasks of an evaluation: ``claude -p`` once for each task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from execledger.agents.headless import HeadlessRunner, TaskRun
from execledger.agents.work_folder import Contained, Home

HOME = Home("CLAUDE_CONFIG_DIR", ".claude")
"""Where the user's Claude Code keeps its settings and transcripts."""

API_ERRORS = (
    r"(?i)\bAPI error(?::| \()|\b(?:invalid|missing) API key\b|\bnot logged in \u00b7|\brun /login\b"
    r"|\bOAuth token (?:revoked|expired|has )|\bcredit balance is too low\b|\byou've hit your (?:\w+ )?limit\b"
    r"|\b(?:usage|context|session|weekly|opus|sonnet|hour) limit reached\b|\brate limit(?:ed| reached| exceeded)"
    r"|\bprompt is too long\b|\b(?:authentication|overloaded|rate_limit)_error\b"
)
"""What it prints if the model's API refuses a request, or can't be reached."""


class ClaudeRunner(HeadlessRunner, frozen=True, kw_only=True):
    """Runs ``claude -p``."""

    def variables(self, run: TaskRun) -> Mapping[str, str]:
        """No update in the middle of an evaluation."""
        return {"DISABLE_AUTOUPDATER": "1"}

    def error_in(self, event: dict[str, Any]) -> str:
        """The message of an event that reports an error; a run that broke off has a list of them."""
        errors = event.get("errors")
        listed = "; ".join(map(str, errors)) if event.get("is_error") and isinstance(errors, list) else ""
        return listed or super().error_in(event)


RUNNER = ClaudeRunner(
    access="execledger.agents.claude.access",
    words=(
        *("-p", "--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions"),
        *("--session-id", "{session}", "--"),
    ),
    api_errors=API_ERRORS,
    limits=frozenset({"error_max_turns", "error_max_budget_usd"}),
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
