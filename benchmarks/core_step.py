"""What one step costs, as a ratio in one run: against tree-sitter's parse of the same command, and late against early.

    python -m benchmarks.core_step

A step is understanding, govern, compare, record and render. The session is made up and seeded, near the proportions of
20,320 recorded shell commands: 15 % with a here-document, of 1,290 bytes on the average, the others of 100 bytes; 27
lines of output behind a plain command, 5 behind a here-document.
"""

from __future__ import annotations

import random
import statistics
import sys
import time

import tree_sitter_bash
from tree_sitter import Language, Parser

from execledger.core.ledger import Ledger
from execledger.core.step import propose, settle
from execledger.vocabulary.actions import Action, Observation

STEPS = 5000
SPAN = 100
MAX_RATIO = 40.0
MAX_GROWTH = 1.3


def file_lines(number: int) -> list[str]:
    """The lines of a made-up file: mostly distinct, some boilerplate."""
    chance = random.Random(number)
    return [
        chance.choice(("", "    return self", f"    value_{number}_{line} = compute({line}, mode='strict')"))
        for line in range(chance.randint(80, 900))
    ]


def make_session(steps: int, seed: int = 1) -> list[tuple[Action, Observation]]:
    """Commands and outputs, in the proportions of recorded runs."""
    chance = random.Random(seed)
    files = {f"/testbed/pkg{n % 9}/module_{n}.py": file_lines(n) for n in range(120)}
    session: list[tuple[Action, Observation]] = []
    for _ in range(steps):
        path = chance.choice(list(files))
        lines = files[path]
        session.append(_step(chance, path.removeprefix("/testbed/"), lines))
    return session


def _step(chance: random.Random, path: str, lines: list[str]) -> tuple[Action, Observation]:
    kind = chance.random()
    status = 0
    where = "cd /testbed && " if chance.random() < 0.3 else ""
    if kind < 0.36:
        first = chance.randint(1, max(len(lines) - 40, 1))
        last = first + chance.randint(5, 60)
        numbered = chance.random() < 0.5
        command = f"nl -ba {path} | sed -n '{first},{last}p'" if numbered else f"sed -n '{first},{last}p' {path}"
        chosen = list(enumerate(lines, 1))[first - 1 : last]
        output = "".join(f"{n:6}\t{text}\n" if numbered else f"{text}\n" for n, text in chosen)
    elif kind < 0.62:
        word = chance.randint(0, 99)
        command = (
            f"grep -rn 'def value_{word}\\|class Value{word}' pkg{word % 9} --include='*.py' 2>/dev/null | head -40"
        )
        output = "".join(f"{path}:{n}:{text}\n" for n, text in enumerate(lines[: chance.randint(0, 40)], 1))
    elif kind < 0.70:
        command = f"sed -i '{chance.randint(1, 80)}s/strict/loose/' {path} && git diff {path}"
        output = "".join(f" {text}\n" for text in lines[:12])
    elif kind < 0.85:
        body = "\n".join(lines[:56])
        script = f"scratch_{chance.randint(0, 30)}.py"
        command = f"cat > {script} <<'EOF'\nimport sys\n{body}\nEOF\npython {script}"
        output = "".join(f"result {n}: ok\n" for n in range(chance.randint(0, 10)))
    else:
        command = f"python -m pytest {path.replace('module', 'test')} -x -q 2>&1 | tail -40"
        output = "".join(f"{path} PASSED [{n:3}%]\n" for n in range(40)) + f"40 passed in {chance.random():.2f}s\n"
        status = chance.choice((0, 1))
    return Action(where + command, "/testbed"), Observation(output, exit_status=status)


def shape(session: list[tuple[Action, Observation]]) -> str:
    """The proportions of a session in words."""
    plain = [pair for pair in session if "<<" not in pair[0].command]
    heavy = [pair for pair in session if "<<" in pair[0].command]
    sizes = [statistics.mean(len(action.command) for action, _ in group) for group in (plain, heavy)]
    lines = [statistics.mean(output.output.count("\n") for _, output in group) for group in (plain, heavy)]
    share = len(heavy) / len(session)
    return (
        f"here-documents: {share:.0%}, {sizes[1]:.0f} bytes and {lines[1]:.0f} lines of output;"
        f" others: {sizes[0]:.0f} bytes and {lines[0]:.0f} lines"
    )


def time_steps(session: list[tuple[Action, Observation]]) -> list[float]:
    """Seconds of processor time of each whole step: on a busy machine, others' time is not counted."""
    ledger = Ledger("<issue>Make it faster.</issue>")
    taken: list[float] = []
    for index, (action, observation) in enumerate(session):
        visible = range(index)
        start = time.thread_time()
        settle(ledger, propose(ledger, action, visible, True), observation)
        ledger.inform(range(index + 1), True)
        taken.append(time.thread_time() - start)
    return taken


def time_parses(session: list[tuple[Action, Observation]]) -> float:
    """Seconds of processor time of tree-sitter's parse of all commands."""
    parser = Parser(Language(tree_sitter_bash.language()))
    sources = [action.command.encode() for action, _ in session]
    start = time.thread_time()
    for source in sources:
        parser.parse(source)
    return time.thread_time() - start


def main() -> int:
    """Print the table; the exit status says whether the bounds hold."""
    session = make_session(STEPS)
    parse = min(time_parses(session) for _ in range(3))
    rounds = [time_steps(session) for _ in range(3)]
    best = [min(times) for times in zip(*rounds, strict=True)]
    total = sum(best)
    first, last = statistics.mean(best[:SPAN]), statistics.mean(best[-SPAN:])
    ratio, growth = total / parse, last / first
    print(f"steps: {STEPS}; {shape(session)}")
    print(f"tree-sitter parse, mean: {parse / STEPS * 1e6:.1f} us a command")
    print(f"whole step, mean: {total / STEPS * 1e6:.1f} us; median {statistics.median(best) * 1e6:.1f} us")
    print(f"step against parse: {ratio:.1f} times (at most {MAX_RATIO:.0f})")
    print(f"last {SPAN} steps against the first {SPAN}: {growth:.2f} times (at most {MAX_GROWTH})")
    held = ratio <= MAX_RATIO and growth <= MAX_GROWTH
    print(f"core_step: {'held' if held else 'NOT held'}: {ratio:.1f} times a parse, growth {growth:.2f}")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
