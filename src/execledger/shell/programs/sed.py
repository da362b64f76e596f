"""``sed``: which lines it prints, and what it writes.

A script is read command by command; whatever is not recognised leaves no claim about lines, and a script that may
write or run something has unknown effects.
"""

from __future__ import annotations

import re

from msgspec import Struct
from msgspec.structs import replace

from execledger.shell.facts import Facts, Invocation, Part, Reader, Selection, inspects, literal, runs, writes
from execledger.shell.options import parse_options
from execledger.shell.programs.readers import show
from execledger.shell.programs.shared import DEVICES, touched
from execledger.shell.tree import Word
from execledger.shell.words import may_be_option
from execledger.vocabulary.records import CHANGED, Category, Lines, Scope

LONG = {"quiet": "n", "silent": "n", "expression": "e:", "file": "f:", "in-place": "i?", "regexp-extended": "E",
        "separate": "s", "null-data": "z", "unbuffered": "u", "line-length": "l:", "posix": "p", "debug": "d",
        "follow-symlinks": "F", "sandbox": "S"}  # fmt: skip

QUIT = "sed q"
"""The form of what is printed before a quit: a newline that the file lacks at its end is added."""


class SedCommand(Struct, frozen=True):
    """One command of a sed script."""

    name: str
    """Its letter."""
    lines: Lines | None
    """The lines that it applies to; None is all of them."""
    negated: bool = False
    """It applies to all other lines."""
    exact: bool = True
    """The address is line numbers alone, not a pattern."""
    target: str = ""
    """The file that it writes lines to."""


ADDRESS = re.compile(
    r"(?P<first>[0-9]{1,9}|\$)(?![0-9])(?:\s*,\s*(?P<last>\+?[0-9]{1,9}(?![0-9])|\$))?\s*(?P<negated>!?)\s*"
)
PATTERN = re.compile(
    r"(?:/(?:[^/\\\n]|\\.)*/I?M?|\\(?P<d>[^\n\\])(?:(?!(?P=d)).)*(?P=d)I?M?|[0-9]+~[0-9]+|0|[0-9]+|\$)"
    r"(?:\s*,\s*(?:/(?:[^/\\\n]|\\.)*/I?M?|[+~]?[0-9]+|\$))?\s*!?\s*"
)
TRANSLATION = re.compile(r"y(?P<d>[^\\\n\w])(?:(?!(?P=d))[^\\\n]|\\.)*+(?P=d)(?:(?!(?P=d))[^\\\n]|\\.)*+(?P=d)")
SUBSTITUTION = re.compile(
    r"s(?P<d>[^\\\n\w])"
    # The delimiter is literal inside of brackets.
    r"(?>\[\^?\]?(?:\[[:.=][^]\n]*\]|\\.|[^]\\\n])*+\]|(?!(?P=d))[^\\]|\\.)*+(?P=d)"
    r"(?>(?!(?P=d))[^\\]|\\.)*+(?P=d)(?P<flags>[^\Ww]*)(?:w[ \t]*(?P<target>[^\n]+))?",
    re.DOTALL,
)
PLAIN = re.compile(r"[pdqQ=nNDPgGhHxlz]|[bt:T][ \t]*[\w.-]*|r[ \t]+[^\n]*")
OUTPUT = re.compile(r"[wW][ \t]*(?P<target>[^\n]+)")
ENDED = re.compile(r"[ \t]*(?:[;}\n#]|\Z)")
"""What may follow a command."""
INSERTION = re.compile(r"[aic]\s*(?:\\\n|\\)?(?:[^\n\\]|\\[\s\S])*")


