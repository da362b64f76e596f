"""The real ``codex``, for tests that ask for it; skipped where it can't be installed, unless it is required."""

from __future__ import annotations

from pathlib import Path

import pytest

from execledger.testing.codex_binary import CURRENT, OLD, NotInstalled, codex, required
from execledger.testing.codex_harness import CodexHome


def installed(version: str) -> Path:
    """The binary of a version."""
    try:
        return codex(version)
    except NotInstalled as error:
        if required():
            raise
        pytest.skip(str(error))


@pytest.fixture(params=[CURRENT, OLD])
def binary(request: pytest.FixtureRequest) -> Path:
    """Each of the versions that are tested."""
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
