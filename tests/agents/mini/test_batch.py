"""mini-swe-agent's batch runner: the salts at the very start of what the agent sends, its needs, and failed runs."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec
import pytest

from execledger.agents.evaluation import Batch, Instance, Needs, Problem, Setup
from execledger.agents.mini.batch import (
    _model_problems,
    _reason,
    _Trajectory,
    failure,
    needs,
    salted_template,
    system_template,
)
from execledger.demo.mini import console_script
from execledger.errors import LedgerError
from execledger.evaluate.experiment import DIGITS, setup_of
from execledger.evaluate.plan import Plan
from tests.support.agents.mini import installed

needs_mini = pytest.mark.skipif(not installed(), reason="mini-swe-agent is not installed")
TASKS = ('Say "hi" \\n }} {% raw %} {{ task }}', "Größe: 😀\nline two\\", "'plain'")


def test_a_prompt_begins_with_the_salt() -> None:
    """The template behind it stays as it is."""
    made = salted_template("You {{ may }}.", {"task": "1" * DIGITS})
    assert made == f"Run {'1' * DIGITS}.\n\nYou {{{{ may }}}}."


@needs_mini
def test_the_tasks_of_one_process_have_salts_of_their_own() -> None:
    """The agent's own template language finds the salt by the text of the task, whatever that holds."""
    from jinja2 import StrictUndefined, Template

    salts = {task: f"{number:018}" for number, task in enumerate(TASKS)}
    template = Template(salted_template("Go.", salts), undefined=StrictUndefined)
    assert [template.render(task=task) for task in TASKS] == [f"Run {salts[task]}.\n\nGo." for task in TASKS]


@needs_mini
def test_the_agent_is_asked_for_its_system_prompt(tmp_path: Path) -> None:
    """The last configuration that has one decides, and the plan's own settings over it."""
    program = console_script("mini-extra")
    (tmp_path / "mine.yaml").write_text("agent: {system_template: Mine.}")
    (tmp_path / "other.yaml").write_text("model: {}")
    assert (
        system_template(setup_of(Plan(own={"config": ("swebench.yaml", "mine.yaml", "other.yaml")}), program, tmp_path))
        == "Mine."
    )
    assert system_template(setup_of(Plan(), program, tmp_path)).startswith("You are")
    assert system_template(setup_of(Plan(settings={"agent": {"system_template": "Own."}}), program, tmp_path)) == "Own."
    with pytest.raises(LedgerError, match=r"other\.yaml: found no `agent\.system_template`"):
        system_template(setup_of(Plan(own={"config": ("other.yaml",)}), program, tmp_path))
    with pytest.raises(LedgerError, match="can't be asked for its system prompt"):
        system_template(setup_of(Plan(own={"config": ("none.yaml",)}), program, tmp_path))


ENDED = """Error processing instance a: Command '['DOCKER', 'run', '-d', 'x']' returned non-zero exit status 125."""


def asked_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plan: Plan, **variables: str) -> Needs:
    """What a plan needs, in an environment without keys but for those that are given."""
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENROUTER_API_KEY", "MSWEA_COST_TRACKING"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MSWEA_GLOBAL_CONFIG_DIR", str(tmp_path / "none"))
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    task = Instance(instance_id="a", problem_statement="it", image_name="localhost/a:1")
    return needs(setup_of(plan, console_script("mini-extra"), tmp_path), [task, task])


@needs_mini
@pytest.mark.parametrize(
    ("model", "cost_tracking", "key", "said"),
    [
        ("openai/gpt-5-mini", "", "", "found no API key in the environment\nhint: export OPENAI_API_KEY=..."),
        pytest.param("openai/gpt-5-mini", "", "dummy", "", marks=pytest.mark.long),
        pytest.param("opneai/gpt-5-mini", "", "dummy", "LLM Provider NOT provided", marks=pytest.mark.long),
        ("openai/gpt-5-mni", "", "dummy", "litellm knows no price of it, and mini-swe-agent then fails"),
        pytest.param("openai/nowhere", "", "dummy", "litellm knows no price of it", marks=pytest.mark.long),
        pytest.param("anthropic/claude-foo-9", "", "dummy", "litellm knows no price of it", marks=pytest.mark.long),
        pytest.param("openai/gpt-nowhere", "ignore_errors", "dummy", "(warning)", marks=pytest.mark.long),
    ],
)
def test_keys_and_names_of_models_are_checked_by_the_agents_own_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str, cost_tracking: str, key: str, said: str
) -> None:
    """A missing key, a whole set-up, a misspelled provider, and a model without a price that is needed or not."""
    variables = {"OPENAI_API_KEY": key, "ANTHROPIC_API_KEY": key} if key else {}
    settings = {"model.cost_tracking": cost_tracking} if cost_tracking else {}
    found = asked_needs(tmp_path, monkeypatch, Plan(model=model, settings=settings), **variables)
    told = [f"{one.message}\nhint: {one.hint}{' (warning)' if one.warning else ''}" for one in found.problems]
    assert (found.docker, found.images, found.model) == ("docker", ("localhost/a:1",), model)
    assert [said in one and f"`{model}`" in one for one in told] == ([True] if said else []), told


