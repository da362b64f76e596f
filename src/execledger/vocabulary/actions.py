"""What an agent proposes and what it is shown: the two ends of a step.

Every agent's calls are mapped onto these shapes, so nothing behind them knows which agent it serves.
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
    """What stands between a line's number and its text; "" if the tool prints no numbers."""
    prefix: str = ""
    """Prefix of a line's number, such as the ``L`` of ``L12: text``."""
    form: str = ""
    """The tool, if it joins lines with newlines, so that none ends the last one, and may alter some of their bytes."""


class Search(Struct, frozen=True, tag="search"):
    """A structured search or listing: it looks, and changes nothing."""

    path: str = ""
    """The file or folder that it looks into, as the agent named it; "" where the call does not say."""
    shows: bool = False
    """It may show lines of that file, in a form that is not read back."""


class Edit(Struct, frozen=True, tag="edit"):
    """A structured replacement of text in one file."""

    path: str
    """The file, as the agent named it."""
    old: str = ""
    """The text replaced, where the call gives it."""
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
    """A shell command whose tool was told how to show the output."""

    manner: str
    """How, in one fixed spelling: the same command in another manner has another result."""
    verbatim: bool = True
    """What is shown of the output is shown as it came; not so in a terminal, or within something else."""


class Aside(Struct, frozen=True, tag="aside"):
    """A tool that changes no file, and whose answer is no file's content: a plan, a question to the user, an image."""


class OtherTool(Struct, frozen=True, tag="run"):
    """Any other tool: known to exist, unknown in its effects."""


Call: TypeAlias = Read | Search | Edit | Write | Patch | Command | Aside | OtherTool


class Action(Struct, frozen=True):
    """One proposed tool call."""

    command: str
    """The shell command; for a structured call its name and arguments, in one fixed spelling."""
    cwd: str | None = None
    """Where it starts; None where that is unknown, and then relative paths name no file."""
    call: Call | None = None
    """The structured call; None for a shell command that is shown in the usual way."""
    thread: str = ""
    """The conversation that asks: results seen on one thread are not visible on another."""


class Observation(Struct, frozen=True):
    """What came back from an action, as the model was shown it."""

    output: str = ""
    """The output; where the middle was left out, the shown pieces, one after the other."""
    stderr: str = ""
    """What was shown apart from the output as standard error."""
    notice: str = ""
    """What the tool itself added to the output, such as "15 more lines"."""
    exit_status: int | None = None
    """The exit status; None where the tool has none."""
    failed: bool = False
    """The tool said that it failed, in a way other than an exit status."""
    cut: int | None = None
    """Where the middle was left out: the length of the shown head in ``output``; None if all was shown."""
    truncated: bool = False
    """Something was left out: with ``cut`` we know where, without it we do not."""
    timed_out: bool = False
    """The action was stopped by a time limit; it may still be running."""

    @property
    def succeeded(self) -> bool:
        """It ended by itself and reported no failure."""
        return not (self.failed or self.timed_out) and self.exit_status in (0, None)

    @property
    def output_unknown(self) -> bool:
        """Nothing is known of the output: a recorded run does not hold it."""
        return self.truncated and not self.output

    @property
    def pieces(self) -> tuple[str, ...]:
        """The contiguous runs of output that the model was shown; none where what was left out is not known."""
        if self.cut is not None:
            return (self.output[: self.cut], self.output[self.cut :])
        return () if self.truncated else (self.output,)
