"""The syntax of patches, without any grammar: unified diffs and the ``*** Begin Patch`` form."""

from __future__ import annotations

import re

from msgspec import Struct, field

_FORM = re.compile(r"^(?:(\*\*\* Begin Patch[ \t\r]*$)|diff --git |--- .*\n\+\+\+ )", re.MULTILINE)
_SECTION = re.compile(r"\*\*\* (Add|Update|Delete) File: *(.*)")
_HUNK = re.compile(r"@@ -\d{1,9}(?:,(\d{1,9}))? \+\d{1,9}(?:,(\d{1,9}))? @@ ?(.*)")
_DATE = re.compile(r"(?:\t|(?<!\s)\s+\d{4}-\d\d-\d\d[ T]).*")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"|\S+')
_ESCAPE = re.compile(rb"\\(?:([0-7]{1,3})|(.))")
_ESCAPED = dict(zip(b"abfnrtv", b"\a\b\f\n\r\t\v", strict=True))
_NOWHERE = "/dev/null"
_MARKERS = ("diff --git ", "--- ", "+++ ", "rename from ", "rename to ", "copy to ", "deleted file mode ")


class Hunk(Struct):
    """One run of lines in a patch."""

    headings: list[str] = field(default_factory=list)
    """The text behind ``@@``: the lines of code that enclose the hunk, the outermost first."""
    lines: list[str] = field(default_factory=list)
    """The lines, each behind its sign: a space, ``+`` or ``-``."""


class FilePatch(Struct):
    """What a patch does to one file."""

    old: str = ""
    """The file before, if it is another one: moved or deleted."""
    new: str = ""
    """The file after; "" if it is deleted."""
    hunks: list[Hunk] = field(default_factory=list)
    """The changes, in order."""
    added: bool = False
    """The file is new."""

    @property
    def path(self) -> str:
        """The file as it is called in the end."""
        return self.new or self.old


def looks_like_patch(text: str) -> bool:
    """The text begins as a patch does."""
    return _FORM.match(text.lstrip()) is not None


def patched_paths(text: str, strip: int | None = None) -> tuple[str, ...]:
    """The files that a patch writes, makes, moves or deletes, in order; ``strip`` as in ``parse_patch``."""
    paths = (path for file in parse_patch(text, strip) for path in (file.old, file.new) if path)
    return tuple(dict.fromkeys(paths))


def added_paths(text: str, strip: int | None = None) -> tuple[str, ...]:
    """The files that a patch makes, in order; ``strip`` as in ``parse_patch``."""
    return tuple(dict.fromkeys(file.path for file in parse_patch(text, strip) if file.added))


def parse_patch(text: str, strip: int | None = None) -> list[FilePatch]:
    """The files of a patch; none if the text holds no patch.

    ``strip`` is how many leading components the names lose, as with ``-p``; None removes the ``a/`` and ``b/`` of git.
    """
    form = _FORM.search(text)
    if form is None:
        return []
    lines = [line.removesuffix("\r") for line in text[form.start() :].split("\n")]
    files = _parse_envelope(lines[1:]) if form[1] else _parse_unified(lines, strip)
    return [file for file in files if file.path]


def _parse_envelope(lines: list[str]) -> list[FilePatch]:
    """The files of the ``*** Begin Patch`` form."""
    files: list[FilePatch] = []
    for line in lines:
        if line.startswith("*** End Patch"):
            break
        if section := _SECTION.match(line):
            name = section[2].strip()
            gone = section[1] == "Delete"
            files.append(FilePatch(old=name) if gone else FilePatch(new=name, added=section[1] == "Add"))
        elif files and line.startswith("*** Move to:"):
            files[-1].old, files[-1].new = files[-1].path, line.partition(":")[2].strip()
        elif files and line.startswith("@@"):
            _add_heading(files[-1].hunks, line)
        elif files and not line.startswith("***"):
            _add_line(files[-1].hunks, line)
    return files


def _add_heading(hunks: list[Hunk], line: str) -> None:
    """Start a hunk, or narrow the one just started: ``@@ class Model`` and then ``@@ def save``."""
    numbered = _HUNK.match(line)
    heading = numbered[3] if numbered else line.removeprefix("@@").removesuffix("@@")
    if not hunks or hunks[-1].lines:
        hunks.append(Hunk())
    if heading.strip():
        hunks[-1].headings.append(heading)


