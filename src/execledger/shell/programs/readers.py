"""Programs that show a file's lines: ``cat``, ``head``, ``tail``, ``nl``, pagers.

Each shows a view of its one file, or passes lines of its standard input through.
"""

from __future__ import annotations

import re

from msgspec.structs import replace

from execledger.shell import ranges
from execledger.shell.facts import (
    COMPUTED,
    Allowed,
    Facts,
    Invocation,
    Part,
    Reader,
    Selection,
    Variables,
    always,
    inspects,
    runs,
)
from execledger.shell.options import Options, parse_options
from execledger.shell.tree import Word
from execledger.vocabulary.records import CHANGED, WHOLE, Category, Lines, View

ALL = Selection()
"""Every line passes."""


def show(call: Invocation, operands: tuple[Word, ...], selection: Selection, argv: tuple[str, ...] | None) -> Part:
    """A part that applies ``selection`` to its one literal file, or to its standard input if it names none."""
    if not operands or [word.literal for word in operands] == ["-"]:
        return inspects(selection=selection if call.fed else None, argv=argv)
    if len(operands) > 1 or operands[0].literal is None:
        return inspects(argv=argv)
    return inspects(apply(View(operands[0].literal, (WHOLE,)), selection), argv=argv)


def apply(view: View, selection: Selection) -> View | None:
    """The view behind one more filter: numbering happens before selecting, as ``cat -n`` and ``sed =`` do."""
    numbered = ranges.number(view, selection.numbering) if selection.numbering else view
    if selection.form:
        numbered = replace(numbered, form=f"{view.form} {selection.form}".strip())
    return numbered if selection.positions is None else ranges.select(numbered, selection.positions)


def spelled(options: Options, *leading: str) -> tuple[str, ...] | None:
    """Operands behind one fixed spelling of the options; None where a word is dynamic or an option unknown."""
    if options.unknown or not options.literal:
        return None
    paths = options.paths
    return (*leading, *(("--",) if any(path.startswith("-") and path != "-" for path in paths) else ()), *paths)


CAT = {"number": "n", "show-all": "A", "number-nonblank": "b", "show-ends": "E", "show-tabs": "T",
       "squeeze-blank": "s", "show-nonprinting": "v"}  # fmt: skip


def cat(call: Invocation) -> Part:
    """``cat FILE``: the whole file, numbered with -n; other options alter the lines."""
    options = parse_options(call.args, "nAbeEstTuv", CAT)
    flags = sorted({name for name, _ in options.given if name != "u"})
    if options.unknown:
        return inspects()
    if not call.fed and (not options.operands or any(word.literal == "-" for word in options.operands)):
        # The content of the caller's own standard input is unknown.
        return inspects(volatile=True)
    numbering = "" if not flags else "\t" if flags == ["n"] else CHANGED
    return show(call, options.operands, Selection(None, numbering), spelled(options, *(f"-{flag}" for flag in flags)))


LINES_OF = {"lines": "n:", "bytes": "c:", "quiet": "q", "silent": "q", "verbose": "v", "zero-terminated": "z",
            "follow": "f?", "retry": "F", "pid": "p:", "sleep-interval": "s:"}  # fmt: skip


def old_style(args: tuple[Word, ...]) -> tuple[Word, ...]:
    """``-20`` and ``+5`` as ``-n 20`` and ``-n +5``."""
    match = re.fullmatch(r"-([0-9]+)", args[0].literal or "") if args else None
    if match:
        return (Word("-n", "-n"), Word(match[1], match[1]), *args[1:])
    return args


def head(call: Invocation) -> Part:
    """``head -n 20 FILE``: the first lines."""
    options = parse_options(old_style(call.args), "n:c:qvz", LINES_OF)
    count = options.value("n") if options.has("n") else "10"
    if options.unknown or options.has("c", "v", "z") or count is None or not re.fullmatch(r"\+?[0-9]{1,9}", count):
        return inspects()
    if int(count) == 0:
        return inspects()
    selection = Selection((Lines(1, int(count)),))
    return show(call, options.operands, selection, spelled(options, *_quiet(options), "-n", str(int(count))))


def _quiet(options: Options) -> tuple[str, ...]:
    """``-q`` where it matters: several files get headings without it."""
    return ("-q",) if options.has("q") and len(options.operands) > 1 else ()


def tail(call: Invocation) -> Part:
    """``tail -n 20 FILE`` or ``tail -n +5 FILE``: the last lines, or all from one on."""
    args = call.args
    if args and re.fullmatch(r"\+[0-9]+", args[0].literal or ""):
        args = (Word("-n", "-n"), args[0], *args[1:])
    options = parse_options(old_style(args), "n:c:qvzfFs:", LINES_OF)
    count = options.value("n") if options.has("n") else "10"
    if options.has("f", "F", "p"):
        return inspects(volatile=True)
    if options.unknown or options.has("c", "v", "z") or count is None or not re.fullmatch(r"[-+]?[0-9]{1,9}", count):
        return inspects()
    lines = int(count.lstrip("-+"))
    quiet = _quiet(options)
    if count.startswith("+"):
        positions = (Lines(max(lines, 1)),)
        return show(call, options.operands, Selection(positions), spelled(options, *quiet, "-n", f"+{lines}"))
    if lines == 0:
        return inspects()
    return show(call, options.operands, Selection((Lines(-lines),)), spelled(options, *quiet, "-n", str(lines)))


