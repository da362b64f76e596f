"""Secrets out of results, and the ledger that is rebuilt without them: it compares as the live one does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from execledger.core.fingerprint import digest
from execledger.core.ledger import Ledger
from execledger.core.policy import Policy
from execledger.core.step import take
from execledger.journal import Event, StepRecorded, read_journal, rebuild, recorded
from execledger.journal.clean import clean_observation
from execledger.journal.codec import encode
from execledger.vocabulary.actions import Action, Observation
from execledger.vocabulary.decisions import Allow, Shown
from tests.core.stories import numbered, source
from tests.journal.runs import TASK, returning, start

# Each is put together here, so that no scanner of repositories takes this file for a leak.
SECRET = "ghp" + "_" + "0123456789abcdefABCDEF"
OTHER = "ghp" + "_" + "ABCDEF0123456789abcdef"
PEM = ["-----BEGIN PRIVATE KEY-----", "Ab1/" * 16, "Cd2/" * 16, "-----END PRIVATE KEY-----"]
LINES = [*source(6), *PEM, f"TOKEN={SECRET}", f"TOKEN={OTHER}", "TOKEN=[redacted]", "", "}"]
FILES = st.lists(st.sampled_from(LINES), min_size=1, max_size=14)
FILE = [*source(5), f"TOKEN={SECRET}", *source(5, 6)]


def read(lines: list[str], first: int, last: int, kind: str) -> tuple[str, Observation]:
    """A read of these lines of a file, as one of many programs does it; its middle left out where ``kind`` says so."""
    shown = lines[first - 1 : last]
    plain, counted = "".join(f"{line}\n" for line in shown), numbered(shown, first)
    span = f"{first},{first + len(shown) - 1}p"
    command, output = {
        "plain": (f"sed -n {span} a.env", plain),
        "numbered": (f"nl -ba a.env | sed -n {span}", counted),
        "cut": (f"sed -n {span} a.env", plain),
    }[kind]
    if kind != "cut":
        return command, Observation(output, exit_status=0)
    cut = len(output) // 3
    return command, Observation(output[:cut] + output[2 * cut :], exit_status=0, cut=cut, truncated=True)


READS = st.tuples(st.integers(1, 14), st.integers(1, 14), st.sampled_from(["plain", "numbered", "cut"]))


def lived(policy: Policy, *results: tuple[str, Observation]) -> tuple[Ledger, list[Event]]:
    """A ledger with these results, and its journal's events."""
    ledger = Ledger(TASK, policy)
    events: list[Event] = [start(policy)]
    for turn, (command, observation) in enumerate(results):
        step = take(ledger, Action(command, "/repo"), returning(observation))
        events.append(recorded(ledger, step, turn=turn, sealed=False))
    return ledger, events


def compared(ledger: Ledger, command: str, observation: Observation) -> Shown:
    """What is shown of one more result."""
    return ledger.compare(Action(command, "/repo"), Allow("new"), observation)


@given(FILES, st.lists(READS, min_size=1, max_size=6), READS, st.booleans())
def test_a_rebuilt_ledger_compares_as_the_live_one(
    lines: list[str], reads: list[tuple[int, int, str]], last: tuple[int, int, str], govern: bool
) -> None:
    """Whatever secrets stood in the results, the next read is found to be the same, covered or different as it was."""
    results = [read(lines, min(a, b), max(a, b), kind) for a, b, kind in [*reads, last] if min(a, b) <= len(lines)]
    ledger, events = lived(Policy(govern=govern), *results[:-1])
    data = b"".join(map(encode, events))
    rebuilt = rebuild(read_journal("one", data))
    assert SECRET.encode() not in data and OTHER.encode() not in data
    assert rebuilt.mismatch is None
    for command, observation in results:
        again, live = (compared(one, command, observation) for one in (rebuilt.ledger, ledger))
        assert (again.compared, again.compared_to) == (live.compared, live.compared_to)


def test_a_reference_to_a_secret_has_the_same_words() -> None:
    """It quotes no line of the result, neither live nor rebuilt."""
    lines = [f"TOKEN={SECRET}", *source(30)]
    ledger, events = lived(Policy(), read(lines, 1, 31, "numbered"))
    rebuilt = rebuild(read_journal("one", b"".join(map(encode, events)))).ledger
    for again in (read(lines, 1, 30, "plain"), read(lines, 1, 20, "numbered")):
        shown = compared(ledger, *again)
        assert (shown.kind, SECRET in shown.text) == ("reference", False)
        assert compared(rebuilt, *again) == shown


def test_a_line_with_a_secret_is_known_by_its_digest() -> None:
    """The event holds the place and the digest of the file's line, however the line was printed."""
    for kind in ("plain", "numbered"):
        _, events = lived(Policy(), read(FILE, 3, 9, kind))
        (event,) = (event for event in events if isinstance(event, StepRecorded))
        assert event.step.withheld == ((3, digest(f"TOKEN={SECRET}")),)


def test_a_result_without_secrets_carries_no_digests() -> None:
    """Nor does the line of JSON speak of them."""
    _, events = lived(Policy(), read(source(9), 1, 9, "plain"))
    assert b"withheld" not in b"".join(map(encode, events))


@pytest.mark.parametrize("line", [f"TOKEN={OTHER}", "TOKEN=[redacted]"])
def test_another_secret_is_another_line(line: str) -> None:
    """A file whose key was changed is not taken for the one that was seen, although both are redacted alike."""
    changed = [*FILE[:5], line, *FILE[6:]]
    _, events = lived(Policy(), read(FILE, 1, 11, "numbered"))
    rebuilt = rebuild(read_journal("one", b"".join(map(encode, events)))).ledger
    assert compared(rebuilt, *read(FILE, 2, 10, "plain")).compared == "covered"
    assert compared(rebuilt, *read(changed, 2, 10, "plain")).compared == "different"


def test_pieces_are_cleaned_apart() -> None:
    """The cut stays where it was, and both outputs and the notice are cleaned."""
    observation = Observation(f"{SECRET}\na\nb\n", stderr=SECRET, notice=SECRET, cut=len(SECRET) + 3, truncated=True)
    cleaned = clean_observation(observation)
    assert cleaned.pieces == ("[redacted]\na\n", "b\n")
    assert replace(cleaned, output="", cut=None) == Observation(
        stderr="[redacted]", notice="[redacted]", truncated=True
    )
