"""Tools of agents as tables: what a call would do, and which text of its result is the tool's own output.

An agent's ``Tools`` has one ``AgentTool`` for each tool that is known: its kind, and the names of its arguments. A tool
that is not in the table, or arguments that do not fit, make a call of unknown effects. A ``Frame`` describes what the
client itself writes around an output: headers, footers, exit codes, process ids. The frame is left out of every
comparison, and is kept where it is when an output is replaced.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from execledger.runs.decoding import spelled, trimmed
from execledger.shell.paths import PARENT, resolve
from execledger.vocabulary import actions
from execledger.vocabulary.actions import Action, Aside, Call, Edit, Observation, Patch, Read, Search, Write

Kind: TypeAlias = Literal["read", "search", "edit", "write", "patch", "run", "aside"]
"""What a tool does; a listing of a folder is a search."""
Pattern: TypeAlias = re.Pattern[str]
NEVER = re.compile(r"\0(?!)")
"""A pattern that matches nothing; with a character that texts rarely have, a search of a long one ends sooner."""
NOTHING = re.compile("")
"""A pattern that matches an empty text."""

MOVES = re.compile(r"\b(?:cd|pushd|popd|eval|source)\b|(?:^|[;&|({!]|\b(?:then|do|else))\s*\.\s", re.MULTILINE)
"""What may take a shell to another directory."""


class Frame(Struct, frozen=True, kw_only=True):
    """What a client writes before and behind the output of a tool.

    The patterns may have these groups: ``status``, an exit code; ``failed``, another failure; ``place``, the shell's
    directory; ``first``, ``last`` and ``total``, the lines shown of a file and the number of its lines; ``next``, the
    first line behind the shown ones; ``cut``, a notice that something was left out.
    """

    lead: Pattern = NEVER
    """A notice before all else that something was left out of the output."""
    echo: str = ""
    """What precedes the head, with ``{command}`` for the command of the call, which may have several lines."""
    head: Pattern = NOTHING
    """What precedes the output, matched at the beginning."""
    tail: Pattern = NOTHING
    """What follows the output, searched; it must end with ``\\Z``, unless it is empty, and should begin with a fixed
    character, without which a search of a long output takes long."""
    required: bool = False
    """A result without the head and the tail is not an output but a message of the client, and proves nothing."""
    gap: Pattern = NEVER
    """Notices within an output, in place of what was left out."""
    empty: tuple[str, ...] = ()
    """What the client writes in place of an output that is empty."""
    status: int | None = None
    """The exit code of a result that has a complete frame without one."""


class AgentTool(Struct, frozen=True, kw_only=True):
    """One tool. Arguments are given by their names, in several versions of the client by one of several names."""

    kind: Kind
    """What it does."""
    path: tuple[str, ...] = ()
    """The file or folder."""
    first: str = ""
    """The first line to read."""
    from_zero: bool = False
    """``first`` counts lines from 0."""
    count: str = ""
    """The number of lines to read."""
    last: str = ""
    """The last line to read."""
    span: str = ""
    """A list of the first and the last line to read; -1 is the end of the file."""
    most: int | None = None
    """The number of lines that are read if the call does not say how many; None is the whole file."""
    numbering: str = ""
    """What is printed between the number of a line and its text; "" if no numbers are printed."""
    otherwise: tuple[str, ...] = ()
    """With one of these, a read shows something else than lines of the file."""
    beside: tuple[str, ...] = ()
    """Arguments that do not change what the tool does, such as a description of the call."""
    command: str = ""
    """The shell command."""
    directory: str = ""
    """The directory that a command starts in, relative to the working directory."""
    background: str = ""
    """Whether a command is to be left running."""
    old: str = ""
    """The text that an edit replaces."""
    new: str = ""
    """The text that an edit or a write puts there, or a patch."""
    edits: str = ""
    """A list of edits of the same file, each with ``old`` and ``new``; older versions may have these alone."""
    frame: Frame = Frame()
    """What the client writes around its output."""


class Framed(Struct, frozen=True):
    """A result: the tool's own output, and what the client wrote around it."""

    before: str
    """What precedes the output."""
    own: str
    """The output."""
    after: str
    """What follows it."""
    told: Mapping[str, str] = {}
    """What the frame says, by the names of the patterns' groups."""
    complete: bool = True
    """The frame is there."""

    def having(self, output: str) -> str:
        """The result with another output in the same frame."""
        return f"{self.before}{output if self.own.endswith(chr(10)) else output.rstrip(chr(10))}{self.after}"


