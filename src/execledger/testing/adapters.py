"""Checks that an adapter keeps the promises of its port, ``execledger.session.adapter.Adapter``.

``check_calls`` checks single tool calls with their results; ``check_conversation`` sends the recorded requests of a
client through the proxy's own code, without a network, and needs the same extra as the proxy (``execledger[proxy]``).
Both raise ``AssertionError`` with what was found.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from execledger.core.classify import classify
from execledger.core.inform import OPENING
from execledger.core.policy import Policy
from execledger.proxy.book import Book, Rules
from execledger.proxy.dialects import DIALECTS
from execledger.proxy.edits import EditStore
from execledger.proxy.passage import Passage
from execledger.proxy.worker import run_to_end
from execledger.session.adapter import Adapter, ToolCall
from execledger.vocabulary.records import Effects

MALFORMED = ("", "null", "[]", "{}", "{", '{"\\ud800": 1}', "\0")
"""Arguments that a model may send by mistake; every tool is called with each of them."""
MARK, WORDS = "check-1", "the same output as before"
"""Mark and words of the shims that are made."""
REFERENCE, REMARK = "[Ledger: a reference]", "[Ledger: a remark]"
"""What takes the place of an output, and what is appended to one."""


class Example(Struct, frozen=True):
    """A tool call that succeeded, with its result, as the agent sends both to its model."""

    call: ToolCall
    """The call."""
    parts: tuple[str, ...]
    """The text parts of the result."""
    command: str | None = None
    """The command of the action that the call proposes; None does not check it."""
    output: str | None = None
    """The output in the result; None does not check it."""


class Exchange(Struct, frozen=True):
    """One recorded request of a client, and the answer that it got."""

    path: str
    """The path of the request."""
    headers: Mapping[str, str]
    """Its headers, by lower-case name."""
    body: bytes
    """Its body."""
    answer: bytes
    """The event stream of the answer, with the calls that the next request goes on with."""


def check_calls(adapter: Adapter, examples: Iterable[Example], cwd: str = "/repo") -> None:
    """Check every promise about single calls and results, for each example."""
    for example in examples:
        _check_translation(adapter, example, cwd)
        _check_edits(adapter, example)
        _check_shim(adapter, example.call, cwd)
        for text in MALFORMED:
            malformed = ToolCall(example.call.name, text, example.call.custom)
            adapter.action_of(malformed, cwd)
            adapter.observation_of(malformed, example.parts)
            adapter.shim_mark(malformed)
        adapter.observation_of(example.call, ("",))


def _check_translation(adapter: Adapter, example: Example, cwd: str) -> None:
    """Equal calls are equal actions, equal results equal observations, and both are what the example says."""
    call, parts = example.call, example.parts
    action, observation = adapter.action_of(call, cwd), adapter.observation_of(call, parts)
    _expect(action == adapter.action_of(call, cwd), call, "the action differs from one time to the next")
    _expect(
        observation == adapter.observation_of(call, parts), call, "the observation differs from one time to the next"
    )
    _expect(observation.succeeded, call, f"the result of the example counts as a failure: {observation}")
    if example.command is not None:
        _expect(action.command == example.command, call, f"the command is {action.command!r}")
    if example.output is not None:
        _expect(observation.output == example.output, call, f"the output is {observation.output!r}")


def _check_edits(adapter: Adapter, example: Example) -> None:
    """A reference takes the place of the output and a remark follows it; all else of the result stays the same."""
    call, parts = example.call, example.parts
    before = adapter.observation_of(call, parts)
    for name, edited, wanted in (
        ("reference", adapter.referenced(call, parts, REFERENCE), REFERENCE),
        ("remark", adapter.remarked(call, parts, REMARK), REMARK),
    ):
        after = adapter.observation_of(call, edited)
        _expect(wanted in "".join(edited), call, f"the {name} is missing in the edited result {edited}")
        _expect(after.exit_status == before.exit_status, call, f"the {name} changes the exit status")
        if name == "reference":
            _expect(not before.output or before.output not in "".join(edited), call, "the output is still shown")
        else:
            _expect(after.output.startswith(before.output), call, f"the remark changes the output: {after.output!r}")


def _check_shim(adapter: Adapter, call: ToolCall, cwd: str) -> None:
    """A shim carries its mark, has no effects, and is no shim of its own; the call itself looks like none."""
    _expect(adapter.shim_mark(call) is None, call, "a call of the model counts as a shim")
    shim = adapter.shim_of(call, MARK, WORDS)
    if shim is not None:
        found = adapter.shim_mark(shim)
        _expect(found == MARK, call, f"its shim {shim.text!r} has the mark {found!r}, expected {MARK!r}")
        effects = classify(adapter.action_of(shim, cwd)).effects
        _expect(effects is Effects.NONE, call, f"its shim {shim.text!r} has effects: {effects.value}")


def check_conversation(adapter: Adapter, exchanges: Sequence[Exchange]) -> None:
    """Check that shadow mode changes no byte, and that Ledger's default mode keeps the model's history append-only.

    The exchanges are those of one conversation: each request repeats the history of the one before it and goes on with
    what was answered. Their wire dialect is found by their paths, as in the proxy.
    """
    _check_shadow(adapter, exchanges)
    _check_append_only(adapter, exchanges)


def _check_shadow(adapter: Adapter, exchanges: Sequence[Exchange]) -> None:
    """Every request and every answer passes byte for byte."""
    passage = Passage(Book(Rules(policy=Policy(shadow=True)), adapter, EditStore(None)))
    for number, exchange in enumerate(exchanges):
        sent, answer = _passed(passage, exchange)
        _expect(sent == exchange.body, f"request {number}", "shadow mode changes it")
        _expect(answer == exchange.answer, f"answer {number}", "shadow mode changes it")
        _expect(passage.faults == 0, f"request {number}", "the adapter raises")


def _check_append_only(adapter: Adapter, exchanges: Sequence[Exchange]) -> None:
    """Each forwarded request without its state view is the beginning of the next one, also when the proxy restarts."""
    store = EditStore(None)
    passage = Passage(Book(Rules(), adapter, store))
    before: list[bytes] = []
    for number, exchange in enumerate(exchanges):
        sent, answer = _passed(passage, exchange)
        _expect(answer == exchange.answer, f"answer {number}", "it changes, although nothing is sealed")
        leaves = _history(exchange.path, sent)
        _expect(leaves[: len(before)] == before, f"request {number}", "the history before it changes")
        restarted = Passage(Book(Rules(), adapter, store))
        again = _history(exchange.path, _passed(restarted, exchange)[0])
        _expect(again == leaves, f"request {number}", "the history changes when the proxy restarts")
        _expect(passage.faults + restarted.faults == 0, f"request {number}", "the adapter raises")
        before = leaves


def _passed(passage: Passage, exchange: Exchange) -> tuple[bytes, bytes]:
    """The request as it is forwarded, and its answer as the client gets it."""
    sent = passage.request("POST", exchange.path, exchange.headers, exchange.body)
    editor = passage.answer(sent, 200, {"content-type": "text/event-stream"})
    return sent.body, exchange.answer if editor is None else editor.feed(exchange.answer) + editor.end()


def _history(path: str, body: bytes) -> list[bytes]:
    """The leaves of a request, without a state view."""
    dialect = next((dialect for dialect in DIALECTS if path.endswith(dialect.paths)), None)
    request = None if dialect is None else run_to_end(dialect.split(path, body))
    if dialect is None or request is None:
        raise AssertionError(f"{path}: no dialect reads this request")
    leaves = [bytes(leaf) for leaf in request.leaves]
    return leaves[:-1] if leaves and dialect.leaf(leaves[-1]).text.startswith(OPENING) else leaves


def _expect(holds: bool, where: ToolCall | str, otherwise: str) -> None:
    """Fail with the place, which may be a call, and what is wrong there."""
    if not holds:
        place = where if isinstance(where, str) else f"{where.name} {where.text!r}"
        raise AssertionError(f"{place}: {otherwise}")
