"""Writes jobs of Harbor by hand, in the shape that Harbor 0.25.0 leaves them: folders of trials, and bookkeeping."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from execledger.core.policy import Policy
from execledger.journal import Ended, Started
from execledger.journal.events import BYPASSED, Counts, policy_fields
from tests.evaluate.test_metrics import journal_of
from tests.evaluate.trials import trajectory
from tests.journal.runs import written
from tests.runs.samples import encoded
from tests.runs.samples_agents import interchange


def write_job(folder: Path) -> Path:
    """Make the folder of a job, with what Harbor keeps there beside the trials."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text('{"job_name": "a", "agents": []}')
    (folder / "result.json").write_text('{"id": "b", "n_total_trials": 1, "stats": {}}')
    (folder / "lock.json").write_text('{"schema_version": 1, "trials": []}')
    (folder / "job.log").touch()
    return folder


def write_trial(job: Path, name: str, *, agent: str = "mini-swe-agent", task: str = "fix-add", **result: Any) -> Path:
    """Make the folder of a trial without records; ``result`` has fields of its ``result.json``."""
    folder = job / name
    for place in ("agent", "verifier", "artifacts"):
        (folder / place).mkdir(parents=True)
    for file in ("config.json", "lock.json", "artifacts/manifest.json"):
        (folder / file).write_text('{"trial_name": "a"}')
    (folder / "verifier" / "reward.txt").write_text("1\n")
    fields: dict[str, Any] = {
        "id": "1",
        "task_name": task,
        "trial_name": name,
        "task_id": {"path": f"tasks/{task}"},
        "started_at": f"2026-11-18T10:36:1{len(list(job.iterdir()))}Z",
        "agent_info": {"name": agent, "version": "2.4.6", "model_info": {"name": "gpt-5-mini", "provider": "openai"}},
        "agent_result": {"n_input_tokens": 1000, "n_cache_tokens": 400, "n_output_tokens": 50, "cost_usd": 0.25},
        "verifier_result": {"rewards": {"reward": 1.0}},
        "exception_info": None,
    }
    (folder / "result.json").write_text(json.dumps({**fields, **result}))
    return folder


def with_bypass(trial: Path) -> Path:
    """Add the journal of an agent that sent nothing through Ledger."""
    start = Started(software="1.2.3", run="a", agent="codex", policy=policy_fields(Policy(inform=False)))
    folder = trial / "agent" / "execledger"
    folder.mkdir()
    written(folder, [start, Ended(counts=Counts(), reason=BYPASSED)])
    return trial


def with_records(trial: Path, *, journal: bool = False) -> Path:
    """Add the records of an agent: its own log, ATIF, and a journal if Ledger took part."""
    (trial / "agent" / "mini-swe-agent.trajectory.json").write_text(trajectory("fix-add"))
    (trial / "agent" / "mini-swe-agent.txt").write_text("mini-swe-agent ran\n")
    (trial / "agent" / "trajectory.json").write_bytes(encoded(interchange()))
    if journal:
        work = trial.parent.parent / f"{trial.name}-work"
        work.mkdir()
        own = Path(journal_of(work, Policy()).name)
        target = trial / "agent" / "execledger" / own.name
        target.parent.mkdir()
        own.rename(target)
        shutil.rmtree(work)
    return trial
