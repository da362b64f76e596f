"""The real Claude Code with Ledger around it: what is sent, what the model is shown, and what the client still does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from execledger.agents.claude import adapter
from tests.support.agents.claude import (
    BINDING,
    CURRENT,
    MODEL,
    NEWER,
    OLD,
    ClaudeHome,
    ClaudeRun,
    claude,
    run_claude,
)
from tests.support.agents.hooked import commands, session
from tests.support.agents.sessions import (
    OMITTED,
    VIEW,
    AgentHome,
    breakpoints,
    calls,
    check_prefixes,
    leaves,
    ledger,
    or_skip,
    results,
    shadowed,
    steps,
)
from tests.support.agents.terminal import END, ENTER, Terminal
from tests.support.servers.scripted import Request, ScriptedServer, Turn, played


@pytest.fixture(params=[CURRENT, pytest.param(OLD, marks=pytest.mark.long)])
def binary(request: pytest.FixtureRequest) -> Path:
    """Each of the versions that are tested; the older one in the long form."""
    return or_skip(lambda: claude(request.param))


@pytest.fixture
def current() -> Path:
    """The version that users have."""
    return or_skip(lambda: claude(CURRENT))


@pytest.fixture(params=[MODEL, NEWER])
def model(request: pytest.FixtureRequest) -> str:
    """A model for which the client puts its reminders into results, and one for which it sends them as messages."""
    return str(request.param)


both_in_long = pytest.mark.parametrize("model", [NEWER, pytest.param(MODEL, marks=pytest.mark.long)])
"""For tests in which the client's reminders play a small part."""


@pytest.fixture
def place(tmp_path: Path) -> ClaudeHome:
    """Folders of a new user, and a file that is long enough to be worth a reference."""
    return ClaudeHome(tmp_path)


def story(home: ClaudeHome) -> list[Turn]:
    """Read, the same read, a part of it, parallel calls, another directory, an edit, a failing and a passing test."""
    path = str(home.repository / "big.py")
    return [
        [("Read", {"file_path": path})],
        [("Read", {"file_path": path})],
        [("Bash", {"command": "ls"}), ("Read", {"file_path": path, "offset": 20, "limit": 60})],
        [("Bash", {"command": "cat big.py"})],
        [("Bash", {"command": "cat big.py"})],
        [("Bash", {"command": "mkdir -p deep && cd deep && pwd"})],
        [("Edit", {"file_path": path, "old_string": "value_7 = 7 ", "new_string": "value_7 = 8 "})],
        [("Read", {"file_path": path, "offset": 1, "limit": 12})],
        [("Bash", {"command": "python3 -c 'raise SystemExit(3)'"})],
        [("Bash", {"command": "python3 -c 'print(1)'"})],
    ]


def check_requests(requests: list[Request]) -> None:
    """What the model was shown once stays, and the last block but the view has a breakpoint.

    Older versions set it before a message of the system that ends a request.
    """
    check_prefixes(requests)
    for request in requests:
        behind = leaves(request)[breakpoints(request)[-1] + 1 :]
        assert all(leaf["role"] == "system" for leaf in behind)


def test_a_session_with_everything_in_it(binary: Path, place: ClaudeHome, model: str) -> None:
    """Repeated reads become references with the client's reminders behind them, and its edits still work."""
    with ScriptedServer(played(story(place))) as server:
        run = run_claude(binary, "Mend it.", url=server.url, home=place, model=model, prefix=ledger(place.journals))
    assert run.status == 0, run.errors
    assert "fault" not in run.errors
    requests = server.turns
    assert len(requests) == len(story(place)) + 1
    check_requests(requests)
    shown = results(requests[-1])
    assert "value_7 = 8" in (place.repository / "big.py").read_text()
    assert shown["toolu_007_0"].startswith("1\tvalue_0 = 0") and "8\tvalue_7 = 8" in shown["toolu_007_0"]
    omitted = [name for name, text in shown.items() if text.startswith(OMITTED)]
    assert omitted, shown
    for name in omitted:
        assert ("<system-reminder>" in shown[name]) == ("<system-reminder>" in shown["toolu_000_0"])
    assert shown["toolu_008_0"].startswith("Exit code 3")
    made = steps(place.journals)
    assert len(made) == 11 and len(list(place.journals.glob("*.jsonl"))) == 1
    cwds = [step["action"]["cwd"] for step in made]
    # The older version does not report where a `cd` has led.
    moved = str(place.repository / "deep") if binary == claude(CURRENT) else None
    assert (cwds[:6], cwds[-1]) == ([str(place.repository)] * 6, moved)


