"""The scripted Responses server, asked over its own wire."""

from __future__ import annotations

import asyncio
import gzip
import json
from typing import Any, NamedTuple

import aiohttp
import pytest

from execledger.testing.scripted_model import Usage
from tests.support.servers.responses import (
    CHECKPOINT,
    SHARED_IDS,
    UNKNOWN_EVENT,
    UNKNOWN_FIELD,
    Done,
    Gate,
    ResponsesServer,
    always,
    answer,
    by_text,
    call,
    custom,
    refuse,
    say,
    think,
    tries,
    turns,
)

TRIGGER = {"type": "compaction_trigger"}


class Reply(NamedTuple):
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line[6:]) for line in self.body.decode().splitlines() if line.startswith("data: ")]

    @property
    def output(self) -> list[dict[str, Any]]:
        """The items of the finished answer."""
        output: list[dict[str, Any]] = self.events[-1]["response"]["output"]
        return output

    @property
    def calls(self) -> list[str]:
        return [item["arguments"] for item in self.output if item["type"] == "function_call"]

    @property
    def usage(self) -> tuple[int, int]:
        """Input and cached tokens."""
        counted = self.events[-1]["response"]["usage"]
        return counted["input_tokens"], counted["input_tokens_details"]["cached_tokens"]


def user(text: str) -> dict[str, Any]:
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}


def result(text: str) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": "c", "output": text}


def asking(*items: dict[str, Any], **fields: Any) -> bytes:
    return json.dumps({"model": "m", "stream": True, "input": items, **fields}).encode()


async def send(
    client: aiohttp.ClientSession, server: ResponsesServer, body: bytes, path: str = "/responses", **headers: str
) -> Reply:
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    async with client.post(server.url + path, data=body, headers=sent) as response:
        return Reply(response.status, {k.lower(): v for k, v in response.headers.items()}, await response.read())


def ask(server: ResponsesServer, *bodies: bytes, path: str = "/responses", **headers: str) -> list[Reply]:
    """Send requests one after the other."""

    async def all_of_them() -> list[Reply]:
        async with aiohttp.ClientSession() as client:
            return [await send(client, server, body, path, **headers) for body in bodies]

    return asyncio.run(all_of_them())


def test_an_answer_is_streamed_event_by_event() -> None:
    """A turn comes as the events of a thought, words and calls, numbered, and ends with the whole of it."""
    with ResponsesServer(turns([say("Hi."), call("ls", a="é"), custom("patch", "text")], ids=SHARED_IDS)) as server:
        (reply,) = ask(server, asking(user("task")))
    assert [event["type"].removeprefix("response.") for event in reply.events] == [
        *("created", "in_progress", "output_item.added", "reasoning_summary_part.added"),
        *(["reasoning_summary_text.delta"] * 3),
        *("reasoning_summary_text.done", "reasoning_summary_part.done", "output_item.done"),
        *("output_item.added", "content_part.added", *["output_text.delta"] * 3),
        *("output_text.done", "content_part.done", "output_item.done"),
        *("output_item.added", *["function_call_arguments.delta"] * 3),
        *("function_call_arguments.done", "output_item.done"),
        *("output_item.added", *["custom_tool_call_input.delta"] * 2),
        *("custom_tool_call_input.done", "output_item.done", "completed"),
    ]
    assert [event["sequence_number"] for event in reply.events] == list(range(len(reply.events)))
    assert [event["item"] for event in reply.events if event["type"].endswith("item.done")] == reply.output
    assert [item["type"] for item in reply.output] == ["reasoning", "message", "function_call", "custom_tool_call"]
    done = {"type": "function_call", "status": "completed", "name": "ls", "arguments": '{"a": "é"}'}
    assert reply.output[2] == {"id": "fc_0_2", "call_id": "call_0_2", **done}
    pieces = [event["delta"] for event in reply.events if event["type"].endswith("arguments.delta")]
    assert (len(pieces), "".join(pieces)) == (3, '{"a": "é"}')


