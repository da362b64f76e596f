"""What a witness found in the files before each model call, for people: followed while a journal's ledger is folded."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from execledger.core.ledger import LatestSighting, Ledger
from execledger.core.wording import span
from execledger.runs.recording import Recorded, Run
from execledger.vocabulary.records import Lines
from execledger.vocabulary.sightings import SightedLines, Sighting, TreeSighting, Verdict


class LookedResult(Struct, frozen=True):
    """What became of the lines of a file that one result showed."""

    step: int
    """The step whose result showed them."""
    lines: tuple[SightedLines, ...]
    """The lines in ascending order, by verdict."""
    not_by_agent: bool
    """They were changed or are gone although nothing that may write had run since they were found: not by the agent."""


class LookedFile(Struct, frozen=True):
    """What was known of one file from a look when the model was called."""

    path: str
    """The file."""
    name: str
    """Its short name."""
    end: int | None
    """The number of its last line; None if that is not known."""
    digest: str
    """The digest of what was compared; "" if it was not read."""
    reason: str
    """Why some or all of its lines are unknown; "" if none is."""
    results: tuple[LookedResult, ...]
    """The results that showed lines of it."""


class Looks(Struct, frozen=True):
    """What was known from looks when the model was called."""

    files: tuple[LookedFile, ...] = ()
    """The files, the one seen last first."""
    before: int | None = None
    """The step that the newest look preceded: an earlier one than that of the model call if nothing can have changed
    since; None if there was none."""
    failed: bool = False
    """The look failed: what earlier ones had found did not count any more."""


NO_LOOKS = Looks()


class LookHistory:
    """Says for each step what was known from looks when its model call was made."""

    def __init__(self) -> None:
        """No look was taken yet."""
        # Most looks find what the one before found: what a file has become is kept once.
        self._files: dict[tuple[str, str], LookedFile] = {}
        self._taken: dict[str, Looks] = {}
        self._turns: dict[str, tuple[int, Looks]] = {}

    def take(self, ledger: Ledger, sighting: Sighting) -> None:
        """Take a sighting into ``ledger``, which has recorded the steps before it."""
        ledger.witness(sighting)
        if sighting.tree is not None:
            return
        failed = not (sighting.files or sighting.again)
        self._taken[sighting.thread] = replace(self._known(ledger, sighting.thread, contained=False), failed=failed)

    def before(self, ledger: Ledger, thread: str, turn: int, sealed: bool) -> Looks:
        """What was known when the model was called for this turn; asked before its step is recorded in ``ledger``."""
        of_turn, looks = self._turns.get(thread, (None, NO_LOOKS))
        if of_turn != turn:
            taken = self._taken.pop(thread, None)
            # In a container, an earlier look holds until something that may write has run.
            looks = taken if taken is not None else self._known(ledger, thread, sealed)
            self._turns[thread] = (turn, looks)
        return looks

    def _known(self, ledger: Ledger, thread: str, contained: bool) -> Looks:
        latest = ledger.latest_sightings(thread, contained)
        files = tuple(self._shared(thread, _file(ledger, one)) for one in latest)
        return Looks(files, max(one.at for one in latest)) if latest else NO_LOOKS

    def _shared(self, thread: str, file: LookedFile) -> LookedFile:
        known = self._files.get((thread, file.path))
        if known != file:
            self._files[thread, file.path] = known = file
        return known


class LookNews:
    """Says what a look found that the look before it had not."""

    def __init__(self) -> None:
        """Every line is where it was shown."""
        self._known: dict[tuple[str, str], str] = {}
        self._last: dict[str, Looks] = {}

    def take(self, thread: str, looks: Looks) -> str:
        """The news in words, file by file; "" if there are none, or the look is the one that was taken last."""
        if self._last.get(thread) is looks:
            return ""
        self._last[thread] = looks
        if looks.failed:
            return "nothing could be read"
        news: list[str] = []
        for file in looks.files:
            before, now = self._known.get((thread, file.path), ""), _differences(file)
            self._known[thread, file.path] = now
            if now != before:
                news.append(f"{file.name}: {now or 'as it was shown'}")
        return "; ".join(news)


def tree_behind(run: Run, index: int) -> TreeSighting | None:
    """What a look found of the working tree behind the result of a call; None if there was none, or it is not kept."""
    sightings = (one for call in run.steps[index:] if call.governed is not None for one in call.governed.sightings)
    return next((one.tree for one in sightings if one.tree is not None and one.tree.step == index), None)


def take_sightings(ledger: Ledger, call: Recorded) -> None:
    """Take into ``ledger`` what looks found since the call before, and in the working tree behind this one's result.

    A policy that does not look at files, such as ``paper``, has the words without a witness.
    """
    if call.governed is None or not ledger.policy.looks:
        return
    for sighting in call.governed.sightings:
        ledger.witness(sighting)


def _differences(file: LookedFile) -> str:
    """What is not at its place any more, in words; "" if everything is."""
    found = [_differing(result) for result in file.results]
    words = ", ".join(dict.fromkeys(filter(None, found)))
    return f"{words} ({file.reason})" if file.reason else words


def _differing(result: LookedResult) -> str:
    return verdict_words((one for one in result.lines if one.verdict is not Verdict.SAME), result.not_by_agent)


def _file(ledger: Ledger, latest: LatestSighting) -> LookedFile:
    file = latest.file
    results = tuple(LookedResult(one.step, one.pieces, one.step in latest.not_by_agent) for one in file.results)
    return LookedFile(file.path, ledger.name_of(file.path), file.end, file.digest, file.reason, results)


def verdict_words(lines: Iterable[SightedLines], not_by_agent: bool) -> str:
    """Verdicts in words, such as ``1-23 same, 24 changed, 25-60 moved to 27-62``."""
    return ", ".join(_words(one, not_by_agent) for one in lines)


def _words(lines: SightedLines, not_by_agent: bool) -> str:
    words = f"{span(Lines(lines.first, lines.last))} {lines.verdict.value}"
    if lines.place is not None:
        return f"{words} to {span(Lines(lines.place, lines.place + lines.last - lines.first))}"
    return f"{words} (not by the agent)" if not_by_agent and lines.verdict in (Verdict.CHANGED, Verdict.GONE) else words
