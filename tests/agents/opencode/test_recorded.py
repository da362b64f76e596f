"""opencode's sessions: taken out of its database, and read in the shape of ``opencode export``."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from execledger.agents.formats import find_recorded, read_run
from execledger.errors import UnreadableRun
from execledger.runs.recording import Run
from execledger.vocabulary.actions import Read

SHOWN = (
    "<path>/w/a.txt</path>\n<type>file</type>\n<content>\n1: one\n2: two\n\n(End of file - total 2 lines)\n</content>"
)
TOKENS = {"input": 10, "output": 1, "reasoning": 1, "cache": {"read": 90, "write": 0}}


def tool(at: int, name: str, given: object, **state: object) -> dict[str, Any]:
    """A call as a part."""
    time = {"start": 100 * at, "end": 100 * at + 1}
    whole = {"status": "completed", "input": given, "time": time, **state}
    return {"type": "tool", "tool": name, "callID": f"c{at}", "state": whole}


READS = [tool(at, "read", {"filePath": "/w/a.txt"}, output=SHOWN) for at in (1, 2)]
FAILS = tool(3, "bash", {"command": "run", "description": "x"}, output="hi\n", metadata={"exit": 3})
GONE = tool(4, "read", {"filePath": "/w/b.txt"}, status="error", error="File not found: /w/b.txt")
OPEN = tool(5, "bash", {"command": "sleep 9"}, status="running")


class Database:
    """A database of opencode, written to by a connection that stays open: most of it is in the write-ahead log."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self.connection = sqlite3.connect(path)
        self.connection.execute("PRAGMA journal_mode = WAL")
        self.connection.executescript(
            "CREATE TABLE session (id, parent_id, directory, version, time_created);"
            "CREATE TABLE message (id, session_id, data);"
            "CREATE TABLE part (id, message_id, session_id, data);"
        )

    def add(self, session: str, *turns: list[dict[str, Any]], parent: str | None = None) -> None:
        """A session with one answer for each list of parts."""
        run = self.connection.execute
        run("INSERT INTO session VALUES (?, ?, '/w', '1.18.33', 1)", (session, parent))
        asked = {"role": "user"}
        run("INSERT INTO message VALUES (?, ?, ?)", (f"{session}-m0", session, json.dumps(asked)))
        text = json.dumps({"type": "text", "text": '"Mend it."'})
        run("INSERT INTO part VALUES (?, ?, ?, ?)", (f"{session}-p00", f"{session}-m0", session, text))
        for number, parts in enumerate(turns, 1):
            info = {"role": "assistant", "modelID": "m", "tokens": TOKENS, "cost": 0.5, "finish": "tool-calls"}
            name = f"{session}-m{number}"
            run("INSERT INTO message VALUES (?, ?, ?)", (name, session, json.dumps(info)))
            for at, part in enumerate(parts):
                row = (f"{session}-p{number}{at}", name, session, json.dumps(part))
                run("INSERT INTO part VALUES (?, ?, ?, ?)", row)
        self.connection.commit()


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    one = Database(tmp_path / "opencode" / "opencode.db")
    yield one
    one.connection.close()


def runs(path: Path) -> list[Run]:
    """The runs at a path."""
    return [read_run(source.name, source.read()) for source in find_recorded([str(path)])]


def test_sessions_of_a_live_database_are_read(database: Database) -> None:
    """What is still in the write-ahead log counts; every session is a run, that of a sub-agent too."""
    database.add("ses_a", READS[:1], READS[1:], [FAILS, GONE, OPEN])
    database.add("ses_b", [READS[0]], parent="ses_a")
    first, second = runs(database.path)
    assert [first.name, second.name] == [f"{database.path}!ses_a", f"{database.path}!ses_b"]
    one, again, failed, gone = first.steps
    assert (first.agent, first.model, first.task, first.turns) == ("opencode 1.18.33", "m", "Mend it.", 3)
    assert (one.action, one.observation) == (again.action, again.observation)
    assert isinstance(one.action.call, Read)
    assert (one.action.call.path, one.observation.output) == ("/w/a.txt", "1: one\n2: two")
    assert (failed.action.command, failed.action.cwd, failed.observation.exit_status) == ("run", "/w", 3)
    assert gone.observation.failed
    assert [step.turn for step in first.steps] == [0, 1, 2, 2]
    call = first.model_calls[0]
    assert (call.tokens.input, call.tokens.cached, call.tokens.output, call.cost) == (100, 90, 2, 0.5)


def test_nothing_is_changed_beside_the_database(database: Database) -> None:
    """The files, their contents and their times are the same afterwards, also without a connection that holds them."""
    database.add("ses_a", READS)
    for _ in ("live", "closed"):
        folder = database.path.parent
        before = {one.name: (one.read_bytes(), one.stat().st_mtime_ns) for one in folder.iterdir()}
        assert len(runs(folder)) == 1
        assert {one.name: (one.read_bytes(), one.stat().st_mtime_ns) for one in folder.iterdir()} == before
        database.connection.close()


def test_a_folder_that_is_read_only(database: Database) -> None:
    """Reading needs no right to write there."""
    database.add("ses_a", READS)
    os.chmod(database.path.parent, 0o500)
    try:
        assert len(runs(database.path)) == 1
    finally:
        os.chmod(database.path.parent, 0o700)


def test_results_that_were_cleared_are_out_of_sight(database: Database) -> None:
    """A result that opencode cleared at some time is not in the context of calls that started later."""
    cleared = tool(1, "read", {"filePath": "/w/a.txt"}, output=SHOWN, time={"start": 100, "end": 101, "compacted": 250})
    database.add("ses_a", [cleared], [READS[1]], [FAILS])
    assert runs(database.path)[0].compactions == (2,)


def test_a_compaction_takes_results_out_of_sight(database: Database) -> None:
    """The request for a summary is a part of its own."""
    database.add("ses_a", [READS[0]], [{"type": "compaction"}], [READS[1]])
    assert runs(database.path)[0].compactions == (1,)


def test_an_exported_session(tmp_path: Path, database: Database) -> None:
    """What ``opencode export`` prints is read alike."""
    database.add("ses_a", READS)
    (source,) = find_recorded([str(database.path)])
    file = tmp_path / "export.json"
    file.write_bytes(json.dumps(json.loads(source.read()), indent=2).encode())
    assert [len(run.steps) for run in runs(file)] == [2]


def test_databases_of_others_are_passed_over(tmp_path: Path) -> None:
    """In a folder, a database without sessions of opencode is no run; one that is named is said to be none."""
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE t (x)")
    connection.close()
    assert runs(tmp_path) == []
    with pytest.raises(UnreadableRun):
        runs(other)


def test_a_damaged_database_is_named(tmp_path: Path) -> None:
    """One line says which file it is, and what is wrong with it."""
    broken = tmp_path / "opencode.db"
    broken.write_bytes(b"SQLite format 3\0" + b"x" * 500)
    (source,) = find_recorded([str(tmp_path)])
    with pytest.raises(UnreadableRun, match=r"opencode\.db: expected a database of opencode, found: "):
        source.read()
