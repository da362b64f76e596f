"""Ledger side by side with rivals, on the same recorded runs, in one run of this script.

    python -m benchmarks.peers CORPUS [RUNS]

The loop detectors of Gemini CLI core and of the OpenHands SDK, and Headroom's compressor, are installed into
environments of their own below ``.venv/rivals``, at fixed versions, and driven by the scripts in ``benchmarks/rivals``.
What counts as a redundant call is said in ``benchmarks/_peer_truth.py``; small made loops follow, from
``benchmarks/_loops.py``, under Ledger in a real folder (``benchmarks/_played.py``). The agents' behaviour is held
fixed: nothing here shows what a model would make of it.
Times are processor times, each over what Ledger takes for a call in this very run.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from benchmarks._loops import Case, loops, works
from benchmarks._peer_accounts import (
    FILE_TOOLS,
    SHELL,
    Account,
    Balance,
    Role,
    add_compressor,
    add_detector,
    add_ledger,
    ledger_account,
)
from benchmarks._peer_runs import Sample, Sampled, encoded, progress, sample
from benchmarks._peer_truth import KINDS, Kind, truth
from benchmarks._played import play
from benchmarks._rivals import GEMINI, HEADROOM, OPENHANDS, NotInstalledError, Rival, drive
from execledger.core.policy import Policy, Preset
from execledger.errors import LedgerError

NEEDS_CORPUS = True
RUNS = 150
USAGE = "usage: python -m benchmarks.peers CORPUS [RUNS]"
SILENT = "-"
Truths = Sequence[tuple[Kind, ...]]


class Contender(Struct, frozen=True):
    """A rival in one of the ways that it is asked."""

    rival: Rival
    """The rival."""
    manner: str = ""
    """What is special about it."""
    thoughts: bool = True
    """It is given what the model wrote beside its calls."""
    options: tuple[str, ...] = ()
    """What its driver is told."""

    @property
    def name(self) -> str:
        """The head of its column."""
        return f"{self.rival.name} {self.rival.version}{self.manner}"


CONTENDERS = (
    Contender(GEMINI),
    Contender(OPENHANDS),
    Contender(OPENHANDS, ", thoughts left out", thoughts=False),
    Contender(HEADROOM),
    Contender(HEADROOM, ', mode "agent"', options=("agent",)),
)


class Judged(Struct, frozen=True):
    """Runs, and which of their calls are redundant."""

    runs: Sequence[Sampled]
    """The runs."""
    truths: Truths
    """What each of their calls is."""


def ledger_accounts(sets: Sequence[Judged]) -> list[Account]:
    """What Ledger does with each set of runs."""
    # The first run loads grammars and tables; what is timed comes after.
    ledger_account(sets[0].runs[:1], sets[0].truths[:1], Preset.VERIFIED)
    return [ledger_account(one.runs, one.truths, Preset.VERIFIED) for one in sets]


def played_account(cases: Sequence[Case]) -> Account:
    """What Ledger does with made cases, each in a real folder that a witness looks at."""
    account = Account(f"Ledger, `{Preset.VERIFIED.value}`", "ledger")
    for case in cases:
        add_ledger(account, case.sampled().run, list(play(case, Policy(preset=Preset.VERIFIED))), case_truth(case))
    return account


def rival_accounts(contender: Contender, sets: Sequence[Judged]) -> list[Account]:
    """What a rival does with each set of runs, in one process; one that can't be had says why."""
    role = contender.rival.role
    made = [Account(contender.name, role) for _ in sets]
    asked = [one if contender.thoughts else replace(one, texts=()) for each in sets for one in each.runs]
    owners = [(account, kinds) for account, each in zip(made, sets, strict=True) for kinds in each.truths]
    try:
        answers = drive(contender.rival, encoded(asked), contender.options)
        for one, (account, kinds), answer in zip(asked, owners, answers, strict=True):
            if role == "compressor":
                add_compressor(account, one, answer, kinds)
            else:
                add_detector(account, one.run, answer, kinds)
    except NotInstalledError as error:
        return [Account(contender.name, role, missing=str(error)) for _ in sets]
    return made


# The table of recorded runs


def of(count: int, all_of_them: int) -> str:
    """A count, and its share."""
    return f"{count:,} of {all_of_them:,} ({count / all_of_them:.0%})" if all_of_them else "0 of 0"


def listed(counter: Counter[str]) -> str:
    """A counter in words; what was counted and never happened is said as well."""
    return ", ".join(f"{name}: {count:,}" for name, count in counter.items()) or "none"


def redundant(truths: Truths) -> Counter[Kind]:
    """How many calls are redundant, by kind."""
    return Counter(kind for kinds in truths for kind in kinds if kind)


def saved(balance: Balance | None) -> str:
    """The bytes saved, and their share of those sent.

    Those added are not taken off: most of the saved ones would have been cached and views never are, so that the
    difference of bytes says nothing about cost.
    """
    return f"{balance.saved:,} ({balance.saved / max(balance.sent, 1):.2%})" if balance else SILENT


