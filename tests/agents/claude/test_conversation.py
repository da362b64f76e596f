"""Claude Code's conversations through the proxy's own code: reminders are no part of results."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from execledger.agents.claude import adapter
from execledger.core.fingerprint import digest, fingerprint
from execledger.core.policy import Cadence, Policy
from execledger.journal.clean import clean_observation
from execledger.proxy.book import Book, Rules
from execledger.proxy.edits import EditStore, ResultEdit
from execledger.proxy.passage import Passage, Sent
from execledger.session.adapter import ToolCall
from execledger.vocabulary.actions import Observation
from execledger.vocabulary.decisions import Allow, Shown

Json = dict[str, Any]
HEADERS = {"x-claude-code-session-id": "s", "user-agent": "claude-cli/2.1.325 (external, cli)"}
HITS = "".join(f"/repo/a.py:{number}:value_{number} = {number}  # a line of some length\n" for number in range(60))
FILE = "".join(f"{number}\tvalue_{number} = {number}  # a line of some length\n" for number in range(1, 61))
PLACE = "<system-reminder>\n# Environment\n - Primary working directory: /repo\n</system-reminder>"
TOOLS = [{"name": "Grep"}, {"name": "Read"}]
GREP = ("Grep", {"pattern": "value", "path": "/repo/a.py", "output_mode": "content"})


def left(tokens: int) -> str:
    """The reminder that is behind nearly every result."""
    return f"<system-reminder>\n<total_tokens>{tokens} tokens left</total_tokens>\n</system-reminder>"


class Client:
    """A client that sends its whole history each time."""

    def __init__(self, rules: Rules | None = None) -> None:
        self.store = EditStore(None)
        self.passage = Passage(Book(rules or Rules(), adapter, self.store))
        words = [{"type": "text", "text": PLACE}, {"type": "text", "text": "Mend it."}]
        self.messages: list[Json] = [{"role": "user", "content": words}]

    def sent(self, messages: list[Json], headers: dict[str, str] = HEADERS, tools: object = TOOLS) -> Sent:
        """What is forwarded for a request of this session."""
        body = {"model": "m", "stream": True, "tools": tools, "messages": messages}
        return self.passage.request("POST", "/v1/messages", headers, json.dumps(body).encode())

    def shown(self, name: str = "", given: Json | None = None) -> list[str]:
        """Send the history, to which the model answers with a call; the results as the model is shown them."""
        sent = self.sent(self.messages)
        call_id = f"toolu_{len(self.messages)}"
        answer = self.passage.answer(sent, 200, {"content-type": "text/event-stream"})
        if name and answer is not None:
            block = {"type": "tool_use", "id": call_id, "name": name, "input": {}}
            part = {"type": "input_json_delta", "partial_json": json.dumps(given)}
            for event in (
                {"type": "content_block_start", "index": 0, "content_block": block},
                {"type": "content_block_delta", "index": 0, "delta": part},
                {"type": "content_block_stop", "index": 0},
                {"type": "message_stop"},
            ):
                answer.feed(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
            answer.end()
            self.messages.append({"role": "assistant", "content": [{**block, "input": given}]})
        return [
            block["content"] if isinstance(block["content"], str) else block["content"][0]["text"]
            for message in json.loads(sent.body)["messages"]
            for block in message["content"]
            if block["type"] == "tool_result"
        ]

    def result(self, text: str) -> None:
        """The result of the last call."""
        call_id = self.messages[-1]["content"][0]["id"]
        block = {"type": "tool_result", "tool_use_id": call_id, "content": text}
        self.messages.append({"role": "user", "content": [block]})


def test_equal_results_are_equal_whatever_the_client_reminds_of() -> None:
    """The second of two equal searches becomes a reference, with the reminder that came with it."""
    client = Client()
    for tokens in (14_998_991, 14_990_007):
        client.shown(*GREP)
        client.result(f"{HITS.rstrip()}\n\n{left(tokens)}")
    first, second = client.shown()
    assert first == f"{HITS.rstrip()}\n\n{left(14_998_991)}"
    assert second.startswith("[Ledger: ") and second.endswith(f"]\n\n{left(14_990_007)}")


@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.parametrize("first", ["other", "gone", "block"])
@pytest.mark.parametrize("second", ["same", "other", "gone", "block"])
def test_a_result_that_is_sent_again_with_other_reminders_is_shown_as_before(
    first: str, second: str, restarted: bool
) -> None:
    """Its edit is found by the calls and the tools' own words, also by a proxy that has only the stored edits."""
    client = Client()
    for tokens in (7, 9):
        client.shown(*GREP)
        client.result(f"{HITS.rstrip()}\n\n{left(tokens)}")
    before = client.shown()
    for at, how in ((2, first), (4, second)):
        sent = client.messages[at]["content"]
        contents = {"same": sent[0]["content"], "other": f"{HITS.rstrip()}\n\n{left(3)}", "gone": HITS, "block": HITS}
        sent[0]["content"] = contents[how]
        sent += [{"type": "text", "text": left(3)}] if how == "block" else []
    if restarted:
        client.passage = Passage(Book(Rules(), adapter, client.store))
    told = before[1].partition("\n\n<system-reminder>")[0]
    endings = {"same": f"\n\n{left(9)}", "other": f"\n\n{left(3)}", "gone": "", "block": ""}
    assert client.shown()[1] == f"{told}{endings[second]}"
    assert told.startswith("[Ledger: output omitted.") and not client.passage.faults


