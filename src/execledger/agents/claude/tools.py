"""Claude Code's tools: what a call would do, and what came back.

Tools have changed from version to version; a tool that is not known may do anything. Reminders that the client puts
into a result are its own words, not the tool's.
"""

from __future__ import annotations

import re

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from execledger.agents.tool_table import AgentTool, Frame, Tools, reminders_at
from execledger.core.lines import split_lines
from execledger.runs.decoding import trimmed
from execledger.runs.editor import without_phantom
from execledger.vocabulary.actions import Action, Observation, Read

SHELL = "Bash"
"""The tool that runs a shell command."""
MAX_LINES = 2000
"""Lines that ``Read`` shows if the call does not say how many."""
MAX_LINE = 2000
"""Characters of a line that ``Read`` shows."""

_ARROW = re.compile(r" *\d+→")
OPENS, _CLOSES = "<system-reminder>", "</system-reminder>"
_UNCHANGED = re.compile(r"(?:File unchanged since last read\b|Wasted call\b.{0,9}file unchanged\b)")
EXIT = re.compile(r"(?:Error: )?Exit code (\d{1,9})(?:\n|\Z)")
OWN_WORDS = re.compile(
    r"\s*<(?:system-reminder|command-|local-command-|bash-|user-memory-|ide_|task-notification)|Caveat: |\[Request "
)
"""What the client says in the user's name."""
SUMMARY = "This session is being continued from a previous conversation"
"""How the summary of a compacted conversation begins."""
RESET = re.compile(r"\n?Shell cwd was reset to (?P<place>[^\n]*+)\s*+\Z")
"""The line behind the output of a command that led out of the project: the next one starts there again."""
_MODIFIED = re.compile(
    r"(?:\A|\n)\[This command modified \d+ files? you've previously read: [^\n]*\. Call \S+ before editing\.\]\s*+\Z"
)
"""The line at the end of a command's result that names files which the client has to read again before an edit."""
_TIMED_OUT = re.compile(r"\bCommand timed out after\b|\bcommand timed out\b|\[Request interrupted")
_BACKGROUND = re.compile(
    r"Command (?:is )?running in (?:the )?background with ID|Command was manually backgrounded|Async agent launched"
)
_PERSISTED = re.compile(r"\s*<persisted-output>")
_CUT = re.compile(r"\.\.\. \[\d+ (?:lines|characters) truncated\] \.\.\.")


TOOLS = Tools(
    table={
        SHELL: AgentTool(
            kind="run",
            command="command",
            background="run_in_background",
            frame=Frame(empty=(f"({SHELL} completed with no output)",)),
        ),
        "Read": AgentTool(
            kind="read",
            path=("file_path",),
            first="offset",
            count="limit",
            most=MAX_LINES,
            numbering="\t",
            otherwise=("pages",),
        ),
        "Edit": AgentTool(kind="edit", path=("file_path",), old="old_string", new="new_string"),
        "MultiEdit": AgentTool(kind="edit", path=("file_path",), edits="edits", old="old_string", new="new_string"),
        "Write": AgentTool(kind="write", path=("file_path",), new="content"),
        "NotebookEdit": AgentTool(kind="edit", path=("notebook_path",), new="new_source"),
        **dict.fromkeys("Grep Glob LS NotebookRead LSP".split(), AgentTool(kind="search")),
        **dict.fromkeys(
            "TodoRead TodoWrite TaskCreate TaskGet TaskList TaskUpdate BashOutput TaskOutput AgentOutputTool"
            " AskUserQuestion EnterPlanMode ExitPlanMode exit_plan_mode ToolSearch WebFetch WebSearch".split(),
            AgentTool(kind="aside"),
        ),
    },
    stub=re.compile(
        r"\[(?:Old tool result content cleared|Tool result left out: [^\n]* its output is not available\.)\]\s*\Z"
    ),
)
"""The tools; results are read by ``observed``, which also knows what the client kept of them for itself."""
_EMPTY = TOOLS.table[SHELL].frame.empty


class _Shown(Struct, frozen=True):
    """What a read showed of a file, as the client kept it."""

    first: int = msgspec.field(name="startLine")
    count: int = msgspec.field(name="numLines")
    total: int = msgspec.field(name="totalLines")


def action_of(name: str, given: object, cwd: str | None, thread: str = "", *, mark: str = "\t") -> Action:
    """What a call would do; ``mark`` is what this version of the client puts behind the numbers of lines."""
    return TOOLS.action_of(name, given, cwd, thread, numbering=mark)


def mark_of(text: str) -> str:
    """The separator behind the line numbers in a result: an arrow in older versions, a tab in newer ones."""
    return "→" if _ARROW.match(text) else "\t"


def reset_in(text: str) -> re.Match[str] | None:
    """The report at the end of a text that the directory was reset."""
    return RESET.search(text) if "Shell cwd was reset" in text else None


