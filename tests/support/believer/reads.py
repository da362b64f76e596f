"""Every form of a read that a user of a shell has: the command, and what it asks for."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from tests.support.believer.displays import COMPLETED, PLAIN, Chosen, Echo, Last, Part, Selection, Span, Style
from tests.support.believer.tools import FileRead

TRUE = Style("true")
TRUE_COMPLETED = Style("true", completes=True)
POSITION = Style("position")
POSITION_COMPLETED = Style("position", completes=True)
NL = Style("nonblank", unnumbered="       {text}", completes=True)
CAT_B = Style("nonblank")
GREP = Style("true", "{number}:{text}", completes=True)
AWK = Style("true", "{number}: {text}", completes=True)
AWK_WIDE = Style("true", "{number:5}  {text}", completes=True)

WHOLE: tuple[tuple[str, Style], ...] = (
    *((form, PLAIN) for form in ("cat {f}", "cat {f}", "cat < {f}", "cat -- {f}", "cat {f} 2>&1", "cat {f} | cat")),
    *((form, PLAIN) for form in ("tail -n +1 {f}", "sed -n p {f}", "sed '' {f}", "less {f}", "perl -pe '' {f}")),
    *(
        (form, PLAIN)
        for form in ("sed -n '1,$p' {f}", "cat {f} 2>/dev/null", "cat {f} || echo none", "head -c 99999 {f}")
    ),
    *((form, COMPLETED) for form in ("awk 1 {f}", "awk '{{print}}' {f}", "grep '' {f}")),
    *((form, TRUE) for form in ("cat -n {f}", "cat -n {f}", "cat {f} | cat -n", "cat --number {f}")),
    *((form, TRUE_COMPLETED) for form in ("nl -ba {f}", "nl -b a {f}", "cat {f} | nl -ba")),
    ("grep -n '' {f}", GREP),
    ("awk '{{print NR\": \"$0}}' {f}", AWK),
    ("nl {f}", NL),
    ("cat -b {f}", CAT_B),
)
RANGE: tuple[tuple[str, Style], ...] = (
    *((form, PLAIN) for form in ("sed -n '{a},{b}p' {f}",) * 5),
    *((form, PLAIN) for form in ("sed -n {a},{b}p {f}", "sed -n '{a},{b}p;{b}q' {f}", 'sed -n "{a},{b}p" {f} 2>&1')),
    *(
        (form, PLAIN)
        for form in ("cat {f} | sed -n '{a},{b}p'", "head -n {b} {f} | tail -n +{a}", "sed '{a},{b}!d' {f}")
    ),
    *(
        (form, PLAIN)
        for form in ("tail -n +{a} {f} | head -n {k}", "sed -n -e '{a},{b}p' {f}", "sed -n '{a},+{j}p' {f}")
    ),
    ("perl -ne 'print if $. >= {a} && $. <= {b}' {f}", PLAIN),
    *((form, COMPLETED) for form in ("awk 'NR>={a} && NR<={b}' {f}", "awk 'NR=={a},NR=={b}' {f}")),
    ("awk 'NR>={a} && NR<={b} {{print}}' {f}", COMPLETED),
    *((form, TRUE) for form in ("cat -n {f} | sed -n '{a},{b}p'", "cat -n {f} | head -n {b} | tail -n +{a}")),
    *((form, TRUE_COMPLETED) for form in ("nl -ba {f} | sed -n '{a},{b}p'", "nl -ba {f} | sed -n '{a},{b}p'")),
    ("grep -n '' {f} | sed -n '{a},{b}p'", GREP),
    ("awk 'NR>={a} && NR<={b} {{print NR\": \"$0}}' {f}", AWK),
    ("awk 'NR>={a}&&NR<={b}{{printf \"%5d  %s\\n\", NR, $0}}' {f}", AWK_WIDE),
    ("sed -n '{a},{b}p' {f} | cat -n", POSITION),
    ("sed -n '{a},{b}p' {f} | nl -ba", POSITION_COMPLETED),
)
HEAD: tuple[tuple[str, Style], ...] = (
    *((form, PLAIN) for form in ("head -n {b} {f}", "head -n {b} {f}", "head -{b} {f}", "cat {f} | head -n {b}")),
    *((form, PLAIN) for form in ("sed '{b}q' {f}", "head -n{b} {f}", "sed -n '1,{b}p' {f}", "cat {f} | head -{b}")),
    *((form, TRUE) for form in ("head -n {b} {f} | cat -n", "cat -n {f} | head -n {b}")),
    ("nl -ba {f} | head -n {b}", TRUE_COMPLETED),
)
TAIL: tuple[tuple[str, Style], ...] = (
    *((form, PLAIN) for form in ("tail -n {k} {f}", "tail -n {k} {f}", "tail -{k} {f}", "cat {f} | tail -n {k}")),
    ("cat -n {f} | tail -n {k}", TRUE),
    ("tail -n {k} {f} | cat -n", POSITION),
    ("tail -n {k} {f} | nl -ba", POSITION_COMPLETED),
)
REST: tuple[tuple[str, Style], ...] = (
    *((form, PLAIN) for form in ("tail -n +{a} {f}", "tail -n +{a} {f}", "sed -n '{a},$p' {f}", "sed '1,{i}d' {f}")),
    ("awk 'NR>={a}' {f}", COMPLETED),
    ("cat -n {f} | tail -n +{a}", TRUE),
    ("tail -n +{a} {f} | cat -n", POSITION),
)
TEXT = (
    *("cat -s {f}", "tac {f}", "sort {f}", "cut -c1-40 {f}", "sed -n '{a},{b}p' {f} | cut -c1-30", "sed 's/e/E/' {f}"),
    *("cat -A {f}", "sort {f} | uniq -c", "wc -l {f}", "ls -a", "find . -name '*.py'"),
    *(
        "grep -c '' {f}",
        "cat {f} missing.txt",
        "cat {f}; false",
        "grep -rn value .",
        "rev {f}",
        "sed -n '{a},{b}p' {f} | tac",
    ),
    *(
        "sed -n '{a},{b}p' {f} | grep -v '^$'",
        "cat {f} | tr a-z A-Z",
        "expand {f}",
        "fold -w 30 {f}",
        "head -c 300 {f}",
        "tail -c 400 {f}",
    ),
)
"""Commands that show more, less or something other than lines of a file in their order: only their text is judged."""


@dataclass(frozen=True)
class Ask:
    """A command, and the lines that it asks for."""

    command: str
    parts: tuple[Part | Echo | FileRead, ...] = ()
    """In the order of the output; none if only the text of the output can be judged."""
    harmless: bool = True
    """Whether it only looks."""
    early: bool = False
    """Whether it changes a file behind the last look."""
    cwd: Path | None = None
    """Where it runs, if not in the agent's folder."""
    tool: FileRead | None = None
    """The call of a tool that it is, if it is no command of a shell."""


