"""Finding runs in files, folders and archives."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import os
import tarfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import pytest

from execledger.agents.formats import find_recorded
from execledger.errors import LedgerError, ReaderFault, UnreadableRun
from execledger.runs import find
from execledger.runs.decoding import MAX_BYTES
from execledger.runs.find import Bundle, Kept, Part, Source, find_runs


def found(*paths: Path) -> list[tuple[str, bytes]]:
    """Name and content of every source, read as it comes."""
    return [(source.name, source.read()) for source in find_recorded(map(str, paths))]


def pack(archive: Path, *members: tuple[str, bytes]) -> None:
    """Write an archive, compressed as its name says."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name, data in members:
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    data = packed.getvalue()
    archive.write_bytes({".tar": data, ".gz": gzip.compress(data), ".xz": lzma.compress(data)}[archive.suffix])


def test_a_named_file_is_tried_whatever_its_name(tmp_path: Path) -> None:
    """What the user names is taken as given, in the order given."""
    for name in ("b.log", "preds.json"):
        (tmp_path / name).write_bytes(name.encode())
    paths = [tmp_path / "preds.json", tmp_path / "b.log"]
    assert found(*paths) == [(str(path), path.name.encode()) for path in paths]


def test_a_folder_is_searched_by_name(tmp_path: Path) -> None:
    """Runs below a folder come in the order of their names; what is no run is left out."""
    kept = [".claude/projects/x/s.jsonl", ".codex/r.jsonl", "a/a.traj.json", "a/z.traj", "b.json", "c/d/e.jsonl"]
    left = [
        "a/preds.json",
        "a/agent-1.meta.json",
        "metadata.json",
        "exit_statuses_1.yaml",
        "notes.txt",
        ".git/x.json",
        ".claude/.credentials.json",
        ".venv/x.json",
        "c/node_modules/x.json",
        "out/base/1/.work/a/a.traj.json",
        "out/plan.json",
        "c/._e.json",
        "c/.journals.lock",
    ]
    for name in kept + left:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(name.encode())
    (tmp_path / "c" / "round").symlink_to(tmp_path)
    assert found(tmp_path) == [(str(tmp_path / name), name.encode()) for name in kept]
    skipped: Counter[str] = Counter()
    list(find_recorded([str(tmp_path)], skipped=skipped))
    assert skipped == {
        "files not named like a run": 6,
        "folders of other programs, such as .git": 4,
        "hidden files": 2,
        "links to folders": 1,
    }


@pytest.mark.parametrize(
    ("plan", "tasks"),
    [
        ('{"plan": {}, "digest": "d", "versions": []}', 1),
        ('{"my": "plan"}', 0),
        ('["plan", "digest", "versions"]', 0),
        ('{"plan": ', 1),
    ],
)
def test_the_tasks_of_an_evaluation_are_no_runs(tmp_path: Path, plan: str, tasks: int) -> None:
    """They are counted; beside another program's plan, a folder of that name is searched like any other."""
    (tmp_path / "dataset").mkdir()
    run = tmp_path / "dataset" / "a.traj.json"
    run.write_text("{}")
    (tmp_path / "plan.json").write_text(plan)
    skipped: Counter[str] = Counter()
    sources = [source.name for source in find_recorded([str(tmp_path)], skipped=skipped)]
    assert sources == [str(run)] * (1 - tasks)
    assert skipped["folders with the tasks of an evaluation"] == tasks


@pytest.mark.parametrize("suffix", [".tar", ".tar.gz", ".tar.xz"])
def test_an_archive_is_read_in_its_own_order(tmp_path: Path, suffix: str) -> None:
    """Members are named behind the archive; what is no run is left out there too."""
    archive = tmp_path / f"runs{suffix}"
    pack(archive, ("z.json", b"1"), ("x/a.traj.json", b"2"), ("x/preds.json", b"3"), ("x/._a.json", b"4"))
    expected = [(f"{archive}!z.json", b"1"), (f"{archive}!x/a.traj.json", b"2")]
    assert found(archive) == found(tmp_path) == expected


def test_sources_of_an_archive_can_be_kept(tmp_path: Path) -> None:
    """A source still gives its content after the search has moved on."""
    pack(tmp_path / "runs.tar", ("a.json", b"1"), ("b.json", b"2"))
    assert [source.read() for source in list(find_recorded([str(tmp_path)]))] == [b"1", b"2"]


