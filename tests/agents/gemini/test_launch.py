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
    file.write_text(f"/* mine */ {json.dumps({'security': {'auth': {'selectedType': auth}}})} // chosen\n")


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
    file.write_text(f"{VARIABLE}='http://a; touch b\x1b[2J'\n")
    with pytest.raises(LedgerError) as refused:
        upstream_of(environment, project, KEY)
    assert "--upstream 'http://a; touch b?[2J' -- gemini" in refused.value.hint and refused.value.message.isprintable()


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


def test_a_variable_chooses_the_login(project: Path, environment: dict[str, str]) -> None:
    """Where nothing is stored; also one in the file of variables that the client reads."""
    assert auth_type({**environment, "GOOGLE_GENAI_USE_GCA": "true"}, project) == LOGIN
    (project / ".env").write_text("GOOGLE_GENAI_USE_GCA=true\n")
    assert auth_type(environment, project) == LOGIN


def test_what_can_not_be_redirected_is_refused(tmp_path: Path, project: Path, environment: dict[str, str]) -> None:
    """A key alone is not enough: given an address, the client would assume a gateway and refuse to start."""
    with pytest.raises(LedgerError, match="no stored choice of authentication"):
        auth_type({**environment, "GEMINI_API_KEY": "x"}, project)
    with pytest.raises(LedgerError, match="vertex-ai"):
        auth_type({**environment, "GOOGLE_GENAI_USE_VERTEXAI": "true"}, project)
    choose(tmp_path / "home" / ".gemini" / "settings.json", "compute-default-credentials")
    with pytest.raises(LedgerError, match="compute-default-credentials"):
        auth_type(environment, project)