def test_a_request_that_comes_again_gets_its_turn_again() -> None:
    """A client that tries again, even with the thought that it had received, is at the same turn; a result leads on."""
    first, second = asking(user("task")), asking(user("task"), result("a"))
    half = asking(user("task"), {"type": "reasoning", "summary": []}, client_metadata={"b": "1"})
    with ResponsesServer(turns([call("one")], [call("two", b=1)])) as server:
        replies = ask(server, first, half, second, first, second)
    names = [[item.get("name") for item in reply.output] for reply in replies]
    assert names == [[None, name] for name in ("one", "one", "two", "one", "two")]


@pytest.mark.parametrize(
    ("headers", "fields"),
    [({"thread_id": "{0}"}, {}), ({"thread_id": "{0}", "session_id": "same"}, {}), ({}, {"prompt_cache_key": "{0}"})],
)
def test_conversations_keep_their_places(headers: dict[str, str], fields: dict[str, str]) -> None:
    """Conversations are identified by header or cache key; each begins at the first turn, with call ids of its own."""

    def body(name: str) -> bytes:
        return asking(user("task"), **{key: text.format(name) for key, text in fields.items()})

    with ResponsesServer(turns([call("ls")], [say("done")])) as server:
        replies = [
            reply
            for name in ("a", "b")
            for reply in ask(server, body(name), **{key: text.format(name) for key, text in headers.items()})
        ]
    assert [reply.calls for reply in replies] == [["{}"], ["{}"]]
    assert len({reply.output[-1]["call_id"] for reply in replies}) == 2


def test_many_conversations_at_once_do_not_mix() -> None:
    """Forty conversations of three turns, all at once, each get what was written for them, under the same ids."""
    scripts = {
        f"task {n}.": turns(*([call("ls", n=n, turn=turn)] for turn in range(3)), ids=SHARED_IDS) for n in range(40)
    }

    async def talk(client: aiohttp.ClientSession, server: ResponsesServer, n: int) -> list[tuple[str, str]]:
        history, seen = [user(f"Do task {n}.")], []
        for _ in range(3):
            reply = await send(client, server, asking(*history), thread_id=f"t{n}")
            seen.append((reply.output[-1]["call_id"], reply.output[-1]["arguments"]))
            history += [*reply.output, result(reply.calls[0])]
        return seen

    async def all_of_them(server: ResponsesServer) -> list[list[tuple[str, str]]]:
        async with aiohttp.ClientSession() as client:
            return await asyncio.gather(*(talk(client, server, n) for n in range(40)))

    with ResponsesServer(by_text(scripts)) as server:
        seen = asyncio.run(all_of_them(server))
    assert seen == [[(f"call_{t}_1", f'{{"n": {n}, "turn": {t}}}') for t in range(3)] for n in range(40)]
    assert (server.faults, len(server.conversation("task 7."))) == ([], 3)


def test_the_latest_word_of_a_user_chooses() -> None:
    """A later message may lead to another script, the longest text in it decides, and agents count as users."""
    sealed = {"type": "agent_message", "content": [{"type": "encrypted_content", "encrypted_content": "task 3"}]}
    scripts = {"task 1": turns([say("one")]), "task 10": turns([say("ten")]), "task 3": turns([say("three")])}
    histories = [[user("task 1")], [user("task 1"), user("task 10"), user("go on")], [user("task 1"), sealed]]
    with ResponsesServer(by_text(scripts)) as server:
        replies = ask(server, *(asking(*history) for history in histories))
    assert [reply.output[-1]["content"][0]["text"] for reply in replies] == ["one", "ten", "three"]


@pytest.mark.parametrize(
    ("path", "body", "output"),
    [
        ("/responses", asking(user("task"), user(f"{CHECKPOINT}. Go.")), "message"),
        ("/responses", asking(user("task"), client_metadata={"request_kind": "compaction"}), "message"),
        ("/responses", asking(user("task"), TRIGGER), "compaction"),
        ("/responses", asking(user("task"), client_metadata={"thread_source": "thread_title"}), "message"),
    ],
)
def test_side_requests_are_no_turns(path: str, body: bytes, output: str) -> None:
    """Whatever way a compaction or a title is asked for, it is answered, and the next turn is the first one still."""
    with ResponsesServer(turns([call("ls")], summary="In short.")) as server:
        side, turn = ask(server, body, asking(user("task")), path=path)
    assert ([item["type"] for item in side.output], turn.calls) == ([output], ["{}"])


