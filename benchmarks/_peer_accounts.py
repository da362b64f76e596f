"""What each tool found in the sampled runs, and what it got wrong, counted in the same way for all of them.

Results are weighed as a model reads them: an output counts once for every later call of the model.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Sequence
from typing import Literal, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from benchmarks._peer_runs import Sampled, arguments_of, result_text
from benchmarks._peer_truth import Kind, result_of
from benchmarks.audit import Earlier, borne_out
from execledger.core.govern import SECOND_LOOK, SUBMISSION
from execledger.core.policy import Policy, Preset
from execledger.runs.recording import Run
from execledger.runs.replay import Replayed, new_ledger, replay
from execledger.vocabulary.actions import Observation, Read
from execledger.vocabulary.decisions import Shown

Role: TypeAlias = Literal["ledger", "detector", "compressor"]
SHELL, FILE_TOOLS = "agents that have a shell only", "agents with a tool for reading files"
MIN_QUOTE = 12
"""How long a line must be for a later command that holds it to be called a quotation of it."""
RETRIEVABLE = re.compile(r"\bhash=[0-9a-f]{8,}")
"""What a compressor leaves behind where the whole can be asked for."""
_CUTS = re.compile(r"[:/-]")


class Report(Struct, frozen=True):
    """A tool speaks up at a call."""

    call: int
    """The call, counted from 0."""
    kind: str
    """What it says or does: reference, remark, loop, shortened."""


class Text(Struct, frozen=True):
    """From one request on, a compressor shows a result in another way than before."""

    request: int
    """The request, counted as the model call that it is made for."""
    call: int
    """The call whose result it is."""
    text: str
    """What is shown of it from there on."""


class Answer(Struct, frozen=True):
    """What a driver says about one run."""

    checks: int = 0
    """How often the tool was asked."""
    seconds: float = 0.0
    """The processor time that it took, loading and translating left out."""
    reports: tuple[Report, ...] = ()
    """Where a detector spoke up."""
    texts: tuple[Text, ...] = ()
    """What a compressor made of the results, in order of requests."""
    other: int = 0
    """Bytes that a compressor added to all other messages, over all requests."""


class Balance(Struct):
    """Bytes over all requests of some runs."""

    sent: int = 0
    """Bytes of results, as they were recorded."""
    saved: int = 0
    """Bytes that a tool kept out."""
    added: int = 0
    """Bytes that it put in."""


class Account(Struct):
    """One tool over all runs."""

    name: str
    """What it is called in the tables."""
    role: Role
    """What it does."""
    missing: str = ""
    """Why it is not there; empty if it is."""
    calls: int = 0
    """Calls that it saw."""
    checks: int = 0
    """How often it was asked."""
    seconds: float = 0.0
    """The processor time that it took."""
    reports: Counter[str] = field(default_factory=Counter)
    """What it said or did, by kind."""
    found: Counter[Kind] = field(default_factory=Counter)
    """Redundant calls at which it spoke up, by kind."""
    false: int = 0
    """References to what is not the same."""
    wrong: int = 0
    """False references, and remarks or alarms at calls that were not redundant."""
    missed: Counter[str] = field(default_factory=Counter)
    """Redundant calls that Ledger let pass, by reason."""
    bytes: dict[str, Balance] = field(default_factory=dict)
    """What became of the bytes, by the kind of agent."""
    lossy: int = 0
    """Results of which lines are gone in the end."""
    retrievable: int = 0
    """Those among them where a marker says how to ask for the whole."""
    quoted: int = 0
    """Those among them with a line that a later command quotes."""
    rewritten: int = 0
    """Results that were shown in one way and in another way later: a prompt cache has to start over there."""
    disturbed: int = 0
    """Bytes of the results that stood from there on in the same request: a cache has to take them in again."""
    first: dict[str, tuple[Report, ...]] = field(default_factory=dict)
    """Its reports on each run, by name; kept for made loops alone."""

    @property
    def total(self) -> Balance:
        """What became of all bytes."""
        parts = self.bytes.values()
        return Balance(*(sum(getattr(part, name) for part in parts) for name in Balance.__struct_fields__))

    @property
    def per_call(self) -> float:
        """Seconds that it takes for one call."""
        return self.seconds / max(self.calls, 1)


def size(text: str) -> int:
    """What a text weighs."""
    return len(text.encode("utf-8", "replace"))


def later(run: Run, call: int) -> int:
    """How many calls of the model read a call's result."""
    return max(run.turns - run.steps[call].turn - 1, 0)


