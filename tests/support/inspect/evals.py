"""Runs ``inspect eval`` with scripted models, through its own command line, in an environment of its own.

Ledger is not installed there: it is found on ``PYTHONPATH``, and announced by a folder of metadata as an installer
would write it. Without that folder, Inspect knows nothing of Ledger.
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from execledger.agents.inspect_ai import AGENT
from execledger.cli.inspect import APPROVAL
from tests.support.agents.pypi import environment_with

ROOT = Path(__file__).parents[3]
TASKS = Path(__file__).with_name("scripted_tasks.py")
INSPECT_AI, INSPECT_SWE = AGENT.tested[-1], "0.2.72"
"""The versions that are tested."""
REQUIREMENTS = (
    f"inspect-ai=={INSPECT_AI}",
    f"inspect-swe=={INSPECT_SWE}",
    "openai",
    "anthropic",
    "google-genai",
    "msgspec>=0.19",
    "tree-sitter>=0.25.2,!=0.26.0",
    "tree-sitter-bash>=0.25",
    "tree-sitter-javascript>=0.23",
    "zstandard>=0.23",
)
"""What is installed: Inspect, what its bridge imports for each dialect, and what Ledger needs."""
PASSED_ON = ("PATH", "LANG", "LC_ALL", "USER", "HOME", "TMPDIR")
"""Variables of this process that a run sees."""
SECONDS = 900
"""After which a run is given up; no test depends on how long it takes."""
Json: TypeAlias = dict[str, Any]


@functools.cache
def inspect_program() -> Path:
    """The real ``inspect``, installed if it is not there yet."""
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    return environment_with(f"inspect-{INSPECT_AI}-{INSPECT_SWE}-{python}", python, *REQUIREMENTS) / "bin" / "inspect"


class EvalRun(NamedTuple):
    """One finished run."""

    log: Json
    """The log, with messages and attachments in their places."""
    path: Path
    """The file of the log."""
    journals: Path
    """The folder of the journals."""
    output: str
    """What was printed."""

    def samples(self) -> list[Json]:
        """The samples, by name and epoch."""
        return sorted(self.log["samples"], key=lambda sample: (str(sample["id"]), sample["epoch"]))


def run_eval(
    folder: Path,
    task: str,
    script: Mapping[str, Any],
    *arguments: str,
    ledger: bool | None = True,
    known: bool = True,
    options: str = "",
    approval: bool = True,
    path: Sequence[Path] = (),
    modules: Sequence[Path] = (),
    home: Path | None = None,
) -> EvalRun:
    """Run a task of ``scripted_tasks`` to its end.

    ``ledger`` switches Ledger on or off, or with None neither; ``known`` announces it to Inspect; ``path`` is searched
    first for programs, and ``modules`` for Python's modules; ``home`` is the user's home folder, by default empty.
    """
    folder.mkdir(parents=True)
    (folder / "script.json").write_text(json.dumps(script), encoding="utf-8")
    (folder / "ledger.yaml").write_text(APPROVAL, encoding="utf-8")
    environment = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    environment["PATH"] = os.pathsep.join((*map(str, path), environment.get("PATH", os.defpath)))
    # A login shell of the sandbox reads no profile of whoever runs the tests.
    home = home or folder / "home"
    environment["HOME"] = str(home)
    home.mkdir(exist_ok=True)
    environment["XDG_STATE_HOME"] = str(folder / "state")
    environment["EXECLEDGER_JOURNAL"] = str(folder / "journals")
    if known:
        environment["PYTHONPATH"] = os.pathsep.join((*map(str, modules), str(_announced(folder))))
    if ledger is not None:
        environment |= {"EXECLEDGER": "on" if ledger else "off", "EXECLEDGER_OPTIONS": options}
    command = [str(inspect_program()), "eval", f"{TASKS}@{task}", "-T", f"script={folder / 'script.json'}"]
    command += ["--log-dir", str(folder / "logs"), "--log-format", "json", "--display", "plain", *arguments]
    command += ["--approval", str(folder / "ledger.yaml")] if approval and known else []
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    logs = sorted((folder / "logs").glob("*.json"))
    assert logs, done.stdout + done.stderr
    return EvalRun(
        _resolved(json.loads(logs[-1].read_text())), logs[-1], folder / "journals", done.stdout + done.stderr
    )


def _announced(folder: Path) -> Path:
    """A folder on Python's path in which Inspect finds Ledger as if it was installed: it goes by the folder's name."""
    metadata = folder / "site-packages" / "execledger-0.dist-info"
    metadata.mkdir(parents=True)
    (metadata.parent / "execledger").symlink_to(ROOT / "src" / "execledger")
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: execledger\nVersion: 0\n")
    (metadata / "entry_points.txt").write_text("[inspect_ai]\nexecledger = execledger.inspect.registry\n")
    return metadata.parent


def _resolved(log: Json) -> Json:
    """The log with the inputs of its model events, and with attachments, in their places."""
    for sample in log["samples"]:
        attached, pool = sample["attachments"], sample["events_data"]["messages"]
        for event in sample["events"]:
            if event["event"] == "model" and event.get("input_refs"):
                event["input"] = [one for first, behind in event.pop("input_refs") for one in pool[first:behind]]
        sample.update(_with_attachments(sample, attached))
    return log


def _with_attachments(value: Any, attached: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return attached.get(value.removeprefix("attachment://"), value) if value.startswith("attachment://") else value
    if isinstance(value, list):
        return [_with_attachments(one, attached) for one in value]
    return {name: _with_attachments(one, attached) for name, one in value.items()} if isinstance(value, dict) else value


# What a model was asked


def asked(sample: Json) -> list[Json]:
    """The model calls of an agent that were answered, in order."""
    return [one for one in sample["events"] if one["event"] == "model" and one["tools"] and not one.get("error")]


def is_view(message: Json) -> bool:
    """Whether a message is one of Ledger's state views."""
    return (message.get("metadata") or {}).get("execledger") == "view"


