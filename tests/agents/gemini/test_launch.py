"""Where Gemini CLI is led: the user's own address and choice of authentication, and never a project's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from execledger.agents.gemini.launch import ADDRESSES, KEY, LOGIN, SYSTEM_SETTINGS, auth_type, upstream_of
from execledger.errors import LedgerError

VARIABLE, GOOGLE = ADDRESSES[KEY]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder in the home of a user."""
    folder = tmp_path / "home" / "project" / "src"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """That of the user."""
    return {"HOME": str(tmp_path / "home"), SYSTEM_SETTINGS: str(tmp_path / "system.json")}


def choose(file: Path, auth: str) -> None:
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({"security": {"auth": {"selectedType": auth}}}))


@pytest.mark.parametrize("name", [".env", ".gemini/.env"])
@pytest.mark.parametrize("outside", [False, True])
def test_the_users_own_address_is_the_upstream(
    tmp_path: Path, project: Path, environment: dict[str, str], name: str, outside: bool
) -> None:
    """From a file in the home, wherever the project is; the environment is stronger."""
    file = tmp_path / "home" / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"# mine\nexport {VARIABLE} = 'http://gateway' # ours\n")
    cwd = tmp_path if outside else project
    assert upstream_of(environment, cwd, KEY) == "http://gateway"
    assert upstream_of(environment, cwd, LOGIN) == ADDRESSES[LOGIN][1]
    assert upstream_of({**environment, VARIABLE: "http://other"}, cwd, KEY) == "http://other"
    assert upstream_of({**environment, VARIABLE: ""}, cwd, KEY) == GOOGLE


@pytest.mark.parametrize("name", [".env", ".gemini/.env"])
def test_an_address_of_the_project_is_refused(project: Path, environment: dict[str, str], name: str) -> None:
    """Also one from a folder above; a file without an address hides that of the user, as it does for the client."""
    file = project.parent / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"{VARIABLE}: http://elsewhere\n")
    with pytest.raises(LedgerError, match="your key, to http://elsewhere"):
        upstream_of(environment, project, KEY)
    assert upstream_of({**environment, VARIABLE: "http://mine"}, project, KEY) == "http://mine"
    file.write_text("OTHER=1\n")
    assert upstream_of(environment, project, KEY) == GOOGLE


def test_the_project_does_not_choose_how_to_authenticate(
    tmp_path: Path, project: Path, environment: dict[str, str]
) -> None:
    """The client heeds a project only in folders that it trusts; the system's choice is stronger than both."""
    choose(project / ".gemini" / "settings.json", LOGIN)
    with pytest.raises(LedgerError, match="you have chosen nothing"):
        auth_type(environment, project)
    choose(tmp_path / "home" / ".gemini" / "settings.json", KEY)
    with pytest.raises(LedgerError, match=f"by {LOGIN}, and yours by {KEY}"):
        auth_type(environment, project)
    choose(project / ".gemini" / "settings.json", KEY)
    assert auth_type(environment, project) == KEY
    choose(tmp_path / "system.json", LOGIN)
    assert auth_type(environment, project) == LOGIN
