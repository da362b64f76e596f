"""One attempt at a sample: its messages are edited for one model call, and never changed themselves."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from execledger.agents.claude import adapter as claude_adapter
from execledger.agents.inspect_ai.tools import ADAPTER
from execledger.core.policy import Cadence, Policy, Preset
from execledger.inspect.sample import AskedTurn, Asker, SampleLedger
from execledger.journal.reader import read_journal
from execledger.proxy.book import Rules

TEXT = "".join(f"line {at} of the file\n" for at in range(1, 41))


@dataclass
class Call:
    """A call, with the attributes of Inspect's own."""

    id: str
    arguments: dict[str, Any]
    function: str = "bash"
    parse_error: str | None = None
    type: str = "function"


@dataclass
class Part:
    """A text of a message, with the attributes of Inspect's own."""

    text: str
    type: str = "text"


@dataclass
class Failure:
    """An error, with the attribute of Inspect's own."""

    message: str


@dataclass
class Message:
    """A message, with the attributes of Inspect's own."""

    role: str
    content: Any
    tool_calls: list[Call] | None = None
    tool_call_id: str | None = None
    error: Any = None
    metadata: dict[str, Any] | None = field(default=None)

    def model_copy(self, update: dict[str, Any]) -> Message:
        """A copy with other fields."""
        return replace(self, **update)


def turn(*calls: tuple[str, str]) -> Message:
    """A message of the model with these calls: their ids and commands."""
    return Message("assistant", "", [Call(name, {"command": command}) for name, command in calls])


def result(name: str, text: str) -> Message:
    """A result."""
    return Message("tool", text, tool_call_id=name)


def view(text: str) -> Message:
    """The message that carries a view."""
    return Message("user", text, metadata={"execledger": "view"})


START = [Message("system", "Do it."), Message("user", "Fix a.py.")]
ASKER = Asker(name="inspect", adapter=ADAPTER, native=True, cwd="/w")


class Sample:
    """A sample under a ledger, used as the hook and the approver use it."""

    def __init__(
        self, folder: Path, policy: Policy, tell: Callable[[str], None] = print, *, sealed: bool = False
    ) -> None:
        self.folder = folder
        self.ledger = SampleLedger("one-1", Rules(policy=policy, sealed=sealed, journals=folder, tell=tell))

    def ask(self, messages: list[Message]) -> tuple[list[Message], AskedTurn | None]:
        """The input of a model call as the model is asked it."""
        given = [*messages]
        asked = anyio.run(partial(self.ledger.inform, given, "model", ASKER, view))
        return given, asked

    def ended(self) -> list[tuple[str, str, bool]]:
        """End it: command, how its result was shown, and whether it ran beside a write."""
        anyio.run(self.ledger.end)
        (journal,) = self.folder.glob("*.jsonl")
        steps = [event.step for event in read_journal(journal.name, journal.read_bytes()).steps]
        return [(step.action.command, step.shown.kind, step.concurrent) for step in steps]


def test_messages_are_copied_and_a_retry_is_recognised(tmp_path: Path) -> None:
    """The agent's own objects stay as they were, and the list of a retried call is left as it is."""
    sample = Sample(tmp_path, Policy(cadence=Cadence.EVERY))
    sample.ask(START)
    first = [*START, turn(("a", "cat a.py")), result("a", TEXT)]
    sample.ask(first)
    history = [*first, turn(("b", "cat a.py")), result("b", TEXT)]
    before = copy.deepcopy(history)
    given, asked = sample.ask(history)
    assert history == before
    assert [one is other for one, other in zip(given, history, strict=False)] == [True] * 5 + [False]
    assert given[5].content.startswith("[Ledger: output omitted.") and given[6].metadata == {"execledger": "view"}
    once = [*given]
    assert anyio.run(partial(sample.ledger.inform, given, "model", ASKER, view)) is asked
    assert [one is other for one, other in zip(given, once, strict=True)] == [True] * 7
    assert sample.ended() == [("cat a.py", "full", False), ("cat a.py", "reference", False)]


def test_calls_of_one_turn_run_side_by_side(tmp_path: Path) -> None:
    """If one of them may write, all others count as having run beside a write, those before it too."""
    sample = Sample(tmp_path, Policy())
    sample.ask(START)
    calls = turn(("a", "cat a.py"), ("b", "make"), ("c", "cat b.py"))
    sample.ask([*START, calls, result("a", TEXT), result("b", ""), result("c", TEXT.replace("line", "row"))])
    assert sample.ended() == [("cat a.py", "full", True), ("make", "full", True), ("cat b.py", "full", True)]


