"""Codex's tool calls that run shell commands or look at files: their arguments, and what they propose.

Every version has its own shell tool, with arguments of its own. Older versions have tools that look at files, for
models whose entry in the catalog lists them as ``experimental_supported_tools``: ``read_file`` and ``grep_files`` up to
0.116, ``list_dir`` up to 0.128. ``read_file`` answers ``L12: text`` for each line, cut at 500 bytes and joined with
newlines, ``grep_files`` the paths of files, ``list_dir`` a folder and its entries. Any other answer is an error.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from execledger.session.adapter import ToolCall
from execledger.vocabulary.actions import Aside, Call, Observation, Read, Search

ARGV_TOOLS = ("shell", "container.exec", "local_shell")
"""Tools whose command is a list of words."""
COMMAND_TOOLS = ("exec_command", "shell_command", *ARGV_TOOLS)
"""Tools that run a shell command."""
PATIENCE = 10.0
"""Seconds that ``exec_command`` waits for the end of a command by default."""
SHELLS = frozenset("bash sh zsh dash ksh".split())
"""Shells whose language we read."""
SHORTEST, LONGEST = 0.25, 30.0
"""What Codex makes of any other waiting time, in seconds."""

T = TypeVar("T")


class ShellCall(Struct, frozen=True):
    """A shell command that a call asks for, and how it is to be run."""

    text: str
    """The command."""
    workdir: str = ""
    """Where it starts, as the call names it; "" for where the session is."""
    tty: bool = False
    """It runs in a terminal: its output has other line ends, and may have colours and prompts."""
    patience: float = PATIENCE
    """Seconds after which a command that still runs is reported with its output so far."""
    budget: float | None = None
    """How many tokens of its output are shown, if the call says it."""


class _Exec(Struct, frozen=True):
    cmd: str
    workdir: str | None = None
    shell: str | None = None
    tty: bool | None = None
    yield_time_ms: float | None = None
    max_output_tokens: float | None = None
    environment_id: str | None = None


class _ShellCommand(Struct, frozen=True):
    command: str
    workdir: str | None = None


class _Shell(Struct, frozen=True):
    command: list[str]
    workdir: str | None = None
    working_directory: str | None = None
    env: dict[str, str] | None = None


def arguments(text: str, form: type[T]) -> T | None:
    """The arguments of a function call; None if they are broken, or not what the tool takes."""
    try:
        return msgspec.json.decode(text, type=form)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None


def command_of(call: ToolCall) -> ShellCall | None:
    """The shell command that ``call`` runs; None if it runs none, or none that is sure to be what it looks like."""
    if call.custom:
        return None
    if call.name == "exec_command":
        return _exec_command(arguments(call.text, _Exec))
    if call.name == "shell_command":
        plain = arguments(call.text, _ShellCommand)
        return None if plain is None else ShellCall(plain.command, plain.workdir or "")
    return _from_words(arguments(call.text, _Shell)) if call.name in ARGV_TOOLS else None


def _exec_command(given: _Exec | None) -> ShellCall | None:
    if given is None or given.environment_id or not _is_shell(given.shell or "sh"):
        # Files of another machine, or a language that we don't read.
        return None
    wait = PATIENCE if given.yield_time_ms is None else given.yield_time_ms / 1000
    return ShellCall(
        given.cmd, given.workdir or "", bool(given.tty), min(max(wait, SHORTEST), LONGEST), given.max_output_tokens
    )


def _from_words(given: _Shell | None) -> ShellCall | None:
    """``bash -lc X`` is X; other words are quoted, since no shell sees them."""
    if given is None or not given.command or given.env:
        return None
    words, workdir = given.command, given.workdir or given.working_directory or ""
    if len(words) == 3 and _is_shell(words[0]) and words[1] in ("-c", "-lc"):
        return ShellCall(words[2], workdir)
    return ShellCall(shlex.join(words), workdir)


def _is_shell(program: str) -> bool:
    return posixpath.basename(program) in SHELLS


READ, GREP, LIST = "read_file", "grep_files", "list_dir"
LOOKS = frozenset((READ, GREP, LIST))
"""The tools: they change nothing."""
LONGEST_LINE = 500
"""Bytes of a line that ``read_file`` shows; a character that would go beyond is left out whole."""
CERTAIN = LONGEST_LINE - 4
"""A line of at most so many bytes was not cut."""

_ANSWERS = {
    READ: re.compile(r"L\d{1,18}: "),
    GREP: re.compile(r"No matches found\.\Z|(?:/[^\n]*(?:\n|\Z))+\Z"),
    LIST: re.compile(r"Absolute path: /"),
}
"""What an answer begins with, or is, if it is no complaint."""
_NOTED = {READ: "file_path", GREP: "path", LIST: "dir_path"}
"""The argument of each tool that a note is put into."""

Count: TypeAlias = Annotated[int, Meta(ge=1, le=2**53)]
"""A number from 1 on; others are refused by the tools, or are no sensible number."""


class _ReadFile(Struct, frozen=True, forbid_unknown_fields=True):
    file_path: str
    offset: Count = 1
    limit: Count = 2000
    mode: Literal["slice", "indentation"] = "slice"
    indentation: Any = None


class _GrepFiles(Struct, frozen=True, forbid_unknown_fields=True):
    pattern: str
    include: str | None = None
    path: str | None = None
    limit: Count = 100


class _ListDir(Struct, frozen=True, forbid_unknown_fields=True):
    dir_path: str
    offset: Count = 1
    limit: Count = 25
    depth: Count = 2


def look_of(call: ToolCall) -> Call:
    """What a call of these tools looks at; an aside if its arguments are not all known and right."""
    if call.name == READ and (read := arguments(call.text, _ReadFile)) is not None:
        return _read(read)
    if call.name == GREP and (grep := arguments(call.text, _GrepFiles)) is not None:
        return Search(grep.path or "") if grep.pattern.strip() else Aside()
    if call.name == LIST and (listed := arguments(call.text, _ListDir)) is not None:
        return Search(listed.dir_path) if listed.dir_path.startswith("/") else Aside()
    return Aside()


def _read(given: _ReadFile) -> Call:
    """The lines that are asked for; which ones a block of some indentation has, only the file tells."""
    if not given.file_path.startswith("/"):
        return Aside()
    if given.mode == "indentation" or given.indentation is not None:
        return Search(given.file_path, shows=True)
    last = given.offset + given.limit - 1
    return Read(given.file_path, given.offset, last, numbering=": ", prefix="L", form=READ)


def looked(call: ToolCall, shown: Observation) -> Observation:
    """The answer to a call of these tools: a complaint is a failure, and lines that may have been cut are left out."""
    if shown.truncated and shown.cut is None:
        return shown
    if not _ANSWERS[call.name].match(shown.output):
        return replace(shown, failed=True)
    return _without_cut_lines(shown) if call.name == READ else shown


def _without_cut_lines(shown: Observation) -> Observation:
    """Marked as cut behind the one line that may have been; with more such lines, the place of the gap is unknown."""
    gaps: list[int] = []
    at = 0
    for line in shown.output.split("\n"):
        at += len(line)
        if len(line.partition(": ")[2].encode("utf-8", "surrogatepass")) > CERTAIN:
            gaps.append(at)
        at += 1
    if not gaps:
        return shown
    return replace(shown, cut=gaps[0] if shown.cut is None and len(gaps) == 1 else None, truncated=True)


def noted(name: str, note: str) -> dict[str, object]:
    """Arguments that the tool refuses before it looks at anything, and that hold ``note``."""
    return {"pattern": "", _NOTED[name]: note} if name == GREP else {_NOTED[name]: note}


def note_in(name: str, given: dict[str, object]) -> str:
    """The note in such arguments; "" if they are others."""
    note = given.get(_NOTED[name])
    return note if isinstance(note, str) and given == noted(name, note) else ""
