"""How Gemini CLI is led to the proxy: by a key or by a login, and what can't be redirected is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from execledger.agents.gemini import launch
from execledger.errors import LedgerError


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home folder of a user, in an empty project."""
    (tmp_path / "home" / ".gemini").mkdir(parents=True)
    (tmp_path / "project" / ".gemini").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "home"


def choose(folder: Path, selected: str) -> None:
    text = json.dumps({"security": {"auth": {"selectedType": selected}}})
    (folder / ".gemini" / "settings.json").write_text(f"/* mine */ {text} // chosen\n")


def auth_type(home: Path, **variables: str) -> str:
    return launch._auth_type({"HOME": str(home), "GEMINI_CLI_SYSTEM_SETTINGS_PATH": "/nowhere", **variables})


def test_the_stored_choice_counts(home: Path) -> None:
    """A project's is stronger than the user's; a file may have comments."""
    choose(home, "gemini-api-key")
    assert auth_type(home) == launch.KEY
    choose(Path(), "oauth-personal")
    assert auth_type(home) == launch.LOGIN


def test_a_variable_chooses_the_login(home: Path) -> None:
    """Where nothing is stored."""
    assert auth_type(home, GOOGLE_GENAI_USE_GCA="true") == launch.LOGIN


def test_what_can_not_be_redirected_is_refused(home: Path) -> None:
    """A key alone is not enough: given an address, the client would assume a gateway and refuse to start."""
    with pytest.raises(LedgerError, match="no stored choice of authentication"):
        auth_type(home, GEMINI_API_KEY="x")
    with pytest.raises(LedgerError, match="vertex-ai"):
        auth_type(home, GOOGLE_GENAI_USE_VERTEXAI="true")
    choose(home, "compute-default-credentials")
    with pytest.raises(LedgerError, match="compute-default-credentials"):
        auth_type(home)
