"""Package managers and environments."""

from __future__ import annotations

import pytest

from execledger.shell.facts import Part, runs
from execledger.vocabulary.records import Category
from tests.shell.programs.calling import FOREIGN_LOOK, changes, kind, kinds, understand

LISTS = Part(category=Category.SEARCH, foreign=True)


@pytest.mark.parametrize(
    "line",
    [
        "pip install -e .",
        "pip config set a b",
        "pip list --log x",
        "pip list --cache-dir x",
        "pip3.9 uninstall -y x",
        "conda install x",
        "conda create -n x",
        "apt-get update",
        "apt install x",
        "dpkg -i x.deb",
        "poetry install",
        "poetry version patch",
        "uv sync",
        "uv pip install x",
        "venv x",
        "virtualenv x",
        "brew install x",
        "setup.py develop",
    ],
)
def test_set_up(line: str) -> None:
    """Setting up may change anything."""
    assert understand(line) == runs(Category.SETUP)


def test_looking_at_packages() -> None:
    """What is installed is a search; what may ask the network is not compared."""
    for line in ("pip list", "pip show x", "pip freeze"):
        assert understand(line) == FOREIGN_LOOK, line
    for line in (
        "pip list --outdated",
        "pip index versions x",
        "conda list",
        "conda env list",
        "dpkg -l x",
        "apt list",
    ):
        assert understand(line) == LISTS, line


def test_programs_in_an_environment() -> None:
    """The program that is run says what it is."""
    assert kinds(
        "poetry run pytest -q",
        "uv run pytest",
        "uv run --with x -m pytest",
        "uv run --python 3.12 python -m pytest",
        "conda run -n x --no-capture-output pytest",
        "pipenv run python manage.py test",
        "hatch run test",
        "hatch test",
        "bundle exec rspec",
        "pdm run test",
    ) == {("test", "unknown")}
    assert understand("conda run -n x python a.py").reproduces
    assert understand("uv run a.py").reproduces
    assert changes("poetry run black a.py") == ("listed", "FILES", ["a.py"])


def test_managers_that_set_up_before_they_run() -> None:
    """Even a harmless program may then come with changes."""
    assert kind("poetry run cat a.py") == ("inspect", "none")
    for line in ("uv run cat a.py", "pipx run cat a.py", "uvx cat a.py", "pixi run cat a.py"):
        part = understand(line)
        assert (part.effects.value, part.comparable, part.view) == ("unknown", False, None), line


def test_versions() -> None:
    """Asking for the version does nothing."""
    assert kinds("pip --version", "conda --help", "uv --version") == {("other", "none")}