def _add_line(hunks: list[Hunk], line: str) -> None:
    """Add a line to the last hunk; the first hunk of a file needs no ``@@``."""
    if not hunks:
        hunks.append(Hunk())
    if line[:1] in ("", " ", "+", "-"):
        hunks[-1].lines.append(line or " ")


def _parse_unified(lines: list[str], strip: int | None) -> list[FilePatch]:
    """The files of a unified diff; text between them is a description."""
    files: list[FilePatch] = []
    header: dict[str, str] = {}
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if files and (numbered := _HUNK.match(line)):
            hunk, at = _read_hunk(lines, at, numbered)
            files[-1].hunks.append(hunk)
        elif _starts_file(line, lines[at : at + 1], files, header):
            header = _marked(line)
            files.append(FilePatch(*_names(header, strip)))
        elif files and not files[-1].hunks and (marked := _marked(line)):
            header |= marked
            files[-1].old, files[-1].new = _names(header, strip)
            files[-1].added = _name_in(header.get("--- ", "")) == _NOWHERE
    return files


def _starts_file(line: str, following: list[str], files: list[FilePatch], header: dict[str, str]) -> bool:
    """A line begins the part of another file: ``diff --git``, or ``---`` unless that part has none yet."""
    if line.startswith("--- ") and following and following[0].startswith("+++ "):
        return not files or bool(files[-1].hunks) or "--- " in header
    return line.startswith("diff --git ")


def _read_hunk(lines: list[str], at: int, numbered: re.Match[str]) -> tuple[Hunk, int]:
    """The hunk whose first line is at ``at``, of the length that its numbers give, and where it ends."""
    hunk = Hunk([numbered[3]] if numbered[3].strip() else [])
    old, new = (1 if number is None else int(number) for number in numbered.group(1, 2))
    while at < len(lines) and (old > 0 or new > 0):
        line = lines[at] or " "
        if line[0] not in " +-\\":
            break
        old -= line[0] in " -"
        new -= line[0] in " +"
        if line[0] != "\\":
            hunk.lines.append(line)
        at += 1
    return hunk, at


def _marked(line: str) -> dict[str, str]:
    """What a header line says, by its first words."""
    return {marker: line.removeprefix(marker) for marker in _MARKERS if line.startswith(marker)}


def _names(header: dict[str, str], strip: int | None) -> tuple[str, str]:
    """The file that is no more, and the file that is there in the end; either may be "", none."""
    if "rename from " in header:
        return _unquote(header["rename from "]), _unquote(header.get("rename to ", ""))
    if "--- " in header:
        old, new = _name_in(header["--- "]), _name_in(header.get("+++ ", _NOWHERE))
    else:
        old, new = _git_names(header["diff --git "])
    gone = new == _NOWHERE or "deleted file mode " in header
    old, new = _stripped(old, new, strip)
    return (old, "") if gone else ("", new)


def _name_in(rest: str) -> str:
    """The name behind ``---`` or ``+++``, without a date."""
    return _unquote(rest if rest.startswith('"') else _DATE.sub("", rest))


def _git_names(rest: str) -> tuple[str, str]:
    """Both names behind ``diff --git``; where they contain spaces, they are separated by being equal."""
    half = len(rest) // 2
    left, right = rest[:half], rest[half + 1 :]
    if left[1:] == right[1:] and rest[half : half + 1] == " ":
        return _unquote(left), _unquote(right)
    names = [_unquote(name) for name in _QUOTED.findall(rest)]
    return (names[0], names[1]) if len(names) == 2 else ("", "")


def _unquote(name: str) -> str:
    """A name as git quotes it, in plain text."""
    name = name.strip()
    if len(name) < 2 or not name.startswith('"') or not name.endswith('"'):
        return name

    def plain(escape: re.Match[bytes]) -> bytes:
        octal, letter = escape.groups()
        return bytes([int(octal, 8) & 255 if octal else _ESCAPED.get(letter[0], letter[0])])

    return _ESCAPE.sub(plain, name[1:-1].encode("utf-8", "replace")).decode("utf-8", "replace")


def _stripped(old: str, new: str, strip: int | None) -> tuple[str, str]:
    """Both names without the components that only tell the sides apart; "" for what is no file."""
    sides = [(old, "aico1"), (new, "bwi2")]
    if strip is None:
        prefixed = all(name == _NOWHERE or (name[1:2] == "/" and name[0] in letters) for name, letters in sides)
        strip = 1 if prefixed else 0
    left, right = ("" if name == _NOWHERE else "/".join(name.split("/")[strip:]) for name, _ in sides)
    return left, right
