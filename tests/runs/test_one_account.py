"""One run has one set of numbers, wherever it is counted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from execledger.agents.formats import read_run
from execledger.cli.stats import add_up
from execledger.core.ledger import Ledger
from execledger.core.policy import Policy
from execledger.core.rereads import COUNTS, Rereads
from execledger.core.step import take
from execledger.evaluate.metrics import measure, measured
from execledger.evaluate.records import RunRow
from execledger.journal.events import ViewRendered, recorded
from execledger.runs.account import sentences
from execledger.runs.find import find_runs
from execledger.runs.prices import load_prices
from execledger.runs.recording import Recorded, Run
from execledger.runs.replay import INHERITED
from execledger.runs.usage import ModelCall, Tokens
from execledger.session.chronicle import Chronicle
from execledger.viewer.counting import RunLine, tallied
from execledger.viewer.runs import reading_of
from execledger.vocabulary.actions import Action, Observation
from execledger.vocabulary.decisions import Shown, Step
from tests.journal.runs import TASK, execledger, returning, start

Numbers = dict[str, float | None]

A, B = ("".join(f"{name}{line} = {line}\n" for line in range(60)) for name in "ab")
FAILED = Observation("1 failed\n", exit_status=1)
CHILD = "child"
TURNS: tuple[tuple[str, Observation, str], ...] = (
    ("cat a.py", Observation(A, exit_status=0), ""),
    ("cat a.py", Observation(A, exit_status=0), ""),
    ("python -m pytest", FAILED, ""),
    ("python -m pytest", FAILED, ""),
    ("cat b.py", Observation(B, exit_status=0), ""),
    ("touch c.py", Observation("", exit_status=0), ""),
    ("cat b.py", Observation(B, exit_status=0), ""),
    ("ls", Observation("a.py\nb.py\n", exit_status=0), CHILD),
    ("sleep 900", Observation("", timed_out=True), ""),
)
"""A command that is suppressed, one that is nudged, one whose output is elided, a forked thread, an interruption."""
EXPECTED: Numbers = {
    "proposed": 9,
    "executed": 8,
    "suppressed": 1,
    "elided": 1,
    "nudged": 1,
    **dict.fromkeys(COUNTS, 0),
    "rereads": 2,
    "covered_rereads": 2,
    "exact_rereads": 2,
    "model_calls": 10,
    "input_tokens": 10_000,
    "cached_tokens": 9_000,
    "output_tokens": 100,
    "cost": 0.25,
    "faults": 1,
}


class Told(msgspec.Struct):
    """A run, as it happened."""

    path: Path
    """Its journal."""
    chronicle: Chronicle
    """What counted it while it happened."""


@pytest.fixture
def told(tmp_path: Path) -> Told:
    """A run that is written step by step, as an adapter does it; its eighth step is inherited from the first."""
    chronicle = Chronicle(tmp_path, "one", lambda _: None)
    chronicle.note(start(agent="an agent 2", model="gpt-5"))
    ledger, rereads = Ledger(TASK, Policy()), Rereads()
    for turn, (command, result, thread) in enumerate(TURNS):
        chronicle.add_call(ModelCall(Tokens.of(1000, 900, output=10), 0.025))
        if thread:
            _record(chronicle, ledger, rereads, _inherited(ledger, thread), turn)
        sealed = True
        text = ledger.inform(range(len(ledger)), sealed, thread).text
        chronicle.note(ViewRendered(index=len(ledger), text=text, thread=thread))
        if command == "ls":
            chronicle.fault("govern", ValueError("planted"))
        step = take(ledger, Action(command, "/repo", thread=thread), returning(result), range(len(ledger)), sealed)
        _note(chronicle, ledger, rereads, step, turn)
    chronicle.add_call(ModelCall(Tokens.of(1000, 900, output=10), 0.025))
    chronicle.end("Submitted")
    assert chronicle.journal is not None
    return Told(Path(chronicle.journal), chronicle)


def _inherited(ledger: Ledger, thread: str) -> Step:
    action = Action("cat a.py", "/repo", thread=thread)
    return Step(action, INHERITED, Observation(A, exit_status=0), Shown("full"), inherits=0)


def _record(chronicle: Chronicle, ledger: Ledger, rereads: Rereads, step: Step, turn: int) -> None:
    ledger.record(step)
    _note(chronicle, ledger, rereads, step, turn)


def _note(chronicle: Chronicle, ledger: Ledger, rereads: Rereads, step: Step, turn: int) -> None:
    again = rereads.take(step, ledger.classify(step.action)) or "none"
    chronicle.note(replace(recorded(ledger, step, turn=turn, sealed=True), snippet=again))


def stats(told: Told) -> Numbers:
    """The numbers of ``execledger stats``."""
    found = msgspec.json.decode(execledger("stats", "--json", str(told.path)).stdout)
    return {
        **found["counts"],
        "executed": found["counts"]["ran"],
        **{name: found[name] for name in ("model_calls", "input_tokens", "cached_tokens", "output_tokens", "cost")},
        **{name: found["net"][name] for name in ("saved", "spent", "net")},
    }


def replayed(told: Told) -> Numbers:
    """The numbers of ``execledger replay``, which makes every decision again; faults are those of the replay."""
    found = msgspec.json.decode(execledger("replay", "--json", str(told.path)).stdout)
    numbers = {name: found[name] for name in (*COUNTS, "view_bytes", "saved_bytes")}
    suppressed = sum(found["reuses"].values())
    done = {"suppressed": suppressed, "elided": sum(found["elided"].values()), "nudged": found["remarks"]}
    calls = {"proposed": found["calls"], "executed": found["calls"] - suppressed, "model_calls": found["turns"]}
    return numbers | done | calls | {name: found["net"][name] for name in ("saved", "spent", "net")}


def listed(told: Told) -> Numbers:
    """The numbers in the viewer's list."""
    return _line(tallied("one", told.path.read_bytes(), None, None)[0])