def test_a_missing_path_is_named_before_anything_is_read(tmp_path: Path) -> None:
    """A mistyped path is reported at once, also when it stands last."""
    with pytest.raises(LedgerError) as caught:
        find_recorded([str(tmp_path), "no/such/runs"])
    assert str(caught.value) == (
        "no/such/runs: found nothing there, expected recorded runs\n"
        "hint: give files, folders or archives (.tar, .tar.gz, .tar.xz) of recorded runs"
    )


def test_a_broken_archive_does_not_hide_what_comes_after(tmp_path: Path) -> None:
    """The archive is reported when it is read, after the members that could be read and before the next path."""
    whole, broken, after = tmp_path / "whole.tar", tmp_path / "broken.tar", tmp_path / "z.json"
    pack(whole, ("a.json", b"1"), ("b.json", b"2" * 20000))
    broken.write_bytes(whole.read_bytes()[:9000])
    after.write_bytes(b"3")
    first, bad, last = find_recorded([str(broken), str(after)])
    assert (first.read(), last.read()) == (b"1", b"3")
    with pytest.raises(UnreadableRun, match=r"broken\.tar: expected an archive, folder or file"):
        bad.read()


@pytest.mark.parametrize("suffix", [".tar", ".tar.gz", ".tar.xz"])
def test_what_is_no_archive_is_unreadable(tmp_path: Path, suffix: str) -> None:
    """A file that only has the name of an archive is one unreadable source."""
    path = tmp_path / f"x{suffix}"
    path.write_bytes(b"not an archive")
    (source,) = find_recorded([str(path)])
    with pytest.raises(UnreadableRun):
        source.read()


def test_a_file_that_went_away_is_unreadable(tmp_path: Path) -> None:
    """A file is opened only when it is read, and may be gone by then."""
    path = tmp_path / "a.json"
    path.write_bytes(b"1")
    (source,) = find_recorded([str(path)])
    path.unlink()
    with pytest.raises(UnreadableRun, match=r"a\.json: the file can't be read: No such file or directory"):
        source.read()


@pytest.mark.parametrize("name", ["big.json", "big.jsonl"])
def test_a_file_that_is_too_large_for_a_run_is_named_and_not_read(tmp_path: Path, name: str) -> None:
    """It says how large it is, and what comes after it is read."""
    (tmp_path / name).write_bytes(b"{\n")
    os.truncate(tmp_path / name, MAX_BYTES + 1)
    (tmp_path / "small.json").write_bytes(b"1")
    big, small = find_recorded([str(tmp_path)])
    assert small.read() == b"1"
    with pytest.raises(UnreadableRun) as caught:
        big.read()
    found = "found 1,000,000,001 bytes, expected at most 1,000,000,000 in one recorded run"
    assert str(caught.value) == f"{tmp_path / name}: {found}"


def test_a_member_that_is_too_large_is_named_and_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The members after it are read."""
    monkeypatch.setattr(find, "MAX_BYTES", 10)
    pack(tmp_path / "x.tar", ("a.json", b"1" * 11), ("b.json", b"2"))
    big, small = find_recorded([str(tmp_path)])
    assert small.read() == b"2"
    with pytest.raises(UnreadableRun, match=r"x\.tar!a\.json: found 11 bytes, expected at most 10 "):
        big.read()


def test_what_does_not_fit_into_memory_is_unreadable() -> None:
    """It is the file's trouble, and not that of the others."""

    def load() -> bytes:
        raise MemoryError

    with pytest.raises(UnreadableRun, match="big: does not fit into memory"):
        Source("big", load).read()


def faulty(file: BinaryIO) -> Iterator[Part]:
    """Find one run in a file, and then fail."""
    yield "first", lambda: b"1"
    raise KeyError("second")


@pytest.mark.faults
@pytest.mark.parametrize("packed", [False, True])
def test_a_fault_of_ours_costs_one_file(tmp_path: Path, packed: bool) -> None:
    """What was found before it and in the files beside it is read, in a folder and in an archive."""
    members = [(name, name.encode()) for name in ("a.json", "b.many.json", "c.json")]
    place = f"{tmp_path}/"
    if packed:
        pack(tmp_path / "x.tar", *members)
        place = f"{tmp_path}/x.tar!"
    else:
        for name, data in members:
            (tmp_path / name).write_bytes(data)
    kept = Kept(bundles=(Bundle(endings=(".many.json",), runs=faulty),))
    sources = {source.name: source for source in find_runs([str(tmp_path)], kept=kept)}
    broken = sources.pop(f"{place}b.many.json")
    assert {name: source.read() for name, source in sources.items()} == {
        f"{place}a.json": b"a.json",
        f"{place}b.many.json!first": b"1",
        f"{place}c.json": b"c.json",
    }
    with pytest.raises(ReaderFault, match=r"b\.many\.json: a fault of execledger's own, .*: KeyError: 'second', in "):
        broken.read()


