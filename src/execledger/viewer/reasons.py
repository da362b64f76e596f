"""A decision in plain words, for readers who do not know the rules."""

from __future__ import annotations

from execledger.vocabulary.decisions import Decision, Nudge, Reuse, Shown

REASONS = {
    "cap": "Ledger has intervened as often as it may in one task",
    "cool-down": "it repeats an earlier command, but a remark was made only a few calls ago",
    "covered-read": "earlier results show every line that it asks for, and no change of the file was recorded since",
    "fault": "Ledger itself failed at judging it, or was off after faults of its own",
    "govern-off": "Ledger only watches in this run",
    "inherited": "the conversation inherited this call: it was made once, in another one",
    "loop": "the same command ran a few calls ago, and no file was edited in between",
    "modification": "it changes files, and the change is recorded",
    "new": "nothing like it was seen before",
    "new-error": "an error just named a file that it looks at",
    "no-shim": "nothing without effects can take its place",
    "not-governed": "Ledger was not there when it was proposed",
    "nudge-cap": "it repeats an earlier command, but enough remarks were made in this task",
    "opaque": "Ledger does not understand the command well enough to judge it",
    "pending-writes": "an earlier command of the same turn may write, and its outcome was not known yet",
    "repeat": "the very same command has a visible result, and no change was recorded since",
    "repeated-test": "the same test ran before, and no file was edited in between",
    "reproduction": "it runs a script or inline code, as one does to reproduce a problem",
    "second-look": "a reference stood for this content, and the next look at it is shown in full",
    "setup": "it sets up the environment",
    "submission": "it produces, shows or submits the repair",
    "unchanged-tree": "the same command gave a result before, and no file of the working tree has changed since",
    "unfinished": "it was proposed, and no result came back",
    "unknown-effects": "it is not known what the program may change",
    "whole-read": "an earlier result shows the whole file, and no change of it was recorded since",
}
"""Why each rule decides as it does, as the end of a sentence."""


def in_words(decision: Decision, shown: Shown) -> str:
    """One or two sentences: what was decided, why, and what the model was shown."""
    reason = REASONS.get(decision.rule, f"the rule {decision.rule} says so")
    return " ".join(filter(None, (f"{_verdict(decision, shown)}: {reason}.", _outcome(decision, shown))))


def _verdict(decision: Decision, shown: Shown) -> str:
    if isinstance(decision, Reuse):
        earlier = _steps(decision.refers_to)
        if shown.kind == "reference":
            return f"Reused before running, {earlier} answers it"
        though = f"though {earlier} answers it"
        return f"Run in shadow mode, {though} and it would have been reused" if shown.instead else f"Run, {though}"
    return f"Run, a repeat of {_steps(decision.refers_to)}" if isinstance(decision, Nudge) else "Run"


def _outcome(decision: Decision, shown: Shown) -> str:
    """What the model was shown, where the decision alone does not say so."""
    if isinstance(decision, Reuse) and shown.compared == "different":
        return "By the recorded output that is wrong: a false reuse."
    if shown.instead:
        would = {
            "reference": "a reference would have stood in place of its output",
            "partial": "references would have stood in place of some of its lines",
        }.get(shown.instead, f"a {shown.instead} would have stood behind its output")
        return f"In shadow mode nothing was changed; otherwise {would}."
    if isinstance(decision, Reuse):
        return ""
    if shown.kind == "reference":
        found = "byte for byte" if shown.compared == "same" else "line for line and at the same places"
        return f"Its output already stood above, {found}, in {_steps(shown.refers_to)}: a reference took its place."
    if shown.kind == "partial":
        where = _steps(shown.refers_to)
        return f"Some of its lines already stood above, at the same places, in {where}: references took their place."
    if shown.kind == "remark":
        return "A remark was added to its output."
    return "The result was another one, so nothing was added." if isinstance(decision, Nudge) else ""


def _steps(numbers: tuple[int, ...]) -> str:
    """Steps by their numbers; a foreign file may name none."""
    if len(numbers) < 2:
        return f"step {numbers[0]}" if numbers else "an earlier step"
    return f"steps {', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"
