"""Interpreters: inline code, scripts, modules."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from execledger.shell.facts import Knowledge, Part, runs
from execledger.vocabulary.records import Category, Scope
from tests.shell.programs.calling import FOREIGN_LOOK, SHOW, kind, kinds, understand, writing

CODE = runs(Category.OTHER, reproduces=True)


def naming(*paths: str) -> Part:
    return runs(Category.MODIFY, writes=paths, scope=Scope.FILES, reproduces=True)


@pytest.mark.parametrize(
    "line",
    [
        "python -c 'print(1)'",
        "python -u -X dev a.py",
        "python",
        "python -",
        "python $x",
        "python -c $x",
        "python -m mypkg",
        "python3.11 test_fix.py",
        "node a.js",
        "node -e $x",
        "ruby a.rb",
        "bash a.sh",
        "java -jar a.jar",
        "julia a.jl",
    ],
)
def test_code(line: str) -> None:
    """Code that names no file may still do anything."""
    assert understand(line) == CODE


def test_inline_code_that_names_files() -> None:
    """Files named for writing are listed; the effects stay unknown."""
    assert understand("""python -Bc "open('a.py', 'w').write('x')" """) == naming("a.py")
    assert understand("python -", body="open('a.py', 'w')") == naming("a.py")
    assert understand("python3", body="open('a.py', 'w')") == naming("a.py")
    assert understand("""node -e 'fs.writeFileSync("a.js", "x")'""") == naming("a.js")
    assert understand("""ruby -e 'File.write("a.rb", "x")'""") == naming("a.rb")
    assert understand("""php -r 'file_put_contents("a.php", 1);'""") == naming("a.php")


def test_scripts_that_the_agent_wrote() -> None:
    """The ledger knows what they name, by their full path or as spelled."""
    known = Knowledge(scripts={"/repo/fix.py": ("a.py",), "other.sh": ("b",)})
    assert understand("python fix.py", cwd="/repo", knowledge=known) == naming("a.py")
    assert understand("python ../repo/./fix.py", cwd="/repo", knowledge=known) == naming("a.py")
    assert understand("python /repo/fix.py", knowledge=known) == naming("a.py")
    assert understand("bash ./other.sh", knowledge=known) == naming("b")
    assert understand("python fix.py", cwd="/elsewhere", knowledge=known) == CODE


@pytest.mark.parametrize(
    "line",
    [
        "python -m pytest -q",
        "python -mpytest",
        "python -W ignore -m unittest x",
        "python -m coverage run -m pytest",
        "python -m tox",
        "python -m test",
        "python manage.py test app",
        "python tests/runtests.py queries",
        "python bin/test sympy",
        "python /usr/bin/pytest",
        "node --test",
        "node node_modules/.bin/jest",
        "node node_modules/mocha/bin/mocha.js",
        "ruby -Itest test/a_test.rb",
        "php vendor/bin/phpunit",
        "php artisan test",
    ],
)
def test_tests(line: str) -> None:
    """Tests run through an interpreter are tests."""
    assert kind(line) == ("test", "unknown")


def test_modules_are_programs() -> None:
    """``python -m NAME`` is ``NAME``."""
    assert understand("python -m black a.py") == writing("a.py", foreign=True)
    assert understand("python -m pip list") == FOREIGN_LOOK
    assert kinds("python -m pip install x", "python -m venv x", "python setup.py develop") == {("setup", "unknown")}
    assert kinds("python -m flake8 a.py", "python -m mypy a.py") == {("other", "unknown")}


def test_json_tool() -> None:
    """It prints, or writes its second operand."""
    assert understand("python -m json.tool a.json") == replace(SHOW, foreign=True)
    assert understand("python -m json.tool --indent 2 a.json b.json") == writing("b.json", foreign=True)


def test_versions() -> None:
    """Asking for the version does nothing."""
    assert kinds("python --version", "python3 -V", "node -v", "java -version", "perl -v") == {("other", "none")}
