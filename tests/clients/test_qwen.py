"""The real Qwen Code with Ledger around it: what is sent, what the model is shown, and what the client still does."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from execledger.agents.qwen import AGENT
from execledger.agents.qwen.tools import ADAPTER
from tests.support.agents.node_clients import NodeRun, node_client, run_client
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
    references,
    results,
    shadowed,
    steps,
    views,
)
from tests.support.agents.terminal import ENTER, Terminal
from tests.support.servers.scripted import Request, ScriptedServer, Turn, played

pytestmark = pytest.mark.long
PROMPT = ("-p", "Mend it.")
SETTINGS = {"tools": {"shell": {"enableInteractiveShell": False}}}
LONG = "".join(f"number_{at} = {at}  # one of very many lines\n" for at in range(3000))
WIRES = ("openai", "openai-responses", "anthropic", "gemini")


@pytest.fixture(params=AGENT.tested)
def qwen(request: pytest.FixtureRequest) -> Path:
    """The program of each version that is tested."""
    return or_skip(lambda: node_client("@qwen-code/qwen-code", request.param, "cli-entry.js", "qwen"))


@pytest.fixture(params=WIRES)
def auth(request: pytest.FixtureRequest, qwen: Path) -> str:
    """Each dialect that the version has."""
    if request.param == "openai-responses" and qwen.parent.name == AGENT.tested[0]:
        pytest.skip("this version has no Responses")
    return str(request.param)


@pytest.fixture
def place(tmp_path: Path) -> AgentHome:
    """Folders of a new user. In a terminal of its own the client sometimes loses the output of a short command."""
    home = AgentHome(tmp_path)
    settings = home.user / ".qwen" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps(SETTINGS))
    (home.repository / "long.py").write_text(LONG)
    return home


def run(
    qwen: Path,
    place: AgentHome,
    url: str,
    words: Sequence[str] = PROMPT,
    prefix: Sequence[str] = (),
    auth: str = "openai",
    extra: Mapping[str, str] | None = None,
) -> NodeRun:
    """Run ``qwen -p`` to its end; ``url`` is the address of all APIs."""
    own = [qwen, *words, "--yolo", "-o", "json", *(("--auth-type", auth) if auth else ())]
    return run_client(own, place.repository, {**environment(place, url), **(extra or {})}, prefix)


def environment(place: AgentHome, url: str) -> dict[str, str]:
    """The variables of a user whose models are all at ``url``."""
    return {
        **place.variables(),
        "OPENAI_API_KEY": "x",
        "OPENAI_BASE_URL": f"{url}/v1",
        "OPENAI_MODEL": "qwen3-coder-plus",
        "ANTHROPIC_API_KEY": "x",
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_MODEL": "claude-sonnet-4-5",
        "GEMINI_API_KEY": "x",
        "GOOGLE_GEMINI_BASE_URL": url,
        "GEMINI_MODEL": "gemini-2.5-pro",
        "QWEN_CODE_SUPPRESS_YOLO_WARNING": "1",
    }


def shell(command: str) -> tuple[str, dict[str, object]]:
    return "run_shell_command", {"command": command, "is_background": False}


def story(place: AgentHome) -> list[Turn]:
    """Read, the same read, a part of it, parallel calls, another directory, an edit, a failing and a passing test.

    Then an output and a file that are too long to be shown whole.
    """
    path, long = str(place.big), str(place.repository / "long.py")
    return [
        [("read_file", {"file_path": path})],
        [("read_file", {"file_path": path})],
        [shell("ls"), ("read_file", {"file_path": path, "offset": 20, "limit": 60})],
        [("read_file", {"file_path": path, "offset": 30, "limit": 40})],
        [shell("cat big.py")],
        [shell("mkdir -p deep && cd deep && pwd")],
        [("edit", {"file_path": path, "old_string": "value_7 = 7 ", "new_string": "value_7 = 8 "})],
        [("read_file", {"file_path": path, "offset": 0, "limit": 12})],
        [shell("python3 -c 'raise SystemExit(3)'")],
        [shell("python3 -c 'print(1)'")],
        [shell("seq 1 20000")],
        [("read_file", {"file_path": long})],
        [("read_file", {"file_path": long, "offset": 100, "limit": 200}), shell("ls deep")],
    ]


def test_a_session_with_everything_in_it(qwen: Path, place: AgentHome, auth: str) -> None:
    """In every dialect: repeated reads become references in the client's own frame, and its edits still work."""
    with ScriptedServer(played(story(place))) as server:
        done = run(qwen, place, server.url, prefix=ledger(place.journals), auth=auth)
    assert done.status == 0, done.errors
    assert "fault" not in done.errors and "saw no request" not in done.errors
    requests = server.turns
    assert len(requests) == len(story(place)) + 1
    check_prefixes(requests)
    shown = results(requests[-1])
    texts = list(shown.values())
    assert texts[1].startswith("[File big.py unchanged since last read")
    # Behind a reference the next look at the same lines is shown in full.
    assert texts[3].startswith("Showing lines 21-80 of 121 total lines.\n\n---\n\n[Ledger: output omitted.")
    assert texts[4].startswith("Showing lines 31-70 of 121 total lines.\n\n---\n\nvalue_30 = 30")
    # The client cuts a long file within a line: which lines it shows is not believed.
    assert "... [truncated]" in texts[12] and "number_100 = 100" in texts[13]
    assert references(requests[-1]) == [list(shown)[3]]
    assert "value_7 = 8" in place.big.read_text()
    assert "value_7 = 8" in texts[8]
    assert "Exit Code: 3" in texts[9]
    made = steps(place.journals)
    assert len(made) == 15
    assert {step["action"]["cwd"] for step in made} == {str(place.repository)}
    assert any(views(request) for request in requests)


