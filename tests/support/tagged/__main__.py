"""Attack references: ``python -m tests.support.tagged --sessions 1000 --seed 0 --jobs 2 --show 5``."""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor

from tests.support.tagged.session import play


def main() -> int:
    """Run the attack; fails if a reference misleads or a claim is false."""
    parser = argparse.ArgumentParser(prog="python -m tests.support.tagged", description=__doc__)
    parser.add_argument("--sessions", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--show", type=int, default=3, help="examples to print")
    options = parser.parse_args()
    with ProcessPoolExecutor(options.jobs) as pool:
        found = list(pool.map(play, range(options.seed, options.seed + options.sessions), chunksize=4))
    bad = sorted((one for one in found if one.faults), key=lambda one: len(one.log))
    for report in bad[: options.show]:
        print(f"seed {report.seed}, {'sealed' if report.sealed else 'not sealed'}", *report.log, "", sep="\n")
    figures = {
        "sessions": len(found),
        "steps": sum(one.steps for one in found),
        "references": sum(one.references for one in found),
        "not run": sum(one.suppressed for one in found),
        "partial": sum(one.partial for one in found),
        "claims": sum(one.claims for one in found),
        "faults": sum(len(one.faults) for one in found),
    }
    print(", ".join(f"{name} {count:,}" for name, count in figures.items()))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
