"""One event, one line."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from execledger.journal import Ended, Event, FaultCaught, StepRecorded, ViewRendered
from execledger.journal.codec import Decoded, decode, encode
from execledger.journal.events import Counts, Sighted
from execledger.vocabulary.actions import Action, Edit, Observation
from execledger.vocabulary.decisions import Fingerprint, Reuse, Shown, Step
from execledger.vocabulary.sightings import FileSighting, ResultSighting, SightedLines, Sighting, Verdict
from tests.journal.runs import plain_step, start

SECRET = "sk-" + "ant-api03-0123456789abcdef"
STEP = StepRecorded(
    index=3,
    turn=2,
    step=Step(
        Action("edit a.py", "/repo", Edit("a.py", "old", "new"), "main"),
        Reuse("repeat", ("same command at step 1",), (1,)),
        Observation("[Ledger: not run]", exit_status=0),
        Shown("reference", "[Ledger: not run]", (1,), "same", (1,), Fingerprint("ab", "cd", 10, 2)),
    ),
    sealed=False,
    since=1,
    digest="0123",
    snippet="covered",
    at=12.5,
)
SIGHTING = Sighting(
    (FileSighting("/a", (ResultSighting(0, (SightedLines(1, 9, Verdict.MOVED, 3),)),), 12, "ab"),),
    ("/b",),
    "main",
    True,
)
EVENTS: list[Event] = [
    start(),
    ViewRendered(index=0, text="<execution_state>\n</execution_state>"),
    STEP,
    Sighted(index=3, sighting=SIGHTING),
    FaultCaught(where="govern", error="ValueError", message="no"),
    Ended(reason="Submitted", counts=Counts(proposed=4, ran=3), model_calls=5, input_tokens=100, cost=0.25),
]


@pytest.mark.parametrize("event", EVENTS)
def test_an_event_is_read_back_as_it_was(event: Event) -> None:
    """Every kind of event fits on one line, and comes back whole."""
    line = encode(event)
    assert line.count(b"\n") == 1 and line.endswith(b"\n")
    assert decode(line) == Decoded(event, 0)


@pytest.mark.parametrize("verdict", ["", "within", "exact"])
def test_a_verdict_of_the_older_definition_is_read(verdict: str) -> None:
    """It is a known field, apart from the one that is written now, which an older reader skips."""
    step = replace(STEP, snippet=None, reread=verdict)
    assert decode(encode(step)) == Decoded(step, 0)
    assert b'"reread":null' in encode(STEP)


def test_unknown_kinds_and_fields_are_counted() -> None:
    """What a later version adds is skipped and counted."""
    line = encode(EVENTS[4]).replace(b'"where"', b'"later":1,"also":{"event":"x"},"where"')
    assert decode(b'{"event":"later","x":[1,2]}') == Decoded(None, 0)
    assert decode(line) == Decoded(EVENTS[4], 2)


@pytest.mark.parametrize("line", [b"", b"{}", b"[]", b"\0\0", b'{"event":3}', b'{"event":"view"}', b'{"event":"vi'])
def test_what_is_no_event_is_refused(line: bytes) -> None:
    """A line that is no event raises one kind of error."""
    with pytest.raises(msgspec.MsgspecError):
        decode(line)


def test_secrets_are_redacted_in_every_text() -> None:
    """A key is redacted wherever it stands in an event, and an action that it stood in is marked as altered."""
    step = replace(
        STEP,
        step=Step(
            Action(f"echo {SECRET}", "/repo", Edit("a.py", "", f"key = '{SECRET}'")),
            Reuse("repeat", (f"file: {SECRET}",), (1,)),
            Observation(f"a\n{SECRET}\n", stderr=SECRET, notice=SECRET),
            Shown("reference", SECRET),
        ),
    )
    for event in (start(task=SECRET), ViewRendered(index=0, text=SECRET), step, FaultCaught(where=SECRET, error="E")):
        line = encode(event)
        assert SECRET.encode() not in line and b"[redacted]" in line
    kept = decode(encode(step)).event
    begun = decode(encode(start(task=SECRET))).event
    assert isinstance(kept, StepRecorded) and kept.altered
    assert kept.step.action.command == "echo [redacted]"
    assert kept.step.observation.output == "a\n[redacted]\n"
    assert begun == replace(start(), task="[redacted]", altered=True)


def test_a_redacted_output_is_no_altered_action() -> None:
    """Only what the ledger's state depends on marks a step as altered."""
    kept = decode(encode(plain_step(0, "cat .env", f"API_KEY={SECRET}\n"))).event
    assert isinstance(kept, StepRecorded) and not kept.altered


def test_the_cut_stays_where_it_was() -> None:
    """Where the middle of an output was left out, the cut moves with the text that is redacted before it."""
    observation = Observation(f"{SECRET}\nhead\ntail\n{SECRET}", cut=len(f"{SECRET}\nhead"), truncated=True)
    event = replace(STEP, step=replace(STEP.step, observation=observation))
    kept = decode(encode(event)).event
    assert isinstance(kept, StepRecorded)
    assert kept.step.observation.pieces == ("[redacted]\nhead", "\ntail\n[redacted]")


def test_bytes_that_are_no_text_are_marked() -> None:
    """A lone surrogate can't be written; it becomes a replacement mark instead of an error."""
    kept = decode(encode(plain_step(0, "cat binary", "a\udcffb"))).event
    assert kept == plain_step(0, "cat binary", "a\N{REPLACEMENT CHARACTER}b")


@pytest.mark.parametrize("before", range(99_800, 100_060, 13))
def test_a_secret_is_found_wherever_it_stands_in_a_long_line(before: int) -> None:
    """A line is searched in pieces, and none of them ends within a marker."""
    secret = "ghp" + "_0123456789abcdef0123456789abcdef0123"
    line = encode(ViewRendered(index=0, text="x " * (before // 2) + secret + " y" * 60_000))
    assert secret.encode() not in line and b"[redacted]" in line


def test_a_sighting_of_an_older_journal_is_read() -> None:
    """The tag and the names of its fields are those of the first journals that had sightings."""
    line = (
        b'{"event":"look","index":3,"sighting":{"files":[{"path":"/a","results":[{"step":0,"pieces":'
        b'[[1,9,"moved",3]]}],"end":12,"digest":"ab","reason":""}],"again":["/b"],"thread":"main","unsettled":true}}'
    )
    assert decode(line) == Decoded(Sighted(index=3, sighting=SIGHTING), 0)