def test_shadow_changes_no_byte(qwen: Path, place: AgentHome, auth: str) -> None:
    """What the client sent is what the server received."""
    with ScriptedServer(played(story(place))) as server, shadowed(ADAPTER, server.url, place.journals) as tap:
        done = run(qwen, place, tap.url, auth=auth)
    assert done.status == 0, done.errors
    assert tap.bodies == [request.raw for request in server.requests if request.method == "POST"]
    assert len(steps(place.journals)) == 15


def test_breakpoints_are_where_they_are_without_ledger(qwen: Path, place: AgentHome) -> None:
    """All four are taken by the client; no edit adds, moves or removes one."""
    sent: list[list[list[int]]] = []
    for prefix in ((), ledger(place.journals)):
        with ScriptedServer(played(story(place))) as server:
            done = run(qwen, place, server.url, prefix=prefix, auth="anthropic")
            assert done.status == 0, done.errors
        sent.append([breakpoints(request) for request in server.turns])
    assert sent[0] == sent[1] and all(sent[0])


def test_a_resumed_session_is_shown_what_it_was_shown(qwen: Path, place: AgentHome) -> None:
    """The client moves a reminder to the new prompt; calls and results are as they were, references included."""
    turns = story(place)[:5]
    with ScriptedServer(played([*turns, "Done.", [shell("ls")], "Done."])) as server:
        run(qwen, place, server.url, prefix=ledger(place.journals))
        again = ("--continue", "-p", "Go on.")
        done = run(qwen, place, server.url, again, prefix=ledger(place.journals))
    assert done.status == 0, done.errors
    before, after = server.turns[len(turns)], server.turns[-1]
    assert references(before)
    earlier, later = (made(request) for request in (before, after))
    assert later[: len(earlier)] == earlier


def made(request: Request) -> list[object]:
    """The calls and results of a request."""
    return [*zip(calls(request), results(request).items(), strict=True)]


def test_a_suppressed_command_is_shown_as_the_model_made_it(qwen: Path, place: AgentHome) -> None:
    """Sealed, a repeated command is replaced by a shim; reads always run, and after a resume edits still work."""
    path = str(place.big)
    edit = ("edit", {"file_path": path, "old_string": "value_7 = 7 ", "new_string": "value_7 = 8 "})
    more: list[Turn] = [[("read_file", {"file_path": path})], [edit], "Done."]

    def script(request: Request) -> Turn:
        """A command is made again until its output was not lost, and was reused."""
        if any("Go on." in json.dumps(leaf) for leaf in leaves(request)):
            return more[sum(name != "run_shell_command" for name, _ in calls(request)) - 1]
        if "[Ledger: not run, " not in json.dumps(leaves(request)) and request.turns < 8:
            return [shell("cat big.py")]
        return [("read_file", {"file_path": path})] if calls(request)[-1][0] != "read_file" else "Done."

    with ScriptedServer(script) as server:
        first = run(qwen, place, server.url, prefix=ledger(place.journals, "--sealed"))
        again = ("--continue", "-p", "Go on.")
        done = run(qwen, place, server.url, again, prefix=ledger(place.journals, "--sealed"))
    assert (first.status, done.status) == (0, 0), first.errors + done.errors
    commands = [call for call in calls(server.turns[-1]) if call[0] == "run_shell_command"]
    assert commands == [shell("cat big.py")] * len(commands)
    assert sum("[Ledger: not run, " in text for text in results(server.turns[-1]).values()) == 1
    assert "reused before running" in first.errors
    assert "value_7 = 8" in place.big.read_text()