NL = {"body-numbering": "b:", "number-separator": "s:", "number-width": "w:", "number-format": "n:",
      "starting-line-number": "v:", "line-increment": "i:", "section-delimiter": "d:", "header-numbering": "h:",
      "footer-numbering": "f:", "join-blank-lines": "l:", "no-renumber": "p"}  # fmt: skip


def nl(call: Invocation) -> Part:
    """``nl -ba FILE``: every line with its number; without -ba blank lines go unnumbered and numbers mean less."""
    options = parse_options(call.args, "b:s:w:n:v:i:d:h:f:l:p", NL)
    if options.unknown:
        return inspects()
    separator = options.value("s") if options.has("s") else "\t"
    usual = not options.has("v", "i", "d", "l") and options.value("n") in (None, "ln", "rn", "rz")
    plain = options.value("b") == "a" and usual
    numbering = separator if plain and separator else CHANGED
    return show(call, options.operands, Selection(None, numbering, "nl"), None)


def pager(call: Invocation) -> Part:
    """A pager without a terminal prints the whole file; ``less -o`` keeps a log, and ``+!`` runs a command."""
    operands = tuple(word for word in call.args if not (word.literal or "").startswith(("-", "+")))
    options = [word.literal or "" for word in call.args if word not in operands]
    if all(re.fullmatch(r"-[RSFXrn]+", option) for option in options):
        return show(call, operands, Selection(form="less"), None)
    harmless = all(re.fullmatch(r"-[RSFXrnNMmisIeEqQ]+|\+\d*[gG]?|-\d+|\+/.*", option) for option in options)
    return inspects() if harmless else runs(Category.INSPECT)


BAT = {"plain": "p", "number": "n", "line-range": "r:", "language": "l:", "style": "s:", "color": "c:", "paging": "g:",
       "theme": "t:", "decorations": "d:", "pager": "P:", "wrap": "w:", "no-pager": "N"}  # fmt: skip


def bat(call: Invocation) -> Part:
    """``bat -r 5:9 FILE``: undecorated when its output is not a terminal; ``bat cache`` keeps files of its own."""
    options = parse_options(call.args, "pnr:l:", BAT)
    if options.paths[:1] == ("cache",) or "--generate-config-file" in options.unknown:
        return runs()
    ranges_given = options.values("r")
    altered = options.unknown or options.has("n", "c", "d") or options.value("s") not in (None, "plain")
    lines = re.compile(r"([0-9]{0,9}):([0-9]{0,9})")
    match = lines.fullmatch(ranges_given[0].literal or "") if len(ranges_given) == 1 else None
    if altered or len(ranges_given) > 1 or (ranges_given and not match):
        return inspects()
    positions = (Lines(int(match[1] or 1), int(match[2]) if match[2] else None),) if match else None
    return show(call, options.operands, Selection(positions, form="bat"), None)


HEAD_TAIL = Reader("n:c:q", {"lines": "n:", "bytes": "c:"}, rewrite=old_style)

FACTS = (
    Facts(names="cat", does=cat, harmless=always, provable=Reader("nAbeEstTuv").sources),
    Facts(names="head", does=head, harmless=always, provable=HEAD_TAIL.sources),
    Facts(names="tail", does=tail, harmless=always, provable=HEAD_TAIL.sources),
    Facts(names="nl", does=nl, harmless=always, provable=Reader("b:s:w:n:").sources),
    # These show a file, some with a heading of their own.
    Facts(names="more", does=inspects(), allowed=COMPUTED, variables=Variables(r"MORE\w*")),
    Facts(names="most pg", does=inspects(), allowed=COMPUTED),
    Facts(
        names="less",
        does=pager,
        allowed=COMPUTED,
        variables=Variables(r"LESS\w*", harmless=("LESSCHARSET",)),
    ),
    Facts(
        names="bat batcat",
        does=bat,
        allowed=Allowed(
            "pnr:l:A",
            "plain number line-range: language: style: color: decorations: wrap: paging: theme: show-all"
            " list-languages list-themes tabs: terminal-width: highlight-line: no-pager help version",
        ),
        variables=Variables(r"BAT_\w*", ("BAT_PAGER",), ("BAT_THEME",)),
    ),
    # These show content, but not as lines of the file; ``pr`` prints the date.
    Facts(names="tac rev fold expand unexpand hexdump od strings", does=inspects(), harmless=always),
    Facts(names="column fmt hd", does=inspects()),
    Facts(names="pr", does=inspects(volatile=True)),
    Facts(
        names="zcat gzcat bzcat xzcat zless zgrep",
        does=inspects(),
        allowed=Allowed("nicrvwlhHoqsfA:B:C:m:e:", "help"),
    ),
)
"""Programs that show a file's lines."""
