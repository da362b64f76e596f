"""The three bugs that every tool of this kind has shipped, tried on the core, on mini-swe-agent and on the proxy."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from execledger.proxy.edits import EditStore
from execledger.vocabulary.actions import Observation
from tests.guarantees.drivers import CAT, FILE, PRESETS, REFERENCE, Shop, codex, mini
from tests.proxy.talk import message, new_passage
from tests.support.recorder import run_command

LATER = f"sed -n '10,40p' {FILE}"


@pytest.fixture(autouse=True)
def journals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of the test's own for journals."""
    monkeypatch.setenv("EXECLEDGER_JOURNAL", str(tmp_path / "journals"))


# The text has left the context


@pytest.mark.parametrize("again", [CAT, LATER, f"cat -n {FILE}", f"head -n 30 {FILE}"])
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.guarantee("bug-1", "visibility", "pitfall-11")
def test_what_is_out_of_sight_is_shown_again(tmp_path: Path, preset: str, again: str) -> None:
    """A read whose text no longer stands in the request runs, and all of it is shown."""
    shop = Shop(tmp_path / "shop", **PRESETS[preset])
    shop.do(again)
    assert "in context" in shop.view()
    gone = range(1, 1)
    assert "no longer in context" in shop.view(gone)
    step = shop.do(again, visible=gone)
    assert (step.shown.kind, step.observation) == ("full", shop.truth(again))
    assert shop.do(again, visible=range(1, 2)).shown.refers_to == (1,)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.guarantee("bug-1", "visibility")
def test_a_part_that_still_stands_does_not_vouch_for_the_rest(tmp_path: Path, preset: str) -> None:
    """The file was seen in two parts and one has gone: the whole is shown again, the part that is in context is not."""
    shop = Shop(tmp_path / "shop", partial=False, **PRESETS[preset])
    shop.do(f"sed -n '1,40p' {FILE}")
    shop.do(f"sed -n '41,80p' {FILE}")
    rest = (1,)
    step = shop.do(f"sed -n '20,60p' {FILE}", visible=rest)
    assert (step.shown.kind, step.shown.refers_to) == ("full", ())
    assert shop.do(f"sed -n '45,75p' {FILE}", visible=rest).shown.refers_to == (1,)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.guarantee("bug-1", "visibility")
def test_a_reference_is_no_target(tmp_path: Path, preset: str) -> None:
    """The text has gone and a reference to it still stands: nothing is referred to the reference."""
    shop = Shop(tmp_path / "shop", **PRESETS[preset])
    shop.do(CAT)
    assert shop.do(CAT).shown.kind == "reference"
    for number in range(4):
        shop.do(f"grep -c nothing{number} docs/guide.md")
    step = shop.do(CAT, visible=range(1, 6))
    assert (step.shown.kind, step.observation.output) == ("full", shop.text())


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.guarantee("bug-1", "pitfall-10")
def test_what_was_left_out_of_the_middle_was_not_shown(tmp_path: Path, preset: str) -> None:
    """Of a long output the agent kept head and tail: a read in the hole is shown, a read in the head is not.

    As published, a truncated read leaves no record, so that ``paper`` shows both.
    """
    shop = Shop(tmp_path / "shop", **PRESETS[preset])
    text = shop.text()
    shop.do(CAT, result=Observation(text[:900] + text[-900:], exit_status=0, cut=900, truncated=True))
    assert shop.do(f"sed -n '25,50p' {FILE}").shown.kind == "full"
    assert shop.do(f"sed -n '2,20p' {FILE}").shown.refers_to == (() if preset == "paper" else (0,))


def blank(messages: list[Any], at: int) -> None:
    """Put a word in place of a result."""
    messages[at]["content"] = "[old tool result cleared]"


def shorten(messages: list[Any], at: int) -> None:
    """Keep the beginning of a result."""
    messages[at]["content"] = messages[at]["content"][:400] + "\n[cut]"


def alter(messages: list[Any], at: int) -> None:
    """Change one word in a result."""
    messages[at]["content"] = messages[at]["content"].replace("value_33 = ", "value_xx = ")


