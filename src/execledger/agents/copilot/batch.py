"""Copilot CLI over the tasks of an evaluation: ``copilot -p`` once for each task."""

from execledger.agents.headless import HeadlessRunner
from execledger.agents.work_folder import Home

RUNNER = HeadlessRunner(
    words=(
        *("--allow-all-tools", "--no-color", "--no-auto-update"),
        *("--output-format", "json", "--session-id", "{session}", "-p"),
    ),
    effort="--reasoning-effort",
    home=Home("COPILOT_HOME", ".copilot"),
    # The events of sub-agents are among them.
    records=("session-state/{session}/events.jsonl",),
)
"""The runner of Copilot CLI."""
