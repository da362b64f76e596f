"""Feeds recorded runs to the stuck detector of the OpenHands SDK, as its own conversation does.

    python drive_openhands.py FOLDER < RUNS

It runs inside the environment that the SDK is installed in. Every run is a line of JSON on standard input; every answer
is one on standard output, after a first line that names the version. Each call becomes an action event, with what the
model wrote as its thought, and an observation event; after each pair the detector is asked, as the conversation's loop
asks it before the next step. A command that fails is an observation there, not an error of the agent.
"""

# mypy: disable-error-code="import-not-found,import-untyped,no-any-unimported"

from __future__ import annotations

import importlib.metadata
import json
import logging
import os
import sys
import time
from typing import Any

# Without a network it would wait for a list of prices; and it greets on import.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
os.environ.setdefault("OPENHANDS_SUPPRESS_BANNER", "1")

from openhands.sdk.conversation.stuck_detector import StuckDetector
from openhands.sdk.event import ActionEvent, ObservationEvent
from openhands.sdk.llm import MessageToolCall, TextContent
from openhands.sdk.mcp.definition import MCPToolAction, MCPToolObservation


class Branch:
    """The one thing that the detector asks of a conversation's state: its newest events."""

    def __init__(self) -> None:
        """Nothing has happened."""
        self.events: list[Any] = []

    def active_branch(self, limit: int) -> list[Any]:
        """The newest events, the oldest of them first."""
        return self.events[-limit:]


def events_of(index: int, call: dict[str, Any]) -> tuple[Any, Any]:
    """The two events of a call."""
    number, tool = f"call-{index}", call["tool"]
    action = ActionEvent(
        thought=[TextContent(text=call["text"])] if call.get("text") else [],
        action=MCPToolAction(data=call["args"]),
        tool_name=tool,
        tool_call_id=number,
        tool_call=MessageToolCall(id=number, name=tool, arguments=json.dumps(call["args"]), origin="completion"),
        llm_response_id=f"turn-{call['turn']}",
    )
    result = MCPToolObservation.from_text(call["output"], is_error=call.get("failed", False), tool_name=tool)
    return action, ObservationEvent(observation=result, action_id=action.id, tool_name=tool, tool_call_id=number)


def answer(run: dict[str, Any]) -> dict[str, Any]:
    """What the detector says about a run, call by call."""
    branch, reports, seconds = Branch(), [], 0.0
    detector = StuckDetector(branch)
    for index, call in enumerate(run["calls"]):
        branch.events += events_of(index, call)
        start = time.process_time()
        stuck = detector.is_stuck()
        seconds += time.process_time() - start
        if stuck:
            reports.append({"call": index, "kind": "loop"})
    return {"reports": reports, "checks": len(run["calls"]), "seconds": seconds}


def main() -> None:
    """Answer every run."""
    logging.disable(logging.CRITICAL)
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    # Whatever else is printed must not stand between the answers.
    os.dup2(2, 1)
    print(json.dumps({"version": importlib.metadata.version("openhands-sdk")}), file=out, flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), file=out, flush=True)


if __name__ == "__main__":
    main()