def drop(messages: list[Any], at: int) -> None:
    """Take a call and its result out of the history."""
    del messages[at - 1 : at + 1]


def summarise(messages: list[Any], at: int) -> None:
    """Put a summary in place of all but the beginning."""
    messages[2:] = [{"role": "user", "content": "So far you have read the stock."}]


def copied(messages: list[Any], at: int) -> None:
    """Give the history back as a copy, with a result blanked."""
    messages[:] = [dict(message) for message in messages]
    blank(messages, at)


@pytest.mark.parametrize("lose", [blank, shorten, alter, drop, summarise, copied])
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.guarantee("bug-1", "visibility")
def test_mini_swe_agent_loses_a_result(tmp_path: Path, preset: str, lose: Callable[[list[Any], int], None]) -> None:
    """An agent of somebody's own works on its history: what it has lost is shown to it again."""

    def meddle(turn: int, messages: list[Any]) -> None:
        if turn == 2:
            assert "value_33 = " in messages[3]["content"]
            lose(messages, 3)

    run = mini(tmp_path / "shop", CAT, "ls docs", CAT, meddle=meddle, **PRESETS[preset])
    # The request that the last read answers does not hold the text any more.
    assert not any("value_33 = " in str(one.get("content")) for one in run.requests[2])
    assert (tmp_path / "shop" / FILE).read_text() in run.results[-1]
    assert run.ran.count(CAT) == 2


@pytest.mark.parametrize("lose", ["compaction", "blanked", "shortened", "altered", "dropped"])
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.guarantee("bug-1", "visibility")
def test_codex_loses_a_result(tmp_path: Path, preset: str, lose: str) -> None:
    """Compacted, cleared by the provider's rules, cut or changed: what the request does not hold is shown again."""
    talk = codex(tmp_path / "shop", **PRESETS[preset])
    talk.turn(CAT)
    assert REFERENCE in talk.turn(LATER)[0]
    at = next(at for at, item in enumerate(talk.items) if item["type"] == "function_call_output")
    text = talk.items[at]["output"]
    if lose == "compaction":
        talk.items = [*talk.items[:3], message("user", "Another language model has read the stock.")]
    elif lose == "dropped":
        talk.items = [*talk.items[:3], *talk.items[at + 1 :]]
    elif lose == "altered":
        talk.items = json.loads(json.dumps(talk.items).replace("value_33 = ", "value_xx = "))
    else:
        left = "[cleared]" if lose == "blanked" else text[:500]
        talk.items = [*talk.items[:at], {**talk.items[at], "output": left}, *talk.items[at + 1 :]]
    talk.sent.clear()
    shown = talk.request()
    assert not any("stand above" in one or "stands above" in one for one in talk.results(shown))
    assert (tmp_path / "shop" / FILE).read_text() in talk.turn(CAT)[0]


# The file has changed


@pytest.mark.parametrize(
    "write",
    [
        f"sed -i 's/value_12/value_99/' {FILE}",
        "python3 tools/edit.py",
        "./tools/format src",
        f"cp -p docs/other.md {FILE}",
        f"ln -sf ../docs/other.md {FILE}",
        "mv docs/other.md src/stock.py",
        "git stash -q",
    ],
)
@pytest.mark.parametrize("preset", ["sealed", "verified"])
@pytest.mark.guarantee("bug-2", "false-reuse")
def test_a_changed_file_is_shown(tmp_path: Path, preset: str, write: str) -> None:
    """After a write of any kind, the next read is the file as it stands, and the view claims nothing else."""
    shop = Shop(tmp_path / "shop", repository="git" in write, **PRESETS[preset])
    for command in (CAT, LATER, write):
        shop.do(command)
    assert "(current" not in shop.view()
    step = shop.do(CAT)
    assert (step.shown.kind, step.observation.output) == ("full", shop.text())


