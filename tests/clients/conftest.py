"""The real ``codex``, skipped where it can't be installed unless it is required; and signals that have their effect."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.agents.codex import CURRENT, OLD, CodexHome, codex
from tests.support.agents.npm import NotInstalled, required


def installed(version: str) -> Path:
    """The binary of a version."""
    try:
        return codex(version)
    except NotInstalled as error:
        if required():
            raise
        pytest.skip(str(error))


def crossed(names: str, *values: tuple[object, ...]) -> pytest.MarkDecorator:
    """Parametrize by ``values`` and by the versions of codex, each value with the next version.

    For values that have nothing to do with the version; the other combinations are left to the long form.
    """
    rows = [
        pytest.param(*value, version, marks=[] if at % 2 == number else [pytest.mark.long])
        for at, value in enumerate(values)
        for number, version in enumerate((CURRENT, OLD))
    ]
    return pytest.mark.parametrize(f"{names},binary", rows, indirect=["binary"])


@pytest.fixture(params=[CURRENT, OLD])
def binary(request: pytest.FixtureRequest) -> Path:
    """Each of the versions that are tested."""
    return installed(request.param)


@pytest.fixture(params=[CURRENT, pytest.param(OLD, marks=pytest.mark.long)])
def either(request: pytest.FixtureRequest) -> Path:
    """The version that users have, and in the long form the one from before: for what does not depend on it."""
    return installed(request.param)


@pytest.fixture
def current() -> Path:
    """The version that users have."""
    return installed(CURRENT)


@pytest.fixture
def old() -> Path:
    """The version from before."""
    return installed(OLD)


@pytest.fixture
def home(tmp_path: Path) -> CodexHome:
    """Folders of a new user."""
    return CodexHome(tmp_path)


@pytest.fixture
def heeded() -> Iterator[None]:
    """Signals have their effect in new processes, also where these tests run in the background and ignore them."""
    before = {one: signal.signal(one, signal.SIG_DFL) for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, effect in before.items():
        signal.signal(number, effect)
