"""Gemini CLI over the tasks of an evaluation: ``gemini -p`` once for each task."""

from execledger.agents.headless import HeadlessRunner
from execledger.agents.work_folder import Home

RUNNER = HeadlessRunner(
    access="execledger.agents.gemini.access",
    words=("--yolo", "--skip-trust", "-o", "stream-json", "--session-id", "{session}", "-p"),
    api_errors=(
        r"(?i)\bAPI ?error:|\bgot status:|\b(?:current|daily) quota\b|\bquota exceeded for\b|\bRESOURCE_EXHAUSTED\b"
        r"|\bexhausted your capacity\b|\bfetch failed\b"
    ),
    limit_statuses={53: "FatalTurnLimitedError"},
    model="-m",
    home=Home("GEMINI_CLI_HOME", ""),
    # The file is named by the beginning of the identifier.
    records=(".gemini/tmp/*/chats/session-*-{session:.8}.jsonl",),
    subagents=(".gemini/tmp/*/chats/{session}/*.jsonl",),
)
"""The runner of Gemini CLI."""