def test_shadow_changes_no_byte(current: Path, place: ClaudeHome) -> None:
    """What the client sent is what the server received, side calls included."""
    with ScriptedServer(played(story(place))) as server, shadowed(adapter, server.url, place.journals) as tap:
        run = run_claude(current, "Mend it.", url=tap.url, home=place)
    assert run.status == 0, run.errors
    assert tap.bodies == [request.raw for request in server.requests if request.method == "POST"]
    assert len(steps(place.journals)) == 11


def test_a_resumed_session_is_shown_what_it_was_shown(binary: Path, place: ClaudeHome, model: str) -> None:
    """Also when forked: references made before are there again, byte for byte."""
    turns = story(place)[:5]
    with ScriptedServer(played([*turns, "Done.", [("Bash", {"command": "ls"})], "Done.", "Done."])) as server:
        first = run_claude(binary, "Mend it.", url=server.url, home=place, model=model, prefix=ledger(place.journals))
        for more in ((), ("--fork-session",)):
            again = ("--resume", first.session, *more, "Go on.")
            run = run_claude(binary, *again, url=server.url, home=place, model=model, prefix=ledger(place.journals))
            assert run.status == 0, run.errors
    assert any(text.startswith(OMITTED) for text in results(server.turns[-1]).values())
    before = leaves(server.turns[len(turns)])
    for request in server.turns[len(turns) + 1 :]:
        assert leaves(request)[: len(before)] == before


def test_behind_a_message_of_the_system_the_view_is_a_part_of_it(current: Path, place: ClaudeHome) -> None:
    """The API accepts no other message there; the client's breakpoint stays before the view."""
    with ScriptedServer(played(story(place))) as server:
        prefix = ledger(place.journals, "--cadence", "every")
        run = run_claude(current, "Mend it.", url=server.url, home=place, model=NEWER, prefix=prefix)
    assert run.status == 0, run.errors
    check_requests(server.turns)
    ends = [request.items[-1] for request in server.turns]
    assert {message["role"] for message in ends} == {"system"}
    assert all(VIEW in message["content"][-1]["text"] for message in ends)


def test_a_model_whose_reasoning_is_bound_is_sent_no_view(current: Path, place: ClaudeHome) -> None:
    """A view that is gone from the next request would make its provider refuse that one; references stay."""
    with ScriptedServer(played(story(place))) as server:
        prefix = ledger(place.journals, "--cadence", "every")
        run = run_claude(current, "Mend it.", url=server.url, home=place, model=BINDING, prefix=prefix)
    assert run.status == 0, run.errors
    assert not any(VIEW.encode() in request.raw for request in server.requests)
    # The client itself ends each request with a text that the next one lacks; results stay as they were shown.
    for before, after in pairwise(map(results, server.turns)):
        assert before.items() <= after.items()
    assert len(steps(place.journals)) == 11 and len(list(place.journals.glob("*.jsonl"))) == 1
    assert any(text.startswith(OMITTED) for text in results(server.turns[-1]).values())


def test_a_suppressed_command_is_shown_as_the_model_made_it(current: Path, place: ClaudeHome, model: str) -> None:
    """Sealed, a repeated command is replaced by a shim; the model sees its own call, answered by a reference."""
    turns: list[Turn] = [[("Bash", {"command": "cat big.py"})], [("Bash", {"command": "cat big.py"})]]
    with ScriptedServer(played(turns)) as server:
        run = run_claude(
            current, "Mend it.", url=server.url, home=place, model=model, prefix=ledger(place.journals, "--sealed")
        )
    assert run.status == 0, run.errors
    last = server.turns[-1]
    assert calls(last) == [("Bash", {"command": "cat big.py"})] * 2
    first, second = (results(last)[f"toolu_{at:03}_0"] for at in (0, 1))
    assert second.startswith("[Ledger: not run, ") and "[ledger:" not in second
    assert ("<system-reminder>" in second) == ("<system-reminder>" in first)
    assert "reused before running" in run.errors


