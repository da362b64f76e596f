"""Versions of the notes that stand beside observations in trajectories of mini-swe-agent."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from execledger.agents.formats import read_run
from execledger.agents.mini.messages import MIGRATIONS, answer_of
from execledger.errors import UnreadableRun
from execledger.runs.replay import replay

SAMPLES = Path(__file__).with_name("samples")
VERSION = len(MIGRATIONS)


def notes(data: bytes) -> list[dict[str, object]]:
    """The notes beside the observations of a trajectory."""
    return [one["extra"]["ledger"] for one in json.loads(data)["messages"] if one.get("role") == "tool"]


@pytest.mark.parametrize("version", range(VERSION + 1))
def test_trajectories_of_every_version_tell_the_same(version: int) -> None:
    """Each decision, how its result was shown, and a replay that decides the same again."""
    data = (SAMPLES / f"version-{version}.traj.json").read_bytes()
    assert {note.get("version") for note in notes(data)} == {version or None}
    run = read_run("sample", data)
    steps = [one.governed.step for one in run.steps if one.governed is not None]
    assert [(one.decision.rule, one.shown.kind) for one in steps] == [
        ("new", "full"),
        ("new", "full"),
        ("covered-read", "reference"),
        ("second-look", "full"),
        ("modification", "full"),
        ("new", "reference"),
    ]
    assert [(one.decision, one.shown.text) for one in replay(run)] == [(one.decision, one.shown.text) for one in steps]
    assert [one.version for note in notes(data) if (one := answer_of(note))] == [VERSION] * 6


def test_a_newer_note_is_refused_by_readers_and_ignored_in_a_run() -> None:
    """Readers name both versions; an agent that resumes such a run goes on, with what the messages themselves say."""
    data = (SAMPLES / f"version-{VERSION}.traj.json").read_bytes()
    newer = data.replace(b'"version": %d' % VERSION, b'"version": %d' % (VERSION + 1))
    with pytest.raises(UnreadableRun) as caught:
        read_run("sample", newer)
    assert caught.value.reason == f"found Ledger's notes of version {VERSION + 1}, expected at most {VERSION}"
    assert [answer_of(note) for note in notes(newer)] == [None] * 6


@pytest.mark.parametrize("note", [None, 3, [], {}, {"version": "1"}, {"version": -1}, {"version": None}])
def test_what_is_no_note_of_ours_is_none(note: object) -> None:
    """Whatever another program keeps there."""
    assert answer_of(note) is None
