"""Audit of every claim over recorded runs, by brute force: nothing false may be claimed, and little may be missed.

    python -m benchmarks.audit CORPUS

The oracle below shares with Ledger how commands are read, and none of its verdicts, indexes, bounds or choices. It puts
the lines of each recorded output at their places in the file itself, and judges each claim as a reader would who takes
line *p* of the file from what a result shows as line *p*. An output of which some lines are omitted is read as text:
each reference in it is replaced by the named lines of the named result, as that was rendered, and the whole must be the
recorded output, byte for byte.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator

from msgspec import Struct, field, structs

from execledger.agents.formats import read_run
from execledger.core.classify import classify
from execledger.core.compare import eligible
from execledger.core.policy import Policy, Preset
from execledger.runs.find import find_runs
from execledger.runs.recording import Run
from execledger.runs.replay import Replayed, new_ledger, replay
from execledger.vocabulary.actions import Observation
from execledger.vocabulary.decisions import Reuse
from execledger.vocabulary.records import CHANGED, Category, CommandRecord, Effects, Scope, View

NEEDS_CORPUS = True
ANYTHING = "*"
OMITTED = re.compile(
    r"\[Ledger: lines? (\d+)(?:-(\d+))? of (.+) omitted, as shown by `(.*)`, (\d+) commands? ago\.\]", re.DOTALL
)
"""A line in place of omitted ones, as a reader understands it."""


class Earlier(Struct):
    """A call, and what its recorded output shows of a file; ``changed`` is what it may have changed, by name."""

    index: int
    path: str | None
    observation: Observation
    places: dict[int, str] = {}
    numbered: bool = False
    end: tuple[int, bool] | None = None
    all_placed: bool = False
    changed: str = ""
    command: str = ""
    printed: dict[int, str] = {}
    """Lines as they were printed, with their numbers, by these."""


class Audit(Struct):
    """What one preset's audit found."""

    calls: int = 0
    reuses: int = 0
    false_reuses: Counter[str] = field(default_factory=Counter)
    claims: int = 0
    false_claims: list[str] = field(default_factory=list)
    partial: int = 0
    omitted: int = 0
    false_partial: list[str] = field(default_factory=list)
    provable: int = 0
    missed: Counter[str] = field(default_factory=Counter)
    taken_back: int = 0
    ineligible: Counter[str] = field(default_factory=Counter)
    programs: int = 0
    unknown_programs: Counter[str] = field(default_factory=Counter)
    faults: int = 0


def placed(index: int, view: View | None, observation: Observation) -> Earlier:
    """A call with the lines of its output at their places in the file, as far as these are known."""
    path = view.path if view is not None and view.path.startswith("/") else None
    call = Earlier(index, path, observation)
    if view is None or path is None or not observation.succeeded or view.numbering == CHANGED or not observation.output:
        return call
    if observation.truncated and observation.cut is None:
        return call
    cut = observation.cut
    head = observation.output if cut is None else observation.output[:cut].rpartition("\n")[0]
    lines = head.removesuffix("\n").split("\n")
    asked = positions(view, len(lines))
    if view.numbering:
        rest = "" if cut is None else observation.output[cut:].partition("\n")[2].removesuffix("\n")
        call.numbered = True
        call.places = dict(numbers([*lines, *rest.split("\n")], view.numbering))
        call.printed = printed_by_number([*lines, *rest.split("\n")], view.numbering)
    elif not view.floating:
        call.places = dict(zip(asked, lines, strict=False))
    call.all_placed = cut is None and len(call.places) == len(lines)
    last = view.ranges[-1].last
    if call.places and (cut is None or view.numbering) and view.ranges[-1].first > 0:
        # Fewer lines than asked for, or all that there are: the last one is the file's.
        final = max(call.places)
        if last is None or view.ranges[-1].first <= final < last:
            call.end = final, observation.output.endswith("\n")
    return call


def positions(view: View, most: int) -> Iterator[int]:
    """The line numbers that a plain read prints, in order: at most so many."""
    for lines in view.ranges:
        if lines.first < 0:
            return
        last = lines.first + most if lines.last is None else min(lines.last, lines.first + most)
        yield from range(lines.first, last + 1)


