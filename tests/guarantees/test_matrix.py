"""The validity matrix: every channel of change, every read, every preset; and the same through the real adapters."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot

from execledger.session import witness
from tests.guarantees.drivers import CAT, FILE, NOT_RUN, PRESETS, REFERENCE, codex, mini
from tests.support.guarantees.channels import CHANNELS, PUBLISHED, READERS, Channel
from tests.support.guarantees.validity import COLUMNS, Cell, Verdict, misread, run_channel, table
from tests.support.recorder import run_command

ADAPTED = ("sed -i", "script that edits", "test rewrites a source", "same size, restored mtime", "symlink retargeted")
"""Channels that are driven through the adapters as well."""

ALIKE = ("part of a sed -n", "head", "bash -c", "substitution", "nl, sed -n", "wc")
"""Readers that are left out where time is short: another one is much like each of them."""


def cells_of(channels: tuple[Channel, ...], place: Path, full: bool) -> list[Cell]:
    """The matrix: with one reader of each kind that a channel is about, or with all readers."""
    cells = []
    for at, channel in enumerate(channels):
        about = [name for name in (*channel.changed, *channel.same) if name not in ALIKE]
        readers = tuple(READERS if full else about)
        cells += run_channel(channel, place / str(at), readers)
    return cells


@pytest.mark.guarantee(
    "false-reuse", "witness", "bug-2", "pitfall-1", "pitfall-2", "pitfall-3", "pitfall-4", "pitfall-6"
)
def test_verified_has_no_stale_cell(tmp_path: Path, full: bool, figure: Callable[[str], None]) -> None:
    """Whatever changes by whatever channel, no reference points at what is no longer so; ``paper`` is as it is."""
    cells = cells_of(CHANNELS, tmp_path, full)
    assert misread(cells) == [], "a channel that changes nothing proves nothing"
    stale = [cell for cell in cells if cell.verdict is Verdict.STALE]
    verified = [cell for cell in cells if cell.column != "paper"]
    assert [cell for cell in stale if cell in verified] == []
    seen = {(cell.channel, cell.reader) for cell in stale}
    published = [channel.name for channel in CHANNELS[:PUBLISHED]]
    assert [name for name in published if (name, "cat") in seen] == snapshot(
        [
            "script that edits",
            "test rewrites a source",
            "git stash in a script",
            "formatter",
            "background job writes later",
            "external editor",
            "ignored file regenerated",
        ]
    )
    # A write under the file's own name, and a read under another.
    assert [name for name in published if (name, "through a link") in seen and (name, "cat") not in seen] == snapshot(
        ["sed -i", "python -c write", "same size, same second", "same size, restored mtime", "mmap write"]
    )
    assert {cell.verdict for cell in verified} == {Verdict.OK, Verdict.SPARED, Verdict.EXTRA}
    assert len(table(cells).splitlines()) == len(CHANNELS) + 2 + len(COLUMNS)
    figure(f"0 stale in {len(verified):,} cells")


def test_twenty_channels_are_the_published_ones() -> None:
    """The list is whole, and no name stands twice."""
    names = [channel.name for channel in CHANNELS]
    assert (len(set(names)), PUBLISHED) == (len(names), 20)


@pytest.mark.guarantee("false-reuse")
def test_a_stale_answer_is_noticed(tmp_path: Path) -> None:
    """The matrix can fail: where a change is kept from a ledger that believes itself alone, its cells are stale."""
    hidden = Channel("hidden", CHANNELS[0].change, ("cat",), by="outside")
    cells = run_channel(hidden, tmp_path, ("cat", "part of a cat", "grep -r"))
    assert {(cell.reader, cell.verdict) for cell in cells if cell.column == "paper"} == {
        (reader, Verdict.STALE) for reader in ("cat", "part of a cat", "grep -r")
    }


@pytest.mark.guarantee("witness")
def test_a_witness_that_does_not_look_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a look finds what the first one found, though the file has changed, the cells of the witness are stale."""
    first: dict[str, bytes] = {}
    read = witness.read_regular
    monkeypatch.setattr(witness, "read_regular", lambda path, most: first.setdefault(path, read(path, most)))
    cells = run_channel(CHANNELS[0], tmp_path, ("cat",))
    assert {cell.column for cell in cells if cell.verdict is Verdict.STALE} == {"witness", "witness, unseen"}


@pytest.mark.parametrize("preset", ["sealed", "verified"])
@pytest.mark.parametrize("name", ADAPTED)
@pytest.mark.guarantee("false-reuse", "bug-2")
def test_mini_swe_agent_is_shown_what_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, preset: str
) -> None:
    """Read, change, read, read: through the real agent, the third result is the file as it is."""
    monkeypatch.setenv("EXECLEDGER_JOURNAL", str(tmp_path / "journals"))
    channel = next(one for one in CHANNELS if one.name == name)
    read = f"cat {channel.file}"
    run = mini(tmp_path / "shop", read, channel.change, read, read, **PRESETS[preset])
    now, _ = run_command(read, tmp_path / "shop")
    assert now in run.results[2] and now not in run.results[0]
    assert run.results[3].count(REFERENCE) == 1 and now not in run.results[3]


@pytest.mark.parametrize(
    ("preset", "name"),
    [(preset, name) for preset in PRESETS for name in ADAPTED if preset != "paper" or name not in ADAPTED[1:3]],
)
@pytest.mark.guarantee("false-reuse", "bug-2")
def test_codex_is_shown_what_changed(tmp_path: Path, name: str, preset: str) -> None:
    """The same through the proxy; ``paper`` sees the writes that it recognises."""
    channel = next(one for one in CHANNELS if one.name == name)
    read = f"cat {channel.file}"
    talk = codex(tmp_path / "shop", **PRESETS[preset])
    before = talk.turn(read)[0]
    talk.turn(channel.change)
    now, _ = run_command(read, tmp_path / "shop")
    assert now not in before and now in talk.turn(read)[0]
    assert REFERENCE in talk.turn(read)[0]


@pytest.mark.parametrize("drive", ["mini", "codex"])
@pytest.mark.guarantee("bug-2", "pitfall-2", "pitfall-4")
def test_an_unseen_writer_is_caught_by_the_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, drive: str) -> None:
    """Somebody else rewrites the file between two turns, same size, same time: the agent is shown it."""
    monkeypatch.setenv("EXECLEDGER_JOURNAL", str(tmp_path / "journals"))
    folder = tmp_path / "shop"
    change = next(one.change for one in CHANNELS if one.name == "same size, restored mtime")
    if drive == "codex":
        talk = codex(folder)
        results = [*talk.turn(CAT), *talk.turn(CAT), *talk.turn("ls docs"), *talk.turn("ls docs"), *talk.turn("ls src")]
        run_command(change, folder)
        results += talk.turn(CAT)
    else:

        def meddle(turn: int, messages: list[Any]) -> None:
            run_command(change, folder) if turn == 5 else None

        results = mini(folder, CAT, CAT, "ls docs", "ls docs", "ls src", CAT, meddle=meddle).results
    assert REFERENCE in results[1]
    assert "VALUE_21" in results[5] and "VALUE_21" in (folder / FILE).read_text()
    assert not any(NOT_RUN in one for one in results)
