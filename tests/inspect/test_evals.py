"""Real runs of Inspect with Ledger: native agents and agents in a sandbox, with scripted models."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from execledger.agents.formats import find_recorded, read_run
from execledger.agents.inspect_ai.recorded import OFF
from execledger.demo.mini import SUBMIT
from execledger.evaluate.collect import collect
from execledger.journal.reader import JournalRun, read_journal
from execledger.runs.prices import shipped
from execledger.runs.replay import replay
from execledger.runs.usage import Tokens
from execledger.testing.scripted_model import ModelServer
from tests.support.agents.mini import run_mini
from tests.support.agents.npm import NotInstalled, required
from tests.support.inspect.evals import (
    ROOT,
    EvalRun,
    Json,
    asked,
    inspect_program,
    is_view,
    journals,
    read_last,
    run_eval,
    steady,
    views,
)

pytestmark = pytest.mark.clients

EVERY = "cadence=every"
TURNS = [
    ["cat -n {file}"],
    ["cat -n {file} | sed -n '10,40p'"],
    ["sed -i 's/return 5 /return 55 /' {file}"],
    ["cat -n {file} | sed -n '1,12p'"],
]
SCRIPT = {"turns": TURNS}
TWICE = ("-T", "samples=2", "--epochs", "2")
COVERED = "[Ledger: output omitted. Lines 10-40 of file1.py are as shown by `cat -n file1.py`, 1 command ago.]"
FILE = "".join(f"def f{at}():\n    return {at}  # some words about it\n" for at in range(1, 41))
"""The file of every sample."""
QUICK = {
    "MSWEA_MODEL_NAME": "openai/inspect",
    "MSWEA_COST_TRACKING": "ignore_errors",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
}
"""What mini-swe-agent needs to start without a network and with a model that it does not know."""
FAULTY = ROOT / "tests" / "support" / "inspect" / "faulty"
"""A folder on Python's path whose start-up file plants a fault in Ledger."""