def numbers(lines: Iterable[str], separator: str) -> Iterator[tuple[int, str]]:
    """Line numbers and texts, as they are printed."""
    for line in lines:
        if found := re.match(rf" *(\d+) *{re.escape(separator)}", line):
            yield int(found[1]), line[found.end() :]


def printed_by_number(lines: Iterable[str], separator: str) -> dict[int, str]:
    """Lines as they are printed, by the numbers in front of them."""
    return {number: line for line in lines for number, _ in numbers((line,), separator)}


class Misread(Exception):
    """Why a reader of a partly omitted output is misled."""


class PartialReader:
    """Reads an output with references in it as text, and keeps what it shows itself, by place."""

    def __init__(self, own: Earlier, view: View, calls: list[Earlier], since: int) -> None:
        """``calls`` are all earlier ones of the conversation; those from index ``since`` on are visible."""
        self.own, self.view, self.calls, self.since = own, view, calls, since
        self.counted = positions(view, own.observation.output.count("\n") + 1)
        self.places: dict[int, str] = {}
        self.omitted = 0

    def read(self, text: str) -> str:
        """The whole output; raises ``Misread`` if a reference does not lead to its lines."""
        rows: list[str] = []
        for row in text.removesuffix("\n").split("\n"):
            reference = OMITTED.fullmatch(row)
            rows += self.taken(reference) if reference else self.shown(row)
        return "\n".join(rows) + "\n" * text.endswith("\n")

    def shown(self, row: str) -> list[str]:
        """A line that is shown: its place is printed before it, or counted."""
        found = dict(numbers((row,), self.view.numbering)) if self.view.numbering else {next(self.counted, 0): row}
        self.places.update(found)
        return [row]

    def taken(self, reference: re.Match[str]) -> Iterator[str]:
        """The lines that a reference names, from the result that it names."""
        first, last, name, command, ago = reference.groups()
        target = self.calls[-int(ago)] if int(ago) <= len(self.calls) else None
        if target is None or target.index < self.since:
            raise Misread("the result is not visible")
        words = " ".join(target.command.split())
        if not words.startswith(re.sub(r"(?:\.\.\.)$", "", command)[:30].rstrip(" .?")):
            raise Misread(f"the command is another: {target.command!r}")
        if target.path != self.own.path or not (target.path or "").endswith(name.strip('"').lstrip("./")):
            raise Misread(f"the file is another: {target.path}")
        for place in range(int(first), int(last or first) + 1):
            if not self.view.numbering and next(self.counted, 0) != place:
                raise Misread(f"line {place} is named where the output has another")
            yield self.line(target, place)

    def line(self, target: Earlier, place: int) -> str:
        """Line ``place`` as ``target`` shows it, and no newer visible result otherwise."""
        self.omitted += 1
        text = target.places.get(place)
        if text is None:
            raise Misread(f"line {place} is not shown there")
        for other in self.calls:
            newer = other.index > target.index and other.index >= self.since and other.path == target.path
            if newer and other.places.get(place, text) != text:
                raise Misread(f"line {place} is another one in a newer result")
        if not self.view.numbering:
            return text
        if place not in target.printed:
            raise Misread(f"line {place} is shown without its number")
        # Programs pad numbers differently: what is read is the number and the text.
        sample = next((row for row in self.own.printed.values()), "")
        width = len(sample.partition(self.view.numbering)[0]) if sample.startswith(" ") else 0
        return f"{self.view.prefix}{place}".rjust(width) + self.view.numbering + text


def audit_partial(audit: Audit, run: Run, call: Replayed, own: Earlier, calls: list[Earlier], since: int) -> Earlier:
    """Read a partly omitted output as text; return what it shows itself."""
    view, output = call.record.view, call.recorded.observation.output
    assert view is not None, "only reads are shown in part"
    reader = PartialReader(own, view, calls, since)
    audit.partial += 1
    try:
        whole = reader.read(call.shown.applied(output))
        wrong = "" if whole == output else "the whole is another output"
        wrong = wrong or ("" if reader.places.items() <= own.places.items() else "a line is at another place")
    except Misread as why:
        wrong = str(why)
    if wrong:
        audit.false_partial.append(f"{run.name} {call.index}: {wrong}")
    audit.omitted += reader.omitted
    end = own.end if own.end is not None and own.end[0] in reader.places else None
    left = {place: row for place, row in own.printed.items() if place in reader.places}
    # Nothing is the same as this result as a whole: the model is not shown all of it.
    part = structs.replace(own.observation, truncated=True)
    return structs.replace(own, observation=part, places=reader.places, printed=left, end=end, all_placed=False)


