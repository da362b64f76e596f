"""``execledger eval``: plans that are refused, reports on what is there, and what is not known."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from execledger.evaluate.plan import ArmName, Plan
from execledger.evaluate.study import Study
from execledger.extras import install_command
from execledger.journal.codec import encode
from execledger.runs.prices import shipped
from tests.agents.inspect_ai.test_recorded import sample, write_log
from tests.cli.conftest import Execledger
from tests.evaluate.test_collect import study_in
from tests.evaluate.trials import leave, trajectory
from tests.support.agents.fake_docker import FakeDocker
from tests.support.agents.swebench import make_instances, write_dataset
from tests.viewer.stage import DEMO, shown, told

NAME = "ledger__warehouse-1"
# Does what a batch runner does, and takes no time: a trajectory for every task that the filter names.
RUNNER = f"""#!{sys.executable}
import json, os, pathlib, re, sys
words = sys.argv[1:]
value = lambda name: words[words.index(name) + 1]
for row in map(json.loads, open(value("--subset") + "/test.jsonl")):
    name = row["instance_id"]
    if re.match(value("--filter"), name) and not os.environ.get("BROKEN"):
        folder = pathlib.Path(value("-o"), name)
        folder.mkdir()
        text = {trajectory(NAME)!r}.replace({NAME!r}, name)
        (folder / (name + ".traj.json")).write_text(text)
print("the words were:", *words)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two tasks, a runner and a plan, from which the command is called."""
    write_dataset(tmp_path / "dataset", make_instances(2))
    runner = tmp_path / "mini-extra"
    runner.write_text(RUNNER)
    runner.chmod(runner.stat().st_mode | stat.S_IXUSR)
    (tmp_path / "scripted.yaml").write_text("model: {model_class: mine.Scripted}")
    plan = f'program = "{runner}"\nsubset = "dataset"\narms = ["base"]\ncache = "shared"\nmodel = "gpt-5-mini"\n'
    (tmp_path / "plan.toml").write_text(f'{plan}step_limit = 9\nconfig = ["swebench.yaml", "scripted.yaml"]\n')
    docker = FakeDocker.install(tmp_path / "docker")
    monkeypatch.setenv("PATH", str(docker.folder), prepend=os.pathsep)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("EXECLEDGER", raising=False)
    return tmp_path


def test_a_plan_is_carried_out_and_gone_on_with(execledger: Execledger, folder: Path) -> None:
    """What is finished is told; the folder alone is enough to go on, and then nothing is left to do."""
    told = "execledger: 2 of 2 runs finished, $0.50; ended: Submitted 2\n"
    assert execledger("eval", "run", "plan.toml", "-o", "out") == (0, "", told)
    log = (folder / "out" / "base" / "1" / "logs" / f"{NAME}.log").read_text()
    assert execledger("eval", "run", "-o", "out", "--workers", "5") == (0, "", told)
    assert (folder / "out" / "base" / "1" / "logs" / f"{NAME}.log").read_text() == log
    work = folder / "out" / "base" / "1" / ".work" / NAME
    config = "-c swebench.yaml -c scripted.yaml -c agent.step_limit=9 -m gpt-5-mini"
    words = f"--filter (?:ledger__warehouse\\-1)$ -o {work} -w 1 {config}"
    assert log == f"the words were: swebench --subset {folder / 'out' / 'dataset'} --split test {words}\n"


def test_options_lie_over_the_plan(execledger: Execledger, folder: Path) -> None:
    """Settings of the agent one by one, whatever else by its own option."""
    options = ["--slice", "1:", "--set", "a.b=1", "--set", "c=text", "--trials", "2"]
    assert execledger("eval", "run", "plan.toml", "-o", "out", *options).status == 0
    recorded = Study(folder / "out").recorded()
    assert recorded is not None
    assert (recorded.plan.slice, recorded.plan.settings, recorded.plan.trials, recorded.plan.model) == (
        "1:",
        {"a.b": 1, "c": "text"},
        2,
        "gpt-5-mini",
    )
    assert '-c a.b=1 -c c="text"' in (folder / "out" / "base" / "2" / "logs" / "ledger__warehouse-2.log").read_text()


def test_another_plan_is_refused_and_the_difference_named(execledger: Execledger, folder: Path) -> None:
    """Nothing is run."""
    assert execledger("eval", "run", "plan.toml", "-o", "out").status == 0
    called = execledger("eval", "run", "plan.toml", "-o", "out", "--trials", "3")
    out = (folder / "out").absolute()
    assert called == (
        2,
        "",
        f"execledger: {out}: belongs to another plan: `trials` was 1 and is 3\n"
        "hint: go on with the same plan, or give another folder\n",
    )


def test_what_ended_badly_is_run_again_only_when_asked_for(
    execledger: Execledger, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise whatever has ended has ended: a second try would be an advantage."""
    runner = folder / "mini-extra"
    runner.write_text(RUNNER.replace("Submitted", "AuthenticationError"))
    assert execledger("eval", "run", "plan.toml", "-o", "out").status == 0
    runner.write_text(RUNNER)
    assert "ended: AuthenticationError 2" in execledger("eval", "run", "-o", "out").err
    called = execledger("eval", "run", "-o", "out", "--again", "AuthenticationError")
    assert called.err.splitlines() == [
        "execledger: 2 that ended with AuthenticationError are run again",
        "execledger: 2 of 2 runs finished, $0.50; ended: Submitted 2",
    ]