@pytest.fixture(scope="module", autouse=True)
def _installed() -> None:
    try:
        inspect_program()
    except NotInstalled as missing:
        if required():
            raise
        pytest.skip(str(missing))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the runs of this module."""
    return tmp_path_factory.mktemp("inspect")


@pytest.fixture(scope="module")
def plain(folder: Path) -> EvalRun:
    """Two epochs of two samples without Ledger, in an Inspect that knows nothing of it."""
    return run_eval(folder / "without", "native", SCRIPT, *TWICE, ledger=False, known=False, approval=False)


@pytest.fixture(scope="module")
def native(folder: Path) -> EvalRun:
    """The same with Ledger, and a view with every call."""
    return run_eval(folder / "with", "native", SCRIPT, *TWICE, options=EVERY)


def journal_of(run: EvalRun, sample: Json, attempt: int = 1) -> JournalRun:
    """The journal of an attempt at a sample."""
    (path,) = (path for path in journals(run) if f"{sample['uuid']}-{attempt}." in path.name)
    return read_journal(path.name, path.read_bytes())


def decided(journal: JournalRun) -> list[tuple[str, str, str, str]]:
    """What was decided of each command: the rule, and how its result was shown."""
    steps = [event.step for event in journal.steps]
    return [(step.action.command, step.decision.rule, step.shown.kind, step.shown.text) for step in steps]


def test_a_native_agent_is_informed_and_its_results_are_compared(native: EvalRun) -> None:
    """The model reads its own calls, a reference in place of what it has seen, and one view behind everything."""
    sample = native.samples()[0]
    read = read_last(sample)
    assert [given["command"] for given, _ in read] == [turn[0].replace("{file}", "file1.py") for turn in TURNS]
    assert read[1][1] == COVERED
    assert views(sample)[-1] == (
        "<execution_state>\nTask: Fix file1.py, please.\nModified, most recent first:\n- file1.py\n"
        "Seen, most recent first:\n- file1.py: 1-80 (current)\n</execution_state>"
    )
    assert [sum(map(is_view, call["input"])) for call in asked(sample)] == [1] * 5


def test_the_agents_own_messages_keep_the_true_outputs(native: EvalRun, plain: EvalRun) -> None:
    """What a sample keeps at its end is what it keeps without Ledger."""
    kept = [[steady(sample["messages"]) for sample in run.samples()] for run in (native, plain)]
    assert kept[0] == kept[1]


def test_every_epoch_has_a_ledger_of_its_own(native: EvalRun) -> None:
    """Each of four attempts has a private journal, and those of one sample have the same decisions."""
    found = [decided(journal_of(native, sample)) for sample in native.samples()]
    assert len(found) == 4 and found[0] == found[1] and found[2] == found[3]
    assert [path.stat().st_mode & 0o777 for path in journals(native)] == [0o600] * 4


def test_a_log_that_is_read_back_has_the_decisions_of_the_journal(native: EvalRun) -> None:
    """The actions of a log are those of the journal, and its replay decides and shows the same."""
    sources = {source.name.rpartition("/")[2]: source for source in find_recorded([str(native.path)])}
    for sample in native.samples():
        source = sources[f"{sample['id']}_epoch_{sample['epoch']}.json"]
        run = read_run(source.name, source.read())
        lived = [event.step for event in journal_of(native, sample).steps]
        told = [recorded.action for recorded in run.steps[: len(lived)]]
        assert [(one.command, one.cwd) for one in told] == [(step.action.command, step.action.cwd) for step in lived]
        again = [*replay(run, run.policy)][: len(lived)]
        assert [(one.decision.rule, one.shown.kind) for one in again] == [
            (step.decision.rule, step.shown.kind) for step in lived
        ]


def test_without_the_variable_the_package_changes_nothing(plain: EvalRun, folder: Path) -> None:
    """The samples and results of a log are those of an Inspect without Ledger, but for names and times."""
    off = run_eval(folder / "off", "native", SCRIPT, *TWICE, ledger=False, approval=False)
    assert [steady(sample) for sample in off.samples()] == [steady(sample) for sample in plain.samples()]
    assert steady(off.log["results"]) == steady(plain.log["results"]) and not off.journals.exists()


@pytest.mark.faults
def test_a_fault_of_ours_changes_no_run(plain: EvalRun, folder: Path) -> None:
    """With a fault at every model call, models read and samples keep what they do without Ledger; a report leaves the
    samples out."""
    faulty = run_eval(folder / "faulty", "native", SCRIPT, *TWICE, approval=False, modules=[FAULTY])
    for broken, whole in zip(faulty.samples(), plain.samples(), strict=True):
        assert steady(broken["messages"]) == steady(whole["messages"])
        assert steady([call["input"] for call in asked(broken)]) == steady([call["input"] for call in asked(whole)])
        assert steady(broken["scores"]) == steady(whole["scores"])
        assert "planted" in str([event for event in broken["events"] if event["event"] == "logger"])
    unreadable: list[str] = []
    assert [*collect([str(faulty.path)], shipped(), unreadable)] == []
    assert len(unreadable) == 4 and all("left model calls alone" in reason for reason in unreadable)


def test_where_ledger_was_asked_for_and_took_no_part_is_no_run_without_it(folder: Path) -> None:
    """Wrong options change nothing in the run; a report leaves the samples out, with the reason."""
    run = run_eval(folder / "wrong", "native", SCRIPT, approval=False, options="presett=paper")
    unreadable: list[str] = []
    assert [*collect([str(run.path.parent)], shipped(), unreadable)] == []
    assert len(unreadable) == len(run.samples())
    said = "Ledger was asked for and took no part: "
    assert all(said in reason and "presett" in reason for reason in unreadable), unreadable


def test_an_approver_without_ledger_is_no_run_without_it(folder: Path) -> None:
    """A warning says so at the start, and a report leaves the samples out."""
    run = run_eval(folder / "forgotten", "native", SCRIPT, ledger=None)
    assert "EXECLEDGER is not on" in run.output
    unreadable: list[str] = []
    assert [*collect([str(run.path.parent)], shipped(), unreadable)] == []
    assert len(unreadable) == len(run.samples()) and all(OFF in reason for reason in unreadable)


def test_where_ledger_is_switched_off_on_purpose_the_approver_changes_no_arm(folder: Path) -> None:
    """The runs to compare with can have the same command line."""
    run = run_eval(folder / "off-on-purpose", "native", SCRIPT, ledger=False)
    assert "EXECLEDGER is not on" not in run.output
    rows = [row for _, row in collect([str(run.path.parent)], shipped(), [])]
    assert [row.arm for row in rows] == ["base"] * len(run.samples())


def test_wrong_options_with_the_approver_end_the_run_before_its_first_sample(folder: Path) -> None:
    """There is no log, and the message names the options."""
    with pytest.raises(AssertionError, match="hint: the options are: preset, inform"):
        run_eval(folder / "refused", "native", SCRIPT, options="presett=paper")


@pytest.mark.parametrize("place", ["solver", "sandbox"])
def test_a_sample_that_fails_before_its_first_model_call_is_in_its_arm(folder: Path, place: str) -> None:
    """Also where its sandbox can't be made; what it took is unknown."""
    initial = ("-T", f"initial={str(place == 'sandbox').lower()}")
    retried = ("--retry-on-error", "1") if place == "solver" else ()
    run = run_eval(folder / place, "failing", SCRIPT, *initial, *retried, options="govern=false", approval=False)
    (sample,) = run.samples()
    assert sample["error"] is not None
    unreadable: list[str] = []
    ((_, row),) = collect([str(run.path)], shipped(), unreadable)
    assert (row.arm, row.resolved, row.tokens, row.cost, unreadable) == ("inform", None, None, None, [])
    assert row.failure.partition(":")[0] == "RuntimeError"


