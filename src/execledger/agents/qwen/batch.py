"""Qwen Code over the tasks of an evaluation: ``qwen -p`` once for each task."""

from execledger.agents.headless import HeadlessRunner
from execledger.agents.work_folder import Home

RUNNER = HeadlessRunner(
    access="execledger.agents.qwen.access",
    words=("--yolo", "-o", "stream-json", "--session-id", "{session}", "-p"),
    limit_statuses={53: "FatalTurnLimitedError", 55: "FatalBudgetExceededError"},
    model="-m",
    home=Home("QWEN_RUNTIME_DIR", ".qwen", other="QWEN_HOME"),
    records=("projects/*/chats/{session}.jsonl",),
    subagents=("projects/*/subagents/{session}/*.jsonl",),
)
"""The runner of Qwen Code."""
