"""Decisions about actions, what the model is shown of their results, and completed steps."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from execledger.vocabulary.actions import Action, Observation
from execledger.vocabulary.records import Lines


class CoveredLines(Struct, frozen=True, array_like=True):
    """A run of lines of a file, and the earlier result that shows it at the same line numbers."""

    first: int
    """The first line."""
    last: int
    """The last line."""
    by: int
    """The index, among the steps that are referred to, of the one that shows them."""


class Allow(Struct, frozen=True, tag="allow"):
    """Run the action unchanged."""

    rule: str
    """The rule that decided."""
    proof: tuple[str, ...] = ()
    """What was found, as short facts."""
    refers_to: tuple[int, ...] = ()
    """Always empty: an allowed action refers to nothing."""


class Reuse(Struct, frozen=True, tag="reuse"):
    """Suppress the action: an earlier result is still visible and still true."""

    rule: str
    """The rule that decided."""
    proof: tuple[str, ...]
    """What was found, as short facts."""
    refers_to: tuple[int, ...]
    """The steps whose results contain what the action would print."""
    lines: tuple[CoveredLines, ...] = ()
    """The requested lines of the file, and which of these steps shows each; empty if it is not a read."""


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
    """Digests and sizes of a result, which the ledger keeps instead of its text."""

    digest: str
    """Digest of output, standard error and exit status, byte for byte."""
    steady: str
    """The same without timings, for tests only; used to detect repeats, never for a reuse."""
    size: int
    """Bytes of output."""
    lines: int
    """Lines of output."""
    timings: tuple[str, ...] = ()
    """The timings that ``steady`` omits, as they were printed."""


class Worth(Struct, frozen=True, array_like=True):
    """What a reference is expected to save and to cost, in tokens of new input."""

    saving: int
    """Expected saving: the elided tokens, new once and cached later, unless the model looks again."""
    cost: int
    """Expected cost of second looks: one more call over the whole context, times their rate."""
    stopped: bool = False
    """Eliding has ended in this run: the model looked again after too many of its references."""

    @property
    def pays(self) -> bool:
        """Whether the output is to be elided."""
        return self.saving > self.cost and not self.stopped


InFull: TypeAlias = Literal[
    "preset",
    "cap",
    "second-look",
    "submission",
    "new-error",
    "superseded",
    "unknown-files",
    "short",
    "small",
    "price",
    "stopped",
]
"""Why an output that is visible already is shown again: the preset compares nothing after running; no intervention is
left; the last reference to it is followed by a second look; it is the repair; it follows an error; a newer visible
result shows, or may show, something else in its place; files may have changed more than once since, and it is not known
which of them it shows; the policy elides nothing so short; a reference would be more than half as long; second looks
are expected to cost more than it saves; the model looked again after too many references."""


class Shown(Struct, frozen=True):
    """What the model is shown of a result."""

    kind: Literal["full", "reference", "partial", "remark"]
    """The output itself, a reference in its place, the output with references in place of some of its lines, or the
    output with a remark behind it."""
    text: str = ""
    """The reference or the remark; the references of a partial one, a line each."""
    refers_to: tuple[int, ...] = ()
    """The steps that a reference points at."""
    compared: Compared | None = None
    """How the result compares with what is visible; None if it is not eligible."""
    compared_to: tuple[int, ...] = ()
    """The steps that are equal to it or cover it."""
    result: Fingerprint | None = None
    """The true result; None if the action did not run."""
    instead: Literal["reference", "partial", "remark"] | None = None
    """In shadow mode: what would have been shown in place of the plain output; None if nothing else would have."""
    lines: tuple[CoveredLines, ...] = ()
    """The lines of the file that a reference replaces, and which of ``refers_to`` shows each at that place; in shadow
    mode, those that a partial one would have replaced."""
    end: int | None = None
    """The number of the last line of that file, if the result shows it."""
    worth: Worth | None = None
    """The price of a reference in place of the output; None if none was possible, or the policy has no price."""
    cuts: tuple[int, ...] = ()
    """Of a partial reference: for each run of ``lines``, the index of its first line among the lines of the output."""
    told: tuple[Lines, ...] = ()
    """The lines of the file that a reference replaces where the result that it points at printed the same text, and is
    no read of these lines: views list them, and no later reference points at them."""
    saved: int = 0
    """Of a partial reference: the bytes of the output that it saves; 0 in journals of versions that did not note it."""

    kept: InFull | None = None
    """Why an output is shown in full although it compares as same or covered; None of others, and in journals of
    versions that did not note it. Earlier ones called an output "superseded" that is "unknown-files" or "small"."""

    def in_full(self, kept: InFull | None = None) -> Shown:
        """Return the same comparison for an output that is shown as it came, with the reason if it is equal."""
        reason = kept if self.compared in ("same", "covered") else None
        return replace(
            self, kind="full", text="", refers_to=(), lines=(), end=None, cuts=(), told=(), saved=0, kept=reason
        )

    @property
    def refers(self) -> bool:
        """Whether a reference replaces the output or a part of it."""
        return self.kind in ("reference", "partial")

    @property
    def omitted(self) -> tuple[tuple[int, int, int], ...]:
        """Of a partial reference: the first and last line of each omitted run of the file, and the step that showed it;
        nothing if that step is not known."""
        known = self.kind == "partial" and all(one.by < len(self.refers_to) for one in self.lines)
        return tuple((one.first, one.last, self.refers_to[one.by]) for one in self.lines) if known else ()

    def applied(self, output: str) -> str:
        """Return the true ``output`` as the model is shown it, without a remark."""
        if self.kind == "reference":
            return self.text
        if self.kind != "partial":
            return output
        rows, kept, at = output.split("\n"), list[str](), 0
        for cut, run, reference in zip(self.cuts, self.lines, self.text.split("\n"), strict=True):
            kept += (*rows[at:cut], reference)
            at = cut + run.last - run.first + 1
        return "\n".join((*kept, *rows[at:]))

    def pieces(self, text: str) -> tuple[str, ...]:
        """Return the pieces between the references in ``text``, a partly omitted output as it is shown."""
        rows, found, at, omitted = text.split("\n"), list[str](), 0, 0
        for done, (cut, run) in enumerate(zip(self.cuts, self.lines, strict=True)):
            here = cut - omitted + done
            found.append("".join(f"{row}\n" for row in rows[at:here]))
            omitted += run.last - run.first + 1
            at = here + 1
        return (*found, "\n".join(rows[at:]))


class Step(Struct, frozen=True, omit_defaults=True):
    """A completed step: the only input of the ledger's state."""

    action: Action
    """The action that the agent proposed."""
    decision: Decision
    """The decision about it."""
    observation: Observation
    """What the model was shown, without a remark; ``output`` is the reference if the output was not shown."""
    shown: Shown
    """How it was shown."""
    concurrent: bool = False
    """It may have run at the same time as something that may write: its result may be older than earlier steps."""
    inherits: int | None = None
    """The step of the parent thread that this forked thread begins with: it ran once, and is only visible here."""
    withheld: tuple[tuple[int, str], ...] = ()
    """Lines of the file that ``observation`` does not have as they were shown, because a journal keeps no secrets:
    their indexes among all its lines, and their digests."""

    @property
    def suppressed(self) -> bool:
        """Whether it was not run: a reference answered it."""
        return isinstance(self.decision, Reuse) and self.shown.kind == "reference"

    def valid_at(self, index: int) -> bool:
        """Whether it can be step ``index`` of a run: every step that it refers to comes before that."""
        inherited = () if self.inherits is None else (self.inherits,)
        referred = (*self.decision.refers_to, *self.shown.refers_to, *self.shown.compared_to, *inherited)
        return all(0 <= step < index for step in referred)
