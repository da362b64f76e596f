"""A run in the shape that the page reads: short columns over all steps, and one step in full."""

from __future__ import annotations

import msgspec
from msgspec import Struct, field

from execledger.core.fingerprint import digest
from execledger.core.policy import Policy
from execledger.core.wording import clip, printable
from execledger.runs.account import Account
from execledger.runs.looks import NO_LOOKS, LookNews, Looks
from execledger.runs.recording import ModelReply
from execledger.runs.usage import ModelCall
from execledger.shell.paths import UNRECORDED_DIRECTORY
from execledger.viewer.counting import Origin, RunLine, is_hypothetical, mark_of, run_line
from execledger.viewer.reasons import comparison_in_words, in_words, proof_in_words
from execledger.viewer.tracks import FileTrack, Tracks
from execledger.vocabulary.actions import Action, Observation
from execledger.vocabulary.decisions import Decision, Step

LOOK_BYTES = 200
"""Bytes of what a look found that are shown between two steps."""
LABEL_LENGTH = 80
"""Characters of a command that are shown on the timeline."""
OUTPUT_LENGTH = 200_000
"""Characters of an output that are sent with a step; the middle of a longer one is requested separately."""


class Columns(Struct):
    """All steps in columns: the entries at one index belong to one step."""

    category: list[str] = field(default_factory=list)
    """The categories."""
    decision: list[str] = field(default_factory=list)
    """allow, reuse or nudge."""
    shown: list[str] = field(default_factory=list)
    """full, reference or remark."""
    mark: list[str] = field(default_factory=list)
    """What Ledger did: reuse, reference, partial, remark or nudge; with ``would-`` in front if it only would have."""
    effects: list[str] = field(default_factory=list)
    """none, listed or unknown."""
    turn: list[int] = field(default_factory=list)
    """The calls of the model that proposed them."""
    thread: list[str] = field(default_factory=list)
    """The conversations."""
    label: list[str] = field(default_factory=list)
    """The beginnings of the commands."""
    looked: list[str] = field(default_factory=list)
    """What the look before the model call found that the one before had not, in words; "" if nothing, and for further
    steps of the same call."""

    def since(self, step: int) -> Columns:
        """The entries from ``step`` on."""
        return Columns(*(getattr(self, name)[step:] for name in self.__struct_fields__))


class NewSteps(Struct, frozen=True, kw_only=True):
    """The steps of a run from one on."""

    line: RunLine
    """The run in one line."""
    more: bool
    """More steps may come: the run is still being read, or the agent may still be running."""
    first: int
    """The step that the columns begin with."""
    steps: Columns
    """The steps."""
    files: list[FileTrack]
    """What happened to each file in these steps."""
    compactions: list[int]
    """The steps, among these, before which earlier results went out of the model's context."""


class RunAnswer(NewSteps, frozen=True, kw_only=True):
    """A run, as far as it was read."""

    task: str
    """The text of the first task message."""
    policy: Policy
    """The policy that Ledger followed."""
    trouble: tuple[str, ...]
    """Damage found in the file, in sentences."""


class StepDetail(Struct, frozen=True, kw_only=True):
    """One step in full."""

    step: Step
    """The action, the decision, and what was shown."""
    truth: Observation
    """What it really returned, as far as is known."""
    turn: int
    """The call of the model that proposed it."""
    view: str
    """The state view that the model read before it; "" if there was none."""
    looks: Looks = NO_LOOKS
    """What was known from looks at the files when the model was called."""
    call: ModelCall | None = None
    """What the call of the model took; None where that is not recorded call by call."""
    reply: ModelReply = ModelReply()
    """What the call of the model wrote beside its tool calls, and when."""
    at: float | None = None
    """When the step was recorded, in seconds since 1970; None where the run does not tell."""
    seconds: float | None = None
    """How long it ran, where the run itself says so."""
    ran: bool = True
    """It was run when it was recorded; otherwise a reference answered it."""


class DecisionAnswer(Struct, frozen=True):
    """A decision, with its proof."""

    kind: str
    """allow, reuse or nudge."""
    rule: str
    """The rule that decided."""
    proof: tuple[str, ...]
    """The facts that it rests on."""
    refers_to: tuple[int, ...]
    """The earlier steps that it refers to."""


