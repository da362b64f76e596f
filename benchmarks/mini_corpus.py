"""Recorded v2 runs of mini-swe-agent, driven through the real agent again, with and without Ledger.

    python -m benchmarks.mini_corpus PATH

The model gives the recorded answers and the environment the recorded outputs. In shadow and inform-only mode the
messages must be those of the unwrapped agent; in full mode every message that differs must carry a decision that
explains it; where lines are omitted, the others must be those of the output, as many as the references name left out.
"""

from __future__ import annotations

import copy
import json
import logging
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

from execledger.runs.find import find_runs

NEEDS_CORPUS = True
Message = dict[str, Any]
MODES: dict[str, Message | None] = {
    "unwrapped": None,
    "shadow": {"shadow": True},
    "inform only": {"govern": False},
    "full": {},
}
OMITTED = re.compile(r"\[Ledger: lines (\d+)-(\d+) of ")
"""What stands in place of lines that are omitted."""


class RecordedEnvironment:
    """Gives the recorded output of each command; commands that are not run are passed over."""

    def __init__(self, results: list[tuple[str, Message]], config: Message) -> None:
        self.config = config
        self._results = iter(results)

    def execute(self, action: Message, cwd: str = "") -> Message:
        """The next recorded result of this very command."""
        for command, output in self._results:
            if command == action["command"]:
                return copy.deepcopy(output)
        raise AssertionError(f"not recorded from here on: {action['command'][:80]!r}")

    def get_template_vars(self, **_: Any) -> Message:
        """The recorded configuration, as the real environment gives it."""
        return dict(self.config)

    def serialize(self) -> Message:
        """Nothing of its own."""
        return {}


def recorded(run: Message) -> tuple[list[Message], list[tuple[str, Message]]]:
    """The model's answers, and the results of their commands, up to the last answered one."""
    answers: list[Message] = []
    results: list[tuple[str, Message]] = []
    waiting: list[str] = []
    for message in run["messages"]:
        extra = message.get("extra") or {}
        if extra.get("actions"):
            waiting = [action["command"] for action in extra["actions"]]
            answers.append({**message, "extra": {"actions": extra["actions"], "cost": 0.0}})
        elif "returncode" in extra and waiting:
            output = {"output": extra.get("raw_output", ""), "returncode": extra["returncode"]}
            kind = {"exception_type": extra["exception_type"]} if "exception_type" in extra else {}
            output |= {"exception_info": extra.get("exception_info", ""), "extra": kind}
            results.append((waiting.pop(0), output))
    return (answers[:-1] if waiting else answers), results


def drive(run: Message, options: Message | None) -> list[Message]:
    """The messages of the real agent over a recorded run."""
    from minisweagent.agents.default import DefaultAgent
    from minisweagent.models.test_models import DeterministicToolcallModel

    from execledger.agents.mini.model import LedgerModel

    answers, results = recorded(run)
    template = run["info"]["config"]["model"]["observation_template"]
    inner = DeterministicToolcallModel(outputs=copy.deepcopy(answers), observation_template=template)
    model = inner if options is None else LedgerModel.wrap(inner, journal="off", **options)
    limits = {"step_limit": len(answers), "cost_limit": 0.0, "instance_template": "{{task}}", "system_template": "s"}
    environment = RecordedEnvironment(results, run["info"]["config"]["environment"])
    agent = DefaultAgent(model, environment, **limits)
    agent.run(run["messages"][1]["content"])
    return list(agent.messages)


def explained(ours: Message, theirs: Message) -> bool:
    """Whether the decision beside a message says why it differs from the agent's own."""
    shown = ((ours.get("extra") or {}).get("ledger") or {}).get("shown") or {}
    if shown.get("kind") != "partial":
        return shown.get("kind") in ("reference", "remark") and shown["text"] in str(ours["content"])
    references, expected = shown["text"].splitlines(), str(theirs["content"]).split("\n")
    at = 0
    for line in str(ours["content"]).split("\n"):
        if omitted := OMITTED.match(line) if line in references else None:
            at += int(omitted[2]) - int(omitted[1]) + 1
        elif line == "".join(expected[at : at + 1]):
            at += 1
        else:
            return False
    return at == len(expected)


def runs(paths: list[str]) -> Iterator[Message]:
    """The recorded v2 runs under ``paths``."""
    for source in find_runs(paths):
        data = json.loads(source.read())
        v2 = isinstance(data, dict) and data.get("trajectory_format") == "mini-swe-agent-1.1"
        if v2 and recorded(data)[0]:
            yield data


def main() -> int:
    """Print what differs in each mode; the exit status says whether all of it is explained."""
    os.environ |= {"MSWEA_SILENT_STARTUP": "1", "MSWEA_CONFIGURED": "true", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    logging.disable(logging.CRITICAL)
    counts: dict[str, Counter[str]] = {mode: Counter() for mode in MODES}
    for run in runs(sys.argv[1:]):
        expected: list[Message] = []
        for mode, options in MODES.items():
            messages = drive(run, options)
            expected = expected or messages
            count = counts[mode]
            count["runs"] += 1
            count["messages"] += len(messages)
            for ours, theirs in zip(messages, expected, strict=True):
                if ours.get("content") != theirs.get("content"):
                    count["explained" if explained(ours, theirs) else "unexplained"] += 1
    for mode, count in counts.items():
        print(f"{mode}: " + ", ".join(f"{number:,} {name}" for name, number in count.items()))
    wrong = sum(count["unexplained"] for count in counts.values())
    wrong += counts["shadow"]["explained"] + counts["inform only"]["explained"]
    print(
        f"mini_corpus: {'held' if not wrong else 'NOT held'}: {wrong} messages differ without a decision that says so"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
