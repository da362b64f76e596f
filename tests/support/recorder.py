"""Records a run of scripted commands in a real shell, in the format of mini-swe-agent v2.

``python -m tests.support.recorder FILE`` records the demo's run anew.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from execledger.demo.repository import COMMANDS, TASK, make_repository

LIMIT = 10_000
"""Characters of output from which on only its head and tail are shown."""


def run_command(command: str, folder: Path, timeout: float = 60.0) -> tuple[str, int]:
    """Run one command as the agent's environment would: output and error output together, and the exit status."""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        ("bash", "-c", command),
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=timeout,
        check=False,
    )
    return done.stdout.decode("utf-8", "replace"), done.returncode


def rendered(output: str, status: int) -> str:
    """The observation as the model is shown it."""
    if len(output) < LIMIT:
        return f"<returncode>{status}</returncode>\n<output>\n{output}</output>"
    head, tail = output[: LIMIT // 2], output[-LIMIT // 2 :]
    elided = len(output) - LIMIT
    return (
        f"<returncode>{status}</returncode>\n<warning>\nThe output was too long.\n</warning>"
        f"<output_head>\n{head}\n</output_head>\n<elided_chars>\n{elided} characters elided\n</elided_chars>\n"
        f"<output_tail>\n{tail}\n</output_tail>"
    )


def record_run(task: str, commands: Iterable[str], folder: Path, cwd: str, *, container: bool) -> bytes:
    """Run ``commands`` in ``folder`` and return the recorded run; ``cwd`` is what it says about where that was."""
    messages: list[dict[str, object]] = [
        {"role": "system", "content": "You are an assistant at a shell."},
        {"role": "user", "content": task},
    ]
    for number, command in enumerate(commands):
        call = f"call_{number}"
        output, status = run_command(command, folder)
        output = output.replace(str(folder), cwd)
        messages.append(
            {"role": "assistant", "content": "", "extra": {"actions": [{"command": command, "tool_call_id": call}]}}
        )
        extra = {"raw_output": output, "returncode": status, "exception_info": ""}
        messages.append({"role": "tool", "tool_call_id": call, "content": rendered(output, status), "extra": extra})
    environment: dict[str, object] = {"cwd": cwd}
    kind = "local.LocalEnvironment"
    if container:
        environment["image"] = "a container of the agent's own"
        kind = "docker.DockerEnvironment"
    config = {"environment": environment, "environment_type": f"minisweagent.environments.{kind}"}
    info = {"config": {**config, "model": {"model_name": "scripted"}}, "mini_version": "scripted"}
    run = {"info": info, "messages": messages, "trajectory_format": "mini-swe-agent-1.1"}
    return json.dumps(run, indent=1).encode()


def record() -> bytes:
    """The demo's run; its folder is made for it and nothing else writes there, so it counts as a container."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve() / "repo"
        root.mkdir()
        make_repository(root)
        return record_run(TASK, COMMANDS, root, "/repo", container=True)


if __name__ == "__main__":
    Path(sys.argv[1]).write_bytes(record())