def test_a_runner_that_finishes_nothing_is_told(
    execledger: Execledger, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its last words; after three tasks in a row no more are begun, and the status says that not all is done."""
    write_dataset(folder / "dataset", make_instances(9))
    monkeypatch.setenv("BROKEN", "1")
    called = execledger("eval", "run", "plan.toml", "-o", "out", "--workers", "1")
    first, *others, total, reason = called.err.splitlines()
    assert (called.status, called.out, len(others)) == (1, "", 2)
    assert first.startswith(f"execledger: base-1, {NAME}: error: ended with status 0: the words were: swebench")
    told = execledger("eval", "report", "out")
    assert told.status == 2 and f"base-1, {NAME}: error: ended with status 0: the words were: swebench" in told.err
    assert total == "execledger: 0 of 9 runs finished, cost unknown; ended: none"
    stopped = "3 jobs of the arm base in a row finished nothing"
    assert reason == f"execledger: {stopped}; the same command goes on from here"


def test_a_report_has_the_reasons_of_what_is_still_missing(
    execledger: Execledger, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job of three tasks finishes one of them in each call; a reason is of one task, and goes with it."""
    write_dataset(folder / "dataset", make_instances(3))
    (folder / "mini-extra").write_text(RUNNER.replace('not os.environ.get("BROKEN")', 'name in os.environ["WHOLE"]'))
    found = []
    for number in (1, 2):
        monkeypatch.setenv("WHOLE", f"ledger__warehouse-{number}")
        called = execledger("eval", "run", "plan.toml", "-o", "out", "--batch", "3")
        report = execledger("eval", "report", "out")
        found.append(
            [re.findall(r"base-1, \S+-(\d): error: ended with status 0", err) for err in (called.err, report.err)]
        )
    assert found == [[["2", "3"], ["2", "3"]], [["3"], ["3"]]]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["none.toml"], "none.toml: the plan can't be read"),
        (["plan.toml", "--trials", "0"], "execledger: `--trials` is 0, expected at least 1"),
        (["wrong.toml"], "wrong.toml: `trials` is 0, expected at least 1"),
        (["--agent", "codex", "--step-limit", "5"], "execledger: `--step-limit` means nothing to codex"),
        (["plan.toml", "--set", "a"], "--set a: expected KEY=VALUE"),
        (["plan.toml", "--model", "a\udcff"], "plan.toml: found 'a\\udcff', expected text in UTF-8"),
        (
            ["plan.toml", "--subset", "verifed"],
            "`verifed`: found no such subset\nhint: known are full, lite, multilingual",
        ),
        (["plan.toml", "--subset", "./no/such/folder"], "`./no/such/folder`: found no such subset"),
        (["plan.toml", "--program", "/bin/true"], "`program` is /bin/true, expected a program"),
    ],
)
def test_a_plan_that_cannot_be_followed_is_refused(
    execledger: Execledger, folder: Path, words: list[str], said: str
) -> None:
    """In one sentence, which names the plan file or the option that the value came from."""
    (folder / "wrong.toml").write_text("trials = 0\n")
    called = execledger("eval", "run", *words, "-o", "out")
    assert (called.status, said in called.err) == (2, True), called.err


