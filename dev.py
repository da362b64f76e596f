#!/usr/bin/env python3
"""The one entry point for working on Ledger; it needs python3 and nothing else.

It keeps a virtual environment in ``.venv``, refreshed when ``pyproject.toml`` changes, and runs every tool inside it;
the demo has one of its own in ``.venv-demo``, unless the other is there.
"""

import sys

# This stands first, and the file keeps to syntax that old Pythons can read, so that they get to say this sentence.
if sys.version_info < (3, 11):  # noqa: UP036
    sys.exit("dev.py: found Python {}.{}, need 3.11 or newer: try `python3.11 dev.py`.".format(*sys.version_info))

import argparse
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterable, Iterator
from datetime import date
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent
REPORT = ROOT / "docs" / "long-check.md"
VERSION = "{}.{}".format(*sys.version_info)

LINT = (
    ("ruff", "check", "."),
    ("ruff", "format", "--check", "."),
    ("mypy", "--strict"),
    ("lint-imports", "--no-cache", "--no-logo"),
)
SCRIPTS = frozenset({"lint-imports"})
"""Tools that are installed as a script and have no module to run."""
# The tests of a module share servers, browsers and runs of agents, so one process runs them; the order is conftest's.
TESTS = ("pytest", "-n", "2", "--dist", "loadfile", "--no-loadscope-reorder")
LONG_TESTS = tuple(
    (*TESTS, "-q", "-m", "not guarantee", "--hypothesis-profile=long", "--color=no", *where)
    for where in (("tests/clients",), ("tests", "--ignore=tests/clients"))
)
"""Those of real agents, and all others; the attacks on the guarantees are a row of their own."""


class Environment(NamedTuple):
    """A virtual environment beside this file, with Ledger and some of its extras."""

    folder: Path
    extras: str

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.folder / "bin" / "python"

    @property
    def stamp(self) -> Path:
        """The file that says what was installed."""
        return self.folder / "execledger-stamp"

    @property
    def wanted(self) -> str:
        """What the stamp has to say."""
        said = f"{VERSION}\n{ROOT}\n{self.extras}\n".encode() + (ROOT / "pyproject.toml").read_bytes()
        return hashlib.sha256(said).hexdigest()

    @property
    def usable(self) -> bool:
        """Whether it exists, starts, and belongs to the Python that runs this file."""
        config = self.folder / "pyvenv.cfg"
        if not (config.is_file() and self.python.exists()):
            return False
        made_by = re.search(r"^version(?:_info)? *= *(\d+\.\d+)", config.read_text(), re.MULTILINE)
        return made_by is not None and made_by[1] == VERSION

    @property
    def ready(self) -> bool:
        """Whether nothing is left to install."""
        return self.usable and self.stamp.is_file() and self.stamp.read_text() == self.wanted

    def make(self, uv: str | None) -> None:
        """Make it anew."""
        if not (importlib.util.find_spec("venv") and (uv or importlib.util.find_spec("ensurepip"))):
            sys.exit(f"dev.py: {sys.executable} cannot make virtual environments: on Debian, apt install python3-venv.")
        import venv

        try:
            venv.create(self.folder, clear=True, symlinks=True, with_pip=not uv)
        except (OSError, subprocess.CalledProcessError) as error:
            sys.exit(f"dev.py: could not make {self.folder} ({error}): remove that folder, and run this again.")

    def prepare(self) -> None:
        """Bring it up to date; does nothing if its stamp says that it is."""
        if self.ready:
            return
        print(f"dev.py: preparing {self.folder.name}, once; this can take a minute or two", file=sys.stderr)
        uv = shutil.which("uv")
        if not (self.usable and (uv or (self.folder / "bin" / "pip").exists())):
            self.make(uv)
        # Most of what is installed is never imported, and need not be compiled.
        pip: list[str | Path] = [self.python, "-m", "pip", "install", "--disable-pip-version-check", "--no-compile"]
        if uv:
            pip = [uv, "pip", "install", "--python", self.python]
        if told([*pip, "--editable", f".[{self.extras}]"]):
            sys.exit("dev.py: could not install what is needed (reason above): check the network, and run this again.")
        self.stamp.write_text(self.wanted)

    @property
    def variables(self) -> dict[str, str]:
        """The variables of a process inside it, as if it were activated.

        Bytecode is kept, also where the user's variables say otherwise: tests start hundreds of processes.
        """
        own = {
            "VIRTUAL_ENV": str(self.folder),
            "PATH": f"{self.folder / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}",
        }
        return {**{name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}, **own}

    def command(self, module: str, *arguments: str) -> list[str | Path]:
        """The command line that runs a module, or a script, inside it."""
        start = [self.folder / "bin" / module] if module in SCRIPTS else [self.python, "-m", module]
        return [*start, *arguments]

    def run(self, *module: str) -> int:
        """Run a module inside it; its exit status."""
        return subprocess.run(self.command(*module), cwd=ROOT, env=self.variables).returncode


