"""The comparison with rivals counts right: what is redundant, what is wrong, and what became of the bytes.

No rival is installed here. Their drivers run against small stand-ins that answer as the real packages do.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from benchmarks import _rivals, peers
from benchmarks._loops import Case, loops, ok, works
from benchmarks._peer_accounts import (
    SHELL,
    Account,
    Answer,
    Balance,
    Report,
    Text,
    add_compressor,
    add_detector,
    add_ledger,
    ledger_account,
    lost_lines,
    size,
)
from benchmarks._peer_runs import NeutralRun, Sample, Sampled, encoded, result_text, sample, shared_out, texts_of
from benchmarks._peer_truth import Kind, normal_form, truth
from benchmarks._played import fill, run_in
from benchmarks._rivals import GEMINI, HEADROOM, OPENHANDS, NotInstalledError, Rival, command_of, converse, drive
from execledger.core.policy import Preset
from execledger.runs.recording import Recorded, Run
from execledger.runs.replay import replay
from execledger.vocabulary.actions import Action, Edit, Observation, Read, Search

CASES = [pytest.param(case, id=case.name) for case in (*loops(), *works())]
LONG = "".join(f"line {number} of a file that is worth a reference\n" for number in range(40))


def made(*steps: tuple[str, str], redundant: frozenset[int] = frozenset()) -> Run:
    """A run of shell commands and their outputs."""
    return Case("made", tuple((command, ok(output)) for command, output in steps), redundant).sampled().run


# What is redundant


@pytest.mark.parametrize("case", CASES)
def test_the_truth_of_made_loops_is_what_is_written_beside_them(case: Case) -> None:
    """The rule that judges recorded runs finds the redundant calls that were marked by hand, and no others."""
    found = {index for index, kind in enumerate(truth(case.sampled().run)) if kind}
    assert found == case.redundant


def test_every_kind_of_redundant_call_is_told_apart() -> None:
    """A repeat, a covered read and a rerun are named as such, and an edit in between makes a rerun new."""
    part = "".join(LONG.splitlines(keepends=True)[4:10])
    run = made(
        ("cat a.py", LONG),
        ("sed -n 5,10p a.py", part),
        ("cat a.py", LONG),
        ("python x.py", "boom after 0.12s\n"),
        ("python x.py", "boom after 0.31s\n"),
        ("sed -i s/line/row/ b.py", ""),
        ("python x.py", "boom after 0.12s\n"),
        ("grep zzz a.py", ""),
        ("grep zzz a.py", ""),
    )
    assert truth(run) == ("", "covered", "repeat", "", "rerun", "", "", "", "repeat")


def test_short_answers_of_different_commands_are_no_repeats() -> None:
    """Two commands that both print one short line did not ask for the same thing."""
    assert truth(made(("wc -l < a.py", "12\n"), ("wc -l < b.py", "12\n"))) == ("", "")


def test_what_was_not_visible_makes_nothing_redundant() -> None:
    """A compaction, another thread, and a call that ran beside it do not count as seen."""
    run = made(("cat a.py", LONG), ("cat a.py", LONG))
    aside = replace(run.steps[1], action=Action("cat a.py", "/testbed", thread="other"))
    beside = tuple(replace(step, turn=0) for step in run.steps)
    assert truth(run) == ("", "repeat")
    assert truth(replace(run, compactions=(1,))) == ("", "")
    assert truth(replace(run, steps=(run.steps[0], aside))) == ("", "")
    assert truth(replace(run, steps=beside, parallel=True)) == ("", "")


def test_a_result_that_is_not_wholly_recorded_proves_nothing() -> None:
    """Two results that look the same where both were cut may differ in what was left out."""
    run = made(("python x.py", LONG), ("python x.py", LONG))
    cut = tuple(replace(step, observation=replace(step.observation, truncated=True)) for step in run.steps)
    assert truth(run) == ("", "rerun")
    assert truth(replace(run, steps=cut)) == ("", "")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("cat  a.py", "cd /testbed && cat 'a.py'", True),
        ("cat a.py", "cat b.py", False),
        ("echo 'a  b'", "echo 'a b'", False),
        ("echo 'it is open", "echo 'it is open", True),
    ],
)
def test_the_normal_form_is_the_words_of_a_command(one: str, other: str, same: bool) -> None:
    """Spacing, quoting and a leading ``cd`` do not make another command; what is quoted does."""
    assert (normal_form(one) == normal_form(other)) is same


# Ledger's account


def test_ledger_is_charged_for_what_it_adds() -> None:
    """References and views are taken off what references save, each as often as a model reads it."""
    run = made(("cat a.py", LONG), ("ls", "a.py\n"), ("cat a.py", LONG), ("ls -a", ". ..\n"))
    calls = list(replay(run))
    kinds: tuple[Kind, ...] = ("", "", "repeat", "")
    account = Account("Ledger", "ledger")
    add_ledger(account, run, calls, kinds)
    (reference,) = [call.shown.text for call in calls if call.shown.kind == "reference"]
    views = sum(size(call.view.text) for call in calls if call.view)
    # Of five model calls, two come after the third turn, and each output is read by all that follow it.
    sent = 4 * size(LONG) + 3 * 5 + 2 * size(LONG) + 1 * 5
    assert account.bytes == {SHELL: Balance(sent, 2 * size(LONG), 2 * size(reference) + views)}
    assert (account.found, account.wrong, account.missed) == ({"repeat": 1}, 0, {})


def test_a_reference_to_something_else_is_false() -> None:
    """Had the file been another one when it was read first, the reference would be counted as false."""
    run = made(("cat a.py", LONG), ("cat a.py", LONG))
    calls = list(replay(run))
    other = replace(run.steps[0], observation=ok(LONG.replace("file", "tree")))
    account = Account("Ledger", "ledger")
    add_ledger(account, replace(run, steps=(other, run.steps[1])), calls, ("", ""))
    assert (account.false, account.wrong) == (1, 1)


def test_omitted_lines_are_judged_one_by_one() -> None:
    """Those of a partly shown output, at their places in the result that is named; only what they take is saved."""
    lines = [f"line {number} of a file that is long enough to be worth it\n" for number in range(1, 61)]
    run = made(("head -n 30 a.py", "".join(lines[:30])), ("cat a.py", "".join(lines)))
    calls = list(replay(run))
    assert [call.shown.kind for call in calls] == ["full", "partial"]
    account = Account("Ledger", "ledger")
    add_ledger(account, run, calls, ("", ""))
    less = account.bytes[SHELL].saved - size(calls[1].shown.text)
    assert (account.false, account.wrong, less) == (0, 0, size("".join(lines[:27])) - size(f"{calls[1].shown.text}\n"))
    other = replace(run.steps[0], observation=ok("".join(lines[:20]) + "".join(lines[21:31])))
    wrong = Account("Ledger", "ledger")
    add_ledger(wrong, replace(run, steps=(other, run.steps[1])), calls, ("", ""))
    assert (wrong.false, wrong.wrong) == (1, 1)


def test_what_ledger_lets_pass_has_a_reason() -> None:
    """A redundant result that is shown in full is counted by why it was."""
    part = "".join(LONG.splitlines(keepends=True)[4:8])
    run = made(("cat a.py", LONG), ("sed -n 5,8p a.py", part), ("python x.py", LONG), ("python x.py", LONG))
    run = replace(run, container=False)
    account = ledger_account([Sampled(run)], [truth(run)], Preset.VERIFIED)
    assert account.missed == {"not worth its price": 1, "not a known reader or searcher": 1}
    assert account.seconds > 0 and account.checks == account.calls == 4


@pytest.mark.parametrize("case", CASES)
def test_ledger_is_never_wrong_about_made_loops(case: Case) -> None:
    """No reference and no remark stands at a call that is not redundant."""
    kinds = peers.case_truth(case)
    assert ledger_account([case.sampled()], [kinds], Preset.VERIFIED).wrong == 0
    assert peers.played_account([case]).wrong == 0


@pytest.mark.parametrize("name", ["a failing script, 6 times", "failing tests, 6 times", "the same read, 6 times"])
def test_a_case_that_is_played_gives_the_results_that_it_has(name: str, tmp_path: Path) -> None:
    """The programs in its folder print what the rivals are told, and their first repetition is spoken of."""
    case = next(one for one in loops() if one.name == name)
    root, programs = tmp_path / "testbed", tmp_path / "bin"
    fill(root, programs)
    for command, result in case.steps:
        done = run_in(root, programs, command)
        assert (done.stdout, done.stderr, done.returncode) == (result.output, "", result.exit_status)
    assert peers.played_account([case]).first[name][0].call == 1


# A rival's account


def test_an_alarm_is_right_only_at_a_redundant_call() -> None:
    """A detector's reports are counted as found or as wrong."""
    run = made(("cat a.py", LONG), ("cat a.py", LONG), ("ls", "a.py\n"))
    answer = Answer(checks=3, seconds=0.5, reports=(Report(1, "loop"), Report(2, "loop")))
    account = Account("detector", "detector")
    add_detector(account, run, answer, truth(run))
    assert (account.found, account.wrong, account.reports) == ({"repeat": 1}, 1, {"loop": 2})
    assert account.per_call == pytest.approx(0.5 / 3)


