"""A decision in plain words, for readers who do not know the rules: in the page, and in ``execledger why``.

What Ledger did not do is worded as that: in a replay and in shadow mode, references and remarks would have been shown.
"""

from __future__ import annotations

import re

from execledger.core.references import ASIDE, NO_CHANGE
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
    "setup": "it, or a part of it, sets up the environment",
    "submission": "it, or a part of it, produces, shows or submits the repair",
    "unchanged-tree": "the same command gave a result before, and no file of the working tree has changed since",
    "unfinished": "it was proposed, and no result came back",
    "unknown-effects": "it is not known what the program may change",
    "whole-read": "an earlier result shows the whole file, and no change of it was recorded since",
}
"""Why each rule decides as it does, as the end of a sentence; verbs of what Ledger did are those of ``_VERBS``."""

_BY_COUNTER = {
    "loop": f"the same command ran a few calls ago, and {NO_CHANGE} in between, {ASIDE}",
    "repeat": f"the very same command has a visible result, and {NO_CHANGE} since, {ASIDE}",
    "repeated-test": f"the same test ran before, and {NO_CHANGE} in between, {ASIDE}",
}
"""The reasons of rules that asked the global change counter, as in ``paper``: it counts recognised changes only."""
_COUNTER = "global change counter: "
"""The beginning of the proof that they asked it."""

IN_FULL: dict[InFull, str] = {
    "preset": "this preset compares nothing after running",
    "cap": REASONS["cap"],
    "second-look": REASONS["second-look"],
    "submission": REASONS["submission"],
    "new-error": REASONS["new-error"],
    "superseded": "a newer visible result shows, or may show, something else in its place",
    "unknown-files": (
        "files were changed, or may have been, more than once since then, and it is not known which of them it shows"
    ),
    "short": "the policy elides no output that short",
    "small": "a reference would have been more than half as long",
    "price": "a second look at it was expected to cost more than a reference saves",
    "stopped": "the model {had} looked again after too many references",
}
"""Why an output is shown in full although it is visible already, as the end of a sentence."""

_DID = {"was": "was", "were": "were", "had": "had"}
_WOULD = {"was": "would have been", "were": "would have been", "had": "would have"}
_VERBS = {False: _DID, True: _WOULD}
"""Verbs of what Ledger did, and of what it would have done, by whether it only would have."""
_UNCHANGED = "In shadow mode nothing was changed; otherwise"
"""The beginning of what would have been shown without shadow mode."""
_REFERENCE = re.compile(r"a reference stands at (step \d+)")
"""The proof of the rule ``second-look``, as journals have it."""
_WORTH = re.compile(r"expected saving (-?\d+), cost (-?\d+) new tokens")
"""The last proof of a reuse that has a price, as journals have it: later calls count at the price of cached tokens."""


def in_words(
    decision: Decision, shown: Shown, *, replayed: bool = False, shadow: bool = False, ran: bool = True
) -> str:
    """One to three sentences: what was decided, why, and what the model was shown.

    ``replayed``: the decision is that of a replay, so the model would have been shown it.
    ``shadow``: the run was in shadow mode, in which earlier references and remarks were not shown either.
    ``ran``: the call was run when it was recorded; otherwise it is not known what it would have printed.
    """
    reason = _reason(decision, would=replayed or shadow)
    unknown = replayed and not ran and shown.kind != "reference"
    outcome = _outcome_unknown(shown) if unknown else _outcome(decision, shown, replayed, shadow)
    run = "Would have been run" if unknown else "Run"
    return " ".join(filter(None, (f"{_verdict(decision, shown, replayed, run)}: {reason}.", outcome)))


def _reason(decision: Decision, *, would: bool) -> str:
    """Why it was decided, as the end of a sentence."""
    counted = any(fact.startswith(_COUNTER) for fact in decision.proof)
    known = _BY_COUNTER.get(decision.rule) if counted else None
    known = known or REASONS.get(decision.rule)
    return known.format_map(_VERBS[would]) if known else f"the rule {decision.rule} says so"


def proof_in_words(decision: Decision, *, replayed: bool = False, shadow: bool = False) -> tuple[str, ...]:
    """The facts that a decision rests on; a reference that was not shown is named as one that would have been."""
    return tuple(_fact_in_words(fact, _VERBS[replayed or shadow]["was"]) for fact in decision.proof)


