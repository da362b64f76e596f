"""What is missing is named by its extra, with a command that installs it from where this copy came."""

from __future__ import annotations

import json
import shlex
import tomllib
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from execledger import extras
from execledger.agents.registry import agents
from execledger.errors import LedgerError

ROOT = Path(__file__).resolve().parents[1]


class Installed:
    """A copy of the package, with the installer's note on where it came from."""

    def __init__(self, note: str | None) -> None:
        self.note = note

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return self.note


def elsewhere(monkeypatch: pytest.MonkeyPatch, folder: Path, note: str | None) -> None:
    """Make this copy look like one in an environment's own folder."""
    monkeypatch.setattr(extras, "__file__", str(folder / "lib" / "site-packages" / "execledger" / "extras.py"))
    monkeypatch.setattr("importlib.metadata.distribution", lambda _: Installed(note))


def test_every_extra_of_the_package_is_known() -> None:
    """But for the tools that only the tests need."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    known = {*extras.EXTRAS, *(agent.extra for agent in agents() if agent.modules)}
    assert known == {*project["optional-dependencies"]} - {"dev"}


def test_a_clone_is_installed_from_where_it_is() -> None:
    """Which works from any folder."""
    assert extras.install_command("eval") == f"pip install -e {shlex.quote(f'{ROOT}[eval]')}"
    assert extras.install_command("mini", "codex").endswith("[mini,codex]'")
    assert extras.requirement() == shlex.quote(str(ROOT))


def test_an_installed_copy_is_installed_from_its_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The installer's note says which folder that was, spaces and all."""
    source = tmp_path / "a clone"
    source.mkdir()
    elsewhere(monkeypatch, tmp_path, json.dumps({"url": source.as_uri(), "dir_info": {}}))
    assert extras.install_command("view") == f"pip install '{source}[view]'"
    assert extras.requirement() == f"'{source}'"


@pytest.mark.parametrize(
    "note", [None, "", "no JSON", '{"url": "file:///nothing/there"}', '{"url": "https://example.org/x.git"}']
)
def test_without_a_source_a_clone_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, note: str) -> None:
    """Nothing is said that would not work."""
    elsewhere(monkeypatch, tmp_path, note)
    assert extras.install_command("view") == "in a clone of the repository: pip install -e '.[view]'"


def test_a_copy_that_no_installer_knows_asks_for_a_clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as one that was only copied."""

    def unknown(name: str) -> Installed:
        raise PackageNotFoundError(name)

    elsewhere(monkeypatch, tmp_path, None)
    monkeypatch.setattr("importlib.metadata.distribution", unknown)
    assert extras.install_command("ray") == "in a clone of the repository: pip install -e '.[ray]'"


def test_a_missing_module_is_named_with_its_extra() -> None:
    """A part of it, too."""
    with pytest.raises(LedgerError) as caught, extras.needing("eval"):
        raise ModuleNotFoundError("No module named 'scipy.stats'", name="scipy.stats")
    expected = f"scipy: not installed, it comes with the extra `eval`\nhint: {extras.install_command('eval')}"
    assert str(caught.value) == expected


def test_another_missing_module_is_a_fault_of_ours() -> None:
    """No extra would bring it."""
    with pytest.raises(ModuleNotFoundError), extras.needing("eval"):
        raise ModuleNotFoundError("No module named 'execledger.nothing'", name="execledger.nothing")


def test_what_is_missing_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without importing it."""
    monkeypatch.setitem(extras.EXTRAS, "view", ("json", "no_such_module_here"))
    assert extras.missing("view") == ["no_such_module_here"]