def listed_replay(told: Told) -> Numbers:
    """The numbers in the viewer's list for a replay of the run."""
    line = _line(tallied("one", told.path.read_bytes(), Policy(), None)[0])
    return {name: number for name, number in line.items() if name != "faults"}


def page(told: Told) -> Numbers:
    """The numbers on the run's own page."""
    reading = reading_of("one", told.path.read_bytes(), None, None)
    reading.read()
    return _line(reading.line())


def _line(line: RunLine) -> Numbers:
    same = "elided rereads view_bytes saved_bytes input_tokens cached_tokens output_tokens cost faults".split()
    return {
        **{name: getattr(line, name) for name in same},
        "proposed": line.steps,
        "executed": line.steps - line.reuses,
        "suppressed": line.reuses,
        "nudged": line.nudges,
        "model_calls": line.turns,
        "saved": line.saved_cost,
        "spent": line.spent_cost,
        "net": line.net_cost,
    }


def evaluated(told: Told) -> Numbers:
    """The numbers of the evaluation's row."""
    (row,) = measured([str(told.path)], load_prices(), [])
    return _row(row)


def _row(row: RunRow) -> Numbers:
    assert row.tokens is not None
    assert row.counts is not None and row.counts.proposed == row.proposed
    return {
        **msgspec.to_builtins(row.counts),
        "executed": row.counts.ran,
        "model_calls": row.model_calls,
        "input_tokens": row.tokens.input,
        "cached_tokens": row.tokens.cached,
        "output_tokens": row.tokens.output,
        "cost": row.reported_cost,
    }


def while_it_ran(told: Told) -> Numbers:
    """The numbers of the summary at the end of the run, which were counted while it ran."""
    run = told.chronicle.summary
    counts: dict[str, Any] = msgspec.to_builtins(run.counts)
    tokens = {f"{name}_tokens": getattr(run.took.tokens, name) for name in ("input", "cached", "output")}
    return {**counts, "executed": run.counts.ran, "model_calls": run.model_calls, **tokens, "cost": run.took.cost}


@pytest.mark.parametrize("count", [stats, replayed, listed, listed_replay, page, evaluated, while_it_ran])
def test_one_run_has_one_set_of_numbers(told: Told, count: Callable[[Told], Numbers]) -> None:
    """Whoever counts an inherited, suppressed, elided, nudged, interrupted or faulty step gives the same numbers."""
    reference = listed(told)
    expected = EXPECTED | {name: reference[name] for name in ("view_bytes", "saved_bytes", "saved", "spent", "net")}
    found = {name: number for name, number in count(told).items() if name in expected}
    assert found == pytest.approx({name: expected[name] for name in found})
    assert len(found) >= 13


def test_the_sentence_at_the_end_has_the_same_numbers(told: Told) -> None:
    """What a person reads when the run is over is what ``stats`` adds up later."""
    (run,) = (told.chronicle.summary,)
    assert sentences([run])[0] == "Ledger: 9 commands, 1 reused before running, 1 after, 1 nudged; 1 fault"
    totals, _ = add_up(find_runs([str(told.path)]))
    assert totals.counts == run.counts and not totals.incomplete and totals.named == []


def test_the_paper_counts_executed_commands_alike_with_and_without_ledger(told: Told) -> None:
    """An inherited call is executed once, in a base run as in the same run under Ledger; a suppressed one is not."""
    run = read_run("one", told.path.read_bytes())
    base = Run(
        name="base",
        format="other",
        agent=run.agent,
        model=run.model,
        task=run.task,
        container=True,
        turns=run.turns,
        steps=tuple(Recorded(one.action, one.observation, one.turn, inherits=one.inherits) for one in run.steps),
    )
    without = measure(base, None, load_prices())
    (row,) = measured([str(told.path)], load_prices(), [])
    assert [without.count(name) for name in ("proposed", "ran", "suppressed")] == [9, 9, 0]
    assert [row.count(name) for name in ("proposed", "ran", "suppressed")] == [9, 8, 1]


def test_why_explains_the_call_that_was_asked_for(told: Told) -> None:
    """Also one behind an inherited call, which a replay does not judge, and that call itself."""
    commands = [one.action.command for one in read_run("one", told.path.read_bytes()).steps]
    found = [
        msgspec.json.decode(execledger("why", "--json", "--preset", "paper", str(told.path), str(number)).stdout)
        for number in range(len(commands))
    ]
    assert [one["command"] for one in found] == commands
    assert [one["category"] for one in found[-3:]] == ["inspect", "search", "other"]
    assert found[-3]["rule"] == "inherited"