def test_a_docker_that_does_not_answer_is_the_reason(
    execledger: Execledger, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The runner's log ends with a table, and names the command that failed, but not why."""
    failed = "Command '['docker', 'run', 'x']' returned non-zero exit status 1."
    said = [f"subprocess.CalledProcessError: {failed[:30]}", failed[30:], "  done ━━━━ 1/1", "┃ Exit ┃", "└──────┘"]
    runner = folder / "mini-extra"
    runner.write_text(f"#!{sys.executable}\nprint({chr(10).join(said)!r})\n")
    docker = folder / "bin" / "docker"
    docker.parent.mkdir()
    docker.write_text("#!/bin/sh\n")
    docker.chmod(0o755)
    monkeypatch.setenv("PATH", str(docker.parent), prepend=os.pathsep)
    log = folder / "out" / "base" / "1" / "logs" / f"{NAME}.log"
    told = execledger("eval", "run", "plan.toml", "-o", "out", "--slice", "0:1").err.splitlines()[0]
    words = f"subprocess.CalledProcessError: {failed[:30].strip()} {failed[30:].strip()}"
    assert told == f"execledger: base-1, {NAME}: error: ended with status 0: {words} ({log})"
    broken = "#!/bin/sh\\necho 'Cannot connect to the Docker daemon' >&2\\nexit 1\\n"
    docker.write_text("#!/bin/sh\n")
    runner.write_text(
        f"{runner.read_text()}\nopen({str(docker)!r}, 'w').write({broken.encode().decode('unicode_escape')!r})\n"
    )
    told = execledger("eval", "run", "-o", "out").err.splitlines()[0]
    assert told.endswith(f": docker does not answer: Cannot connect to the Docker daemon ({log})")
    told = execledger("eval", "run", "-o", "out").err
    hint = "hint: start Docker, or set DOCKER_HOST\n"
    assert told == (
        "execledger: found one problem, and started nothing:"
        f" {docker} does not answer: Cannot connect to the Docker daemon\n{hint}"
    )


def test_what_is_refused_leaves_no_tasks_and_comes_with_the_warnings(execledger: Execledger, folder: Path) -> None:
    """A program that is not there, and a model that the price table does not have: both are told, nothing is stored."""
    called = execledger("eval", "run", "plan.toml", "-o", "out", "--program", "/bin/true", "--model", "unheard-of")
    assert (called.status, called.out, called.err.splitlines()) == snapshot(
        (
            2,
            "",
            [
                "execledger: warning: the model `unheard-of` has no price in Ledger's table: its cost is unknown;"
                " check its name; `eval report --prices FILE` takes prices of your own",
                "execledger: found one problem, and started nothing: `program` is /bin/true, expected a program called"
                " mini-extra",
            ],
        )
    )
    assert not (folder / "out").exists()
    (folder / "mine").mkdir()
    for output in ("mine", "new/er/out"):
        assert execledger("eval", "run", "plan.toml", "-o", output, "--program", "/bin/true").status == 2
    assert list((folder / "mine").iterdir()) == [], "a folder of the user's stays"
    assert not (folder / "new").exists()


@pytest.mark.parametrize(
    ("agent", "words", "problem"),
    [
        ("codex", ["--repos", "nowhere"], "nowhere: found nothing there, expected a folder with prepared repositories"),
        ("codex", ["--docker", "no-such-docker"], "no-such-docker: not found, expected the container program"),
        ("pi", [], "pi can't be run in containers: it needs more than its program, which images do not have"),
        ("mini", ["--set", "environment.executable=no-such"], "no-such: not found, expected the container program"),
    ],
)
def test_a_missing_program_is_told_with_the_other_problems(
    execledger: Execledger,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    agent: str,
    words: list[str],
    problem: str,
) -> None:
    """What is wrong with repositories or containers does not wait for the program."""
    monkeypatch.setenv("CODEX_API_KEY", "x")
    plan = ["--agent", agent, "--subset", "dataset", "--model", "gpt-5-mini", "--program", "/nowhere/it", *words]
    called = execledger("eval", "run", "-o", "out", *plan)
    assert called.err.splitlines()[:2] == [
        "execledger: found 2 problems, and started nothing:",
        "- /nowhere/it: found no program there, expected one that can be started",
    ]
    assert [line for line in called.err.splitlines() if line.startswith("- ")][1:] == [f"- {problem}"]


def test_a_plan_that_comes_to_nothing_leaves_the_folder_to_others(execledger: Execledger, folder: Path) -> None:
    """Its tasks can't be had; another plan takes the same folder, with tasks of its own."""
    assert execledger("eval", "run", "plan.toml", "-o", "out", "--instance", "nobody").status == 2
    (folder / "out" / "dataset").mkdir(parents=True)
    (folder / "out" / "dataset" / "test.jsonl").write_text("of an earlier plan")
    assert execledger("eval", "run", "plan.toml", "-o", "out").status == 0


def test_without_a_plan_nothing_is_begun(execledger: Execledger, folder: Path) -> None:
    """How the work is done is no plan."""
    called = execledger("eval", "run", "-o", "out", "--workers", "3")
    assert called == (
        2,
        "",
        f"execledger: {folder / 'out'}: found no evaluation there to go on with\n"
        "hint: give a plan: execledger eval run PLAN.toml -o DIR, or say by options what to run\n",
    )
    assert not (folder / "out").exists()


def test_a_missing_configuration_file_is_noticed_before_agents_start(execledger: Execledger, folder: Path) -> None:
    """The agent's own files and the user's are found; a setting is no file."""
    pytest.importorskip("minisweagent")
    called = execledger("eval", "run", "plan.toml", "-o", "out", "--config", "nowhere.yaml")
    assert (called.status, "nowhere.yaml: found no such configuration file" in called.err) == (2, True)
    called = execledger("eval", "run", "plan.toml", "-o", "out", "--config", "/")
    assert (called.status, "/: found no such configuration file" in called.err) == (2, True)
    (folder / "mine.yaml").write_text("agent: {}\n")
    words = ["--config", "swebench", "--config", "mine.yaml", "--config", "scripted.yaml", "--config", "a.b=1"]
    assert execledger("eval", "run", "plan.toml", "-o", "out", *words).status == 0


def test_no_evaluation_is_run_while_ledger_is_off(
    execledger: Execledger, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All arms would be the same."""
    monkeypatch.setenv("EXECLEDGER", "off")
    called = execledger("eval", "run", "plan.toml", "-o", "out")
    assert (called.status, "every arm would be the arm base" in called.err) == (2, True)


@pytest.fixture
def done(folder: Path) -> Study:
    """An evaluation of two arms, one of them half done, and not graded."""
    study = Study(folder / "out")
    study.claim(Plan(arms=(ArmName.BASE, ArmName.BOTH)), {"execledger": "1"})
    (study.root / "dataset").mkdir()
    os.rename(folder / "dataset" / "test.jsonl", study.dataset / "test.jsonl")
    for arm, number in ((ArmName.BASE, 1), (ArmName.BASE, 2), (ArmName.BOTH, 1)):
        name = f"ledger__warehouse-{number}"
        leave(study.trial(arm, 1).folder, name, trajectory(name, patch=f"diff of {arm}"))
    return study


def test_a_report_says_what_is_missing(execledger: Execledger, done: Study) -> None:
    """Runs that are not finished, journals that are not there, grades that nobody gave."""
    called = execledger("eval", "report", "out", "--json")
    assert called.status == 0
    assert "execledger: out: not finished yet: 1 of 2 instances of both-1" in called.err
    missing = "found no journal of 1 run in arms with Ledger: what Ledger did in it is unknown and left out"
    first = done.root / "both" / "1" / NAME / f"{NAME}.traj.json"
    assert f"execledger: {missing}; whatever else is known of it counts (first: {first})\n" in called.err
    assert "not read" not in called.err
    text = json.dumps(json.loads(called.out))
    assert "unknown" in text and "not finished yet: 1 of 2 instances of both-1" in text


def test_a_report_on_runs_from_elsewhere(execledger: Execledger, folder: Path) -> None:
    """They are runs of the arm base; tables go to the terminal, and files only where they are asked for."""
    leave(folder / "mine", "a", trajectory("a"))
    (folder / "mine" / "broken.json").write_text("{")
    called = execledger("eval", "report", "mine")
    assert (called.status, "base" in called.out, "1 file was not read" in called.err) == (0, True, True)
    assert f"execledger: Prices are of {shipped().date}\n" in called.err
    (folder / "prices.toml").write_text("date = 2026-01-01\n[models.mine]\nuncached = 1\noutput = 2\n")
    dated = execledger("eval", "report", "mine", "--prices", "prices.toml").err
    assert f"execledger: Prices are of {shipped().date}\n" in dated, "no run has the model of the other table"
    assert execledger("eval", "report", "mine", "-o", "told", "--format", "md").status == 0
    assert [path.name for path in (folder / "told").iterdir()] == ["report.md"]


def test_a_damaged_file_is_one_file_however_much_is_wrong_with_it(execledger: Execledger, folder: Path) -> None:
    """A journal with a line that is no event, steps behind a gap and a torn end; an export counts as people do, too."""
    (folder / "mine").mkdir()
    lines = [encode(event) for event in told([shown("ls"), shown("pwd"), shown("ls")])]
    (folder / "mine" / "run.ledger.jsonl").write_bytes(b"".join((*lines[:2], b"no event\n", lines[3], b'{"event')))
    called = execledger("eval", "export", "mine", "-o", "tables")
    assert called.out == "1 run and 1 call are in tables\n"
    assert [line for line in called.err.splitlines() if "run.ledger" in line] == [
        "execledger: read as far as it goes: mine/run.ledger.jsonl: the last line is torn; lines that are no events: 1;"
        " steps behind a gap: 1"
    ]
    reported = execledger("eval", "report", "mine", "--json")
    assert "not read:" not in reported.err
    assert json.loads(reported.out)["notes"][-1].startswith("Read as far as it goes: mine/run.ledger.jsonl: the last")
    assert "execledger: 1 file was not read, or not wholly" in called.err.splitlines()


def test_a_report_says_how_many_samples_were_retried(execledger: Execledger, folder: Path) -> None:
    """A retried log of Inspect copies the samples of the first one: each counts once."""
    for day in (1, 2):
        write_log(folder / "logs" / f"2026-01-0{day}_fix_{'A' * 22}.eval", sample())
    called = execledger("eval", "report", "logs")
    assert "left out: runs that a later log of the same task has again (1)" in called.err
    assert "further trials" not in called.out and "1/1" in called.out


def test_a_report_as_the_paper_prints_it(execledger: Execledger, done: Study) -> None:
    """Another layout of the same runs, for people and for programs."""
    called = execledger("eval", "report", "out", "--layout", "paper", "--json")
    tables = json.loads(called.out)["tables"]
    assert [table["name"] for table in tables] == ["main", "efficiency", "ablation", "evidence", "published"]
    assert "Backbone" in execledger("eval", "report", "out", "--layout", "paper").out


@pytest.mark.parametrize("verb", ["report", "export"])
def test_an_output_that_is_a_file_is_refused(execledger: Execledger, done: Study, folder: Path, verb: str) -> None:
    """Before anything is read; the error says that a folder is expected, and the file is kept."""
    (folder / "file.md").write_text("mine")
    called = execledger("eval", verb, "out", "-o", "file.md")
    assert (called.status, called.out, called.err.partition("\n")[0]) == (
        2,
        "",
        "execledger: file.md: found a file, expected a folder, into which several files are written",
    )
    assert (folder / "file.md").read_text() == "mine"


def test_a_format_without_a_place_is_refused(execledger: Execledger, done: Study) -> None:
    """Rather than forgotten."""
    called = execledger("eval", "report", "out", "--format", "md")
    assert (called.status, "expected -o DIR" in called.err) == (2, True)


def test_a_replay_counts_each_run_of_an_evaluation_once(execledger: Execledger, folder: Path) -> None:
    """Its journals are left out, and counted; alone, they are runs like any other."""
    study = study_in(folder / "out")
    called = execledger("replay", "out", "--json")
    assert (called.status, json.loads(called.out)["runs"]) == (0, 2)
    assert "execledger: journals left out, because they tell of runs that are there: 1\n" in called.err
    (study.root / "plan.json").unlink()
    assert json.loads(execledger("replay", "out", "--json").out)["runs"] == 2
    assert json.loads(execledger("replay", "out/both/1/journals", "--json").out)["runs"] == 1


def test_grades_are_imported_and_counted(execledger: Execledger, done: Study, folder: Path) -> None:
    """By arm and trial; a report that is of no use is named, and the status says so."""
    (folder / "base-1.json").write_text(json.dumps({"resolved_ids": [NAME], "error_ids": ["ledger__warehouse-2"]}))
    called = execledger("eval", "grade", "out", "--reports", "base-1.json")
    assert called == (
        0,
        "base-1: 1 resolved, 1 not (1 could not be tested), 0 unknown\nboth-1: 0 resolved, 0 not, 1 unknown\n",
        "",
    )
    (folder / "other.json").write_text(json.dumps({"resolved_ids": [NAME]}))
    called = execledger("eval", "grade", "out", "--reports", "other.json")
    assert (called.status, called.err) == (
        1,
        "execledger: not used: other.json: its path names none of base-1, both-1\n",
    )
    assert execledger("eval", "grade", "dataset", "--reports", "other.json").status == 2
    called = execledger("eval", "grade", "out/base/7", "--reports", "other.json")
    assert (called.status, called.err) == (
        2,
        f"execledger: out/base/7: no such trial in {done.root}\nhint: it has: base-1, both-1\n",
    )


def test_an_evaluation_is_exported_with_its_arms(execledger: Execledger, done: Study, folder: Path) -> None:
    """One row for each run, which knows its arm."""
    duckdb = pytest.importorskip("duckdb")
    called = execledger("eval", "export", "out", "-o", "tables")
    assert (called.status, called.out) == (0, "3 runs and 3 calls are in tables\n")
    rows = duckdb.sql(f"select arm, instance from '{folder}/tables/runs.parquet' order by all").fetchall()
    assert rows == [("base", NAME), ("base", "ledger__warehouse-2"), ("both", NAME)]


def test_an_export_of_nothing_is_refused(execledger: Execledger, folder: Path) -> None:
    """As a report on nothing is; what could not be read is named, and nothing is written."""
    (folder / "mine").mkdir()
    (folder / "mine" / "broken.json").write_text("{")
    called = execledger("eval", "export", "mine", "-o", "tables")
    assert (called.status, called.out, (folder / "tables").exists()) == (2, "", False)
    assert "execledger: not read: mine/broken.json" in called.err
    assert "found no runs to export" in called.err


def test_an_export_names_what_it_leaves_out(execledger: Execledger, done: Study, folder: Path) -> None:
    """As the report does: the copies of an evaluation's runs, with their folder."""
    both = folder / "copies"
    for name in ("out", "out-backup"):
        shutil.copytree(done.root, both / name)
    called = execledger("eval", "export", "copies", "-o", "tables")
    said = "left out: runs that another copy of the same evaluation has, in copies/out-backup (3)"
    assert (called.status, called.out) == (0, "3 runs and 3 calls are in tables\n")
    assert f"execledger: {said}\n" in called.err
    assert f"execledger: {said}\n" in execledger("eval", "report", "copies", "--json").err


@pytest.mark.parametrize(("module", "words"), [("scipy", ()), ("matplotlib", ("-o", "out", "--format", "png"))])
def test_a_report_without_its_extra_names_it(tmp_path: Path, module: str, words: tuple[str, ...]) -> None:
    """In two lines, and not by a traceback."""
    hidden = f"import sys; sys.modules[{module!r}] = None; from execledger.cli.main import main; sys.exit(main())"
    command = [sys.executable, "-c", hidden, "eval", "report", str(DEMO), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    said = f"execledger: {module}: not installed, it comes with the extra `eval`\nhint: {install_command('eval')}\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said)


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ('"agent": "mini"', '"agent": "newer"', "`agent` is 'newer', expected mini or codex"),
        ('"trials": 1', '"trials": 1, "novel": 3', "has the unknown key `novel`: its arms and grades are lost"),
        ('"base",', '"other",', "its arms and grades are lost"),
    ],
)
def test_a_plan_of_a_newer_version_is_named_and_the_runs_are_reported(
    execledger: Execledger, done: Study, old: str, new: str, fault: str
) -> None:
    """Its agent, a key or an arm is not known here: `eval report`, `export` and `grade` say so in one line."""
    file = done.root / "plan.json"
    file.write_text(file.read_text().replace(old, new, 1))
    reported = execledger("eval", "report", "out", "--json")
    assert reported.status == 0 and json.loads(reported.out)
    assert sum(str(file) in line and fault in line for line in reported.err.splitlines()) == 1, reported.err
    exported = execledger("eval", "export", "out", "-o", "tables")
    assert (exported.status, exported.out) == (0, "3 runs and 3 calls are in tables\n")
    assert sum(str(file) in line and fault in line for line in exported.err.splitlines()) == 1, exported.err
    graded = execledger("eval", "grade", "out", "--reports", "dataset")
    assert str(file) in graded.err and fault in graded.err
    assert graded.status == (0 if "agent" in old else 2)


def test_a_full_disk_is_told_with_the_path(
    execledger: Execledger, done: Study, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error of the system names no file; what was half written is removed."""

    def full(path: Path, *_: object, **__: object) -> int:
        path.touch()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (folder / "base-1.json").write_text(json.dumps({"resolved_ids": [NAME]}))
    monkeypatch.setattr(Path, "write_text", full)
    monkeypatch.setattr(Path, "write_bytes", full)
    reported = execledger("eval", "report", "out", "-o", "told", "--format", "md")
    assert (reported.status, reported.err.splitlines()[-1]) == (
        2,
        "execledger: told: can't be written: No space left on device",
    )
    graded = execledger("eval", "grade", "out", "--reports", "base-1.json")
    grades = done.root / "base" / "1" / "resolved.json"
    assert (graded.status, graded.err) == (1, f"execledger: {grades}: can't be written: No space left on device\n")
    assert not [path.name for path in grades.parent.iterdir() if path.name.startswith(".resolved")]