def test_another_output_under_the_same_id_is_shown() -> None:
    """An edit holds for what the tool said: in other words there is nothing to omit."""
    client = Client()
    for tokens in (7, 9):
        client.shown(*GREP)
        client.result(f"{HITS.rstrip()}\n\n{left(tokens)}")
    client.shown()
    other = HITS.replace("value_7 = 7", "value_7 = 8")
    client.messages[4]["content"][0]["content"] = other
    assert client.shown()[1] == other


def test_edits_of_earlier_versions_are_found() -> None:
    """These identified results by their whole text, reminders included."""
    client = Client()
    texts = [f"{HITS.rstrip()}\n\n{left(tokens)}" for tokens in (7, 9)]
    chains = [""]
    for number, text in enumerate(texts):
        call = ToolCall(GREP[0], msgspec.json.encode(GREP[1]).decode())
        chains.append(digest(chains[-1], f"toolu_{1 + 2 * number}", call.name, call.text, text))
        block = {"type": "tool_use", "id": f"toolu_{1 + 2 * number}", "name": GREP[0], "input": GREP[1]}
        client.messages.append({"role": "assistant", "content": [block]})
        client.result(text)
    client.store.add(ResultEdit(chains[2], Allow("new"), Shown("reference", "[Ledger: as before]"), (chains[1],)))
    assert client.shown() == [texts[0], f"[Ledger: as before]\n\n{left(9)}"]


def test_a_partial_edit_fits_whatever_the_client_reminds_of() -> None:
    """Its places are in the tool's own words; in other words it would replace other lines."""
    read = ToolCall("Read", '{"file_path": "/repo/a.py"}')

    def seen(text: str, reminder: str) -> Observation:
        return adapter.observation_of(read, (f"{text.rstrip()}\n\n{reminder}",))

    made_for = fingerprint(seen(FILE, left(7)), steady=False)
    edit = ResultEdit("chain", Allow("new"), Shown("partial", result=made_for))
    assert edit.fits(seen(FILE, left(9)))
    assert edit.fits(seen(FILE, f"{PLACE}\n\n{left(7)}"))
    assert not edit.fits(seen(FILE.replace("value_7 = 7", "value_7 = 8"), left(7)))


def test_what_is_kept_of_reminders_is_redacted() -> None:
    """They are kept in journals apart from the result."""
    secret = "ghp_" + "a1B2" * 9
    seen = adapter.observation_of(ToolCall("Grep", "{}"), (f"x\n\n<system-reminder>{secret}</system-reminder>",))
    assert secret in seen.reminders and secret not in clean_observation(seen).reminders


SEARCH = {"type": "web_search_20250305", "name": "web_search", "max_uses": 8}
AUXILIARY = {**HEADERS, "x-claude-code-request-class": "auxiliary"}
BESIDE = {
    "suggestion": "[SUGGESTION MODE: Suggest what the user might naturally type next into Claude Code.]\n\nFIRST: Look",
    "away": "The user stepped away and is coming back. Recap in under 40 words, 1-2 plain sentences, no markdown.",
    "label": 'Describe your most recent action in 3-5 words using present tense (-ing). Name the file. Good: "Reading"',
    "name": "Generate a short kebab-case name (2-4 words) that captures the main topic of this conversation. Use",
}
"""Texts that Claude Code 2.1.197 and 2.1.325 put behind a copy of the conversation, by what they ask for."""
BTW = "<system-reminder>This is a side question from the user. You must answer this question directly in a single"
UNANSWERED = "[No result yet \u2014 this call is still in progress in the main conversation (running, or queued)]"


def user(*texts: str) -> Json:
    """A message of the user."""
    return {"role": "user", "content": [{"type": "text", "text": text} for text in texts]}


def beside(client: Client, kind: str, headers: dict[str, str] | None = None) -> Sent:
    """Send a request beside the conversation, whose last call has no result yet."""
    call_id = client.messages[-1]["content"][0]["id"]
    so_far = client.messages[:-1]
    if kind in BESIDE:
        return client.sent([*so_far, user(BESIDE[kind])], headers or HEADERS)
    if kind == "btw":
        unanswered = {"type": "tool_result", "tool_use_id": call_id, "content": UNANSWERED}
        texts = user(BTW, "what are you doing?", "Never consult the advisor tool.")["content"]
        asked = {"role": "user", "content": [unanswered, *texts]}
        return client.sent([*client.messages, asked], headers or HEADERS)
    if kind == "web search":
        return client.sent([user("Perform a web search for the query: x")], tools=[SEARCH])
    if kind == "page":
        return client.sent([user("Web page content: ...")], AUXILIARY, tools=[])
    assert kind == "unknown text"
    return client.sent([*so_far, user("Something that a plugin asks.")], AUXILIARY)