def test_a_compressor_is_weighed_request_by_request() -> None:
    """Bytes count from the request on that shows them, and a result that changes after it was shown is a rewrite."""
    run = made(("cat a.py", "one\ntwo\n"), ("ls", "a.py\n"), ("ls", "a.py\n"), ("ls", "a.py\n"))
    answer = Answer(texts=(Text(1, 0, "one\n"), Text(3, 0, "much longer than it was")), other=7)
    account = Account("compressor", "compressor")
    add_compressor(account, Sampled(run), answer, ("",) * 4)
    # Two requests save four bytes each; the last two of five add fifteen each.
    total = account.total
    assert (total.saved, total.added, account.rewritten, account.lossy) == (8, 2 * 15 + 7, 1, 1)
    # The third request changes the first of the three results that it holds.
    assert account.disturbed == 8 + 5 + 5
    assert account.reports == {"shortened": 1}


def test_lines_below_a_heading_are_not_lost() -> None:
    """Matches that are grouped by file are all still there; a match that is left out is not."""
    original = "src/a.py:12:    first match\nsrc/a.py:40:    second match\n"
    assert lost_lines(original, "src/a.py\n12:    first match\n40:    second match\n") == []
    assert lost_lines(original, "src/a.py\n12:    first match\n[1 more]") == ["src/a.py:40:    second match"]