class Tools(Struct, frozen=True, kw_only=True):
    """The tools of one agent."""

    table: Mapping[str, AgentTool]
    """Each tool by its name."""
    stub: Pattern = NEVER
    """How a result begins by which the client refers to an earlier one instead of showing an unchanged file."""
    running: Pattern = NEVER
    """What a message of the client, or the frame of a result, contains if the call has not ended, or was stopped."""
    failure: Pattern = NEVER
    """How a result begins that reports a failure, where the client does not mark it as an error; not what a command
    printed."""

    def action_of(
        self, name: str, given: object, cwd: str | None, thread: str = "", *, numbering: str | None = None
    ) -> Action:
        """The action that a call proposes.

        ``numbering`` is what this version of the client prints behind the numbers of lines, if not what the table says.
        """
        place = cwd if (cwd or "").startswith("/") else None
        tool = self.table.get(name)
        try:
            if tool is not None and tool.kind == "run":
                given = msgspec.convert(given, dict[str, Any])
                return Action(
                    _text(given, tool.command), place_of(place, _text(given, tool.directory, "")), None, thread
                )
            call = _call(name, tool, given, numbering) if tool is not None else actions.OtherTool()
        except msgspec.ValidationError:
            call = actions.OtherTool()
        if tool is not None and isinstance(given, dict):
            given = {key: value for key, value in given.items() if key not in tool.beside}
        return Action(f"{name} {spelled(given)}", place, call, thread)

    def command_of(self, name: str, given: object) -> str | None:
        """The command of a call that runs a shell command in the foreground; None for any other call."""
        tool = self.table.get(name)
        if tool is None or tool.kind != "run" or not isinstance(given, dict) or given.get(tool.background):
            return None
        command = given.get(tool.command)
        return command if isinstance(command, str) else None

    def framed(self, name: str, given: object, text: str) -> Framed:
        """The result of a call, split into the tool's own output and the client's frame."""
        tool = self.table.get(name)
        return Framed("", text, "") if tool is None else _framed(tool, given, text)

    def observed(self, action: Action, name: str, given: object, text: str, *, is_error: bool = False) -> Observation:
        """The observation that the result of a call holds; ``is_error`` if the client marked it as an error."""
        if self.stub.match(text):
            return Observation(notice=text, truncated=True)
        tool = self.table.get(name)
        framed = self.framed(name, given, text)
        # Some clients mark a command that failed as an error, and report its exit code as well.
        is_error = is_error and "status" not in framed.told
        printed = tool is not None and tool.kind == "run" and framed.complete
        reported = not printed and self.failure.match(text) is not None
        if tool is None or is_error or reported or not framed.complete:
            stopped = bool(self.running.search(text))
            # In place of a file it is a complaint; of a command that has no exit code nothing is known.
            instead = tool is not None and tool.kind != "run" and not framed.complete
            failed = (is_error or instead or reported) and not stopped
            return Observation(text, failed=failed, timed_out=stopped, truncated=failed or not framed.complete)
        output = "" if framed.own in tool.frame.empty else framed.own
        gap = bool(tool.frame.gap.search(output))
        left_out = gap or "cut" in framed.told
        if tool.kind == "run":
            return self._of_command(action, tool, given, framed, output, left_out)
        if isinstance(action.call, Read) and not gap:
            return _of_read(action.call, framed, output, left_out)
        # Where lines have a gap, it is not known which ones are shown.
        return Observation(output, notice=(framed.before + framed.after).strip(), truncated=left_out)

    def _of_command(
        self, action: Action, tool: AgentTool, given: object, framed: Framed, output: str, left_out: bool
    ) -> Observation:
        """The result of a shell command; an empty one proves nothing, because some clients lose outputs."""
        stopped = bool(self.running.search(framed.before + framed.after) or self.running.match(output))
        stopped = stopped or (isinstance(given, dict) and bool(given.get(tool.background)))
        told = framed.told.get("status")
        status = int(told) if told is not None and not stopped else None if stopped else tool.frame.status
        observation = Observation(
            output,
            exit_status=status,
            failed="failed" in framed.told and not stopped,
            timed_out=stopped,
            truncated=left_out or not output,
        )
        return trimmed(action, observation)


def place_of(cwd: str | None, directory: str) -> str | None:
    """The directory that a command starts in; None where that is not certain."""
    if not directory:
        return resolve(None, cwd) if cwd else None
    if directory.startswith("~") or PARENT.search(directory):
        # A step up leads elsewhere behind a link, and whose home is meant is not known.
        return None
    return resolve(resolve(None, cwd) if cwd else None, directory)


def reminders_at(text: str, tag: str = "system-reminder") -> int:
    """Where reminders begin at the end of a text, with the line breaks before them; its length if there are none."""
    opens, closes = f"<{tag}>", f"</{tag}>"
    end = len(text)
    while text[:end].rstrip().endswith(closes):
        at = text.rfind(opens, 0, end)
        if at < 0 or (at > 0 and text[at - 1] != "\n"):
            break
        end = len(text[:at].rstrip("\n"))
    return end


