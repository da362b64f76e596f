"""The scripted model server, asked over its own wire."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any

import pytest

from execledger.testing.scripted_model import ModelServer, PromptItem, Usage, fenced, turns_taken

TOOLS = [{"type": "function", "function": {"name": "bash"}}]
MARK = {"cache_control": {"type": "ephemeral"}}


def ask(server: ModelServer, path: str, body: dict[str, Any], **headers: str) -> Any:
    """Send a request and return the answer."""
    request = urllib.request.Request(server.url + path, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as response:
        return json.load(response)


def chat(*said: tuple[str, str]) -> dict[str, Any]:
    return {"model": "m", "tools": TOOLS, "messages": [{"role": role, "content": text} for role, text in said]}


def commands(answer: Any) -> list[str]:
    """The commands of a chat answer."""
    calls = answer["choices"][0]["message"].get("tool_calls", [])
    return [json.loads(call["function"]["arguments"])["command"] for call in calls]


def test_a_retry_gets_the_same_turn() -> None:
    """The turn is found in the request, so asking again answers the same, and a longer history answers the next."""
    with ModelServer([["a", "b"], ["c"]]) as server:
        first = ask(server, "/v1/chat/completions", chat(("user", "task")))
        again = ask(server, "/v1/chat/completions", chat(("user", "task")))
        after = ask(server, "/v1/chat/completions", chat(("user", "task"), ("assistant", "x"), ("user", "done")))
    assert [commands(answer) for answer in (first, again, after)] == [["a", "b"], ["a", "b"], ["c"]]
    assert first["choices"] == again["choices"]


def test_each_conversation_has_its_script() -> None:
    """Of several scripts, the one whose key is in the first user message answers; the longest key decides."""
    with ModelServer({"task 1": [["one"]], "task 10": [["ten"]]}) as server:
        answers = [ask(server, "/v1/chat/completions", chat(("user", f"Do task {n}."))) for n in (1, 10)]
        found = [request.opening for request in server.conversation("task 10")]
    assert ([commands(answer) for answer in answers], found) == ([["one"], ["ten"]], ["Do task 10."])


def test_keys_are_not_recorded() -> None:
    """A request is recorded with its headers, but without what gives access."""
    with ModelServer(["Hello."]) as server:
        secrets = {"Authorization": "Bearer s", "X-Api-Key": "s", "X-Other": "kept"}
        ask(server, "/v1/chat/completions", chat(("user", "task")), **secrets)
    headers = server.requests[0].headers
    assert (headers.get("authorization"), headers.get("x-api-key"), headers["x-other"]) == (None, None, "kept")


@pytest.mark.parametrize(
    ("path", "body", "reason"),
    [
        ("/v1/chat/completions", {**chat(("user", "task")), "stream": True}, "does not stream"),
        ("/v1/chat/completions", chat(("user", "task"), ("assistant", "x")), "turn 2 was asked for"),
        ("/v1/embeddings", {"model": "m"}, "/v1/embeddings"),
    ],
)
def test_what_has_no_answer_is_turned_away(path: str, body: dict[str, Any], reason: str) -> None:
    """A request off the script gets a status that clients do not repeat, and the reason is kept."""
    with ModelServer(["Hello."]) as server, pytest.raises(urllib.error.HTTPError) as refused:
        ask(server, path, body)
    with refused.value:
        assert (refused.value.code, len(server.faults), reason in server.faults[0]) == (404, 1, True)


def test_a_prefix_is_cached_in_blocks_for_every_conversation() -> None:
    """What a request begins with in common with any earlier one is cached, under the same key and model alone."""
    said = [("system", "s" * 1000), ("user", "task" * 300)]
    with ModelServer(["Hello."]) as server:
        for task in ("task" * 300, "task" * 300 + "x", "another"):
            ask(server, "/v1/chat/completions", chat(said[0], ("user", task)))
        for own in ({"prompt_cache_key": "k"}, {"prompt_cache_key": "k"}, {"model": "other"}):
            ask(server, "/v1/chat/completions", chat(*said) | own)
    cached = [request.usage.cached for request in server.requests]
    assert cached == [0, 512, 256, 0, 512, 0]


def test_anthropic_caches_what_a_marker_covers() -> None:
    """A later request reads what an earlier one marked; an unmarked tail is neither written nor read."""
    task = {"type": "text", "text": "task" * 100}
    tail = {"type": "text", "text": "view" * 100}
    with ModelServer(["Hello."]) as server:
        for blocks in ([{**task, **MARK}, tail], [{**task, **MARK}, tail], [task, {**tail, **MARK}], [task, tail]):
            body = {"model": "m", "messages": [{"role": "user", "content": blocks}]}
            ask(server, "/v1/messages", body)
    usages = [request.usage for request in server.requests]
    whole, part = usages[0].prompt, usages[0].written
    assert usages == [
        Usage(whole, 0, part, 1),
        Usage(whole, part, 0, 1),
        Usage(whole, part, usages[2].written, 1),
        Usage(whole, 0, 0, 1),
    ]
    assert 0 < part < whole
    assert part + usages[2].written in (whole - 1, whole)


def test_a_rejected_answer_counts_as_a_turn() -> None:
    """Several calls are one turn, and a message about a dropped answer counts as that answer."""
    calls = [
        PromptItem("model", "a", "1"),
        PromptItem("model", "b", "2"),
        PromptItem("tool", "", "1"),
        PromptItem("tool", "", "2"),
    ]
    assert (
        turns_taken(
            [
                PromptItem("user", "task"),
                *calls,
                PromptItem("user", "Tool call error:\n\n..."),
                PromptItem("user", "view"),
            ]
        )
        == 2
    )


def test_text_only_requests_get_one_command_at_a_time() -> None:
    """Without tools, a turn of two commands becomes two turns, written as the prompt asks."""
    prompt = ("user", "Answer in a ```mswea_bash_command block.")
    with ModelServer([["a", "b"]]) as server:
        bodies = [chat(prompt), chat(prompt, ("assistant", "x"))]
        answers = [ask(server, "/v1/chat/completions", {**body, "tools": None}) for body in bodies]
    texts = [answer["choices"][0]["message"]["content"].partition("\n\n")[2] for answer in answers]
    assert texts == ["```mswea_bash_command\na\n```", "```mswea_bash_command\nb\n```"]


@pytest.mark.parametrize(
    ("prompt", "written"),
    [("Use bash.", "```bash\nls\n```"), ("<mswea_bash_command>", "<mswea_bash_command>ls</mswea_bash_command>")],
)
def test_a_command_is_written_as_the_prompt_shows(prompt: str, written: str) -> None:
    """The prompt says which fence a text-based agent looks for."""
    assert fenced("ls", prompt) == written
