"""The execution ledger: what was observed, modified and attempted, as a fold over completed steps.

State changes only in ``record``, at a cost proportional to the step; all other public methods are queries. Internal
faults are not raised: ``faults`` counts them and says whether Ledger is off.
"""

from __future__ import annotations

import posixpath
from collections import deque
from collections.abc import Callable, Container, Iterator
from functools import partial
from itertools import islice, takewhile

from msgspec import Struct
from msgspec.structs import replace

from execledger.core import compare, govern, inform
from execledger.core.cadence import FocusedCadence
from execledger.core.classify import classify, unclassified
from execledger.core.faults import Faults
from execledger.core.fingerprint import digest, fingerprint
from execledger.core.lines import (
    Returned,
    all_lines_placed,
    has_returns,
    lines_shown,
    may_show_unnamed_files,
    placed_lines,
    returned,
    with_marks,
)
from execledger.core.modifications import Modifications
from execledger.core.observations import ObservationRecord, ObservedFile, PlacedTexts
from execledger.core.policy import Policy, Preset
from execledger.core.price import ContextSizes, worth
from execledger.core.references import MARK
from execledger.core.safeguards import SecondLooks, files_in_errors
from execledger.core.seal import LEFT, STOPPED, unsealing
from execledger.core.shown_lines import ANY, Recency, ShownLines
from execledger.core.task import patch_files, task_anchor
from execledger.core.witness import PossibleWrites, ShownRange
from execledger.core.wording import shown_name
from execledger.core.working_tree import TreeLooks
from execledger.redact import redact
from execledger.shell.facts import Knowledge
from execledger.shell.paths import resolve
from execledger.shell.ranges import subtract
from execledger.shell.scripts import Scripts, is_script
from execledger.vocabulary.actions import Action, Aside, Edit, Observation, Patch, Search, Write
from execledger.vocabulary.decisions import Decision, Fingerprint, Nudge, Reuse, Shown, Step, Worth
from execledger.vocabulary.records import Category, CommandRecord, Effects, Lines, Scope, View
from execledger.vocabulary.sightings import FileSighting, Sighting, Verdict

NEVER = -1
"""A value that no change counter ever has, for results that prove nothing about the present state."""
MAX_OUTPUTS, MAX_OUTPUT = 32, 20_000
"""Outputs whose text is kept, the newest, and characters of one: references to others say nothing about a file."""
FOUND_AGAIN = (Verdict.SAME, Verdict.MOVED)
"""Verdicts on lines that are in the file as they were shown."""
MAX_UNCLEAR = 64
"""Steps that may show any file, kept per thread; the newest visible one counts."""


class StepRecord(Struct, frozen=True):
    """What the ledger keeps of a completed step."""

    command: str
    """The command, as references quote it."""
    record: CommandRecord
    """What it does, as classified."""
    kind: str
    """How its result was shown: full, reference, partial, remark."""
    thread: str
    """The conversation that saw it."""
    ordinal: int
    """Which call of that conversation it was, from 0."""
    exit_status: int | None
    """Its exit status."""
    print: Fingerprint | None
    """Its fingerprint; None if it did not run."""
    sound: bool
    """It ended by itself, and it is known what was left out of its output: it may be referred to."""
    whole: bool
    """All of its output was shown."""
    returns: bool
    """Lines of its output end with CR LF."""
    everywhere: int
    """The global change counter before it ran."""
    clock: int
    """How many commands that may write had run before it."""


class LatestSighting(Struct, frozen=True):
    """What the latest look at a file found, and at which point of the run."""

    at: int
    """How many steps had been recorded."""
    writes: PossibleWrites
    """What may have been written by then."""
    file: FileSighting
    """What it found."""
    agreed: tuple[tuple[int, int], ...]
    """For each result that showed lines of the file: how many commands that may write had run when all of its lines
    were last found in the file."""
    not_by_agent: tuple[int, ...]
    """The results whose lines were changed although nothing that may write has run since they were found."""