WORK = Environment(ROOT / ".venv", "dev")
"""For everything that a contributor does."""
DEMO = Environment(ROOT / ".venv-demo", "mini")
"""For the demo alone, so that a first look does not wait for the tools of the tests."""


def told(command: list[str | Path]) -> int:
    """Run an installer, and say every few seconds how far it is; its exit status."""
    begun = said = time.monotonic()
    packages, what = 0, "still fetching"
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout or ():
            packages += line.startswith("Collecting ")
            now = time.monotonic()
            if now - said > 5 or line.startswith("Installing collected"):
                said = now
                what = "installing them" if line.startswith("Installing") else what
                print(f"dev.py: {now - begun:3.0f} s, {packages} new packages, {what}", file=sys.stderr)
    return process.returncode


def run(*module: str) -> int:
    """Run a module for a contributor; its exit status."""
    return WORK.run(*module)


def test(arguments: list[str]) -> int:
    """Run the tests; arguments for pytest take the place of running everything on two processes."""
    return run("pytest", *arguments) if arguments else run(*TESTS)


def lint() -> int:
    """Run every linter, also after one has failed."""
    statuses = [run(*command) for command in LINT]
    return int(any(statuses))


COLUMNS = ("date", "Python", "code", "what", "result", "seconds")
"""The columns of the result table."""


class Row(NamedTuple):
    """One line of the result table."""

    what: str
    """The command, as one would type it inside ``.venv``."""
    result: str
    """The last line that it printed."""
    seconds: float | None = None
    """How long it took; None if it was not run."""
    failed: bool = False
    """Whether its exit status says so."""
    day: str = ""
    """When it was run."""
    code: str = ""
    """The digest of what it depends on."""


def measure(*module: str) -> Row:
    """Run a module inside ``.venv``, pass its output on, and note how it ended."""
    start, last = time.monotonic(), ""
    with subprocess.Popen(
        WORK.command(*module), cwd=ROOT, env=WORK.variables, stdout=subprocess.PIPE, text=True
    ) as process:
        for line in process.stdout or ():
            print(line, end="", flush=True)
            last = line.strip() or last
    status = process.returncode
    result = f"exit {status}: {last}" if status else last
    return Row(words(module), result, time.monotonic() - start, bool(status), date.today().isoformat())


def words(module: tuple[str, ...]) -> str:
    """A command as one would type it inside ``.venv``."""
    return " ".join(word or "''" for word in module)


def benchmarks(corpus: str | None) -> Iterator[tuple[str, ...]]:
    """The scripts in ``benchmarks/``; one that says ``NEEDS_CORPUS = True`` gets the corpus as its argument."""
    for script in sorted((ROOT / "benchmarks").glob("[!_]*.py")):
        needs_corpus = re.search(r"^NEEDS_CORPUS = True$", script.read_text(encoding="utf-8"), re.MULTILINE)
        yield (f"benchmarks.{script.stem}", *([corpus or ""] if needs_corpus else []))


