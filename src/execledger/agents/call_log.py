"""Builds a recorded run from an agent's own log: calls and their results, in the order of the log.

The readers of logs tell a ``CallLog`` what each line says. Calls and results are translated by the adapter that the
proxy uses, so that a session means the same in its log as on the wire.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from execledger.runs.decoding import instance_of, moment_of
from execledger.runs.recording import ModelReply, Recorded, Run, told_replies
from execledger.runs.usage import ModelCall, told
from execledger.session.adapter import Adapter, Resolve, ToolCall
from execledger.vocabulary.actions import Observation

_MOST = 10**15
"""What is larger is no count: sums with it would not fit into a float."""


class _Waiting(Struct, frozen=True):
    """A call that has no result yet."""

    call: ToolCall
    turn: int
    thread: str


class CallLog:
    """One session, as far as its log was read."""

    def __init__(self, name: str, adapter: Adapter, resolve: Resolve | None) -> None:
        """A session in the file ``name``; ``resolve`` finds the calls that shims in it replaced."""
        self.name = name
        """The file."""
        self.agent = ""
        """The agent, with its version."""
        self.model = ""
        """The model that was asked first."""
        self.task = ""
        """The first task of the user."""
        self.cwd: str | None = None
        """The directory in which commands start."""
        self.ended = ""
        """How the last answer ended."""
        self.totals: ModelCall | None = None
        """What the session took, as the agent added it up."""
        self._adapter = adapter
        self._resolve = resolve
        self._calls: list[ModelCall] = []
        self._replies: list[ModelReply] = []
        self._waiting: dict[str, _Waiting] = {}
        self._steps: list[Recorded] = []
        self._forgotten: list[int] = []
        self._seen: dict[str, int] = {}
        self._lost = False

    def __len__(self) -> int:
        """How many calls have a result so far."""
        return len(self._steps)

    def says(self, text: str) -> None:
        """Take in a message of the user."""
        self.task = self.task or self._adapter.task_of(text).strip()

    def answers(self, took: ModelCall, model: object = None, *, text: str = "", at: object = None) -> None:
        """Begin an answer of the model, which ``took`` so much, with its ``text`` and the time of its record."""
        self._calls.append(took)
        self._replies.append(ModelReply(text, moment_of(at)))
        self.model = self.model or (model if isinstance(model, str) else "")

    def asks(self, call_id: object, tool: object, arguments: object, thread: str = "") -> None:
        """Take in a call of the model; arguments are an object, or a text for a tool that takes one."""
        custom = isinstance(arguments, str)
        text = arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()
        call = ToolCall(str(tool), text, custom=custom)
        self._waiting[str(call_id)] = _Waiting(call, max(len(self._calls) - 1, 0), thread)

    def returns(
        self,
        call_id: object,
        text: str,
        *,
        is_error: bool = False,
        exit_status: int | None = None,
        at: object = None,
        seconds: float | None = None,
    ) -> None:
        """Take in the result of a call; a call without one is no step.

        ``exit_status`` is what the log says of a command beside its text, ``at`` the time of the record, ``seconds``
        how long the call ran.
        """
        if (asked := self._waiting.pop(str(call_id), None)) is None:
            return
        call = asked.call
        seen = self._adapter.observation_of(call, (text,), is_error=is_error)
        mark = self._adapter.shim_mark(call) if self._resolve is not None else None
        original = self._resolve(mark) if self._resolve is not None and mark is not None else None
        if original is not None:
            # What a call that was not run would have returned is unknown.
            call, seen = original, Observation(truncated=True)
        action = self._adapter.action_of(call, self.cwd, asked.thread)
        if exit_status is not None and action.call is None and not seen.timed_out:
            seen = replace(seen, exit_status=exit_status)
        self._steps.append(Recorded(action, seen, asked.turn, at=moment_of(at), seconds=seconds))

    def forgets(self, since: int | None = None) -> None:
        """Note that results before step ``since``, by default the next one, are no longer in the model's context."""
        self._forgotten.append(len(self._steps) if since is None else since)

    def loses_line(self) -> None:
        """Note that a line can't be read: it may have been an edit or a compaction, so nothing before it is visible."""
        self.forgets()
        self._lost = True

    def follows(self, above: object) -> None:
        """Begin a line of a tree that follows the line ``above``: an earlier one takes the session back to it."""
        # A line that is not known may be one that was left out: where it was is unknown.
        unknown = 0 if self._lost else len(self._steps)
        if isinstance(above, str) and self._seen.get(above, unknown) < len(self._steps):
            self.forgets()

    def passes(self, line: object) -> None:
        """End a line of a tree, which later lines may follow."""
        if isinstance(line, str):
            self._seen[line] = len(self._steps)

    def run(self, format_name: str, trouble: tuple[str, ...] = ()) -> Run:
        """The run; ``trouble`` is what was wrong with its file."""
        forgotten = sorted(set(self._forgotten))
        return Run(
            name=self.name,
            format=format_name,
            parallel=True,
            agent=self.agent,
            model=self.model,
            task=self.task,
            container=False,
            turns=len(self._calls),
            steps=tuple(self._steps),
            compactions=tuple(at for at in forgotten if 0 < at < len(self._steps)),
            model_calls=told(self._calls),
            replies=told_replies(self._replies),
            totals=self.totals,
            instance=instance_of(self.name),
            ended=self.ended,
            trouble=trouble,
        )


def field_of(value: object, *names: str) -> Any:
    """A field within objects within objects; None where there is none."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def text_field(value: object, *names: str) -> str:
    """A field that is a text; "" where it is none."""
    found = field_of(value, *names)
    return found if isinstance(found, str) else ""


def count_field(value: object, *names: str) -> int | None:
    """A field that is a count; None where it is none, or larger than any count is."""
    found = field_of(value, *names)
    return found if isinstance(found, int) and not isinstance(found, bool) and 0 <= found < _MOST else None