@pytest.mark.faults
def test_a_fault_of_ours_while_a_source_is_loaded() -> None:
    """It is told as one, with the place at which it happened."""
    with pytest.raises(ReaderFault, match=r"^x: a fault .*: IndexError: .*, in runs/test_find\.py:\d+$"):
        Source("x", lambda: [b""][1]).read()


def test_a_broken_bundle_in_an_archive_is_named(tmp_path: Path) -> None:
    """The members after it are read."""
    pack(tmp_path / "x.tar", ("a.eval.json", b'{"version": 2, "status": "x", "samples": 3}'), ("b.json", b"2"))
    broken, good = find_recorded([str(tmp_path)])
    assert good.read() == b"2"
    with pytest.raises(UnreadableRun, match=r"expected `array \| null`, got `int`, at samples"):
        broken.read()


LINES = b'{"instance_id": "a__b-1", "history": []}\n\n{"instance_id": "a__b-1", "history": []}\n{"history": [}\n'
NAMED = {
    "a__b-1": b'{"instance_id": "a__b-1", "history": []}\n',
    "a__b-1#2": b'{"instance_id": "a__b-1", "history": []}\n',
    "line 4": b'{"history": [}\n',
}


def test_a_file_of_many_runs_is_one_source_per_line(tmp_path: Path) -> None:
    """Each is named by its instance; a name that comes again is numbered, and a broken line named by its number."""
    path = tmp_path / "output.jsonl"
    path.write_bytes(LINES)
    assert found(path) == found(tmp_path) == [(f"{path}!{name}", data) for name, data in NAMED.items()]


def test_a_member_of_many_runs(tmp_path: Path) -> None:
    """The same goes for a member of an archive."""
    archive = tmp_path / "runs.tar"
    pack(archive, ("output.jsonl", LINES), ("b.jsonl", b'{"type": "x"}\n'))
    expected = [(f"{archive}!output.jsonl!{name}", data) for name, data in NAMED.items()]
    assert found(archive) == [*expected, (f"{archive}!b.jsonl", b'{"type": "x"}\n')]


def test_other_lines_are_one_run(tmp_path: Path) -> None:
    """A file of lines that are no instances is given as it is."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"type": "x"}\n{"instance_id": "x", "history": []}\n')
    assert found(path) == [(str(path), path.read_bytes())]


@pytest.mark.parametrize("name", ["{}.json", "event-{:05}-a1b2-c3.json"])
def test_a_folder_of_events_is_one_run(tmp_path: Path, name: str) -> None:
    """They come in the order of their numbers, one to a line; copies beside them are left out."""
    events = tmp_path / "session" / "events"
    (tmp_path / "session" / "event_cache").mkdir(parents=True)
    (tmp_path / "session" / "event_cache" / "0-25.json").write_bytes(b"[]")
    events.mkdir()
    for number in (10, 9, 0):
        (events / name.format(number)).write_bytes(b'{\n"id": %d}' % number)
    joined = b'{ "id": 0}\n{ "id": 9}\n{ "id": 10}\n'
    assert found(tmp_path) == found(events) == [(str(events), joined)]


def test_tokens_and_status_beside_a_folder_of_events_belong_to_the_run(tmp_path: Path) -> None:
    """OpenHands CLI keeps them in a file with the state of the conversation; its settings stay there."""
    events = tmp_path / "events"
    events.mkdir()
    (events / "0.json").write_bytes(b'{"id": 0}')
    state = {"agent": {"llm": {"api_key": "x"}}, "stats": {"usage_to_metrics": {}}, "execution_status": "finished"}
    (tmp_path / "base_state.json").write_text(json.dumps(state))
    changed = b'{"kind": "ConversationStateUpdateEvent", "key": '
    joined = b'{"id": 0}\n%b"stats", "value": {"usage_to_metrics": {}}}\n%b"execution_status", "value": "finished"}\n'
    assert found(tmp_path) == [(str(events), joined % (changed, changed))]


def test_a_folder_of_that_name_may_hold_anything(tmp_path: Path) -> None:
    """A folder is one run only if there is nothing but events in it."""
    events = tmp_path / "events"
    events.mkdir()
    (events / "0.json").write_bytes(b"0")
    (events / "run.json").write_bytes(b"1")
    assert found(events) == [(str(events / "0.json"), b"0"), (str(events / "run.json"), b"1")]
