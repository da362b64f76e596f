"""The failures of agents without a batch runner: what their own events and exit statuses say of the end of a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from execledger.agents.evaluation import RECORDED, Batch, Failure, Instance, last_words
from execledger.agents.headless import EVENTS, HeadlessRunner, TaskRun
from execledger.agents.work_folder import WorkFolder
from execledger.evaluate.experiment import runner_of, setup_of
from execledger.evaluate.plan import Plan
from execledger.runs.recording import Run

Event = dict[str, Any]
OVERLOADED = "API Error: 529 overloaded"


def failure(
    folder: Path, agent: str, *events: Event | bytes, status: int | None = 0, log: str = "", ended: str = ""
) -> str:
    """What ended a run of an agent that printed these events, or lines."""
    plan = Plan(agent=agent, own={"repos": "."})
    batch = Batch(
        setup=setup_of(plan, f"/bin/{agent}", folder),
        tasks=(Instance(instance_id="a", problem_statement=""),),
        folder=folder,
        log=folder / "log",
        scratch=folder,
        shared=folder,
        dataset=folder,
        split="test",
    )
    batch.log.write_text(f"Error: of another run\n{log}")
    place = WorkFolder(folder, "", folder, (), folder, sealed=False)
    run = TaskRun(batch=batch, task=batch.tasks[0], place=place, session="s", log_start=22)
    run.folder.mkdir()
    lines = (event if isinstance(event, bytes) else json.dumps(event).encode() for event in events)
    (run.folder / EVENTS).write_bytes(b"".join(line + b"\n" for line in lines))
    (run.folder / RECORDED).mkdir()
    (run.folder / RECORDED / "session.jsonl").write_bytes((run.folder / EVENTS).read_bytes())
    runner = runner_of(plan)
    assert isinstance(runner, HeadlessRunner)
    session = Run(name="", format="", agent=agent, model="", task="", container=False, turns=1, steps=(), ended=ended)
    return runner.failure(run, session, status)


def answer(**fields: str) -> Event:
    return {"type": "message_end", "message": {"role": "assistant", **fields}}


FAILED = {"type": "turn.failed", "error": {"message": "exceeded retry limit, last status: 429"}}
RETRIED = {"type": "error", "message": "Reconnecting... 1/5"}
SESSION = {"type": "session.error", "data": {"errorType": "rate_limit", "message": "Slow down."}}
REFUSED = {"type": "error", "error": {"name": "APIError", "data": {"message": "Overloaded"}}}
CONVERSATION = {"kind": "ConversationErrorEvent", "code": "LLMServiceUnavailableError", "detail": "529"}
LIMIT = {"kind": "ConversationErrorEvent", "code": "MaxIterationsReached", "detail": "500 of 500"}
TURNS = {"type": "FatalTurnLimitedError", "message": "Reached max session turns for this session."}
QUOTA = {"type": "ApiError", "message": "got status: 429 Too Many Requests"}


@pytest.mark.parametrize(
    ("agent", "events", "expected"),
    [
        ("claude", [{"type": "result", "is_error": True, "result": OVERLOADED}], f"API error: {OVERLOADED}"),
        (
            "claude",
            [{"type": "result", "subtype": "error_during_execution", "is_error": True, "errors": ["a", "b"]}],
            "error: a; b",
        ),
        ("claude", [{"type": "result", "subtype": "error_max_turns", "is_error": True}], ""),
        ("claude", [{"type": "result", "subtype": "success", "is_error": False}], ""),
        ("codex", [{"type": "turn.started"}, FAILED], "API error: exceeded retry limit, last status: 429"),
        ("codex", [RETRIED, {"type": "turn.completed"}], ""),
        ("codex", [FAILED, {"type": "turn.completed"}], ""),
        ("codex", [{"type": "turn.started"}, {"type": "error", "message": "It broke."}], "error: It broke."),
        ("opencode", [REFUSED], "API error: APIError: Overloaded"),
        ("opencode", [REFUSED, {"type": "step_start"}], ""),
        ("opencode", [{"type": "error", "error": {"name": "UnknownError"}}], "error: UnknownError"),
        ("copilot", [SESSION], "API error: rate_limit: Slow down."),
        ("copilot", [SESSION, {"type": "assistant.message"}], ""),
        ("pi", [answer(stopReason="error", errorMessage="529 overloaded")], "API error: 529 overloaded"),
        ("pi", [answer(stopReason="error", errorMessage="529"), answer(stopReason="stop")], ""),
        ("gemini", [{"type": "result", "status": "error", "error": QUOTA}], f"API error: {QUOTA['message']}"),
        ("gemini", [{"type": "error", "message": "Loop detected"}, {"type": "result", "status": "success"}], ""),
        (
            "qwen",
            [{"type": "result", "is_error": True, "error": {"message": "[API Error: 400 no]"}}],
            "API error: [API Error: 400 no]",
        ),
        ("qwen", [{"type": "result", "is_error": True}], "error: the agent reports an error, and none of its details"),
    ],
)
def test_the_error_that_ended_a_run_is_its_failure(
    agent: str, events: list[Event], expected: str, tmp_path: Path
) -> None:
    """Each agent reports it in events of its own; an error after which the agent went on is none."""
    assert failure(tmp_path, agent, *events) == expected


@pytest.mark.parametrize(
    ("event", "expected"), [(CONVERSATION, "API error: LLMServiceUnavailableError: 529"), (LIMIT, "")]
)
def test_a_conversation_that_ended_with_an_error(event: Event, expected: str, tmp_path: Path) -> None:
    """OpenHands prints its error as an event, which the recorded session has as well; its limit is no failure."""
    assert failure(tmp_path, "openhands", event, ended="error") == expected


@pytest.mark.parametrize(
    ("agent", "event", "expected"),
    [
        ("openhands", CONVERSATION, "API error: LLMServiceUnavailableError: 529"),
        ("codex", FAILED, "API error: exceeded retry limit, last status: 429"),
    ],
)
def test_a_line_that_cannot_be_read_hides_no_error(agent: str, event: Event, expected: str, tmp_path: Path) -> None:
    """It may be torn, hold values nested too deeply, or be no object."""
    line = json.dumps(event).encode()
    torn, deep, other = line[:-1], line[:-1] + b', "x": ' + b"[" * 100_000, b"[%b]" % line
    assert failure(tmp_path, agent, event, torn, deep, other, ended="error") == expected


@pytest.mark.parametrize("half", [b"\\ud83d", b"\xf0\x9f"], ids=["surrogate", "bytes"])
@pytest.mark.parametrize(("agent", "event"), [("openhands", CONVERSATION), ("codex", FAILED)])
def test_an_error_with_half_a_character_is_read(agent: str, event: Event, half: bytes, tmp_path: Path) -> None:
    """Agents cut messages anywhere."""
    line = json.dumps(event).encode().replace(b"529", b"529" + half).replace(b"429", b"429" + half)
    assert failure(tmp_path, agent, line, ended="error").startswith("API error: ")


@pytest.mark.parametrize(
    ("agent", "events", "status"),
    [
        ("gemini", [{"type": "result", "status": "error", "error": TURNS}], 53),
        ("qwen", [], 53),
        ("qwen", [], 55),
        ("qwen", [{"type": "result", "is_error": True, "subtype": "error_during_execution"}], 55),
    ],
)
def test_an_exit_status_of_a_limit_is_no_failure(agent: str, events: list[Event], status: int, tmp_path: Path) -> None:
    """Gemini CLI also reports an error then, and Qwen Code may only print to its standard error."""
    assert failure(tmp_path, agent, *events, status=status, log="Reached max session turns\n") == ""


@pytest.mark.parametrize(
    ("agent", "said", "api"),
    [
        ("claude", "Please run /login \u00b7 API Error: 401", True),
        ("claude", "Invalid API key \u00b7 Fix external API key", True),
        ("claude", "Not logged in \u00b7 Please run /login", True),
        ("claude", "OAuth token has expired", True),
        ("claude", "You've hit your session limit \u00b7 resets 3pm", True),
        ("claude", "Claude AI usage limit reached|1755", True),
        ("claude", "The /login endpoint test fails", False),
        ("claude", "a test of the API key parser fails", False),
        ("claude", "API Error (429 rate_limit_error)", True),
        ("claude", "Context limit reached", True),
        ("claude", "recursion limit reached", False),
        ("codex", "Selected model is at capacity. Please try a different model.", True),
        ("codex", "Quota exceeded. Check your plan and billing details.", True),
        ("codex", "Connection failed: error sending request", True),
        ("codex", "You've hit your usage limit. Try again later.", True),
        ("codex", "Rate limit reached for gpt-5 in organization x", True),
        ("codex", "a test of the rate limit fails", False),
        ("codex", "disk capacity exceeded", False),
        ("codex", "Disk quota exceeded (os error 122)", False),
        ("codex", "database connection failed", False),
        ("gemini", "You exceeded your current quota, please check your plan", True),
        ("gemini", "You have exhausted your daily quota on this model.", True),
        ("gemini", "EDQUOT: disk quota exceeded, write", False),
        ("qwen", "[API Error: Connection error.]", True),
        ("qwen", "a test of API error handling fails", False),
        ("openhands", "litellm.RateLimitError: slow down", True),
        ("openhands", "LLM settings were not found", False),
        ("copilot", "query planner failed", False),
        ("opencode", "AI_APICallError: Overloaded", True),
    ],
)
def test_errors_of_the_api_have_phrases_of_their_own(agent: str, said: str, api: bool) -> None:
    """Words such as login, capacity and quota are in other errors as well."""
    runner = runner_of(Plan(agent=agent))
    assert isinstance(runner, HeadlessRunner)
    assert runner.classified(said).kind is (Failure.API if api else Failure.OTHER)


def test_an_exit_status_is_a_failure_with_the_last_words(tmp_path: Path) -> None:
    """Those of this run, not of one before it, and not Ledger's account, which follows them."""
    log = "Segmentation fault\nLedger: 3 commands\n"
    words = "error: ended with status 139: Segmentation fault"
    assert failure(tmp_path, "claude", status=139, log=log) == words
    (tmp_path / "mute").mkdir()
    assert failure(tmp_path / "mute", "codex", status=1) == "error: ended with status 1: it said nothing"


def test_a_limit_of_time_is_a_failure(tmp_path: Path) -> None:
    """Whatever the events say."""
    assert failure(tmp_path, "codex", FAILED, status=None) == "timeout: the run reached the limit of time in the plan"


@pytest.mark.parametrize(
    ("log", "words"),
    [
        ("execledger: there is no address\nhint: set one up\n", "execledger: there is no address hint: set one up"),
        ("first\nhint: a\nsecond\n", "second"),
        ("ValueError: no\n  more of it\nhint: a\n", "ValueError: no more of it hint: a"),
        ("hint: alone\n", "hint: alone"),
        ("Ledger: 3 commands\n", "Ledger: 3 commands"),
        ("", ""),
    ],
)
def test_a_hint_follows_its_message(log: str, words: str, tmp_path: Path) -> None:
    """It is not the reason of a failure by itself."""
    (tmp_path / "log").write_text(log)
    assert last_words(tmp_path / "log") == words
