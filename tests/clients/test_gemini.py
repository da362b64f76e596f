"""The real Gemini CLI with Ledger around it: what is sent, what the model is shown, and what the client still does."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from execledger.agents.gemini import AGENT
from execledger.agents.gemini.tools import ADAPTER
from tests.support.agents.node_clients import NodeRun, node_client, run_client
from tests.support.agents.sessions import (
    VIEW,
    AgentHome,
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
from tests.support.servers.web_proxy import WebProxy

pytestmark = pytest.mark.long
PROMPT = ("-p", "Mend it.")


@pytest.fixture(params=AGENT.tested)
def gemini(request: pytest.FixtureRequest) -> Path:
    """The program of each version that is tested."""
    return or_skip(lambda: node_client("@google/gemini-cli", request.param, "bundle/gemini.js", "gemini"))


@pytest.fixture
def place(tmp_path: Path) -> AgentHome:
    """Folders of a user who has chosen an API key."""
    home = AgentHome(tmp_path)
    settings = home.user / ".gemini" / "settings.json"
    settings.parent.mkdir()
    long = "".join(f"number_{at} = {at}  # one of very many lines\n" for at in range(3000))
    (home.repository / "long.py").write_text(long)
    settings.write_text('{"security": {"auth": {"selectedType": "gemini-api-key"}}}  // chosen\n')
    return home


def run(gemini: Path, place: AgentHome, url: str, words: Sequence[str] = PROMPT, prefix: Sequence[str] = ()) -> NodeRun:
    """Run ``gemini -p`` to its end."""
    own: list[str | Path] = [gemini, *words, "--yolo", "-o", "json", "-m", "gemini-2.5-pro"]
    return run_client(own, place.repository, environment(place, url), prefix)


def is_newest(gemini: Path) -> bool:
    """Whether this is the newest version that is tested."""
    return AGENT.tested[-1] in gemini.parts


def environment(place: AgentHome, url: str) -> dict[str, str]:
    """The variables of a user with an API key."""
    return {
        **place.variables(),
        "GEMINI_API_KEY": "x",
        "GOOGLE_GEMINI_BASE_URL": url,
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
    }


def shell(command: str) -> tuple[str, dict[str, object]]:
    return "run_shell_command", {"command": command}


def story() -> list[Turn]:
    """Read, the same read, a part of it, parallel calls, another directory, an edit, a failing and a passing test.

    Then an output and a file that are too long to be shown whole.
    """
    edit = {"file_path": "big.py", "old_string": "value_7 = 7 ", "new_string": "value_7 = 8 ", "instruction": "x"}
    return [
        [("read_file", {"file_path": "big.py"})],
        [("read_file", {"file_path": "big.py"})],
        [shell("ls"), ("read_file", {"file_path": "big.py", "start_line": 21, "end_line": 80})],
        [shell("cat big.py"), shell("cat big.py")],
        [shell("mkdir -p deep && cd deep && pwd")],
        [("replace", edit)],
        [("read_file", {"file_path": "big.py", "start_line": 1, "end_line": 12})],
        [shell("python3 -c 'raise SystemExit(3)'")],
        [shell("python3 -c 'print(1)'")],
        [shell("seq 1 20000")],
        [("read_file", {"file_path": "long.py"})],
        [("read_file", {"file_path": "long.py", "start_line": 101, "end_line": 300}), shell("ls deep")],
    ]


def test_a_session_with_everything_in_it(gemini: Path, place: AgentHome) -> None:
    """Repeated reads become references in the client's own frame, signatures stay, and its edits still work."""
    with ScriptedServer(played(story())) as server:
        done = run(gemini, place, server.url, prefix=ledger(place.journals))
    assert done.status == 0, done.errors
    assert "fault" not in done.errors and "saw no request" not in done.errors
    requests = server.turns
    assert len(requests) == len(story()) + 1
    check_prefixes(requests)
    texts = list(results(requests[-1]).values())
    assert texts[1].startswith("[Ledger: output omitted.")
    assert "value_7 = 8" in place.big.read_text()
    assert "value_7 = 8" in texts[8]
    assert "Exit Code: 3" in texts[9]
    assert texts[12].partition("---\n")[2].startswith("number_0 = 0")
    assert texts[13].partition("---\n")[2].startswith("[Ledger: output omitted. Lines 101-300 of long.py ")
    made = steps(place.journals)
    assert len(made) == 15
    assert {step["action"]["cwd"] for step in made} == {str(place.repository)}
    assert all(step["decision"]["rule"] != "not-governed" for step in made)
    assert [step["observation"]["exit_status"] for step in made[9:11]] == [3, 0]
    assert any(views(request) for request in requests)
    signed = [part for item in requests[-1].items for part in item["parts"] if "thoughtSignature" in part]
    assert all("functionCall" in part for part in signed)
    # Older versions make no signatures of their own.
    assert bool(signed) == is_newest(gemini)


