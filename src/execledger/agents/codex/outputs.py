"""What Codex writes back to the model: a header, the output behind it, and a mark where something was left out.

Every version has its own header. An answer without one is no result of a command but a word of Codex itself: the call
was refused, could not be understood, or was broken off.
"""

from __future__ import annotations

import re
from itertools import islice

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from execledger.agents.codex.calls import COMMAND_TOOLS, LOOKS, arguments, command_of, looked
from execledger.agents.codex.scripts import SCRIPT_TOOL, Shows, read_script
from execledger.session.adapter import ToolCall
from execledger.vocabulary.actions import Observation

_WAITED = re.compile(
    r"(?:Chunk ID: \w+\n)?Wall time: [\d.]+ seconds\n(?:Process exited with code (?P<status>-?\d{1,9})\n)?"
    r"(?P<running>Process running with session ID \d+\n)?"
    r"(?:(?:Original token count: |Warning: truncated output \(original token count: )(?P<tokens>\d{1,12})\)?\n)?"
    r"Output:\n"
)
"""The header of ``exec_command`` and ``write_stdin``."""
_COMMAND = "Command: "
"""Prefix of that header in a few versions; the command follows it."""
_ENDED = re.compile(
    r"Exit code: (?P<status>-?\d{1,9})\nWall time: [\d.]+ seconds\n(?:Total output lines: \d+\n)?Output:\n"
)
"""The header of ``shell_command`` and ``apply_patch``."""
_SCRIPT = re.compile(
    r"Script (?P<state>completed|failed|terminated|running with cell ID \S+)\n"
    r"Wall time:? (?P<wall>\d{1,9}(?:\.\d{1,9})?) seconds\nOutput:\n"
)
"""The header of a script."""
_LEFT_OUT = re.compile(
    r"…(?P<count>\d{1,12}) (?P<unit>tokens|chars) truncated…|\n\[\.\.\. omitted \d+ of \d+ lines \.\.\.\]\n\n"
    r"|\n\[\.\.\. output truncated to fit \d+ bytes \.\.\.\]\n\n|\n\n\[Output truncated after [^\]\n]*\]$"
    r"|(?P<somewhere>\.\.\. \d+ bytes omitted \.\.\.)"
)
"""The marks of all versions for what was left out; they can be anywhere, also inside a line; the named one may not be
where the gap is."""
_WARNING = re.compile(
    r"Warning: truncated output \(original token count: \d+\)\n(?:Total output lines: \d+\n)?\n"
    r"|Total output lines: \d+\n\n"
)
"""The heading of an output of which something was left out."""
_TIMED_OUT = re.compile(r"(?:.* execution error: )?command timed out(?: after \d+ milliseconds)?(?:\n|$)")
_STOPPED = re.compile(r"(?:Wall time: [\d.]+ seconds\n)?aborted(?: by user.*)?\s*")
_REFUSED = re.compile(r"unsupported |failed to parse |unknown tool|aborted|(?:tool call )?[Ee]rr(?:or)?: ")
_STARTS_AGENT = re.compile(r"(?:\w+\.)?(?:spawn_agent|resume_agent|send_input|send_message|followup_task|assign_task)")
"""Tools that set another agent to work, which goes on beside this one."""
CAPTURED = 1_000_000
"""An output of about so many bytes may have been longer still: its last lines need not be the command's."""
TIMEOUT_STATUS = 124
"""The exit status that Codex gives to a command that it stopped."""


class _Json(Struct):
    """The result of ``shell`` in the older versions."""

    output: str
    metadata: Raw


class _Metadata(Struct):
    exit_code: int


class _ScriptResult(Struct):
    """The result of ``exec_command`` as a script shows it."""

    exit_code: int | None = None
    session_id: int | None = None


class Report(Struct, frozen=True):
    """The result of a command, taken apart."""

    header: str
    """The text before the output, or before the JSON that contains it."""
    body: str
    """The output, with the marks of what was left out."""
    exit_status: int | None
    """The exit status; None if the command has not ended, or ended in another way."""
    running: bool = False
    """The command was still running."""
    tokens: int | None = None
    """The length of the whole output in tokens, a quarter of its bytes, where the heading has it."""
    warned: bool = True
    """An output of which something was left out begins with a warning."""
    metadata: Raw | None = None
    """The text behind the output in JSON."""

    def having(self, body: str) -> str:
        """The same result with another output."""
        if self.metadata is not None:
            body = msgspec.json.encode(_Json(body, self.metadata)).decode()
        return self.header + body


def report_of(call: ToolCall, text: str) -> Report | None:
    """The result that ``text``, the answer to ``call``, holds; None if it has no header that we know."""
    match = _WAITED.match(text, _repeated(call, text))
    if match is None:
        return _ended(text)
    header, body = text[: match.end()], text[match.end() :]
    status, tokens = match["status"], match["tokens"]
    if status is None and not match["running"] and (patch := _ended(body)) is not None:
        # A patch among the commands, applied by Codex itself: it has a header of its own behind the first.
        return replace(patch, header=header + patch.header)
    ended = None if status is None else int(status)
    return Report(header, body, ended, bool(match["running"]), None if tokens is None else int(tokens))


def _repeated(call: ToolCall, text: str) -> int:
    """Where the header begins: 0.115 to 0.118 repeat the command before it, quoted, with the newlines that it has."""
    if not text.startswith(_COMMAND):
        return 0
    command = command_of(call)
    at = 0
    for _ in range(1 + (command.text.count("\n") if command is not None else 0)):
        at = text.find("\n", at) + 1
        if at == 0:
            break
    return at


