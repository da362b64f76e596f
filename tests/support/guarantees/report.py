"""Attack every promise, and write what came of it into docs/guarantees.md.

``python3 dev.py guarantees`` runs this. The attacks are tests that name the rows they attack; each may say a figure.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterable, Iterator
from datetime import date
from pathlib import Path

import msgspec
import pytest

from tests.support.guarantees.promises import BUGS, PITFALLS, PROMISES, Promise

PAGE = Path("docs/guarantees.md")
KEPT = Path(".venv/guarantees.json")
TITLES = {
    "What Ledger promises": PROMISES,
    "The bugs that tools of this kind have shipped": BUGS,
    "The pitfalls": PITFALLS,
}
MEASURED = re.compile(r"(?<=<!-- measured -->\n).*(?=<!-- /measured -->)", re.DOTALL)


class Attack(msgspec.Struct):
    """One test, as it went."""

    rows: list[str]
    """The rows that it attacks."""
    withstood: bool | None
    """Whether the promise held; None if the attack was not carried out."""
    figures: list[str] = []
    """What it measured."""

    @property
    def lost(self) -> bool:
        """It has shown a promise to be broken."""
        return self.withstood is False


class Watch:
    """A pytest plugin that keeps the outcome of each attack."""

    def __init__(self) -> None:
        """Nothing has been seen yet."""
        self.attacks: dict[str, Attack] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Set-up, call and tear-down each report; an attack is lost as soon as one of them failed."""
        rows = [str(value) for name, value in report.user_properties if name == "guarantee"]
        attack = self.attacks.setdefault(report.nodeid, Attack(rows, None))
        attack.figures = [str(value) for name, value in report.user_properties if name == "figure"]
        if report.failed:
            attack.withstood = False
        elif report.when == "call" and report.passed and not attack.lost:
            attack.withstood = True


def table(attacks: dict[str, Attack]) -> str:
    """The measured part of the page."""
    carried_out = [attack for attack in attacks.values() if attack.withstood is not None]
    withstood = sum(not attack.lost for attack in carried_out)
    lines = [f"{date.today().isoformat()}: {withstood:,} of {len(carried_out):,} attacks withstood.", ""]
    for title, promises in TITLES.items():
        lines += [f"## {title}", "", "| row | promise | kept by | attacked by | result |", "|---|---|---|---|---|"]
        lines += [f"| {' | '.join(cells(promise, attacks))} |" for promise in promises]
        lines.append("")
    return "\n".join(lines)


def cells(promise: Promise, attacks: dict[str, Attack]) -> Iterator[str]:
    """One row of the table."""
    yield f"`{promise.row}`"
    yield promise.text
    yield promise.kept_by
    own = {name: attack for name, attack in attacks.items() if promise.row in attack.rows}
    yield "<br>".join(f"`{test}`" for test in sorted({name.partition("[")[0].removeprefix("tests/") for name in own}))
    yield result(own)


def result(own: dict[str, Attack]) -> str:
    """What came of the attacks on one row."""
    lost = sorted(name for name, attack in own.items() if attack.lost)
    if lost:
        return f"**LOST**: {', '.join(lost)}"
    done = [attack for attack in own.values() if attack.withstood]
    if not done:
        return "not attacked"
    figures = dict.fromkeys(figure for attack in done for figure in attack.figures)
    return "; ".join((f"withstood {len(done):,}", *figures))


def run(selected: Iterable[str], full: bool) -> dict[str, Attack]:
    """Carry the attacks out; ``selected`` names single tests, nothing of it means all."""
    watch = Watch()
    options = ["-q", "-n", "2", "-m", "guarantee", "-p", "no:cacheprovider", *(["--full"] if full else [])]
    pytest.main([*options, *(selected or ["tests"])], plugins=[watch])
    return {name: attack for name, attack in watch.attacks.items() if attack.rows}


def kept() -> dict[str, Attack]:
    """How the attacks went the last time."""
    return msgspec.json.decode(KEPT.read_bytes(), type=dict[str, Attack]) if KEPT.exists() else {}


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="dev.py guarantees", description=__doc__, allow_abbrev=False)
    parser.add_argument("--corpus", metavar="PATH", help="recorded runs, for the attacks that need some")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--short", action="store_true", help="the form that CI runs; prints the table, writes nothing")
    form.add_argument("--lost", action="store_true", help="only the attacks that were lost the last time")
    parser.add_argument("tests", nargs="*", help="only these, as pytest names them; the others as they went before")
    return parser.parse_args()


def main() -> int:
    """Attack, write the page, and say by the exit status whether every promise held."""
    chosen = arguments()
    if chosen.corpus:
        os.environ["EXECLEDGER_CORPUS"] = str(Path(chosen.corpus).resolve())
    before = kept() if chosen.lost or chosen.tests else {}
    lost = [name for name, attack in before.items() if attack.lost and chosen.lost]
    selected = [*chosen.tests, *lost]
    if chosen.lost and not selected:
        print("No attack was lost the last time.", file=sys.stderr)
        return 0
    attacks = before | run(selected, full=not chosen.short)
    text = table(attacks)
    if not chosen.short:
        KEPT.write_bytes(msgspec.json.encode(attacks))
        page = PAGE.read_text(encoding="utf-8")
        # A function, since the text may hold backslashes.
        PAGE.write_text(MEASURED.sub(lambda _: text, page), encoding="utf-8")
    print(text)
    lost_now = sum(attack.lost for attack in attacks.values())
    print(f"guarantees: {'LOST' if lost_now else 'held'}: {lost_now} of {len(attacks):,} attacks lost")
    return int(not attacks or any(attack.lost for attack in attacks.values()))


if __name__ == "__main__":
    sys.exit(main())