def fill(form: str, word: str, first: int, last: int) -> str:
    """A form of a command with its blanks filled in."""
    count = last - first + 1
    return form.format(f=word, a=first, b=last, k=count, i=first - 1, j=count - 1)


def containing(word: str) -> Chosen:
    """The lines that hold a word."""
    return Chosen(lambda lines: [number for number, line in enumerate(lines, 1) if word in line])


def odd(random: Random, word: str, first: int, last: int) -> tuple[str, Selection, Style]:
    """A read that shows its lines, or their numbers, in a form of its own."""
    a, b = first, last
    count = b - a + 1
    small = random.randint(3, 9)
    search = random.choice(("value", "return", "}", "item"))
    offset = random.choice((a, a, 0, 1, 10))
    nl_offset = Style("position", completes=True, start=offset)
    forms: tuple[tuple[str, Choice | Selection, Style], ...] = (
        (f"grep -n '{search}' {word}", containing(search), GREP),
        (f"grep '{search}' {word}", containing(search), COMPLETED),
        (f"head -n -{small} {word}", lambda n: span(1, n - small), PLAIN),
        (f"head -n {b} {word} | tail -n {count}", lambda n: span(1, min(b, n))[-count:], PLAIN),
        (f"tail -n {count} {word} | head -n {small}", lambda n: span(max(1, n - count + 1), n)[:small], PLAIN),
        (f"tail -n {count} {word} | head -n {count - 1}", lambda n: span(max(1, n - count + 1), n)[: count - 1], PLAIN),
        (f"tail -n +{a} {word} | tail -n +{small}", Span(a + small - 1), PLAIN),
        (f"sed -n '{a},{b}p' {word} | sed -n '{small},{count}p'", Span(a + small - 1, b), PLAIN),
        (f"sed -n '{a},{b}p' {word} | head -n {small}", Span(a, min(b, a + small - 1)), PLAIN),
        (f"sed -n '{a},{b}p' {word} | tail -n {small}", lambda n: span(a, min(b, n))[-small:], PLAIN),
        (f"nl -ba {word} | tail -n +{a} | head -n {count}", Span(a, b), TRUE_COMPLETED),
        (f"sed -n '{a}p;{b + 1}p' {word}", lambda n: [one for one in (a, b + 1) if one <= n], PLAIN),
        (
            f"sed -n '{a},{b}p;{b + 3},{b + 12}p' {word}",
            lambda n: span(a, min(b, n)) + span(b + 3, min(b + 12, n)),
            PLAIN,
        ),
        (f"sed -n '{a},{b}!p' {word}", lambda n: [one for one in span(1, n) if not a <= one <= b], PLAIN),
        (f"sed '{a},{b}d' {word}", lambda n: [one for one in span(1, n) if not a <= one <= b], PLAIN),
        (f"sed '{a},{b}p' {word}", lambda n: sorted(span(1, n) + span(a, min(b, n))), COMPLETED),
        (f"awk 'NR%2' {word}", lambda n: list(range(1, n + 1, 2)), COMPLETED),
        (f"awk 'NR<={b}' {word}", Span(1, b), COMPLETED),
        (f"awk 'NR>{b}{{exit}} {{print}}' {word}", Span(1, b), COMPLETED),
        (f"sed -n '$p' {word}", Last(1), PLAIN),
        (f"sed -n '{a}p' {word}", Span(a, a), PLAIN),
        (f"tail -n +{a} {word} | nl -ba -v{offset}", Span(a), nl_offset),
        (f"nl -ba -v{offset} {word}", Span(), nl_offset),
        (f"nl -ba -i2 {word}", Span(), Style("position", completes=True, increment=2)),
        (f"nl -ba -w3 -s': ' {word}", Span(), Style("true", "{number:3}: {text}", completes=True)),
        (
            f"awk '{{print NR+{a}\":\"$0}}' {word}",
            Span(),
            Style("position", "{number}:{text}", completes=True, start=a + 1),
        ),
        (f"sed -n '{a},{b}p' {word} | grep -n ''", Span(a, b), Style("position", "{number}:{text}", completes=True)),
        (f"while IFS= read -r line; do printf '%s\\n' \"$line\"; done < {word}", Chosen(complete_lines), PLAIN),
        (f"f={word}; sed -n '{a},{b}p' \"$f\"", Span(a, b), PLAIN),
        (f'for f in {word}; do head -n {b} "$f"; done', Span(1, b), PLAIN),
        (f"head --lines={b} {word}", Span(1, b), PLAIN),
        (f"tail --lines=+{a} {word}", Span(a), PLAIN),
        (f"tail --lines={count} {word}", Last(count), PLAIN),
        (f"tac {word} | tac", Span(), PLAIN),
        (f"echo {word} | xargs cat", Span(), PLAIN),
    )
    command, choice, style = random.choice(forms)
    if isinstance(choice, Span | Last | Chosen):
        return command, choice, style
    return command, Chosen(lambda lines: choice(len(lines)), counted=True), style


