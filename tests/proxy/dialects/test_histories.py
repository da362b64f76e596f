"""Stored edits in every dialect: answers to shims, and results that a client sends again with other reminders."""

from __future__ import annotations

import pytest

from execledger.agents.table_adapter import AgentClient, TableAdapter
from execledger.agents.tool_table import AgentTool, Tools
from execledger.proxy.dialect import marks_of
from execledger.proxy.edits import CallEdit, EditStore, ResultEdit
from execledger.proxy.history import AnsweredCall, History, RecordedCall
from execledger.proxy.worker import run_to_end
from execledger.session.adapter import ToolCall
from execledger.vocabulary.decisions import Allow, Reuse, Shown
from tests.proxy.dialects.samples import SAMPLES, Sample
from tests.proxy.dialects.test_every_dialect import split

SHELL = AgentTool(kind="run", command="command")
ADAPTER = TableAdapter(
    AgentClient(
        name="small",
        tools=Tools(table=dict.fromkeys(("Bash", "bash", "shell"), SHELL)),
        reminder="system-reminder",
    )
)
MARK, REFERENCE = "0123456789abcdef", "[Ledger: not run, nothing has changed.]"
NOTE = f"[ledger:{MARK}] Instead of cat 1.py"
LEFT, DATE = ("\n\n<system-reminder>\n" + text + "\n</system-reminder>" for text in ("7 tokens left", "a new day"))


@pytest.fixture(params=SAMPLES)
def sample(request: pytest.FixtureRequest) -> Sample:
    """One dialect after the other."""
    return SAMPLES[request.param]


def leaves_of(sample: Sample, calls: tuple[str, ...], results: tuple[str | None, ...]) -> list[bytes]:
    """The leaves of a conversation with these commands, and the texts of their results; None leaves one as it is."""
    leaves = [bytes(raw) for raw in split(sample, sample.request(len(calls))).leaves]
    kinds = [sample.dialect.leaf(raw).kind for raw in leaves]
    at = {kind: [n for n, one in enumerate(kinds) if one == kind] for kind in ("call", "result")}
    for n, command in zip(at["call"], calls, strict=True):
        name = getattr(sample.dialect.leaf(leaves[n]).call, "name", "")
        leaves[n] = sample.dialect.with_call(leaves[n], ToolCall(name, f'{{"command":"{command}"}}'))
    for n, text in zip(at["result"], results, strict=True):
        leaves[n] = leaves[n] if text is None else sample.dialect.with_parts(leaves[n], (text,))
    return leaves


def shown(sample: Sample, store: EditStore, leaves: list[bytes]) -> list[tuple[str, ...] | None]:
    """The results as the model is shown them."""
    found = map(sample.dialect.leaf, History(sample.dialect, ADAPTER, store).follow(leaves))
    return [leaf.parts for leaf in found if leaf.kind == "result"]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (NOTE, REFERENCE),
        (NOTE + LEFT, REFERENCE + LEFT),
        (NOTE + LEFT + DATE, REFERENCE + LEFT + DATE),
        ("The user refused this command: use b.py", "The user refused this command: use b.py"),
        ("The user refused this command." + LEFT, "The user refused this command." + LEFT),
    ],
    ids=["ran", "a reminder", "two reminders", "refused", "refused, a reminder"],
)
def test_the_answer_to_a_shim_keeps_the_clients_words(sample: Sample, answer: str, expected: str) -> None:
    """Reminders stay behind the reference; a shim that did not run is shown as the client answered it."""
    call = sample.dialect.leaf(leaves_of(sample, ("cat 0.py", "ls", "cat 1.py"), (None, None, None))[-2]).call
    assert call is not None
    shim = ToolCall(call.name, f'{{"command":"echo \'{NOTE}\'"}}')
    store = EditStore(None)
    store.add(CallEdit(MARK, call, shim, Reuse("repeat", ("fact",), (0,)), REFERENCE, call_id="t2"))
    leaves = leaves_of(sample, ("cat 0.py", "ls", f"echo '{NOTE}'"), (None, None, answer))
    assert shown(sample, store, leaves) == [("text of 0",), ("text of 1",), (expected,)]
    sent = History(sample.dialect, ADAPTER, store).follow(leaves)
    assert sample.dialect.leaf(sent[-2]).call == call, "the model reads its own call"


def test_a_result_sent_again_with_other_reminders_has_its_edit(sample: Sample) -> None:
    """Whether they are in it or in the results before it, and whether they are other ones, more of them or none."""
    commands = ("cat 0.py", "cat 1.py", "cat 2.py")

    def sent(first: str, second: str, third: str) -> list[bytes]:
        return leaves_of(sample, commands, (f"one{first}", f"two{second}", f"three{third}"))

    chains: list[str] = []

    def noted(answered: AnsweredCall) -> RecordedCall:
        chains.append(answered.chain)
        return RecordedCall()

    store = EditStore(None)
    leaves = sent("", LEFT, "")
    run_to_end(History(sample.dialect, ADAPTER, store).following(leaves, marks_of(leaves), noted))
    store.add(ResultEdit(chains[1], Allow("new"), Shown("reference", REFERENCE), (chains[0],)))
    store.add(ResultEdit(chains[2], Allow("new"), Shown("remark", "[Ledger: again]"), (chains[0],)))
    for first in ("", "\n", LEFT, DATE):
        for second in ("", "\n", LEFT, DATE + LEFT):
            now = shown(sample, store, sent(first, second, DATE))
            ending = second if second.strip() else ""
            assert now == [(f"one{first}",), (f"{REFERENCE}{ending}",), (f"three\n[Ledger: again]{DATE}",)]
    assert shown(sample, store, sent("", " or else", ""))[1] == ("two or else",)