def _fact_in_words(fact: str, verb: str) -> str:
    """A fact of a proof, as the page words it."""
    if match := _REFERENCE.fullmatch(fact):
        return f"a reference {verb} shown at {match[1]}"
    if match := _WORTH.fullmatch(fact):
        return f"expected saving: the price of {match[1]} new tokens; expected cost: that of {match[2]}"
    return fact


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


def _verdict(decision: Decision, shown: Shown, replayed: bool, run: str) -> str:
    """What was decided; ``run`` says that it was run, or that it would have been."""
    if isinstance(decision, Reuse):
        earlier = _answering(decision, shown)
        if shown.kind == "reference":
            return f"{'Would have been reused' if replayed else 'Reused'} before running, {earlier}"
        if shown.instead:
            return f"{run} in shadow mode, though {earlier} and it would have been reused"
        return f"{run}, though {earlier}"
    return f"{run}, a repeat of {_steps(decision.refers_to)}" if isinstance(decision, Nudge) else run


def _answering(decision: Reuse, shown: Shown) -> str:
    """Which steps answer it; as a belief where the recorded output is known to be another one."""
    several = len(decision.refers_to) > 1
    if shown.compared == "different":
        answer = f"{'are' if several else 'is'} taken to answer it"
    else:
        answer = f"{'answer' if several else 'answers'} it"
    return f"{_steps(decision.refers_to)} {answer}"


def _outcome_unknown(shown: Shown) -> str:
    """What the model would have been shown of a call that was not run when it was recorded."""
    remark = "A remark would have been added to its output. " if shown.kind == "remark" else ""
    return f"{remark}It was not run when it was recorded, so its output is not known."


def _outcome(decision: Decision, shown: Shown, replayed: bool, shadow: bool) -> str:
    """What the model was shown, where the decision alone does not say so."""
    if isinstance(decision, Reuse) and shown.compared == "different":
        return "The recorded output is different: a false reuse."
    if "remark" in (shown.kind, shown.instead):
        return " ".join(filter(None, (_in_full(decision, shown, replayed, shadow), _remarked(shown, replayed))))
    if shown.instead:
        would = {
            "reference": "a reference would have replaced its output",
            "partial": "references would have replaced some of its lines",
        }[shown.instead]
        return f"{_UNCHANGED} {would}."
    if isinstance(decision, Reuse):
        return ""
    was = "would have been" if replayed else "was"
    if shown.kind == "reference":
        return f"{_equal(shown)}: a reference {was} shown in its place."
    if shown.kind == "partial":
        were = "would have been" if replayed else "were"
        where = _steps(shown.refers_to)
        return f"Some of its lines were visible already, at the same line numbers, in {where}: references {were} shown."
    if shown.compared in ("same", "covered"):
        return _in_full(decision, shown, replayed, shadow)
    return f"The result was another one, so no remark {was} added." if isinstance(decision, Nudge) else ""


def _in_full(decision: Decision, shown: Shown, replayed: bool, shadow: bool) -> str:
    """Why an output is shown in full although it is visible already; "" of any other."""
    if shown.compared not in ("same", "covered"):
        return ""
    yet = f"{_equal(shown)}, and yet it {'would have been' if replayed else 'was'} shown in full"
    if shown.kept is None:
        return f"{yet}."
    if shown.kept == decision.rule:
        return f"{yet}, for that reason."
    return f"{yet}: {IN_FULL[shown.kept].format_map(_VERBS[replayed or shadow])}."


def _remarked(shown: Shown, replayed: bool) -> str:
    """That a remark was added to the output, or would have been."""
    if shown.instead:
        return f"{_UNCHANGED} a remark would have been added to its output."
    return f"A remark {'would have been' if replayed else 'was'} added to its output."


def _equal(shown: Shown) -> str:
    """That an output was visible already, and where; what a remark refers to is the earlier occurrence."""
    where = _steps(shown.compared_to or shown.refers_to)
    how = "byte for byte" if shown.compared == "same" else "line by line and at the same line numbers"
    return f"Its output turned out to be visible already, {how}, in {where}"


def _steps(numbers: tuple[int, ...]) -> str:
    """Steps by their numbers; a foreign file may name none."""
    if len(numbers) < 2:
        return f"step {numbers[0]}" if numbers else "an earlier step"
    return f"steps {', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"
