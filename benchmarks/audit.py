"""Audit of every claim over recorded runs, by brute force: nothing false may be claimed, and little may be missed.

    python -m benchmarks.audit CORPUS

The oracle below shares with Ledger how commands are read and which lines an output shows, but none of its verdicts,
indexes, bounds or choices: it judges every claim itself, and compares each recorded output with all visible earlier
ones, line by line.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator

from msgspec import Struct, field

from execledger.core.actions import Observation
from execledger.core.compare import eligible
from execledger.core.decisions import Reuse
from execledger.core.lines import Returned, returned
from execledger.core.policy import Policy, Preset
from execledger.core.records import Effects, View
from execledger.core.understand import classify
from execledger.replay import Replayed, replay
from execledger.trajectories import Run, find_runs, read_run

NEEDS_CORPUS = True
Lines = tuple[tuple[str, int | None], ...]


class Earlier(Struct):
    """An earlier call whose whole text stands in the context."""

    index: int
    path: str | None
    observation: Observation
    pieces: tuple[Lines, ...]


class Audit(Struct):
    """What one preset's audit found."""

    calls: int = 0
    reuses: int = 0
    false_reuses: Counter[str] = field(default_factory=Counter)
    claims: int = 0
    false_claims: list[str] = field(default_factory=list)
    provable: int = 0
    missed: Counter[str] = field(default_factory=Counter)
    ineligible: Counter[str] = field(default_factory=Counter)
    programs: int = 0
    unknown_programs: Counter[str] = field(default_factory=Counter)


def shown_lines(view: View | None, observation: Observation) -> tuple[Lines, ...]:
    """The lines of the file that a result shows, with their printed numbers."""
    found: Returned | None = returned(view, observation) if view is not None else None
    if found is None:
        return ()
    return tuple(
        tuple(zip(texts, numbers or (None,) * len(texts), strict=True))
        for texts, numbers in zip(found.texts, found.numbers, strict=True)
    )


def agree(one: tuple[str, int | None], other: tuple[str, int | None]) -> bool:
    """Two lines are the same, with the same number where both print it."""
    return one[0] == other[0] and (one[1] is None or other[1] is None or one[1] == other[1])


def coverable(lines: Lines, earlier: list[Earlier], min_run: int = 3, most: int = 3) -> bool:
    """Some cut of ``lines`` into long enough runs stands in at most ``most`` of the earlier results."""
    count = len(lines)
    states: dict[int, set[frozenset[int]]] = {0: {frozenset()}}
    for at in range(count):
        for used in states.pop(at, set()):
            for one in earlier:
                steps = used | {one.index}
                if len(steps) > most:
                    continue
                for length in run_lengths(lines, at, one.pieces):
                    whole = at == 0 and length == count
                    for end in range(at + min_run, at + length + 1) if not whole else (count,):
                        states.setdefault(end, set()).add(steps)
                    if whole:
                        return True
    return bool(states.get(count))


def run_lengths(lines: Lines, at: int, pieces: tuple[Lines, ...]) -> Iterator[int]:
    """How far ``lines`` from ``at`` stand in the pieces: the longest match."""
    best = 0
    for piece in pieces:
        for start in range(len(piece)):
            length = 0
            while at + length < len(lines) and start + length < len(piece):
                if not agree(lines[at + length], piece[start + length]):
                    break
                length += 1
            best = max(best, length)
    if best:
        yield best


def identical(one: Observation, other: Observation) -> bool:
    """Byte for byte the same result."""
    return (one.output, one.stderr, one.exit_status) == (other.output, other.stderr, other.exit_status)


def borne_out(own: Earlier, cited: list[Earlier]) -> bool:
    """A claim is true: one of the cited results is the same, or the lines stand in the cited reads of the file."""
    if any(identical(one.observation, own.observation) for one in cited):
        return True
    reads = [one for one in cited if one.path is not None and one.path == own.path]
    return len(own.pieces) == 1 and bool(reads) and coverable(own.pieces[0], reads)


