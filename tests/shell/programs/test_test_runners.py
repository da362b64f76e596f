"""Test runners."""

from __future__ import annotations

import pytest

from execledger.shell.facts import Part, runs
from execledger.shell.programs.test_runners import runs_tests
from execledger.vocabulary.records import Category
from tests.shell.programs.calling import kinds, understand

TEST = runs(Category.TEST)


@pytest.mark.parametrize(
    "line",
    [
        "pytest -q tests",
        "pytest --collect-only",
        "py.test",
        "tox -e py",
        "nox",
        "nosetests",
        "jest",
        "vitest run",
        "ctest",
        "rspec",
        "phpunit",
        "trial x",
        "runtests.py queries",
        "bin/test sympy",
        "coverage run -m pytest",
        "manage.py test app",
        "django-admin test",
        "rails test",
        "rake",
        "rake spec",
    ],
)
def test_runners(line: str) -> None:
    """A test run may change anything."""
    assert understand(line) == TEST


def test_other_project_commands() -> None:
    """A project's command that is no test is a script."""
    assert kinds("manage.py migrate", "manage.py check", "rake build", "coverage report") == {("other", "unknown")}
    assert understand("manage.py --help") == Part(category=Category.OTHER)


def test_scripts_by_name() -> None:
    """Scripts that run tests are known by their name and folder."""
    yes = [
        "tests/runtests.py",
        "./runtests",
        "run_tests.sh",
        "bin/test",
        "/x/bin/test",
        "node_modules/.bin/jest",
        "run-tests",
    ]
    no = ["test_foo.py", "repro.py", "tests/foo.py", "test", "contest.py", "bin/tester"]
    assert [path for path in (*yes, *no) if runs_tests(path)] == yes
