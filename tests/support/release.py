"""A release: its changes gathered, its files built and checked, and installed where nothing else is.

    python -m tests.support.release --gather VERSION   CHANGELOG.md gets the fragments of changes/, which are deleted
    python -m tests.support.release [PYTHON]...        check the release that this tree is

The check builds the sdist and the wheel, installs the wheel into a new environment of each Python (3.11, 3.12 and 3.13
by default), runs the commands of the README there, and prints a table. It needs an index of packages, and no checkout:
the commands run in an empty folder with a home of their own.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
KINDS = {"added": "Added", "changed": "Changed", "fixed": "Fixed"}
"""The kinds of fragments, and the headings under which they are gathered."""
EXTRAS = "mini,codex,eval,view"
"""The extras whose commands the README shows first."""
PYTHONS = ("python3.11", "python3.12", "python3.13")
RUNS = """
from pathlib import Path
from execledger.demo.live import play_session
play_session(("--preset", "verified"), Path("played").resolve())
"""
"""Plays the demo's session with the real mini-swe-agent, and leaves its trajectory and its journal."""
COMMANDS = (
    "execledger --version",
    "execledger demo",
    "execledger demo --recorded",
    "python -c RUNS",
    "execledger stats played",
    "execledger replay played/home/mini.traj.json",
    "execledger replay played/home/mini.traj.json --html redundant.html",
    "execledger why played/home/mini.traj.json 17",
    "execledger explain 'nl -ba a.py | sed -n 5,9p'",
    "execledger view played --export runs.html",
    "execledger eval report played -o report",
    "execledger doctor",
    "execledger on mini --shell bash",
    "execledger off",
    "execledger on",
    "execledger inspect approval",
    "python example.py",
)
"""The commands of the README that need neither a key nor a client from elsewhere, on a run of their own."""


class ReleaseError(Exception):
    """The tree is no release, or one of its files does not work."""


class Row(NamedTuple):
    """One Python, and how the commands ended there."""

    python: str
    """Its version."""
    seconds: float
    """How long the installation took."""
    failed: list[str]
    """What failed, with the end of what it printed."""


# Gathering


def gather(root: Path, version: str) -> None:
    """Make the fragments of ``root`` a section of its changelog, delete them, and set the version."""
    fragments = sorted(path for path in (root / "changes").glob("*.md") if path.name != "README.md")
    if not fragments:
        raise ReleaseError("changes/: found no fragment, expected what a release brings")
    found: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for path in fragments:
        kind = path.name.split(".")[-2]
        if kind not in found:
            raise ReleaseError(f"changes/{path.name}: found the kind {kind}, expected one of {', '.join(KINDS)}")
        found[kind].append("- " + path.read_text(encoding="utf-8").strip().replace("\n", "\n  "))
    groups = [f"### {heading}\n\n" + "\n".join(found[kind]) for kind, heading in KINDS.items() if found[kind]]
    section = f"## {version} ({date.today().isoformat()})\n\n" + "\n\n".join(groups) + "\n"
    changelog = root / "CHANGELOG.md"
    head, mark, older = changelog.read_text(encoding="utf-8").partition("\n## ")
    changelog.write_text(f"{head.rstrip()}\n\n{section}{mark}{older}", encoding="utf-8")
    own = root / "src" / "execledger" / "version.py"
    text = own.read_text(encoding="utf-8")
    own.write_text(re.sub(r'(?<=__version__ = ")[^"]*', version, text), encoding="utf-8")
    for path in fragments:
        path.unlink()


# Checking


