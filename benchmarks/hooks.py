"""What hooks of the real clients add to Ledger: facts that were known, decisions that changed, and the time it took.

    python -m benchmarks.hooks

Each client runs the same scripted session without and with `--hooks`, in turns. Exit codes and directories are compared
with the truth, which is written down in `tests/support/agents/hooked.py`. The time is that from one request to the
next, the median of all turns, as a ratio within this run; the start of a client is not part of it.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from execledger.agents.opencode import AGENT as OPENCODE
from tests.support.agents.claude import CURRENT, OLD, ClaudeHome, claude, run_claude
from tests.support.agents.hooked import Outcome, Run, commands, session
from tests.support.agents.native import native
from tests.support.agents.npm import NotInstalled
from tests.support.agents.opencode import run_opencode
from tests.support.agents.sessions import AgentHome, views

ROUNDS = 2


class Subject(NamedTuple):
    """One client."""

    name: str
    tool: str
    keeps_directory: bool
    run: Run


def subjects() -> Iterator[Subject]:
    """The clients whose hooks are used."""
    for version in (CURRENT, OLD):
        program = claude(version)

        def run(url: str, home: AgentHome, prefix: list[str], program: Path = program) -> Any:
            assert isinstance(home, ClaudeHome)
            return run_claude(program, "Mend it.", url=url, home=home, prefix=prefix)

        yield Subject(f"Claude Code {version}", "Bash", True, run)
    version = OPENCODE.tested[-1]
    opencode = native("opencode-ai", version, "opencode", "bin/opencode")
    yield Subject(
        f"opencode {version}", "bash", False, lambda url, home, prefix: run_opencode(opencode, home, url, prefix=prefix)
    )


def measured(subject: Subject, *options: str) -> tuple[Outcome, list[str], list[str]]:
    """One run in folders of its own: what came of it, and the judged exit codes and directories."""
    truth = commands(keeps_directory=subject.keeps_directory)
    with tempfile.TemporaryDirectory() as folder:
        home = (ClaudeHome if subject.keeps_directory else AgentHome)(Path(folder))
        found = session(subject.run, home, truth, subject.tool, *options)
        return found, found.exits(truth), found.places(truth, home)


def counted(judged: list[str]) -> str:
    """How many facts were known, and how many of these were wrong."""
    count = Counter(judged)
    return f"{count['right']} of {len(judged)}" + (f", {count['WRONG']} wrong" if count["WRONG"] else "")


def decisions(found: Outcome) -> list[tuple[str, str]]:
    """How each result was shown, and by which rule."""
    rules = [step["decision"]["rule"] for step in found.made]
    return [*zip(found.shown(), rules, strict=True)]


def checks(found: Outcome) -> int:
    """The state views that say how a test ended."""
    return sum("Checks: " in str(view) for one in found.requests for view in views(one))


def main() -> int:
    """Print the table; the exit status says whether hooks told nothing false."""
    wrong = 0
    ratios = []
    try:
        for subject in subjects():
            pairs = [(measured(subject), measured(subject, "--hooks")) for _ in range(ROUNDS)]
            without, hooked = pairs[-1]
            before, after = (
                statistics.median(second for pair in pairs for second in pair[side][0].seconds) for side in (0, 1)
            )
            ratios.append(after / before)
            wrong += sum((after[1] + after[2]).count("WRONG") for _, after in pairs)
            print(f"\n{subject.name}: median turn {before * 1e3:.0f} ms, with hooks {after * 1e3:.0f} ms", flush=True)
            print(f"  {'':34}  {'without':18}  with hooks")
            print(f"  {'exit codes known':34}  {counted(without[1]):18}  {counted(hooked[1])}")
            print(f"  {'directories known':34}  {counted(without[2]):18}  {counted(hooked[2])}")
            print(f"  {'state views with tests':34}  {checks(without[0]):<18}  {checks(hooked[0])}")
            truth = commands(keeps_directory=subject.keeps_directory)
            for ran, was, now in zip(truth, decisions(without[0]), decisions(hooked[0]), strict=True):
                if was != now:
                    print(f"  {ran.command:34}  {' '.join(was):18}  {' '.join(now)}")
    except NotInstalled as error:
        print(f"hooks: not measured: {error}")
        return 0
    held = "NOT held" if wrong else "held"
    print(f"\nhooks: {held}: {wrong} wrong facts with hooks; a turn takes x{max(ratios):.2f} at most")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