def test_an_older_client_gets_a_whole_shorter_history() -> None:
    """The address for compactions answers without a stream: the users' messages, then the sealed summary."""
    with ResponsesServer(turns(summary="In short.")) as server:
        (reply,) = ask(server, json.dumps({"input": [user("a"), result("b")]}).encode(), path="/responses/compact")
    kinds = [(item["type"], item.get("encrypted_content")) for item in json.loads(reply.body)["output"]]
    assert kinds == [("message", None), ("compaction", "In short.")]


def test_a_turn_may_fail_first() -> None:
    """Failures come with their status and body, in order, until the last try, which answers all further ones."""
    with ResponsesServer(turns(tries(refuse(500, "broken"), refuse(429), call("ls")))) as server:
        replies = ask(server, *[asking(user("task"))] * 4)
    assert [reply.status for reply in replies] == [500, 429, 200, 200]
    assert (replies[0].body, replies[3].calls) == (b"broken", ["{}"])


def test_a_turn_may_depend_on_the_request() -> None:
    """A function in a script is asked what to do, with the request."""
    with ResponsesServer(turns(lambda request: call("wait", id=request.input[-1]["output"]))) as server:
        (reply,) = ask(server, asking(result("agent-7")))
    assert reply.calls == ['{"id": "agent-7"}']


def test_a_connection_can_be_cut() -> None:
    """After as many events as were asked for, the connection ends without the end of the answer."""

    async def read(server: ResponsesServer) -> bytes:
        got = b""
        async with (
            aiohttp.ClientSession() as client,
            client.post(server.url + "/responses", data=asking(user("task"))) as response,
        ):
            with pytest.raises(aiohttp.ClientPayloadError):
                async for chunk in response.content.iter_any():
                    got += chunk
        return got

    with ResponsesServer(turns(answer(call("ls"), cut_after=4))) as server:
        events = Reply(200, {}, asyncio.run(read(server))).events
    assert [event["sequence_number"] for event in events] == [0, 1, 2, 3]


def test_events_wait_at_a_gate() -> None:
    """The events before a gate can be read while the rest is held back, until the gate is opened."""
    gate = Gate(after=3)

    async def read(server: ResponsesServer) -> tuple[int, int]:
        async with (
            aiohttp.ClientSession() as client,
            client.post(server.url + "/responses", data=asking(user("task"))) as response,
        ):
            early = b""
            while early.count(b"\n\n") < 3:
                early += await response.content.readany()
            assert gate.reached.wait(10)
            gate.open()
            return early.count(b"\n\n"), (early + await response.content.read()).count(b"\n\n")

    with ResponsesServer(turns(answer(call("ls"), gate=gate))) as server:
        early, whole = asyncio.run(read(server))
    assert (early, whole > 3) == (3, True)


@pytest.mark.parametrize("manner", [{}, {"gzip": True}, {"delay": None}, {"delay": 0.001}])
def test_the_manner_does_not_change_the_answer(manner: dict[str, Any]) -> None:
    """Compressed, slowly or all at once: what arrives is the same."""
    usage = Usage(7, 3, 0, 2)
    with ResponsesServer(turns(answer(call("ls"), usage=usage, **manner), ids=SHARED_IDS)) as server:
        (reply,) = ask(server, asking(user("task")))
    with ResponsesServer(turns(answer(call("ls"), usage=usage), ids=SHARED_IDS)) as server:
        (plain,) = ask(server, asking(user("task")))
    assert (reply.body, reply.headers.get("content-encoding")) == (plain.body, "gzip" if "gzip" in manner else None)
    assert reply.usage == (7, 3)


