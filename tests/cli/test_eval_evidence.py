"""What ``execledger eval report`` says of stored evaluations without a difference, and with planted ones."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from execledger.evaluate.grade import Verdicts, keep
from execledger.evaluate.plan import ArmName, Plan
from execledger.evaluate.study import Study
from tests.cli.conftest import Execledger
from tests.evaluate.trials import leave, trajectory

INSTANCES, TRIALS, CALLS = 36, 2, 5
MODEL = "gpt-5-mini"
DIFFERENCES = ("Pass@1", "cost", "new input tokens", "cached input tokens")


def calls(draw: random.Random, size: float) -> list[dict[str, Any]]:
    """Messages of a run with calls of the model whose input grows from this size, each with what the provider tells."""
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "Be good."},
        {"role": "user", "content": "Repair it."},
    ]
    sent = 0
    for number in range(CALLS):
        tokens = int(size * (1 + 0.3 * number) * draw.uniform(0.95, 1.05))
        cached = min(int(sent * draw.uniform(0.8, 1.0)), tokens)
        usage = {
            "prompt_tokens": tokens,
            "completion_tokens": 50,
            "prompt_tokens_details": {"cached_tokens": cached},
        }
        command = {"command": f"cat {number}.py", "tool_call_id": f"call-{number}"}
        asked = {"actions": [command], "response": {"model": MODEL, "usage": usage}}
        messages.append({"role": "assistant", "content": "", "extra": asked})
        messages.append({"role": "tool", "content": "x", "extra": {"raw_output": "x", "returncode": 0}})
        sent = tokens
    return messages


def store(root: Path, seed: int, *, gain: float = 0.0, cheaper: float = 0.0) -> None:
    """Store a graded evaluation of two arms as ``eval run`` and ``eval grade`` leave it.

    Outcomes and tokens vary by instance and by run; the arm with Ledger resolves ``gain`` more of the instances, and
    takes fewer tokens by the share ``cheaper``.
    """
    arms = (ArmName.BASE, ArmName.BOTH)
    study, draw = Study(root), random.Random(seed)
    study.claim(Plan(arms=arms, trials=TRIALS, model=MODEL, seed=seed), {"execledger": "0.2.0"})
    study.dataset.mkdir(exist_ok=True)
    names = [f"made__up-{number}" for number in range(INSTANCES)]
    tasks = ({"instance_id": name, "problem_statement": "p", "repo": "r", "base_commit": "c"} for name in names)
    (study.dataset / "test.jsonl").write_text("".join(json.dumps(task) + "\n" for task in tasks))
    about = {name: (draw.uniform(0.1, 0.6), draw.uniform(5_000, 20_000)) for name in names}
    for number in range(1, TRIALS + 1):
        for at, arm in enumerate(arms):
            trial, outcomes = study.trial(arm, number), {}
            for name, (chance, size) in about.items():
                saved = json.loads(trajectory(name))
                saved["info"]["config"]["model"]["model_name"] = MODEL
                saved["messages"] = [*calls(draw, size * (1 - cheaper * at)), saved["messages"][-1]]
                leave(trial.folder, name, json.dumps(saved))
                outcomes[name] = draw.random() < chance + gain * at
            keep(trial, Verdicts(resolved=outcomes), "made.json")


def differences(execledger: Execledger) -> dict[str, str]:
    """The answers about differences in the table of evidence, as the command prints it in JSON."""
    called = execledger("eval", "report", "out", "--json")
    assert called.status == 0, called.err
    (table,) = (table for table in json.loads(called.out)["tables"] if table["name"] == "evidence")
    rows = {row[0]["text"]: row[1]["text"] for section in table["sections"] for row in section["rows"]}
    return {name: rows[f"Difference of {name}"] for name in DIFFERENCES}


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_an_evaluation_without_a_difference_reports_none(
    execledger: Execledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Both arms have one distribution of outcomes and of tokens."""
    monkeypatch.chdir(tmp_path)
    store(tmp_path / "out", seed)
    found = differences(execledger)
    assert {name: said.partition(":")[0] for name, said in found.items()} == dict.fromkeys(DIFFERENCES, "none found")
    assert len({said.partition("(")[0] for said in found.values()}) == 4, "the arms differ by chance in each"


def test_planted_differences_are_found(execledger: Execledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """25 points more, at 12 % fewer tokens."""
    monkeypatch.chdir(tmp_path)
    store(tmp_path / "out", 4, gain=0.25, cheaper=0.12)
    signs = {name: said[: len("found: +")] for name, said in differences(execledger).items()}
    assert signs == {"Pass@1": "found: +"} | dict.fromkeys(DIFFERENCES[1:], "found: -")


def test_a_price_without_a_discount_for_cached_tokens_is_stated(
    execledger: Execledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cost then follows cached tokens as much as new ones; the shipped price has a discount, and needs no words."""
    monkeypatch.chdir(tmp_path)
    store(tmp_path / "out", 1)
    head = f'date = "2026-11-01"\n[models."{MODEL}"]\nuncached = 1.0\noutput = 2.0\n'
    for cached in ("", "cached = 0.1\n"):
        (tmp_path / "prices.toml").write_text(head + cached)
        called = execledger("eval", "report", "out", "--prices", "prices.toml")
        said = f"cached tokens of `{MODEL}` are charged as uncached, since no price of `cached` is given"
        assert (called.status, said in called.err) == (0, not cached)
