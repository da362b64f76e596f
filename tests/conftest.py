"""What every test shares: how hypothesis searches, how long a test may take, and where a measured figure goes.

``ci`` is the default and draws the same examples on every run, so that a red run is red for everyone.
``long`` searches afresh and further; choose it with ``--hypothesis-profile=long``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from functools import partial

import pytest
from hypothesis import HealthCheck, settings

from execledger.core.faults import Faults
from execledger.core.witness_limits import LookLimits
from tests.support.agents.npm import NotInstalled, required
from tests.support.containers.engine import Engine, engine

# Without it, litellm asks the network for a price list whenever it is imported, and may fail at that.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

settings.register_profile("ci", derandomize=True, deadline=None, database=None)
settings.register_profile(
    "long", max_examples=1000, deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("ci")


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--full`` asks the attacks on the guarantees for their long form."""
    parser.addoption("--full", action="store_true", help="attacks in their long form, as dev.py guarantees runs them")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Modules with real agents run first, since they take longest, so that two processes end at about the same time.

    Reports say which rows of docs/guarantees.md their test attacks, also those that come from another process.
    """
    longest = {item.path for item in items if item.get_closest_marker("clients")}
    items.sort(key=lambda item: item.path not in longest)
    for item in items:
        rows = [row for mark in item.iter_markers("guarantee") for row in mark.args]
        item.user_properties += [("guarantee", row) for row in rows]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """A fault of Ledger's own is raised where it happens, and not dealt with, unless the test is about faults."""

    def raising(_: Faults, where: str, error: BaseException) -> None:
        raise AssertionError(f"a fault of Ledger's own in {where}") from error

    with pytest.MonkeyPatch.context() as patch:
        if item.get_closest_marker("faults") is None:
            patch.setattr(Faults, "note", raising)
        return (yield)


@pytest.fixture(autouse=True)
def _unhurried_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine a look may take longer than users should wait for it; what it finds is the same."""
    monkeypatch.setattr("execledger.session.witness.LookLimits", partial(LookLimits, seconds=60.0))


@pytest.fixture(scope="session")
def full(request: pytest.FixtureRequest) -> bool:
    """Whether an attack should take its time: hundreds of rounds, not the handful that fits into CI."""
    return bool(request.config.getoption("--full"))


@pytest.fixture
def figure(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Say in one phrase what the test measured; it becomes a cell of docs/guarantees.md."""

    def say(text: str) -> None:
        request.node.user_properties.append(("figure", text))

    return say


@pytest.fixture(scope="session")
def containers() -> Iterator[Engine]:
    """A real container engine; tests that ask for it are skipped where there is none, unless it is required."""
    with ExitStack() as stack:
        try:
            made = stack.enter_context(engine())
        except NotInstalled as error:
            if required():
                raise
            pytest.skip(str(error))
        yield made