def measured(
    commands: Iterable[tuple[str, ...]], corpus: str | None, *, resume: bool = False, only: tuple[str, ...] = ("",)
) -> Iterator[list[Row]]:
    """The rows of these commands so far, after each of them; ``resume`` takes over what went well with this code.

    What is still to be taken over follows them, so that a check that is stopped again has lost nothing. ``only`` those
    commands are run that have one of these words in them; the rows of others are taken over if they failed, too.
    The path of the corpus is private, and written as ``CORPUS``.
    """
    codes = {is_test: tree(corpus, tests=is_test) for is_test in (False, True)}
    kept = {what: row for what, row in reported().items() if row.code == codes[not benchmark(what)]} if resume else {}
    rows: list[Row] = []
    for command in commands:
        what = words(command).replace(corpus or "CORPUS", "CORPUS")
        chosen = any(word in what for word in only)
        if command[1:] == ("",):
            rows.append(Row(command[0], "not run: no corpus given"))
        elif what in kept and not (kept[what].failed and chosen):
            rows.append(kept.pop(what))
        elif not chosen:
            rows.append(Row(what, "not run"))
        else:
            kept.pop(what, None)
            row = measure(*command)
            result = row.result.replace(corpus or "CORPUS", "CORPUS")
            rows.append(row._replace(what=what, result=result, code=codes[not benchmark(what)]))
        yield [*rows, *kept.values()]


def benchmark(what: str) -> bool:
    """Whether a command is a benchmark, which no test changes."""
    return what.startswith("benchmarks.")


def reported() -> dict[str, Row]:
    """What the last report says of commands that were run with this Python."""
    text = REPORT.read_text(encoding="utf-8") if REPORT.is_file() else ""
    rows: dict[str, Row] = {}
    for line in re.findall(r"^\| (\d{4}-.*) \|$", text, re.MULTILINE):
        cells = [cell.replace("\\|", "|") for cell in re.split(r" \| ", line)]
        if len(cells) != len(COLUMNS):
            continue
        day, python, code, what, result, seconds = cells
        if python == sys.version.split()[0] and seconds:
            failed, what = result.startswith("exit "), what.strip("`")
            rows[what] = Row(what, result, float(seconds), failed, day, code)
    return rows


def tree(corpus: str | None, *, tests: bool) -> str:
    """The digest of what a measurement depends on: code, recorded runs by name and size, and for some the tests.

    Documents are left out: what tests say of them, every short run says as well.
    """
    digest = hashlib.sha256()
    if corpus:
        for path in sorted(Path(corpus).rglob("*")):
            digest.update(f"{path.relative_to(corpus)} {path.stat().st_size}\0".encode())
    for folder in ("src", "tests", "benchmarks", "examples"):
        for path in sorted((ROOT / folder).rglob("*")):
            counts = tests or folder != "tests" or not path.name.startswith(("test_", "conftest"))
            if path.is_file() and "__pycache__" not in path.parts and counts:
                digest.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes())
    for name in ("pyproject.toml", *(["dev.py"] if tests else [])):
        digest.update((ROOT / name).read_bytes())
    return digest.hexdigest()[:8]


def table(rows: list[Row]) -> str:
    """The result table in Markdown."""
    lines = [f"| {' | '.join(COLUMNS)} |", f"|{'---|' * len(COLUMNS)}"]
    for row in rows:
        seconds = "" if row.seconds is None else f"{row.seconds:.1f}"
        day, python = row.day or date.today().isoformat(), sys.version.split()[0]
        cells = (day, python, row.code, f"`{row.what}`", row.result, seconds)
        line = " | ".join(cell.replace("|", "\\|") for cell in cells)
        lines.append(f"| {line} |")
    return "\n".join(lines) + "\n"