@pytest.mark.parametrize(("source", "quoted"), [("other", 1), ("def compute(seed, scale):", 0)])
def test_a_lost_line_matters_where_it_is_quoted(source: str, quoted: int) -> None:
    """A line is missed if a later command types it and no other result holds it."""
    run = made(
        ("cat a.py", "def compute(seed, scale):\n    return seed\n"),
        ("cat b.py", source + "\n"),
        ("grep -n 'def compute(seed, scale):' -r .", "a.py:1\n"),
    )
    account = Account("compressor", "compressor")
    answer = Answer(texts=(Text(1, 0, "gone; retrieve: hash=0123456789ab"),))
    add_compressor(account, Sampled(run), answer, ("",) * 3)
    assert (account.lossy, account.retrievable, account.quoted) == (1, 1, quoted)


# The runs


def trajectory(command: str, words: str) -> str:
    """A run of mini-swe-agent with one call."""
    asked = {"role": "assistant", "content": words, "extra": {"actions": [{"command": command}]}}
    came = {"role": "tool", "content": "x", "extra": {"raw_output": "x\n", "returncode": 0}}
    messages = [{"role": "user", "content": "Do it."}, asked, came]
    return json.dumps({"trajectory_format": "mini-swe-agent-1.1", "info": {}, "messages": messages})


def test_the_sample_is_the_same_wherever_the_runs_lie(tmp_path: Path) -> None:
    """The same runs are taken, in the same order, and what is no run is counted."""
    names: list[list[str]] = []
    for folder in ("here", "there"):
        place = tmp_path / folder
        place.mkdir()
        for number in range(6):
            (place / f"{number}.json").write_text(trajectory(f"ls {number}", "I look.\n```bash\nls\n```"))
        (place / "other.json").write_text("{}")
        found = sample([str(place)], 4)
        assert found.unreadable == 1
        assert {one.texts for one in found.runs} == {("I look.",)}
        names.append([Path(one.run.name).name for one in found.runs])
    assert names[0] == names[1]
    assert len(set(names[0])) == 4