def rows(found: Sequence[Account], there: Counter[Kind]) -> Iterator[tuple[str, list[str]]]:
    """The rows of the table: what is measured, and each tool's value."""
    base = found[0].per_call

    def row(name: str, value: Callable[[Account], str], *without: Role) -> tuple[str, list[str]]:
        silent = {one.name: SILENT for one in found if one.role in without}
        return name, ["not installed" if one.missing else silent.get(one.name) or value(one) for one in found]

    def lossy(account: Account) -> str:
        return f"{account.lossy:,} ({account.retrievable:,}; {account.quoted:,})"

    yield row("calls seen", lambda one: f"{one.calls:,}")
    yield row("redundant calls found", lambda one: of(one.found.total(), there.total()))
    for kind in KINDS:
        yield row(f"- {kind}", partial(of_kind, kind, there[kind]))
    yield row("what it said or did", lambda one: listed(one.reports))
    yield row("wrong: false references, alarms without a redundant call", lambda one: f"{one.wrong:,}", "compressor")
    yield row("results with lines gone (with a marker; quoted by a later command)", lossy, "detector", "ledger")
    yield row("results shown one way, then another", lambda one: f"{one.rewritten:,}", "detector", "ledger")
    again = "bytes of results that a prompt cache must take in again"
    yield row(again, lambda one: f"{one.disturbed:,}", "detector", "ledger")
    yield row("bytes saved, and their share of the bytes of all results", lambda one: saved(one.total), "detector")
    for agents in (SHELL, FILE_TOOLS):
        yield row(f"- {agents}", partial(saved_of, agents), "detector")
    yield row("bytes added", lambda one: f"{one.total.added:,}", "detector")
    yield row("processor time per call, Ledger's being 1", lambda one: f"{one.per_call / base:.2f}" if base else "")


def saved_of(agents: str, account: Account) -> str:
    """What a tool saves in the runs of some agents."""
    return saved(account.bytes.get(agents))


def of_kind(kind: Kind, all_of_them: int, account: Account) -> str:
    """How many redundant calls of one kind a tool found."""
    return of(account.found[kind], all_of_them)


def markdown(head: Sequence[str], body: Iterator[tuple[str, list[str]]]) -> str:
    """A table."""
    lines = [["", *head], ["---"] * (len(head) + 1), *([name, *cells] for name, cells in body)]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


# The table of made loops


def loop_rows(cases: Sequence[Case], found: Sequence[Account]) -> Iterator[tuple[str, list[str]]]:
    """One row for each case: at how many of its redundant calls each tool spoke up, and from which call on."""
    for case in cases:
        yield case.name, ["not installed" if one.missing else spoken(case, one) for one in found]


def spoken(case: Case, account: Account) -> str:
    """What a tool said in one case."""
    reports = account.first.get(case.name, ())
    if account.role == "compressor":
        return f"shortens {len(reports)} of {len(case.steps)}" if reports else "shortens none"
    right = sorted({report.call for report in reports if report.call in case.redundant})
    wrong = sorted({report.call for report in reports} - case.redundant)
    said = f"{len(right)} of {len(case.redundant)}" if case.redundant else "right: silent"
    if right:
        said += f", from call {right[0] + 1}"
    if wrong:
        said = f"**wrong** {len(wrong)} times, from call {wrong[0] + 1}" + (f"; {said}" if case.redundant else "")
    return said


def case_truth(case: Case) -> tuple[Kind, ...]:
    """The redundant calls of a case, in the shape of those of a recorded run."""
    return tuple("repeat" if index in case.redundant else "" for index in range(len(case.steps)))


def compare(paths: list[str], most: int) -> int:
    """Print both tables; the exit status says whether Ledger gave a false answer."""
    progress("reading runs")
    chosen = sample(paths, most)
    if not chosen.runs:
        raise LedgerError(f"{paths[0]}: found no recorded run, expected some")
    cases = [*loops(), *works()]
    recorded = Judged(chosen.runs, [truth(one.run) for one in chosen.runs])
    sets = (recorded, Judged([case.sampled() for case in cases], [case_truth(case) for case in cases]))
    ledger = [*ledger_accounts(sets[:1]), played_account(cases)]
    pairs = [ledger, *(rival_accounts(contender, sets) for contender in CONTENDERS)]
    progress("")
    report(chosen, recorded.truths, cases, pairs)
    return int(bool(pairs[0][0].false))


def report(chosen: Sample, truths: Truths, cases: Sequence[Case], pairs: Sequence[Sequence[Account]]) -> None:
    """Print what was found."""
    found, made, there = [pair[0] for pair in pairs], [pair[1] for pair in pairs], redundant(truths)
    formats = Counter(one.run.format for one in chosen.runs)
    kinds = ", ".join(f"{there[kind]:,} {kind}" for kind in KINDS)
    print(f"{len(chosen.runs)} runs ({listed(formats)}); {there.total():,} redundant calls ({kinds})")
    for one in found:
        if one.missing:
            print(f"{one.name} is not installed: {one.missing}")
    print("\n" + markdown([one.name for one in found], rows(found, there)))
    print(f"\nredundant calls that Ledger shows in full: {listed(Counter(dict(found[0].missed.most_common())))}")
    print("\nmade loops, then work that only looks like one: at how many redundant calls it spoke up\n")
    print(markdown([one.name for one in made], loop_rows(cases, made)))
    print("\n" + closing(found, there))


def outcome(account: Account) -> str:
    """A tool in a few words."""
    if account.role == "compressor":
        return f"shortened {account.found.total():,}, {account.lossy:,} results with lines gone"
    return f"{account.found.total():,}, {account.wrong:,} wrong"


def closing(found: Sequence[Account], there: Counter[Kind]) -> str:
    """The outcome on one line."""
    parts = [f"{one.name} {'not installed' if one.missing else outcome(one)}" for one in found]
    held = "NOT held" if found[0].false else "held"
    return f"peers: {held}: of {there.total():,} redundant calls found: {'; '.join(parts)}"


def main() -> int:
    """Compare, as asked for on the command line."""
    arguments = sys.argv[1:]
    most = arguments[1] if len(arguments) == 2 else str(RUNS)
    if len(arguments) not in (1, 2) or not most.isdecimal() or not int(most):
        print(f"{USAGE}; RUNS is a whole number of at least 1", file=sys.stderr)
        return 2
    try:
        return compare(arguments[:1], int(most))
    except LedgerError as error:
        print(f"peers: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
