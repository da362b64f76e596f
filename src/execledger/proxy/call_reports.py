"""Reports of a client's hooks on completed calls: what the client knows of a call and does not send to the model.

Hooks send them to a path of the proxy that only this run knows. A report is used once, when the result of its call is
first read; one that arrives later is dropped, so that what was recorded and shown never changes. Without a report, a
result is read as if there were no hooks.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable

import msgspec
from msgspec import Struct

from execledger.proxy.json_split import NOT_JSON
from execledger.session.adapter import ToolCall
from execledger.vocabulary.actions import Observation

PATH = "/hook/"
"""The prefix of the path that hooks send reports to."""
MAX_REPORT = 1_000_000
"""Bytes of a report; a longer one is not read."""
MAX_REPORTS = 4096
"""Calls whose reports are kept, or which are known to have been read; beyond that, the oldest are forgotten."""


class CallReport(Struct, frozen=True, kw_only=True):
    """What a hook reported about one completed call."""

    thread: str
    """The conversation that made the call, as ``Asked.thread`` names it."""
    call_id: str
    """The id of the call."""
    command: str
    """The command that the client ran; the report counts only for a call with this command."""
    told: object = None
    """What the client knows of the result beside its text, in the client's own form."""
    cwd: str | None = None
    """The working directory after the call; None if the hook does not report it."""


class HookPort(Struct, frozen=True, kw_only=True):
    """What is specific to the hooks of one agent."""

    report_of: Callable[[object], CallReport | None]
    """The report in the decoded JSON that a hook sent; None if it is about anything else."""
    command_of: Callable[[ToolCall], str | None]
    """The shell command of a call; None if it is not one."""
    observation_of: Callable[[ToolCall, tuple[str, ...], bool, object], Observation]
    """The observation in a result, given the call, the text parts, whether the client marked it as an error, and what
    was ``told`` about it."""


class CallReports:
    """The reports of one run that have not been used yet."""

    def __init__(self, port: HookPort) -> None:
        """No reports, and a new secret path for them."""
        self.port = port
        """What is specific to the agent."""
        self.secret = secrets.token_urlsafe(24)
        """The last part of the path."""
        self._reports: dict[tuple[str, str], CallReport | None] = {}
        self._lock = threading.Lock()
        """Held for each use of the reports: they arrive on the event loop and are used on the worker's thread too."""

    @property
    def path(self) -> str:
        """The path that hooks send reports to."""
        return PATH + self.secret

    def add(self, body: bytes) -> None:
        """Keep the report in what a hook sent; a second one for the same call leaves neither certain."""
        try:
            report = self.port.report_of(msgspec.json.decode(body))
        except NOT_JSON:
            return
        if report is not None:
            key = report.thread, report.call_id
            with self._lock:
                self._set(key, None if key in self._reports else report)

    def take(self, thread: str, call_id: str, call: ToolCall) -> CallReport | None:
        """The report on a call whose result is read for the first time; later ones are dropped."""
        key = thread, call_id
        with self._lock:
            report = self._reports.get(key)
            self._set(key, None)
        return report if report is not None and self.port.command_of(call) == report.command else None

    def _set(self, key: tuple[str, str], report: CallReport | None) -> None:
        self._reports[key] = report
        if len(self._reports) > MAX_REPORTS:
            del self._reports[next(iter(self._reports))]
