"""Logs of Inspect, read without Inspect."""

from __future__ import annotations

import json
import sys
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import zstandard

from execledger.agents.formats import find_recorded, read_run
from execledger.agents.inspect_ai.recorded import OFF, journal_names
from execledger.core.policy import Policy, Preset
from execledger.core.rereads import Reread
from execledger.errors import ReaderFault, UnreadableRun
from execledger.evaluate.collect import SAME_CONTENT, collect
from execledger.extras import install_command
from execledger.off import SWITCHED_OFF
from execledger.runs.find import REPEATED
from execledger.runs.prices import shipped
from execledger.runs.recording import Run
from execledger.runs.replay import replay
from execledger.runs.usage import ModelCall, Tokens
from execledger.shell.paths import UNRECORDED_DIRECTORY
from execledger.vocabulary.actions import Action, Command, Observation

HEADER: dict[str, Any] = {
    "version": 2,
    "status": "success",
    "eval": {"task": "fix", "model": "openai/gpt-5", "sandbox": {"type": "docker"}, "packages": {"inspect_ai": "1"}},
    "plan": {"steps": [{"solver": "react"}]},
    "results": {"headline": {"score": "tests"}},
}
TOOLS = [{"name": "bash"}, {"name": "submit"}]
USAGE = {"input_tokens": 10, "output_tokens": 2, "input_tokens_cache_read": 30, "input_tokens_cache_write": 4}
VIEW = {"role": "user", "content": "<execution_state>", "metadata": {"execledger": "view"}}


def made(call_id: str, command: str) -> dict[str, Any]:
    """A message of the model with one call."""
    call = {"id": call_id, "function": "bash", "arguments": {"command": command}, "type": "function"}
    return {"role": "assistant", "content": "", "tool_calls": [call]}


def result(call_id: str, text: str) -> dict[str, Any]:
    """A result."""
    return {"role": "tool", "content": text, "tool_call_id": call_id, "function": "bash"}