@pytest.mark.guarantee("bug-2", "false-reuse", "pitfall-12")
def test_the_reference_that_follows_a_change_points_at_the_new_text(tmp_path: Path) -> None:
    """Old, new, and old again: what the newest result contradicts is shown, and referred to from then on."""
    shop = Shop(tmp_path / "shop")
    steps = [shop.do(CAT)]
    for word in ("value_99", "value_12"):
        run_command(f"sed -i 's/value_\\(12\\|99\\) /{word} /' {FILE}", shop.folder)
        steps.append(shop.do(CAT))
    steps.append(shop.do(CAT))
    assert [step.shown.kind for step in steps] == ["full", "partial", "full", "reference"]
    assert steps[3].shown.refers_to == (2,)
    assert [text == shop.text() for text in shop.read[:3]] == [True, False, True]


# Another session, another agent


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.guarantee("bug-3", "visibility")
def test_another_session_of_one_proxy_is_shown_everything(tmp_path: Path, preset: str) -> None:
    """The first read of a session is shown, whatever other sessions have read, and with one store of edits."""
    passage = new_passage(EditStore(tmp_path / "edits"), **PRESETS[preset])
    one = codex(tmp_path / "shop", "one", "one", passage)
    one.turn(CAT)
    assert REFERENCE in one.turn(CAT)[0]
    two = codex(tmp_path / "shop", "two", "two", passage)
    assert (tmp_path / "shop" / FILE).read_text() in two.turn(CAT)[0]
    later = codex(tmp_path / "shop", "one", "later", new_passage(EditStore(tmp_path / "edits"), **PRESETS[preset]))
    assert (tmp_path / "shop" / FILE).read_text() in later.turn(CAT)[0]


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.guarantee("bug-3", "visibility")
def test_a_sub_agent_is_shown_everything(tmp_path: Path, preset: str) -> None:
    """Threads of one session share the folder and not their context: neither is referred to what the other saw."""
    passage = new_passage(**PRESETS[preset])
    parent = codex(tmp_path / "shop", "s", "parent", passage)
    child = codex(tmp_path / "shop", "s", "child", passage)
    text = (tmp_path / "shop" / FILE).read_text()
    assert text in parent.turn(CAT)[0]
    assert text in child.turn(CAT)[0]
    child.turn("cat docs/other.md")
    assert ("docs/other.md" in child.view, "docs/other.md" in parent.view) == (True, False)
    assert (tmp_path / "shop/docs/other.md").read_text() in parent.turn("cat docs/other.md")[0]


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.guarantee("bug-3", "visibility")
def test_threads_of_the_core_keep_apart(tmp_path: Path, preset: str) -> None:
    """Neither reuse nor comparing nor a nudge reaches into another thread."""
    shop = Shop(tmp_path / "shop", **PRESETS[preset])
    for command in (CAT, "grep -rn value_1 src", "python3 -m unittest -q tests.nothing"):
        shop.do(command, thread="one")
        step = shop.do(command, thread="two")
        assert (step.shown.kind, step.decision.refers_to) == ("full", ())


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.guarantee("bug-3")
def test_a_resumed_run_proves_nothing_by_its_past(tmp_path: Path, preset: str) -> None:
    """A proxy that meets an answered history refers to what stands in it only after running, under ``verified``."""
    first = codex(tmp_path / "shop", **PRESETS[preset])
    first.turn(CAT)
    second = codex(tmp_path / "shop", **PRESETS[preset])
    second.items, second.numbers = list(first.items), 10
    run_command(f"sed -i 's/value_12/value_99/' {FILE}", tmp_path / "shop")
    second.request()
    assert preset == "paper" or "(current" not in second.view
    if preset != "paper":
        assert (tmp_path / "shop" / FILE).read_text() in second.turn(CAT)[0]
    else:
        # As published: nobody told that the file was written.
        assert REFERENCE in second.turn(CAT)[0]


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.guarantee("bug-3")
def test_one_model_object_serves_one_run_after_the_other(tmp_path: Path, preset: str) -> None:
    """A second run of mini-swe-agent on the same model object is shown what the first was shown."""
    first = mini(tmp_path / "shop", CAT, CAT, **PRESETS[preset])
    assert REFERENCE in first.results[1]
    agent = first.agent
    agent.model.inner.current_index = -1
    agent.run("Mend it again.")
    results = [str(one["content"]) for one in agent.messages if one.get("role") == "tool"]
    assert (tmp_path / "shop" / FILE).read_text() in results[0]
    assert REFERENCE in results[1]
