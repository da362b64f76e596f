"""Commands of a grammar, run in a real bash: whatever is said about one beforehand must turn out to be so."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from execledger.shell.classify import classify_command
from execledger.shell.provable import provable_command
from execledger.vocabulary.records import CHANGED, CommandRecord, Effects, Lines, View
from tests.support.real_shell import CONTENTS, ENDED, Ran, RealShell
from tests.support.shell_grammar import command

SHORT, LONG = 200, 50_000
"""Commands of the two forms of this test."""
WHOLE_FILE = {"": "cat {}", "awk": "awk 1 {}", "grep": "grep '' {}", "nl": "nl -ba {}"}
"""How each form shows a whole file: what a read of some lines may be predicted from."""

needs_bash = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("bash") is None, reason="the grammar is that of bash 5 with GNU programs"
)


@needs_bash
def test_what_is_said_about_a_command_is_so(tmp_path: Path) -> None:
    """Effects and lines of a few hundred commands."""
    assert not list(wrong(RealShell(tmp_path), range(SHORT)))


@needs_bash
@pytest.mark.long
def test_what_is_said_about_many_commands_is_so(tmp_path: Path) -> None:
    """Effects and lines of several times as many commands as it took to find what this test has found so far."""
    assert not list(wrong(RealShell(tmp_path), range(SHORT, SHORT + LONG)))


def wrong(shell: RealShell, seeds: Iterable[int]) -> Iterable[tuple[int, str, str]]:
    """The seeds whose commands do other than is said: each with the command and what happened."""
    for seed in seeds:
        text = command(seed)
        record = classify_command(text, str(shell.root))
        if record.effects is Effects.UNKNOWN:
            continue
        ran = shell.run(text)
        for fault in (*unlisted(record, ran), *unexpected(shell, text, record, ran)):
            yield seed, text, fault


def unlisted(record: CommandRecord, ran: Ran) -> Iterable[str]:
    """What changed although it was not listed."""
    for path in sorted(ran.changed):
        if not any(
            path == name or path.startswith(name + "/") or name.startswith(path + "/") for name in record.writes
        ):
            yield f"changed: {path}"


def unexpected(shell: RealShell, text: str, record: CommandRecord, ran: Ran) -> Iterable[str]:
    """What was printed in place of the lines that a sealed environment would take from an earlier result."""
    view = record.view
    if view is None or view.numbering == CHANGED or not record.literal or not provable_command(text, str(shell.root)):
        return
    name = str(Path(view.path).relative_to(shell.root))
    if name in CONTENTS and view.form in WHOLE_FILE:
        whole = shell.run(WHOLE_FILE[view.form].format(name))
        expected = b"".join(selected(whole.output.splitlines(keepends=True), view))
        if ENDED not in (ran.status, whole.status) and bare(ran.output, view) != bare(expected, view):
            yield f"printed: {ran.output!r}, expected: {expected!r}"


def selected(lines: list[bytes], view: View) -> list[bytes]:
    """The lines of a view."""
    return [line for run in view.ranges for line in lines[begin(run, len(lines)) : run.last]]


def begin(run: Lines, count: int) -> int:
    """Where a run of lines begins, from 0."""
    return max(count + run.first, 0) if run.first < 0 else run.first - 1


def bare(output: bytes, view: View) -> bytes:
    """An output without its line numbers, if it has them."""
    separator = re.escape(view.numbering.encode())
    return re.sub(rb"(?m)^ *\d+" + separator, b"", output) if view.numbering else output
