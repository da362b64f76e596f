"""What replaying recorded runs costs, as a ratio in one run: against decoding their JSON and parsing their commands.

    python -m benchmarks.replay CORPUS

Unpacking the archives is part of neither side.
"""

from __future__ import annotations

import sys
import time

import tree_sitter_bash
from tree_sitter import Language, Parser

from execledger.agents.formats import read_run
from execledger.runs.find import find_runs
from execledger.runs.replay import replay

NEEDS_CORPUS = True
MAX_RATIO = 10.0


def main() -> int:
    """Print the table; the exit status says whether the bound holds."""
    parser = Parser(Language(tree_sitter_bash.language()))
    base = whole = 0.0
    runs = calls = size = 0
    for source in find_runs(sys.argv[1:]):
        data = source.read()
        start = time.perf_counter()
        run = read_run(source.name, data)
        for step in run.steps:
            parser.parse(step.action.command.encode("utf-8", "replace"))
        middle = time.perf_counter()
        for _ in replay(read_run(source.name, data)):
            pass
        end = time.perf_counter()
        base += middle - start
        whole += end - middle
        runs, calls, size = runs + 1, calls + len(run.steps), size + len(data)
    ratio = whole / base
    print(f"runs: {runs}, calls: {calls}, {size / 1e6:.1f} MB")
    print(f"decoding and parsing: {base:.2f} s; decoding and replaying: {whole:.2f} s")
    print(f"replay: {whole / calls * 1e6:.0f} us a call, {runs / whole:.0f} runs a second")
    held = ratio <= MAX_RATIO
    print(f"replay: {'held' if held else 'NOT held'}: {ratio:.1f} times decoding and parsing (at most {MAX_RATIO:.0f})")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
