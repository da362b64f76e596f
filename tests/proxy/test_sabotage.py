"""Every call of our own code broken in turn: the agent's conversation goes on, and its history stays what it was."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from execledger.core import compare, govern, inform
from execledger.core.faults import MAX_FAULTS
from execledger.core.ledger import Ledger
from execledger.core.references import NOT_ANSWERED
from execledger.proxy.conversation import Conversation
from execledger.proxy.edits import open_edits
from execledger.vocabulary.decisions import Step
from tests.proxy.talk import Json, Talk, message, new_passage, opening, shell
from tests.support.faults.sabotage import CallSite, call_sites, sabotaged
from tests.support.servers.responses import TYPICAL, event_frames

pytestmark = pytest.mark.faults
DONE = "response.output_item.done"

PATCH = "apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: a.py\n@@ def f():\n-    x\n+    y\n*** End Patch\nEOF"
TURNS = (
    ("cat a.py",),
    ("cat a.py",),
    ("cat b.py", "sed -n '3,9p' b.py"),
    (PATCH,),
    ("pytest tests",),
    ("pytest tests",),
    ("cat a.py",),
    ("ls -la 'unfinished",),
)


def conversation(folder: Path, preset: str) -> Talk:
    """A conversation in which everything happens: reuse both ways, a remark, an edit, a compaction, a sub-agent."""
    folder.mkdir()
    passage = new_passage(open_edits(folder / "edits", print), preset=preset, journals=folder / "journals")
    talk = Talk(passage)
    for commands in TURNS:
        talk.turn(*commands)
    talk.request(turn=False)
    child = Talk(passage, "s", "child", talk.items)
    child.numbers = 100
    child.turn("cat b.py")
    talk.items = [*opening(), message("user", "Another language model started to solve this problem.")]
    talk.request()
    passage.book.close()
    return talk


def proposed(talk: Talk) -> list[str]:
    """What the client ran, with every shim as a question mark."""
    return ["?" if command.startswith("echo '[ledger:") else command for command in talk.ran]


def misleading(shown: list[Json]) -> list[str]:
    """Results in a request that are neither as they came nor contained, line for line, in one that they name."""
    commands = {item["call_id"]: json.loads(item["arguments"])["cmd"] for item in shown if "arguments" in item}
    whole, wrong = list[str](), list[str]()
    for item in shown:
        if item["type"] != "function_call_output":
            continue
        command, text = commands[item["call_id"]], item["output"]
        plain = text.partition("Output:\n")[2].partition("\n[Ledger: ")[0]
        named = re.findall(r"`([^`]+)`, \d+ commands? ago", text)
        if plain.rstrip("\n") == shell(command).rstrip("\n"):
            whole.append(command)
            continue
        above = {line for one in named if one in whole for line in shell(one).splitlines()}
        if NOT_ANSWERED not in text and not above.issuperset(shell(command).splitlines()):
            wrong.append(f"{command}: {text}")
    return wrong


def sites(folder: Path, preset: str) -> dict[CallSite, int]:
    """The calls of a conversation; those that build the proxy come before any agent is started."""
    conversation(folder / "first", preset)
    found = call_sites(lambda: conversation(folder / "sites", preset))
    built = ("Book.__init__", "OnlyClient.__init__", "Passage.__init__")
    ends = {site: {site.caller.co_qualname, site.callee.co_qualname} for site in found}
    return {site: times for site, times in found.items() if ends[site].isdisjoint(built)}


@pytest.mark.guarantee("fail-open", "append-only")
@pytest.mark.parametrize("preset", ["paper", "verified"])
@pytest.mark.parametrize("share", [pytest.param(24, id="some"), pytest.param(1, id="all", marks=pytest.mark.long)])
def test_a_fault_anywhere_never_stops_or_changes_a_conversation(tmp_path: Path, preset: str, share: int) -> None:
    """Whatever call fails, first time or last: every request arrives, grows, and answers each call once."""
    asked = [command for commands in TURNS for command in commands]
    for number, (site, times) in enumerate(list(sites(tmp_path, preset).items())[::share]):
        for occurrence in {1, times}:
            with sabotaged(site, occurrence) as trap:
                talk = conversation(tmp_path / f"{number}-{occurrence}", preset)
            where = f"{site}, occurrence {occurrence}"
            assert trap.sprung, where
            ran = proposed(talk)
            assert len(ran) == len(asked), where
            assert all(one in ("?", other) for one, other in zip(ran, asked, strict=True)), where
            shown = talk.sent[len(TURNS)]
            calls = [json.loads(item["arguments"])["cmd"] for item in shown if item["type"] == "function_call"]
            assert calls == asked, where
            assert len(Talk.results(shown)) == len(asked), where
            assert misleading(shown) == [], where
            history = Talk(talk.passage, items=[])
            history.sent = talk.sent[: len(TURNS) + 1]
            assert history.grows(), where


@pytest.mark.guarantee("fail-open")
@pytest.mark.parametrize(("module", "name"), [(govern, "decide"), (compare, "judge"), (inform, "render")])
@pytest.mark.parametrize("times", [1, MAX_FAULTS])
def test_a_fault_costs_one_decision_and_many_end_it(
    monkeypatch: pytest.MonkeyPatch, module: ModuleType, name: str, times: int
) -> None:
    """Ledger intervenes and informs behind a fault, unless there were many; what it edited before stays."""
    talk = Talk(new_passage(preset="paper"))
    talk.turn("cat a.py")
    talk.turn("cat a.py")
    whole, failed = getattr(module, name), list[object]()

    def fail(ledger: Ledger, *args: Any) -> Any:
        if len(failed) < times:
            failed.append(args)
            raise RuntimeError("planted")
        return whole(ledger, *args)

    monkeypatch.setattr(module, name, fail)
    for command in ("cat b.py", "ls", "pwd", "ls -la", "ls", "cat b.py"):
        talk.turn(command)
    goes_on = times < MAX_FAULTS
    ((counts,), (opened,)) = ([run.counts for run in talk.passage.book.summaries], talk.passage.book._sessions.values())
    assert (counts.faults, opened.workspace.session.active, bool(talk.view)) == (times, goes_on, goes_on)
    references = ["[Ledger: not run" in text for text in talk.results(talk.sent[-1])]
    assert (references[1], references[-1]) == (True, goes_on)
    assert talk.grows() and misleading(talk.sent[-1]) == []


@pytest.mark.guarantee("fail-open")
@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("broken", ["_stream.end", "_events.rest"])
@pytest.mark.parametrize("kind", ["text/event-stream", "application/json"])
def test_a_second_fault_in_an_answer_costs_no_byte_of_the_rest(
    monkeypatch: pytest.MonkeyPatch, kind: str, broken: str, times: int
) -> None:
    """While an answer is edited, and while what is left of it is put together: the client reads what is not lost."""
    talk = Talk(new_passage())
    talk.request()
    assert talk.last is not None
    answer = talk.passage.answer(talk.last, 200, {"content-type": kind})
    assert answer is not None
    part, name = broken.split(".")
    failed = list[str]()
    whole = getattr(getattr(answer, part), name)

    def fail(*_: object) -> bytes:
        raise RuntimeError("planted")

    def fail_some_times() -> bytes:
        failed.append(name)
        if len(failed) <= times:
            raise RuntimeError("planted again")
        rest: bytes = whole()
        return rest

    monkeypatch.setattr(answer._stream, "feed", fail)
    monkeypatch.setattr(getattr(answer, part), name, fail_some_times)
    events = event_frames([], identity="x", model="m", usage=TYPICAL)
    assert b"".join(answer.feed(event) for event in events) + answer.end() == b"".join(events)
    (counts,) = (run.counts for run in talk.passage.book.summaries)
    assert counts.faults == 2


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("most", [1_000, 10])
def test_faults_while_a_whole_answer_is_judged_change_no_byte(
    monkeypatch: pytest.MonkeyPatch, most: int, times: int
) -> None:
    """At its end, and where it exceeds the limit: each piece is forwarded once, as it came."""
    monkeypatch.setattr("execledger.proxy.whole_answer.MAX_EVENT", most)
    talk = Talk(new_passage())
    talk.request()
    assert talk.last is not None
    answer = talk.passage.answer(talk.last, 200, {"content-type": "application/json"})
    assert answer is not None
    failed = list[str]()

    def fail(*_: object) -> None:
        failed.append("planted")
        if len(failed) <= times:
            raise RuntimeError("planted")

    monkeypatch.setattr(answer._stream, "_propose", fail)
    call = {"type": "function_call", "call_id": "c", "name": "exec_command", "arguments": '{"cmd":"ls"}'}
    body = json.dumps({"output": [call, {**call, "call_id": "d"}]}).encode()
    pieces = [body[at : at + 7] for at in range(0, len(body), 7)]
    assert b"".join([*map(answer.feed, pieces), answer.end()]) == body
    assert failed
    assert [run.counts.faults for run in talk.passage.book.summaries] == [1]


def test_a_call_at_which_ledger_failed_may_write(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is answered without running behind it in its turn, nor beside it on other threads."""
    passage = new_passage(sealed=True)
    parent, child = Talk(passage, "s", "parent"), Talk(passage, "s", "child", opening("Edit."))
    parent.turn("cat a.py")
    child.request()
    monkeypatch.setattr(Conversation, "_sealed", property(lambda _: 1 / 0))
    child.propose("sed -i s/x/y/ a.py")
    monkeypatch.undo()
    assert "[Ledger: not run" not in parent.turn("cat a.py")[0]
    (counts,) = (run.counts for run in passage.book.summaries)
    assert counts.faults == 1


