"""Changes of a file: what changes, and the many channels through which a change can come."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Callable
from pathlib import Path
from random import Random

from tests.support.believer.displays import split

Lines = list[str]


def some_line(random: Random) -> str:
    """A new line, often one that the file has many of."""
    fresh = f"value_{random.randint(100, 999)} = compute(number={random.randint(1, 99)})\n"
    return random.choice((fresh, fresh, "}\n", "\n", "    return item\n", "value_7 = compute(number=7)\n"))


def block(random: Random, lines: Lines) -> tuple[int, int]:
    """The bounds of a few lines somewhere in the file, as a slice; more often near its beginning."""
    first = min(random.randrange(len(lines)), random.randrange(len(lines)))
    return first, min(len(lines), first + random.choice((1, 1, 2, 3, 5, 8, 11)))


def delete(random: Random, lines: Lines) -> Lines:
    first, last = block(random, lines)
    return lines[:first] + lines[last:]


def insert(random: Random, lines: Lines) -> Lines:
    first, _ = block(random, lines)
    return lines[:first] + [some_line(random) for _ in range(random.choice((1, 1, 2, 4)))] + lines[first:]


def substitute(random: Random, lines: Lines) -> Lines:
    first, last = block(random, lines)
    return lines[:first] + [some_line(random) for _ in lines[first:last]] + lines[last:]


def duplicate(random: Random, lines: Lines) -> Lines:
    first, last = block(random, lines)
    return lines[:last] + lines[first:last] + lines[last:]


def move(random: Random, lines: Lines) -> Lines:
    first, last = block(random, lines)
    rest = lines[:first] + lines[last:]
    target = random.randrange(len(rest) + 1)
    return rest[:target] + lines[first:last] + rest[target:]


def swap(random: Random, lines: Lines) -> Lines:
    one, other = random.randrange(len(lines)), random.randrange(len(lines))
    copy = list(lines)
    copy[one], copy[other] = copy[other], copy[one]
    return copy


def cut_off(random: Random, lines: Lines) -> Lines:
    return lines[: max(1, len(lines) - random.randint(1, 9))]


def behead(random: Random, lines: Lines) -> Lines:
    return lines[random.randint(1, min(9, len(lines))) :]


def append(random: Random, lines: Lines) -> Lines:
    return [*lines, *(some_line(random) for _ in range(random.randint(1, 4)))]


def final_newline(random: Random, lines: Lines) -> Lines:
    last = lines[-1]
    return [*lines[:-1], last[:-1] if last.endswith("\n") and len(last) > 1 else last + "\n"]


def line_ends(random: Random, lines: Lines) -> Lines:
    if any(line.endswith("\r\n") for line in lines):
        return [line.replace("\r\n", "\n") for line in lines]
    return [line.replace("\n", "\r\n") for line in lines]


def one_line_end(random: Random, lines: Lines) -> Lines:
    first, last = block(random, lines)
    return lines[:first] + line_ends(random, lines[first:last]) + lines[last:]


def indent(random: Random, lines: Lines) -> Lines:
    first, last = block(random, lines)
    return lines[:first] + [f"    {line}" for line in lines[first:last]] + lines[last:]


CHANGES: tuple[Callable[[Random, Lines], Lines], ...] = (
    *(delete, delete, delete, insert, insert, insert, substitute, substitute, duplicate, duplicate, move, swap),
    *(cut_off, cut_off, behead, behead, append, append, final_newline, line_ends, one_line_end, indent),
)


def changed(random: Random, text: str) -> str:
    """The text with one change."""
    lines = split(text)
    return "".join(random.choice(CHANGES)(random, lines)) if lines else some_line(random)


# Channels for any change: how a new text gets into a file.


def heredoc(word: str, old: str, new: str) -> str:
    if not new.endswith("\n"):
        return f"printf %s {shlex.quote(new)} > {word}"
    return f"cat > {word} <<'END_OF_TEXT'\n{new}END_OF_TEXT"


def printed(word: str, old: str, new: str) -> str:
    return f"printf %s {shlex.quote(new)} | tee {word} > /dev/null"


def moved_over(word: str, old: str, new: str) -> str:
    return f"printf %s {shlex.quote(new)} > .new && mv .new {word}"


def copied_over(word: str, old: str, new: str) -> str:
    return f"printf %s {shlex.quote(new)} > scratch.txt; cp scratch.txt {word}; rm scratch.txt"


def recreated(word: str, old: str, new: str) -> str:
    return f"rm -f {word}\nprintf %s {shlex.quote(new)} > {word}"


def by_python(word: str, old: str, new: str) -> str:
    return f"python3 -S -E - {word} <<'PY'\nimport sys\nopen(sys.argv[1], 'w', newline='').write({new!r})\nPY"


def difference(name: str, old: str, new: str) -> str:
    """A patch from one text to the other, as ``diff -u`` writes it."""
    lines = difflib.unified_diff(split(old), split(new), f"a/{name}", f"b/{name}", n=3)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def by_patch(word: str, old: str, new: str) -> str:
    return f"patch -s --binary {word} <<'END_OF_PATCH'\n{difference('f', old, new)}END_OF_PATCH"


def by_ed(word: str, old: str, new: str) -> str:
    if not new.endswith("\n"):
        return heredoc(word, old, new)
    kept = [line for line in split(new) if line != ".\n"]
    return f"ed -s {word} <<'END_OF_ED'\n%d\ni\n{''.join(kept)}.\nw\nq\nEND_OF_ED"


CHANNELS = (heredoc, printed, moved_over, copied_over, recreated, by_python, by_patch, by_ed)
SEALED_CHANNELS = (heredoc, heredoc, printed, moved_over, copied_over)
"""Those after which more can still be known: programs without unknown effects."""


# Changes that belong to one program.


def native(random: Random, word: str, lines: Lines) -> str:
    """An edit in place, as people type it."""
    total = len(lines)
    first = min(random.randint(1, total), random.randint(1, total))
    last = min(total, first + random.choice((0, 0, 1, 2, 4, 10)))
    new = some_line(random).rstrip("\n") or "value_0 = 0"
    return random.choice(
        (
            f"sed -i '{first},{last}d' {word}",
            f"sed -i '{first},{last}d' {word}",
            f"sed -i '{first},{last}d' {word}",
            f"sed -i '{first}d' {word}",
            f"sed -i '1,{min(total, random.randint(1, 8))}d' {word}",
            f"sed -i '{first}i\\{new}' {word}",
            f"sed -i '{first}i\\{new}' {word}",
            f"sed -i '1i\\{new}' {word}",
            f"sed -i '{first}a\\{new}' {word}",
            f"sed -i '{first},{last}s/$/  # changed/' {word}",
            f"sed -i '{first}s/e/E/' {word}",
            f"sed -i 's/value_{random.randint(1, 20)} /renamed /' {word}",
            f"sed -i '{first},{last}p' {word}",
            f"sed -i -e '{first}d' -e '{last}s/^/# /' {word}",
            "sed -i '$d' " + word,
            f"sed -i '/^$/d' {word}",
            f"sed -i 's/$/\\r/' {word}",
            f"sed -i 's/\\r$//' {word}",
            f"sed -i '{first}h;{first}d;{last}G' {word}",
            f"echo '{new}' >> {word}",
            f"echo >> {word}",
            f"printf 'no end' >> {word}",
            f"printf '%s\\n' '{new}' '}}' >> {word}",
            f"truncate -s -1 {word}",
            f"truncate -s -{random.randint(2, 200)} {word}",
            f"head -n -{random.randint(1, 8)} {word} > .cut && mv .cut {word}",
            f"tail -n +{random.randint(2, 9)} {word} > .cut && mv .cut {word}",
            f"sort -o {word} {word}",
            f"tac {word} > .tac && mv .tac {word}",
            f"perl -pi -e 'chomp if eof' {word}",
            f"perl -i -ne 'print unless $. == {first}' {word}",
            f"awk 'NR!={first}' {word} > .awk && cp .awk {word}",
            f"sed -n '{first},{last}p' {word} > .block && cat .block >> {word}",
            f": > {word}",
        )
    )


def among_files(random: Random, folder: Path, path: Path, others: list[Path], repository: bool) -> str:
    """A change by moving, copying, linking or checking out files."""
    word = shlex.quote(str(path.relative_to(folder)))
    other = shlex.quote(str(random.choice(others).relative_to(folder))) if others else "other.txt"
    if repository and random.random() < 0.6:
        return random.choice(
            (
                f"git checkout -q -- {word}",
                f"git checkout -q HEAD -- {word}",
                "git stash -q",
                "git stash pop -q",
                "git reset -q --hard",
                f"git restore {word}",
                f"git add -A && git commit -q -m more && sed -i '1d' {word}",
            )
        )
    return random.choice(
        (
            f"cp {word} {word}.bak",
            f"cp {word} {word}.bak && sed -i '2,4d' {word}",
            f"cp {word}.bak {word}",
            f"mv {word}.bak {word}",
            f"cp {word} copy.py",
            f"cp {other} {word}",
            f"mv {word} .swap && mv {other} {word} && mv .swap {other}",
            f"rm -f {word}",
            f"cat {other} {word} > .both && mv .both {word}",
            f"cat {word} >> {other}",
            f"ln -sfn {word} link.py",
            f"ln -sfn {other} link.py",
            f"nl -ba {word} > numbered.txt",
        )
    )
