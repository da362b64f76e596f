"""Links that lead nowhere or round, pipes and sockets among recorded runs: named in one line, and the runs are read."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path

import pytest

from tests.cli.conftest import Execledger
from tests.journal.runs import plain_step, start, written

VERBS = [("replay", "--json"), ("stats", "--json"), ("view", "--export", "{out}")]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a journal, and everything beside it that is no file."""
    place = tmp_path / "runs"
    written(place / "below", [start(), plain_step(0, "cat a.py", "x = 1\n")])
    (place / "loop").symlink_to("loop")
    (place / "below" / "round.json").symlink_to("round.json")
    (place / "gone.jsonl").symlink_to("nowhere")
    (place / "a folder").symlink_to(place)
    os.mkfifo(place / "pipe.json")
    # The name of a socket may not be long.
    monkeypatch.chdir(place)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket.json")
    return place


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb[0])
def test_what_is_no_file_is_named_and_the_others_are_read(
    execledger: Execledger, folder: Path, tmp_path: Path, verb: tuple[str, ...]
) -> None:
    """One line each on stderr; nothing waits for a pipe, and nothing else is blamed."""
    out = tmp_path / "page.html"
    result = execledger(verb[0], str(folder), *(word.format(out=out) for word in verb[1:]))
    assert result.status == 0, result.err
    assert out.exists() if verb[0] == "view" else json.loads(result.out)["runs"] == 1
    told = [line for line in result.err.splitlines() if str(folder) in line]
    links = {"below/round.json": "leads back to itself", "loop": "leads back to itself", "gone.jsonl": "leads nowhere"}
    others = {"pipe.json": "a named pipe", "socket.json": "a socket"}
    for name, words in {**links, **others}.items():
        assert sum(f"{folder / name}:" in line and words in line for line in told) == 1, (name, result.err)
    assert len(told) == 5


def test_an_evaluation_names_them_once_as_well(execledger: Execledger, folder: Path, tmp_path: Path) -> None:
    """`eval report` and `eval export` read the runs beside a link into itself; `eval grade` refuses it."""
    for words in (("report", folder, "--json"), ("export", folder, "-o", tmp_path / "tables")):
        result = execledger("eval", *words)
        assert result.status == 0, result.err
        told = [line for line in result.err.splitlines() if line.startswith(f"execledger: not read: {folder}")]
        assert len(told) == 5, result.err
        assert sum("leads back to itself" in line for line in told) == 2
    graded = execledger("eval", "grade", folder / "loop")
    assert (graded.status, graded.err) == (
        2,
        f"execledger: {folder / 'loop'}: found a symbolic link that leads back to itself,"
        " expected the output of `execledger eval run`\n",
    )