@pytest.mark.parametrize(("preset", "suppressed"), [(Preset.PAPER, True), (Preset.VERIFIED, False)])
def test_only_the_published_rules_suppress_native_calls(tmp_path: Path, preset: Preset, suppressed: bool) -> None:
    """A native call is replaced by an echo of its reference, which is what the model reads ever after; under
    ``verified`` it runs even in a sealed sandbox, since no exit status proves what was seen before."""
    sample = Sample(tmp_path, Policy(preset=preset), sealed=True)
    sample.ask(START)
    numbered = "".join(f"{at:6}\t{line}" for at, line in enumerate(TEXT.splitlines(keepends=True), 1))
    history = [*START, turn(("a", "cat -n a.py")), result("a", numbered)]
    _, asked = sample.ask(history)
    assert asked is not None
    proposed = turn(("b", "cat -n a.py | sed -n '5,20p'"))
    found = anyio.run(partial(sample.ledger.judge, asked, proposed.tool_calls or [], "b"))
    assert (found is not None) is suppressed
    printed = "".join(numbered.splitlines(keepends=True)[4:20])
    if found is not None:
        assert found.arguments["command"].startswith("echo '[Ledger: not run")
        printed = f"{found.reference}\n"
    given, _ = sample.ask([*history, proposed, result("b", printed)])
    assert given[4] == proposed
    assert "Lines 5-20 of a.py are as shown by `cat -n a.py`" in given[5].content
    assert [kind for _, kind, _ in sample.ended()] == ["full", "reference"]


def test_replaced_calls_of_several_turns_may_have_one_id(tmp_path: Path) -> None:
    """Some providers number the calls of each turn anew: every reference stays as the model has read it."""
    sample = Sample(tmp_path, Policy(preset=Preset.PAPER))
    sample.ask(START)
    numbered = "".join(f"{at:6}\t{line}" for at, line in enumerate(TEXT.splitlines(keepends=True), 1))
    history, read = [*START, turn(("a", "cat -n a.py")), result("a", numbered)], []
    for command in ("sed -n '5,9p'", "sed -n '20,30p'", "sed -n '5,9p'"):
        given, asked = sample.ask(history)
        assert asked is not None
        proposed = turn(("a", f"cat -n a.py | {command}"))
        found = anyio.run(partial(sample.ledger.judge, asked, proposed.tool_calls or [], "a"))
        first, last = map(int, command[8:-2].split(","))
        printed = "".join(numbered.splitlines(keepends=True)[first - 1 : last])
        history += [proposed, result("a", f"{found.reference}\n" if found is not None else printed)]
        read.append(found.reference if found is not None else printed)
    given, _ = sample.ask(history)
    assert [one.content for one in given[5:10:2]] == read
    assert [kind for _, kind, _ in sample.ended()] == ["full", "reference", "reference", "full"]


def test_a_list_that_is_the_agents_own_has_one_view(tmp_path: Path) -> None:
    """Some providers share it: the views of earlier calls leave it."""
    sample = Sample(tmp_path, Policy(cadence=Cadence.EVERY))
    given, _ = sample.ask(START)
    shared = [*given, turn(("a", "cat a.py")), result("a", TEXT)]
    given, _ = sample.ask(shared)
    assert given[:4] == [*START, *shared[3:]] and given[4].metadata == {"execledger": "view"} and len(given) == 5


def test_words_that_were_put_together_with_a_view_are_kept(tmp_path: Path) -> None:
    """A provider that asks another one may have them in one message, whose metadata are those of both."""
    sample = Sample(tmp_path, Policy())
    told = Message("user", "Fix a.py.\n<execution_state>", metadata={"execledger": "view", "combined_from": ["a", "b"]})
    given, _ = sample.ask([START[0], told])
    assert given[:2] == [START[0], told]


NOISE = [
    "",
    "mesg: ttyname failed: Inappropriate ioctl for device\n\n",
    "stdin: is not a tty\n\n",
    "perl: warning: Setting locale failed.\nperl: warning: Falling back to the standard locale.\n\n",
]


@pytest.mark.parametrize("preset", [Preset.VERIFIED, Preset.PAPER])
@pytest.mark.parametrize("noise", NOISE)
def test_lines_without_printed_numbers_have_no_place(tmp_path: Path, noise: str, preset: Preset) -> None:
    """What a login shell prints before a file is not counted as its lines: no view and no reference has numbers, and
    another range of the file is run and shown in full; only the same output again is referred to."""
    sample = Sample(tmp_path, Policy(preset=preset, cadence=Cadence.EVERY), sealed=True)
    sample.ask(START)
    history = [*START, turn(("a", "cat a.py")), result("a", noise + TEXT)]
    seen, asked = sample.ask(history)
    assert asked is not None
    assert seen[-1].content == "<execution_state>\nTask: Fix a.py.\n</execution_state>"
    proposed = turn(("b", "sed -n '5,20p' a.py"))
    assert anyio.run(partial(sample.ledger.judge, asked, proposed.tool_calls or [], "b")) is None
    history += [proposed, result("b", noise + "".join(TEXT.splitlines(keepends=True)[4:20]))]
    given, _ = sample.ask(history)
    assert given[5] == history[5]
    assert given[6:] == seen[4:]


