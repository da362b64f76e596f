"""Test runners: programs, and scripts that projects call their tests with."""

from __future__ import annotations

import posixpath
import re

from execledger.shell.facts import Facts, Invocation, Part, Variables, runs
from execledger.shell.programs.shared import about_itself, subcommand
from execledger.vocabulary.records import Category

RUNNERS = """
    pytest py.test pytest-3 pytest3 ptw pytest-watch unittest unit2 nosetests nosetests3 nose2 nose trial tox nox
    stestr testr ostestr zope-testrunner behave robot green doctest jest vitest mocha _mocha ava karma cypress
    playwright jasmine tap tape qunit wdio testcafe nyc c8 ctest rspec minitest cucumber phpunit pest codecept
    behat paratest prove bats shunit2 gotestsum ginkgo cargo-nextest nextest busted sharness kaocha vstest.console
    nunit3-console xunit test-runner web-test-runner wtr asv testinfra
"""
"""Programs whose only purpose is to run tests."""
_NAMES = frozenset(RUNNERS.split())

SCRIPTS = re.compile(r"(?:^|.*/)(?:run[_-]?(?:all[_-]?)?tests?|test_?runner|testall)(?:\.(?:py|sh|js|rb|pl|php))?")
"""Scripts that run a project's tests, by their name."""

FOLDERS = re.compile(r"(?:^|.*/)bin/(?:test|tests|doctest)")
"""Scripts that are test runners in a ``bin`` folder, although another program has the same name."""

TEST = runs(Category.TEST)
"""A test run may change anything."""


def runs_tests(path: str) -> bool:
    """The script at ``path`` runs tests, as its name says."""
    name = posixpath.basename(path)
    stem = name.rsplit(".", 1)[0] if name.endswith((".py", ".js", ".mjs", ".cjs", ".rb", ".phar")) else name
    return stem in _NAMES or bool(SCRIPTS.fullmatch(path)) or bool(FOLDERS.fullmatch(path))


def coverage(call: Invocation) -> Part:
    """``coverage run`` runs tests; its reports write files of their own."""
    name, _ = subcommand(call.args)
    return about_itself(call) or (TEST if name in ("run", None) else runs(Category.OTHER))


def project_command(call: Invocation) -> Part:
    """A project's own command: ``test`` and what begins with it run its tests."""
    name, _ = subcommand(call.args, ("--settings", "--pythonpath"))
    if about := about_itself(call, "help", "version"):
        return about
    # A bare ``rake`` runs the default task, by custom the tests; ``manage.py check`` is no test.
    pattern = r"|(?:tests?|spec|check)(?:[:_-].*)?" if call.name == "rake" else r"(?:tests?|spec)(?:[:_-].*)?"
    return TEST if name is not None and re.fullmatch(pattern, name) else runs(Category.OTHER, reproduces=True)


FACTS = (
    Facts(names=RUNNERS, does=TEST),
    Facts(
        names="""
        runtests.py runtests runtests.sh runtest.py run_tests.py run_tests.sh run_tests run-tests.sh run-tests
        run_test.sh run_test.py bin/test bin/doctest
        """,
        does=TEST,
    ),
    Facts(names="coverage coverage3 python-coverage", does=coverage, variables=Variables(r"COVERAGE_\w*")),
    Facts(names="manage.py django-admin django-admin.py artisan rails rake", does=project_command),
)
"""Test runners."""