def model(refs: list[list[int]], message: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A model event whose input is in the pool."""
    output = {"choices": [{"message": message}], "usage": USAGE}
    return {"event": "model", "span_id": "s", "input": [], "input_refs": refs, "tools": TOOLS, "output": output} | more


def sample(**more: Any) -> dict[str, Any]:
    """A sample of three calls: one read, one whose result was replaced by a reference, one that was suppressed."""
    first, second, third = made("a", "cat a.py"), made("b", "cat a.py"), made("c", "sed -n 1p a.py")
    pool = [
        {"role": "system", "content": "Do it."},
        {"role": "user", "content": "attachment://0a"},
        first,
        result("a", "x\ny\n"),
        second,
        result("b", "[Ledger: output omitted.]"),
        third,
        result("c", "[Ledger: not run.]"),
        VIEW,
    ]
    modified = {"event": "approval", "approver": "execledger/ledger", "decision": "modify", "call": {"id": "c"}}
    events = [
        {"event": "sandbox", "action": "exec", "cmd": "bash --login -c pwd", "result": 0, "output": "/w\n"},
        {"event": "tool", "id": "a", "function": "bash"},
        model([[0, 2]], first),
        model([[0, 4]], second, error="overloaded"),
        model([[0, 4], [8, 9]], second),
        model([[0, 6]], third),
        modified,
        model([[0, 8]], {"role": "assistant", "content": "done"}),
        {"event": "span_begin", "id": "g", "type": "scorers"},
        model([[0, 2]], {"role": "assistant", "content": "GRADE: C"}) | {"span_id": "g"},
    ]
    return {
        "id": "one",
        "epoch": 2,
        "messages": [*pool[:5], result("b", "x\ny\n"), third, result("c", "[Ledger: not run.]\n")],
        "events": events,
        "events_data": {"messages": pool},
        "attachments": {"0a": "Fix a.py, please."},
        "scores": {"style": {"value": 0.2}, "tests": {"value": "C"}},
    } | more


def write_log(path: Path, *samples: dict[str, Any]) -> Path:
    """Write an ``.eval`` file with members packed as Inspect packs them."""
    members = {"header.json": HEADER} | {f"samples/{one['id']}_epoch_{one['epoch']}.json": one for one in samples}
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name, value in members.items():
            archive.writestr(name, zstandard.ZstdCompressor().compress(json.dumps(value).encode()))
    # Python's own writer knows no such method: it is written into both headers of each member.
    data = path.read_bytes()
    for signature, at in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        start = data.find(signature)
        while start >= 0:
            data = data[: start + at] + (93).to_bytes(2, "little") + data[start + at + 2 :]
            start = data.find(signature, start + 4)
    path.write_bytes(data)
    return path


def read(path: Path) -> list[Run]:
    """The runs at a path."""
    return [read_run(source.name, source.read()) for source in find_recorded([str(path)])]


def test_a_sample_is_a_run(tmp_path: Path) -> None:
    """Calls and true results in order, tokens by class, the epoch as trial and the first score as outcome."""
    log = write_log(tmp_path / "logs" / "a.eval", sample())
    (run,) = read(log.parent)
    took = ModelCall(Tokens(uncached=10, cached=30, written=4, output=2))
    assert (run.name, run.instance, run.trial) == (f"{log}!samples/one_epoch_2.json", "fix/one", 2)
    assert (run.task, run.resolved, run.ended, run.container) == ("Fix a.py, please.", True, "solved", True)
    assert (run.turns, run.model_calls, run.parallel, run.policy) == (4, (took,) * 4, True, None)
    assert [(one.action.command, one.action.cwd, one.observation, one.turn) for one in run.steps] == [
        ("cat a.py", "/w", Observation("x\ny\n"), 0),
        ("cat a.py", "/w", Observation("x\ny\n"), 1),
        ("sed -n 1p a.py", "/w", Observation(truncated=True), 2),
    ]


def test_a_suppressed_call_is_a_reread_by_what_its_reference_points_at(tmp_path: Path) -> None:
    """The log lacks its output; under a policy that makes no such reference, nothing is claimed."""
    whole = json.dumps(sample()).replace(r"x\ny\n", r"a long line\n" * 99)
    whole = whole.replace(json.dumps(made("b", "cat a.py")), json.dumps(made("b", "ls")))
    whole = whole.replace("sed -n 1p a.py", "cat a.py")
    (run,) = read(write_log(tmp_path / "a.eval", json.loads(whole)))
    assert [one.ran for one in run.steps] == [True, True, False]
    paper, ungoverned = Policy(preset=Preset.PAPER), Policy(govern=False)
    assert [one.reread for one in replay(run, paper)] == [None, None, Reread.SEARCH]
    assert [one.reread for one in replay(run, ungoverned)] == [None, None, None]


def test_a_log_of_an_earlier_version_has_other_arguments(tmp_path: Path) -> None:
    """Until 0.3.205 the argument of ``bash`` was ``cmd``: its commands are understood as those of later versions."""
    old = json.loads(json.dumps(sample()).replace('"command":', '"cmd":'))
    runs = [read(write_log(tmp_path / name / "a.eval", one))[0] for name, one in (("old", old), ("new", sample()))]
    assert runs[0].steps == runs[1].steps
    assert runs[0].steps[0].action == Action("cat a.py", "/w", Command("bash", merged=True))


def test_scoring_of_a_version_without_spans_is_not_counted(tmp_path: Path) -> None:
    """Its model calls are between two events, and those after them are the agent's again."""
    whole, grade = sample(), model([[0, 2]], {"role": "assistant", "content": "GRADE: C"}) | {"span_id": None}
    sides = [{"event": "step", "type": "scorer", "name": "tests", "action": action} for action in ("begin", "end")]
    whole["events"] += [sides[0], grade, sides[1]]
    (run,) = read(write_log(tmp_path / "a.eval", whole))
    assert run.turns == 4
    whole["events"].append(grade)
    (again,) = read(write_log(tmp_path / "b.eval", whole))
    assert again.turns == 5


AGAIN = ["cat f", "cat -n f", "cat f", "cat -n f | sed -n 1,30p", "sed -i s/8/88/ f", "cat -n f", "cat f"]
"""A session that reads a file with numbers and without, before a change and after it."""


def session(cmd: str) -> dict[str, Any]:
    """A sample with the commands ``AGAIN``, whose directory ``cmd`` printed."""
    plain = [f"line {at} of the file, with more words behind it\n" for at in range(1, 80)]
    changed = [line.replace("8", "88", 1) for line in plain]
    shown = {
        "cat f": "".join(plain),
        "cat -n f": "".join(f"{at:6}\t{line}" for at, line in enumerate(plain, 1)),
        "cat -n f | sed -n 1,30p": "".join(f"{at:6}\t{line}" for at, line in enumerate(plain[:30], 1)),
        "sed -i s/8/88/ f": "",
    }
    pool, events = [{"role": "user", "content": "Fix f."}], []
    events.append({"event": "sandbox", "action": "exec", "cmd": cmd, "result": 0, "output": "/w\n"})
    for at, command in enumerate(AGAIN):
        if at == 5:
            shown |= {"cat f": "".join(changed)}
            shown |= {"cat -n f": "".join(f"{at:6}\t{line}" for at, line in enumerate(changed, 1))}
        events += [model([[0, len(pool)]], made(f"{at}", command)), {"event": "tool", "id": f"{at}"}]
        pool += [made(f"{at}", command), result(f"{at}", shown[command])]
    events.append(model([[0, len(pool)]], {"role": "assistant", "content": "done"}))
    return sample(events=events, events_data={"messages": pool}, messages=[], scores=None)


def test_a_directory_that_is_not_recorded_gives_no_more_references(tmp_path: Path) -> None:
    """Each command of ``bash`` starts in the same directory: what is compared does not depend on its name."""
    known, unknown = (
        read(write_log(tmp_path / name / "a.eval", session(cmd)))[0]
        for name, cmd in (("known", "bash --login -c pwd"), ("unknown", "bash --login -c id"))
    )
    assert [run.steps[0].action.cwd for run in (known, unknown)] == ["/w", UNRECORDED_DIRECTORY]
    decided = [
        [(one.decision.rule, one.shown.kind, one.shown.text, one.shown.kept) for one in replay(run)]
        for run in (known, unknown)
    ]
    assert decided[0] == decided[1]
    assert (decided[0][2][1], decided[0][2][3]) == ("remark", "superseded")


def test_a_log_in_one_object_is_the_same(tmp_path: Path) -> None:
    """Both forms of a log give the same runs."""
    packed = write_log(tmp_path / "a.eval", sample())
    (tmp_path / "b.json").write_text(json.dumps(HEADER | {"samples": [sample()]}), encoding="utf-8")
    runs = [read(packed)[0], read(tmp_path / "b.json")[0]]
    assert runs[0].steps == runs[1].steps and runs[0].model_calls == runs[1].model_calls
    assert runs[1].name == f"{tmp_path / 'b.json'}!samples/one_epoch_2.json"


@pytest.mark.parametrize(
    ("value", "resolved"), [("C", True), ("I", False), ("P", False), (1, True), (0.5, False), (True, True), ({}, None)]
)
def test_a_score_is_an_outcome(tmp_path: Path, value: object, resolved: bool | None) -> None:
    """Correct, or at least 1, is resolved; what says neither is unknown."""
    (run,) = read(write_log(tmp_path / "a.eval", sample(scores={"tests": {"value": value}})))
    assert run.resolved is resolved


@pytest.mark.parametrize("value", [float("nan"), float("-inf"), {"a": float("inf")}])
def test_a_score_that_is_no_number_costs_no_sample(tmp_path: Path, value: object) -> None:
    """Inspect writes what Python calls a number, which JSON does not have; texts that only spell it stay."""
    odd = sample(scores={"tests": {"value": value}, "NaN": {"value": 'a\\"NaN'}}, attachments={"0a": "Why NaN?"})
    (run,) = read(write_log(tmp_path / "a.eval", odd))
    (tmp_path / "b.json").write_text(json.dumps(HEADER | {"samples": [odd]}), encoding="utf-8")
    (again,) = read(tmp_path / "b.json")
    assert (run.task, run.turns) == (again.task, again.turns) == ("Why NaN?", 4)
    assert run.resolved is None


def test_the_images_of_results_cost_no_sample(tmp_path: Path) -> None:
    """Inspect moves them into a message of the user, which names all calls that they belong to."""
    image = {"role": "user", "content": [{"type": "image", "image": "attachment://1"}], "tool_call_id": ["a", "b"]}
    whole = sample()
    whole["events_data"]["messages"].append(image)
    whole["messages"].append(image)
    (run,) = read(write_log(tmp_path / "a.eval", whole))
    assert len(run.steps) == 3


def test_a_task_with_an_image_is_found(tmp_path: Path) -> None:
    """The text beside it is the task, also if Inspect keeps it apart."""
    whole = sample()
    parts = [{"type": "text", "text": "attachment://0a"}, {"type": "image", "image": "attachment://1"}]
    whole["events_data"]["messages"][1] = {"role": "user", "content": parts}
    (run,) = read(write_log(tmp_path / "a.eval", whole))
    assert (run.task, len(run.steps)) == ("Fix a.py, please.", 3)


def test_words_beside_a_view_in_one_message_are_read(tmp_path: Path) -> None:
    """Inspect puts messages together for some providers, with the metadata of both."""
    whole = sample()
    both = {"execledger": "view", "combined_from": ["a", "b"]}
    whole["events_data"]["messages"][1] |= {"metadata": both}
    (run,) = read(write_log(tmp_path / "a.eval", whole))
    assert run.task == "Fix a.py, please."


def test_a_retried_log_takes_the_place_of_its_samples(tmp_path: Path) -> None:
    """`inspect eval-retry` copies what was completed and runs the rest again: each sample counts once, the last time.

    A log of another task with the same sample is another run, and so is a log that is named by itself.
    """
    task, other = "A" * 22, "B" * 22
    two, failed = sample(id="two"), sample(id="two", error={"message": "once"}, scores=None)
    first = write_log(tmp_path / f"2026-01-01_fix_{task}.eval", sample(), failed, sample(id="three"))
    again = write_log(tmp_path / f"2026-01-02_fix_{task}.eval", sample(), two)
    third = write_log(tmp_path / f"2026-01-03_fix_{other}.eval", sample())
    (tmp_path / f"2026-01-04_fix_{other}.eval").write_bytes(b"PK: torn")
    skipped: Counter[str] = Counter()
    names = [source.name for source in find_recorded([str(tmp_path)], skipped=skipped)]
    assert names == [
        f"{first}!samples/three_epoch_2.json",
        f"{again}!samples/one_epoch_2.json",
        f"{again}!samples/two_epoch_2.json",
        f"{third}!samples/one_epoch_2.json",
        str(tmp_path / f"2026-01-04_fix_{other}.eval"),
    ]
    assert skipped == {REPEATED: 2} and len(read(first)) == 3


@pytest.mark.parametrize("day", ["01", "03"])
@pytest.mark.parametrize("damage", [{6: 94}, {9: 1 << 3, 46: 0xFF}], ids=["version", "name"])
def test_a_damaged_log_of_a_retried_task_costs_itself_alone(tmp_path: Path, day: str, damage: dict[int, int]) -> None:
    """Whatever the library for archives makes of its directory, the other logs of the folder are read."""
    task = "A" * 22
    write_log(tmp_path / f"2026-01-02_fix_{task}.eval", sample())
    damaged = write_log(tmp_path / f"2026-01-{day}_fix_{task}.eval", sample())
    data = bytearray(damaged.read_bytes())
    entry = data.index(b"PK\x01\x02")
    for at, byte in damage.items():
        data[entry + at] = byte
    damaged.write_bytes(data)
    whole, broken = sorted(find_recorded([str(tmp_path)]), key=lambda source: source.name == str(damaged))
    assert len(read_run(whole.name, whole.read()).steps) == 3
    with pytest.raises(UnreadableRun, match="damaged archive"):
        broken.read()


def test_an_error_is_no_outcome(tmp_path: Path) -> None:
    """A sample that ended with an error says so, and counts neither as solved nor as failed."""
    (run,) = read(write_log(tmp_path / "a.eval", sample(error={"message": "out of disk\nat x"}, scores=None)))
    assert (run.ended, run.resolved) == ("error: out of disk", None)


def test_what_is_no_log_is_named(tmp_path: Path) -> None:
    """A damaged archive is an error with its reason, and other JSON files are what they were."""
    (tmp_path / "a.eval").write_bytes(b"PK\x03\x04 broken")
    with pytest.raises(UnreadableRun, match="damaged archive"):
        read(tmp_path / "a.eval")
    (tmp_path / "b.json").write_text('{"version": 2}', encoding="utf-8")
    with pytest.raises(UnreadableRun, match="an object with the keys version"):
        read(tmp_path / "b.json")


def test_a_damaged_log_in_a_folder_is_named(tmp_path: Path) -> None:
    """Whatever is left of it, a file of this name is no database of another program."""
    (tmp_path / "a.eval").write_bytes(b"torn")
    with zipfile.ZipFile(tmp_path / "b.eval", "w") as archive:
        archive.writestr("notes.txt", "x")
    log = write_log(tmp_path / "c.eval", sample())
    skipped: Counter[str] = Counter()
    torn, other, whole = find_recorded([str(tmp_path)], skipped=skipped)
    for source, found in ((torn, "no archive"), (other, "an archive without header.json")):
        with pytest.raises(UnreadableRun) as caught:
            source.read()
        assert str(caught.value) == f"{source.name}: found {found}, expected a log of Inspect"
    assert whole.name == f"{log}!samples/one_epoch_2.json" and not skipped


def test_a_log_that_a_missing_module_unpacks_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With its path and its member, and the smallest extra that installs the module."""
    log = write_log(tmp_path / "a.eval", sample())
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(UnreadableRun) as caught:
        read(log)
    found = "found a member that only the module zstandard unpacks, which is not installed"
    assert (caught.value.message, caught.value.hint) == (f"{log}!header.json: {found}", install_command("proxy"))


CLAUDE = [{"name": "Bash"}, {"name": "Read"}, {"name": "Edit"}]


def claude_run(tmp_path: Path, *prompts: list[dict[str, Any]]) -> Run:
    """A run of Claude Code without results: conversations that begin with these messages, one after the other."""
    pool: list[dict[str, Any]] = []
    events = []
    for number, prompt in enumerate(prompts):
        first, second = (made(f"{number}{at}", command) for at, command in enumerate(("cd deep && ls", "cat a.py")))
        for message in (first, second):
            message["tool_calls"][0]["function"] = "Bash"
        start = len(pool)
        pool += [*prompt, first, result(f"{number}0", "b.py\n"), second, result(f"{number}1", "x\n")]
        for behind, message in ((0, first), (2, second), (4, {"role": "assistant", "content": "done"})):
            refs = [[start, start + len(prompt) + behind]]
            events.append(model(refs, message) | {"tools": CLAUDE})
    (run,) = read(
        write_log(tmp_path / "c.eval", sample(events=events, events_data={"messages": pool}, messages=[], scores=None))
    )
    return run


SYSTEM = [{"role": "system", "content": text} for text in ("x-anthropic-billing-header: x", "You are a Claude agent.")]
PLACE = {"role": "system", "content": "\nDo it.\n - Primary working directory: /w\n"}


def test_the_blocks_of_a_bridged_request_are_read_one_by_one(tmp_path: Path) -> None:
    """The directory is stated in the system prompt as a whole, the task in the last part of a message; a command that
    changes the directory leaves it unknown, although the system prompt is repeated with each call."""
    parts = [{"type": "text", "text": text} for text in ("<system-reminder>\nx\n</system-reminder>", "Fix a.py.")]
    run = claude_run(tmp_path, [*SYSTEM, PLACE, {"role": "user", "content": parts}])
    assert (run.task, [step.action.cwd for step in run.steps]) == ("Fix a.py.", ["/w", None])


def test_sub_agents_with_the_same_beginning_are_threads_of_their_own(tmp_path: Path) -> None:
    """Their first messages are the agent's, their tasks are not."""
    tasks = [[*SYSTEM, PLACE, {"role": "user", "content": text}] for text in ("Fix a.py.", "Look at b.py.")]
    run = claude_run(tmp_path, *tasks)
    assert [step.action.thread for step in run.steps] == ["", "", "1", "1"]


def test_a_long_path_of_a_journal_is_an_attachment(tmp_path: Path) -> None:
    """Inspect keeps longer texts apart, also those that Ledger has noted."""
    noted = {"event": "info", "source": "execledger", "data": {"journal": "attachment://9f"}}
    log = write_log(tmp_path / "j.eval", sample(events=[noted], attachments={"9f": "/journals/one.jsonl"}))
    (source,) = find_recorded([str(log)])
    assert [*journal_names(log, source.read())] == [Path("/journals/one.jsonl")]


@pytest.mark.parametrize(("policy", "expected"), [([], "why"), ([{"policy": {"preset": "paper"}}], "")])
def test_that_ledger_took_no_part_is_read(tmp_path: Path, policy: list[Any], expected: str) -> None:
    """Unless it did in another conversation of the sample."""
    noted = [{"event": "info", "source": "execledger", "data": data} for data in [{"absent": "why"}, *policy]]
    (source,) = find_recorded([str(write_log(tmp_path / "j.eval", sample(events=noted)))])
    assert read_run(source.name, source.read()).without_ledger == expected


@pytest.mark.parametrize(
    ("message", "failure"),
    [
        ("RuntimeError('no disk')", "RuntimeError: 'no disk'"),
        ("docker.errors.APIError: 500", "APIError: 500"),
        ("out of disk: /", "error: out of disk: /"),
        ("", "error: "),
    ],
)
def test_an_error_is_a_failure_of_its_kind(tmp_path: Path, message: str, failure: str) -> None:
    """Reports count failures by what is before the colon."""
    log = write_log(tmp_path / "a.eval", sample(error={"message": message}, scores=None), sample(id="two"))
    rows = [row for _, row in collect([str(log)], shipped(), [])]
    assert [row.failure for row in rows] == [failure, ""]


@pytest.mark.parametrize(
    ("approver", "noted", "explanation", "expected"),
    [
        ("execledger/ledger", [], "to be run", OFF),
        ("execledger/ledger", [], SWITCHED_OFF, ""),
        ("execledger/ledger", [{"asked": {}}], "to be run", ""),
        ("execledger/ledger", [], None, ""),
        ("human", [], "fine", ""),
    ],
    ids=["not on", "off", "on", "no tool was called", "another approver"],
)
def test_a_forgotten_variable_makes_no_run_of_base(
    tmp_path: Path, approver: str, noted: list[Any], explanation: str | None, expected: str
) -> None:
    """The approver of Ledger was asked about calls, and not switched off on purpose: Ledger was meant to take part."""
    events: list[Any] = [{"event": "info", "source": "execledger", "data": data} for data in noted]
    if explanation is not None:
        events.append({"event": "approval", "approver": approver, "decision": "escalate", "explanation": explanation})
    config = {"approval": {"approvers": [{"name": approver, "tools": "*", "params": {}}]}}
    log = HEADER | {"eval": {**HEADER["eval"], "config": config}, "samples": [sample(events=events)]}
    (tmp_path / "a.json").write_text(json.dumps(log), encoding="utf-8")
    (run,) = read(tmp_path / "a.json")
    assert run.without_ledger == expected


PAPER = {"preset": "paper", "govern": False}
"""The fields of a policy that are not its defaults."""


@pytest.mark.parametrize(
    ("noted", "arm", "lacks_journal"),
    [
        ([], ("base", ""), False),
        ([{"asked": PAPER}], ("inform", "paper"), True),
        ([{"asked": {}}, {"policy": PAPER}], ("inform", "paper"), True),
    ],
    ids=["not asked for", "asked for", "took part"],
)
def test_a_sample_that_failed_before_its_first_model_call_is_in_its_arm(
    tmp_path: Path, noted: list[Any], arm: tuple[str, str], lacks_journal: bool
) -> None:
    """It took an unknown number of tokens and dollars, and not 0."""
    events = [{"event": "info", "source": "execledger", "data": data} for data in noted]
    failed = sample(events=events, messages=[], scores=None, error={"message": "no container"})
    log = write_log(tmp_path / "f.eval", failed)
    ((_, row),) = collect([str(log)], shipped(), [])
    assert ((row.arm, row.preset), row.lacks_journal) == (arm, lacks_journal)
    assert (row.ended, row.resolved, row.tokens, row.cost) == ("error: no container", None, None, None)


def test_a_copied_log_has_no_further_trials(tmp_path: Path) -> None:
    """Its samples have the same content, under the name of another file."""
    log = write_log(tmp_path / "f.eval", sample(events=[], messages=[]))
    (tmp_path / "copy.eval").write_bytes(log.read_bytes())
    skipped: Counter[str] = Counter()
    assert len([*collect([str(tmp_path)], shipped(), [], skipped=skipped)]) == 1
    assert skipped[SAME_CONTENT] == 1


def test_a_sample_that_asked_for_ledger_and_has_none_is_left_out(tmp_path: Path) -> None:
    """The reason counts, not the policy that was asked for."""
    events = [{"event": "info", "source": "execledger", "data": data} for data in ({"asked": PAPER}, {"absent": "why"})]
    (source,) = find_recorded([str(write_log(tmp_path / "f.eval", sample(events=events)))])
    run = read_run(source.name, source.read())
    assert (run.policy, run.without_ledger) == (None, "why")


@pytest.mark.parametrize("method", [8, 14, 99])
def test_a_damaged_member_is_named(tmp_path: Path, method: int) -> None:
    """Whatever the library for archives makes of it, and the other samples are read."""
    log = write_log(tmp_path / "a.eval", sample(), sample(id="two"))
    data = log.read_bytes()
    header = data.rindex(b"PK\x01\x02", 0, data.rindex(b"samples/two"))
    at = header + 10
    log.write_bytes(data[:at] + method.to_bytes(2, "little") + data[at + 2 :])
    first, second = find_recorded([str(log)])
    assert read_run(first.name, first.read()).steps
    with pytest.raises(UnreadableRun, match="found a damaged member, expected a sample: ") as caught:
        second.read()
    assert not isinstance(caught.value, ReaderFault)


def test_a_sample_that_is_none_has_no_journal() -> None:
    """Journals are looked for in whatever could be read."""
    assert [*journal_names(Path("a.eval"), b'{"inspect_log":{},"sample":[]}')] == []


@pytest.mark.parametrize(
    ("more", "ended"),
    [
        ({"scores": {"tests": {"value": 0}}}, "not solved"),
        ({"scores": {"tests": {"value": 0}}, "limit": {"type": "time", "limit": 6}}, "not solved, limit: time"),
        ({"scores": None, "limit": {"type": "token", "limit": 6}}, "limit: token"),
        ({"scores": {"tests": {"value": {"a": 1}}}}, "completed"),
    ],
)
def test_a_sample_ends_with_its_outcome(tmp_path: Path, more: dict[str, Any], ended: str) -> None:
    """The score tells whether it was solved; without one, only that it completed, or which limit it hit."""
    (run,) = read(write_log(tmp_path / "a.eval", sample(**more)))
    assert run.ended == ended
