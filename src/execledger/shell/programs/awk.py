"""``awk``: the line-number idioms, and whether a program may write."""

from __future__ import annotations

import re

from msgspec.structs import replace

from execledger.shell.facts import Facts, Invocation, Part, Reader, Selection, Variables, inspects, literal, runs
from execledger.shell.options import parse_options
from execledger.shell.programs.readers import show
from execledger.shell.tree import Word
from execledger.vocabulary.records import CHANGED, Category, Lines, Scope

CODE = re.compile(
    r"""(?P<text>"(?:[^"\\]|\\.)*")|(?P<remark>\#[^\n]*)|\b(?:printf?|return|in|case)\b|(?:[\w$)\]]|\+\+|--)\s*/"""
    r"""|(?P<pattern>/(?:[^/\\\n]|\\.)*/)|(?P<continued>(?:,|&&|\|\||\\)[ \t]*\n)""",
    re.DOTALL,
)
"""The tokens that hide a program's own operators: strings, patterns (not preceded by an operand), comments, lines."""
OUTPUT = re.compile(r"\bprintf?\b[^;}\n]*>")
"""A print into a file; what merely looks like one counts too."""
MAY_ACT = re.compile(r"\b(?:system|getline|close|fflush)\b|\bprintf?\b[^;}\n]*(?<!\|)\|(?!\|)|\|&|@")
"""A program that runs another, or reads more than its files."""
OWN = re.compile(r"[a-z]\w*=")
"""A variable of the program's own: those that change what a line is or how it is printed are in capitals."""
ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
"""An operand that is no file."""
VOLATILE = re.compile(r"\b(?:s?rand|systime|strftime|ENVIRON|PROCINFO)\b")
"""What makes a program's output depend on more than its files."""
MAX_PROGRAM = 8 * 1024
"""Longer programs are not read."""
CONDITIONS = (
    (re.compile(r"NR\s*>=\s*([0-9]{1,9})\s*&&\s*NR\s*<=\s*([0-9]{1,9})"), 0, 0),
    (re.compile(r"NR\s*>\s*([0-9]{1,9})\s*&&\s*NR\s*<=\s*([0-9]{1,9})"), 1, 0),
    (re.compile(r"NR\s*>=\s*([0-9]{1,9})\s*&&\s*NR\s*<\s*([0-9]{1,9})"), 0, -1),
    (re.compile(r"NR\s*>\s*([0-9]{1,9})\s*&&\s*NR\s*<\s*([0-9]{1,9})"), 1, -1),
    (re.compile(r"NR\s*==\s*([0-9]{1,9})\s*,\s*NR\s*==\s*([0-9]{1,9})"), 0, 0),
)
"""Conditions on NR that select one run of lines, with what to add to the numbers that they name."""
ACTIONS = (
    (re.compile(r"print(?:\s+\$0)?\s*;?"), ""),
    (re.compile(r'print\s+NR\s*"([^"\\]+)"\s*\$0\s*;?'), None),
    (re.compile(r"print\s+NR\s*,\s*\$0\s*;?"), " "),
    (re.compile(r'printf\s*+\(?\s*+"%\d*d([^"%\\]*|\\t)%s\\n"\s*,\s*NR\s*,\s*\$0\s*+\)?\s*+;?'), None),
)
"""Actions that print the line, with the separator of its number and its text; None is the separator that they name."""


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
    # A line that ends in a backslash goes on in the next one.
    signs = bare(text) + "\n" + bare(text.replace("\\\n", ""))
    if OUTPUT.search(signs):
        return runs(Category.MODIFY, scope=Scope.TREE)
    # A slash may begin a pattern or divide, so what a quote or a remark behind it hides may be the program's own.
    hides = "/" in text and ('"' in text or "#" in text)
    unclear = hides and bool(OUTPUT.search(text) or MAY_ACT.search(text))
    if unclear or MAY_ACT.search(signs):
        return runs(Category.OTHER)
    if VOLATILE.search(signs):
        return inspects(volatile=True)
    files = options.operands[1:]
    odd = not all(OWN.match(word.literal or "") for word in options.values("v"))
    odd = odd or any(ASSIGNMENT.match(word.literal or "") for word in files)
    selection = None if odd else selected(text.strip())
    return show(call, files, replace(selection, form=call.name), None) if selection else inspects()


def bare(text: str) -> str:
    """The program without the contents of its texts and patterns, its continued lines joined."""
    blank = {"text": '""', "remark": "", "pattern": "//"}

    def blanked(found: re.Match[str]) -> str:
        kind = found.lastgroup or ""
        return found[0].replace("\n", " ") if kind == "continued" else blank.get(kind, found[0])

    return CODE.sub(blanked, text)


def selected(text: str) -> Selection | None:
    """The lines that an awk program prints, if it is one of the line-number idioms.

    It must be one rule in one line: an action in the line below its condition would be a rule of its own.
    """
    match = re.fullmatch(r"([^{}\n]*+)(?:\{([^{}\n]*+)\}\s*+;?)?", text)
    if not match:
        return None
    when, what = match[1].strip(), None if match[2] is None else match[2].strip()
    if what is None:
        when = match[1].removesuffix(";").strip()
    if not (when or what):
        return None
    numbering = "" if what is None else _numbering(what)
    positions = _positions(when)
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
            if "," in when and not int(match[1]):
                # No line has the number that the range begins with.
                return None
            return (Lines(first, last),) if last >= first else None
    match = re.fullmatch(r"NR\s*(==|<=|<|>=|>)\s*([0-9]{1,9})", when)
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
    """What an action prints between number and text; None if it does not print the line as it is."""
    for action, separator in ACTIONS:
        match = action.fullmatch(what)
        if match:
            return separator if separator is not None else match[1].replace("\\t", "\t") or CHANGED
    one_line = what.count("\\n") == what.startswith("printf") and ";" not in what.rstrip("; ") and "\n" not in what
    return CHANGED if one_line and re.fullmatch(r"printf?\b.*\$0.*", what) else None


def _only_selects(scripts: list[str], files: list[str]) -> bool:
    """The program is one of the line-number idioms, and none of its files is an assignment."""
    return selected(scripts[0].strip()) is not None and not any("=" in file for file in files)


READER = Reader("F:", texts=1, accepts=_only_selects)


def _harmless(args: tuple[Word, ...]) -> bool:
    """Literal arguments, of which the program is one of the line-number idioms."""
    options = READER.options(args)
    first = options.paths[0] if options.paths else ""
    return literal(args) and not options.unknown and selected(first.strip()) is not None


FACTS = (
    Facts(names="awk", does=awk, harmless=_harmless, provable=READER.sources, variables=Variables(r"AWK\w*")),
    Facts(names="gawk mawk nawk", does=awk),
)
"""The implementations of awk."""