def test_subagents_are_conversations_of_their_own(qwen: Path, place: AgentHome) -> None:
    """They run in the background, beside the main one: each is shown its own results, and one session has all."""
    path = str(place.big)

    def beside(request: Request) -> bool:
        return b"Mend it." not in request.raw

    def script(request: Request) -> Turn:
        if beside(request):
            return [("read_file", {"file_path": path})] if request.turns == 0 else "Read."
        given = {"description": "read", "prompt": "Look at big.py for me", "subagent_type": "general-purpose"}
        main: list[Turn] = [[("read_file", {"file_path": path})], [("agent", given)], [shell("cat big.py")]]
        return main[request.turns] if request.turns < len(main) else "Done."

    with ScriptedServer(script) as server:
        done = run(qwen, place, server.url, prefix=ledger(place.journals))
    assert done.status == 0, done.errors
    others = [request for request in server.turns if beside(request)]
    assert others and len(list(place.journals.glob("*.jsonl"))) == 1
    for request in others:
        assert not any("[Ledger:" in text for text in results(request).values())
    check_prefixes([request for request in server.turns if request not in others])


SUMMARY = "<state_snapshot>It was read.</state_snapshot>"


def is_compaction(request: Request) -> bool:
    """Whether a request asks for a summary of the conversation."""
    return b"You are the component that summarizes a conversation" in request.raw


def is_compacted(request: Request) -> bool:
    """Whether a request has a summary in place of its history."""
    return not is_compaction(request) and b"Resume the prior task using the summary above." in request.raw


@pytest.mark.parametrize("auth", ["openai", "anthropic"])
def test_compaction_forgets_what_the_model_no_longer_sees(qwen: Path, place: AgentHome, auth: str) -> None:
    """The request for a summary, which offers tools, has no view; behind it nothing refers to what is gone."""
    wide = place.repository / "wide.py"
    wide.write_text("".join(f"line_{at} = {at}  # {'wide ' * 20}\n" for at in range(200)))
    big = str(place.big)
    first: list[Turn] = [
        [("read_file", {"file_path": str(wide)})],
        [("read_file", {"file_path": big})],
        [("edit", {"file_path": big, "old_string": "value_7 = 7 ", "new_string": "value_7 = 8 "})],
        [shell("ls")],
    ]
    then: list[Turn] = [
        [("read_file", {"file_path": str(wide), "offset": 20, "limit": 60})],
        [("read_file", {"file_path": str(wide), "offset": 30, "limit": 40})],
        [("read_file", {"file_path": big})],
        [("edit", {"file_path": big, "old_string": "value_8 = 8 ", "new_string": "value_8 = 9 "})],
    ]

    def script(request: Request) -> Turn:
        if is_compaction(request):
            return SUMMARY
        turns = then if is_compacted(request) else first
        made = sum(is_compacted(other) == is_compacted(request) and not is_compaction(other) for other in server.turns)
        return turns[made - 1] if made <= len(turns) else "Done."

    def usage(request: Request) -> int:
        full = request.turns == len(first) - 1 and not is_compacted(request) and not is_compaction(request)
        return 120_000 if full else 5000

    settings = {**SETTINGS, "context": {"autoCompactThreshold": 0.1}}
    (place.user / ".qwen" / "settings.json").write_text(json.dumps(settings))

    with ScriptedServer(script, usage, SUMMARY) as server:
        done = run(qwen, place, server.url, prefix=ledger(place.journals), auth=auth)
    assert done.status == 0, done.errors
    asking = [request for request in server.requests if is_compaction(request)]
    assert asking and not any(VIEW.encode() in request.raw for request in asking)
    after = [request for request in server.turns if is_compacted(request)]
    assert len(after) == len(then) + 1
    (view,) = views(after[0])
    assert "Task: Mend it." in view["text"] and "- big.py" in view["text"].partition("Modified")[2]
    assert "- wide.py: whole, 200 lines" in view["text"].partition("Seen, no longer in context:")[2]
    # The client itself has put this file behind the summary.
    assert "big.py" not in view["text"].partition("Seen, no longer in context:")[2]
    # The first of these requests is followed by one that has the client's own context again.
    check_prefixes(after[1:])
    texts = list(results(after[-1]).values())
    assert "line_20 = 20" in texts[1] and texts[2].partition("---\n\n")[2].startswith(OMITTED)
    assert not any(OMITTED in text for text in (*texts[:2], *texts[3:]))
    assert "value_7 = 8 " in place.big.read_text() and "value_8 = 9 " in place.big.read_text()
    assert len(steps(place.journals)) == len(first) + len(then)


