"""Damaged recordings, journals and settings: each is read, or refused in words, and nothing hangs."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from execledger.agents.formats import read_run
from execledger.agents.openhands.kept import instances
from execledger.core.ledger import Ledger
from execledger.core.policy import Policy
from execledger.core.step import take
from execledger.errors import LedgerError, ReaderFault, UnreadableRun
from execledger.evaluate.metrics import measure
from execledger.evaluate.plan import Plan
from execledger.journal.codec import encode
from execledger.journal.reader import Trouble, read_events, read_journal, rebuild
from execledger.runs.account import Account
from execledger.runs.prices import load_prices, read_prices
from execledger.runs.recording import Run
from execledger.runs.replay import replay
from execledger.runs.totals import Totals
from execledger.viewer.counting import tallied
from execledger.vocabulary.actions import Action, Observation
from tests.agents.inspect_ai.test_recorded import HEADER, sample
from tests.agents.test_formats import LINES, SAMPLES
from tests.agents.test_logs import AGENTS
from tests.journal.runs import events_of, returning
from tests.runs.samples import encoded
from tests.runs.samples_agents import PROMPT, result, says, uses
from tests.support.faults.mutate import Gone, Mutator, each_change, watched
from tests.support.simulation.sessions import Session

Figure = Callable[[str], None]
EXEC = {"cmd": "cat a.py", "workdir": "/repo"}
ROLLOUT: list[dict[str, Any]] = [
    {"type": "session_meta", "timestamp": "t", "payload": {"id": "s", "cwd": "/repo", "cli_version": "0.166.0"}},
    {"type": "response_item", "payload": {"type": "message", "role": "user", "content": [{"text": "Mend it."}]}},
    {
        "type": "response_item",
        "payload": {"type": "function_call", "name": "exec_command", "call_id": "c", "arguments": json.dumps(EXEC)},
    },
    {
        "type": "response_item",
        "payload": {
            "type": "function_call_output",
            "call_id": "c",
            "output": "Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\na\n",
        },
    },
    {"type": "event_msg", "payload": {"type": "token_count", "info": {"last_token_usage": {"input_tokens": 5}}}},
    {"type": "compacted", "payload": {"message": "m", "replacement_history": []}},
]
TRANSCRIPT = [
    PROMPT,
    uses("m", "c", "Bash", command="cd src && cat a.py"),
    result("c", "one\ntwo\n", {"stdout": "one\ntwo\n", "interrupted": False}),
    says("m2", {"type": "tool_use", "id": "d", "name": "Read", "input": {"file_path": "/repo/a.py", "offset": 2}}),
    result("d", "     2→two\n"),
]
FILES_OF_LINES: list[Sequence[Any]] = [*(rows for _, rows in LINES), ROLLOUT, TRANSCRIPT]
NOTES: dict[str, list[dict[str, Any]]] = {
    "pi": [{"type": "compaction", "id": "n", "parentId": "m1", "summary": "x"}],
    "qwen-code": [{"uuid": "n", "sessionId": "s", "type": "system", "subtype": "rewind", "parentUuid": "u1"}],
    "copilot-cli": [{"type": "session.resume", "data": {"context": {"cwd": "/w"}}}, {"type": "session.truncation"}],
    "gemini-cli": [{"$set": {"messages": [{"id": "z", "type": "user", "content": [{"text": "x"}]}]}}],
}
"""Lines of other kinds than calls and results."""
SESSIONS: dict[str, list[dict[str, Any]]] = {
    name: [*agent.lines(agent.session()[1:3]), *NOTES[name]] for name, agent in AGENTS.items()
}
OPENCODE: dict[str, Any] = {
    "info": {"id": "s", "directory": "/w", "version": "1.2"},
    "messages": [
        {"info": {"role": "user", "time": {"created": 1}}, "parts": [{"type": "text", "text": "Mend it."}]},
        {
            "info": {
                "role": "assistant",
                "finish": "stop",
                "summary": False,
                "cost": 0.5,
                "modelID": "m",
                "time": {"created": 2},
                "tokens": {"input": 1, "output": 2, "reasoning": 1, "cache": {"read": 1, "write": 1}},
            },
            "parts": [
                {"type": "text", "text": "Hm.", "synthetic": False},
                {
                    "type": "tool",
                    "callID": "c",
                    "tool": "bash",
                    "state": {
                        "status": "completed",
                        "input": {"command": "ls"},
                        "output": "a",
                        "metadata": {"exit": 0},
                        "time": {"start": 1, "end": 2, "compacted": 5},
                    },
                },
            ],
        },
    ],
}
EVERY_TYPE: tuple[Any, ...] = (["a"], Gone, 10**30, "\ud800", {"a": 1}, None, True, 3, 0.5, "x", -1, [None], [{}])
"""Values of every type; the first ones have found most."""
SETTINGS = {
    "policy": 'preset = "paper"\nmax_nudges = 3\nshadow = false\nrepeat_window = 4\n',
    "plan": 'agent = "codex"\nmodel = "m"\narms = ["base", "full"]\ntrials = 2\n[settings]\na.b = 1\n',
    "prices": 'date = "2026-11-15"\n[models."m-1"]\nuncached = 1.25\noutput = 10\ncached = 0.1\n',
}


@cache
def journal() -> list[bytes]:
    """The lines of a journal of a short session with a reference, an edit and a failure in it."""
    ledger, steps = Ledger("Mend it.", Policy()), []
    for command in ("cat a.py", "grep -n x .", "cat a.py", "sed -i s/x/y/ a.py", "pytest -q", "sed -n 2,9p a.py"):
        status = int(command == "pytest -q")
        output = "" if command.startswith("sed -i") else "".join(f"{command[:3]} {n}: a line\n" for n in range(40))
        steps.append(take(ledger, Action(command, "/repo"), returning(Observation(output, exit_status=status))))
    return [encode(event) for event in events_of(Session(ledger, steps, []))]


def run_in(data: bytes) -> Run | None:
    """The run, or None if it is refused; a fault of ours is no refusal."""
    try:
        return read_run("x", data)
    except ReaderFault:
        raise
    except UnreadableRun as error:
        assert error.reason
        return None


def readable(data: bytes) -> bool:
    """Whether a run could be read; then it can be replayed as well."""
    run = run_in(data)
    if run is not None:
        list(replay(run, Policy()))
    return run is not None


@pytest.mark.guarantee("fail-open", "bounded")
def test_damaged_recordings_are_read_or_refused(full: bool, figure: Figure) -> None:
    """Every reader of recorded runs takes any damage: it gives a run that can be replayed, or says what is wrong."""
    rounds = 20_000 if full else 700
    mutator = Mutator(71, large=10_000_000 if full else 30_000)
    whole = [json.dumps(sample).encode() for sample in SAMPLES]
    whole += [b"\n".join(json.dumps(row).encode() for row in rows) for rows in FILES_OF_LINES]
    read = 0
    for number in range(rounds):
        sample, rows = SAMPLES[number % len(SAMPLES)], FILES_OF_LINES[number % len(FILES_OF_LINES)]
        data = (mutator.document(sample), mutator.lines(rows), mutator.data(whole))[number % 3]
        with watched(lambda n=number: f"input {n}"):  # type: ignore[misc]
            read += readable(data)
    figure(f"{rounds:,} damaged recordings: {read:,} read, {rounds - read:,} refused in words, 0 crashes")
    assert 0 < read < rounds


def countable(data: bytes) -> bool:
    """Whether a run could be read; then all that reports and the page say of it can be said."""
    run = run_in(data)
    if run is not None:
        measure(run, None, load_prices())
        tallied("x", data, None, None)
    return run is not None


def json_lines(rows: Sequence[Any]) -> bytes:
    """A file with one value on each line."""
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def objects() -> list[Any]:
    """A recording of every format that is one JSON value."""
    gemini = SESSIONS["gemini-cli"]
    return [
        *SAMPLES,
        {"inspect_log": HEADER, "sample": sample()},
        {**gemini[0], "messages": [row for row in gemini[1:] if row.get("type")]},
        OPENCODE,
    ]


@pytest.mark.guarantee("fail-open")
def test_recordings_with_one_odd_value_anywhere_are_read_or_refused(full: bool, figure: Figure) -> None:
    """Each value of each format is taken out and replaced by one of every other type, one at a time."""
    values = EVERY_TYPE if full else EVERY_TYPE[:3]
    files: list[tuple[Any, Callable[[Any], bytes]]] = [(value, encoded) for value in objects()]
    files += [([*rows], json_lines) for rows in (*FILES_OF_LINES, *SESSIONS.values(), map(json.loads, journal()))]
    read = number = 0
    for value, written in files:
        assert readable(written(value))
        for path, changed in each_change(value, values):
            number += 1
            with watched(lambda p=path, v=value: f"{str(v)[:60]} with another value at {p}"):  # type: ignore[misc]
                # What is behind the reader takes most of the time.
                read += bool((countable if full or number % 50 == 0 else run_in)(written(changed)))
    figure(f"{number:,} recordings with one odd value: {read:,} read, {number - read:,} refused in words, 0 crashes")
    assert 0 < read < number


@pytest.mark.guarantee("fail-open")
@pytest.mark.parametrize("rows", [*FILES_OF_LINES[:1], ROLLOUT, TRANSCRIPT, *SESSIONS.values()])
def test_one_odd_line_costs_no_other_line(rows: Sequence[Any]) -> None:
    """Whatever is behind the lines by which a format is recognised, the run is read, with a word about that line."""
    whole = run_in(json_lines(rows))
    assert whole is not None and not whole.trouble
    for at in range(2, len(rows) + 1):
        for odd in (b"{", b"[]", b"3", b'"x"', b"\xff\xfe", b"[" * 20_000, b'{"type": "us\0'):
            run = run_in(json_lines(rows[:at]) + odd + b"\n" + json_lines(rows[at:]))
            assert run is not None
            assert [one.observation for one in run.steps] == [one.observation for one in whole.steps]
            (said,) = run.trouble
            assert said.startswith(f"one line can't be read and was left out, line {at + 1}: ")


def told(data: bytes) -> str:
    """What every reader of journals makes of one; "" if it is none."""
    try:
        run = read_journal("x", data)
    except UnreadableRun:
        return ""
    trouble, summary, totals = Trouble(), Account(), Totals()
    for event in read_events("x", data, trouble):
        summary.add(event)
    totals.add("x", summary, trouble)
    rebuild(run)
    assert readable(data)
    return f"{len(run.steps)} {summary.sentence()} {totals.named} {run.trouble.sentences()}"


@pytest.mark.guarantee("fail-open", "step-in-flight")
def test_damaged_journals_are_read_or_refused(full: bool, figure: Figure) -> None:
    """Reading, summing up, rebuilding and replaying a journal take any damage to it."""
    rounds = 5_000 if full else 150
    rows = [json.loads(line) for line in journal()]
    mutator, read = Mutator(72, large=1_000_000 if full else 30_000), 0
    for number in range(rounds):
        data = mutator.lines(rows) if number % 2 else mutator.data([b"".join(journal())])
        with watched(lambda n=number: f"journal {n}"):  # type: ignore[misc]
            read += bool(told(data))
    figure(f"{rounds:,} damaged journals: {read:,} read, {rounds - read:,} refused in words, 0 crashes")
    assert 0 < read < rounds


@pytest.mark.guarantee("step-in-flight")
def test_a_journal_cut_at_any_byte_of_its_last_line_keeps_all_the_others(figure: Figure) -> None:
    """Wherever the last line breaks off, every event before it is there, and the tear is named."""
    *before, last = journal()[:-1]
    head = b"".join(before)
    steps = len(read_journal("x", head).steps)
    for at in range(len(last) - 1):
        run = read_journal("x", head + last[:at])
        assert (len(run.steps), run.trouble.torn) == (steps, at > 0)
    figure(f"a last line cut at each of {len(last):,} bytes: {steps} of {steps} steps kept")


@pytest.mark.guarantee("step-in-flight")
@pytest.mark.parametrize(
    "garbage", [b"\xff\xfe\n", b"{\n", b"\0" * 4096 + b"\n", b"[" * 20_000 + b"\n", b'"x"\n', b"9\n"]
)
def test_garbage_between_the_lines_of_a_journal_costs_nothing_else(garbage: bytes) -> None:
    """Foreign lines anywhere are counted, and every event is there."""
    whole = read_journal("x", b"".join(journal()))
    for at in range(1, len(journal())):
        run = read_journal("x", b"".join((*journal()[:at], garbage, *journal()[at:])))
        assert (run.steps, run.views, run.ended) == (whole.steps, whole.views, whole.ended)
        assert run.trouble.damaged == 1


def follow(kind: str, text: str, folder: Path) -> None:
    """Take settings as a command would."""
    if kind == "policy":
        Policy.from_toml(text)
    elif kind == "plan":
        Plan.from_toml(text).digest()
    else:
        file = folder / "prices.toml"
        file.write_bytes(text.encode("utf-8", "surrogatepass"))
        read_prices(file).price("m-1")


@pytest.mark.guarantee("fail-open")
@pytest.mark.parametrize("kind", SETTINGS)
def test_damaged_settings_are_followed_or_refused(kind: str, full: bool, figure: Figure, tmp_path: Path) -> None:
    """Policies, plans and price tables with any damage are followed, or the error says what is wrong."""
    rounds = 10_000 if full else 400
    mutator, taken = Mutator(73, large=20_000), 0
    texts = [*SETTINGS.values()]
    for _ in range(rounds):
        text = mutator.text([SETTINGS[kind]] * 3 + texts)
        with watched(lambda t=text: repr(t[:300])):  # type: ignore[misc]
            try:
                follow(kind, text, tmp_path)
                taken += 1
            except LedgerError as error:
                assert str(error)
    figure(f"{rounds:,} damaged {kind} files: {taken:,} followed, the others refused in words")
    assert 0 < taken < rounds


@pytest.mark.guarantee("fail-open")
@pytest.mark.parametrize(
    "text",
    ["a = " + "[" * 10_000, "a = " + "9" * 5000, "a = 1979-99-99", "a = 0x" + "f" * 9999, "a." * 500 + "b"],
)
def test_settings_that_the_toml_reader_chokes_on_are_refused(text: str, tmp_path: Path) -> None:
    """What the standard reader does not call an error of the text is one all the same."""
    for kind in SETTINGS:
        with pytest.raises(LedgerError):
            follow(kind, text, tmp_path)


@pytest.mark.guarantee("bounded")
def test_a_file_of_many_runs_is_taken_apart_whatever_is_in_it(full: bool, tmp_path: Path) -> None:
    """Finding the runs in a file of lines gives places that lie in the file, one behind the other."""
    rows = [SAMPLES[-2]] * 3
    mutator = Mutator(74, large=20_000)
    for _ in range(3_000 if full else 100):
        data = mutator.lines(rows)
        file = tmp_path / "many.jsonl"
        file.write_bytes(data)
        with file.open("rb") as opened:
            places = [(start, start + size) for _, start, size in instances(opened)]
        assert places == sorted(places) and all(0 <= start <= end <= len(data) for start, end in places)
