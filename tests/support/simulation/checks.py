"""What must hold in a simulated session: checked by means of its own, from what was really returned and shown.

A reuse is compared with a real run, a reference with the text of the request, and each word of the state
view with the file as it is now and with the lines that this conversation was really shown.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container
from pathlib import Path

from msgspec import Struct, field

from execledger.core.govern import SECOND_LOOK
from execledger.core.ledger import Ledger
from execledger.core.lines import Returned, lines_shown, returned, split_lines
from execledger.core.policy import Preset
from execledger.vocabulary.actions import Action, Observation
from execledger.vocabulary.decisions import Decision, Reuse, Step
from tests.support.view_reader import NOT_BY_YOU, ViewReader, claims

Numbered = tuple[str, int | None]
"""A line, with the number that was printed before it."""
CLAIM = re.compile(r"(?P<spans>[^();]+?)(?: \((?P<words>[^()]*)\))?(?:; |$)")
"""One group of ranges in a line of the view, and what is said of them."""
LOST = "seen, no longer in context"
"""What a view says, in words or in a heading, of ranges whose text has left the request."""
WORDS = re.compile(rf"(?P<status>current|possibly stale|stale)?(?:, )?(?:in context|(?P<lost>{LOST}))?")
"""All that a view may say of a range without a witness: a status, if one is claimed, and whether it is in context,
which goes without saying in focused views."""


class Session(Struct):
    """A simulated session."""

    ledger: Ledger
    """The state under test."""
    steps: list[Step] = field(default_factory=list)
    """What was recorded."""
    outputs: list[Observation] = field(default_factory=list)
    """What each command really returned, also where it was not shown or not run."""
    reuses: int = 0
    """Reuses before running, each checked against a real run."""
    references: int = 0
    """References after running, each checked against what is visible."""
    partial: int = 0
    """Those of them that replace a part of the output."""
    claims: int = 0
    """Ranges that a view called current, each checked against the file."""
    known: dict[tuple[str, str], dict[int, list[str]]] = field(default_factory=dict)
    """The texts that each thread was shown for each line of each file, by line number, the last at the end."""

    statuses: Counter[str] = field(default_factory=Counter)
    """What views have said of ranges where the files were looked at, each checked against the file."""

    def took(self, step: Step, truth: Observation) -> tuple[str, dict[int, str]]:
        """Take in a completed step; ``truth`` is what its command really returned: the lines of a file, by its path."""
        self.steps.append(step)
        self.outputs.append(truth)
        view = self.ledger.results[-1].record.view
        found = returned(view, truth) if view is not None and not view.floating else None
        if view is None or found is None:
            return "", {}
        shown: dict[int, str] = {}
        lines = self.known.setdefault((step.action.thread, view.path), {})
        counted = [number for run in found.ranges if run.first > 0 for number in range(run.first, (run.last or 0) + 1)]
        for texts, numbers in zip(found.texts, found.numbers, strict=True):
            for number, text in zip(numbers or counted, texts, strict=False):
                lines.setdefault(number, []).append(text)
                shown[number] = text
            # The numbers of a piece behind a cut are known only where they are printed.
            counted = []
        return view.path, shown


def check_decision(session: Session, action: Action, decision: Decision, truth: Observation, *, sealed: bool) -> None:
    """A reuse returns exactly what a fresh run returns; it is never made of what is opaque, or where others write."""
    if not isinstance(decision, Reuse):
        return
    ledger = session.ledger
    record = ledger.classify(action)
    published = ledger.policy.preset is Preset.PAPER
    assert sealed or published, f"reused in an unsealed folder: {action.command}"
    assert record.opaque is None and record.effects == "none"
    session.reuses += 1
    if not published:
        whole = truth.succeeded and not truth.truncated
        assert shown_by(session, action, truth, decision.refers_to, numbers=True), (
            f"false reuse ({'whole' if whole else 'in part'}): {action.command} for {decision.refers_to}"
        )


def check_shown(session: Session, step: Step, truth: Observation, visible: Container[int]) -> None:
    """A reference points at results of its own thread that are in the request in full and contain every line."""
    if not step.shown.refers:
        return
    for at in step.shown.refers_to:
        earlier = session.steps[at]
        assert at in visible and earlier.shown.kind != "reference", f"step {at} is not visible: {step.action.command}"
        assert earlier.action.thread == step.action.thread, f"step {at} was seen by another thread"
    if isinstance(step.decision, Reuse):
        return
    session.references += 1
    assert step.decision.rule != SECOND_LOOK
    if step.shown.kind == "partial":
        session.partial += 1
        _check_omitted(session, step, truth)
        return
    assert shown_by(session, step.action, truth, step.shown.refers_to), f"false reference: {step.action.command}"


def _check_omitted(session: Session, step: Step, truth: Observation) -> None:
    """Each omitted line is in what its reference points at, and all others are shown as they came."""
    rows, left = truth.output.split("\n"), step.observation.output.split("\n")
    for cut, run in reversed(list(zip(step.shown.cuts, step.shown.lines, strict=True))):
        count = run.last - run.first + 1
        shown = session.steps[step.shown.refers_to[run.by]].observation.output
        for row in rows[cut : cut + count]:
            text = re.sub(r"^ *\d+(?:\t|: ?)", "", row)
            assert text in shown, f"{row!r} is omitted, and not in what it refers to: {step.action.command}"
        rows[cut : cut + count] = ["[Ledger: "]
    assert [row for row in left if not row.startswith("[Ledger: ")] == [row for row in rows if row != "[Ledger: "]


def shown_by(
    session: Session, action: Action, truth: Observation, steps: tuple[int, ...], *, numbers: bool = False
) -> bool:
    """Whether every line of ``truth`` is in what ``steps`` showed, in runs of maximal length.

    Line numbers must agree where both print them; with ``numbers``, those that are asked for must have been printed.
    """
    if any(session.outputs[at] == truth for at in steps):
        return True
    view = session.ledger.classify(action).view
    if view is None or truth.truncated or not truth.succeeded:
        return False
    wanted = _lines(returned(view, truth), truth)
    shown = []
    for at in steps:
        record = session.ledger.results[at].record
        if record.view is None or record.view.path != view.path:
            return False
        earlier = session.steps[at]
        result = earlier.observation if earlier.shown.kind == "partial" else session.outputs[at]
        shown += _lines(lines_shown(record.view, result, earlier.shown), result)
    if len(wanted) != 1:
        return False
    at = 0
    while at < len(wanted[0]):
        longest = max((_run(wanted[0], at, piece, numbers) for piece in shown), default=0)
        if longest == 0:
            return False
        at += longest
    return True


def _lines(found: Returned | None, observation: Observation) -> list[list[Numbered]]:
    """The pieces of an output as lines of the file, numbered where it prints numbers; unchanged if that fails."""
    if found is None:
        return [[(text, None) for text in split_lines(observation.output)]]
    pairs = zip(found.texts, found.numbers, strict=True)
    return [list(zip(texts, numbers or (None,) * len(texts), strict=True)) for texts, numbers in pairs]


def _run(wanted: list[Numbered], at: int, piece: list[Numbered], numbers: bool) -> int:
    """The number of lines from ``at`` on that are consecutive somewhere in ``piece``."""
    best = 0
    for start in range(len(piece)):
        length = 0
        while at + length < len(wanted) and start + length < len(piece):
            (text, number), (other, printed) = wanted[at + length], piece[start + length]
            shown = number is None or number == printed or (printed is None and not numbers)
            if text != other or not shown:
                break
            length += 1
        best = max(best, length)
    return best


def check_view(session: Session, thread: str, visible: Container[int], folder: Path, *, sealed: bool) -> None:
    """The view keeps its budget; what it calls current is current, and what it calls in context is in the request."""
    ledger = session.ledger
    text = ledger.inform(visible, sealed, thread).text
    assert len(text.encode()) <= ledger.policy.view_budget
    standing: set[str] | None = None
    place = ""
    for line in text[text.find("\nSeen") :].splitlines():
        place = LOST if line == f"{LOST.capitalize()}:" else place
        name, colon, rest = line.removeprefix("- ").partition(": ")
        if not colon or not line.startswith("- ") or rest == "seen in part":
            continue
        for claim in CLAIM.finditer(rest):
            known = session.known.get((thread, str(folder / name)), {})
            found = WORDS.fullmatch(", ".join(filter(None, (claim["words"], place))))
            assert found, f"{line!r} has words that are not the status of a range"
            if found["status"] == "current" and ledger.policy.preset is not Preset.PAPER:
                assert sealed, "something is called current although others may write"
                session.claims += 1
                _check_current(folder / name, claim["spans"], known)
            if not found["lost"]:
                standing = _standing(session, thread, visible) if standing is None else standing
                _check_context(name, claim["spans"], known, standing)


def check_looked_view(
    session: Session, reader: ViewReader, thread: str, visible: Container[int], folder: Path, *, sealed: bool
) -> None:
    """Where the files were looked at, every word about every range is true; what is not called lost is in context."""
    text = session.ledger.inform(visible, sealed, thread).text
    assert len(text.encode()) <= session.ledger.policy.view_budget
    standing: set[str] | None = None
    for claim, wrong in reader.check(text, lambda name: lines_of(folder / name)):
        assert not wrong, f"{claim}: {wrong}\n{text}"
        session.statuses[f"{claim.status}, {NOT_BY_YOU}" if NOT_BY_YOU in claim.words else claim.status] += 1
    before = text.partition(f"{LOST.capitalize()}:")[0]
    for claim in claims(before):
        if claim.status in ("current", "now at") and LOST not in claim.words:
            standing = _standing(session, thread, visible) if standing is None else standing
            known = session.known.get((thread, str(folder / claim.name)), {})
            _check_context(claim.name, f"{claim.first}-{claim.last}", known, standing)


def lines_of(path: Path) -> list[str] | None:
    """What a file holds, line by line; None if there is none."""
    if not path.exists():
        return None
    text = path.read_bytes().decode(errors="replace")
    return text.removesuffix("\n").split("\n") if text else []


def _numbers(spans: str) -> list[int]:
    """The line numbers that a group of ranges names from the file's start."""
    whole = re.fullmatch(r"whole, (\d+) lines", spans)
    if whole:
        return list(range(1, int(whole[1]) + 1))
    found: list[int] = []
    for first, last in re.findall(r"(?<!last )\b(\d+)(?:-(\d+))?", re.sub(r"and \d+ more", "", spans)):
        found += range(int(first), int(last or first) + 1)
    return found