def believable(own: Earlier, one: Earlier, place: int, later: list[Earlier]) -> bool:
    """A reader takes line ``place`` rightly from what ``one`` shows there, and has seen nothing newer against it."""
    if one.path != own.path or one.places.get(place) != own.places[place] or (own.numbered and not one.numbered):
        return False
    if own.end is not None and place == own.end[0] and one.end != own.end:
        return False
    newer = [other for other in later if other.index > one.index and other.path == own.path]
    return all(other.places.get(place, own.places[place]) == own.places[place] for other in newer)


def coverable(own: Earlier, earlier: list[Earlier], min_run: int = 3, most: int = 3) -> bool:
    """Some cut of the lines into long enough runs was shown at the same places by at most ``most`` earlier results."""
    places = sorted(own.places)
    reads = [one for one in earlier if one.path == own.path and one.places]
    if not own.all_placed or not places or not reads:
        return False
    holders = {place: {one.index for one in reads if believable(own, one, place, reads)} for place in places}
    states: dict[int, set[frozenset[int]]] = {0: {frozenset()}}
    for at in range(len(places)):
        for used in states.pop(at, set()):
            for index in holders[places[at]]:
                steps = used | {index}
                length = run_length(places, at, holders, index)
                whole = at == 0 and length == len(places)
                if whole:
                    return True
                for end in range(at + min_run, at + length + 1) if len(steps) <= most else ():
                    states.setdefault(end, set()).add(steps)
    return bool(states.get(len(places)))


def taken_back(own: Earlier, one: Earlier, earlier: list[Earlier]) -> bool:
    """Since ``one`` the file was changed, something that has no places was printed, and the file was changed again."""
    name = (own.path or "").rpartition("/")[2]
    newer = [other for other in earlier if other.index > one.index]
    changes = [other.index for other in newer if name in other.changed or other.changed == ANYTHING]
    printed = [other.index for other in newer if other.observation.output.strip() and not other.places]
    return bool(changes) and any(changes[0] <= index < changes[-1] for index in printed)


def changed_by(command: str, record: CommandRecord) -> str:
    """What a call may have changed: the files that it writes, or, where that is not known, what it names."""
    if record.scope is Scope.TREE:
        return ANYTHING
    named = command if record.effects is Effects.UNKNOWN and record.category is not Category.TEST else ""
    return " ".join((*record.writes, named)).strip()


def run_length(places: list[int], at: int, holders: dict[int, set[int]], index: int) -> int:
    """How many consecutive lines from ``at`` on a result holds."""
    length = 1
    while (
        at + length < len(places)
        and places[at + length] == places[at + length - 1] + 1
        and index in holders[places[at + length]]
    ):
        length += 1
    return length


def identical(one: Observation, other: Observation) -> bool:
    """Byte for byte the same result."""
    return (one.output, one.stderr, one.exit_status) == (other.output, other.stderr, other.exit_status)


def borne_out(own: Earlier, cited: list[Earlier], earlier: list[Earlier]) -> bool:
    """A claim is true: one of the cited results is the same, or they show all lines at their places, unopposed."""
    if any(identical(one.observation, own.observation) for one in cited):
        return True
    reads = [one for one in earlier if one.path == own.path]
    return own.all_placed and all(any(believable(own, one, place, reads) for one in cited) for place in own.places)


def unopposed(own: Earlier, cited: list[Earlier], earlier: list[Earlier]) -> bool:
    """No newer result than those cited shows a place of the output differently, or is another of the same command."""
    newer = [one for one in earlier if one.index > max(other.index for other in cited)]
    places = [one.places for one in newer if one.path == own.path and one.path is not None]
    agree = all(shown.get(place, text) == text for shown in places for place, text in own.places.items())
    return agree and all(identical(one.observation, own.observation) for one in newer if one.command == own.command)