def test_a_call_that_runs_after_a_fault_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reuse whose reference could not be made is recorded as a fault, and not as a call without a substitute."""
    talk = Talk(new_passage(preset="paper"))
    talk.turn("cat a.py")
    judge, failed = compare.judge, list[object]()

    def fail(*args: Any) -> Any:
        if not failed:
            failed.append(args)
            raise RuntimeError("planted")
        return judge(*args)

    monkeypatch.setattr(compare, "judge", fail)
    recorded = list[Step]()
    monkeypatch.setattr(Ledger, "record", lambda _, step: recorded.append(step))
    talk.turn("cat a.py")
    talk.request()
    assert [(step.decision, step.shown.kind) for step in recorded] == [(govern.FAULT, "full")]


class Reply:
    """One streamed answer in which a call is swapped, on its way through a passage to the client."""

    def __init__(self, preset: str, size: int) -> None:
        self.talk = Talk(new_passage(sealed=True, preset=preset))
        self.talk.turn("cat a.py")
        call = {"type": "function_call", "name": "exec_command", "status": "completed"}
        self.items: list[Json] = [
            {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "I look again."}]},
            {**call, "id": "f1", "call_id": "again", "arguments": json.dumps({"cmd": "cat a.py"})},
            {**call, "id": "f2", "call_id": "other", "arguments": json.dumps({"cmd": "cat b.py"})},
        ]
        frames = event_frames(self.items, identity="x", model="m", usage=TYPICAL)
        self.stream = b"".join(frames)
        self.pieces = [self.stream[at : at + size] for at in range(0, len(self.stream), size)]
        self.sent = b""

    def pass_on(self) -> None:
        """Feed the answer, piece by piece."""
        assert self.talk.last is not None
        answer = self.talk.passage.answer(self.talk.last, 200, {"content-type": "text/event-stream"})
        if answer is None:
            self.sent = self.stream
            return
        self.sent = b"".join([*(answer.feed(piece) for piece in self.pieces), answer.end()])

    def events(self, stream: bytes) -> list[Json]:
        """The events that a client reads in a stream."""
        assert stream.endswith(b"\n\n")
        return [json.loads(event.partition(b"data: ")[2]) for event in stream[:-2].split(b"\n\n")]

    def check(self) -> None:
        """The client got every event, each call whole, and its next request is one that the model can be asked."""
        asked, got = self.events(self.stream), self.events(self.sent)
        kinds = [event["type"] for event in asked if not event["type"].endswith("arguments.delta")]
        assert [event["type"] for event in got if not event["type"].endswith("arguments.delta")] == kinds
        items = [event["item"] for event in got if event["type"] == DONE]
        calls = {item["call_id"]: item for item in items if "call_id" in item}
        for call in calls.values():
            texts = [event["arguments"] for event in got if event.get("item_id") == call["id"] and "arguments" in event]
            deltas = "".join(event["delta"] for event in got if event.get("item_id") == call["id"] and "delta" in event)
            assert texts == [deltas] == [call["arguments"]]
        self.talk.answer(list(calls.values()))
        shown = self.talk.request()
        proposed = [json.loads(item["arguments"])["cmd"] for item in shown if item["type"] == "function_call"]
        assert proposed == ["cat a.py", "cat a.py", "cat b.py"]
        assert len(Talk.results(shown)) == 3 and b"[ledger:" not in self.talk.last.body  # type: ignore[union-attr]


@pytest.mark.guarantee("fail-open")
@pytest.mark.parametrize("preset", ["paper", "verified"])
def test_a_fault_at_any_place_while_a_swapped_call_is_answered(
    preset: str, full: bool, figure: Callable[[str], None]
) -> None:
    """Every call site or every other one, first time and last, wherever the stream is cut: a valid answer arrives."""
    planted = 0
    for size in (40, 200, 1_000_000) if full else (200,):
        Reply(preset, size).pass_on()
        clean = Reply(preset, size)
        reached = call_sites(clean.pass_on)
        assert b"[ledger:" in clean.sent
        clean.check()
        for site, times in [*reached.items()][:: 1 if full else 2]:
            for occurrence in {1, times}:
                reply = Reply(preset, size)
                with sabotaged(site, occurrence) as trap:
                    reply.pass_on()
                assert trap.sprung, str(site)
                try:
                    reply.check()
                except Exception as error:
                    raise AssertionError(f"{site}, occurrence {occurrence}: {error}") from error
                planted += 1
    figure(f"0 broken answers in {planted:,} planted faults ({preset})")