def test_a_shim_that_the_users_rules_refuse_is_shown_as_the_client_answered(current: Path, place: ClaudeHome) -> None:
    """Nothing is claimed about a command that was not answered, and the model reads its own call."""
    turns: list[Turn] = [[("Bash", {"command": "cat big.py"})], [("Bash", {"command": "cat big.py"})]]
    mine = ("--settings", json.dumps({"permissions": {"deny": ["Bash(echo:*)"]}}))
    with ScriptedServer(played(turns)) as server:
        prefix = ledger(place.journals, "--sealed")
        run = run_claude(current, *mine, "Mend it.", url=server.url, home=place, prefix=prefix)
    assert run.status == 0, run.errors
    check_requests(server.turns)
    assert calls(server.turns[-1]) == [("Bash", {"command": "cat big.py"})] * 2
    refused = results(server.turns[-1])["toolu_001_0"]
    assert "denied" in refused and "[Ledger:" not in refused


@both_in_long
def test_subagents_are_conversations_of_their_own(current: Path, place: ClaudeHome, model: str) -> None:
    """They run in the background, beside the main one: each is shown its own results, and one session has all."""
    path = str(place.repository / "big.py")

    def script(request: Request) -> Turn:
        if "x-claude-code-agent-id" in request.headers:
            return [("Read", {"file_path": path})] if request.turns == 0 else "Read."
        given = {"description": "read", "prompt": "Read big.py", "subagent_type": "general-purpose"}
        main: list[Turn] = [[("Read", {"file_path": path})], [("Agent", given)], [("Read", {"file_path": path})]]
        return main[request.turns] if request.turns < len(main) else "Done."

    with ScriptedServer(script) as server:
        run = run_claude(current, "Mend it.", url=server.url, home=place, model=model, prefix=ledger(place.journals))
    assert run.status == 0, run.errors
    beside = [request for request in server.turns if "x-claude-code-agent-id" in request.headers]
    assert beside and len(list(place.journals.glob("*.jsonl"))) == 1
    for request in beside:
        assert not any(text.startswith("[Ledger:") for text in results(request).values())
    check_requests([request for request in server.turns if request not in beside])


@pytest.mark.parametrize(
    ("model", "first_party"),
    [
        (MODEL, "0"),
        (NEWER, "1"),
        *(pytest.param(*other, marks=pytest.mark.long) for other in ((MODEL, "1"), (NEWER, "0"))),
    ],
)
def test_what_is_asked_beside_the_conversation_has_no_view(
    current: Path, place: ClaudeHome, model: str, first_party: str
) -> None:
    """A suggested prompt and a search of the web; where the address counts as Anthropic's, a header tells them too."""
    turns: list[Turn] = [
        *story(place)[:2],
        [("ToolSearch", {"query": "select:WebSearch", "max_results": 1})],
        [("WebSearch", {"query": "parsers"})],
        [("Bash", {"command": "ls"})],
    ]

    def script(request: Request) -> Turn | int:
        return "run the tests" if beside(request) else played(turns)(request)

    def beside(request: Request) -> bool:
        return b"[SUGGESTION MODE: " in request.raw or b"Perform a web search for the query: " in request.raw

    with ScriptedServer(script) as server:
        extra = {"_CLAUDE_CODE_ASSUME_FIRST_PARTY_BASE_URL": first_party}
        prefix = ledger(place.journals, "--cadence", "every")
        words = ("Mend it.", "--prompt-suggestions", "true")
        run = run_claude(current, *words, url=server.url, home=place, model=model, prefix=prefix, extra=extra)
    assert run.status == 0, run.errors
    side = [request for request in server.turns if beside(request)]
    main = [request for request in server.turns if not beside(request)]
    assert len(side) == 2 and len(main) == len(turns) + 1
    assert not any(VIEW.encode() in request.raw for request in side)
    assert all(VIEW.encode() in request.raw for request in main[1:])
    for request in server.turns:
        kind = request.headers.get("x-claude-code-request-class")
        assert kind == (None if first_party == "0" else "auxiliary" if request in side else "main")
    check_prefixes(main)
    before = leaves(main[-1])
    assert leaves(side[-1])[: len(before)] == before
    assert len(steps(place.journals)) == len(turns)


