"""Files of settings: what the command line leaves open, the user's file says, and a project may only be cautious."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from execledger.cli.settings_files import project_file, with_files
from execledger.cli.switches import Switches
from execledger.core.policy import Policy, Preset, WitnessSetting

NOTHING = Switches(None, False, False, False, None, None, None)


class Place:
    """A user's home and a repository in it."""

    def __init__(self, root: Path) -> None:
        self.home, self.repository = root / "home", root / "home" / "work"
        self.inner = self.repository / "src" / "deep"
        self.inner.mkdir(parents=True)
        (self.repository / ".git").mkdir()
        self.told: list[str] = []

    def user(self, text: str) -> None:
        folder = self.home / ".config" / "execledger"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.toml").write_text(text)

    def project(self, text: str) -> None:
        (self.repository / ".execledger.toml").write_text(text)

    def settled(self, switches: Switches = NOTHING, **environment: str) -> tuple[Switches, bool]:
        environment = {"HOME": str(self.home), **environment}
        settled, disabled_by = with_files(switches, self.inner, environment, self.told.append)
        return settled, disabled_by is None


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_without_files_the_command_line_alone_counts(place: Place) -> None:
    """Nothing is said, also if the home is no folder."""
    assert (place.settled(), place.told) == ((NOTHING, True), [])
    assert (place.settled(HOME="/dev/null/home"), place.told) == ((NOTHING, True), [])


def test_the_command_line_comes_before_the_project_and_the_project_before_the_user(place: Place) -> None:
    """Each fills in what the one before leaves open."""
    place.user('preset = "paper"\ncadence = "focused"\nwitness = "auto"\njournal = "/j"\n')
    assert place.settled()[0] == replace(NOTHING, preset="paper", cadence="focused", witness="auto", journal="/j")
    place.project('preset = "verified"\nwitness = "off"\nshadow = true\n')
    expected = replace(NOTHING, preset="verified", cadence="focused", witness="off", journal="/j", shadow=True)
    assert place.settled()[0] == expected
    asked = replace(NOTHING, preset="paper", witness="auto", journal="off")
    assert place.settled(asked)[0] == replace(asked, cadence="focused", shadow=True)
    assert place.told == []


def test_either_file_can_switch_ledger_off(place: Place) -> None:
    """And only that: a project does not switch on what the user has switched off."""
    place.project("enabled = false")
    assert place.settled()[1] is False
    place.project("enabled = true")
    assert place.settled()[1] is True
    place.user("enabled = false")
    assert place.settled()[1] is False


values: st.SearchStrategy[Any] = st.one_of(
    st.booleans(),
    st.integers(),
    st.sampled_from(["paper", "verified", "auto", "off", "every", "focused", "/x", ""]),
)
names = st.sampled_from(
    "enabled inform govern shadow preset witness cadence journal upstream port agent key sealed other".split()
)
users = st.sampled_from(["", 'preset = "paper"', "inform = false"])


@given(project=st.dictionaries(names, values, max_size=6), user=users)
def test_no_project_makes_ledger_less_cautious(
    tmp_path_factory: pytest.TempPathFactory, project: dict[str, Any], user: str
) -> None:
    """Whatever it says, each switch is that of the user or a more cautious one, and journals stay where they were."""
    place = Place(tmp_path_factory.mktemp("place"))
    place.user(user)
    without, on = place.settled()
    place.project("".join(f"{name} = {_toml(value)}\n" for name, value in project.items()))
    settled, enabled = place.settled()
    assert enabled <= on
    before, after = without.policy(), settled.policy()
    assert after.inform <= before.inform and after.govern <= before.govern and after.shadow >= before.shadow
    assert after.preset in (before.preset, Preset.VERIFIED) and after.witness in (before.witness, WitnessSetting.OFF)
    assert settled.journal == without.journal
    same = ("inform", "govern", "shadow", "preset", "witness")
    assert _rest(after, same) == _rest(before, same)


def _toml(value: Any) -> str:
    return str(value).lower() if isinstance(value, (bool, int)) else f'"{value}"'


def _rest(policy: Policy, without: tuple[str, ...]) -> dict[str, Any]:
    return {name: getattr(policy, name) for name in policy.__struct_fields__ if name not in without}


def test_what_a_project_does_not_choose_is_named(place: Place) -> None:
    """Without its value."""
    place.project('upstream = "https://evil.example"\npreset = "paper"\ngovern = false\n')
    assert place.settled()[0] == replace(NOTHING, no_govern=True)
    path = place.repository / ".execledger.toml"
    assert place.told == [
        f"{path}: a project does not choose 'upstream', it is left out",
        f"{path}: a project may only set `preset` to 'verified', it is left out",
    ]


@pytest.mark.parametrize("text", ["enabled = ", 'inform = "no"', "preset = 3", "x = 1\n" * 40_000, "\udcff"])
@pytest.mark.parametrize("whose", ["user", "project"])
def test_a_file_that_can_not_be_understood_switches_ledger_off(place: Place, whose: str, text: str) -> None:
    """With a sentence that says why."""
    getattr(place, whose)("")
    file = (
        place.repository / ".execledger.toml" if whose == "project" else place.home / ".config/execledger/config.toml"
    )
    file.write_bytes(text.encode("utf-8", "surrogateescape"))
    assert place.settled()[1] is False
    assert len(place.told) == 1 and place.told[0].startswith(f"{file}: ") and "Ledger is off" in place.told[0]


def test_a_pipe_in_place_of_the_file_is_not_waited_for(place: Place) -> None:
    """Nor is it read."""
    os.mkfifo(place.repository / ".execledger.toml")
    assert place.settled()[1] is False
    assert "is no regular file" in place.told[0]


def test_the_file_is_looked_for_up_to_the_root_of_the_repository(place: Place) -> None:
    """The nearest one counts, none above the root, and without a repository only the folder's own."""
    (place.home / ".execledger.toml").touch()
    assert project_file(place.inner) is None
    (place.repository / ".execledger.toml").touch()
    assert project_file(place.inner) == place.repository / ".execledger.toml"
    (place.repository / "src" / ".execledger.toml").touch()
    assert project_file(place.inner) == place.repository / "src" / ".execledger.toml"
    (place.repository / ".git").rmdir()
    assert project_file(place.inner) is None
    assert project_file(place.home) == place.home / ".execledger.toml"


@pytest.mark.parametrize("whose", ["user", "project"])
def test_a_name_in_a_file_does_not_control_the_terminal(place: Place, whose: str) -> None:
    """It is shown with its escapes spelt out."""
    getattr(place, whose)('"\\u001b[2J\\u202e" = 1')
    place.settled()
    assert len(place.told) == 1 and place.told[0].isprintable() and "[2J" in place.told[0]


def test_an_unknown_setting_of_the_user_is_named(place: Place) -> None:
    """A misspelt one would else have no effect without a word."""
    place.user("infrom = false")
    assert place.settled() == (NOTHING, True)
    assert place.told == [
        f"{place.home}/.config/execledger/config.toml: found 'infrom', which is no setting, it is left out"
    ]
