"""Where agents keep the recorded runs of a user."""

from __future__ import annotations

from pathlib import Path

import pytest

from execledger.agents.places import RunPlace
from execledger.agents.registry import agents

PLACE = RunPlace(".agent", "sessions/*.jsonl", (("STRONG", ""), ("WEAK", "agent")))


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, "home/.agent/sessions/*.jsonl"),
        ({"WEAK": "w"}, "w/agent/sessions/*.jsonl"),
        ({"WEAK": "w", "STRONG": "s"}, "s/sessions/*.jsonl"),
        ({"WEAK": "", "STRONG": ""}, "home/.agent/sessions/*.jsonl"),
    ],
)
def test_variables_of_the_agent_move_its_place(variables: dict[str, str], expected: str) -> None:
    """The strongest one that is set counts; an empty one is not set."""
    assert PLACE.pattern({"HOME": "home", **variables}) == expected


def test_names_of_folders_are_no_patterns(tmp_path: Path) -> None:
    """Only what the place itself says is a pattern, and not the characters of a home folder."""
    home = tmp_path / "[a]*"
    file = home / ".agent" / "sessions" / "x.jsonl"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"")
    assert [*PLACE.found({"HOME": str(home)})] == [str(file)]
    assert [*PLACE.found({"HOME": str(tmp_path / "a")})] == []


def test_every_agent_whose_sessions_a_user_has_names_a_place() -> None:
    """A format without a place would be missing from a user's own sessions."""
    without = {agent.key for agent in agents() if agent.formats and not agent.places}
    # These write their runs into the folder that they were started in.
    assert without == {"inspect", "sweagent"}