@both_in_long
def test_compaction_forgets_what_the_model_no_longer_sees(current: Path, place: ClaudeHome, model: str) -> None:
    """The request for a summary has no view, and nothing is referred to that it removed."""
    path = str(place.repository / "big.py")

    def script(request: Request) -> Turn:
        if b"CRITICAL: Respond with TEXT ONLY" in request.raw:
            return "<summary>It was read.</summary>"
        made = sum(other.is_turn and b"TEXT ONLY" not in other.raw for other in server.requests)
        first: list[Turn] = [[("Read", {"file_path": path})], [("Bash", {"command": "ls"})]]
        return first[made - 1] if made <= 2 else [("Read", {"file_path": path})] if made == 3 else "Done."

    def usage(request: Request) -> int:
        return 190_000 if request.turns == 1 and not compacted(request) else 1000

    def compacted(request: Request) -> bool:
        return b"This session is being continued" in request.raw

    with ScriptedServer(script, usage) as server:
        extra = {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "100000"}
        run = run_claude(
            current, "Mend it.", url=server.url, home=place, model=model, prefix=ledger(place.journals), extra=extra
        )
    assert run.status == 0, run.errors
    summaries = [request for request in server.requests if b"CRITICAL: Respond with TEXT ONLY" in request.raw]
    assert summaries
    assert not any(VIEW.encode() in request.raw for request in summaries)
    after = [request for request in server.turns if compacted(request) and request not in summaries]
    assert after
    assert not any(text.startswith(OMITTED) for request in after for text in results(request).values())


@pytest.fixture
def bypassing(place: ClaudeHome) -> Iterator[ScriptedServer]:
    """A server that the user's own settings lead to."""
    with ScriptedServer(played([])) as server:
        folder = place.user / ".claude"
        folder.mkdir()
        (folder / "settings.json").write_text(json.dumps({"env": {"ANTHROPIC_BASE_URL": server.url}}))
        yield server


def test_the_users_own_address_is_the_upstream(current: Path, place: ClaudeHome, bypassing: ScriptedServer) -> None:
    """The address in the user's file is asked, through Ledger, with the user's other settings in place."""
    mine = ("--settings", json.dumps({"env": {"MINE": "1"}}), "Mend it.")
    run = run_claude(current, *mine, url="http://127.0.0.1:9", home=place, prefix=ledger(place.journals))
    assert run.status == 0, run.errors
    assert len(bypassing.turns) == 1
    assert "saw no request" not in run.errors
    assert list(place.journals.glob("*.jsonl"))


def test_a_run_without_a_request_is_told(current: Path, place: ClaudeHome) -> None:
    """Whoever expects Ledger to be there learns that it was not."""
    run = run_claude(current, "--help", url="http://127.0.0.1:9", home=place, prefix=ledger(place.journals))
    assert run.status == 0
    assert "Ledger saw no request of claude" in run.errors


PROMPT = "Read big.py for me."


def settled(place: ClaudeHome, **more: object) -> None:
    """A user who has used the terminal before: it asks nothing at its start."""
    accepted = {str(place.repository): {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}}
    approved = {"approved": ["dummy"], "rejected": []}
    state = {"hasCompletedOnboarding": True, "customApiKeyResponses": approved, "projects": accepted, **more}
    (place.user / ".claude.json").write_text(json.dumps(state))


def test_the_terminal_is_the_clients(current: Path, place: ClaudeHome) -> None:
    """A prompt, a call, an answer, and the end, as without Ledger; the request for a title has no view."""
    settled(place)
    turns: list[Turn] = [[("Read", {"file_path": str(place.big)})], [("Read", {"file_path": str(place.big)})], "Twice."]
    with ScriptedServer(lambda request: played(turns)(request) if request.is_turn else "A title") as server:
        environment = {**place.environment(server.url), "TERM": "xterm-256color"}
        del environment["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"]
        words = [*ledger(place.journals), str(current)]
        with Terminal(words, place.repository, environment) as terminal:
            terminal.wait_for("/effort")
            terminal.paste(PROMPT)
            terminal.press_until(ENTER, "Twice.")
            terminal.press_until(END, "Ledger: 2 commands, ")
            status = terminal.wait()
    assert status == 0
    sides = [request for request in server.requests if request.dialect and not request.is_turn]
    assert sides and not any(VIEW.encode() in request.raw for request in sides)
    check_requests(server.turns)
    assert len(server.turns) == 3 and results(server.turns[-1])["toolu_001_0"].startswith(OMITTED)


def stored_login(place: ClaudeHome) -> str:
    """Store a subscription login; its token, which is none."""
    token = "sk-ant-oat01-" + "stored" * 8
    login = {"accessToken": token, "refreshToken": "sk-ant-ort01-x", "expiresAt": 4102444800000}
    more = {"scopes": ["user:inference", "user:profile"], "subscriptionType": "max"}
    folder = place.user / ".claude"
    folder.mkdir()
    (folder / ".credentials.json").write_text(json.dumps({"claudeAiOauth": {**login, **more}}))
    return token