def read_script(script: str) -> list[SedCommand] | None:
    """The commands of a script; None if one of them is not recognised or may run something."""
    commands: list[SedCommand] = []
    at = 0
    if script.startswith("#n"):
        # At the very beginning this is no remark: it keeps lines from being printed.
        commands.append(SedCommand("#", None, False, exact=False))
    while at < len(script):
        if script[at] in " \t\n;}":
            at += 1
            continue
        if script[at] == "#":
            at = (script.find("\n", at) + 1) or len(script)
            continue
        lines, negated, exact, at = _address(script, at)
        if at < len(script) and script[at] == "{":
            # A block's commands apply to the block's lines only: the script stays known, its lines do not.
            commands.append(SedCommand("{", lines, negated, exact=False))
            at += 1
            continue
        kinds = (SUBSTITUTION, TRANSLATION, INSERTION, OUTPUT, PLAIN)
        match = next((match for match in (kind.match(script, at) for kind in kinds) if match), None)
        if not match or (script[at] == "s" and "e" in match["flags"]):
            return None
        commands.append(SedCommand(script[at], lines, negated, exact, match.groupdict().get("target") or ""))
        at = match.end()
        if not ENDED.match(script, at):
            return None
    return commands


def _address(script: str, at: int) -> tuple[Lines | None, bool, bool, int]:
    """The address at ``at``: lines, whether negated, whether it is line numbers alone, and where it ends."""
    match = ADDRESS.match(script, at)
    if match and not script.startswith(("~", ","), match.end()):
        first = -1 if match["first"] == "$" else int(match["first"])
        last = match["last"]
        if last is None:
            lines = Lines(first, None if first < 0 else first)
        elif last == "$":
            lines = Lines(first, None)
        else:
            # A second line at or before the first selects the first line alone.
            lines = Lines(first, max(first, first + int(last[1:]) if last[0] == "+" else int(last)))
        return lines, bool(match["negated"]), first != 0, match.end()
    pattern = PATTERN.match(script, at)
    if pattern and pattern.end() > at:
        return None, pattern[0].rstrip().endswith("!"), False, pattern.end()
    return None, False, True, at


def printed(commands: list[SedCommand], quiet: bool) -> Selection | None:
    """What the script lets through: a selection if it is line numbers alone, else None."""
    if any(not command.exact for command in commands):
        return None
    names = {command.name for command in commands}
    if quiet and names <= {"p", "q"}:
        return _quiet_print(commands)
    if not quiet and len(commands) == 1:
        (command,) = commands
        if command.name == "q" and command.lines and command.lines.first == command.lines.last and not command.negated:
            return Selection((Lines(1, command.lines.first),), form=QUIT)
        if command.name == "d" and command.lines and command.negated:
            return Selection((command.lines,))
        if command.name == "d" and command.lines and not command.negated:
            return _all_but(command.lines)
    return Selection() if not quiet and not commands else None


def _quiet_print(commands: list[SedCommand]) -> Selection | None:
    """``sed -n`` with prints, perhaps ended early by a quit after the last printed line."""
    prints = [command.lines for command in commands if command.name == "p" and not command.negated]
    quits = [command.lines for command in commands if command.name == "q" and not command.negated]
    if len(prints) + len(quits) != len(commands) or len(quits) > 1:
        return None
    if not prints or None in quits:
        return None
    if any(lines is None for lines in prints):
        return Selection() if len(prints) == 1 and not quits else None
    known = sorted(lines for lines in prints if lines is not None)
    if quits and quits[0] is not None:
        end = quits[0].first
        if any(lines.last is None or lines.last > end for lines in known) or commands[0].name == "q":
            return None
    return Selection(tuple(known), form=QUIT if quits else "")


def _all_but(lines: Lines) -> Selection | None:
    """All lines but ``lines``."""
    if lines.first < 0:
        return None
    kept = [Lines(1, lines.first - 1)] if lines.first > 1 else []
    if lines.last is not None:
        kept.append(Lines(lines.last + 1))
    return Selection(tuple(kept)) if kept else None


