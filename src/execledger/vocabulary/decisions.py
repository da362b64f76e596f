"""What is decided about an action, what the model is shown of its result, and the step that the two complete."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from execledger.vocabulary.actions import Action, Observation


class CoveredLines(Struct, frozen=True, array_like=True):
    """Lines of a file, and the earlier result that shows them at that place."""

    first: int
    """The first line."""
    last: int
    """The last line."""
    by: int
    """Which of the steps that are referred to shows them, counted from 0."""


class Allow(Struct, frozen=True, tag="allow"):
    """Run the action unchanged."""

    rule: str
    """The rule that decided."""
    proof: tuple[str, ...] = ()
    """What was found, as short facts."""
    refers_to: tuple[int, ...] = ()
    """Always empty: an allowed action refers to nothing."""


class Reuse(Struct, frozen=True, tag="reuse"):
    """Do not run the action: an earlier result is still visible and still true."""

    rule: str
    """The rule that decided."""
    proof: tuple[str, ...]
    """What was found, as short facts."""
    refers_to: tuple[int, ...]
    """The steps whose results hold what the action would print."""
    lines: tuple[CoveredLines, ...] = ()
    """The lines of the file that it asks for, and which of these steps shows each; none where it is no read."""


class Nudge(Struct, frozen=True, tag="nudge"):
    """Run the action, and append one short remark; in ``verified`` only if its result is what it was before."""

    rule: str
    """The rule that decided."""
    proof: tuple[str, ...]
    """What was found, as short facts."""
    refers_to: tuple[int, ...]
    """The earlier occurrence."""


Decision: TypeAlias = Allow | Reuse | Nudge

Compared: TypeAlias = Literal["same", "covered", "different"]


class Fingerprint(Struct, frozen=True):
    """What the ledger keeps of a result whose text it does not need."""

    digest: str
    """Of the output, the error output, the exit status: byte for byte."""
    steady: str
    """The same without timings, for tests alone; only repeats are judged by it, never reuse."""
    size: int
    """Bytes of output."""
    lines: int
    """Lines of output."""
    timings: tuple[str, ...] = ()
    """The timings that ``steady`` leaves out, as they were printed."""


class Shown(Struct, frozen=True):
    """What the model is shown of a result."""

    kind: Literal["full", "reference", "remark"]
    """The output itself, a reference in its place, or the output with a remark behind it."""
    text: str = ""
    """The reference or the remark."""
    refers_to: tuple[int, ...] = ()
    """The steps that a reference points at."""
    compared: Compared | None = None
    """How the result compares with what is visible; None if it is not eligible."""
    compared_to: tuple[int, ...] = ()
    """The steps that bear the comparison out."""
    result: Fingerprint | None = None
    """The true result; None if the action did not run."""
    instead: Literal["reference", "remark"] | None = None
    """In shadow mode: what would have been shown in place of the plain output; None if nothing else would have."""
    lines: tuple[CoveredLines, ...] = ()
    """The lines of the file that a reference replaces, and which of ``refers_to`` shows each at that place."""
    end: int | None = None
    """The last line of that file, if the result tells it."""


class Step(Struct, frozen=True, omit_defaults=True):
    """A completed step: all that the ledger ever learns from."""

    action: Action
    """What the agent asked for."""
    decision: Decision
    """What was decided."""
    observation: Observation
    """What the model was shown, without a remark; a reference stands in ``output`` if the output was not shown."""
    shown: Shown
    """How it was shown."""
    concurrent: bool = False
    """It ran beside something that may write: what it saw may be older than what stands before it."""
    inherits: int | None = None
    """The step of another thread that this thread was born with: it was done once, and is only seen here."""
    withheld: tuple[tuple[int, str], ...] = ()
    """Lines of the file that ``observation`` does not hold as they were shown, because a journal keeps no secrets:
    their places among all that it holds, and their digests."""

    def valid_at(self, index: int) -> bool:
        """It may be step ``index`` of a run: whatever it refers to lies before that."""
        inherited = () if self.inherits is None else (self.inherits,)
        referred = (*self.decision.refers_to, *self.shown.refers_to, *self.shown.compared_to, *inherited)
        return all(0 <= step < index for step in referred)