def test_the_sample_is_even_over_formats() -> None:
    """Every format gives as many runs as the others, as long as it has some."""
    run = made(("ls", "a\n"))
    kept = {
        name: [(f"{number}", Sampled(replace(run, name=f"{name}{number}", format=name))) for number in range(count)]
        for name, count in (("a", 5), ("b", 1), ("c", 5))
    }
    assert [one.run.name for one in shared_out(kept, 6)] == ["a0", "b0", "c0", "a1", "c1", "a2"]


def test_drivers_read_calls_in_a_neutral_shape() -> None:
    """Shell commands and file tools carry common names, and what the model wrote stands beside its call."""
    observation = Observation("out", stderr="err", exit_status=2)
    actions = [
        Action("ls"),
        Action("read {}", call=Read("a.py", 3, 9)),
        Action("edit {}", call=Edit("a.py", "old", "new")),
        Action('glob {"pattern":"*"}', call=Search()),
    ]
    steps = tuple(Recorded(action, observation, turn) for turn, action in enumerate(actions))
    sampled = Sampled(replace(made(("ls", "x")), steps=steps), ("I list.",))
    (line,) = encoded([sampled])
    found = msgspec.json.decode(line, type=NeutralRun)
    assert [(call.tool, call.args) for call in found.calls] == [
        ("bash", {"command": "ls"}),
        ("Read", {"file_path": "a.py", "offset": 3, "limit": 7}),
        ("Edit", {"file_path": "a.py", "old_string": "old", "new_string": "new"}),
        ("glob", {"command": 'glob {"pattern":"*"}'}),
    ]
    assert [call.text for call in found.calls] == ["I list.", "", "", ""]
    assert {(call.output, call.failed) for call in found.calls} == {(result_text(observation), True)}


@pytest.mark.parametrize("data", [b"no JSON", b"[]", b'{"messages": [1]}'])
def test_a_run_without_words_has_none(data: bytes) -> None:
    """What the model wrote is left out where it can't be told."""
    assert texts_of(data, 3) == ()


# The drivers


@pytest.fixture
def environments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of the test's own in place of the one that rivals are installed in."""
    monkeypatch.setattr(_rivals, "ENVIRONMENTS", tmp_path / "rivals")
    return tmp_path / "rivals"


def driver(folder: Path, body: str) -> list[str | Path]:
    """A driver in a few lines."""
    script = folder / "driver.py"
    script.write_text(f"import json, sys\n{body}")
    return [sys.executable, script]


GREETING = f"print(json.dumps({{'version': {HEADROOM.version!r}}}), flush=True)\n"


@pytest.mark.usefixtures("environments")
def test_a_driver_answers_line_by_line(tmp_path: Path) -> None:
    """Each run is answered before the next one is given, also where it is larger than a pipe."""
    body = f"{GREETING}for line in sys.stdin:\n    print(json.dumps({{'checks': len(line)}}), flush=True)\n"
    runs = [b"x" * length + b"\n" for length in (3, 300_000, 5)]
    assert [one.checks for one in converse(driver(tmp_path, body), runs, HEADROOM)] == [4, 300_001, 6]


@pytest.mark.usefixtures("environments")
@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("sys.exit('no module of that name')\n", "no module of that name"),
        ("print(json.dumps({'version': '0.0.1'}), flush=True)\n", "found version 0.0.1, expected"),
        (GREETING + "sys.stdin.readline()\nsys.exit('out of order')\n", "out of order"),
        (GREETING + "sys.stdin.readline()\nprint('garbage', flush=True)\n", "no reason given"),
    ],
)
def test_a_driver_that_fails_is_told_of_in_one_sentence(tmp_path: Path, body: str, reason: str) -> None:
    """Whatever is wrong with a rival becomes the reason why it is left out."""
    with pytest.raises(NotInstalledError, match=reason) as found:
        list(converse(driver(tmp_path, body), [b"{}\n"], HEADROOM))
    assert "\n" not in str(found.value)


