"""Starts the real mini-swe-agent against the scripted model server, in an environment without keys or user files."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

SUBMIT = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
"""The command that ends a run; what it prints after that line is the submission."""
LOOPBACK_MODEL = "execledger.demo.loopback_model.LoopbackModel"
"""The model class of the demo, as a configuration of mini-swe-agent names it."""
PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "USER", "PYTHONPATH", "PYTHONUSERBASE", "VIRTUAL_ENV")
"""Variables of this process that a run gets; keys and proxies are not among them."""
TIMEOUT = 300.0
"""Seconds after which a run is ended, unless the caller waits longer."""


def environment(home: Path, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return all variables of a run, with ``extra`` added; files that the agent keeps go into ``home``."""
    return {
        **{name: os.environ[name] for name in PASSED_ON if name in os.environ},
        **{f"XDG_{kind}_HOME": str(home / kind.lower()) for kind in ("CACHE", "CONFIG", "DATA", "STATE")},
        "ANTHROPIC_API_KEY": "dummy",
        "COLUMNS": "200",
        "HF_HOME": str(home / "huggingface"),
        "HF_HUB_OFFLINE": "1",
        # Without it, litellm waits for a price list from the network whenever it is imported.
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "MSWEA_CONFIGURED": "true",
        # The scripted model has no price, which is an error unless this is set.
        "MSWEA_COST_TRACKING": "ignore_errors",
        "MSWEA_GLOBAL_CONFIG_DIR": str(home / "mini-swe-agent"),
        # A failed request is an error of the script: it ends the run at once.
        "MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT": "1",
        "MSWEA_SILENT_STARTUP": "1",
        "NO_COLOR": "1",
        "OPENAI_API_KEY": "dummy",
        **(extra or {}),
    }


def console_script(name: str) -> str:
    """Return the path of a command of this Python's environment, or else of the search path."""
    beside = Path(sys.executable).with_name(name)
    return str(beside) if beside.exists() else shutil.which(name) or name


def config_options(specs: Sequence[str]) -> list[str]:
    """Return the command-line words that give each configuration with its own ``-c``."""
    return [word for spec in specs for word in ("-c", spec)]


def run_client(
    command: Sequence[str], folder: Path, variables: Mapping[str, str], timeout: float = TIMEOUT
) -> tuple[int, str]:
    """Run a command line to its end in ``folder``; return its exit status and all that it printed."""
    done = subprocess.run(
        command,
        cwd=folder,
        env=dict(variables),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=timeout,
        check=False,
    )
    return done.returncode, done.stdout.decode("utf-8", "replace")