Choice = Callable[[int], list[int]]
"""Line numbers, by the number of lines of the file."""


def span(first: int, last: int) -> list[int]:
    return list(range(first, last + 1))


def complete_lines(lines: Sequence[str]) -> list[int]:
    """The lines that have an end."""
    return [number for number, line in enumerate(lines, 1) if line.endswith("\n")]


def several(random: Random, paths: Sequence[Path], words: Sequence[str], first: int, last: int) -> Ask:
    """One command that reads two files."""
    (one, other), (word, second) = paths, words
    selection = Span(1, last)
    titled = (Echo(f"==> {word} <==\n"), Part(one, selection), Echo(f"\n==> {second} <==\n"), Part(other, selection))
    middle = Span(first, last)
    forms: tuple[tuple[str, tuple[Part | Echo, ...]], ...] = (
        (f"cat {word} {second}", (Part(one), Part(other))),
        (f"cat {second} {word}", (Part(other), Part(one))),
        (f"head -n {last} {word} {second}", titled),
        (
            f"sed -n '{first},{last}p' {word}; sed -n '{first},{last}p' {second}",
            (Part(one, middle), Part(other, middle)),
        ),
        (f"sed -s -n '{first},{last}p' {word} {second}", (Part(one, middle), Part(other, middle))),
        (f"cat -n {word}; cat -n {second}", (Part(one, style=TRUE), Part(other, style=TRUE))),
        (f'for f in {word} {second}; do cat "$f"; done', (Part(one), Part(other))),
        (f"cat -n {word} {second}", ()),
        (f"sed -n '{first},{last}p' {word} {second}", ()),
        (f"awk 'NR>={first} && NR<={last}' {word} {second}", ()),
        (f"grep -n '' {word} {second}", ()),
        (f"cat {word} {second} | sed -n '{first},{last}p'", ()),
        (f"diff {word} {second}", ()),
    )
    return Ask(*random.choice(forms))


