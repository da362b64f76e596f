"""The only place that reads Ledger's words: references, and ranges that the state view calls current."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

MARK = "[Ledger:"
AGO = re.compile(r"(\d+) (?:commands?|steps?|calls?) ago|(?:the )?(?:previous|last) command")
FILE = r" of (?:`([^`]+)`|\"([^\"]+)\"|(.+?))(?= (?:are|is|stand|omitted)\b|$)"
NAMED = re.compile(rf"(?<![\w`'\"])lines? (\d+(?:\s*(?:-|to|,|and)\s*\d+)*)(?:{FILE})?", re.IGNORECASE)
ALL_NAMED = re.compile(rf"\ball (\d+) lines{FILE}", re.IGNORECASE)
WHOLE = re.compile(
    r"\b(?:output|it) (?:is|was) (?:exactly )?(?:the same|identical|unchanged)|\bsame (?:output|result)", re.I
)
BEGINNING = re.compile(r'beginning "(.*?)"(?=[.\],;)]|$)')


@dataclass(frozen=True)
class Target:
    """One earlier result that a reference points at."""

    ago: int
    name: str
    """The words before the distance, which should name the command."""
    lines: tuple[int, ...] = ()
    """The lines that it is said to show; none if they are not named."""
    file: str = ""
    beginning: str = ""
    """How its output is said to begin, without an ellipsis."""


@dataclass(frozen=True)
class Reference:
    """What a reference says."""

    text: str
    targets: tuple[Target, ...] = field(default=())
    whole: bool = False
    """It says that the output as a whole is the same, and names no lines."""


def read_reference(text: str) -> Reference:
    """Understand a reference; one without targets cannot be understood."""
    targets: list[Target] = []
    found = list(AGO.finditer(text))
    start, file = 0, ""
    for position, match in enumerate(found, 1):
        clause = text[start : match.start()]
        rest = text[match.end() : found[position].start() if position < len(found) else len(text)]
        lines, named = _lines(clause)
        file = named or file
        begins = BEGINNING.search(rest)
        beginning = begins[1].removesuffix("...").removesuffix("…") if begins else ""
        targets.append(Target(int(match[1] or 1), clause, lines, file, beginning))
        start = match.end()
    whole = bool(WHOLE.search(text)) and not any(target.lines for target in targets)
    return Reference(text, tuple(targets), whole)


def _lines(clause: str) -> tuple[tuple[int, ...], str]:
    """The lines and the file that a clause names."""
    numbers: list[int] = []
    file = ""
    if every := ALL_NAMED.search(clause):
        return tuple(range(1, int(every[1]) + 1)), _file(every[2] or every[3] or every[4])
    for match in NAMED.finditer(clause):
        file = _file(match[2] or match[3] or match[4] or "") or file
        for one in re.split(r"\s*(?:,|and)\s*", match[1]):
            first, *last = re.split(r"\s*(?:-|to)\s*", one)
            numbers += range(int(first), int(last[0] if last else first) + 1)
    return tuple(numbers), file


def _file(word: str) -> str:
    word = word.rstrip(":,;")
    return "" if word in ("it", "that", "this", "the") else word


def names(target: Target, command: str, current: str) -> bool:
    """Whether the words before the distance name this command."""
    said, whole = _plain(target.name), _plain(command)
    if whole in said:
        return True
    if re.search(r"same command", said):
        return _bare(command) == _bare(current)
    shortened = re.findall(r"`([^`]{4,}?)(?:\.\.\.|…)([^`]*)`|\"([^\"]{4,}?)(?:\.\.\.|…)([^\"]*)\"", said)
    return any(
        whole.startswith((one or other).strip()) and whole.endswith((end or last).strip())
        for one, end, other, last in shortened
    )


def begins(target: Target, output: str) -> bool:
    """Whether the output begins as the reference says."""
    return _plain(output).startswith(_plain(target.beginning))


def _plain(text: str) -> str:
    return " ".join(text.split())


def _bare(command: str) -> str:
    """A command without what changes nothing about it."""
    return re.sub(r"^cd \S+ (?:&&|;) |['\"]| 2>&1|\./", "", _plain(command).replace("--number", "-n"))


@dataclass(frozen=True)
class Claim:
    """Lines of a file that the state view calls current."""

    file: str
    text: str
    ranges: tuple[tuple[int, int], ...] = ()
    whole: int | None = None
    """The number of lines of the whole file, if it is all of them."""
    last: int | None = None
    """The number of lines at the end of the file."""
    visible: bool = True


def read_claims(view: str) -> list[Claim]:
    """What a state view calls current."""
    claims = []
    _, _, seen = view.partition("\nSeen")
    # A focused view lists only what is in context, and does not say so.
    focused = seen.startswith(" recently:")
    for row in re.findall(r"^- (.+)$", seen, re.M):
        file, _, body = row.partition(": ")
        for match in re.finditer(r"([^;()]+) \(([^)]*)\)", body):
            states = [state.strip() for state in match[2].split(",")]
            if "current" not in states:
                continue
            claims += _claims(file, match[1].strip(), focused or "in context" in states)
    return claims


def _claims(file: str, body: str, visible: bool) -> list[Claim]:
    text = f"{file}: {body} (current)"
    if match := re.match(r"whole(?: file)?,? (?:of )?(\d+) lines?", body):
        return [Claim(file, text, whole=int(match[1]), visible=visible)]
    claims = [Claim(file, text, last=int(count), visible=visible) for count in re.findall(r"last (\d+)", body)]
    ranges = re.findall(r"(?<![\d-])(\d+)(?:-(\d+))?(?![\d-])", re.sub(r"last \d+", "", body))
    if ranges:
        spans = tuple((int(first), int(last or first)) for first, last in ranges)
        claims.append(Claim(file, text, spans, visible=visible))
    return claims or [Claim(file, text, visible=visible)]
