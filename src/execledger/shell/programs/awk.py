"""``awk``: the line-number idioms, and whether a program may write."""

from __future__ import annotations

import re

from execledger.core.records import CHANGED, Category, Lines
from execledger.shell.options import parse_options
from execledger.shell.parts import Invocation, Part, Selection, inspects, program, runs
from execledger.shell.programs.readers import show

MAY_ACT = re.compile(r"\bsystem\s*\(|\bgetline\b|\bprintf?\b[^;}\n]*(?:>|\|(?!\|))|\bclose\s*\(|\|&|@load|\bfflush\b")
MAX_PROGRAM = 2000
"""A longer program is not read: looking for what it may do takes time that grows faster than its length."""
CONDITIONS = (
    (re.compile(r"NR\s*>=\s*(\d+)\s*&&\s*NR\s*<=\s*(\d+)"), 0, 0),
    (re.compile(r"NR\s*>\s*(\d+)\s*&&\s*NR\s*<=\s*(\d+)"), 1, 0),
    (re.compile(r"NR\s*>=\s*(\d+)\s*&&\s*NR\s*<\s*(\d+)"), 0, -1),
    (re.compile(r"NR\s*>\s*(\d+)\s*&&\s*NR\s*<\s*(\d+)"), 1, -1),
    (re.compile(r"NR\s*==\s*(\d+)\s*,\s*NR\s*==\s*(\d+)"), 0, 0),
)
"""Conditions on NR that select one run of lines, with what to add to the numbers that they name."""
ACTIONS = (
    (re.compile(r"print(?:\s+\$0)?\s*;?"), ""),
    (re.compile(r'print\s+NR\s*"([^"\\]+)"\s*\$0\s*;?'), None),
    (re.compile(r"print\s+NR\s*,\s*\$0\s*;?"), " "),
    (re.compile(r'printf\s*\(?\s*"%\d*d([^"%\\]*|\\t)%s\\n"\s*,\s*NR\s*,\s*\$0\s*\)?\s*;?'), None),
)
"""Actions that print the line, with what stands between its number and its text; None is the text that they name."""


@program("awk", "gawk", "mawk", "nawk")
def awk(call: Invocation) -> Part:
    """``awk 'NR>=5 && NR<=9' FILE`` shows lines; a program that may write or run something is unknown."""
    options = parse_options(
        call.args, "F:v:f:i:", {"field-separator": "F:", "assign": "v:", "file": "f:"}, permute=False
    )
    if options.unknown or options.has("f", "i") or not options.operands:
        return runs(Category.MODIFY if options.value("i") == "inplace" else Category.OTHER)
    text = options.operands[0].literal
    if text is None or len(text) > MAX_PROGRAM:
        return runs(Category.OTHER)
    if MAY_ACT.search(re.sub(r"/(?:[^/\\\n]|\\.)*/", "", text)):
        return runs(Category.OTHER)
    selection = selected(text.strip())
    return show(call, options.operands[1:], selection, None) if selection else inspects()


def selected(text: str) -> Selection | None:
    """The lines that an awk program prints, if it is one of the line-number idioms."""
    match = re.fullmatch(r"(?P<when>[^{}]*?)\s*(?:\{\s*(?P<what>[^{}]*?)\s*\})?\s*;?", text)
    if not match:
        return None
    numbering = _numbering(match["what"]) if match["what"] is not None else ""
    positions = _positions(match["when"])
    return None if numbering is None or positions is None else Selection(positions or None, numbering)


def _positions(when: str) -> tuple[Lines, ...] | None:
    """The lines that a condition selects; () is all of them."""
    when = re.sub(r"\bFNR\b", "NR", when.strip())
    when = when[1:-1].strip() if re.fullmatch(r"\([^()]*\)", when) else when
    if when in ("", "1", "NR"):
        return ()
    for condition, below, above in CONDITIONS:
        match = condition.fullmatch(when)
        if match:
            first, last = max(int(match[1]) + below, 1), int(match[2]) + above
            return (Lines(first, last),) if last >= first else None
    match = re.fullmatch(r"NR\s*(==|<=|<|>=|>)\s*(\d+)", when)
    if not match:
        return None
    at = int(match[2])
    runs_ = {
        "==": Lines(at, at),
        "<=": Lines(1, at),
        "<": Lines(1, at - 1),
        ">=": Lines(max(at, 1)),
        ">": Lines(at + 1),
    }
    lines = runs_[match[1]]
    return (lines,) if lines.last is None or 1 <= lines.first <= lines.last else None


def _numbering(what: str) -> str | None:
    """What an action prints between number and text; None if it does not print the line as it stands."""
    for action, separator in ACTIONS:
        match = action.fullmatch(what)
        if match:
            return separator if separator is not None else match[1].replace("\\t", "\t") or CHANGED
    return CHANGED if re.fullmatch(r"printf?\b.*\$0.*", what, re.S) else None