def start(account: Account, run: Run) -> Balance:
    """Count what is the same for every tool; where the run's bytes are to be counted."""
    account.calls += len(run.steps)
    kind = FILE_TOOLS if any(isinstance(step.action.call, Read) for step in run.steps) else SHELL
    balance = account.bytes.setdefault(kind, Balance())
    balance.sent += sum(size(result_text(step.observation)) * later(run, n) for n, step in enumerate(run.steps))
    return balance


# Ledger


def ledger_account(runs: Sequence[Sampled], truths: Sequence[tuple[Kind, ...]], preset: Preset) -> Account:
    """What Ledger does with the runs."""
    account = Account(f"Ledger, `{preset.value}`", "ledger")
    policy = Policy(preset=preset)
    for one, kinds in zip(runs, truths, strict=True):
        ledger = new_ledger(one.run, policy)
        begin = time.process_time()
        calls = list(replay(one.run, ledger=ledger))
        account.seconds += time.process_time() - begin
        account.checks += len(calls)
        add_ledger(account, one.run, calls, kinds)
    return account


def add_ledger(account: Account, run: Run, calls: Sequence[Replayed], kinds: tuple[Kind, ...]) -> None:
    """Count one replayed run."""
    balance = start(account, run)
    results = [result_of(index, step)[0] for index, step in enumerate(run.steps)]
    hidden: set[int] = set()
    reports: list[Report] = []
    for call in calls:
        shown, weight = call.shown, later(run, call.index)
        balance.added += size(call.view.text) if call.view else 0
        if shown.kind == "full":
            account.missed.update([why_shown(call)] if kinds[call.index] else ())
            continue
        reports.append(Report(call.index, shown.kind))
        if shown.kind == "remark":
            balance.added += size(shown.text) * weight
            account.wrong += not kinds[call.index]
            continue
        own = results[call.index]
        if shown.kind == "partial":
            false = not true_omissions(own, results, shown)
            results[call.index] = without_omitted(own, shown)
            spared = shown.saved + size(shown.text)
        else:
            cited = [results[step] for step in (*shown.refers_to, *call.decision.refers_to) if step not in hidden]
            false = not true_reference(own, cited)
            hidden.add(call.index)
            spared = size(result_text(call.recorded.observation))
        account.false += false
        account.wrong += false
        balance.saved += spared * weight
        balance.added += size(shown.text) * weight
    speak(account, run.name, reports, kinds)


def why_shown(call: Replayed) -> str:
    """Why Ledger shows a redundant result in full."""
    if not call.recorded.observation.succeeded:
        return "failed"
    if call.shown.worth is not None and not call.shown.worth.pays:
        return "not worth its price"
    if call.shown.compared in ("same", "covered"):
        return (
            call.decision.rule
            if call.decision.rule in (SECOND_LOOK, SUBMISSION)
            else "too little to gain, or an edit to hide"
        )
    return "not a known reader or searcher" if call.shown.compared is None else "not recognised"


def true_reference(own: Earlier, cited: list[Earlier]) -> bool:
    """What a reference stands for is what it points at. Of a result that is not wholly recorded nobody can tell."""
    return own.observation.truncated or borne_out(own, cited, cited)


def true_omissions(own: Earlier, results: Sequence[Earlier], shown: Shown) -> bool:
    """Each omitted line is what the result that is named for it shows at that place."""
    omitted = [(place, results[step]) for first, last, step in shown.omitted for place in range(first, last + 1)]
    return (
        bool(omitted)
        and all(place in own.places for place, _ in omitted)
        and all(one.places.get(place) == own.places[place] for place, one in omitted)
    )


def without_omitted(own: Earlier, shown: Shown) -> Earlier:
    """A result as it can be referred to: without the lines that it omits, and not as a whole."""
    gone = {place for first, last, _ in shown.omitted for place in range(first, last + 1)}
    places = {place: text for place, text in own.places.items() if place not in gone}
    return replace(own, places=places, observation=Observation(truncated=True))