@pytest.mark.parametrize("stored", [False, True], ids=["variable", "file"])
def test_a_subscription_login_reaches_the_upstream(current: Path, place: ClaudeHome, stored: bool) -> None:
    """The header is the client's own with and without Ledger, in every request, and no file of ours holds the token."""
    token = stored_login(place) if stored else "sk-ant-oat01-" + "given" * 8
    extra = {"ANTHROPIC_API_KEY": "", **({} if stored else {"CLAUDE_CODE_OAUTH_TOKEN": token})}
    sent = []
    for prefix in ([], ledger(place.journals)):
        with ScriptedServer(played([[("Bash", {"command": "ls"})]])) as server:
            run = run_claude(current, "Mend it.", url=server.url, home=place, prefix=prefix, extra=extra)
        assert run.status == 0, run.errors
        headers = [request.headers for request in server.turns]
        assert len(headers) == 2 and {one["authorization"] for one in headers} == {f"Bearer {token}"}
        assert not any("x-api-key" in one for one in headers)
        sent.append([one["anthropic-beta"] for one in headers])
    assert sent[0] == sent[1] and "oauth-2025-04-20" in sent[1][0]
    folders = (place.journals, place.user / ".local" / "state" / "execledger")
    ours = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    assert ours and not any(token.encode() in path.read_bytes() for path in ours)


def test_directories_that_two_calls_of_a_turn_change_are_not_guessed(binary: Path, place: ClaudeHome) -> None:
    """The client reports where it is, or Ledger does not know; relative names behind it are never taken for others."""
    (place.repository / "one").mkdir()
    (place.repository / "two").mkdir()
    for name in ("one", "two"):
        (place.repository / name / "big.py").write_text(place.big.read_text().replace("value", name))
    turns: list[Turn] = [
        [("Bash", {"command": "cat one/big.py"})],
        [("Bash", {"command": "cd one"}), ("Bash", {"command": "cd ../two || cd two"})],
        [("Bash", {"command": "cat big.py"})],
        [("Bash", {"command": "pwd"})],
    ]
    with ScriptedServer(played(turns)) as server:
        run = run_claude(binary, "Mend it.", url=server.url, home=place, prefix=ledger(place.journals))
    assert run.status == 0, run.errors
    shown = results(server.turns[-1])
    where = Path(shown["toolu_003_0"].split()[0])
    *_, read, asked = steps(place.journals)
    assert {read["action"]["cwd"], asked["action"]["cwd"]} <= {None, str(where)}
    omitted = shown["toolu_002_0"].startswith(OMITTED)
    assert not omitted or where == place.repository / "one"


def test_hooks_report_directories_and_outcomes_beside_the_users_own(
    binary: Path, place: ClaudeHome, tmp_path: Path
) -> None:
    """Every directory is known and right, no exit code is wrong, and hooks of the user's file and option run too."""
    truth = commands(keeps_directory=True)

    def hook(name: str) -> dict[str, object]:
        command = {"type": "command", "command": f"cat >/dev/null; echo {name} >> {tmp_path}/hooked"}
        return {"hooks": {"PostToolUse": [{"matcher": "Bash", "hooks": [command]}]}}

    folder = place.user / ".claude"
    folder.mkdir()
    settings = folder / "settings.json"
    settings.write_text(json.dumps(hook("file")))
    before = settings.read_bytes()

    def run(url: str, home: AgentHome, prefix: list[str]) -> ClaudeRun:
        mine = ("--settings", json.dumps(hook("option")), "Mend it.")
        return run_claude(binary, *mine, url=url, home=place, prefix=prefix)

    found = session(run, place, truth, "Bash", "--hooks")
    assert found.status == 0 and "fault" not in found.errors, found.errors
    assert found.places(truth, place) == ["right"] * len(truth)
    # Of a search without a match, the client says that its code was not 0, and not which one it was.
    assert found.exits(truth) == ["right"] * (len(truth) - 1) + ["unknown"]
    check_prefixes(found.requests)
    ran = (tmp_path / "hooked").read_text().split()
    succeeded = sum(one.exit_status == 0 for one in truth) + 1
    assert ran.count("file") == ran.count("option") == succeeded, "and the search without a match, which is no error"
    assert settings.read_bytes() == before
