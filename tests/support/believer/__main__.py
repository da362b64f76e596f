"""Attack references: ``python -m tests.support.believer --sessions 1000 --seed 0 --jobs 2 --show 5``."""

from __future__ import annotations

import argparse
import functools
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor

from tests.support.believer.session import Report, play


def reports(sessions: int, seed: int, jobs: int, preset: str, tools: bool) -> Iterator[Report]:
    """Sessions with consecutive seeds, in their order."""
    seeds = range(seed, seed + sessions)
    session = functools.partial(play, preset=preset, tools=tools)
    if jobs == 1:
        yield from map(session, seeds)
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(session, seeds, chunksize=4)


def figures(found: Sequence[Report]) -> str:
    """One line of figures."""
    counts = {
        "sessions": len(found),
        "steps": sum(one.steps for one in found),
        "references": sum(one.references for one in found),
        "not run": sum(one.suppressed for one in found),
        "partial": sum(one.partial for one in found),
        "misleading": sum(len(one.misleading) for one in found),
        "elsewhere": sum(one.elsewhere for one in found),
        "views": sum(one.views for one in found),
        "claims": sum(one.claims for one in found),
        "false claims": sum(len(one.false_claims) for one in found),
        "unsure": sum(len(one.unsure) for one in found),
    }
    return ", ".join(f"{name} {count:,}" for name, count in counts.items())


def example(report: Report) -> str:
    """A session for a person to read, up to the last thing that misleads."""
    steps = [f"seed {report.seed}, {'sealed' if report.sealed else 'not sealed'}"]
    last = max((n for n, row in enumerate(report.commands) if row.startswith(("  MISL", "  FALSE"))), default=-1)
    return "\n".join((*steps, *(short(row) for row in report.commands[: last + 1]), ""))


def short(row: str, limit: int = 6) -> str:
    """A command without the middle of a long text in it."""
    lines = row.split("\n")
    if len(lines) <= limit:
        return row
    return "\n".join((*lines[:3], f"  ... {len(lines) - 5} lines ...", *lines[-2:]))


def kinds(found: Sequence[Report]) -> str:
    """How often each kind of misleading was found."""
    counts = Counter(one.kind for report in found for one in report.misleading)
    counts.update(f"view: {one.kind}" for report in found for one in report.false_claims)
    return ", ".join(f"{kind} {count}" for kind, count in counts.most_common())


def main() -> int:
    """Run the attack; fails if a reference misleads or a claim is false."""
    parser = argparse.ArgumentParser(prog="python -m tests.support.believer", description=__doc__)
    parser.add_argument("--sessions", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--show", type=int, default=3, help="examples to print")
    parser.add_argument("--preset", default="verified", choices=("verified", "paper"))
    parser.add_argument("--tools", action="store_true", help="most reads are calls of Codex's read_file")
    options = parser.parse_args()
    found = list(reports(options.sessions, options.seed, options.jobs, options.preset, options.tools))
    bad = [one for one in found if one.misleading or one.false_claims]
    for report in sorted(bad, key=lambda one: len(one.commands))[: options.show]:
        print(example(report))
    if bad:
        print(f"kinds: {kinds(found)}")
    print(figures(found))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