def test_shadow_changes_no_byte(gemini: Path, place: AgentHome) -> None:
    """What the client sent is what the server received."""
    with ScriptedServer(played(story())) as server, shadowed(ADAPTER, server.url, place.journals) as tap:
        done = run(gemini, place, tap.url)
    assert done.status == 0, done.errors
    assert tap.bodies == [request.raw for request in server.requests if request.method == "POST"]
    assert len(steps(place.journals)) == 15


def test_a_resumed_session_is_shown_what_it_was_shown(gemini: Path, place: AgentHome) -> None:
    """Most versions send every result twice after a resume: both copies are shown as the first was."""
    turns = story()[:3]
    with ScriptedServer(played([*turns, "Done.", [shell("ls")], "Done."])) as server:
        run(gemini, place, server.url, prefix=ledger(place.journals))
        again = ("--resume", "latest", "-p", "Go on.")
        done = run(gemini, place, server.url, again, prefix=ledger(place.journals))
    assert done.status == 0, done.errors
    before, after = server.turns[len(turns)], server.turns[-1]
    assert references(before)
    assert calls(after)[: len(calls(before))] == calls(before)
    shown = results(before)
    answers = [leaf["functionResponse"] for leaf in leaves(after) if "functionResponse" in leaf]
    again_shown = [(one["id"], one["response"]["output"]) for one in answers if one["id"] in shown]
    assert (len(again_shown) > len(shown)) == (AGENT.tested[0] not in gemini.parts)
    assert set(again_shown) == set(shown.items())


def test_a_suppressed_command_is_shown_as_the_model_made_it(gemini: Path, place: AgentHome) -> None:
    """Sealed, a repeated command is replaced by a shim; the model sees its own call, answered by a reference."""
    with ScriptedServer(played([[shell("cat big.py")], [shell("cat big.py")], "Done."])) as server:
        first = run(gemini, place, server.url, prefix=ledger(place.journals, "--sealed"))
        again = ("--resume", "latest", "-p", "Go on.")
        done = run(gemini, place, server.url, again, prefix=ledger(place.journals, "--sealed"))
    assert (first.status, done.status) == (0, 0), first.errors + done.errors
    assert "reused before running" in first.errors
    for request in server.turns[2:]:
        assert calls(request) == [shell("cat big.py")] * 2
        assert list(results(request).values())[1].startswith("[Ledger: not run, ")


def test_subagents_are_conversations_of_their_own(gemini: Path, place: AgentHome) -> None:
    """Their calls have no ids, and their results do; each conversation is shown its own results."""

    def beside(request: Request) -> bool:
        return b'"complete_task"' in request.raw

    def script(request: Request) -> Turn:
        if beside(request):
            done = ("complete_task", {"result": "read"})
            return [("read_file", {"file_path": "big.py"})] if request.turns < 2 else [done]
        given = {"agent_name": "generalist", "prompt": "Look at big.py for me"}
        main: list[Turn] = [[("read_file", {"file_path": "big.py"})], [("invoke_agent", given)], [shell("ls")]]
        return main[request.turns] if request.turns < len(main) else "Done."

    with ScriptedServer(script) as server:
        done = run(gemini, place, server.url, prefix=ledger(place.journals))
    assert done.status == 0, done.errors
    others = [request for request in server.turns if beside(request)]
    assert len(others) > 2 and len(list(place.journals.glob("*.jsonl"))) == 1
    check_prefixes([request for request in server.turns if request not in others])
    check_prefixes(others)
    # The second read of the sub-agent refers to its own first one.
    answered = [list(results(request).values()) for request in others]
    assert answered[1][0].startswith("value_0") and answered[2][1].startswith("[Ledger: output omitted.")
    assert [step["action"]["call"] is not None for step in steps(place.journals)].count(True) >= 3


