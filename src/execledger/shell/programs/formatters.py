"""Formatters and fixers, which rewrite files, and linters, which keep caches."""

from __future__ import annotations

import re

from msgspec import Struct

from execledger.shell.facts import Facts, Invocation, Part, runs, writes
from execledger.shell.programs.shared import SUFFIXED, about_itself, given, operands, subcommand
from execledger.shell.tree import Word
from execledger.vocabulary.records import Category, Scope

PATTERN = re.compile(r"[*?\[{!]")
"""A name that the tool itself expands."""

CHECKS = runs(Category.OTHER)
"""A check that rewrites nothing; its caches and plugins keep it from being harmless."""


class Formatter(Struct, frozen=True):
    """The options of one formatter."""

    short: str = ""
    """Letters that make it write; with ``long`` empty too, it writes unless an option of ``check`` is given."""
    long: tuple[str, ...] = ()
    """Long options that make it write."""
    check: tuple[str, ...] = ("--check", "--diff", "--check-only", "--dry-run", "--stdout", "-c", "-n")
    """Options with which it writes nothing."""
    valued: tuple[str, ...] = ()
    """Options that take the next word."""
    exact: bool = True
    """It changes nothing but the files that it is given."""


COMMON = ("--config", "-l", "--line-length", "-t", "--target-version", "--exclude", "--include", "--ignore", "--select",
          "--max-line-length", "--settings-path", "--settings-file", "--profile", "--parser", "--style", "-j", "-p",
          "-w", "--ext", "--fix-only", "--skip", "--rule", "--ignore-path", "--config-path")  # fmt: skip
IN_PLACE = Formatter("i", ("--in-place",), ("--diff", "--check"), COMMON)

FORMATTERS: dict[str, Formatter] = {
    "black": Formatter(check=("--check", "--diff", "-c", "--code"), valued=COMMON),
    "isort": Formatter(check=("--check", "--check-only", "-c", "--diff", "--stdout", "-d"), valued=(*COMMON, "-a")),
    "autopep8": IN_PLACE,
    "yapf": IN_PLACE,
    "autoflake": IN_PLACE,
    "docformatter": IN_PLACE,
    "clang-format": IN_PLACE,
    "pyupgrade": Formatter(),
    "reorder-python-imports": Formatter(),
    "add-trailing-comma": Formatter(),
    "flynt": Formatter(exact=False),
    "unify": IN_PLACE,
    "prettier": Formatter("w", ("--write",), (), tuple(word for word in COMMON if word != "-w")),
    "eslint": Formatter("", ("--fix",), ("--fix-dry-run",), ("-c", *COMMON)),
    "stylelint": Formatter("", ("--fix",), (), COMMON),
    "tslint": Formatter("", ("--fix",), (), COMMON),
    "standard": Formatter("", ("--fix",), (), COMMON),
    "gofmt": Formatter("w", (), (), ("-r",)),
    "goimports": Formatter("w", (), (), ("-local",)),
    "gofumpt": Formatter("w", (), ()),
    "shfmt": Formatter("w", ("--write",), (), ("-i", "-ln")),
    # It follows ``mod`` declarations into other files.
    "rustfmt": Formatter(check=("--check", "--emit"), valued=("--edition", "--config-path", "--config"), exact=False),
    # It leaves backups beside the files.
    "2to3": Formatter("w", ("--write",), (), ("-f", "-x", "-o", "-j"), exact=False),
    "futurize": Formatter("w", ("--write",), (), ("-f",), exact=False),
    "rubocop": Formatter("aAx", ("--autocorrect-all", "--auto-correct-all", "--autocorrect", "--auto-correct"), ()),
    "php-cs-fixer": Formatter("", ("fix",), ("--dry-run",), exact=False),
    "google-java-format": Formatter("ir", ("--replace",), ("-n",)),
    "ktlint": Formatter("F", ("--format",), ()),
    "swiftformat": Formatter(check=("--lint", "--dryrun"), exact=False),
    "scalafmt": Formatter(check=("--check", "--test", "--stdout"), exact=False),
    "cmake-format": Formatter("i", ("--in-place",), ("--check",)),
    "taplo": Formatter(exact=False),
    "biome": Formatter("", ("--write", "--apply", "--fix", "--apply-unsafe"), (), exact=False),
    # It keeps a cache in the tree.
    "ruff-format": Formatter(check=("--check", "--diff"), valued=COMMON, exact=False),
    "ruff-check": Formatter(
        "", ("--fix", "--fix-only", "--unsafe-fixes", "--add-noqa"), ("--diff",), COMMON, exact=False
    ),
}  # fmt: skip
"""Every formatter by its name."""


def formatter(call: Invocation) -> Part:
    """The files that it is given, if its options make it write."""
    return about_itself(call) or formatted(FORMATTERS[call.name], call.args)


def ruff(call: Invocation) -> Part:
    """``ruff format`` writes; ``ruff check`` only with ``--fix``."""
    name, rest = subcommand(call.args, ("--config",))
    if name in ("version", "help", "rule", "linter"):
        return Part(category=Category.OTHER)
    return about_itself(call) or formatted(FORMATTERS["ruff-format" if name == "format" else "ruff-check"], rest)


def formatted(tool: Formatter, args: tuple[Word, ...]) -> Part:
    """What a formatter does with ``args``: nothing but its files if it is given nothing but files."""
    asked = given(args, tool.short, tool.long) or any(word.literal in tool.long for word in args)
    by_itself = not tool.short and not tool.long
    # A shortened --diff or --check would be missed: then it is taken to write, which is the safe side.
    checking = any((word.literal or "").partition("=")[0] in tool.check for word in args)
    if checking or not (asked or by_itself):
        return CHECKS
    found = operands(args, tool.valued)
    files = (path for path in found if path and SUFFIXED.fullmatch(path) and not PATTERN.search(path))
    named = tuple(dict.fromkeys(files))
    alone = bool(named) and len(named) == len(set(found))
    if tool.exact and alone:
        return writes(*named, foreign=True)
    return runs(Category.MODIFY, writes=named, scope=Scope.TREE)


FACTS = (
    Facts(names=" ".join(name for name in FORMATTERS if not name.startswith("ruff")), does=formatter),
    Facts(names="ruff", does=ruff),
    Facts(
        names="""
        flake8 pylint mypy pyright basedpyright pyre pytype pyflakes pycodestyle pydocstyle bandit vulture radon xenon
        mccabe interrogate codespell shellcheck hadolint yamllint jsonlint markdownlint rstcheck doc8 djlint curlylint
        tsc jshint xo golint staticcheck golangci-lint errcheck cppcheck clang-tidy cpplint checkstyle pmd spotbugs
        phpstan psalm phpcs checkbashisms cargo-clippy pip-audit safety snyk import-linter lint-imports pyroma
        check-manifest twine-check sourcery semgrep prospector pylama refurb ty slotscheck
        """,
        does=CHECKS,
    ),
    Facts(names="phpcbf oxfmt dprint treefmt unimport ssort", does=runs(Category.MODIFY, scope=Scope.TREE)),
)
"""Formatters, fixers and linters."""