def test_many_samples_at_once_and_retries(folder: Path) -> None:
    """Of 6 samples side by side each view names its own task; a retried call has one view, a retried sample a new
    ledger, and a grader none, also one with tools."""
    script = {"turns": TURNS, "overloaded": {"1": 2}, "breaks": {"3": 1}}
    many = ("-T", "samples=6", "-T", "grader=true", "--max-samples", "6", "--retry-on-error", "1")
    run = run_eval(folder / "many", "native", script, *many, options=EVERY)
    samples = run.samples()
    assert [sample["scores"]["graded"]["value"] for sample in samples] == ["C"] * 6
    for sample in samples:
        calls = [event for event in sample["events"] if event["event"] == "model"]
        for call in calls:
            said = [message["content"] for message in call["input"] if is_view(message)]
            own = len(call["input"]) > 1
            assert [f"Task: Fix {sample['id']}, please.\n" in text for text in said] == [True] * own
        assert [len(call["input"]) for call in calls[-2:]] == [1, 1]
        assert len(decided(journal_of(run, sample, 1))) == 3 and len(decided(journal_of(run, sample, 2))) == 4


def test_suppressed_calls_are_answered_by_a_reference(folder: Path) -> None:
    """Under the published rules the approver replaces a covered read, and the log has the rule and its proof."""
    (sample,) = run_eval(folder / "paper", "native", SCRIPT, options="preset=paper").samples()
    reference = (
        "[Ledger: not run, no change of file1.py was recorded. Lines 10-40 of file1.py are as shown by `cat -n"
        " file1.py`, 1 command ago. Repeat it to see it again.]"
    )
    assert read_last(sample)[1] == ({"command": "cat -n file1.py | sed -n '10,40p'"}, reference)
    (event,) = (one for one in sample["events"] if one["event"] == "approval" and one["decision"] == "modify")
    assert (event["explanation"], event["metadata"]["execledger"]["rule"]) == (reference, "covered-read")
    assert event["modified"]["arguments"]["command"].startswith("echo '[Ledger: not run")


def test_logs_are_arms_of_a_report(native: EvalRun, plain: EvalRun, tmp_path: Path) -> None:
    """Two folders of logs are two arms, with epochs as trials, scores as outcomes and tokens by class."""
    logs = [str(run.path.parent) for run in (native, plain)]
    rows = [row for _, row in collect(logs, shipped(), [])]
    took = Tokens(uncached=500, cached=4500, written=500, output=50)
    names = [(f"native/file{at}.py", epoch) for at in (1, 2) for epoch in (1, 2)]
    expected = [(arm, name, epoch, True) for arm in ("base", "every") for name, epoch in names]
    assert sorted((row.arm, row.instance, row.trial, row.resolved is True) for row in rows) == expected
    assert [row.tokens for row in rows] == [took] * 8
    command = [sys.executable, "-m", "execledger", "eval", "report", *logs, "-o", str(tmp_path / "report")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, "view at every call" in done.stdout) == (0, True), done.stderr


def test_mini_swe_agent_in_a_sandbox(folder: Path) -> None:
    """The real mini-swe-agent is shown the same reference, inside its own rendering of a result, and all decisions are
    those that are made under our own runner."""
    program = shutil.which("mini", path=str(Path(sys.executable).parent))
    assert program is not None, "mini-swe-agent is installed with the extra dev"
    agent = {"agent": "mini_swe_agent", "options": {"version": "sandbox", "env": QUICK}}
    run = run_eval(folder / "mini", "bridged", SCRIPT | agent, options=EVERY, path=[Path(program).parent])
    (sample,) = run.samples()
    assert sample.get("error") is None, run.output
    assert f'"output": "{COVERED}"' in read_last(sample)[1][1]
    work, home = folder / "work", folder / "home"
    work.mkdir()
    (work / "file1.py").write_text(FILE)
    script = [[command.replace("{file}", "file1.py") for command in turn] for turn in TURNS]
    with ModelServer([*script, [SUBMIT]]) as server:
        prefix = (sys.executable, "-m", "execledger", "run", "--cadence", "every", "--journal", str(home), "--")
        assert run_mini(server, "Fix file1.py, please.", work, folder / "state", prefix=prefix).status == 0
    (journal,) = home.glob("*.jsonl")
    own = decided(read_journal(journal.name, journal.read_bytes()))[: len(TURNS)]
    assert decided(journal_of(run, sample)) == own
