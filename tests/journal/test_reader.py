"""Reading journals back: torn, foreign, newer, and the ledger that they make."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from execledger.core.ledger import Ledger
from execledger.core.policy import Policy, Preset
from execledger.core.step import take
from execledger.errors import UnreadableRun
from execledger.journal import Ended, Event, read_journal, rebuild, recorded
from execledger.journal.codec import encode
from execledger.journal.events import Counts, StepRecorded, policy_fields
from execledger.journal.reader import (
    JournalReader,
    Mismatch,
    Trouble,
    has_end,
    is_journal,
    is_journal_file,
    read_events,
)
from execledger.vocabulary.actions import Action, Observation
from execledger.vocabulary.decisions import Nudge, Reuse, Shown
from tests.journal.runs import TASK, events_of, plain_step, retold, returning, start, written
from tests.support.policies import UNPRICED
from tests.support.simulation.sessions import simulate

SECRET = "ghp" + "_" + "0123456789abcdefABCDEF"
WHOLE: list[Event] = [start(), plain_step(0), plain_step(1), Ended(counts=Counts(proposed=2))]


def lines(events: list[Event]) -> bytes:
    """A journal with these events."""
    return b"".join(map(encode, events))


def test_a_torn_last_line_is_reported() -> None:
    """Every way to tear the last line leaves what is before it, and is reported."""
    data, last = lines(WHOLE[:2]), encode(WHOLE[2])
    for length in range(1, len(last) - 1):
        run = read_journal("torn", data + last[:length])
        assert (run.steps, run.trouble, run.ended) == ((plain_step(0),), Trouble(torn=True), None)
    assert read_journal("whole", data + last[:-1]).steps == (plain_step(0), plain_step(1))


def test_damage_in_the_middle_hides_what_needs_it() -> None:
    """Steps behind a lost one are left out, since the state before them is not known."""
    run = read_journal("damaged", lines(WHOLE[:1]) + b"\0\0\0\n" + lines([plain_step(1), plain_step(2)]))
    assert (run.steps, run.trouble) == ((), Trouble(damaged=1, lost=2))
    assert run.trouble.sentences() == ("lines that are no events: 1", "steps behind a gap: 2")


def tailed(data: bytes, pieces: int) -> tuple[list[Event], Trouble]:
    """What a reader finds that looks at the file again each time that it has grown by a piece."""
    size = max(len(encode(start())), 1)
    reader = JournalReader("tailed", io.BytesIO(data))
    events: list[Event] = [reader.start]
    for end in (*range(size, len(data), max((len(data) - size) // pieces, 1)), len(data)):
        file = io.BytesIO(data[:end])
        file.seek(reader.offset)
        while (found := reader.next(file)) is not None:
            events.append(found[1])
    return events, reader.trouble


@pytest.mark.parametrize("pieces", [1, 7, 100])
@pytest.mark.parametrize(
    "data",
    [
        lines(WHOLE),
        lines(WHOLE)[:-1],
        lines(WHOLE)[:-9],
        lines([start(), plain_step(0), plain_step(2), plain_step(1), plain_step(3), WHOLE[-1]]),
        lines([start(), plain_step(0), plain_step(0), plain_step(1)]) + b"\n\0\n" + lines([WHOLE[-1]]),
        lines([start(), plain_step(0, "cat a", "bytes #")]).replace(b"#", b"\xff") + lines([plain_step(1)]),
    ],
    ids=["whole", "no last newline", "torn", "gap", "twice", "no text"],
)
def test_a_growing_journal_is_read_like_a_whole_one(data: bytes, pieces: int) -> None:
    """Whatever is wrong in it, and wherever the writer was when it was looked at: the same events and trouble."""
    trouble = Trouble()
    assert tailed(data, pieces) == (list(read_events("whole", data, trouble)), trouble)
    run = read_journal("whole", data)
    assert [event for event in tailed(data, pieces)[0] if isinstance(event, StepRecorded)] == list(run.steps)


def test_a_file_is_a_journal_by_its_first_line(tmp_path: Path) -> None:
    """Of whichever version, and with bytes that are not UTF-8 in it; nothing else is."""
    journals = [
        lines(WHOLE),
        lines(WHOLE[:1])[:-1],
        b'{"event":"start","version":9}\n',
        b'{"event":"start","x":"\xff"}\n',
    ]
    others = [
        b"",
        b"\n",
        lines(WHOLE[1:]),
        b'{"event":["start"]}\n',
        b'{"event":"start"',
        b"[" * 90_000,
        b'\n{"event":"start"}',
    ]
    for data in (*journals, *others):
        (tmp_path / "file").write_bytes(data)
        assert is_journal(data) == is_journal_file(str(tmp_path / "file")) == (data in journals)
    assert not is_journal_file(str(tmp_path / "none"))


def test_the_end_of_a_journal_is_its_last_line() -> None:
    """Also without its newline; an end that is written on, or torn, is none."""
    ends = [lines(WHOLE), lines(WHOLE)[:-1], lines(WHOLE) + b"\n"]
    others = [lines(WHOLE)[:-2], lines(WHOLE) + encode(plain_step(2)), lines(WHOLE) + b"{", b""]
    assert [has_end(io.BytesIO(data)) for data in (*ends, *others)] == [True] * 3 + [False] * 4


@pytest.mark.parametrize(
    "change",
    [
        {"decision": Reuse("whole-read", (), (1,))},
        {"decision": Nudge("loop", (), (-1,))},
        {"shown": Shown("reference", "x", (9,))},
        {"shown": Shown("full", compared="same", compared_to=(9,))},
        {"inherits": 9},
    ],
)
def test_a_step_that_refers_to_none_before_it_is_damage(change: dict[str, Any]) -> None:
    """Nothing behind it can be made sense of."""
    wrong = replace(plain_step(1), step=replace(plain_step(1).step, **change))
    run = read_journal("damaged", lines([start(), plain_step(0), wrong, plain_step(2)]))
    assert (run.steps, run.trouble) == ((plain_step(0),), Trouble(damaged=1, lost=1))


@pytest.mark.parametrize("event", [replace(plain_step(1), turn=10**9), Ended(counts=Counts(), model_calls=10**9)])
def test_more_calls_of_the_model_than_any_run_has_are_damage(event: Event) -> None:
    """Each would be looked at when the cost is counted."""
    run = read_journal("damaged", lines([start(), plain_step(0), event]))
    assert (run.steps, run.ended, run.trouble) == ((plain_step(0),), None, Trouble(damaged=1))


def test_an_end_that_counts_other_steps_is_reported() -> None:
    """Whole lines may be missing, or stand there twice."""
    for steps in ([plain_step(0)], [plain_step(0), plain_step(1), plain_step(2)]):
        run = read_journal("gappy", lines([start(), *steps, Ended(counts=Counts(proposed=2))]))
        assert run.trouble.sentences() == ("the end counts another number of steps than there are",)


def test_unknown_events_and_fields_are_skipped() -> None:
    """A journal that a later version added to is read, and what was skipped is counted."""
    later = b'{"event":"later","x":1}\n' + encode(plain_step(0)).replace(b'"index"', b'"later":{},"index"')
    run = read_journal("later", lines([start()]) + later)
    assert (run.steps, run.trouble) == ((plain_step(0),), Trouble(unknown_events=1, unknown_fields=1))


def test_a_later_policy_is_read() -> None:
    """A setting that this version does not know is left out."""
    begun = start(Policy(shadow=True))
    later = replace(begun, policy=begun.policy | {"later": 3})
    assert read_journal("later", lines([later])).start.known_policy() == Policy(shadow=True)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (lines([replace(start(), version=2)]), "found a journal of version 2, expected at most 1"),
        (b'{"event":"start","version":9}\n', "found a journal of version 9, expected at most 1"),
        (lines(WHOLE[1:]), "expected the start of a journal, found another event"),
        (b"", "expected the start of a journal, found: Input data was truncated"),
        (
            lines([replace(start(), policy={"preset": "later"})]),
            "expected the start of a journal, found: Invalid enum value 'later' - at `$.preset`",
        ),
    ],
)
def test_what_is_no_journal_of_ours_says_so(data: bytes, reason: str) -> None:
    """A newer version, another file and a torn start are told apart in words."""
    with pytest.raises(UnreadableRun) as caught:
        read_journal("file", data)
    assert caught.value.reason == reason


@given(st.binary(max_size=60), st.integers(0, 3000))
def test_whatever_stands_in_a_file_only_one_error_is_raised(junk: bytes, at: int) -> None:
    """Bytes put anywhere into a journal never raise anything but ``UnreadableRun``."""
    data = lines(WHOLE)
    try:
        read_journal("junk", data[: at % len(data)] + junk + data[at % len(data) :])
    except UnreadableRun:
        return


POLICIES = [Policy(), Policy(preset=Preset.PAPER), Policy(shadow=True), Policy(govern=False)]


@pytest.mark.parametrize("seed", range(6))
def test_the_rebuilt_ledger_is_the_live_one(tmp_path: Path, seed: int) -> None:
    """Over real sessions the ledger that a journal makes has the digest of the live one behind every step."""
    folder = tmp_path / "repo"
    folder.mkdir()
    session = simulate(folder, seed, hostile=seed % 2 == 1)
    for told in (session, *(retold(session, policy) for policy in POLICIES)):
        events = events_of(told)
        run = read_journal("one", written(tmp_path, events).read_bytes())
        rebuilt = rebuild(run)
        assert (rebuilt.mismatch, rebuilt.ledger.digest) == (None, told.ledger.digest)
        assert rebuilt.ledger.inform(sealed=True).text == told.ledger.inform(sealed=True).text
        assert [*run.steps, run.ended] == [*events[2:-1:2], events[-1]] and run.trouble == Trouble()


def test_a_secret_in_an_output_leaves_the_digest_alone(tmp_path: Path) -> None:
    """The fingerprint of the true output goes with the step, so redaction does not change the state."""
    for govern in (True, False):
        ledger = Ledger(TASK, Policy(govern=govern))
        outputs = {"cat -n .env": f"     1\tTOKEN={SECRET}\n     2\tb\n", "cat .env": f"TOKEN={SECRET}\nb\n"}
        events: list[Event] = [start(ledger.policy)]
        for command, output in outputs.items():
            step = take(ledger, Action(command, "/repo"), returning(Observation(output, exit_status=0)))
            events.append(recorded(ledger, step, turn=0, sealed=True))
        data = written(tmp_path, events).read_bytes()
        rebuilt = rebuild(read_journal("one", data))
        assert SECRET.encode() not in data
        assert (rebuilt.mismatch, rebuilt.ledger.digest) == (None, ledger.digest)


def test_a_journal_of_an_earlier_version_rebuilds_the_state_that_it_recorded() -> None:
    """Its policy has a setting that is gone, and the digest behind its last step is the one of that version."""
    ledger = Ledger("Mend it.", UNPRICED)
    events: list[Event] = [replace(start(), task="Mend it.", policy=policy_fields(UNPRICED) | {"second_look": 3})]
    shown = "x = 1\n" * 90
    for command, output in (("cat a.py", shown), ("sed -i s/1/2/ a.py", ""), ("cat a.py", shown), ("cat a.py", shown)):
        step = take(ledger, Action(command, "/repo"), returning(Observation(output, exit_status=0)))
        events.append(recorded(ledger, step, turn=0, sealed=False))
    assert isinstance(events[-1], StepRecorded)
    events[-1] = replace(events[-1], digest="9dbdabc99aa29c7145b1ae09")
    assert rebuild(read_journal("old", lines(events))).mismatch is None


def test_a_changed_step_is_found() -> None:
    """The first step whose digest is not the recorded one is reported, with both digests."""
    ledger = Ledger(TASK)
    events: list[Event] = [start()]
    for command in ("ls", "ls -a", "ls -l"):
        step = take(ledger, Action(command, "/repo"), lambda _: Observation("a\n", exit_status=0))
        events.append(recorded(ledger, step, turn=0, sealed=True))
    data = lines(events)
    assert rebuild(read_journal("one", data)).mismatch is None
    mismatch = rebuild(read_journal("one", data.replace(b"ls -a", b"ls -A"))).mismatch
    assert mismatch is not None and (mismatch.index, mismatch.altered) == (1, False)
    assert mismatch.recorded != mismatch.rebuilt


def test_a_mismatch_behind_a_redacted_command_says_so() -> None:
    """Where a command had to be redacted, the digest may differ, and the report names the reason."""
    ledger = Ledger(TASK)
    step = take(ledger, Action(f"echo {SECRET}", "/repo"), lambda _: Observation("ok\n", exit_status=0))
    run = read_journal("one", lines([start(), recorded(ledger, step, turn=0, sealed=True)]))
    rebuilt = rebuild(run)
    assert rebuilt.mismatch in (None, Mismatch(0, ledger.digest, rebuilt.ledger.digest, altered=True))
    assert run.steps[0].altered