@pytest.mark.parametrize(
    ("missing", "problem"),
    [
        (
            ["AZURE_API_KEY", "AZURE_API_BASE"],
            Problem("the model `m`: found no API key in the environment", "export AZURE_API_KEY or AZURE_API_BASE=..."),
        ),
        (
            ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"],
            Problem(
                "the model `m`: found no AWS_ACCESS_KEY_ID or AWS_SECRET_ACCESS_KEY in the environment", warning=True
            ),
        ),
        (["OLLAMA_API_BASE"], Problem("the model `m`: found no OLLAMA_API_BASE in the environment", warning=True)),
    ],
)
def test_only_a_missing_api_key_stops_a_plan(missing: list[str], problem: Problem) -> None:
    """Profiles, roles, logins and default addresses take the place of other variables."""
    found = {"model_name": "m", "model_error": "", "missing_keys": missing, "priced": True, "ignores_costs": False}
    assert list(_model_problems(found)) == [problem]


@needs_mini
def test_needs_follow_the_agents_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other environments than Docker need no images, other model classes other keys, and broken ones are told."""
    (tmp_path / "mine.yaml").write_text(
        "environment: {environment_class: singularity}\nmodel: {model_class: openrouter}"
    )
    plan = Plan(model="a/b", own={"config": ("swebench.yaml", "mine.yaml")})
    found = asked_needs(tmp_path, monkeypatch, plan)
    hint = "export OPENROUTER_API_KEY=..."
    assert found == Needs(
        model="a/b", problems=(Problem("the model `a/b`: found no API key in the environment", hint),)
    )
    podman = Plan(model="a/b", settings={"environment.executable": "podman", "model.model_class": "mine.Model"})
    assert asked_needs(tmp_path, monkeypatch, podman) == Needs(docker="podman", images=("localhost/a:1",), model="a/b")
    (broken,) = asked_needs(tmp_path, monkeypatch, Plan(own={"config": ("none.yaml",)})).problems
    assert "can't be asked for its configuration" in broken.message and "`config` and `settings`" in broken.hint
    unset = Plan(model="a/b", settings={"agent": {"x": 1}, "agent.x.y": 2, "environment": 3})
    assert asked_needs(tmp_path, monkeypatch, unset).docker == "docker", "the container program is looked at"


LITELLM = """
import json, os, sys
local = os.environ.get("LITELLM_LOCAL_MODEL_COST_MAP")
if not local and {fails} == 3:
    raise ImportError("cannot import name 'LoggerContext' from partially initialized module 'litellm.a' (most likely)")
assert local or not {fails}, "fetched in vain"
assert {fails} < 2 or {fails} == 3, "broken"
utils = None
def get_llm_provider(model, api_base): return None, "openai"
def validate_environment(model, api_base): return {{"keys_in_environment": False, "missing_keys": ["OPENAI_API_KEY"]}}
def get_model_info(name): return {{"input_cost_per_token": 0}}
"""
"""A litellm that can't be imported if it fetches prices (1), at all (2), or while it tries to fetch them again (3)."""