def modified_at(text: str) -> int:
    """Where the notice of modified files begins at the end of a text; its length if there is none."""
    found = _MODIFIED.search(text) if "[This command modified " in text else None
    return found.start() if found else len(text)


def notices_at(text: str) -> int:
    """Where the client's notices begin behind the output of a command, in a text without reminders."""
    at = modified_at(text)
    reset = reset_in(text[:at])
    return reset.start() if reset else at


def _left_out(text: str) -> bool:
    """The client has left something out of a result, and says so."""
    return bool(_PERSISTED.match(text) or ("truncated] ..." in text and _CUT.search(text)))


def observed(action: Action, name: str, text: str, *, is_error: bool, told: object) -> Observation:
    """What came back from a call; ``told`` is what the client kept of the result for itself."""
    printed = told.get("stdout") if isinstance(told, dict) else None
    # A command may print what looks like a reminder; the client keeps what it printed.
    own = isinstance(printed, str) and _CLOSES in printed
    text, reminders = (text, "") if own else _without_reminders(text)
    return replace(_of_result(action, name, text, reminders, is_error=is_error, told=told), reminders=reminders)


def _of_result(action: Action, name: str, text: str, reminders: str, *, is_error: bool, told: object) -> Observation:
    """The observation that the tool's own words hold."""
    if TOOLS.stub.match(text):
        return Observation(notice=text.rstrip(), failed=is_error, truncated=True)
    if name == SHELL:
        return trimmed(action, _of_shell(text, is_error=is_error, told=told))
    if isinstance(action.call, Read) and not is_error:
        return _of_read(action.call, _untrimmed(text, action.call.numbering) if reminders else text, told)
    stopped = bool(_BACKGROUND.match(text) or (is_error and _TIMED_OUT.search(text)))
    return Observation(text, failed=is_error and not stopped, timed_out=stopped, truncated=_left_out(text))


def _without_reminders(text: str) -> tuple[str, str]:
    """The tool's own words, and behind them the notice of modified files and reminders; each begins a line."""
    at = modified_at(text[: reminders_at(text)])
    return text[:at], re.sub(rf"({_CLOSES})\s+({OPENS})", r"\1\n\2", text[at:].strip())


def _of_shell(text: str, *, is_error: bool, told: object) -> Observation:
    """The result of a shell command: a failed one begins with its exit status."""
    notice = ""
    if moved := reset_in(text):
        text, notice = text[: moved.start()], moved[0].strip()
    status: int | None = 0
    if is_error:
        ended = EXIT.match(text)
        text = text[ended.end() :] if ended else text
        # Some versions say it to themselves only.
        ended = ended or EXIT.match(told if isinstance(told, str) else "")
        status = int(ended[1]) if ended else None
    known = told if isinstance(told, dict) else {}
    if text in _EMPTY:
        text = ""
    # Only what the client kept tells an empty output from a lost one.
    empty = isinstance(known.get("stdout"), str) or bool(known.get("returnCodeInterpretation"))
    lost = not (text or is_error or empty)
    if known.get("returnCodeInterpretation"):
        # A search that found nothing, and the like: not 0, and not called an error.
        status = None
    stopped = bool(
        _BACKGROUND.match(text)
        or known.get("backgroundTaskId")
        or known.get("interrupted") is True
        or (is_error and _TIMED_OUT.search(text))
    )
    return Observation(
        text,
        notice=notice,
        exit_status=None if stopped else status,
        failed=is_error and status is None and not stopped,
        timed_out=stopped,
        truncated=lost or _left_out(text) or known.get("isImage") is True,
    )


def _of_read(read: Read, text: str, told: object) -> Observation:
    """Lines of a file behind their numbers; a stub in their place is no content."""
    kind = told.get("type") if isinstance(told, dict) else None
    if _UNCHANGED.match(text) or kind == "file_unchanged":
        return Observation(notice=text.rstrip(), truncated=True)
    cut = any(len(line) >= MAX_LINE for line in split_lines(text)) or _left_out(text)
    # A picture, a notebook and the like are no lines of the file.
    shown = Observation(text, truncated=cut or kind not in (None, "text"))
    return without_phantom(read, shown, at_end=_at_end(told))


def _untrimmed(text: str, mark: str) -> str:
    """The text with the mark behind a last number: of an empty line the client trims it when a reminder follows."""
    before, _, last = text.rpartition("\n")
    number = before.rpartition("\n")[2].partition(mark)[0].strip()
    return text + mark if number.isdecimal() and last.lstrip(" ") == str(int(number) + 1) else text


def _at_end(told: object) -> bool | None:
    """The end of the file was reached; None where the client did not keep that."""
    file = told.get("file") if isinstance(told, dict) else None
    try:
        shown = msgspec.convert(file, _Shown)
    except msgspec.ValidationError:
        return None
    return shown.first + shown.count > shown.total