def speak(account: Account, run: str, reports: Sequence[Report], kinds: tuple[Kind, ...]) -> None:
    """Count reports, and the redundant calls among those that they are about."""
    account.first[run] = tuple(reports)
    account.reports.update(report.kind for report in reports)
    account.found.update(kind for call in {report.call for report in reports} if (kind := kinds[call]))


# Rivals


def add_detector(account: Account, run: Run, answer: Answer, kinds: tuple[Kind, ...]) -> None:
    """Count what a loop detector said about one run."""
    start(account, run)
    account.checks += answer.checks
    account.seconds += answer.seconds
    speak(account, run.name, answer.reports, kinds)
    account.wrong += sum(not kinds[report.call] for report in answer.reports)


def add_compressor(account: Account, one: Sampled, answer: Answer, kinds: tuple[Kind, ...]) -> None:
    """Count what a compressor made of one run."""
    run = one.run
    balance = start(account, run)
    account.checks += answer.checks
    account.seconds += answer.seconds
    balance.added += max(answer.other, 0)
    balance.saved += max(-answer.other, 0)
    original = [result_text(step.observation) for step in run.steps]
    shown, since = dict[int, str](), dict[int, int]()
    # The first request that holds a result shows it for the first time; any other has shown it before.
    rewrites = [text for text in answer.texts if text.request > first_request(run, text.call)]
    account.rewritten += len(rewrites)
    account.disturbed += disturbance(run, rewrites)
    for text in answer.texts:
        weigh(balance, original[text.call], shown.get(text.call), since.get(text.call, 0), text.request)
        shown[text.call], since[text.call] = text.text, text.request
    for call, final in shown.items():
        weigh(balance, original[call], final, since[call], run.turns)
        if gone := lost_lines(original[call], final):
            account.lossy += 1
            account.retrievable += bool(RETRIEVABLE.search(final))
            account.quoted += quoted_later(one, call, gone)
    speak(account, run.name, [Report(call, "shortened") for call in sorted(shown)], kinds)


def first_request(run: Run, call: int) -> int:
    """The first request that holds a call's result."""
    return run.steps[call].turn + 1


def disturbance(run: Run, rewrites: Sequence[Text]) -> int:
    """Bytes of the results from the first one that a request changes to its last."""
    firsts: dict[int, int] = {}
    for text in rewrites:
        firsts[text.request] = min(firsts.get(text.request, text.call), text.call)
    return sum(
        size(result_text(step.observation))
        for request, call in firsts.items()
        for step in run.steps[call:]
        if step.turn < request
    )


def weigh(balance: Balance, original: str, shown: str | None, since: int, until: int) -> None:
    """Count the bytes that a way of showing a result saved or added, from one request until another."""
    if shown is None:
        return
    difference = (size(original) - size(shown)) * max(until - since, 0)
    balance.saved += max(difference, 0)
    balance.added += max(-difference, 0)


def lost_lines(original: str, shown: str) -> list[str]:
    """The lines of a result that stand nowhere in what is shown of it, neither whole nor below a common heading."""
    lines = dict.fromkeys(line.strip() for line in original.splitlines())
    return [line for line in lines if line and line not in shown and not in_parts(line, shown)]


def in_parts(line: str, shown: str) -> bool:
    """A line was cut in two, such as a path and what was found in that file, and both parts are shown."""
    cuts = [found.end() for found in _CUTS.finditer(line)]
    return any(line[:cut].rstrip(":/-") in shown and line[cut:].strip() in shown for cut in cuts)


def quoted_later(one: Sampled, call: int, gone: Sequence[str]) -> bool:
    """A later command holds one of these lines, and no other result before it does: the agent had it from here."""
    steps = one.run.steps
    typed = ["\n".join(map(str, arguments_of(step.action).values())) for step in steps]
    for line in (line for line in gone if len(line) >= MIN_QUOTE):
        for index in range(call + 1, len(steps)):
            others = (result_text(step.observation) for n, step in enumerate(steps[:index]) if n != call)
            if line in typed[index] and not any(line in other for other in others):
                return True
    return False