def stand_in(folder: Path, package: str, version: str, files: dict[str, str]) -> None:
    """A package of Python that is as small as its driver allows."""
    metadata = f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n"
    for name, text in {**files, f"{package}-{version}.dist-info/METADATA": metadata}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


HEADROOM_STAND_IN = """
class Made:
    def __init__(self, messages): self.messages = messages

def compress(messages, mode=""):
    print("a word too many")
    for message in messages:
        if message["role"] == "tool" and len(messages) > 4:
            message["content"] = message["content"][:3] + mode
    return Made(messages)
"""


def answered(rival: Rival, folder: Path, case: Case, monkeypatch: pytest.MonkeyPatch, *options: str) -> Answer:
    """What a rival's own driver says about a case, with a stand-in below it."""
    command = command_of(rival)
    if rival.python is not None:
        monkeypatch.setenv("PYTHONPATH", str(folder))
        command[0] = sys.executable
    (answer,) = converse([*command, *options], encoded([case.sampled()]), rival)
    return answer


@pytest.mark.usefixtures("environments")
def test_the_driver_of_headroom_asks_for_every_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It tells from which request on which result is shown in which way, and passes the mode on."""
    stand_in(tmp_path, "headroom_ai", HEADROOM.version, {"headroom/__init__.py": HEADROOM_STAND_IN})
    case = Case("three", (("ls", ok("first")), ("ls", ok("second")), ("ls", ok("third"))), frozenset())
    answer = answered(HEADROOM, tmp_path, case, monkeypatch, "agent")
    texts = (Text(2, 0, "firagent"), Text(2, 1, "secagent"), Text(3, 2, "thiagent"))
    assert (answer.checks, answer.texts, answer.other) == (3, texts, 0)


OPENHANDS_STAND_IN = {
    "openhands/sdk/event.py": "class Kept:\n    id = 1\n    def __init__(self, **k): self.k = k\n"
    "class ActionEvent(Kept): pass\nclass ObservationEvent(Kept): pass\n",
    "openhands/sdk/llm.py": "class MessageToolCall:\n    def __init__(self, **k): pass\n"
    "class TextContent(MessageToolCall): pass\n",
    "openhands/sdk/mcp/definition.py": "class MCPToolAction:\n    def __init__(self, data): self.data = data\n"
    "class MCPToolObservation:\n    from_text = staticmethod(lambda text, is_error, tool_name: text)\n",
    "openhands/sdk/conversation/stuck_detector.py": "class StuckDetector:\n"
    "    def __init__(self, state): self.state = state\n"
    "    def is_stuck(self):\n"
    "        found = [e.k['observation'] for e in self.state.active_branch(limit=4) if 'observation' in e.k]\n"
    "        return len(found) == 2 and found[0] == found[1]\n",
}


@pytest.mark.usefixtures("environments")
def test_the_driver_of_openhands_asks_after_every_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The detector is given an action and an observation for each call, and asked after both."""
    stand_in(tmp_path, "openhands_sdk", OPENHANDS.version, OPENHANDS_STAND_IN)
    case = Case("four", tuple(("ls", ok(text)) for text in "aabb"), frozenset(), reworded=True)
    answer = answered(OPENHANDS, tmp_path, case, monkeypatch)
    assert (answer.checks, answer.reports) == (4, (Report(1, "loop"), Report(3, "loop")))


GEMINI_STAND_IN = """
export class LoopDetectionService {
  constructor(context) { this.context = context; this.last = ""; this.found = 0; }
  reset() {}
  clearDetection() { this.found = 0; }
  addAndCheck(event) {
    if (this.context.config.getDisableLoopDetection() || event.type !== "call") return { count: 0 };
    const key = JSON.stringify(event.value.args);
    this.found += key === this.last;
    this.last = key;
    return { count: this.found };
  }
}
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_the_driver_of_gemini_goes_on_after_a_report(environments: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every call is an event, and a detection is cleared so that the next one can be told."""
    core = environments / GEMINI.key / "node_modules" / "@google" / "gemini-cli-core"
    turn = 'export const GeminiEventType = { Content: "content", ToolCallRequest: "call" };\n'
    files = {"services/loopDetectionService.js": GEMINI_STAND_IN, "core/turn.js": turn}
    for name, text in files.items():
        (core / "dist" / "src" / name).parent.mkdir(parents=True, exist_ok=True)
        (core / "dist" / "src" / name).write_text(text)
    (core / "package.json").write_text(json.dumps({"version": GEMINI.version, "type": "module"}))
    case = Case("four", tuple((command, ok("x")) for command in ("ls", "ls", "pwd", "pwd")), frozenset(), reworded=True)
    answer = answered(GEMINI, core, case, monkeypatch)
    assert (answer.checks, answer.reports) == (4, (Report(1, "loop"), Report(3, "loop")))