def test_strange_events_stand_between_the_known_ones() -> None:
    """An answer from tomorrow has the usual events in their order, with unknown ones, fields and comments between."""
    usual: list[Done] = [answer(call("ls")), answer(call("ls"), strange=True)]
    replies = []
    for done in usual:
        with ResponsesServer(turns(done)) as server:
            replies += ask(server, asking(user("task")))
    plain, strange = ([event["type"] for event in reply.events] for reply in replies)
    assert [kind for kind in strange if kind != UNKNOWN_EVENT] == plain
    assert all(UNKNOWN_FIELD in event for event in replies[1].events)
    assert (b"\n: " in replies[1].body, strange[-1]) == (True, "response.completed")


def test_requests_are_recorded_without_secrets() -> None:
    """The body is kept byte for byte, headers by lower-case name, and of a key only that there was one."""
    body = asking(user("tâche"))
    with ResponsesServer(turns([say("Hi.")])) as server:
        ask(server, body, Authorization="Bearer s", X_Other="kept")
        ask(server, body)
        server.wait_for(2)
    first, second = server.requests
    assert (first.path, first.raw, first.body) == ("/v1/responses", body, json.loads(body))
    assert (first.authorized, second.authorized, first.headers["x-other"]) == (True, False, "kept")
    assert "authorization" not in first.headers


def test_compressed_requests_are_understood() -> None:
    """A body compressed with gzip or zstd is recorded as it came and decoded; another encoding is refused."""
    zstandard = pytest.importorskip("zstandard")
    body = asking(user("task"))
    packed = {"gzip": gzip.compress(body), "zstd": zstandard.compress(body), "br": b"?"}
    with ResponsesServer(turns([say("Hi.")])) as server:
        replies = [ask(server, raw, Content_Encoding=name)[0] for name, raw in packed.items()]
    assert [reply.status for reply in replies] == [200, 200, 415]
    assert [(request.raw, request.plain) for request in server.requests] == [
        (packed["gzip"], body),
        (packed["zstd"], body),
    ]


def test_only_requests_for_answers_are_requests() -> None:
    """A WebSocket is refused with 426 and counted, models can be asked for, and any other address is a fault."""

    async def get(server: ResponsesServer, path: str, **headers: str) -> int:
        async with aiohttp.ClientSession() as client, client.get(server.url + path, headers=headers) as response:
            return response.status

    with ResponsesServer(turns()) as server:
        statuses = [
            asyncio.run(get(server, "/responses", Upgrade="websocket", Connection="Upgrade")),
            asyncio.run(get(server, "/models")),
            asyncio.run(get(server, "/other")),
        ]
    assert (statuses, server.websockets, server.requests) == ([426, 200, 404], 1, ())
    assert server.faults == ["/v1/other: nothing is there"]


def test_what_has_no_answer_ends_the_run() -> None:
    """A request behind the end of the script, or for no script, gets a status that clients don't try again after."""
    with ResponsesServer(turns([say("Hi.")])) as server:
        replies = ask(server, asking(user("task")), asking(user("task"), user("more")))
    assert [reply.status for reply in replies] == [200, 400]
    assert server.faults == ["/v1/responses: OffScript: the script has 1 turns, and turn 2 was asked for"]
    with ResponsesServer(by_text({"known": turns()})) as server:
        (reply,) = ask(server, asking(user("task")))
    assert (reply.status, len(server.faults)) == (400, 1)


def test_a_prefix_that_was_sent_before_is_cached() -> None:
    """Of the second request, whole blocks of what the first one had are counted as cached."""
    with ResponsesServer(turns([call("ls")], [say("done")])) as server:
        first, second = ask(server, asking(user("a" * 1200)), asking(user("a" * 1200), result("b" * 400)))
    assert (first.usage[1], second.usage[1], second.usage[1] <= first.usage[0]) == (0, 256, True)


def test_the_same_answer_for_everyone() -> None:
    """A fixed answer is the same to the byte for every request, which is neither decoded nor recorded."""
    with ResponsesServer(always(think("Hm."), call("ls")), record=False) as server:
        one, other = ask(server, b"no JSON at all", asking(user("task")))
    assert (one.body == other.body, one.calls, server.served, server.requests) == (True, ["{}"], 2, ())