def stated_version(root: Path) -> str:
    """The version of the package, which the changelog's newest section has, with no fragment left."""
    own = (root / "src" / "execledger" / "version.py").read_text(encoding="utf-8")
    version = "".join(re.findall(r'__version__ = "(.*)"', own))
    newest = re.search(r"^## (\S+)", (root / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    left = [path.name for path in (root / "changes").glob("*.md") if path.name != "README.md"]
    if newest is None or newest[1] != version:
        raise ReleaseError(f"CHANGELOG.md: found {newest and newest[1]} at its top, expected {version} of version.py")
    if left:
        raise ReleaseError(f"changes/: found {len(left)} fragments, expected none in a release: {', '.join(left[:3])}")
    return version


def built(root: Path, folder: Path, version: str) -> Path:
    """The wheel, built from the sdist and checked, with the files that both must have."""
    tools = environment(sys.executable, folder / "tools", "build", "twine")
    done(tools, ["python", "-m", "build", "--outdir", str(folder / "dist"), str(root)])
    wheel = folder / "dist" / f"execledger-{version}-py3-none-any.whl"
    source = folder / "dist" / f"execledger-{version}.tar.gz"
    done(tools, ["python", "-m", "twine", "check", "--strict", str(wheel), str(source)])
    with zipfile.ZipFile(wheel) as one, tarfile.open(source) as other:
        held = {wheel: set(one.namelist()), source: {name.partition("/")[2] for name in other.getnames()}}
    package = {str(path.relative_to(root / "src")) for path in tracked(root, "src/execledger")}
    wanted = {wheel: package, source: {f"src/{name}" for name in package} | {"README.md", "CHANGELOG.md", "LICENSE"}}
    for file, names in held.items():
        if missing := sorted(wanted[file] - names):
            raise ReleaseError(f"{file.name}: {len(missing)} files are missing: {', '.join(missing[:5])}")
    if strangers := sorted(name for name in held[wheel] - package if ".dist-info/" not in name):
        raise ReleaseError(f"{wheel.name}: found {', '.join(strangers[:5])}, expected the package alone")
    return wheel


def tracked(root: Path, below: str) -> list[Path]:
    """The files of the tree below a folder that belong to the repository."""
    listed = subprocess.run(["git", "ls-files", "-z", below], cwd=root, check=True, capture_output=True, text=True)
    return [root / name for name in listed.stdout.split("\0") if name]


def environment(python: str, folder: Path, *packages: str) -> Path:
    """A new environment of a Python with these packages; the folder of its commands."""
    ran([python, "-m", "venv", str(folder)])
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    ran([*pip, *packages])
    return folder / "bin"


def ran(command: Sequence[str], cwd: Path | None = None, variables: Mapping[str, str] | None = None) -> str:
    """What a command prints; raises with its end if it fails."""
    result = subprocess.run(
        command, cwd=cwd, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    )
    if result.returncode:
        raise ReleaseError(f"{' '.join(command)[:200]}: exit {result.returncode}\n{result.stdout[-2000:]}")
    return result.stdout


def done(binaries: Path, command: Sequence[str]) -> str:
    """What a command of an environment prints."""
    return ran([str(binaries / command[0]), *command[1:]])


def installed(python: str, wheel: Path, version: str, folder: Path) -> Row:
    """How the README's commands end where only the wheel is installed."""
    begun = time.monotonic()
    binaries = environment(python, folder / "environment", f"{wheel}[{EXTRAS}]")
    seconds = time.monotonic() - begun
    work, home = folder / "work", folder / "home"
    work.mkdir()
    home.mkdir()
    (example,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)[:1]
    (work / "example.py").write_text(example, encoding="utf-8")
    kept = {name: os.environ[name] for name in ("LANG", "LC_ALL", "TMPDIR") if name in os.environ}
    variables = {**kept, "HOME": str(home), "PATH": f"{binaries}{os.pathsep}/usr/bin{os.pathsep}/bin", "NO_COLOR": "1"}
    said = ran([str(binaries / "python"), "--version"]).split()[1]
    return Row(said, seconds, [*failures(work, variables, version)])


def failures(work: Path, variables: Mapping[str, str], version: str) -> Iterator[str]:
    """The commands that failed in an environment, with the end of what they printed."""
    for line in COMMANDS:
        script = line.replace("RUNS", '"$RUNS"')
        try:
            said = ran(["/bin/sh", "-c", script], work, {**variables, "RUNS": RUNS})
        except ReleaseError as error:
            yield str(error)
            continue
        if line.endswith("--version") and version not in said:
            yield f"{line}: found {said.strip()}, expected {version}"
        if "Traceback (most recent call last)" in said:
            yield f"{line}: printed a traceback\n{said[-2000:]}"


def check(pythons: Sequence[str]) -> int:
    """Check the release and print the table."""
    version = stated_version(ROOT)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wheel = built(ROOT, folder, version)
        print(
            f"{wheel.name}: {wheel.stat().st_size // 1000} KB, built from the sdist and checked by twine\n", flush=True
        )
        print(f"| Python | installed with [{EXTRAS}] in | commands of the README that ran |\n| --- | ---: | ---: |")
        rows = []
        for python in pythons:
            row = installed(python, wheel, version, folder / Path(python).name)
            print(
                f"| {row.python} | {row.seconds:.0f} s | {len(COMMANDS) - len(row.failed)} of {len(COMMANDS)} |",
                flush=True,
            )
            for failure in row.failed:
                print(f"{row.python}: {failure}", file=sys.stderr, flush=True)
            rows.append(row)
    failed = sum(len(row.failed) for row in rows)
    print(f"\nrelease {version}: {'NOT held' if failed else 'held'}: {len(rows)} Pythons, {failed} commands failed")
    return int(bool(failed))


def main(arguments: Sequence[str] | None = None) -> int:
    """Gather or check."""
    parser = argparse.ArgumentParser(prog="dev.py release", description="Make a release, and check it.")
    parser.add_argument("--gather", metavar="VERSION", help="make the fragments a section of the changelog")
    parser.add_argument("pythons", nargs="*", metavar="PYTHON", help=f"interpreters ({', '.join(PYTHONS)})")
    chosen = parser.parse_args(arguments)
    try:
        if chosen.gather:
            gather(ROOT, chosen.gather)
            return 0
        found = [python for python in chosen.pythons or PYTHONS if shutil.which(python)]
        if missing := [python for python in chosen.pythons or PYTHONS if python not in found]:
            raise ReleaseError(f"not found on the search path: {', '.join(missing)}")
        return check(found)
    except ReleaseError as error:
        print(f"dev.py release: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
