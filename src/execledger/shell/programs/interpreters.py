"""Interpreters: inline code, scripts and modules. Their effects are unknown; the files that they name are not."""

from __future__ import annotations

import posixpath
import re

from msgspec import Struct
from msgspec.structs import replace

from execledger.shell.facts import Facts, Invocation, Part, Variables, inspects, runs
from execledger.shell.programs.shared import about_itself, folders_among, operands, texts, touched
from execledger.shell.programs.test_runners import runs_tests
from execledger.shell.scripts import written_by
from execledger.shell.tree import Word
from execledger.vocabulary.records import Category, Scope

CODE = runs(Category.OTHER, reproduces=True)
"""Code whose effects are unknown."""


def inline(call: Invocation, text: str | None, language: str) -> Part:
    """Code in the command itself: a modification if it names files for writing."""
    return naming(written_by(text, language) if text else ())


def naming(paths: tuple[str, ...]) -> Part:
    """Code that names ``paths`` for writing, and may do anything else."""
    if not paths:
        return CODE
    return runs(Category.MODIFY, writes=paths, folders=folders_among(paths), scope=Scope.FILES, reproduces=True)


def script(call: Invocation, words: tuple[Word, ...], language: str) -> Part:
    """A script file with its arguments, or the text on standard input if there is none."""
    if not words or words[0].literal in ("-", "/dev/stdin"):
        return inline(call, call.body, language)
    path = words[0].literal
    if path is None:
        return CODE
    name = posixpath.basename(path)
    if runs_tests(path):
        return runs(Category.TEST)
    facts = call.programs.find(name)
    if facts and (name in DELEGATED or posixpath.basename(posixpath.dirname(path)) in ("bin", ".bin")):
        return facts.part(call.running(name, words[1:]))
    return naming(_known_script(call, path))


DELEGATED = ("manage.py", "setup.py", "django-admin.py", "artisan")
"""Scripts that every project of their kind has."""


def _known_script(call: Invocation, path: str) -> tuple[str, ...]:
    """The files that a script of the agent's own names for writing."""
    scripts = call.knowledge.scripts
    spelled = posixpath.normpath(path)
    resolved = posixpath.normpath(posixpath.join(call.cwd, path)) if call.cwd is not None else spelled
    return next((scripts[name] for name in (resolved, path, spelled) if name in scripts), ())


MODULES = frozenset(
    """
    pytest py.test unittest nose nose2 tox nox coverage trial doctest stestr behave green black isort autopep8
    yapf ruff autoflake docformatter pyupgrade pip pipx venv virtualenv ensurepip build flit uv flake8 pylint mypy
    pyright pyflakes pycodestyle pydocstyle bandit vulture codespell poetry pdm hatch pipenv twine invoke asv
    sqlfluff mkdocs pre_commit robot radon sphinx-build setuptools 2to3 flynt djlint yamllint celery
    """.split()
)
"""Modules that are programs too: ``python -m NAME`` is ``NAME``."""
ALIASES = {"lib2to3": "2to3", "sphinx": "sphinx-build", "sphinx.cmd.build": "sphinx-build", "pre_commit": "pre-commit",
           "twisted.trial": "trial", "django": "django-admin", "pip._internal": "pip",
           "jupyter": "jupyter", "test": "pytest", "test.regrtest": "pytest", "zope.testrunner": "pytest",
           "manage": "manage.py", "runtests": "runtests.py"}  # fmt: skip


def module(call: Invocation, name: str, rest: tuple[Word, ...]) -> Part:
    """``python -m NAME``: the program of that name, if the registry has it."""
    name = name.removesuffix(".__main__")
    known = ALIASES.get(name, name if name in MODULES else "")
    facts = call.programs.find(known)
    if facts is not None:
        return facts.part(call.running(known, rest))
    if name == "json.tool":
        files = operands(rest, ("--indent",))
        # A module of that name in the working folder would be run in its place.
        return replace(touched(files[1:], files=True) if len(files) > 1 else inspects(), foreign=True)
    return CODE


PYTHONS = ("python", "python2", "python2.7", "pypy", "pypy3", "ipython", "ipython3", "pythonw", "py", "sage", "bpython",
           *(f"python3{minor}" for minor in ("", *(f".{n}" for n in range(3, 16)))))  # fmt: skip


