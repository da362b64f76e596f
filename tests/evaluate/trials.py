"""Finished tasks as a batch runner leaves them, without running anything."""

from __future__ import annotations

import json
from pathlib import Path


def trajectory(name: str, *, patch: str = "diff", ended: str = "Submitted", cost: float = 0.25) -> str:
    """What mini-swe-agent's batch runner saves in the end."""
    info = {
        "exit_status": ended,
        "submission": patch,
        "model_stats": {"instance_cost": cost, "api_calls": 1},
        "config": {"model": {"model_name": "scripted"}},
        "mini_version": "2.4.6",
    }
    messages = [
        {"role": "system", "content": "Be good."},
        {"role": "user", "content": "Repair it."},
        {"role": "assistant", "content": "", "extra": {"actions": [{"command": "ls"}]}},
        {"role": "tool", "content": "a", "extra": {"raw_output": "a", "returncode": 0}},
        {"role": "exit", "content": "", "extra": {"exit_status": ended, "submission": patch}},
    ]
    saved = {"info": info, "messages": messages, "trajectory_format": "mini-swe-agent-1.1", "instance_id": name}
    return json.dumps(saved)


def leave(work: Path, name: str, text: str) -> Path:
    """Put a trajectory where the batch runner does; its file."""
    path = work / name / f"{name}.traj.json"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return path