class ShownAnswer(Struct, frozen=True):
    """How a result was shown."""

    kind: str
    """full, reference, partial or remark."""
    text: str
    """The reference, the references of a partial one, a line each, or the remark."""
    instead: str
    """In shadow mode, what would have been shown in place of the output; "" if nothing else."""
    omitted: tuple[tuple[int, int, int], ...] = ()
    """Of a partial reference: the first and last line of each omitted run of the file, and the step that showed it."""


class OutputAnswer(Struct, frozen=True, kw_only=True):
    """An output, or its head and tail."""

    text: str
    """The text; of a long one the head, directly followed by the tail."""
    head: int
    """The length of the head, after which something is left out."""
    cut: bool
    """Whether something is left out."""
    bytes: int
    """The size of the whole."""
    characters: int
    """The length of the whole."""
    known: bool
    """Whether this is what the command returned; otherwise that is not known any more."""
    ran: bool
    """Whether it was run when it was recorded."""
    exit_status: int | None
    """The exit status."""
    stderr: str
    """Standard error, where it was shown apart from the output."""
    notice: str
    """Text that the agent's tool added to it."""
    timed_out: bool
    """It was stopped by a time limit."""
    elided: int | None
    """The length of the shown head where the agent had left out the middle; None if it showed everything."""


class StepAnswer(Struct, frozen=True, kw_only=True):
    """One step, as the page reads it."""

    index: int
    """The step."""
    command: str
    """The command."""
    cwd: str
    """Its working directory; "" if that is not known."""
    category: str
    """Its category."""
    effects: str
    """What it may change."""
    turn: int
    """The call of the model that proposed it."""
    thread: str
    """The conversation."""
    decision: DecisionAnswer
    """What was decided."""
    mark: str
    """What Ledger did, as in the columns."""
    words: str
    """The decision in plain words."""
    compared: str | None
    """How the result compares with what was visible; None if it was not eligible."""
    comparison: str
    """The same in words."""
    compared_to: tuple[int, ...]
    """The steps that it was equal to or covered by, or that show some of its lines."""
    shown: ShownAnswer
    """What the model was shown."""
    output: OutputAnswer
    """The result."""
    view: str
    """The state view that the model read before it."""
    view_before: str
    """The one before the step before."""
    looks: Looks
    """What was known from looks at the files when the model was called."""
    call: ModelCall | None
    """What the call of the model took: tokens by class, and dollars as the agent recorded them."""
    text: str
    """What the call of the model wrote beside its tool calls; "" where there is nothing, or it is not recorded."""
    text_rest: int
    """How many characters of it are left out."""
    replied: float | None
    """When that was recorded, in seconds since 1970; None where the run does not tell."""
    at: float | None
    """When the step was recorded, with its result."""
    seconds: float | None
    """How long it ran, where the run itself says so."""
    elapsed: float | None
    """Seconds since the step before in its conversation was recorded."""


