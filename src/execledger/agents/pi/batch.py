"""pi over the tasks of an evaluation: ``pi -p`` once for each task."""

from execledger.agents.headless import HeadlessRunner

RUNNER = HeadlessRunner(
    words=("--mode", "json", "--session-dir", "{own}/sessions", "-p"),
    records=("sessions/*.jsonl",),
    effort="--thinking",
)
"""The runner of pi."""