def sed(call: Invocation) -> Part:
    """``sed -n 5,9p FILE`` shows lines, ``sed -i`` edits files."""
    options = parse_options(call.args, "nEre:f:i::szul:", LONG)
    scripts = options.values("e")
    operands = options.operands
    if not scripts and not options.has("f") and operands:
        scripts, operands = [operands[0]], operands[1:]
    text = None if options.has("f") else _joined(scripts)
    commands = None if text is None else read_script(text)
    outputs = [command.target for command in commands or () if command.target]
    if any(map(may_be_option, operands)):
        options = replace(options, unknown=("computed",))
    if options.has("i"):
        return _in_place(options.value("i") or "", operands, outputs, commands is not None)
    if commands is None or options.unknown:
        harmless = text is None and not options.has("f") and not options.unknown
        return inspects() if harmless and not _may_write(scripts) else runs(Category.INSPECT)
    if outputs:
        return touched(outputs, files=True)
    plain = not options.has("s", "z", "d") and not any(command.name == "l" for command in commands)
    selection = printed(commands, options.has("n")) if plain else None
    if selection is None and plain and not options.has("n"):
        altered = all(command.name in "sy" for command in commands) and not _breaks_lines(text or "")
        selection = Selection(None, CHANGED) if altered else None
    if selection is None:
        return inspects()
    flags = [f"-{name}" for name in ("n", "E", "z") if options.has(name)] + ["-E"] * options.has("r")
    return show(call, operands, selection, _spelled(text or "", flags, operands))


def _breaks_lines(script: str) -> bool:
    """A substitution may put line breaks into a line, or print it twice."""
    return bool(re.search(r"\\n|\\\n|p\w*\s*(?:[;}\n]|$)", script))


def _joined(scripts: list[Word]) -> str | None:
    """Several -e scripts are one script of as many lines."""
    texts = [word.literal for word in scripts]
    return None if not texts or None in texts else "\n".join(text for text in texts if text is not None)


NUMBER = re.compile(r"\d+|\$\(\([^()]*\)\)|\$(?![\w{(])")
"""A line number in a script that is not literal: given, calculated, or the last one. A variable may hold any text."""


def _may_write(scripts: list[Word]) -> bool:
    """A computed script only prints if it is line numbers and prints; anything else may hold a ``w`` or an ``e``."""
    sources = [NUMBER.sub("0", word.source.strip("\"'")) for word in scripts]
    return not all(re.fullmatch(r"[\d,+; ]*[pqd][\d,+;pqd ]*", source) for source in sources)


def _in_place(suffix: str, operands: tuple[Word, ...], outputs: list[str], known: bool) -> Part:
    """``sed -i``: its files change, and a suffix keeps the old text beside each."""
    paths = [word.literal for word in operands if word.literal is not None]
    backups = [path + suffix for path in paths] if suffix and "*" not in suffix and "/" not in suffix else []
    literal = bool(paths) and len(paths) == len(operands)
    named = [path for path in (*paths, *backups, *outputs) if not DEVICES.fullmatch(path)]
    certain = known and literal and len(backups) == (len(paths) if suffix else 0)
    if certain:
        return writes(*named)
    scope = Scope.FILES if literal else Scope.TREE
    return runs(Category.MODIFY, writes=tuple(named), scope=scope)


def _spelled(script: str, flags: list[str], operands: tuple[Word, ...]) -> tuple[str, ...] | None:
    """One spelling for ``-n -e X`` and ``-n X``."""
    paths = [word.literal for word in operands if word.literal is not None]
    if len(paths) != len(operands):
        return None
    ends = ("--",) if any(text.startswith("-") and text != "-" for text in (script, *paths)) else ()
    return (*flags, *ends, script, *paths)


def _prints_only(scripts: list[str], files: list[str]) -> bool:
    """The scripts write no file and run nothing."""
    commands = read_script("\n".join(scripts))
    return commands is not None and all(command.name in "{pdqQ=nNDPgGhHxlsybt:T" for command in commands)


READER = Reader(
    "nErse:",
    {"quiet": "n", "silent": "n", "expression": "e:", "regexp-extended": "E"},
    texts=1,
    accepts=_prints_only,
)
UNAMBIGUOUS = re.compile(r"(?:[\d,$+~!;{}pdq=\s]|/[^/\\\[\]\n]*/)*")
"""A script that selects and prints lines, without anything that could be read in two ways."""


def _harmless(args: tuple[Word, ...]) -> bool:
    """Literal arguments, of which every script is unambiguous."""
    options = READER.options(args)
    scripts = [word.literal or "" for word in options.values("e")] or list(options.paths[:1])
    return literal(args) and not options.unknown and bool(scripts) and all(map(UNAMBIGUOUS.fullmatch, scripts))


FACTS = (
    Facts(names="sed", does=sed, harmless=_harmless, provable=READER.sources),
    Facts(names="gsed", does=sed),
)
"""The implementations of sed."""