def read(random: Random, path: Path, word: str, first: int, last: int) -> Ask:
    """A read of about these lines, in one of all forms."""
    kind = random.random()
    selection: Selection
    if kind < 0.22:
        (form, style), selection = random.choice(WHOLE), Span()
    elif kind < 0.58:
        (form, style), selection = random.choice(RANGE), Span(first, last)
    elif kind < 0.66:
        (form, style), selection = random.choice(HEAD), Span(1, last)
        first = 1
    elif kind < 0.73:
        (form, style), selection = random.choice(TAIL), Last(last - first + 1)
    elif kind < 0.79 and first > 1:
        (form, style), selection = random.choice(REST), Span(first)
    elif kind < 0.985:
        command, selection, style = odd(random, word, first, last)
        return Ask(command, (Part(path, selection, style),))
    else:
        return Ask(fill(random.choice(TEXT), word, first, last))
    return Ask(fill(form, word, first, last), (Part(path, selection, style),))


def words(random: Random, folder: Path, path: Path) -> tuple[str, str]:
    """The prefix of the read, and the word for the file: relative, absolute, or from within its folder."""
    relative = path.relative_to(folder)
    kind = random.random()
    if kind < 0.6:
        return "", shlex.quote(str(relative))
    if kind < 0.7:
        return "", shlex.quote(f"./{relative}")
    if kind < 0.73:
        return "", shlex.quote(str(path))
    if kind < 0.93:
        return f"cd {shlex.quote(str(path.parent))} && ", shlex.quote(path.name)
    if relative.parent == Path("."):
        return f"cd {shlex.quote(str(folder))} && ", shlex.quote(path.name)
    into = f"cd {shlex.quote(str(relative.parent))}"
    up = "/".join([".."] * len(relative.parent.parts))
    return random.choice(
        (
            (f"{into} && ", shlex.quote(path.name)),
            (f"{into}; ", shlex.quote(path.name)),
            (f"{into} && cd {up} && ", shlex.quote(str(relative))),
            (f"{into} && ", shlex.quote(f"{up}/{relative}")),
        )
    )


Range = tuple[int, int]


def look(random: Random, folder: Path, path: Path, choose: Callable[[], Range], roams: bool = False) -> Ask:
    """One read, or two in one command; with ``roams`` it may run in the file's folder."""
    before, word = words(random, folder, path)
    cwd = None
    if roams and random.random() < 0.6:
        before, word, cwd = "", shlex.quote(path.name), path.parent
    ask = read(random, path, word, *choose())
    if random.random() < 0.1:
        other = read(random, path, word, *choose())
        between: Sequence[Echo] = ()
        joint = random.choice((" && ", "; ", "; echo ---; ", " && echo '=====' && "))
        if "echo" in joint:
            between = (Echo("---\n" if "---" in joint else "=====\n"),)
        parts = (*ask.parts, *between, *other.parts) if ask.parts and other.parts else ()
        ask = Ask(f"{ask.command}{joint}{other.command}", parts)
    return Ask(before + ask.command, ask.parts, cwd=cwd)