SUMMARY = "<scratchpad>x</scratchpad>\n<state_snapshot>It was read.</state_snapshot>"


def is_compacted(request: Request) -> bool:
    """Whether a request has a summary in place of its history."""
    return request.is_turn and b"Got it. Thanks for the additional context!" in request.raw


def test_the_terminal_is_the_clients(gemini: Path, place: AgentHome) -> None:
    """Prompts, answers, and the end, as without Ledger; the history is replaced by a summary, on command and by size.

    Requests for a summary have no view; behind them nothing refers to what is gone, and what is kept is as it was.
    """
    read = ("read_file", {"file_path": "big.py"})
    part = ("read_file", {"file_path": "big.py", "start_line": 21, "end_line": 80})
    edit = {"file_path": "big.py", "old_string": "value_7 = 7 ", "new_string": "value_7 = 8 ", "instruction": "x"}
    # Behind each prompt; the fourth one makes the history so long that it is compressed before the last answer.
    prompts: dict[str, list[Turn]] = {
        "Task one.": [[read], [part], "First end."],
        "Task two.": [[part], "Second end."],
        "Task three.": [[part], [("replace", edit)], "Third end."],
        "Task four.": [[read], "Fourth end."],
    }

    def script(request: Request) -> Turn:
        # Until the client is ready, keys that frame a paste are taken for text, and a quick enter key for a line break.
        said = [(at, prompt) for at, leaf in enumerate(leaves(request)) for prompt in prompts if prompt in str(leaf)]
        since, last = said[-1]
        turn: Turn = prompts[last][sum(leaf["role"] == "model" for leaf in leaves(request)[since:])]
        return turn

    def usage(request: Request) -> int:
        return 900_000 if b"Fourth" not in request.raw and b"Task four." in request.raw else 5000

    with ScriptedServer(script, usage, SUMMARY) as server:
        words = [*ledger(place.journals), str(gemini), "--yolo", "-m", "gemini-2.5-pro"]
        terminal = {**environment(place, server.url), "TERM": "xterm-256color"}
        with Terminal(words, place.repository, terminal) as screen:
            screen.wait_for("Type your message")
            screen.paste("Task one.")
            screen.press_until(ENTER, "First end.")
            # A list of commands opens first.
            screen.send("/compress")
            screen.wait_for("Compresses the context")
            screen.press_until(ENTER, "Chat history compressed from")
            for prompt, end in (
                ("Task two.", "Second end."),
                ("Task three.", "Third end."),
                ("Task four.", "Fourth end."),
            ):
                screen.paste(prompt)
                screen.press_until(ENTER, end)
            screen.send("/quit")
            screen.wait_for("Exit the cli")
            screen.press_until(ENTER, "Ledger: 6 commands, 0 reused before running, 2 after")
            status = screen.wait()
    assert status == 0
    sides = [request for request in server.requests if request.dialect and not request.is_turn]
    assert len(sides) >= 4 and not any(VIEW.encode() in request.raw for request in sides)
    first = [request for request in server.turns if not is_compacted(request)]
    check_prefixes(first)
    assert len(references(first[-1])) == 1
    behind = [request for request in server.turns if is_compacted(request)]
    (view,) = views(behind[0])
    assert "Task one." in view["text"] and "Seen, no longer in context:\n- big.py: 1-120 (current)" in view["text"]
    assert [len(references(request)) for request in behind] == [0, 0, 0, 1, 1, 1, 0]
    check_prefixes(behind[:-1])
    assert "value_7 = 8 " in place.big.read_text()
    made = steps(place.journals)
    assert len(made) == 6 and {step["action"]["thread"] for step in made} == {made[0]["action"]["thread"]}


