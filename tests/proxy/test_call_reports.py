"""Reports of hooks over a real socket: who may send one, and that no report, or a wrong one, changes nothing."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from aiohttp import ClientSession

from execledger.agents.codex import tools as codex
from execledger.proxy import call_reports
from execledger.proxy.book import Rules
from execledger.proxy.call_reports import MAX_REPORT, CallReport, CallReports, HookPort
from execledger.session.adapter import ToolCall
from tests.proxy.test_relay import Echo, through

REPORT = CallReport(thread="t", call_id="c1", command="ls", told=3)
LS = ToolCall("sh", '{"cmd": "ls"}')


def report_of(event: object) -> CallReport | None:
    """A report in the shape of the record itself."""
    if event == "fault":
        raise RuntimeError("planted")
    try:
        return msgspec.convert(event, CallReport)
    except msgspec.ValidationError:
        return None


PORT = HookPort(
    report_of=report_of,
    command_of=lambda call: json.loads(call.text).get("cmd"),
    observation_of=lambda call, parts, is_error, told: codex.observation_of(call, parts),
)


@pytest.fixture
def reports() -> CallReports:
    """Those of one run."""
    return CallReports(PORT)


def encoded(report: object) -> bytes:
    """What a hook sends."""
    return msgspec.json.encode(report)


def test_a_report_is_used_once(reports: CallReports) -> None:
    """By the result of its own call, when that is first read."""
    reports.add(encoded(REPORT))
    assert reports.take("other", "c1", LS) is None
    assert reports.take("t", "c1", LS) == REPORT
    assert reports.take("t", "c1", LS) is None


def test_a_report_that_comes_too_late_is_dropped(reports: CallReports) -> None:
    """What was read without it stays as it was read."""
    assert reports.take("t", "c1", LS) is None
    reports.add(encoded(REPORT))
    assert reports.take("t", "c1", LS) is None


def test_what_is_not_certain_is_not_used(reports: CallReports) -> None:
    """Two reports with one id, and a report on another command than the model's."""
    reports.add(encoded(REPORT))
    reports.add(encoded(REPORT))
    assert reports.take("t", "c1", LS) is None
    reports.add(encoded(CallReport(thread="t", call_id="c2", command="rm -r x")))
    assert reports.take("t", "c2", LS) is None


def test_reports_take_a_bounded_space(reports: CallReports, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest are forgotten."""
    monkeypatch.setattr(call_reports, "MAX_REPORTS", 3)
    made = [CallReport(thread="t", call_id=str(at), command="ls") for at in range(5)]
    for one in made:
        reports.add(encoded(one))
    assert [reports.take("t", one.call_id, LS) for one in made[2:]] == made[2:]
    assert reports.take("t", "0", LS) is None


@pytest.mark.parametrize(
    ("path", "data", "headers", "status", "used"),
    [
        ("{path}", encoded(REPORT), {}, 200, True),
        ("{path}", b"", {}, 200, False),
        ("{path}", b"{", {}, 200, False),
        ("{path}", b"[1]", {}, 200, False),
        ("{path}", b'"fault"', {}, 200, False),
        ("{path}", encoded(REPORT) + b" " * MAX_REPORT, {}, 200, False),
        ("{path}", encoded(REPORT), {"host": "example.org"}, 403, False),
        ("{path}", encoded(REPORT), {"origin": "http://example.org"}, 403, False),
        ("/hook/guessed", encoded(REPORT), {}, 404, False),
        ("/hook/", encoded(REPORT), {}, 404, False),
        ("{path}/more", encoded(REPORT), {}, 404, False),
    ],
    ids="report empty cut-off other fault too-long foreign-host foreign-page guessed-path no-secret below".split(),
)
def test_only_this_runs_hooks_are_heard(
    reports: CallReports, path: str, data: bytes, headers: dict[str, str], status: int, used: bool
) -> None:
    """Another path, another site or another content leaves no report; nothing that was meant for it is sent on."""
    upstream = Echo(b"{}")

    async def work(url: str, client: ClientSession) -> tuple[int, Any]:
        address = url + path.format(path=reports.path)
        async with client.post(address, data=data, headers=headers) as response:
            return response.status, await response.read()

    found = through(upstream, work, rules=Rules(reports=reports), prefix="")
    assert found[0] == status and (status != 200 or found[1] == b"{}")
    assert (reports.take("t", "c1", LS) is not None) == used
    assert [one[0] for one in upstream.received] == []
