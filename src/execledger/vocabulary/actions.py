"""Actions that an agent proposes, and observations that it is shown.

Adapters map every agent's tool calls to these types, so that shell, core and journal are independent of the agent.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct


class Read(Struct, frozen=True, tag="read"):
    """A structured read of one file."""

    path: str
    """The file, as the agent named it."""
    first: int = 1
    """The first line asked for."""
    last: int | None = None
    """The last line asked for; None is the end of the file."""
    numbering: str = ""
    """The separator between a line's number and its text; "" if the tool prints no numbers."""
    prefix: str = ""
    """Prefix of a line's number, such as the ``L`` of ``L12: text``."""
    form: str = ""
    """The tool, if it joins lines with newlines, without one after the last, and may alter some bytes; else ""."""


class Search(Struct, frozen=True, tag="search"):
    """A structured search or listing; it changes no file."""

    path: str = ""
    """The file or folder that it searches, as the agent named it; "" if the call does not name one."""
    shows: bool = False
    """It may show lines of that file, in a form that is not parsed."""


class Edit(Struct, frozen=True, tag="edit"):
    """A structured replacement of text in one file."""

    path: str
    """The file, as the agent named it."""
    old: str = ""
    """The text that is replaced, if the call has it."""
    new: str = ""
    """The text put in its place."""


class Write(Struct, frozen=True, tag="write"):
    """A structured write of a whole file."""

    path: str
    """The file, as the agent named it."""
    content: str = ""
    """What is written."""


class Patch(Struct, frozen=True, tag="patch"):
    """A structured patch of any number of files."""

    text: str
    """The patch: unified, or in the ``*** Begin Patch`` form."""


class Command(Struct, frozen=True, tag="command"):
    """A shell command whose tool was given options for showing the output."""

    manner: str
    """The options, in one fixed spelling: the same command with other options has another result."""
    verbatim: bool = True
    """What is shown of the output is shown unchanged; false for a terminal, or inside another text."""
    merged: bool = False
    """Standard error may precede the output, in the same text and unmarked: the place of a line in the file is known
    only if its number is printed, and no result proves that the command succeeded."""


class Aside(Struct, frozen=True, tag="aside"):
    """A tool that changes no file and shows no file's content: a plan, a question to the user, an image."""


class OtherTool(Struct, frozen=True, tag="run"):
    """Any other tool, with unknown effects."""


Call: TypeAlias = Read | Search | Edit | Write | Patch | Command | Aside | OtherTool


class Action(Struct, frozen=True):
    """One proposed tool call."""

    command: str
    """The shell command; for a structured call its name and arguments, in one fixed spelling."""
    cwd: str | None = None
    """The directory in which it starts; None if that is unknown, and then relative paths name no file."""
    call: Call | None = None
    """The structured call; None for a shell command that is shown in the usual way."""
    thread: str = ""
    """The conversation that proposes it; results shown on one thread are not visible on another."""


class Observation(Struct, frozen=True):
    """The result of an action, as the model was shown it."""

    output: str = ""
    """The output; if the middle was left out, the shown pieces joined."""
    stderr: str = ""
    """Standard error, if it was shown separately."""
    notice: str = ""
    """What the tool itself added to the output, such as "15 more lines"."""
    exit_status: int | None = None
    """The exit status; None where the tool has none."""
    failed: bool = False
    """The tool reported a failure other than by an exit status."""
    cut: int | None = None
    """The length of the head in ``output``, if the middle was left out at a known place; else None."""
    truncated: bool = False
    """Something was left out: at ``cut``, or at an unknown place if that is None."""
    timed_out: bool = False
    """The action was stopped by a time limit; it may still be running."""
    reminders: str = ""
    """What the client appended to the result in words of its own: no part of the result, and never compared."""

    @property
    def succeeded(self) -> bool:
        """Whether it ended by itself and reported no failure."""
        return not (self.failed or self.timed_out) and self.exit_status in (0, None)

    @property
    def output_unknown(self) -> bool:
        """Whether nothing is known of the output, because the recorded run does not have it."""
        return self.truncated and not self.output

    @property
    def pieces(self) -> tuple[str, ...]:
        """The contiguous pieces of output that the model was shown; none if it is unknown what was left out."""
        if self.cut is not None:
            return (self.output[: self.cut], self.output[self.cut :])
        return () if self.truncated else (self.output,)