TOKEN = "ya29." + "stored" * 8
"""The token of a stored Google login, which is none."""


def store_login(place: AgentHome) -> None:
    """Store a Google login of the user."""
    folder = place.user / ".gemini"
    login = {"access_token": TOKEN, "refresh_token": "1//x", "token_type": "Bearer", "expiry_date": 4102444800000}
    (folder / "oauth_creds.json").write_text(json.dumps({**login, "scope": SCOPE}))
    (folder / "settings.json").write_text(json.dumps({"security": {"auth": {"selectedType": "oauth-personal"}}}))


SCOPE = "https://www.googleapis.com/auth/cloud-platform https://www.googleapis.com/auth/userinfo.email"
GOOGLE = {
    "/tokeninfo": {"expires_in": 3600, "scope": SCOPE},
    "/oauth2/v2/userinfo": {"email": "user@example.org"},
}
"""What Google's own hosts answer."""


def test_a_google_login_reaches_the_upstream(gemini: Path, place: AgentHome, tmp_path: Path) -> None:
    """Requests of another shape at another address, resumed too; Google's other hosts are asked as without Ledger."""
    store_login(place)
    hosts = ("oauth2.googleapis.com", "www.googleapis.com", "play.googleapis.com")
    turns = story()[:3]
    asked, sent = [], []
    with ExitStack() as stack:
        web = stack.enter_context(or_skip(lambda: WebProxy(tmp_path, hosts, GOOGLE)))
        for prefix in ((), ledger(place.journals)):
            server = stack.enter_context(ScriptedServer(played([*turns, "Done.", [shell("ls")], "Done."])))
            variables = {
                **place.variables(),
                "CODE_ASSIST_ENDPOINT": server.url,
                "GEMINI_CLI_TRUST_WORKSPACE": "true",
                "HTTPS_PROXY": web.url,
                "NO_PROXY": "127.0.0.1",
                "NODE_EXTRA_CA_CERTS": str(web.certificate),
            }
            web.asked.clear()
            for words in (PROMPT, ("--resume", "latest", "-p", "Go on.")):
                own: list[str | Path] = [gemini, *words, "--yolo", "-o", "json", "-m", "gemini-2.5-pro"]
                done = run_client(own, place.repository, variables, prefix)
                assert done.status == 0, done.errors
            asked.append({one for one in web.asked if one.endswith("/tokeninfo")})
            sent.append(server)
    assert asked[0] == asked[1] == {"oauth2.googleapis.com:443/tokeninfo"}
    plain, server = sent
    assert {request.headers["authorization"] for request in server.turns} == {f"Bearer {TOKEN}"}
    assert [request.path for request in server.turns] == [request.path for request in plain.turns]
    assert {request.path for request in server.turns} == {"/v1internal:streamGenerateContent?alt=sse"}
    assert {request.path for request in server.requests} == {request.path for request in plain.requests}
    check_prefixes(server.turns[: len(turns) + 1])
    before, after = server.turns[len(turns)], server.turns[-1]
    assert references(before) and results(after).items() >= results(before).items()
    ours = [path for path in place.journals.rglob("*") if path.is_file()]
    assert ours and not any(TOKEN.encode() in path.read_bytes() for path in ours)


def test_without_a_choice_of_authentication_it_is_refused(gemini: Path, place: AgentHome) -> None:
    """The client itself would refuse to start, with words that do not say why."""
    (place.user / ".gemini" / "settings.json").write_text(json.dumps({"security": {}}))
    done = run(gemini, place, "http://127.0.0.1:9", prefix=ledger(place.journals))
    assert done.status != 0
    assert "no stored choice of authentication" in done.errors
