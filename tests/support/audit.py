"""The audit: known vulnerabilities of what is installed, and secrets in the tree's own files.

    python -m tests.support.audit [--advise] [--no-dependencies] [--no-secrets] [TREE]

What can't be done is said, with the reason, and is no failure: a missing network must not turn a build red. A known
vulnerability that an update fixes is one, and so is a secret that is not in ``PLANTED``. CI asks with ``--advise``,
which prints vulnerabilities and goes on: what became known overnight is not the fault of the change that is tested.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

SECONDS = 120.0
"""How long the advisory service is waited for."""
MAX_BYTES = 2_000_000
"""Files above this size are data."""
LEFT_OUT = frozenset(
    ".git .hg .venv .venv-demo venv env node_modules __pycache__ .mypy_cache .ruff_cache .pytest_cache .hypothesis "
    ".tox .cache artifacts build dist htmlcov site-packages .eggs".split()
)
"""Folders of generated or downloaded files, skipped where the tree is no git checkout."""
PLANTED = {
    "tests/support/planted_secrets.py": frozenset({"Basic Auth Credentials"}),
    "tests/doctor/test_surroundings.py": frozenset({"Basic Auth Credentials"}),
    "tests/journal/test_clean.py": frozenset({"Private Key"}),
    "tests/redact/harmless.txt": frozenset({"Basic Auth Credentials"}),
    "tests/redact/harmless_2.txt": frozenset({"Basic Auth Credentials"}),
    "tests/redact/harmless_3.txt": frozenset({"Basic Auth Credentials", "Private Key"}),
    "tests/redact/held_out_harmless_2.txt": frozenset({"Basic Auth Credentials", "Private Key"}),
    "tests/redact/held_out_secrets.txt": frozenset({"Basic Auth Credentials", "Private Key"}),
    "tests/redact/held_out_secrets_2.txt": frozenset({"Basic Auth Credentials", "Private Key"}),
    "tests/redact/secrets.txt": frozenset({"Basic Auth Credentials"}),
    "tests/redact/secrets_2.txt": frozenset({"Basic Auth Credentials", "Private Key"}),
    "tests/redact/secrets_3.txt": frozenset({"Basic Auth Credentials", "JSON Web Token", "Private Key", "Slack Token"}),
    "tests/redact/test_redaction.py": frozenset({"Basic Auth Credentials", "Private Key"}),
}
"""Secrets of no use to anybody that tests plant: the kinds, by file."""
UNSURE = frozenset({"Base64HighEntropyString", "HexHighEntropyString", "IPPublicDetector", "KeywordDetector"})
"""Detectors that guess: in code about keys and digests they find little else."""


class Vulnerability(Struct, frozen=True):
    """One entry of pip-audit's answer."""

    id: str
    """Its name."""
    fix_versions: tuple[str, ...] = ()
    """The versions that mend it."""


class Dependency(Struct, frozen=True):
    """One installed package."""

    name: str
    """What it is called."""
    version: str = ""
    """Its version."""
    vulns: tuple[Vulnerability, ...] = ()
    """What is known about it."""


class Answer(Struct, frozen=True):
    """What pip-audit answers."""

    dependencies: tuple[Dependency, ...]
    """Every package that was looked up."""


class NotDone(Exception):
    """Why a part of the audit could not be done."""


