"""What Ledger adds to a step of mini-swe-agent, as a ratio in one run: against the unwrapped agent's own step.

    python -m benchmarks.mini_overhead

The agent is the real one, with a scripted model in its own process and `true` as every command, so its own step is as
small as it can be.
"""

from __future__ import annotations

import json
import logging
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

STEPS = (10, 100, 500)
ROUNDS = 3
MAX_SHARE = 0.5


def turns(commands: Sequence[str]) -> list[dict[str, Any]]:
    """The model's answers: one command each, and a submission at the end."""
    from minisweagent.models.test_models import make_toolcall_output

    made = []
    for number, command in enumerate([*commands, "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"]):
        function = {"name": "bash", "arguments": json.dumps({"command": command})}
        call = {"id": str(number), "type": "function", "function": function}
        made.append(make_toolcall_output("", [call], [{"command": command, "tool_call_id": str(number)}]))
    return made


def seconds(count: int, wrapped: bool, folder: Path) -> float:
    """Seconds of one run of ``count`` steps; the trajectory is saved after each step, as the agent does."""
    from minisweagent.agents.default import DefaultAgent
    from minisweagent.environments.local import LocalEnvironment
    from minisweagent.models.test_models import DeterministicToolcallModel

    from execledger.agents.mini.model import LedgerModel

    inner = DeterministicToolcallModel(outputs=turns(["true"] * count))
    model = LedgerModel.wrap(inner, journal=str(folder)) if wrapped else inner
    limits = {"step_limit": 0, "cost_limit": 0.0}
    agent = DefaultAgent(model, LocalEnvironment(), system_template="s", instance_template="{{task}}", **limits)
    start = time.perf_counter()
    agent.run("Do nothing.")
    return time.perf_counter() - start


def main() -> int:
    """Print the table; the exit status says whether the bound holds."""
    os.environ |= {"MSWEA_SILENT_STARTUP": "1", "MSWEA_CONFIGURED": "true", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    logging.disable(logging.CRITICAL)
    shares = []
    with tempfile.TemporaryDirectory() as folder:
        seconds(5, True, Path(folder))
        print("steps  own step, ms  with Ledger, ms  added share")
        for count in STEPS:
            pairs = [(seconds(count, False, Path(folder)), seconds(count, True, Path(folder))) for _ in range(ROUNDS)]
            plain, wrapped = (statistics.median(column) / count * 1e3 for column in zip(*pairs, strict=True))
            shares.append(wrapped / plain - 1)
            print(f"{count:5}  {plain:12.2f}  {wrapped:15.2f}  {shares[-1]:11.0%}")
    held = max(shares) <= MAX_SHARE
    print(f"mini_overhead: {'held' if held else 'NOT held'}: adds {max(shares):.0%} at most (at most {MAX_SHARE:.0%})")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