def _check_current(path: Path, spans: str, known: dict[int, list[str]]) -> None:
    """The lines that are called current are those of the file, and were shown."""
    now = split_lines(path.read_text(errors="replace")) if path.is_file() else []
    for number in _numbers(spans):
        text = now[number - 1] if number <= len(now) else None
        shown = known.get(number, [None])[-1]
        assert shown == text, f"{path.name}, {spans}: called current, but line {number} is {text!r}, shown as {shown!r}"
    if spans.startswith("whole"):
        assert len(now) == len(_numbers(spans)), f"{path.name}: called whole and current, but has {len(now)} lines"


def _standing(session: Session, thread: str, visible: Container[int]) -> set[str]:
    """Every line of the request, with and without its number."""
    lines: set[str] = set()
    for at, step in enumerate(session.steps):
        if step.action.thread == thread and at in visible and step.shown.kind != "reference":
            view = session.ledger.results[at].record.view
            for piece in _lines(returned(view, step.observation) if view else None, step.observation):
                lines.update(text for text, _ in piece)
            lines.update(split_lines(step.observation.output))
            if step.shown.kind == "partial":
                # References between the lines: the numbers of the others are read here.
                lines.update(re.sub(r"^ *\d+[\t:-]", "", line) for line in split_lines(step.observation.output))
    return lines


def _check_context(name: str, spans: str, known: dict[int, list[str]], standing: set[str]) -> None:
    """The lines that are called in context are in the request, as they were shown at some time."""
    for number in _numbers(spans):
        shown = known.get(number, [])
        assert not standing.isdisjoint(shown), f"{name}, {spans}: line {number} is called in context, and is not"