@needs_mini
@pytest.mark.parametrize("fails", [0, 1, 2, 3])
def test_a_litellm_that_fails_at_its_prices_is_asked_again_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: int
) -> None:
    """Then a price that it lacks is a warning, since the list that it fetches may have it; all the rest is told."""
    monkeypatch.delenv("LITELLM_LOCAL_MODEL_COST_MAP", raising=False)
    (tmp_path / "litellm.py").write_text(LITELLM.format(fails=fails))
    python = tmp_path / "python"
    # Its first argument isolates it from this variable.
    python.write_text(f'#!/bin/sh\nshift\nPYTHONPATH="{tmp_path}" exec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    monkeypatch.setattr("execledger.agents.mini.batch.interpreter_of", lambda _: str(python))
    found = asked_needs(tmp_path, monkeypatch, Plan(model="openai/gpt-5-mini"))
    assert (found.docker, found.images, found.model) == ("docker", ("localhost/a:1",), "openai/gpt-5-mini")
    model = "the model `openai/gpt-5-mini`"
    program, error = console_script("mini-extra"), "AssertionError: "
    again = f"{program}: litellm can be asked about {model} only without fetching its list of prices: {error}"
    raced = "litellm can't fetch its list of prices, and its import can fail while it tries again"
    missing = (f"{model}: found no API key in the environment", False)
    unpriced = f"{model}: litellm knows no price of it, and mini-swe-agent then fails"
    assert [(one.message, one.warning) for one in found.problems] == {
        0: [missing, (unpriced, False)],
        1: [(f"{again}fetched in vain", True), missing, (unpriced, True)],
        2: [(f"{program}: litellm can't be asked about {model}: {error}broken", False)],
        3: [(f"{program}: {raced}", True), missing, (unpriced, True)],
    }[fails]
    assert all(one.hint for one in found.problems)


def traced(status: str, said: str = "", trace: str = "", output: str = "", returncode: int = 0) -> str:
    """The failure of a run whose trajectory ends in this way."""
    messages = [{"role": "tool", "extra": {"raw_output": output, "returncode": returncode}}, {"role": "exit"}, 3]
    info = {"exit_status": status, "exception_str": said, "traceback": trace}
    saved = {"instance_id": "a", "info": info, "messages": messages}
    return failure(msgspec.convert(saved, _Trajectory))


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (traced("Submitted"), ""),
        (traced("LimitsExceeded"), ""),
        (traced("Submitted", output="Error response from daemon: No such container: x", returncode=0), ""),
        (
            traced("LimitsExceeded", output="Error response from daemon: container ab is not running\n", returncode=1),
            "container died: Error response from daemon: container ab is not running",
        ),
        (
            traced("TimeExceeded", output="Error: can only create exec sessions on running containers", returncode=255),
            "container died: Error: can only create exec sessions on running containers",
        ),
        (traced("TimeExceeded"), "timeout: the run reached the limit of time in the plan"),
        (
            traced("RepeatedFormatError"),
            "format error: the model's answers had no valid tool call, several times in a row",
        ),
        (
            traced("RateLimitError", "slow\ndown", 'File "/x/site-packages/litellm/main.py"'),
            "API error: RateLimitError: slow down",
        ),
        (traced("TimeoutExpired", "30 seconds"), "timeout: TimeoutExpired: 30 seconds"),
        (traced("KeyError", "'a'"), "error: KeyError: 'a'"),
    ],
)
def test_a_failed_run_has_its_actual_reason(made: str, said: str) -> None:
    """By the way in which its trajectory ends; what the agent or the plan has ended is no failure."""
    assert made == said


@pytest.mark.parametrize(
    ("inspect", "line", "said"),
    [
        ("exit 1", ENDED, "image missing: localhost/a:1 is not in the local store, and could not be pulled"),
        ("exit 0", ENDED, f"error: {ENDED.partition('a: ')[2]}"),
        (
            'exit 0; elif [ "$*" = "run -d --rm --pull=never localhost/a:1 true" ]; then '
            "printf 'docker: failed to create shim task: no space left on device\n\nSee --help\n' >&2; exit 125",
            ENDED,
            "error: no container of localhost/a:1 can be started:"
            " docker: failed to create shim task: no space left on device",
        ),
        ("exit 0", ENDED.replace("returned", "timed out"), f"timeout: {ENDED.partition('a: ')[2]}"),
        ("exit 0", "Error processing instance a: no disk", "error: no disk"),
        ("exit 0", "", "error: ended with status 3: it said nothing"),
    ],
)
def test_a_task_without_a_result_has_its_actual_reason(tmp_path: Path, inspect: str, line: str, said: str) -> None:
    """The container program is asked for it, since the agent only names the command that failed."""
    docker = tmp_path / "docker"
    docker.write_text(f'#!/bin/sh\nif [ "$1" = image ]; then {inspect}; fi\n')
    docker.chmod(0o755)
    (tmp_path / "minisweagent.log").write_text(line.replace("DOCKER", str(docker)))
    task = Instance(instance_id="a", problem_statement="it", image_name="localhost/a:1")
    batch = Batch(
        setup=Setup(program="x", cwd=tmp_path),
        tasks=(task,),
        folder=tmp_path,
        log=tmp_path / "none.log",
        scratch=tmp_path,
        shared=tmp_path,
        dataset=tmp_path,
        split="test",
    )
    found = _reason(batch, task, 3)
    assert found == said.replace("returned", "timed out" if "timed" in line else "returned").replace(
        "DOCKER", str(docker)
    )