def long_check(corpus: str | None, *, resume: bool, only: tuple[str, ...] = ("",)) -> int:
    """Run everything there is and write the results to ``docs/long-check.md``."""
    text, rows = "", []
    attacks = ("tests.support.guarantees.report", *(["--corpus", corpus] if corpus else []))
    for rows in measured([*LINT, *LONG_TESTS, attacks, *benchmarks(corpus)], corpus, resume=resume, only=only):
        text = (
            "# The last long check\n\nWritten by `python3 dev.py check --long`. "
            "A digest says what code a row depends on: benchmarks do not depend on tests.\n\n" + table(rows)
        )
        REPORT.write_text(text, encoding="utf-8")
    print(f"\n{text}", end="")
    return int(any(row.failed for row in rows))


def bench(corpus: str | None) -> int:
    """Run the benchmarks and print their results."""
    *_, rows = measured(benchmarks(corpus), corpus)
    print(f"\n{table(rows)}", end="")
    return int(any(row.failed for row in rows))


def arguments_parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(prog="dev.py", description="Work on Ledger.", allow_abbrev=False)
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    verbs.add_parser("demo", help="show what Ledger does, live: the real mini-swe-agent with a scripted model")
    verbs.add_parser("test", help="run the tests; what follows is passed to pytest", add_help=False)
    verbs.add_parser("lint", help="ruff check, ruff format --check, mypy --strict, lint-imports")
    check = verbs.add_parser("check", help="test and lint")
    check.add_argument("--long", action="store_true", help="also long tests and benchmarks; writes docs/long-check.md")
    check.add_argument("--corpus", metavar="PATH", help="recorded runs for the benchmarks that need them")
    check.add_argument("--resume", action="store_true", help="take over what a long check measured with the same code")
    check.add_argument(
        "--only", metavar="WORD", nargs="+", help="go on with the long check's commands that have a WORD"
    )
    bench = verbs.add_parser("bench", help="run the benchmarks")
    bench.add_argument("corpus", nargs="?", metavar="CORPUS", help="recorded runs for those that need them")
    verbs.add_parser("audit", help="known vulnerabilities of what is installed, secrets in the tree", add_help=False)
    verbs.add_parser("guarantees", help="attack every promise and rewrite docs/guarantees.md", add_help=False)
    verbs.add_parser("release", help="gather the changes of a release, or build, install and check it", add_help=False)
    verbs.add_parser("screenshots", help="take the pictures that the README shows; needs Chromium")
    return parser


def main() -> int:
    """Run one verb."""
    parser = arguments_parser()
    chosen, rest = parser.parse_known_args()
    if rest and chosen.verb not in ("test", "audit", "guarantees", "release"):
        parser.error(f"unknown arguments: {' '.join(rest)}")
    corpus = getattr(chosen, "corpus", None) and str(Path(chosen.corpus).resolve())
    if chosen.verb == "demo":
        environment = WORK if WORK.ready else DEMO
        environment.prepare()
        status = environment.run("execledger", "demo")
        print(f"dev.py: here the command is {environment.folder.name}/bin/execledger", file=sys.stderr)
        return status
    WORK.prepare()
    if chosen.verb == "test":
        return test(rest)
    if chosen.verb == "lint":
        return lint()
    if chosen.verb == "bench":
        return bench(corpus)
    if chosen.verb == "audit":
        return run("tests.support.audit", *rest)
    if chosen.verb == "guarantees":
        return run("tests.support.guarantees.report", *rest)
    if chosen.verb == "release":
        return run("tests.support.release", *rest)
    if chosen.verb == "screenshots":
        return run("tests.support.chromium", "docs/images")
    if chosen.long:
        return long_check(corpus, resume=chosen.resume or bool(chosen.only), only=tuple(chosen.only or ("",)))
    return int(any([test([]), lint()]))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