def views(sample: Json) -> list[str]:
    """The state views in the order of the model calls; "" for a call without one."""
    return [call["input"][-1]["content"] if is_view(call["input"][-1]) else "" for call in asked(sample)]


def read_last(sample: Json) -> list[tuple[Any, str]]:
    """The calls and results that the model read with its last call: the arguments, and the text of the result.

    Of a failure the model reads the message of the error.
    """
    messages = asked(sample)[-1]["input"]
    calls = {call["id"]: call["arguments"] for one in messages for call in one.get("tool_calls") or ()}
    results = [one for one in messages if one["role"] == "tool"]
    return [(calls[one["tool_call_id"]], (one.get("error") or {}).get("message") or _text(one)) for one in results]


def _text(message: Json) -> str:
    """The text of a message."""
    content = message["content"]
    return content if isinstance(content, str) else "\n".join(part["text"] for part in content)


IDENTITIES = frozenset(
    "id uuid span_id parent_id message_id timestamp working_start working_time completed started_at completed_at"
    " total_time time created eval_id run_id task_id tool_call_id task_args task_args_passed log_dir".split()
)
"""Fields of a log that differ between any two runs: names, and times."""


def steady(value: Any) -> Any:
    """A value of a log without what differs between any two runs; a change of such a field stays, without its value."""
    if isinstance(value, dict):
        changed = str(value.get("path", "")).rpartition("/")[2]
        dropped = IDENTITIES | {"value", "replaced"} if changed in IDENTITIES else IDENTITIES
        return {name: steady(one) for name, one in value.items() if name not in dropped}
    return [steady(one) for one in value] if isinstance(value, list) else value


def journals(run: EvalRun) -> Iterator[Path]:
    """The journals of a run, by name."""
    yield from sorted(run.journals.glob("*.jsonl"))