@pytest.mark.parametrize("kind", [*BESIDE, "btw", "web search", "page", "unknown text"])
def test_a_question_beside_the_conversation_gets_no_view_and_leaves_no_trace(kind: str) -> None:
    """The next turn is as without it: calls in flight are not given up, and nothing of it is recorded."""
    ends = []
    for asks in (False, True):
        client = Client(Rules(policy=Policy(cadence=Cadence.EVERY)))
        for tokens in (14_998_991, 14_990_007):
            client.shown(*GREP)
            client.result(f"{HITS.rstrip()}\n\n{left(tokens)}")
        *turn, last = json.loads(client.sent(client.messages).body)["messages"]
        assert "[Ledger: output omitted." in last["content"][0]["content"]
        assert "<execution_state>" in last["content"].pop()["text"]
        client.shown("Bash", {"command": "make"})
        if asks:
            sent = beside(client, kind)
            assert b"<execution_state>" not in sent.body and sent.followed is None
            if kind not in ("web search", "page"):
                assert json.loads(sent.body)["messages"][: len(turn) + 1] == [*turn, last]
        client.result(f"built\n\n{left(14_970_000)}")
        end = client.sent(client.messages).body
        opened = client.passage.book.get("s")
        assert opened is not None and not client.passage.faults
        ends.append((end, opened.workspace.session.ledger.results, opened.workspace.turn))
    assert ends[0] == ends[1]
    assert b"<execution_state>" in ends[0][0]


@pytest.mark.parametrize("headers", [HEADERS, AUXILIARY])
@pytest.mark.parametrize(("kind", "unseen"), [("suggestion", False), ("btw", False), ("unknown text", True)])
def test_what_may_act_beside_the_conversation_may_write_unseen(
    kind: str, unseen: bool, headers: dict[str, str]
) -> None:
    """The client lets no tool run in the requests that are known by their texts; of others that is not known."""
    client = Client()
    client.shown(*GREP)
    client.result(HITS)
    client.shown(*GREP)
    beside(client, kind, headers)
    opened = client.passage.book.get("s")
    assert opened is not None and opened.workspace.unseen == unseen


def test_a_task_that_reads_like_one_of_them_is_a_turn() -> None:
    """A class that the client states decides, and tools that the client runs are offered to no search."""
    client = Client(Rules(policy=Policy(cadence=Cadence.EVERY)))
    main = {**HEADERS, "x-claude-code-request-class": "main"}
    assert client.sent([user(PLACE, BESIDE["away"])], main).followed is not None
    assert client.sent([user(PLACE, "Perform a web search for the query: x")]).followed is not None
    assert client.sent([user(PLACE, "Mend it.")], tools=[SEARCH, {"name": "Bash"}]).followed is not None
    bash = {"type": "bash_20250124", "name": "bash"}
    assert client.sent([user(PLACE, "Mend it.")], tools=[bash]).followed is not None


def test_a_cleared_result_shows_no_file() -> None:
    """The client has removed it from the context: nothing is visible, and nothing was read."""
    client = Client(Rules(policy=Policy(cadence=Cadence.EVERY)))
    for call_id, command, text in (
        ("toolu_a", "cat /repo/a.py", "[Old tool result content cleared]"),
        ("toolu_b", "cat /repo/b.py", "one = 1\ntwo = 2"),
    ):
        block = {"type": "tool_use", "id": call_id, "name": "Bash", "input": {"command": command}}
        client.messages.append({"role": "assistant", "content": [block]})
        client.result(text)
    body = client.sent(client.messages).body
    view = body.partition(b"<execution_state>")[2]
    assert b"- b.py: whole, 2 lines" in view and b"a.py" not in view


def test_no_output_twice_is_no_equal_result() -> None:
    """What a search without a match and one that lost its output show is the same."""
    client = Client()
    for tokens in (7, 9, 5):
        client.shown("Bash", {"command": "grep -rn zzz /repo"})
        client.result(f"(Bash completed with no output)\n\n{left(tokens)}")
    assert client.shown() == [f"(Bash completed with no output)\n\n{left(tokens)}" for tokens in (7, 9, 5)]


def test_a_notice_of_modified_files_is_no_output() -> None:
    """Two equal outputs are equal, and the notice stays where it is."""
    client = Client()
    notice = "[This command modified 1 file you've previously read: src/calc.py. Call Read before editing.]"
    for tokens, behind in ((7, ""), (9, f"\n{notice}")):
        client.shown("Bash", {"command": "grep -rn value /repo/a.py"})
        client.result(f"{HITS.rstrip()}{behind}\n\n{left(tokens)}")
    first, second = client.shown()
    assert first == f"{HITS.rstrip()}\n\n{left(7)}"
    assert second.endswith(f"\n{notice}\n\n{left(9)}")
    assert second.startswith("[Ledger: ")