def _call(name: str, tool: AgentTool, given: object, numbering: str | None) -> Call:
    """The structured call of a tool; raises ``msgspec.ValidationError`` if its arguments do not fit."""
    if tool.kind == "aside":
        return Aside()
    if tool.kind == "search" and not tool.path:
        return Search()
    arguments = msgspec.convert(given, dict[str, Any])
    if tool.kind == "patch":
        return Patch(_text(arguments, tool.new))
    named = next((key for key in tool.path if arguments.get(key) is not None), "")
    if tool.kind == "search":
        return Search(_text(arguments, named, ""), shows=bool(named))
    path = _text(arguments, named)
    if tool.kind == "read":
        return _reading(name, tool, arguments, path, tool.numbering if numbering is None else numbering)
    if tool.kind == "write":
        return Write(path, _text(arguments, tool.new, ""))
    return Edit(path, *_changes(tool, arguments))


def _reading(name: str, tool: AgentTool, given: Mapping[str, Any], path: str, numbering: str) -> Call:
    """The lines that a read asks for; where the result has no numbers, an unknown argument leaves them unknown."""
    known = {*tool.path, tool.first, tool.count, tool.last, tool.span, *tool.beside}
    if any(given.get(key) is not None for key in tool.otherwise):
        return Search()
    if not numbering and any(value is not None for key, value in given.items() if key not in known):
        return Search(path, shows=True)
    lines = _lines(tool, given)
    if lines is None:
        return actions.OtherTool()
    return Read(path, *lines, numbering=numbering, form="" if numbering else name)


def _lines(tool: AgentTool, given: Mapping[str, Any]) -> tuple[int, int | None] | None:
    """The first and the last line; None for numbers that make no sense."""
    if span := msgspec.convert(given.get(tool.span), list[int] | None):
        first, last = span if len(span) == 2 else (0, 0)
        return (first, None if last == -1 else last) if first >= 1 and (last == -1 or last >= first) else None
    first = max((_number(given, tool.first) or (0 if tool.from_zero else 1)) + tool.from_zero, 1)
    count, last = _number(given, tool.count) or tool.most, _number(given, tool.last)
    if last is None and count is not None:
        last = first + count - 1
    return (first, last) if last is None or last >= first else None


def _changes(tool: AgentTool, given: Mapping[str, Any]) -> tuple[str, str]:
    """The text that an edit replaces and the new one; of several edits, all of them."""
    if not tool.edits or (tool.edits not in given and tool.new in given):
        return _text(given, tool.old, ""), _text(given, tool.new, "")
    many = msgspec.convert(given.get(tool.edits), list[dict[str, Any]])
    return (
        "\n".join(_text(one, tool.old, "") for one in many),
        "\n".join(_text(one, tool.new, "") for one in many),
    )


def _text(given: Mapping[str, Any], name: str, default: str | None = None) -> str:
    """An argument that is a text; one that is missing and has no default does not fit."""
    return msgspec.convert(given.get(name, default), str)


def _number(given: Mapping[str, Any], name: str) -> int | None:
    """An argument that is a number, which models also write as a text."""
    return msgspec.convert(given.get(name), int | None, strict=False)


def _framed(tool: AgentTool, given: object, text: str) -> Framed:
    """A result of a tool, split."""
    frame = tool.frame
    lead = frame.lead.match(text)
    start = lead.end() if lead is not None else 0
    if frame.echo:
        command = given.get(tool.command) if isinstance(given, dict) else None
        echo = frame.echo.replace("{command}", command if isinstance(command, str) else "")
        start = start + len(echo) if text.startswith(echo, start) else -1
    head = frame.head.match(text, start) if start >= 0 else None
    tail = frame.tail.search(text, head.end()) if head is not None and frame.tail is not NOTHING else None
    if head is None or (frame.required and tail is None and frame.tail is not NOTHING):
        return Framed("", text, "", complete=not frame.required)
    end = tail.start() if tail is not None else len(text)
    groups = (head.groupdict(), tail.groupdict() if tail is not None else {}, {"cut": lead[0]} if lead else {})
    said = {name: value for each in groups for name, value in each.items() if value is not None}
    return Framed(text[: head.end()], text[head.end() : end], text[end:], said)


def _of_read(read: Read, framed: Framed, output: str, left_out: bool) -> Observation:
    """Lines of a file; the frame may say which ones are shown, and of how many."""
    notice = (framed.before + framed.after).strip()
    shown = {name: int(framed.told[name]) for name in ("first", "last", "total") if name in framed.told}
    if shown.get("first", read.first) != read.first:
        return Observation(output, notice=notice, truncated=True)
    if "next" in framed.told:
        shown.setdefault("last", int(framed.told["next"]) - 1)
    last, total = shown.get("last"), shown.get("total")
    ends = last is None or (total is not None and last >= total)
    if not ends and not read.numbering:
        # The last line shown is not the file's last: it ends with a line break, which the client has left out.
        output += "\n"
    seen = Observation(output, notice=notice, truncated=not output)
    if left_out or not (ends or last == read.last):
        # More lines were asked for than are shown; only if the frame names the last one, these are the first lines.
        return replace(seen, cut=len(output) if last is not None else None, truncated=True)
    return seen
