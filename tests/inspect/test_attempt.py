"""One attempt at a sample, with stand-ins for the parts of Inspect that it asks."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import anyio
import pytest

from execledger.inspect.messages import MessageRequest
from tests.inspect.test_sample import START, TEXT, Call, Message, result, view

BASH = SimpleNamespace(name="bash")
"""The tool of mini-swe-agent."""
TOOK_PART = "mini-swe-agent"
UNKNOWN = "the tools that the model was offered are not those of an agent that Ledger knows"
NO_TOOLS = "the model was offered no tools"
LEFT_ALONE = "it left model calls alone, after a fault of its own or while it was paused"

OURS = ("execledger.inspect.registry", "execledger.inspect.attempt")
"""Our modules that import Inspect."""


class History:
    """The events of a log."""

    def __init__(self) -> None:
        self.resident_events: list[Any] = []
        self.noted: list[dict[str, Any]] = []

    def info(self, noted: dict[str, Any], source: str) -> None:
        """Take a note."""
        self.noted.append(noted)

    @property
    def event_count(self) -> int:
        """The number of events."""
        return len(self.resident_events)

    def recent_events(self, n: int) -> list[Any]:
        """The last ``n`` events."""
        return self.resident_events[-n:] if n else []


class Docker:
    """A sandbox of a sample's own, in which commands start in ``/w``."""

    def as_type(self, kind: type) -> Docker:
        """Itself."""
        return self

    async def exec(self, command: list[str], timeout: int) -> Any:
        """Print the directory."""
        return SimpleNamespace(success=True, stdout="/w\n")


Docker.__registry_info__ = SimpleNamespace(name="docker")  # type: ignore[attr-defined]


@pytest.fixture
def history(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[History]:
    """The events of the sample's log, in an Inspect of which an agent in a sandbox asks its model."""
    events = History()
    parts: dict[str, dict[str, Any]] = {
        "inspect_ai": {},
        "inspect_ai.agent": {"current_agent_bridge_context": lambda: "a bridge"},
        "inspect_ai.approval": {"Approval": object, "Approver": object, "approver": lambda name: lambda made: made},
        "inspect_ai.hooks": {"Hooks": object, "hooks": lambda name, description: lambda made: made},
        "inspect_ai.log": {"transcript": lambda: SimpleNamespace(history=events, info=events.info)},
        "inspect_ai.model": {"ChatMessage": object, "ChatMessageUser": object},
        "inspect_ai.tool": {"ToolCall": object, "ToolCallView": object},
        "inspect_ai.util": {"SandboxEnvironment": Docker, "current_span_id": lambda: "agent", "sandbox": Docker},
    }
    for name, content in parts.items():
        module = ModuleType(name)
        vars(module).update(content)
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setenv("EXECLEDGER_JOURNAL", str(tmp_path))
    monkeypatch.delenv("EXECLEDGER_OPTIONS", raising=False)
    yield events
    for name in OURS:
        sys.modules.pop(name, None)


def reuses(history: History, meanwhile: list[Any]) -> bool:
    """Whether a file that was read is not read again in a sandbox of the sample's own, after these events."""
    from execledger.inspect.attempt import Attempt

    attempt = Attempt("one-1", print)
    told = '{"returncode": 0, "output": "' + TEXT.replace("\n", "\\n") + '", "exception_info": ""}'
    first, again = (Call(name, {"command": "cat a.py"}) for name in "ab")

    async def played() -> bool:
        asked = await attempt.inform([*START], [BASH], "m", view)
        assert asked is not None and await attempt.judge(asked, [first], first) is None
        history.resident_events += meanwhile
        asked = await attempt.inform([*START, Message("assistant", "", [first]), result("a", told)], [BASH], "m", view)
        assert asked is not None
        suppressed = await attempt.judge(asked, [again], again)
        await attempt.end()
        return suppressed is not None

    return bool(anyio.run(played))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("preset=paper,govern=false", {"preset": "paper", "govern": False}),
        ("presett=paper", "Object contains unknown field `presett`"),
    ],
)
def test_the_log_has_what_was_asked_for_before_any_model_call(
    history: History, monkeypatch: pytest.MonkeyPatch, given: str, expected: str | dict[str, Any]
) -> None:
    """Once for each attempt: before the sandbox of the first is made, and when a later one starts."""
    from execledger.inspect.registry import LedgerHooks

    monkeypatch.setenv("EXECLEDGER_OPTIONS", given)
    hooks = LedgerHooks()

    async def sample() -> None:
        await hooks.on_sample_init(SimpleNamespace())
        assert len(history.noted) == 1
        for attempt in (1, 2):
            await hooks.on_sample_attempt_start(SimpleNamespace(sample_id="one", attempt=attempt))
            await hooks.on_sample_attempt_end(SimpleNamespace())

    monkeypatch.setattr("execledger.inspect.registry.version", lambda name: "unknown")
    anyio.run(sample)
    assert len(history.noted) == 2
    for noted in history.noted:
        if isinstance(expected, str):
            assert expected in noted["absent"]
        else:
            assert expected.items() <= noted["asked"].items()


@pytest.mark.parametrize(("event", "reused"), [("model", True), ("score", False)])
def test_what_a_scorer_writes_between_two_attempts_is_not_known(history: History, event: str, reused: bool) -> None:
    """A scorer may run anything in the sandbox: from then on every command is run."""
    assert reuses(history, [SimpleNamespace(event=event, id=None)]) is reused


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        (["bash", "bash", "mystery"], [TOOK_PART]),
        (["mystery", "mystery"], [UNKNOWN]),
        (["mystery", "bash"], [UNKNOWN, TOOK_PART]),
        (["a fault", "a fault"], [LEFT_ALONE]),
        (["no tools", "no tools"], [NO_TOOLS]),
        (["no tools", "bash", "no tools"], [NO_TOOLS, TOOK_PART]),
        (["a fault", "a fault", "bash", "bash"], [LEFT_ALONE, TOOK_PART]),
    ],
    ids=["took part", "other tools", "also other tools", "no part", "no tools", "tools later", "a part later"],
)
def test_the_log_says_whether_ledger_takes_part(
    history: History, monkeypatch: pytest.MonkeyPatch, calls: list[str], expected: list[str]
) -> None:
    """Once, and that it does whenever it begins to; a sample without either would pass for one without Ledger."""
    from execledger.inspect import sample
    from execledger.inspect.attempt import Attempt

    attempt = Attempt("one-1", lambda _: None)
    for call in calls:
        if call == "no tools":
            attempt.leave_alone()
            continue
        monkeypatch.setattr(sample, "MessageRequest", partial(int, "planted") if call == "a fault" else MessageRequest)
        tool = SimpleNamespace(name="bash" if call == "a fault" else call)
        anyio.run(attempt.inform, [*START], [tool], "m", view)
    anyio.run(attempt.end)
    assert [noted.get("absent") or noted.get("agent") for noted in history.noted] == expected
