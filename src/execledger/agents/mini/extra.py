"""What Ledger noted in a trajectory of mini-swe-agent, and what is known of the true results by it.

A run that Ledger took part in does not show every true output any more. What was elided after running is recorded whole
beside its reference. What a suppressed call would have returned nobody knows: nothing is claimed, which means an
observation that is marked as truncated, in an unknown place. A remark is no output.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct, ValidationError, convert
from msgspec.structs import replace

from execledger.core.fingerprint import fingerprint
from execledger.core.policy import Policy
from execledger.journal.events import known_policy
from execledger.journal.migrate import Fields, NewerVersion, pending
from execledger.runs.recording import Governed
from execledger.vocabulary.actions import Action, Observation
from execledger.vocabulary.decisions import Decision, Reuse, Shown, Step


def _write_version(note: Fields) -> Fields:
    """Version 1: each note names its version."""
    return {**note, "version": 1}


MIGRATIONS: tuple[Callable[[Fields], Fields], ...] = (_write_version,)
"""The migrations of the notes beside observations, ``extra.ledger``."""


class Answer(Struct, frozen=True):
    """What is noted beside an observation: with the message it makes a step."""

    step: int
    """Which step of the run it is."""
    decision: Decision
    """What was decided."""
    shown: Shown
    """How the result was shown."""
    cwd: str | None = None
    """Where the command ran, as far as we knew."""
    sealed: bool = False
    """Nothing but the agent's own commands could write when it was decided, as far as we knew."""
    version: int = len(MIGRATIONS)
    """The version of this format."""

    def bare(self, text: str) -> str:
        """What the model reads in the observation, without our remark."""
        return text.removesuffix(self.shown.text).removesuffix("\n") if self.shown.kind == "remark" else text

    def completed(self, action: Action, observation: Observation) -> Step:
        """The step that ``action`` and its result, as the message shows it, make."""
        if self.shown.kind == "reference":
            observation = Observation(self.shown.text, exit_status=observation.exit_status)
        return Step(action, self.decision, observation, self.shown)

    def result(self, observation: Observation, raw: str | None) -> Observation:
        """What is known of the true result; ``raw`` is the output that was recorded."""
        if self.shown.kind != "reference":
            return observation
        mark, status = self.shown.result, observation.exit_status
        if raw is not None and mark is not None and not isinstance(self.decision, Reuse):
            whole = Observation(raw, exit_status=status)
            if fingerprint(whole, steady=False).digest == mark.digest:
                return whole
        return Observation(exit_status=status, truncated=True)

    def governed(self, action: Action, observation: Observation, index: int) -> Governed | None:
        """What Ledger made of the call; None if it counted otherwise than the reader, whose ``index`` this is."""
        # The adapter leaves what the agent says about a failure to the agent.
        step = self.completed(action, replace(observation, notice=""))
        return Governed(step, self.sealed, 0, None) if self.step == index and step.valid_at(index) else None


def answer_of(note: object) -> Answer | None:
    """The note beside an observation; None if there is none, or none that is readable: raises nothing in a run."""
    try:
        return read_answer(note)
    except NewerVersion:
        return None


def read_answer(note: object) -> Answer | None:
    """The note beside an observation, None if there is none; raises ``NewerVersion``."""
    if not isinstance(note, dict):
        return None
    found = note.get("version", 0)
    if not isinstance(found, int) or found < 0:
        return None
    for migration in pending("Ledger's notes", found, MIGRATIONS):
        note = migration(note)
    try:
        return convert(note, Answer)
    except ValidationError:
        return None


def policy_of(note: object) -> Policy | None:
    """The policy that Ledger followed, by what stands under ``info.ledger``; None if that does not tell."""
    try:
        return known_policy(note["policy"]) if isinstance(note, dict) and isinstance(note.get("policy"), dict) else None
    except ValidationError:
        return None
