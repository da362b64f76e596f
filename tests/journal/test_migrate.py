"""Versions of journals: earlier ones are read as if they were written today, newer ones are refused in words."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from execledger.cli.main import group
from execledger.errors import LedgerError, UnreadableRun
from execledger.journal.codec import decode, encode
from execledger.journal.migrate import VERSION, NewerVersion, pending
from execledger.journal.reader import Trouble, read_journal, rebuild
from execledger.journal.rewrite import redacted_line
from execledger.vocabulary.decisions import Reuse

SAMPLES = Path(__file__).with_name("samples")
KEY = "ghp" + "_" + "a1B2" * 9


def sample(version: int) -> bytes:
    """A journal of that version; version 0 is version 1 without its number."""
    data = (SAMPLES / f"version-{max(version, 1)}.ledger.jsonl").read_bytes()
    return data if version else data.replace(b'"version":1,', b"", 1)


def without_defaults(fields: object) -> object:
    """The same JSON value without what is null, empty, false or 0."""
    if isinstance(fields, dict):
        return {name: without_defaults(value) for name, value in fields.items() if value}
    return [without_defaults(value) for value in fields] if isinstance(fields, list) else fields


@pytest.mark.parametrize("version", range(VERSION + 1))
def test_a_journal_of_every_version_is_read_whole(version: int) -> None:
    """With the same steps and decisions, and the ledger that was recorded behind every step."""
    run = read_journal("sample", sample(version))
    assert (run.trouble, run.start.version, rebuild(run).mismatch) == (Trouble(), VERSION, None)
    assert [event.step.decision.rule for event in run.steps] == [
        *("new", "new", "covered-read", "second-look", "modification", "new")
    ]
    assert [event.step.shown.kind for event in run.steps] == ["full", "full", "reference", "full", "full", "reference"]
    assert isinstance(run.steps[2].step.decision, Reuse) and len(run.views) == 7
    assert run.ended is not None and run.ended.counts.proposed == 6


def test_what_was_written_is_written_today() -> None:
    """Line by line, field by field; fields that came later have their default."""
    for line in sample(VERSION).splitlines(keepends=True):
        event = decode(line).event
        assert event is not None and without_defaults(msgspec.json.decode(encode(event))) == (
            without_defaults(msgspec.json.decode(line))
        )


def test_migrations_are_applied_in_order() -> None:
    """From the version that was found on; a newer one is refused with both numbers."""
    migrations = ("to 1", "to 2", "to 3")
    assert [pending("a thing", found, migrations) for found in (0, 2, 3)] == [migrations, ("to 3",), ()]
    with pytest.raises(NewerVersion) as caught:
        pending("a thing", 4, migrations)
    assert str(caught.value) == "found a thing of version 4, expected at most 3\nhint: a newer execledger reads it"


@pytest.mark.parametrize("number", [b"-1", b'"1"', b"null", b"1.5"])
def test_a_version_that_is_no_number_is_no_journal(number: bytes) -> None:
    """It is said what was found."""
    with pytest.raises(UnreadableRun, match="expected the start of a journal, found: Expected `int`"):
        read_journal("x", sample(1).replace(b'"version":1', b'"version":' + number, 1))


@pytest.mark.parametrize("verb", ["replay FILE", "stats FILE", "why FILE 0", "view FILE --export page.html"])
def test_a_newer_journal_is_refused_by_every_verb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str) -> None:
    """With one sentence that names both versions, never a traceback."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "newer.ledger.jsonl"
    path.write_bytes(sample(1).replace(b'"version":1', b'"version":%d' % (VERSION + 1), 1))
    called = CliRunner().invoke(group, [str(path) if word == "FILE" else word for word in verb.split()])
    assert isinstance(called.exception, LedgerError | SystemExit), called.exception
    said = f"{called.output} {called.exception}"
    assert f"found a journal of version {VERSION + 1}, expected at most {VERSION}" in said and "Traceback" not in said


def test_an_old_line_is_redacted_without_being_upgraded() -> None:
    """The file keeps its version, so its lines keep their form."""
    line = b'{"event":"start","run":"%b"}\n' % KEY.encode()
    assert redacted_line(line, 0) == b'{"event":"start","run":"[redacted]"}\n'