# The table


def test_a_rival_that_cannot_be_had_is_named(
    environments: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without npm its column says that it is not installed, a line says why, and the others are there."""
    monkeypatch.setenv("PATH", str(environments))
    monkeypatch.setattr(peers, "CONTENDERS", (peers.Contender(GEMINI),))
    run = made(("cat a.py", LONG), ("cat a.py", LONG))
    sets = (peers.Judged([Sampled(run)], [truth(run)]),) * 2
    pairs = [peers.ledger_accounts(sets), *(peers.rival_accounts(one, sets) for one in peers.CONTENDERS)]
    peers.report(Sample([Sampled(run)]), sets[0].truths, [*loops()], pairs)
    printed = capsys.readouterr().out
    assert "Gemini CLI core 0.61.0 is not installed: found no node and npm" in printed
    assert "| redundant calls found | 1 of 1 (100%) | not installed |" in printed
    assert printed.endswith(
        "peers: held: of 1 redundant calls found: Ledger, `verified` 1, 0 wrong; Gemini CLI core 0.61.0 not installed\n"
    )


def test_the_page_shows_what_this_script_compares() -> None:
    """The table in the documents has a column for each tool at the version that would be installed today."""
    page = (_rivals.ROOT / "docs" / "peers.md").read_text(encoding="utf-8")
    heads = ["Ledger, `verified`", *(contender.name for contender in peers.CONTENDERS)]
    assert page.count(f"|  | {' | '.join(heads)} |") == 2
    assert [case.name for case in (*loops(), *works()) if f"| {case.name} |" not in page] == []


def test_a_version_that_is_installed_is_not_installed_again(
    environments: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stamp of the pinned version is enough; without it, or with another, the package manager is asked."""
    monkeypatch.setenv("PATH", str(environments))
    (environments / GEMINI.key).mkdir(parents=True)
    stamp = environments / GEMINI.key / "installed"
    stamp.write_text(GEMINI.requirement)
    _rivals.install(GEMINI)
    stamp.write_text("another version")
    with pytest.raises(NotInstalledError, match="found no node and npm"):
        list(drive(GEMINI, []))


def test_what_is_said_of_a_case_names_the_first_call() -> None:
    """Calls are counted from 1 there, as people do."""
    loop = Case("loop", (("ls", ok("x")),) * 4, frozenset({1, 2, 3}))
    idle = replace(loop, redundant=frozenset())
    detector = Account("d", "detector", first={"loop": (Report(2, "loop"), Report(3, "loop"))})
    compressor = Account("c", "compressor", first={"loop": (Report(0, "shortened"),)})
    assert peers.spoken(loop, detector) == "2 of 3, from call 3"
    assert peers.spoken(idle, detector) == "**wrong** 2 times, from call 3"
    assert peers.spoken(loop, compressor) == "shortens 1 of 4"
    assert peers.spoken(idle, Account("d", "detector")) == "right: silent"


@pytest.mark.parametrize("arguments", [[], ["corpus", "many"], ["corpus", "0"], ["a", "1", "b"]])
def test_a_wrong_command_line_is_explained(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a corpus, or with a count that is none, the usage is printed and the exit status is 2."""
    monkeypatch.setattr(sys, "argv", ["peers", *arguments])
    assert peers.main() == 2
    assert capsys.readouterr().err.startswith(peers.USAGE)


def test_a_folder_without_runs_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is installed or compared where there is nothing to compare on."""
    monkeypatch.setattr(sys, "argv", ["peers", str(tmp_path)])
    assert peers.main() == 2
    assert capsys.readouterr().err == f"peers: {tmp_path}: found no recorded run, expected some\n"