class RunModel:
    """A run in the page's shape, to which steps are added in order."""

    def __init__(self, origin: Origin, policy: Policy | None) -> None:
        """A run without steps; ``policy`` is what its ledger follows."""
        self.origin = origin
        """Which run it is."""
        self.tracks = Tracks(origin.task, policy)
        """What is known of each file, and the ledger that is folded on the way."""
        self.policy = self.tracks.ledger.policy
        """The policy of the ledger."""
        self.columns = Columns()
        """The steps."""
        self.account = Account(shadow=self.policy.shadow, model=origin.model)
        """The numbers of the run; the reading that adds a step counts it there."""
        self.compactions: list[int] = []
        """The steps before which earlier results went out of context."""
        self.marks: list[tuple[str, str]] = []
        """By step: digests of the normalised command and of the result, to compare steps of two runs by."""
        self._since: dict[str, int] = {}
        self._before: list[int] = []
        self._last: dict[str, int] = {}
        self._news = LookNews()

    def __len__(self) -> int:
        """How many steps were added."""
        return len(self.columns.category)

    def add(self, step: Step, turn: int, since: int | None = None, looks: Looks = NO_LOOKS) -> None:
        """Add a step that the ledger has recorded; results from step ``since`` on were visible in its conversation.

        ``looks`` is what was known of the files when the model proposed it.
        """
        index, action = len(self), step.action
        result = self.tracks.ledger.results[index]
        columns = self.columns
        columns.category.append(result.record.category.value)
        columns.decision.append(type(step.decision).__name__.lower())
        columns.shown.append(step.shown.kind)
        columns.mark.append(mark_of(step, hypothetical=is_hypothetical(self.account, self.origin)))
        columns.effects.append(result.record.effects.value)
        columns.turn.append(turn)
        columns.thread.append(action.thread)
        columns.label.append(_label(action))
        columns.looked.append(clip(self._news.take(action.thread, looks), LOOK_BYTES))
        printed = result.print.digest if result.print is not None else ""
        self.marks.append((digest(result.record.normalized or action.command), printed))
        self._before.append(self._last.get(action.thread, -1))
        self._last[action.thread] = index
        if since is not None:
            # A forked conversation begins with its own first value: only what was visible in it can go out of view.
            if since > self._since.setdefault(action.thread, since):
                self.compactions.append(index)
            self._since[action.thread] = since

    def before(self, index: int) -> int | None:
        """The step before ``index`` in its conversation."""
        return self._before[index] if self._before[index] >= 0 else None

    def news(self, first: int, *, live: bool, more: bool) -> NewSteps:
        """The steps from ``first`` on."""
        return NewSteps(
            line=run_line(self.account, self.origin, live=live),
            more=more,
            first=first,
            steps=self.columns.since(first),
            files=self.tracks.since(first),
            compactions=[step for step in self.compactions if step >= first],
        )

    def answer(self, trouble: tuple[str, ...], *, live: bool, more: bool) -> RunAnswer:
        """The run."""
        news = msgspec.structs.asdict(self.news(0, live=live, more=more))
        return RunAnswer(**news, policy=self.policy, task=self.origin.task, trouble=trouble)

    def step_answer(
        self, index: int, told: StepDetail, before: StepDetail | None, limit: int = OUTPUT_LENGTH
    ) -> StepAnswer:
        """One step in full; ``before`` is the one before it in its conversation."""
        step, columns = told.step, self.columns
        replayed, shadow = self.origin.replayed, self.policy.shadow
        return StepAnswer(
            index=index,
            command=step.action.command,
            cwd="" if step.action.cwd == UNRECORDED_DIRECTORY else step.action.cwd or "",
            category=columns.category[index],
            effects=columns.effects[index],
            turn=told.turn,
            thread=step.action.thread,
            decision=_decision(step.decision, proof_in_words(step.decision, replayed=replayed, shadow=shadow)),
            mark=columns.mark[index],
            words=in_words(step.decision, step.shown, replayed=replayed, shadow=shadow, ran=told.ran),
            compared=step.shown.compared,
            comparison=comparison_in_words(step.decision, step.shown),
            compared_to=step.shown.compared_to or (step.shown.refers_to if step.shown.kind == "partial" else ()),
            shown=ShownAnswer(step.shown.kind, step.shown.text, step.shown.instead or "", step.shown.omitted),
            output=_output(told, limit),
            view=told.view,
            view_before=before.view if before is not None else "",
            looks=told.looks,
            call=told.call,
            text=told.reply.text[:limit],
            text_rest=max(len(told.reply.text) - limit, 0),
            replied=told.reply.at,
            at=told.at,
            seconds=told.seconds,
            elapsed=None if before is None or before.at is None or told.at is None else told.at - before.at,
        )


def _label(action: Action) -> str:
    """The beginning of a command, on one line."""
    return printable(action.command[: 4 * LABEL_LENGTH])[:LABEL_LENGTH]


def _decision(decision: Decision, proof: tuple[str, ...]) -> DecisionAnswer:
    return DecisionAnswer(type(decision).__name__.lower(), decision.rule, proof, decision.refers_to)


def _output(told: StepDetail, limit: int) -> OutputAnswer:
    """The output, without its middle if it is long."""
    truth, shown, text = told.truth, told.step.shown, told.truth.output
    cut, half = len(text) > limit, limit // 2
    unknown = truth.output_unknown
    known_size = shown.result.size if unknown and shown.result is not None else None
    return OutputAnswer(
        text=text[:half] + text[len(text) - half :] if cut else text,
        head=half if cut else len(text),
        cut=cut,
        bytes=len(text.encode("utf-8", "replace")) if known_size is None else known_size,
        characters=len(text),
        known=not unknown,
        ran=told.ran,
        exit_status=truth.exit_status if told.ran else None,
        stderr=truth.stderr[:limit],
        notice="\n".join(filter(None, (truth.notice, truth.reminders)))[:limit],
        timed_out=truth.timed_out,
        elided=truth.cut,
    )
