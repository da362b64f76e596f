"""A decision in plain words, for readers who do not know the rules: in the page, and in ``execledger why``.

What Ledger did not do is worded as that: in a replay and in shadow mode, references and remarks would have been shown.
"""

from __future__ import annotations

import re

from execledger.vocabulary.decisions import Decision, InFull, Nudge, Reuse, Shown

REASONS = {
    "cap": "Ledger {had} intervened as often as it may in one task",
    "cool-down": "it repeats an earlier command, but a remark {was} made only a few calls ago",
    "covered-read": "earlier results show every line that it asks for, and no change of the file was recorded since",
    "fault": "Ledger itself failed at judging it, or was off after faults of its own",
    "govern-off": "Ledger governs nothing in this run",
    "inherited": "the conversation inherited this call: it was made once, in another one",
    "loop": "the same command ran a few calls ago, and no file was edited in between",
    "modification": "it changes files, and the change is recorded",
    "new": "no earlier result was certain to answer it",
    "new-error": "an error just named a file that it looks at",
    "no-shim": "nothing without effects can take its place",
    "not-governed": "Ledger was not there when it was proposed",
    "nudge-cap": "it repeats an earlier command, but enough remarks {were} made in this task",
    "opaque": "Ledger does not understand the command well enough to judge it",
    "pending-writes": "an earlier command of the same turn may write, and its outcome was not known yet",
    "repeat": "the very same command has a visible result, and no change was recorded since",
    "repeated-test": "the same test ran before, and no file was edited in between",
    "reproduction": "it runs a script or inline code, as one does to reproduce a problem",
    "second-look": (
        "an earlier request for the same lines, file or command {was} answered with a reference, at least in part, and "
        "the next one is answered in full, also where the content has changed since"
    ),
    "setup": "it sets up the environment",
    "submission": "it produces, shows or submits the repair",
    "unchanged-tree": "the same command gave a result before, and no file of the working tree has changed since",
    "unfinished": "it was proposed, and no result came back",
    "unknown-effects": "it is not known what the program may change",
    "whole-read": "an earlier result shows the whole file, and no change of it was recorded since",
}
"""Why each rule decides as it does, as the end of a sentence; verbs of what Ledger did are those of ``_VERBS``."""


IN_FULL: dict[InFull, str] = {
    "preset": "this preset compares nothing after running",
    "cap": REASONS["cap"],
    "second-look": REASONS["second-look"],
    "submission": REASONS["submission"],
    "new-error": REASONS["new-error"],
    "superseded": "a newer visible result shows, or may show, something else in its place",
    "short": "the policy elides no output that short",
    "small": "a reference would not have been half as short",
    "price": "a second look at it was expected to cost more than a reference saves",
    "stopped": "the model {had} looked again after too many references",
}
"""Why an output is shown in full although it is visible already, as the end of a sentence."""

_DID = {"was": "was", "were": "were", "had": "had"}
_WOULD = {"was": "would have been", "were": "would have been", "had": "would have"}
_VERBS = {False: _DID, True: _WOULD}
"""Verbs of what Ledger did, and of what it would have done, by whether it only would have."""
_REFERENCE = re.compile(r"a reference stands at (step \d+)")
"""The proof of the rule ``second-look``, as journals have it."""


def in_words(decision: Decision, shown: Shown, *, replayed: bool = False, shadow: bool = False) -> str:
    """One to three sentences: what was decided, why, and what the model was shown.

    ``replayed``: the decision is that of a replay, so the model would have been shown it.
    ``shadow``: the run was in shadow mode, in which earlier references and remarks were not shown either.
    """
    known = REASONS.get(decision.rule)
    reason = known.format_map(_VERBS[replayed or shadow]) if known else f"the rule {decision.rule} says so"
    told = f"{_verdict(decision, shown, replayed)}: {reason}.", _outcome(decision, shown, replayed, shadow)
    return " ".join(filter(None, told))


def proof_in_words(decision: Decision, *, replayed: bool = False, shadow: bool = False) -> tuple[str, ...]:
    """The facts that a decision rests on; a reference that was not shown is named as one that would have been."""
    verb = _VERBS[replayed or shadow]["was"]
    found = ((fact, _REFERENCE.fullmatch(fact)) for fact in decision.proof)
    return tuple(f"a reference {verb} shown at {match[1]}" if match else fact for fact, match in found)


def comparison_in_words(decision: Decision, shown: Shown) -> str:
    """How the result compares with what was visible; "" if it was not compared."""
    if shown.compared == "same":
        return "its output was visible already"
    if shown.compared == "covered":
        return "its lines were visible already"
    if shown.compared is None:
        return ""
    if isinstance(decision, Reuse):
        return "the recorded output is not what the earlier result shows"
    if "partial" in (shown.kind, shown.instead):
        return "some of its lines were visible already"
    return "its output was not found as a whole in visible results"


def _verdict(decision: Decision, shown: Shown, replayed: bool) -> str:
    if isinstance(decision, Reuse):
        earlier = _steps(decision.refers_to)
        if shown.kind == "reference":
            return f"{'Would have been reused' if replayed else 'Reused'} before running, {earlier} answers it"
        though = f"though {earlier} answers it"
        return f"Run in shadow mode, {though} and it would have been reused" if shown.instead else f"Run, {though}"
    return f"Run, a repeat of {_steps(decision.refers_to)}" if isinstance(decision, Nudge) else "Run"


def _outcome(decision: Decision, shown: Shown, replayed: bool, shadow: bool) -> str:
    """What the model was shown, where the decision alone does not say so."""
    if isinstance(decision, Reuse) and shown.compared == "different":
        return "The recorded output is different: a false reuse."
    if shown.instead:
        would = {
            "reference": "a reference would have replaced its output",
            "partial": "references would have replaced some of its lines",
        }.get(shown.instead, "a remark would have been added to its output")
        return f"In shadow mode nothing was changed; otherwise {would}."
    if isinstance(decision, Reuse):
        return ""
    was = "would have been" if replayed else "was"
    if shown.kind == "reference":
        return f"{_equal(shown)}: a reference {was} shown in its place."
    if shown.kind == "partial":
        were = "would have been" if replayed else "were"
        where = _steps(shown.refers_to)
        return f"Some of its lines were visible already, at the same line numbers, in {where}: references {were} shown."
    if shown.kind == "remark":
        return f"A remark {was} added to its output."
    if shown.compared in ("same", "covered"):
        if shown.kept == decision.rule:
            return f"{_equal(shown)}, and yet it {was} shown in full, for that reason."
        reason = f": {IN_FULL[shown.kept].format_map(_VERBS[replayed or shadow])}" if shown.kept is not None else ""
        return f"{_equal(shown)}, and yet it {was} shown in full{reason}."
    return f"The result was another one, so no remark {was} added." if isinstance(decision, Nudge) else ""


def _equal(shown: Shown) -> str:
    """That an output was visible already, and where."""
    where = _steps(shown.refers_to or shown.compared_to)
    how = "byte for byte" if shown.compared == "same" else "line by line and at the same line numbers"
    return f"Its output turned out to be visible already, {how}, in {where}"


def _steps(numbers: tuple[int, ...]) -> str:
    """Steps by their numbers; a foreign file may name none."""
    if len(numbers) < 2:
        return f"step {numbers[0]}" if numbers else "an earlier step"
    return f"steps {', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"
