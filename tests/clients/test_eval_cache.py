"""Evaluations against a provider whose prompt cache all conversations share: no order of arms changes a figure."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from execledger.demo.mini import SUBMIT, environment
from execledger.demo.repository import make_repository
from execledger.evaluate.collect import collect
from execledger.evaluate.plan import Plan
from execledger.evaluate.study import Study
from execledger.runs.prices import load_prices
from execledger.runs.usage import Tokens
from execledger.testing.scripted_model import ModelServer, PrefixCache, prompt_parts
from tests.support.agents.codex import CodexHome
from tests.support.agents.fake_docker import FakeDocker
from tests.support.agents.mini import FORMATS, installed, quick_start
from tests.support.agents.swebench import make_instances, write_dataset
from tests.support.servers.responses import ResponsesServer, call, say, turns

needs_mini = pytest.mark.skipif(not installed(), reason="mini-swe-agent is not installed")
pytestmark = pytest.mark.clients

EVAL = (sys.executable, "-m", "execledger", "eval")
READ = "cat warehouse/inventory.py"
SEEDS = (1, 3)
"""Two seeds that put the arms into different orders."""
MINI_PLAN = """
arms = [{arms}]
subset = "dataset"
model = "{model.model_name}"
seed = {seed}
workers = 1
batch = 2

[settings]
environment.executable = "{docker}"
model.model_class = "{model.model_class}"
model.model_kwargs.api_base = "{url}{model.base}"
"""
CODEX_PLAN = """
agent = "codex"
program = "{program}"
model = "gpt-5.5"
subset = "dataset"
repos = "repos"
arms = ["base", "shadow"]
workers = 1

[settings]
model_provider = "scripted"
sandbox_mode = "danger-full-access"

[settings.model_providers.scripted]
name = "scripted"
base_url = "{url}"
wire_api = "responses"
"""


class Bench:
    """A folder with two tasks, and one provider whose cache outlives an evaluation."""

    def __init__(self, home: Path, server: ModelServer) -> None:
        self.home, self.server = home, server
        self.docker = FakeDocker.install(home / "docker")
        make_repository(self.docker.image / "testbed")
        write_dataset(home / "dataset", make_instances(2))

    def run(self, name: str, *arms: str, seed: int) -> Study:
        """Carry a plan out."""
        named = ", ".join(f'"{arm}"' for arm in arms)
        model, url = FORMATS["openrouter"], self.server.url
        plan = MINI_PLAN.format(arms=named, seed=seed, docker=self.docker.executable, model=model, url=url)
        (self.home / f"{name}.toml").write_text(plan)
        ended(["run", f"{name}.toml", "-o", name], self.home, environment(self.home, quick_start()))
        assert self.server.faults == []
        return Study(self.home / name)


def ended(words: list[str], folder: Path, variables: dict[str, str]) -> str:
    """What ``execledger eval`` said until it ended well."""
    done = subprocess.run(
        [*EVAL, *words], cwd=folder, env=variables, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def figures(study: Study) -> dict[str, Tokens]:
    """The tokens of each run, as the provider counted them."""
    rows = [row for _, row in collect([str(study.root)], load_prices(), [])]
    assert not any(row.estimated for row in rows)
    return {f"{row.arm} {row.instance[-1]}": row.tokens for row in rows if row.tokens is not None}


def order(study: Study) -> list[str]:
    """The arms in the order in which they ended, one after the other."""
    logs = sorted(study.root.glob("*/1/logs/*.log"), key=lambda path: path.stat().st_mtime_ns)
    return [path.parents[2].name for path in logs]


@needs_mini
def test_the_order_of_arms_changes_no_figure(tmp_path: Path) -> None:
    """One study in two orders, one after the other on one provider: the same tokens, cached and uncached.

    Two of the arms do the same, and differ in nothing: no Ledger, and Ledger that only observes.
    """
    with ModelServer([[READ], [READ], [SUBMIT]]) as server:
        bench = Bench(tmp_path, server)
        one, other = (bench.run(f"seed-{seed}", "base", "both", "shadow", seed=seed) for seed in SEEDS)
    assert [order(study) for study in (one, other)] == [["base", "both", "shadow"], ["both", "shadow", "base"]]
    found = figures(one)
    assert found == figures(other)
    for number in (1, 2):
        assert found[f"base {number}"] == found[f"shadow {number}"] != found[f"both {number}"]
    firsts = [(len(request.items[0].text), request.usage.cached) for request in server.requests if not request.turn]
    assert firsts == [(firsts[0][0], 0)] * 12
    # Without the salts, all but the first would have found something.
    cache = PrefixCache()
    plain = [
        [re.sub(rb"Run \d{18}", b"", part) for part in prompt_parts(one.body, one.items)] for one in server.requests
    ]
    assert [cache.shared(parts) > 0 for parts in plain] == [False, *[True] * (len(plain) - 1)]


def test_codex_has_a_cache_key_for_each_run(tmp_path: Path, current: Path) -> None:
    """It sends one by itself, so that a null study of it shows no difference either."""
    home = CodexHome(tmp_path)
    write_dataset(tmp_path / "dataset", make_instances(1))
    make_repository(tmp_path / "repos" / "ledger__warehouse-1")
    script = turns(call("exec_command", cmd=READ), call("exec_command", cmd=READ), say("Done."))
    with ResponsesServer(script) as server:
        (tmp_path / "plan.toml").write_text(CODEX_PLAN.format(program=current, url=server.url))
        ended(["run", "plan.toml", "-o", "out"], tmp_path, home.environment())
    assert server.faults == []
    found = figures(Study(tmp_path / "out"))
    assert found["shadow 1"] == found["base 1"]
    keys = [json.dumps(request.body.get("prompt_cache_key")) for request in server.requests]
    assert (len(keys), len(set(keys)), "null" in keys) == (6, 2, False)
    assert Plan.from_toml((tmp_path / "plan.toml").read_text()).cache == "isolated"