def audit_call(audit: Audit, run: Run, call: Replayed, earlier: list[Earlier], own: Earlier) -> None:
    """Check one call's claims, and look for claims that it could have made."""
    observation, shown = call.recorded.observation, call.shown
    if isinstance(call.decision, Reuse):
        audit.reuses += 1
        if not borne_out(own, [one for one in earlier if one.index in call.decision.refers_to]):
            audit.false_reuses[f"{call.decision.rule}, {kind_of_change(run, call)}"] += 1
        return
    can = eligible(call.record, observation)
    same = [one for one in earlier if identical(one.observation, observation) and not one.observation.truncated]
    reads = [one for one in earlier if one.path is not None and one.path == own.path]
    covered = can and len(own.pieces) == 1 and bool(reads) and coverable(own.pieces[0], reads)
    if shown.compared in ("same", "covered"):
        audit.claims += 1
        cited = [one for one in earlier if one.index in shown.compared_to]
        if not borne_out(own, cited):
            audit.false_claims.append(f"{run.name} {call.index}")
    if can and (same or covered):
        audit.provable += 1
        if shown.compared == "different":
            audit.missed["same bytes" if same else "covered lines"] += 1
    elif same and not can and observation.succeeded and len(observation.output) >= 300 and not observation.truncated:
        audit.ineligible[call.record.category.value] += 1


def kind_of_change(run: Run, call: Replayed) -> str:
    """What may have written between a false reuse and what it refers to."""
    kinds: Counter[str] = Counter()
    for recorded in run.steps[min(call.decision.refers_to) + 1 : call.index]:
        record = classify(recorded.action)
        if record.effects is not Effects.NONE:
            kinds[f"{record.category.value} ({record.effects.value})"] += 1
    return " and ".join(sorted(kinds)) or "nothing known wrote"


def audit_corpus(paths: list[str], preset: Preset) -> Audit:
    """Audit every run under ``paths``."""
    audit = Audit()
    for source in find_runs(paths):
        run = read_run(source.name, source.read())
        earlier: list[Earlier] = []
        for call in replay(run, Policy(preset=preset)):
            audit.calls += 1
            audit.programs += call.record.programs
            audit.unknown_programs.update(call.record.unknown_programs)
            view = call.record.view
            path = view.path if view is not None and view.path.startswith("/") else None
            pieces = shown_lines(view, call.recorded.observation) if path else ()
            own = Earlier(call.index, path, call.recorded.observation, pieces)
            audit_call(audit, run, call, earlier, own)
            if call.shown.kind != "reference":
                earlier.append(own)
    return audit


def listed(counter: Counter[str]) -> str:
    """A counter in words."""
    return ", ".join(f"{name}: {count}" for name, count in counter.most_common(12)) or "none"


def rows(audits: dict[Preset, Audit]) -> Iterator[tuple[str, list[str]]]:
    """The table: what was measured, and the value for each preset."""
    found = list(audits.values())
    yield "calls", [f"{one.calls:,}" for one in found]
    yield "reuses before running", [f"{one.reuses:,}" for one in found]
    yield "of these false", [f"{one.false_reuses.total()} ({listed(one.false_reuses)})" for one in found]
    yield "claims of the comparison", [f"{one.claims:,}" for one in found]
    yield "of these false", [str(len(one.false_claims)) for one in found]
    yield "repeats and covered reads that the recorded outputs prove", [f"{one.provable:,}" for one in found]
    yield "of these missed", [f"{one.missed.total()}, {share(one):.2%} ({listed(one.missed)})" for one in found]
    yield "same bytes again, but not eligible", [listed(one.ineligible) for one in found]
    yield "simple commands of known programs", [known(one) for one in found]


def share(audit: Audit) -> float:
    """The share of provable repeats that was missed."""
    return audit.missed.total() / max(audit.provable, 1)


def known(audit: Audit) -> str:
    """The share of simple commands whose program is known, and the most frequent others."""
    part = 1 - audit.unknown_programs.total() / max(audit.programs, 1)
    return f"{part:.2%} of {audit.programs:,}; unknown: {listed(audit.unknown_programs)}"


def table(audits: dict[Preset, Audit]) -> str:
    """The audit as a Markdown table."""
    head = ["", *(f"`{preset.value}`" for preset in audits)]
    lines = [head, ["---"] * len(head), *([name, *values] for name, values in rows(audits))]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def main() -> int:
    """Print the audit of both presets; the exit status says whether `verified` holds."""
    audits = {preset: audit_corpus(sys.argv[1:], preset) for preset in (Preset.VERIFIED, Preset.PAPER)}
    print(table(audits))
    verified = audits[Preset.VERIFIED]
    failed = bool(verified.false_reuses or verified.false_claims) or share(verified) >= 0.05
    held = "NOT held" if failed else "held"
    print(
        f"audit: {held}: verified has {verified.false_reuses.total()} false reuses of {verified.reuses}, "
        f"{len(verified.false_claims)} false claims of {verified.claims}, {share(verified):.2%} missed; "
        f"paper has {audits[Preset.PAPER].false_reuses.total()} false reuses of {audits[Preset.PAPER].reuses}"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