def ask_advisories(command: Sequence[str], seconds: float = SECONDS) -> Answer:
    """What an advisory service knows of the installed packages."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        raise NotDone(f"no answer within {seconds:g} seconds") from None
    except OSError as error:
        raise NotDone(f"it can't be started: {error.strerror or error}") from None
    try:
        return msgspec.json.decode(done.stdout, type=Answer)
    except msgspec.MsgspecError:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        reason = next((line for line in said if "Error" in line and not line.startswith(" ")), said[-1] if said else "")
        raise NotDone(f"no answer from the advisory service: {reason[:300] or f'status {done.returncode}'}") from None


def audit_dependencies(*, advise: bool) -> int:
    """Ask for the installed packages; 1 if an update would mend something, unless that is advice only."""
    if importlib.util.find_spec("pip_audit") is None:
        raise NotDone("pip-audit is not installed")
    options = ("--local", "--skip-editable", "--progress-spinner=off", "--format=json", "--timeout=15")
    status = judged(ask_advisories((sys.executable, "-m", "pip_audit", *options)))
    return 0 if advise else status


def judged(answer: Answer) -> int:
    """Print the known vulnerabilities; return 1 if an update fixes one of them."""
    mended = 0
    for package in answer.dependencies:
        for known in package.vulns:
            fix = (
                f"mended in {', '.join(known.fix_versions)}" if known.fix_versions else "not mended in any version yet"
            )
            print(f"{package.name} {package.version}: {known.id}, {fix}")
            mended += bool(known.fix_versions)
    print(f"dependencies: {len(answer.dependencies)} packages, {mended} vulnerabilities that an update mends")
    return int(mended > 0)


def tree_files(tree: Path) -> Iterator[Path]:
    """The files of a tree that people wrote: those that git knows or would add, or else all but what is left out."""
    command = ("git", "-C", str(tree), "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    try:
        listed = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=True).stdout
        yield from sorted(tree / os.fsdecode(name) for name in listed.split(b"\0") if name)
    except (OSError, subprocess.SubprocessError):
        for folder, below, names in os.walk(tree):
            below[:] = sorted(name for name in below if name not in LEFT_OUT and not name.endswith(".egg-info"))
            yield from (Path(folder, name) for name in sorted(names))


def text_of(path: Path) -> str | None:
    """The text of a file; None if it is none, or data."""
    try:
        if path.is_symlink() or not path.is_file() or path.stat().st_size > MAX_BYTES:
            return None
        data = path.read_bytes()
    except OSError:
        return None
    return None if b"\0" in data[:8000] else data.decode("utf-8", "replace")


def find_secrets(tree: Path) -> Iterator[tuple[str, int, str]]:
    """The file, the line and the kind of every secret in a tree, but for those that tests plant."""
    try:
        from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
        from detect_secrets.plugins.base import RegexBasedDetector
    except ImportError as error:
        raise NotDone(f"detect-secrets is not installed: {error}") from None
    kinds: list[Any] = list(get_mapping_from_secret_type_to_class().values())
    detectors = [kind() for kind in kinds if issubclass(kind, RegexBasedDetector) and kind.__name__ not in UNSURE]
    for path in tree_files(tree):
        text, name = text_of(path), path.relative_to(tree).as_posix()
        # Looking at whole files first is what makes this quick.
        for detector in detectors if text else ():
            if detector.secret_type in PLANTED.get(name, ()) or not any(one.search(text) for one in detector.denylist):
                continue
            for number, line in enumerate((text or "").splitlines(), 1):
                if detector.analyze_line(filename=name, line=line, line_number=number):
                    yield name, number, detector.secret_type


def audit_secrets(tree: Path) -> int:
    """Print every secret in a tree; 1 if there is one."""
    found = list(find_secrets(tree))
    for name, number, kind in found:
        print(f"{name}:{number}: {kind}")
    print(f"secrets: {len(found)} found")
    return int(bool(found))


def main(arguments: Sequence[str] | None = None) -> int:
    """Both parts; what could not be done is said."""
    parser = argparse.ArgumentParser(prog="python -m tests.support.audit", description="Audit a tree.")
    parser.add_argument("tree", nargs="?", default=".", type=Path)
    parser.add_argument("--advise", action="store_true", help="a vulnerable dependency is printed, and is no failure")
    parser.add_argument("--no-dependencies", action="store_true", help="leave the advisory service alone")
    parser.add_argument("--no-secrets", action="store_true", help="leave the files alone")
    chosen = parser.parse_args(arguments)
    status = 0
    parts: tuple[tuple[str, bool, Callable[[], int]], ...] = (
        ("dependencies", chosen.no_dependencies, lambda: audit_dependencies(advise=chosen.advise)),
        ("secrets", chosen.no_secrets, lambda: audit_secrets(chosen.tree.resolve())),
    )
    for name, left_out, part in parts:
        if left_out:
            continue
        try:
            status |= part()
        except NotDone as error:
            print(f"{name}: NOT DONE: {error}")
        # A tool of others that breaks says nothing about this tree.
        except Exception as error:
            print(f"{name}: NOT DONE: {type(error).__name__}: {str(error)[:300]}")
    return status


if __name__ == "__main__":
    sys.exit(main())