def test_an_equal_output_is_still_referred_to(tmp_path: Path) -> None:
    """Outputs are compared as a whole, whatever stands before the file."""
    sample = Sample(tmp_path, Policy(), sealed=True)
    sample.ask(START)
    history = [*START, turn(("a", "cat a.py")), result("a", NOISE[1] + TEXT)]
    _, asked = sample.ask(history)
    assert asked is not None
    proposed = turn(("b", "cat a.py"))
    assert anyio.run(partial(sample.ledger.judge, asked, proposed.tool_calls or [], "b")) is None
    given, _ = sample.ask([*history, proposed, result("b", NOISE[1] + TEXT)])
    assert given[5].content == "[Ledger: output omitted. It is the same as that of `cat a.py`, 1 command ago.]"


def test_a_lone_surrogate_leaves_references_as_they_are(tmp_path: Path) -> None:
    """A call, a result, an error and a user's text that UTF-8 can't encode stay as they are, and so does each
    reference before and after them."""
    told: list[str] = []
    sample = Sample(tmp_path, Policy(), told.append)
    sample.ask(START)
    history = [*START, turn(("a", "cat a.py")), result("a", TEXT)]
    sample.ask(history)
    history += [turn(("b", "cat a.py")), result("b", TEXT)]
    first, _ = sample.ask(history)
    odd = [
        turn(("c", "echo \ud800")),
        result("c", "\ud800\n"),
        turn(("d", "echo \udfff")),
        replace(result("d", ""), error=Failure("no \ud800")),
        Message("user", "Go on \ud800."),
    ]
    second, _ = sample.ask([*history, *odd])
    assert second[5] == first[5] and second[6:11] == odd
    other = TEXT.replace("line", "row")
    again = [turn(("e", "cat b.py")), result("e", other), turn(("f", "cat b.py")), result("f", other)]
    sample.ask([*history, *odd, *again[:2]])
    third, _ = sample.ask([*history, *odd, *again])
    assert third[5] == first[5] and third[6:11] == odd
    assert [one.content.startswith("[Ledger: output omitted.") for one in (third[5], third[14])] == [True, True]
    assert told == []


def test_another_conversation_is_another_thread(tmp_path: Path) -> None:
    """What one agent of a sample was shown is not referred to in the conversation of another."""
    sample = Sample(tmp_path, Policy())
    sample.ask(START)
    sample.ask([*START, turn(("a", "cat a.py")), result("a", TEXT)])
    other = [Message("system", "You help."), Message("user", "Look at a.py.")]
    sample.ask(other)
    given, _ = sample.ask([*other, turn(("x", "cat a.py")), result("x", TEXT)])
    assert json.dumps(given[3].content) == json.dumps(TEXT)
    assert sample.ended() == [("cat a.py", "full", False), ("cat a.py", "full", False)]


def test_a_task_behind_a_clients_own_text_is_found_and_tells_sub_agents_apart(tmp_path: Path) -> None:
    """Each part of a message is a text of its own, also beside an image; conversations with one system prompt differ
    by their tasks."""
    asker = Asker(name="claude", adapter=claude_adapter, native=False)
    own = [Message("system", "x-anthropic-billing-header: x"), Message("system", "\n - Working directory: /w\n")]
    sample = Sample(tmp_path, Policy(cadence=Cadence.EVERY))
    seen = []
    image = replace(Part(""), type="image")
    for task in ("Fix a.py.", "Look at b.py."):
        texts = [Part("<system-reminder>\nx\n</system-reminder>"), Part(task), image]
        call = Call("a", {"command": "cat a.py"}, "Bash")
        messages = [*own, Message("user", texts), Message("assistant", "", [call]), result("a", TEXT)]
        for known in (3, 5):
            given = messages[:known]
            anyio.run(partial(sample.ledger.inform, given, "model", asker, view))
        seen.append((given[-1].content, given[4].content == TEXT))
    lines = "Seen, most recent first:\n- a.py: whole, 40 lines (in context)\n</execution_state>"
    assert seen == [(f"<execution_state>\nTask: {task}\n{lines}", True) for task in ("Fix a.py.", "Look at b.py.")]
