"""The registry: whatever is known of an agent comes from its package and one line."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from execledger.agents import registry
from execledger.agents.formats import read_run
from execledger.agents.plan_keys import PlanKey, at_least_one
from execledger.cli.run import command as run_command
from execledger.doctor.checks import checks
from execledger.errors import LedgerError
from execledger.evaluate.plan import Plan
from execledger.proxy.dialects import DIALECTS
from execledger.session.adapter import Adapter

RECORD = '''
"""An agent that exists in this test alone."""

from execledger.agents.registry import Agent

AGENT = Agent(
    folder=__name__,
    name="Parrot",
    programs=("parrot",),
    use="run",
    install="buy a parrot",
    oldest=(1, 0),
    tested=("1.2",),
    launcher=".launch:start",
    formats=".recorded:FORMATS",
)
'''
LAUNCH = '''
"""Starts the agent."""


def start(program, arguments, launch):
    print("parrot", *arguments, launch.policy.preset, flush=True)
    return 7
'''
RECORDED = '''
"""The agent's records."""

from execledger.agents.formats import Format
from execledger.runs.recording import Run


def read(file):
    return Run(
        name=file.name, format="parrot", agent="parrot", model="", task="", container=False, turns=0, steps=()
    )


FORMATS = (Format(kind="object", recognises=lambda file: "parrot" in file.fields, read=read),)
'''


@pytest.fixture
def parrot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A registered agent, in a package outside of ours, and its program on the path; the program's folder."""
    package = tmp_path / "parrot_agent"
    package.mkdir()
    for name, text in (("__init__", RECORD), ("launch", LAUNCH), ("recorded", RECORDED)):
        (package / f"{name}.py").write_text(text)
    program = tmp_path / "bin" / "parrot"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho parrot 1.2\n")
    program.chmod(0o755)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(registry, "PACKAGES", (*registry.PACKAGES, "parrot_agent"))
    for name in ("parrot_agent", "parrot_agent.launch", "parrot_agent.recorded"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return program.parent


def test_a_registered_agent_is_run(parrot: Path) -> None:
    """Its launcher gets the arguments and the options, and its exit status is that of the verb."""
    called = CliRunner().invoke(run_command, ["--preset", "paper", "--", "parrot", "says", "-x"], standalone_mode=False)
    assert (called.return_value, called.output) == (7, "parrot says -x paper\n")


def test_options_of_other_agents_are_refused_for_it(parrot: Path) -> None:
    """They mean nothing to it."""
    with pytest.raises(LedgerError, match="--sealed: found with parrot, which has no such option"):
        CliRunner().invoke(run_command, ["--sealed", "--", "parrot"], standalone_mode=False, catch_exceptions=False)


def test_a_registered_agent_is_examined_by_the_doctor(parrot: Path) -> None:
    """Its version is judged by its own record."""
    (check,) = (check for name, check in checks() if name == "Parrot")
    (finding,) = check()
    assert (finding.status, finding.found) == (
        "ok",
        f"1.2 at {parrot / 'parrot'}: `execledger run -- parrot ...` works; tested 1.2",
    )


def test_its_records_are_recognised_and_read(parrot: Path) -> None:
    """By its own format, and messages about unknown files name it."""
    assert read_run("a.json", json.dumps({"parrot": 1}).encode()).format == "parrot"
    with pytest.raises(LedgerError, match=r"expected a run of .*, SWE-agent, Inspect, Parrot or Vorflux"):
        read_run("a.json", b'{"a": 1}')


def test_its_keys_are_keys_of_a_plan(parrot: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are read, checked and digested like all others, and mean nothing to other agents."""
    key = PlanKey(name="perches", kind=int, default=2, fault=at_least_one)
    record = replace(registry.agents()[-1], batch=".launch", plan_keys=(key,))
    monkeypatch.setattr(registry, "agents", lambda: (*registry._records(registry.PACKAGES[:-1]), record))
    plan = Plan.from_toml("agent = 'parrot'\nperches = 3")
    assert (plan.agent_values(), plan.matters()["perches"]) == ({"perches": 3}, 3)
    with pytest.raises(LedgerError, match="`perches` is 0, expected at least 1"):
        Plan.from_toml("agent = 'parrot'\nperches = 0")
    with pytest.raises(LedgerError, match="`perches` means nothing to mini"):
        Plan.from_toml("perches = 3")


def test_every_part_that_a_record_names_exists() -> None:
    """Launchers, adapters, formats, tools and checks can be imported from where their records say."""
    for one in registry.agents():
        for field in ("launcher", "problems", "adapter", "formats", "calls", "journal_names", "batch"):
            assert not getattr(one, field) or one.part(field) is not None


def test_the_adapter_of_the_proxy_has_every_function_of_the_port() -> None:
    """An adapter is a module with the functions of ``Adapter``."""
    names = [name for name in vars(Adapter) if not name.startswith("_")]
    for one in registry.agents():
        if one.adapter:
            assert [name for name in names if not callable(getattr(one.part("adapter"), name, None))] == []


def test_an_adapter_is_chosen_by_agent_or_by_dialect(parrot: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Never the one that is registered first; without a match the error names what there is."""
    record = replace(registry.agents()[-1], adapter=".launch", dialects=("squawk",))
    monkeypatch.setattr(registry, "agents", lambda: (*registry._records(registry.PACKAGES[:-1]), record))
    given = (("parrot", ""), ("", "squawk"), ("", "responses"))
    names = [vars(registry.proxy_adapter(*one))["__name__"] for one in given]
    assert names == ["parrot_agent.launch", "parrot_agent.launch", "execledger.agents.codex.tools"]
    with pytest.raises(LedgerError, match="no adapter for codex and squawk") as caught:
        registry.proxy_adapter("codex", "squawk")
    hints = (caught.value.hint or "").split("; ")
    assert hints[0] == "codex: responses" and hints[-1] == "parrot: squawk" and "claude: messages" in hints


def test_every_dialect_of_an_agent_is_a_module() -> None:
    """A record names dialects that exist."""
    known = {type(dialect).__module__.rpartition(".")[2] for dialect in DIALECTS}
    assert {name for one in registry.proxied() for name in one.dialects} <= known


def test_agents_by_the_names_that_other_programs_give_them() -> None:
    """Engines and converters have names of their own; a name that only contains an agent's is not the agent's."""
    names = "codex codex_cli mini-swe-agent claude-code opencode gemini-cli qwen-code openhands-sdk copilot-cli"
    found = [registry.agent_named(name) for name in names.split()]
    keys = "codex codex mini claude opencode gemini qwen openhands copilot".split()
    assert [one.key if one is not None else "" for one in found] == keys
    ledgered, unknown = registry.agent_named("ledger-gemini-cli"), registry.agent_named("codexplorer")
    assert (ledgered.key if ledgered is not None else "", unknown) == ("gemini", None)


def test_agents_by_the_tools_that_they_offer() -> None:
    """Tools that an agent alone offers together identify it; those of no agent identify none."""
    codex = registry.agent_offering(("exec_command", "apply_patch"))
    claude = registry.agent_offering(("Bash", "Read", "Edit", "Write"))
    assert [one.key if one is not None else "" for one in (codex, claude)] == ["codex", "claude"]
    assert registry.agent_offering(("bash", "submit")) is None


def test_no_agent_offers_the_tools_that_identify_another() -> None:
    """The tools that identify one agent identify no other."""
    identified = {one.key: one.offers for one in registry.agents() if one.offers}
    for key, offers in identified.items():
        assert [other for other, tools in identified.items() if tools <= offers] == [key]