class Ledger:
    """The execution state of one task."""

    def __init__(
        self,
        task: str = "",
        policy: Policy | None = None,
        symbols: Callable[[CommandRecord, Action, Observation], dict[str, tuple[str, ...]]] | None = None,
        faults: Faults | None = None,
    ) -> None:
        """Create an empty ledger; ``symbols`` finds the symbols of an edit, ``faults`` counts internal faults."""
        self.faults = faults or Faults()
        self.policy = policy or Policy()
        self.anchor = task_anchor(task, self.policy.anchor_budget)
        self.results: list[StepRecord] = []
        self.modifications = Modifications()
        self.home: str | None = None
        self.clock = 0
        # The clock after the last command of unknown effects, except tests.
        self.doubted = 0
        self.unsealed = ""
        self.interventions = 0
        self.nudges = 0
        self.last_nudge: dict[str, int] = {}
        self.second_looks = SecondLooks(self.policy)
        # References of the last few calls at which the step recorded last was a second look.
        self.looked_again = 0
        self._sizes = ContextSizes()
        self.views = FocusedCadence(self.policy)
        self.errors: deque[tuple[int, frozenset[str]]] = deque(maxlen=8)
        self._files: dict[str, dict[str, ObservedFile]] = {}
        self._seen: dict[tuple[str, str], ShownLines] = {}
        self._named: dict[tuple[str, str], list[str]] = {}
        # By a name relative to an unknown directory, which may be that of several files.
        self._unplaced: dict[tuple[str, str], ShownLines] = {}
        self._unclear: dict[str, deque[int]] = {}
        self._recency = Recency()
        self._sightings: dict[tuple[str, str], LatestSighting] = {}
        self.tree = TreeLooks()
        # A command of the agent's may still be running, whatever else has ended the seal before.
        self.left_running = False
        self._moved = False
        self._same: dict[tuple[str, str], list[int]] = {}
        self._outputs: deque[tuple[int, str]] = deque(maxlen=MAX_OUTPUTS)
        self._repeats: dict[tuple[str, str | None, str], int] = {}
        self._attempts: dict[tuple[str, str | None, str], int] = {}
        self._symbols = symbols
        self._returned: tuple[View, Observation, Returned | None] | None = None
        self._calls: dict[str, int] = {}
        self._first: dict[str, int] = {}
        self._understood: tuple[Action, CommandRecord] | None = None
        self._patches: set[str] = set(patch_files(task))
        self._resolved: tuple[object, frozenset[str]] = (None, frozenset())
        self._scripts = Scripts()
        self._anchors: dict[str, str] = {}
        # Secrets are redacted before digesting, so that a journal, which has none, rebuilds the same digest.
        self._chain = digest(redact(self.anchor), self.policy.digest_text())

    # Queries

    def __len__(self) -> int:
        """Return how many steps were recorded."""
        return len(self.results)

    def begin(self, thread: str, task: str) -> None:
        """Give ``thread`` a task anchor of its own, for its state views; it affects no decision."""
        self._anchors[thread] = task_anchor(task, self.policy.anchor_budget)

    def anchor_of(self, thread: str) -> str:
        """Return the task anchor in the state views of ``thread``."""
        return self._anchors.get(thread, self.anchor)

    def calls(self, thread: str) -> int:
        """Return how many steps were recorded on ``thread``."""
        return self._calls.get(thread, 0)

    def first(self, thread: str) -> int:
        """Return the first step that was recorded on ``thread``; -1 if there is none."""
        return self._first.get(thread, -1)

    def context_tokens(self, thread: str, visible: Container[int]) -> float:
        """Return the estimated tokens of a request on ``thread`` that shows the results of ``visible`` steps."""
        return self._sizes.tokens(thread, visible)

    @property
    def digest(self) -> str:
        """The digest of the state; equal sequences of steps have equal digests."""
        return self._chain

    def classify(self, action: Action) -> CommandRecord:
        """Return what ``action`` would do, given the scripts and patches that this run has written."""
        if self._understood is None or self._understood[0] is not action:
            record = self.faults.guarded("classify", lambda: self._classified(action), unclassified(action))
            self._understood = (action, record)
        return self._understood[1]

    def _classified(self, action: Action) -> CommandRecord:
        record = classify(action, Knowledge(self._patch_files(action.cwd), self._scripts))
        # A repeated command shares the record of the earlier step, so that equal records are in memory once.
        earlier = self.repeated(action, record)
        known = record if earlier is None else self.results[earlier].record
        return known if known == record else record

    def _patch_files(self, cwd: str | None) -> frozenset[str]:
        """Return the paths of the patch files, resolved in ``cwd``."""
        key = (len(self._patches), cwd)
        if self._resolved[0] != key:
            self._resolved = (key, frozenset(resolve(cwd, path) or path for path in self._patches))
        return self._resolved[1]

    def inform(
        self,
        visible: Container[int] | None = None,
        sealed: bool = False,
        thread: str = "",
        embedded: Container[str] = (),
    ) -> inform.StateView:
        """Return the state view for a model that sees the results of ``visible`` steps; empty if inform is off.

        ``embedded`` are files whose text is in the model's context without a result: they are not called lost.
        """
        if not self.policy.inform:
            return inform.NOTHING
        seen = range(len(self)) if visible is None else visible
        return self.faults.guarded(
            "inform", lambda: inform.render(self, seen, sealed, thread, embedded), inform.NOTHING
        )

    def govern(self, action: Action, visible: Container[int] | None = None, sealed: bool = False) -> Decision:
        """Judge a proposed action; a plain allow if govern is off."""
        if not self.policy.govern:
            return govern.OFF
        record, seen = self.classify(action), range(len(self)) if visible is None else visible
        return self.faults.guarded("govern", lambda: govern.decide(self, action, record, seen, sealed), govern.FAULT)

    def compare(
        self,
        action: Action,
        decision: Decision,
        observation: Observation | None,
        visible: Container[int] | None = None,
    ) -> Shown:
        """Return what the model is shown of a result; ``observation`` is None if the action did not run."""
        record, seen = self.classify(action), range(len(self)) if visible is None else visible
        ask = partial(compare.judge, self, action, record, decision, observation, seen)
        return self.faults.guarded("compare", ask, compare.UNANSWERED if observation is None else compare.FULL)

    def worth(self, thread: str, visible: Container[int], elided: int) -> Worth | None:
        """Return the price of eliding ``elided`` bytes of an output; None if the policy has no price."""
        if not self.policy.priced:
            return None
        found = worth(self.policy, elided, self.context_tokens(thread, visible), self.second_looks.rate)
        return found if self.second_looks.stopped is None else replace(found, stopped=True)

    def same(self, thread: str, fingerprint_digest: str) -> list[int]:
        """Return the newest steps whose whole result has this digest."""
        return self._same.get((thread, fingerprint_digest), [])

    def shown_lines(self, thread: str, path: str) -> ShownLines | None:
        """Return the lines of ``path`` that were shown on ``thread``; None if there are none."""
        return self._seen.get((thread, path))

    def since(self, thread: str, path: str, visible: Container[int], *, returns: bool) -> int:
        """Return the oldest step that may be referred to for lines of ``path`` with known numbers; -1 if any may.

        A newer visible result may show other lines there: of a reader whose files only the shell knows, anything
        printed between two changes of the file, or with line ends that these do not have (``returns``: CR LF).
        """
        unclear = next((step for step in reversed(self._unclear.get(thread, ())) if step in visible), -1)
        otherwise = self._recency.rendered_otherwise(thread, path, visible, returns=returns)
        return max(unclear, otherwise, self._recency.since(thread, path, visible))

    def rendered_otherwise(self, thread: str, step: int, path: str, visible: Container[int]) -> bool:
        """Whether a newer visible result than ``step`` shows lines of ``path``, which has not changed, differently."""
        returns, seen = self.results[step].returns, self.shown_lines(thread, path)
        if step < self._recency.rendered_otherwise(thread, path, visible, returns=returns):
            return True
        return seen is not None and seen.differs_since(step, visible)

    def since_any(self, thread: str, path: str, visible: Container[int], *, returns: bool) -> int:
        """The same for a result without known line numbers: of ``path``, or of no single file if that is empty."""
        otherwise = self._recency.rendered_otherwise(thread, path, visible, returns=returns) if path else -1
        return max(otherwise, self._recency.since_any(thread, path, visible))

    def placed_by_file(
        self, action: Action, record: CommandRecord, output: str
    ) -> Iterator[tuple[ShownLines, list[tuple[int, str]]]]:
        """Yield the single lines that an output shows with their numbers, by file; only of files read before."""
        hits: dict[str, list[tuple[int, str]]] = {}
        for name, place, text in placed_lines(action, output):
            hits.setdefault(name, []).append((place, text))
        for name, lines in hits.items():
            named = (name,) if name else self._searched(action, record)
            for seen in {id(one): one for each in named for one in self.perhaps_shown(action.thread, each)}.values():
                yield seen, [(place, redact(text)) for place, text in lines if seen.shows(place)]

    def perhaps_shown(self, thread: str, path: str) -> list[ShownLines]:
        """Return the lines that were shown of each file that ``path``, whose directory may be unknown, may name."""
        own = self._unplaced.get((thread, posixpath.normpath(path))) if path else None
        return [*self._files_named(thread, path), *([own] if own is not None else [])]

    def name_of(self, path: str) -> str:
        """Return a file's name for people and models: relative while all commands start in the same directory."""
        return shown_name(path, None if self._moved else self.home)

    def observed(self, thread: str, path: str) -> list[ObservationRecord]:
        """Return the observation records of ``path``, oldest first."""
        seen = self.files(thread).get(path)
        return seen.records if seen is not None else []

    def files(self, thread: str) -> dict[str, ObservedFile]:
        """Return what was observed of every file on ``thread``, the most recently observed file last."""
        return self._files.get(thread, {})

    def questions(self, thread: str = "", since: int = 0) -> dict[str, tuple[ShownRange, ...]]:
        """The lines that a state view may list, for a witness to look at: by the file, the file seen last first.

        Only files of which a step from ``since`` on has shown lines.
        """
        files = islice(reversed(self.files(thread).items()), inform.MAX_FILES)
        recent = takewhile(lambda one: one[1].records[-1].step >= since, files)
        asked = {path: tuple(self._shown_ranges(thread, path, seen)) for path, seen in recent}
        return {path: shown for path, shown in asked.items() if shown}

    def _shown_ranges(self, thread: str, path: str, seen: ObservedFile) -> Iterator[ShownRange]:
        lines = self._seen.get((thread, path))
        for part in seen.parts:
            record, placed = part.record, tuple(run for run in part.ranges if run.first > 0)
            told = dict(record.texts)
            for run in record.ranges:
                shown = lines.excerpt(record.holder, run) if lines and run.first > 0 and run.last else None
                texts = told.get(run.first, ()) if record.told else shown.texts if shown is not None else ()
                listed = (run,) if run in placed else subtract((run,), subtract((run,), placed))
                if texts and listed:
                    yield ShownRange(record.step, run.first, texts, record.clock == self.clock, listed)

    @property
    def possible_writes(self) -> PossibleWrites:
        """What may have been written so far, for a witness to judge whether another look is worth taking.

        Behind whatever ends the seal, files may change at any time: a program may have left a job that writes later.
        """
        return PossibleWrites(self.clock, bool(self.unsealed))

    def latest_sighting(self, thread: str, path: str, contained: bool) -> LatestSighting | None:
        """What a witness found of ``path`` just now; None if it has not looked since the file may have changed.

        ``contained``: nothing but the agent's own commands can write. There, a look holds until one that may write has
        run, as long as none of them can have left a job behind.
        """
        found = self._sightings.get((thread, path))
        if found is None or found.at == len(self):
            return found
        holds = contained and found.writes == self.possible_writes and not found.writes.at_any_time
        return found if holds else None

    def latest_sightings(self, thread: str, contained: bool) -> tuple[LatestSighting, ...]:
        """What a witness found just now of each file that a state view may list, the file seen last first."""
        files = islice(reversed(self.files(thread)), inform.MAX_FILES) if self._sightings else ()
        latest = (self.latest_sighting(thread, path, contained) for path in files)
        return tuple(found for found in latest if found is not None)

    def lines_of(self, view: View, step: Step) -> Returned | None:
        """Return the lines of ``view`` that a completed step shows."""
        if step.shown.kind == "partial":
            return lines_shown(view, step.observation, step.shown)
        return self.returned(view, step.observation)

    def returned(self, view: View, observation: Observation) -> Returned | None:
        """Return the lines that ``observation`` shows of ``view``; cached for comparing and recording."""
        known = self._returned
        if known is None or known[0] is not view or known[1] is not observation:
            known = self._returned = (view, observation, returned(view, observation))
        return known[2]

    def repeated(self, action: Action, record: CommandRecord) -> int | None:
        """Return the newest step that showed the whole result of exactly this command."""
        return self._repeats.get((action.thread, record.cwd, record.exact))

    def attempted(self, action: Action, record: CommandRecord) -> int | None:
        """Return the newest step that ran a command of this normal form and showed its result."""
        return self._attempts.get((action.thread, record.cwd, record.normalized))

    # The fold

    def record(self, step: Step) -> None:
        """Record a completed step; after a fault in that Ledger is off, since a part of the step may be missing."""
        self.faults.recording("record", lambda: self._record(step))

    def _record(self, step: Step) -> None:
        record = self.classify(step.action)
        self._understood = None
        self._update_home(step.action.cwd)
        at = len(self.results)
        ran = not isinstance(step.decision, Reuse) or step.shown.kind != "reference"
        result = self._result(step, record, ran)
        before = self.clock
        self.results.append(result)
        self._calls[result.thread] = result.ordinal + 1
        self._first.setdefault(result.thread, at)
        observed = self._index_result(at, step, record, result)
        self._index_changes(at, step, record, result, placed=observed is not None)
        here = step.inherits is None
        if ran and here:
            self._advance(at, step, record)
            self._note_error(at, step.observation, record)
        if here:
            self._count(at, step)
        self._count_looks(at, step, record, result)
        for said in (step.action.command, step.observation.output, step.observation.stderr):
            self.modifications.mention(said)
        self._chain = digest(
            self._chain,
            redact(step.action.command),
            *(str(step.action.cwd), step.action.thread),
            *(record.category, record.effects, *record.writes),
            *(step.decision.rule, step.shown.instead or step.shown.kind),
            result.print.digest if result.print else "",
            str(observed.ranges) if observed else "",
            f"{before} {self.clock} {self.modifications.everywhere} {self.unsealed}",
            f"{step.concurrent} {step.inherits}",
        )
        if ran and here:
            # Symbols affect no decision, so after a fault in finding them the step is still recorded completely.
            self.faults.guarded("symbols", lambda: self._name_symbols(step, record), None)
        if here and self.policy.focused:
            # Nor do views: after a fault in deciding about the next one, there is none.
            self.faults.guarded("cadence", lambda: self.views.record(self, step), None)

    def witness(self, sighting: Sighting) -> None:
        """Take in what a witness found: in files for the state view, in the working tree for remarks on repetitions."""
        self.faults.guarded("witness", lambda: self._witness(sighting), None)

    def _witness(self, sighting: Sighting) -> None:
        if sighting.tree is not None:
            self.tree.take(sighting.tree)
        elif not (sighting.files or sighting.again):
            self._sightings = {key: found for key, found in self._sightings.items() if key[0] != sighting.thread}
        for path in sighting.again:
            if (known := self._sightings.get((sighting.thread, path))) is not None:
                self._sight(sighting, known.file)
        for file in sighting.files:
            self._sight(sighting, file)

    def _sight(self, sighting: Sighting, file: FileSighting) -> None:
        known = self._sightings.get((sighting.thread, file.path))
        unrecorded = sighting.unrecorded_writes or self.left_running
        agreed = dict(known.agreed) if known is not None else {}
        not_by_agent: list[int] = []
        for result in file.results:
            if all(piece.verdict in FOUND_AGAIN for piece in result.pieces):
                agreed[result.step] = self.clock
            elif agreed.get(result.step) == self.clock and not unrecorded:
                not_by_agent.append(result.step)
        agreed = {result.step: agreed[result.step] for result in file.results if result.step in agreed}
        if known is not None and self._changed_unnoticed(known, file):
            self.views.tell_changed(self, sighting.thread, file.path)
        self._sightings[sighting.thread, file.path] = LatestSighting(
            len(self), self.possible_writes, file, tuple(agreed.items()), tuple(not_by_agent)
        )

    def _changed_unnoticed(self, known: LatestSighting, file: FileSighting) -> bool:
        """Whether lines are changed or gone that the look before found, and no command since is known to have written
        the file."""
        found = {
            one.step: [piece for piece in one.pieces if piece.verdict in FOUND_AGAIN] for one in known.file.results
        }
        lost = any(
            piece.first <= there.last and there.first <= piece.last
            for one in file.results
            for piece in one.pieces
            if piece.verdict in (Verdict.CHANGED, Verdict.GONE)
            for there in found.get(one.step, ())
        )
        return lost and all(file.path not in one.record.writes for one in self.results[known.at :])

    def _update_home(self, cwd: str | None) -> None:
        """Set the directory that names are relative to; once a command starts elsewhere, names become absolute."""
        self.home = self.home or cwd
        if cwd != self.home and not self._moved:
            self._moved = True
            for files in self._files.values():
                for path, seen in files.items():
                    seen.rename(self.name_of(path))

    def _note_error(self, at: int, observation: Observation, record: CommandRecord) -> None:
        """Record the files that an error names; hits of a search are not taken for messages of a compiler."""
        text = f"{observation.output}\n{observation.stderr}" if observation.stderr else observation.output
        error = files_in_errors(text, searched=record.comparable and observation.succeeded)
        if error:
            self.errors.append((at, error))

    def _result(self, step: Step, record: CommandRecord, ran: bool) -> StepRecord:
        """Return what is kept of the step; if its output was not shown, the step itself has the fingerprint."""
        shown, observation = step.shown, step.observation
        mark = shown.result
        if mark is None and ran:
            mark = fingerprint(observation, steady=record.category is Category.TEST)
        everywhere, clock = self._counters(step)
        command, earlier = step.action.command, self.repeated(step.action, record)
        # A repeated command shares the text of the earlier step, and many another that of its exact form.
        known = record.exact if earlier is None else self.results[earlier].command
        return StepRecord(
            command=known if known == command else command,
            record=record,
            kind=shown.kind,
            thread=step.action.thread,
            ordinal=self.calls(step.action.thread),
            exit_status=observation.exit_status,
            print=mark if ran else None,
            sound=ran and not observation.timed_out and (not observation.truncated or observation.cut is not None),
            whole=not (shown.refers or observation.truncated),
            returns=has_returns(observation.output),
            everywhere=everywhere,
            clock=clock,
        )

    def _counters(self, step: Step) -> tuple[int, int]:
        """Return the global change counter and the clock at the time that the step's result describes."""
        if step.inherits is not None:
            source = self.results[step.inherits]
            return source.everywhere, source.clock
        return (NEVER, NEVER) if step.concurrent else (self.modifications.everywhere, self.clock)

    def _index_result(self, at: int, step: Step, record: CommandRecord, result: StepRecord) -> Returned | None:
        """Index what the model was shown: the whole result, the command, the lines of the file; return the lines."""
        thread = step.action.thread
        shown: Returned | None = None
        if not step.shown.refers:
            if result.print is not None and result.sound and result.whole:
                steps = self._same.setdefault((thread, result.print.digest), [])
                steps[:] = [*steps[-3:], at]
                if len(step.observation.output) <= MAX_OUTPUT:
                    self._keep_output(at, step.observation.output)
            if result.print is not None:
                self._attempts[(thread, record.cwd, record.normalized)] = at
            if result.sound:
                self._repeats[(thread, record.cwd, record.exact)] = at
        if result.kind != "reference" and record.view is not None and record.view.path.startswith("/"):
            shown = self.lines_of(record.view, step)
            shown = with_marks(shown, step.withheld) if shown is not None and step.withheld else shown
        if shown is not None and record.view is not None:
            # Lines of the file that look like references leave a reader without numbers uncertain of the places.
            clear = step.shown.refers or bool(record.view.numbering) or MARK not in step.observation.output
            self._index_lines(at, thread, record.view.path, shown, holds=clear)
            # As published, a truncated read leaves no record; its lines still supersede older ones.
            if not (step.observation.truncated and self.policy.preset is Preset.PAPER):
                self._add_observation(step, record.view.path, at, shown.ranges, shown.end, at)
        elif result.kind != "reference":
            self._index_other_form(at, step, record)
            self._index_unplaced(at, step, record)
        if step.shown.refers and result.print is not None and step.inherits is None:
            self._confirm_reference(at, step, record)
        return shown

    def _keep_output(self, at: int, output: str) -> None:
        """Keep the text of an output; equal ones share one text."""
        self._outputs.append((at, next((text for _, text in self._outputs if text == output), output)))

    def _index_lines(self, at: int, thread: str, path: str, shown: Returned, *, holds: bool) -> None:
        """Index the lines of a file that were shown with known line numbers; a reference may point there if it
        ``holds``."""
        if (thread, path) not in self._seen:
            self._seen[thread, path] = ShownLines()
            self._named.setdefault((thread, path.rpartition("/")[2]), []).append(path)
            self._recency.follow(path)
        self._seen[thread, path].add(at, shown, holds=holds)

    def _index_other_form(self, at: int, step: Step, record: CommandRecord) -> None:
        """Record that a result may show lines of files in another form than a plain read does.

        It covers nothing, but supersedes older results that it contradicts. Only the files that it names are visited.
        """
        thread, output = step.action.thread, step.observation.output
        if not output.strip() and (record.view is None or step.observation.truncated):
            # Nothing of a file is shown, unless all of it is: an empty one.
            return
        for name in (*record.shows, *((record.view.path,) if record.view is not None else ())):
            for seen in self._files_named(thread, name):
                seen.supersede(at)
        if "" in record.shows:
            self._unclear.setdefault(thread, deque(maxlen=MAX_UNCLEAR)).append(at)
        for seen, lines in self.placed_by_file(step.action, record, output):
            seen.contradict(at, lines)

    def _index_unplaced(self, at: int, step: Step, record: CommandRecord) -> None:
        """Index what was shown of files whose directory is unknown: it covers nothing, but may contradict."""
        thread, view = step.action.thread, record.view
        path = view.path if view is not None else ""
        shown = self.lines_of(view, step) if view is not None and path and not path.startswith("/") else None
        if shown is not None:
            shown = with_marks(shown, step.withheld) if step.withheld else shown
            self._unplaced.setdefault((thread, path), ShownLines()).add(at, shown, holds=False)
        elif step.observation.output.strip():
            for name in dict.fromkeys((*record.shows, path)):
                if (thread, name) in self._unplaced:
                    self._unplaced[thread, name].supersede(at)

    def _searched(self, action: Action, record: CommandRecord) -> tuple[str, ...]:
        """Return the files that lines without a file name may belong to."""
        if isinstance(action.call, Search):
            return tuple(self._recency.spelled(action.command))
        return (*record.looks_at, *record.writes)

    def _files_named(self, thread: str, name: str) -> list[ShownLines]:
        """Return the files that ``name`` may refer to; a relative name matches every path that ends with it."""
        path = posixpath.normpath(name) if name else ""
        while path.startswith("../"):
            path = path[3:]
        if path.startswith("/"):
            known = self._seen.get((thread, path))
            return [known] if known is not None else []
        paths = self._named.get((thread, path.rpartition("/")[2]), ())
        return [self._seen[thread, one] for one in paths if one.endswith(f"/{path}")]

    def _index_changes(self, at: int, step: Step, record: CommandRecord, result: StepRecord, *, placed: bool) -> None:
        """Record which files the step is known to have changed, and which its result may show."""
        action, observation, recency = step.action, step.observation, self._recency
        if result.print is not None:
            changed = {path if path.startswith("/") else ANY for path in record.writes}
            if record.scope is Scope.TREE:
                changed.add(ANY)
            elif record.effects is Effects.UNKNOWN and record.category is not Category.TEST:
                changed.update(recency.named(action.command))
            for target in changed:
                recency.change(at, target)
        printed = f"{observation.output}\n{observation.stderr}"
        if result.kind == "reference" or not printed.strip():
            return
        recency.result(at, action.thread)
        if placed or _prints_only_messages(action, record) or all_lines_placed(action, printed):
            return
        recency.render(at, action.thread, action.command, returns=result.returns)
        for key in (ANY,) if may_show_unnamed_files(action, record) else recency.named(f"{action.command}\n{printed}"):
            recency.look(at, action.thread, key)

    def _confirm_reference(self, at: int, step: Step, record: CommandRecord) -> None:
        """Record that a reference after running has just confirmed the lines that it points at."""
        shown, view = step.shown, record.view
        if view is None or not view.path.startswith("/"):
            return
        for by, holder in enumerate(shown.refers_to):
            ranges = tuple(Lines(one.first, one.last) for one in shown.lines if one.by == by)
            ended = any(lines.last == shown.end for lines in ranges)
            if ranges:
                self._add_observation(step, view.path, at, ranges, shown.end if ended else None, holder)
        if shown.told and shown.refers_to:
            holder = shown.refers_to[0]
            texts = self._printed(view, holder, shown.told)
            self._add_observation(step, view.path, at, shown.told, shown.end, holder, told=True, texts=texts)

    def _printed(self, view: View, step: int, ranges: tuple[Lines, ...]) -> PlacedTexts:
        """Return these lines of a file by the output of ``step``, which printed their text; nothing if it is gone."""
        output = next((text for at, text in self._outputs if at == step), "")
        found = returned(view, Observation(output))
        placed = tuple(found.placed()) if found is not None else ()
        return placed if ranges == tuple(Lines(first, first + len(texts) - 1) for first, texts in placed) else ()

    def _add_observation(
        self,
        step: Step,
        path: str,
        at: int,
        ranges: tuple[Lines, ...],
        end: int | None,
        holder: int,
        *,
        told: bool = False,
        texts: PlacedTexts = (),
    ) -> None:
        counters: tuple[int, int] | None = self.modifications.counters(path)
        if step.inherits is not None:
            origin = self.observed(self.results[step.inherits].thread, path)
            counters = next(((one.local, one.edits) for one in origin if one.step == step.inherits), None)
        if counters is None:
            # That record was dropped, so the counters at that time are unknown.
            return
        files = self._files.setdefault(step.action.thread, {})
        seen = files.pop(path, None) or ObservedFile(self.name_of(path))
        files[path] = seen
        local, edits = counters
        seen.add(ObservationRecord(at, ranges, end, local, *self._counters(step), holder, edits, told, texts))

    def _advance(self, at: int, step: Step, record: CommandRecord) -> None:
        """Advance counters and clock, and update the seal and the known scripts, by what the step may have changed."""
        reason = unsealing(step.action.command, record, step.observation, self.home)
        self.unsealed = self.unsealed or reason
        self.left_running = self.left_running or reason in (LEFT, STOPPED)
        if not (record.may_write or step.observation.timed_out):
            return
        self.clock += 1
        if record.effects is Effects.UNKNOWN and not record.tests_alone:
            self.doubted = self.clock
        if record.effects is Effects.NONE and not record.background and not step.observation.timed_out:
            # It is not known to have written: enough for the counters, not for a proof.
            return
        self.modifications.advance(at, record, self.home, failed=not step.observation.succeeded)
        self._patches.update(record.patches)
        for path, text in record.texts:
            if is_script(path) and not isinstance(step.action.call, Edit):
                self._scripts.write(path, text, record.cwd)

    def _name_symbols(self, step: Step, record: CommandRecord) -> None:
        """Symbols of modified files, from the edit's own text or from a diff that the step shows.

        They describe the state and take no part in any decision, so they stay out of its digest: it is the same with
        and without the grammars installed.
        """
        shows_diff = "diff --git " in step.observation.output[:1000]
        if self._symbols is not None and (record.texts or isinstance(step.action.call, Edit) or shows_diff):
            for path, symbols in self._symbols(record, step.action, step.observation).items():
                self.modifications.name_symbols(path, symbols)

    def _count(self, at: int, step: Step) -> None:
        """Count interventions for the safeguards; in shadow mode those that would have been made."""
        kind = step.shown.instead or step.shown.kind
        if kind in ("reference", "partial"):
            self.interventions += 1
        elif kind == "remark" and isinstance(step.decision, Nudge):
            self.interventions += 1
            self.nudges += 1
            self.last_nudge[step.action.thread] = at

    def _count_looks(self, at: int, step: Step, record: CommandRecord, result: StepRecord) -> None:
        """Update what second looks are due, how many there were, and the size of the context."""
        thread, looks = step.action.thread, self.second_looks
        referred = (step.shown.instead or step.shown.kind) in ("reference", "partial")
        about = _referred(record, step.shown) if referred else None
        self.looked_again = 0
        if step.inherits is None:
            self.looked_again = looks.count(thread, result.ordinal, record, self.modifications, about)
        looks.record(thread, at, record, about)
        # Sizes of fingerprints, not of texts: a journal, which withholds secrets, rebuilds the same sum.
        shown = result.print if result.kind != "reference" else None
        self._sizes.add(thread, at, shown.size - step.shown.saved if shown is not None else 0)


def _referred(record: CommandRecord, shown: Shown) -> CommandRecord:
    """Return what a reference is about: what the command shows, or of a partial one only the lines that it omits."""
    omitted = tuple(Lines(one.first, one.last) for one in shown.lines)
    if "partial" not in (shown.kind, shown.instead) or record.view is None or not omitted:
        return record
    return replace(record, view=replace(record.view, ranges=omitted))


def _prints_only_messages(action: Action, record: CommandRecord) -> bool:
    """Whether the output has no file contents but only messages of an editing tool or of one program that writes."""
    alone = record.programs == 1 and record.effects is Effects.LISTED and not (record.shows or record.texts)
    return alone or isinstance(action.call, Edit | Write | Patch | Aside)