def python(call: Invocation) -> Part:
    """``-c CODE``, ``-m MODULE``, a script, or code on standard input."""
    if about := about_itself(call, "-VV", "-?"):
        return about
    args = call.args
    at = 0
    while at < len(args):
        text = args[at].literal
        at += 1
        if text is None or not text.startswith("-") or text in ("-", "--"):
            return script(call, args[at if text == "--" else at - 1 :], "python")
        flag = re.fullmatch(r"-[bBdEiIOPqRsStuvx23]*(?P<letter>[cmWXQ])(?P<value>.*)", text, re.DOTALL)
        if text.startswith("--") or flag is None:
            at += text == "--check-hash-based-pycs"
            continue
        value = flag["value"] if flag["value"] else args[at].literal if at < len(args) else ""
        at += not flag["value"]
        if flag["letter"] == "c":
            return inline(call, value, "python")
        if flag["letter"] == "m":
            return module(call, value, args[at:]) if value else CODE
    return script(call, (), "python")


class Interpreter(Struct, frozen=True):
    """How one interpreter takes its code."""

    language: str = ""
    """The language in which written files can be found; "" if in none that is supported."""
    code: tuple[str, ...] = ("-e",)
    """Options whose value is code."""
    valued: tuple[str, ...] = ()
    """Options that take the next word."""
    version: tuple[str, ...] = ("-v",)
    """Other words for ``--version``."""


NODE = Interpreter("javascript", ("-e", "--eval", "-p", "--print", "-pe"),
                   ("-r", "--require", "--import", "--loader", "--experimental-loader", "-C", "--conditions", "-P",
                    "--project", "-O"))  # fmt: skip

SHELL = Interpreter("", ("-c",), ("-o", "-O", "--rcfile"))

INTERPRETERS: dict[str, Interpreter] = {
    **dict.fromkeys(("node", "nodejs", "ts-node", "tsx", "babel-node", "esno"), NODE),
    "ruby": Interpreter("ruby", ("-e",), ("-I", "-r", "-C")),
    "irb": Interpreter("ruby"),
    "php": Interpreter("php", ("-r",), ("-d", "-c"), ("-v", "-i", "-m")),
    "Rscript": Interpreter(),
    "R": Interpreter(),
    "lua": Interpreter(),
    "luajit": Interpreter(),
    "julia": Interpreter("", ("-e", "-E", "--eval"), ("-p", "-L", "-J")),
    "java": Interpreter("", (), ("-cp", "-classpath", "--class-path", "-jar"), ("-version",)),
    "groovy": Interpreter(),
    "scala": Interpreter(),
    "kotlin": Interpreter(),
    "elixir": Interpreter(),
    "erl": Interpreter("", ("-eval",)),
    "ghci": Interpreter(),
    "runghc": Interpreter(),
    "ocaml": Interpreter(),
    "clojure": Interpreter(),
    "clj": Interpreter(),
    "tclsh": Interpreter(),
    "osascript": Interpreter(),
    "pwsh": Interpreter("", ("-c", "-Command"), ("-File",)),
    "octave": Interpreter("", ("--eval",)),
    "guile": Interpreter("", ("-c",)),
    "racket": Interpreter(),
    "sbcl": Interpreter("", ("--eval",), ("--load",)),
    "wasmtime": Interpreter(),
    "mono": Interpreter(),
    **dict.fromkeys(("bash", "sh", "zsh", "dash", "ksh", "fish", "ash"), SHELL),
}  # fmt: skip
"""Interpreters other than Python and Perl."""


def interpreter(call: Invocation) -> Part:
    """Inline code, or a script with its arguments."""
    tool = INTERPRETERS[call.name]
    if about := about_itself(call, *tool.version):
        return about
    words = texts(call.args)
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] != "-":
        name, _, value = words[at].partition("=")
        if name in tool.code:
            code = value or (call.args[at + 1].literal if at + 1 < len(words) else None)
            return inline(call, code, tool.language)
        if words[at] in ("--test", "-Itest") or (call.name == "ruby" and words[at].startswith("-Itest")):
            return runs(Category.TEST)
        at += 2 if words[at] in tool.valued else 1
    return script(call, call.args[at:], tool.language)


FACTS = (
    Facts(names=" ".join(PYTHONS), does=python, variables=Variables(r"PYTHON\w*")),
    Facts(names=" ".join(INTERPRETERS), does=interpreter, variables=Variables(r"NODE_\w*")),
)
"""Interpreters other than Perl."""