def as_before(own: Earlier, cited: list[Earlier]) -> bool:
    """A reuse is true: one of the cited results is the same, or the output has nothing that they do not show."""
    if any(identical(one.observation, own.observation) for one in cited):
        return True
    if own.all_placed:
        return all(any(one.places.get(place) == text for one in cited) for place, text in own.places.items())
    lines = own.observation.output.removesuffix("\n")
    return any(f"\n{lines}\n" in "\n" + "\n".join(one.places.values()) + "\n" for one in cited)


def audit_call(audit: Audit, run: Run, call: Replayed, earlier: list[Earlier], own: Earlier) -> None:
    """Check one call's claims, and look for claims that it could have made."""
    observation, shown = call.recorded.observation, call.shown
    if isinstance(call.decision, Reuse):
        audit.reuses += 1
        if not as_before(own, [one for one in earlier if one.index in call.decision.refers_to]):
            audit.false_reuses[f"{call.decision.rule}, {kind_of_change(run, call)}"] += 1
        return
    can = eligible(call.record, observation)
    same = [one for one in earlier if identical(one.observation, observation) and not one.observation.truncated]
    covered = can and not same and coverable(own, earlier)
    if shown.compared in ("same", "covered"):
        audit.claims += 1
        cited = [one for one in earlier if one.index in shown.compared_to]
        superseded = shown.kind == "reference" and not unopposed(own, cited, earlier)
        if superseded or not borne_out(own, cited, earlier):
            audit.false_claims.append(f"{run.name} {call.index}")
    if can and (same or covered):
        audit.provable += 1
        standing = [one for one in earlier if not taken_back(own, one, earlier)]
        if shown.compared == "different" and not same and not coverable(own, standing):
            audit.taken_back += 1
        elif shown.compared == "different":
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
        threads: dict[str, list[Earlier]] = {}
        ledger = new_ledger(run, Policy(preset=preset))
        for call in replay(run, ledger=ledger):
            audit.calls += 1
            audit.programs += call.record.programs
            audit.unknown_programs.update(call.record.unknown_programs)
            own = placed(call.index, call.record.view, call.recorded.observation)
            own.command = call.recorded.action.command
            own.changed = changed_by(own.command, call.record)
            audit_call(audit, run, call, earlier, own)
            since = max((one for one in run.compactions if one <= call.index), default=0)
            calls = threads.setdefault(call.recorded.action.thread, [])
            if call.shown.kind == "partial":
                own = audit_partial(audit, run, call, own, calls, since)
            if call.shown.kind != "reference":
                earlier.append(own)
            else:
                own = Earlier(own.index, None, Observation(), command=own.command)
            calls.append(own)
        audit.faults += ledger.faults.count
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
    yield "outputs shown in part", [f"{one.partial:,} ({one.omitted:,} lines omitted)" for one in found]
    yield "of these misread by a believing reader", [str(len(one.false_partial)) for one in found]
    yield "repeats and covered reads that the recorded outputs prove", [f"{one.provable:,}" for one in found]
    yield "of these missed", [f"{one.missed.total()}, {share(one):.2%} ({listed(one.missed)})" for one in found]
    yield (
        "of these shown, since the file was changed, printed about and changed",
        [str(one.taken_back) for one in found],
    )
    yield "same bytes again, but not eligible", [listed(one.ineligible) for one in found]
    yield "simple commands of known programs", [known(one) for one in found]
    if any(one.faults for one in found):
        yield "faults of Ledger's own", [str(one.faults) for one in found]


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
    for wrong in verified.false_partial[:20]:
        print(wrong, file=sys.stderr)
    false = verified.false_reuses or verified.false_claims or verified.false_partial
    failed = bool(false or verified.faults) or share(verified) >= 0.05
    held = "NOT held" if failed else "held"
    print(
        f"audit: {held}: verified has {verified.false_reuses.total()} false reuses of {verified.reuses}, "
        f"{len(verified.false_claims)} false claims of {verified.claims}, {len(verified.false_partial)} misread of "
        f"{verified.partial} shown in part, {share(verified):.2%} missed; "
        f"paper has {audits[Preset.PAPER].false_reuses.total()} false reuses of {audits[Preset.PAPER].reuses}"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