def _ended(text: str) -> Report | None:
    """The result of a command that was waited for to its end."""
    if match := _ENDED.match(text):
        return Report(match[0], text[match.end() :], int(match["status"]), warned=False)
    found = arguments(text, _Json) if text.startswith("{") else None
    metadata = arguments(bytes(found.metadata).decode(), _Metadata) if found is not None else None
    if found is None or metadata is None:
        return None
    return Report("", found.output, metadata.exit_code, metadata=found.metadata)


def observation_of(call: ToolCall, parts: tuple[str, ...], *, is_error: bool = False) -> Observation:
    """What came back from ``call``, as the model was shown it."""
    if call.custom and call.name == SCRIPT_TOOL:
        return _of_script(call, parts)
    if call.name in (*COMMAND_TOOLS, "apply_patch", "write_stdin"):
        return _of_command(call, "\n".join(parts))
    if call.name in LOOKS and len(parts) == 1:
        return looked(call, _shown(parts[0], None, warned=True))
    shown = _joined(parts)
    running = bool(_STARTS_AGENT.fullmatch(call.name)) or shown.output.startswith("Script running")
    return replace(shown, failed=bool(_REFUSED.match(shown.output)), timed_out=running)


def _joined(parts: tuple[str, ...]) -> Observation:
    """Texts one after the other; several are no one text that anything could be compared with."""
    return Observation("\n".join(parts), truncated=len(parts) > 1)


def _of_command(call: ToolCall, text: str) -> Observation:
    report = report_of(call, text)
    if report is None:
        if text.startswith('{"output":'):
            # JSON that was cut like any other text.
            return Observation(text, truncated=True)
        stopped = bool(_STOPPED.fullmatch(text) or _TIMED_OUT.match(text))
        return Observation(text, failed=not stopped, timed_out=stopped)
    timed_out = _TIMED_OUT.match(report.body) if report.exit_status == TIMEOUT_STATUS else None
    shown = _shown(report.body[timed_out.end() :] if timed_out else report.body, report.tokens, warned=report.warned)
    return replace(
        shown,
        notice=timed_out[0].rstrip("\n") if timed_out else "",
        exit_status=report.exit_status,
        failed=report.exit_status is None and not report.running,
        timed_out=report.running or timed_out is not None,
    )


def _shown(body: str, tokens: int | None, *, warned: bool) -> Observation:
    """The output without the mark of what was left out, and the place of that mark where it is certain."""
    if tokens is not None and tokens == (len(body.encode("utf-8", "surrogatepass")) + 3) // 4:
        return Observation(body)
    # Every mark has one of two words: without them, no long output is searched for all of the marks.
    marked = "truncated" in body or "omitted" in body
    marks = list(islice(_LEFT_OUT.finditer(body), 2)) if marked else []
    if len(marks) != 1 or marks[0]["somewhere"]:
        return Observation(body, truncated=bool(marks) or tokens is not None)
    warning = _WARNING.match(body) if warned else None
    start = warning.end() if warning and warning.end() <= marks[0].start() else 0
    head, tail = body[start : marks[0].start()], body[marks[0].end() :]
    if len(body) + int(marks[0]["count"] or 0) * (4 if marks[0]["unit"] == "tokens" else 1) >= CAPTURED:
        tail = ""
    return Observation(head + tail, cut=len(head), truncated=True)


def _of_script(call: ToolCall, parts: tuple[str, ...]) -> Observation:
    header, texts = _script_parts(parts)
    if header is None:
        return replace(_joined(texts), failed=True)
    state, script = header["state"], read_script(call.text)
    command = command_of(script.call) if script is not None else None
    if script is not None and script.shows is Shows.RESULT and state == "completed" and len(texts) == 1:
        result = arguments(texts[0], _ScriptResult) or _ScriptResult()
        return Observation(texts[0], exit_status=result.exit_code, timed_out=result.session_id is not None)
    # Whether the command has ended, a script does not show; it has if the script did not wait for it that long.
    waited = command is not None and float(header["wall"]) + 0.1 >= command.patience
    shown = _shown(texts[0], None, warned=True) if len(texts) == 1 else _joined(texts)
    stopped = waited or state == "terminated" or state.startswith("running")
    return replace(shown, failed=state == "failed", timed_out=stopped)


def _script_parts(parts: tuple[str, ...]) -> tuple[re.Match[str] | None, tuple[str, ...]]:
    """The header of a script's answer, and the texts behind it."""
    header = _SCRIPT.match(parts[0]) if parts else None
    if header is None:
        return None, parts
    rest = parts[0][header.end() :]
    return header, (rest, *parts[1:]) if rest else parts[1:]


def referenced(call: ToolCall, parts: tuple[str, ...], reference: str) -> tuple[str, ...]:
    """The result with ``reference`` in place of its text; the header stays, and with it the exit status."""
    if call.custom and call.name == SCRIPT_TOOL:
        header, _ = _script_parts(parts)
        return (header[0], reference) if header is not None else (reference,)
    report = report_of(call, parts[0]) if len(parts) == 1 else None
    return (report.having(reference) if report is not None else reference,)


def remarked(call: ToolCall, parts: tuple[str, ...], remark: str) -> tuple[str, ...]:
    """The result with ``remark`` behind it: one more line, or one more part where there are several."""
    if len(parts) != 1:
        return (*parts, remark)
    report = report_of(call, parts[0])
    if report is not None and report.metadata is not None:
        return (report.having(_with_line(report.body, remark)),)
    return (_with_line(parts[0], remark),)


def _with_line(text: str, line: str) -> str:
    return text + line if text.endswith("\n") or not text else f"{text}\n{line}"
