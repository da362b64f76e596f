"""One seeded session: looks, edits and undone edits by shell and by tools, with Ledger before a believing reader."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from msgspec.structs import replace

from execledger.core.ledger import Ledger
from execledger.core.policy import Policy
from execledger.core.step import take
from execledger.vocabulary.actions import Action, Call, Edit, Observation, Read, Search, Write
from tests.support.tagged.commands import Range, edit, look, named, write
from tests.support.tagged.judge import Judge, Misled, Result
from tests.support.tagged.world import World, rows

ENDING = "behind the end\n"
"""What is put behind a file to find out whether a command reads to its end."""


@dataclass
class Report:
    """What became of a session."""

    seed: int
    sealed: bool
    log: list[str] = field(default_factory=list)
    """What was done and shown, for a person to read."""
    faults: list[str] = field(default_factory=list)
    """References that mislead, and claims that are false."""
    steps: int = 0
    references: int = 0
    suppressed: int = 0
    partial: int = 0
    claims: int = 0


class Session:
    """The agent's work: what it does next, and what became of it."""

    def __init__(self, random: Random, place: Path, report: Report) -> None:
        self.random, self.report = random, report
        self.world = World(random, place)
        self.judge = Judge(self.world.folder)
        bold = Policy(second_look_rate=0.0, min_output=300)
        if random.random() < 0.6:
            bold = replace(bold, min_output=40, max_share=1.0, min_omitted=1)
        self.ledger = Ledger("", bold)
        self.main = random.choice(self.world.files)
        self.past: dict[Path, list[str]] = {path: [] for path in self.world.files}
        self.spans: dict[Path, Range] = {}
        self.edited = False

    def play(self) -> None:
        """Some steps, with a compaction or a change by others between them now and then."""
        for step in range(self.random.randint(10, 26)):
            path = self.main if self.random.random() < 0.8 else self.random.choice(self.world.files)
            if not self.report.sealed and self.random.random() < 0.05:
                self._meddle(path)
            if step > 5 and self.random.random() < 0.02:
                for result in self.judge.results[: self.random.randint(1, len(self.judge.results))]:
                    result.visible = False
            if step and not self.edited and self.random.random() < 0.45:
                self._change(path)
            else:
                self._look(path)

    def _meddle(self, path: Path) -> None:
        """Somebody else changes a file."""
        self.world.put(path, self._other(path))
        self.judge.meddled[str(path)] = len(self.judge.results)
        self.report.log.append(f"  (another process changes {path.name})")

    def _other(self, path: Path) -> str:
        """Another text for a file: an earlier one, or a changed one."""
        text = self.world.text(path)
        earlier = [one for one in self.past[path][-4:] if one != text]
        self.past[path].append(text)
        return self.random.choice(earlier) if earlier and self.random.random() < 0.6 else self.world.changed(text)

    def _change(self, path: Path) -> None:
        self.edited = True
        kind = self.random.random()
        if kind < 0.35:
            self.past[path].append(self.world.text(path))
            self._step(edit(self.world, self.random, path), harmless=False)
            return
        old, new = self.world.text(path), self._other(path)
        if kind < 0.85:
            self._step(write(self.random, named(self.world, self.random, path), old, new), harmless=False)
            return
        call = self.random.choice((Write(str(path), new), Edit(str(path), old, new)))
        self._step(f"{type(call).__name__} {path}", call=call, harmless=False)

    def _look(self, path: Path) -> None:
        self.edited = False
        count = max(1, len(rows(self.world.text(path))))
        if path not in self.spans or self.random.random() < 0.35:
            first = min(self.random.randint(1, count), self.random.randint(1, count))
            self.spans[path] = (first, first + self.random.randint(4, 30))
        kind = self.random.random()
        looks = [one.command for one in self.judge.results if not one.command.startswith(("Write", "Edit"))]
        if kind < 0.12:
            first, last = self.spans[path] if self.random.random() < 0.7 else (1, None)
            call: Call = Read(str(path), first, last, "\t")
            self._step(f"Read {path} {first} {last}", call=call)
        elif kind < 0.17:
            self._step(f"Search K{self.random.randint(1, max(1, self.world.lines))}v {path}", call=Search())
        elif kind < 0.37 and looks:
            # A look is repeated now and then, and so is an edit.
            self._step(self.random.choice(looks), harmless=False)
        else:
            self._step(look(self.world, self.random, path, self.spans[path]))

    def _run(self, command: str, call: Call | None) -> tuple[str, int]:
        """What the shell or a tool answers."""
        if isinstance(call, Write | Edit):
            new = call.content if isinstance(call, Write) else call.new
            self.world.put(Path(call.path), new)
            return f"{call.path} was written.\n", 0
        if isinstance(call, Read):
            lines = list(enumerate(rows(self.world.text(Path(call.path))), 1))
            return "".join(f"{number:6}\t{line}\n" for number, line in lines[call.first - 1 : call.last]), 0
        if isinstance(call, Search):
            pattern, path = command.split(" ", 2)[1:]
            found = enumerate(rows(self.world.text(Path(path))), 1)
            return "".join(f"{number}:{line}\n" for number, line in found if pattern in line), 0
        return self.world.run(command)

    def _step(self, command: str, call: Call | None = None, *, harmless: bool = True) -> None:
        """One step through Ledger, and what its reader makes of what is shown."""
        results, report = self.judge.results, self.report
        outcomes: list[tuple[str, int]] = []

        def run(action: Action) -> Observation:
            outcomes.append(self._run(command, call))
            return Observation(outcomes[0][0], exit_status=outcomes[0][1])

        visible = frozenset(number for number, result in enumerate(results) if result.visible)
        action = Action(command, str(self.world.folder), call)
        step = take(self.ledger, action, run, visible, report.sealed)
        output, status = outcomes[0] if outcomes else self._run(command, call)
        truth = Result(command, output, status, self.world.snapshot())
        report.steps += 1
        report.log.append(f"{len(results)}$ {command}")
        if step.shown.kind in ("reference", "partial"):
            report.references += 1
            report.suppressed += not outcomes
            report.partial += step.shown.kind == "partial"
            report.log.append(f"  {step.shown.text}")
            self._refer(step.observation.output, truth, call)
            rest = step.observation.output if step.shown.kind == "partial" else None
            truth = Result(command, rest, status, truth.files)
        results.append(truth)
        view = self.ledger.inform(visible | {len(results) - 1}, report.sealed).text
        for why in self.judge.claims(view, truth.files):
            report.claims += 1
            if why:
                self._fault(f"a false claim: {why}")

    def _refer(self, text: str, truth: Result, call: Call | None) -> None:
        def reads_on(path: str) -> bool:
            before = Path(path).read_bytes()
            Path(path).write_bytes(before + b"\n" * (not before.endswith(b"\n")) + ENDING.encode())
            output, _ = self._run(truth.command, call)
            Path(path).write_bytes(before)
            return ENDING.strip() in output

        try:
            self.judge.refer(text, truth, reads_on)
        except Misled as why:
            self._fault(f"a misleading reference: {why}")

    def _fault(self, what: str) -> None:
        self.report.faults.append(what)
        self.report.log.append(f"  FAULT: {what}")


def play(seed: int) -> Report:
    """Play one session; the same seed gives the same session."""
    random = Random(seed)
    report = Report(seed, sealed=random.random() < 0.45)
    with tempfile.TemporaryDirectory(prefix="tagged-") as place:
        Session(random, Path(place).resolve(), report).play()
    return report