def test_the_terminal_is_the_clients(qwen: Path, place: AgentHome) -> None:
    """Prompts, answers, a summary on command, and the end, as without Ledger; its suggestions have no view."""
    path = str(place.big)
    turns: list[Turn] = [
        [("read_file", {"file_path": path})],
        [("read_file", {"file_path": path, "offset": 20, "limit": 60})],
        "Both were read.",
    ]
    more: list[Turn] = [[("read_file", {"file_path": path, "offset": 30, "limit": 40})], "It was read again."]

    def script(request: Request) -> Turn:
        if is_compaction(request):
            return SUMMARY
        if b"[SUGGESTION MODE" in request.raw or b"Managed memory" in request.raw:
            return "Done."
        behind = sum(is_compacted(other) and b"[SUGGESTION MODE" not in other.raw for other in server.turns)
        return more[behind - 1] if is_compacted(request) else turns[request.turns]

    # Compaction has to be worth its price by the numbers of the server.
    with ScriptedServer(script, lambda _: 50_000, SUMMARY) as server:
        words = [*ledger(place.journals), str(qwen), "--yolo", "--auth-type", "openai"]
        terminal = {**environment(place, server.url), "TERM": "xterm-256color"}
        with Terminal(words, place.repository, terminal) as screen:
            screen.wait_for("Type your message")
            screen.wait_until_still()
            screen.paste("Read it.")
            screen.press_until(ENTER, "Both were read.")
            screen.wait_until_still()
            screen.paste("/compress")
            screen.press_until(ENTER, "compressed from")
            screen.wait_until_still()
            screen.paste("Read it again.")
            screen.press_until(ENTER, "It was read again.")
            screen.wait_until_still()
            screen.paste("/quit")
            screen.press_until(ENTER, "Ledger: 3 commands, 0 reused before running, 1 after")
            status = screen.wait()
    assert status == 0
    asking = [one for one in server.requests if is_compaction(one) or b"[SUGGESTION MODE" in one.raw]
    assert asking and not any(VIEW.encode() in request.raw for request in asking)
    before, after = (
        [one for one in server.turns if is_compacted(one) == compacted and one not in asking]
        for compacted in (False, True)
    )
    check_prefixes(before[:3])
    assert len(references(before[2])) == 1 and not references(after[1])
    assert views(after[0])


def test_the_users_own_providers_are_the_upstreams(qwen: Path, place: AgentHome) -> None:
    """A model's address in the user's settings is stronger than variables, and is asked through Ledger."""
    with ScriptedServer(played([])) as server:
        models = [{"id": "mine", "name": "mine", "baseUrl": f"{server.url}/v1", "envKey": "MY_KEY"}]
        settings = {
            **SETTINGS,
            "modelProviders": {"openai": models},
            "model": {"name": "mine"},
            "security": {"auth": {"selectedType": "openai"}},
        }
        folder = place.user / ".qwen"
        (folder / "settings.json").write_text(f"// mine\n{json.dumps(settings)}")
        none = {"OPENAI_BASE_URL": "", "ANTHROPIC_BASE_URL": "", "GOOGLE_GEMINI_BASE_URL": "", "MY_KEY": "k"}
        done = run(qwen, place, "", prefix=ledger(place.journals), auth="", extra=none)
    assert done.status == 0, done.errors
    assert "saw no request" not in done.errors
    assert {request.headers["authorization"] for request in server.turns} == {"Bearer k"}
    # The client may write its file anew, but never with the proxy's address.
    kept = (folder / "settings.json").read_text()
    assert f"{server.url}/v1" in kept and "/run/" not in kept
