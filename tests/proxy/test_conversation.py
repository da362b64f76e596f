"""Conversations under a ledger: what the model is shown, and that it is shown the same for ever after."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from execledger.proxy.edits import EditStore
from execledger.session.adapter import Asked
from tests.proxy.talk import TEXT, Talk, message, new_passage, opening, shell

CAT, OTHER = "cat a.py", "cat b.py"
RAN = "[Ledger: output omitted. It is the same as that of"
COVERED = "[Ledger: output omitted. Lines "
NOT_RUN = "[Ledger: not run, "


def test_an_output_that_stands_above_is_not_shown_again() -> None:
    """The command runs; the model is shown a reference, now and in every later request."""
    talk = Talk(new_passage())
    assert TEXT in talk.turn(CAT)[0]
    again = talk.turn(CAT)[0]
    assert RAN in again
    assert "Process exited with code 0" in again
    talk.turn(OTHER)
    assert talk.ran == [CAT, CAT, OTHER]
    assert talk.grows()


HEAD, PARTLY = "head -n 25 a.py", "[Ledger: lines 1-22 of a.py omitted, as shown by `head -n 25 a.py`, 1 command ago.]"


def head_and_all(command: str) -> str:
    """What two reads of a file print, of which the second one shows more; a line of it has a secret."""
    lines = [*TEXT.splitlines(keepends=True)[:-1], "password=swordfish1\n"]
    return "".join(lines[:25] if command == HEAD else lines if command == CAT else [])


@pytest.mark.parametrize("stops", [False, True])
def test_lines_that_stand_above_are_omitted_from_an_output(tmp_path: Path, stops: bool) -> None:
    """The rest is shown as it came, now, in every later request, and by a proxy that is started anew."""
    talk = Talk(new_passage(EditStore(tmp_path / "edits")))
    talk.run = head_and_all
    talk.turn(HEAD)
    shown = talk.turn(CAT)[0]
    header, _, body = shown.partition("Output:\n")
    assert "Process exited with code 0" in header
    assert body == f"{PARTLY}\n{''.join(head_and_all(CAT).splitlines(keepends=True)[22:])}"
    if stops:
        again = Talk(new_passage(EditStore(tmp_path / "edits")), items=talk.items)
        again.numbers, again.run = talk.numbers, talk.run
        assert again.request()[:-1] == talk.sent[-1][:-1]
        talk = again
    assert "[Ledger: " not in talk.turn(CAT)[0], "the next attempt is shown in full"
    assert talk.grows()
    assert not any(b"swordfish1" in file.read_bytes() for file in tmp_path.iterdir()), "no text of a file is stored"


def test_a_text_that_is_read_otherwise_than_when_lines_were_omitted_is_shown_whole(tmp_path: Path) -> None:
    """An edit of another version, whose adapter took another part of the same result for the output, is not applied."""
    talk = Talk(new_passage(EditStore(tmp_path / "edits")))
    talk.run = head_and_all
    talk.turn(HEAD)
    assert PARTLY in talk.turn(CAT)[0]
    with closing(sqlite3.connect(tmp_path / "edits", isolation_level=None)) as file:
        ((chain, stored),) = file.execute("SELECT key, edit FROM edits").fetchall()
        edit = json.loads(stored)
        edit["shown"]["result"]["digest"] = "0123456789abcdef01234567"
        file.execute("UPDATE edits SET edit = ? WHERE key = ?", (json.dumps(edit).encode(), chain))
    again = Talk(new_passage(EditStore(tmp_path / "edits")), items=talk.items)
    again.numbers, again.run = talk.numbers, talk.run
    assert again.results(again.request())[-1].endswith(f"Output:\n{head_and_all(CAT)}")
    assert RAN in again.turn(CAT)[0], "all of it is visible"
    assert again.grows()


def test_an_output_is_whole_where_what_it_refers_to_is_gone() -> None:
    """A client that drops the first result is shown the true output of the second."""
    talk = Talk(new_passage())
    talk.run = head_and_all
    talk.turn(HEAD)
    assert PARTLY in talk.turn(CAT)[0]
    trimmed = Talk(talk.passage, items=[*opening(), *talk.items[6:]])
    assert trimmed.results(trimmed.request())[-1].endswith(head_and_all(CAT))


def test_a_swapped_call_is_restored_for_the_model() -> None:
    """The client runs a shim; the model sees its own call, and a reference as the result."""
    talk = Talk(new_passage(preset="paper"))
    talk.turn(CAT)
    assert talk.turn(CAT)[0].startswith(NOT_RUN)
    assert talk.ran[1].startswith("echo '[ledger:")
    calls = [item["arguments"] for item in talk.sent[-1] if item["type"] == "function_call"]
    assert calls == [json.dumps({"cmd": CAT})] * 2
    talk.turn(OTHER)
    assert talk.grows()


def files(command: str) -> str:
    """What the tools that look at files answer: they refuse a shim."""
    name, _, given = command.partition(" ")
    asked = json.loads(given)
    if any(str(value).startswith("[ledger:") for value in asked.values()):
        return "pattern must not be empty" if name == "grep_files" else "path must be an absolute path"
    if name != "read_file":
        return "/repo/a.py\n" * 30 + "/repo/b.py" if name == "grep_files" else "Absolute path: /repo\n" + "a.py\n" * 60
    first = asked.get("offset", 1)
    lines = TEXT.splitlines()[first - 1 : first - 1 + asked.get("limit", 2000)]
    return "\n".join(f"L{number}: {line}" for number, line in enumerate(lines, first))


READ = 'read_file {"file_path": "/repo/a.py"}'
PART = 'read_file {"file_path": "/repo/a.py", "offset": 5, "limit": 16}'
GREP, LIST = 'grep_files {"pattern": "line"}', 'list_dir {"dir_path": "/repo"}'


@pytest.mark.parametrize(
    ("how", "kinds"),
    [
        ({}, [RAN, COVERED, RAN, RAN]),
        ({"sealed": True}, [NOT_RUN, NOT_RUN, RAN, RAN]),
        ({"preset": "paper"}, [NOT_RUN, NOT_RUN, NOT_RUN, NOT_RUN]),
    ],
    ids=["verified", "sealed", "paper"],
)
def test_tools_that_look_at_files_are_governed(how: dict[str, Any], kinds: list[str]) -> None:
    """A read whose lines are visible, and a search or listing again; a shim is refused, and the call is put back."""
    for again, kind in zip((READ, PART, GREP, LIST), kinds, strict=True):
        talk = Talk(new_passage(**how))
        talk.run = files
        assert talk.turn(READ, GREP, LIST) == [files(READ), files(GREP), files(LIST)]
        assert talk.turn(again)[0].startswith(kind)
        assert ("[ledger:" in talk.ran[-1]) == (kind == NOT_RUN)
        # What the tool said to the shim counts for nothing: the next attempt is shown in full.
        assert talk.turn(again)[0] == files(again)
        calls = [f"{item['name']} {item['arguments']}" for item in talk.sent[-1] if item["type"] == "function_call"]
        assert calls == [READ, GREP, LIST, again, again]
        assert "\n- a.py: " in talk.view
        assert talk.grows()


def test_what_is_proven_in_a_sealed_place_is_not_run() -> None:
    """The default preset swaps too, where nothing else can write."""
    talk = Talk(new_passage(sealed=True))
    talk.turn(CAT)
    assert talk.turn(CAT)[0].startswith(NOT_RUN)


def test_a_shim_that_is_not_ours_byte_for_byte_stays(tmp_path: Path) -> None:
    """A call that imitates a shim, or a shim that somebody altered, is a call like any other."""
    talk = Talk(new_passage(preset="paper"))
    talk.turn(CAT)
    (shim,) = talk.propose(CAT)
    altered = {**shim, "arguments": shim["arguments"].replace("Instead", "In place")}
    imitated = {**shim, "call_id": "other", "arguments": json.dumps({"cmd": "echo '[ledger:0123456789abcdef] x'"})}
    talk.answer([altered, imitated])
    shown = talk.request()
    assert [one["arguments"] for one in shown if one["type"] == "function_call"][1:] == [
        altered["arguments"],
        imitated["arguments"],
    ]
    assert not any(NOT_RUN in one for one in talk.results(shown))


@pytest.mark.parametrize("preset", ["paper", "verified"])
def test_a_restarted_proxy_shows_the_same(tmp_path: Path, preset: str) -> None:
    """With the edits of the first, a second proxy shows the same history; so does one that sees a fork."""
    store = tmp_path / "edits"
    first = Talk(new_passage(EditStore(store), preset=preset))
    for command in (CAT, CAT, OTHER, CAT):
        first.turn(command)
    for session, thread in (("s", "t"), ("forked", "u")):
        second = Talk(new_passage(EditStore(store), preset=preset), session, thread, first.items)
        second.numbers = first.numbers
        assert second.request()[:-1] == first.sent[-1][:-1]
        second.turn(CAT)
        assert second.grows()


def test_without_the_edits_the_history_still_makes_sense() -> None:
    """A session that goes on without Ledger has calls that say what they are, and results that fit them."""
    talk = Talk(new_passage(preset="paper"))
    talk.turn(CAT)
    talk.turn(CAT)
    bare = Talk(new_passage(govern=False), items=talk.items)
    shown = bare.request()
    call, result = shown[-3], shown[-2]
    assert "Instead of cat a.py. Its output still stands above, unchanged." in call["arguments"]
    assert "Instead of cat a.py. Its output still stands above, unchanged." in result["output"]


def test_after_a_compaction_nothing_that_vanished_is_referred_to() -> None:
    """Reuse, second look, reuse, compaction, allow, reuse; the view tells what was seen and is gone."""
    talk = Talk(new_passage(preset="paper"))
    talk.turn(CAT)
    assert NOT_RUN in talk.turn(CAT)[0]
    assert TEXT in talk.turn(CAT)[0]
    assert NOT_RUN in talk.turn(CAT)[0]
    talk.items = [*opening(), message("user", "Another language model started to solve this problem: summary")]
    talk.sent.clear()
    talk.request()
    assert "a.py: whole, 40 lines (current, seen, no longer in context)" in talk.view
    assert TEXT in talk.turn(CAT)[0]
    assert "a.py: whole, 40 lines (current, in context)" in talk.view
    assert NOT_RUN in talk.turn(CAT)[0]
    assert talk.grows()


def test_a_side_request_is_restored_and_nothing_else() -> None:
    """A compaction sees the history that the model saw, without a view, and its new results are shown whole."""
    talk = Talk(new_passage(preset="paper"))
    talk.turn(CAT)
    talk.turn(CAT)
    talk.answer(talk.propose(OTHER))
    talk.items.append(message("user", "Sum up."))
    shown = talk.request(turn=False)
    assert talk.view == ""
    assert [NOT_RUN in one for one in talk.results(shown)] == [False, True, False]
    assert talk.grows()


def test_a_request_that_comes_again_is_rewritten_in_the_same_way() -> None:
    """A retry gets the very same bytes."""
    talk = Talk(new_passage())
    talk.turn(CAT)
    talk.turn(CAT)
    assert talk.request() == talk.request() == talk.sent[-1]


def test_sessions_with_the_same_call_ids_keep_apart() -> None:
    """Equal ids and equal commands of two sessions with different files get each their own results."""
    passage = new_passage(preset="paper")
    one, two = Talk(passage, "one", "one"), Talk(passage, "two", "two")
    two.run = lambda command: f"{shell(command)}and more\n"
    for talk in (one, two):
        talk.turn(CAT)
    for talk in (one, two):
        assert NOT_RUN in talk.turn(CAT)[0]
        assert talk.grows()
    assert "and more" in two.results(two.sent[-1])[0]
    assert "and more" not in one.results(one.sent[-1])[0]


def test_a_write_of_one_thread_reaches_what_the_others_have_seen() -> None:
    """Writes belong to the session: a sub-agent's edit makes what its parent saw stale."""
    passage = new_passage(preset="paper")
    parent, child = Talk(passage, "s", "parent"), Talk(passage, "s", "child", opening("Edit a.py."))
    parent.turn(CAT)
    child.turn("sed -i s/x/y/ a.py")
    parent.turn(OTHER)
    assert "a.py: whole, 40 lines (stale, in context)" in parent.view
    assert TEXT in parent.turn(CAT)[0]


def test_a_thread_does_not_see_what_another_was_shown() -> None:
    """Observations belong to the thread: a sub-agent that reads a file is shown it."""
    passage = new_passage(preset="paper")
    parent, child = Talk(passage, "s", "parent"), Talk(passage, "s", "child", opening("Look at a.py."))
    parent.turn(CAT)
    assert TEXT in child.turn(CAT)[0]
    assert ("Task: Mend the parser." in parent.view, "Task: Look at a.py." in child.view) == (True, True)


def test_a_thread_born_with_a_history_knows_what_stands_in_it() -> None:
    """A forked sub-agent may be referred to what it inherited, and to nothing that has changed since."""
    passage = new_passage(preset="paper")
    parent = Talk(passage, "s", "parent")
    parent.turn(CAT)
    parent.turn(OTHER)
    child = Talk(passage, "s", "child", [*parent.items])
    child.numbers = 10
    parent.turn("sed -i s/x/y/ b.py")
    child.request()
    assert "a.py: whole, 40 lines (possibly stale, in context)" in child.view
    assert "b.py: whole, 40 lines (stale, in context)" in child.view
    assert NOT_RUN in child.turn(CAT)[0]
    assert NOT_RUN not in child.turn(OTHER)[0]
    assert "a.py: whole, 40 lines (possibly stale, in context)" in parent.view


def test_what_ran_beside_a_write_proves_nothing() -> None:
    """Calls of one turn may run side by side: a read behind a write may have come before it."""
    talk = Talk(new_passage(sealed=True))
    talk.turn("sed -i s/x/y/ a.py", CAT)
    assert "a.py: whole, 40 lines (possibly stale, in context)" in talk.view
    assert NOT_RUN not in talk.turn(CAT)[0]
    assert talk.ran == ["sed -i s/x/y/ a.py", CAT, CAT]


def test_while_another_thread_may_be_writing_nothing_is_reused() -> None:
    """A call under way in one thread keeps the others from being answered without running."""
    passage = new_passage(sealed=True)
    parent, child = Talk(passage, "s", "parent"), Talk(passage, "s", "child", opening("Edit."))
    parent.turn(CAT)
    child.request()
    calls = child.propose("sed -i s/x/y/ b.py")
    assert NOT_RUN not in parent.turn(CAT)[0]
    child.answer(calls)
    child.request()
    for _ in range(4):
        parent.turn("true")
    parent.turn(CAT)
    for _ in range(4):
        parent.turn("true")
    assert NOT_RUN in parent.turn(CAT)[0]


def test_a_repeated_test_gets_a_remark_that_stays() -> None:
    """The remark stands behind the result, in this and in every later request."""
    talk = Talk(new_passage())
    talk.run = lambda command: "5 passed\n"
    talk.turn("pytest tests")
    assert "[Ledger: the same test gave the same result" in talk.turn("pytest tests")[0]
    talk.turn("true")
    assert talk.grows()


def test_nothing_secret_is_kept_in_an_edit(tmp_path: Path) -> None:
    """A call that holds a key is neither swapped nor referred to: edits are kept for ever."""
    secret = "sk-ant-" + "a1" * 12
    talk = Talk(new_passage(EditStore(tmp_path / "edits"), preset="paper"))
    command = f"grep -rn {secret} a.py"
    talk.run = lambda command: TEXT
    talk.turn(command)
    talk.turn(command)
    assert talk.ran == [command, command]
    assert not any(secret.encode() in file.read_bytes() for file in tmp_path.iterdir())


def test_shadow_changes_nothing() -> None:
    """What the model is shown is what the client sent, and the client gets what the model asked for."""
    talk = Talk(new_passage(preset="paper", shadow=True))
    for command in (CAT, CAT, OTHER, CAT):
        talk.turn(command)
    assert talk.ran == [CAT, CAT, OTHER, CAT]
    assert talk.sent[-1] == talk.items
    assert [run.counts.shadow_reuses for run in talk.passage.book.summaries] == [1]


def test_a_session_that_was_let_go_is_rebuilt(monkeypatch: pytest.MonkeyPatch) -> None:
    """More sessions than fit into memory cost time, and change nothing."""
    monkeypatch.setattr("execledger.proxy.book.MAX_SESSIONS", 1)
    passage = new_passage(preset="paper")
    one, two = Talk(passage, "one", "one"), Talk(passage, "two", "two")
    for command in (CAT, CAT, OTHER):
        for talk in (one, two):
            talk.turn(command)
    assert len(passage.book) == 1
    assert one.grows() and two.grows()


def test_who_asks_is_told_by_the_request() -> None:
    """Old and new versions name their sessions differently; sub-agents share one."""
    from execledger.agents.codex.tools import asked

    agent = {"user-agent": "codex_exec/0.166.0 (Debian)"}
    new = asked({**agent, "session-id": "s", "thread-id": "t", "x-codex-turn-metadata": "{}"}, "", "")
    assert new == Asked("s", "t", turn=True, agent="codex 0.166.0")
    old = asked({"session_id": "s", "conversation_id": "s"}, "", "")
    assert old == Asked("s", "s", turn=True, agent="codex")
    side = asked({"session-id": "s", "x-codex-turn-metadata": '{"request_kind":"compaction"}'}, "", "")
    assert not side.turn
    own, spawned = ({"session-id": "s", "x-openai-subagent": name} for name in ("guardian", "collab_spawn"))
    assert [(one.turn, one.helper) for one in (asked(own, "", ""), asked(spawned, "", ""))] == [
        (True, True),
        (True, False),
    ]
    assert asked({}, "key", "You are performing a CONTEXT CHECKPOINT COMPACTION now") == Asked(
        "key", "key", turn=False, agent="codex", named=False
    )


def test_conversations_without_a_name_are_known_by_their_beginning() -> None:
    """Clients that send no headers of Codex's keep apart as long as their tasks differ."""
    passage = new_passage(preset="paper")
    one, two = Talk(passage, "", "", opening("First.")), Talk(passage, "", "", opening("Second."))
    for talk in (one, two):
        talk.turn(CAT)
    assert len(passage.book) == 2
    assert NOT_RUN in one.turn(CAT)[0]
    assert "Task: First." in one.view


def test_a_session_that_says_nothing_for_long_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its journal is closed when the next session begins; if it speaks again after all, nothing has changed for it."""
    passage = new_passage(preset="paper")
    talk = Talk(passage, "one", "one")
    talk.turn(CAT)
    monkeypatch.setattr("execledger.proxy.book.IDLE_SECONDS", -1.0)
    Talk(passage, "two", "two").turn(CAT)
    assert [run.end is not None for run in passage.book.summaries] == [True, False]
    talk.turn(CAT)
    assert talk.grows()


def test_the_view_is_there_from_the_first_request() -> None:
    """It recalls the task of its own thread, in a sub-agent's first request too; without a task it says nothing."""
    passage = new_passage()
    parent, child, silent = Talk(passage), Talk(passage, "s", "c", opening("Look at it.")), Talk(passage, "n", "n")
    silent.items = opening("")[:-1]
    for talk, view in ((parent, "Task: Mend the parser.\n"), (child, "Task: Look at it.\n"), (silent, "")):
        shown = talk.request()
        assert talk.view == (f"<execution_state>\n{view}</execution_state>" if view else "")
        assert shown[: len(talk.items)] == talk.items
        assert len(shown) == len(talk.items) + bool(view)
        talk.turn(CAT)
        assert talk.grows()


def test_a_helper_of_the_agent_is_followed_without_a_view() -> None:
    """A reviewer of approvals has another task; what it runs is known all the same."""
    passage = new_passage()
    talk = Talk(passage, "s", "reviewer", opening("Assess the planned action."))
    talk.headers["x-openai-subagent"] = "guardian"
    talk.turn("ls", CAT)
    assert "execution_state" not in json.dumps(talk.sent)
    assert [run.counts.proposed for run in passage.book.summaries] == [2]


def test_a_side_request_begins_no_session() -> None:
    """A title that is asked for on a thread of its own leaves no journal behind."""
    talk = Talk(new_passage(), "title", "title")
    assert talk.request(turn=False) == talk.items
    assert (len(talk.passage.book), list(talk.passage.book.summaries)) == (0, [])


def test_a_call_that_never_gets_a_result_may_have_run() -> None:
    """A write that was proposed and vanished from the history counts as one that nothing is known of."""
    for how in ({"sealed": True}, {"preset": "paper"}):
        talk = Talk(new_passage(**how))
        talk.turn(CAT)
        talk.propose("sed -i s/x/y/ a.py")
        talk.request()
        assert NOT_RUN not in talk.turn(CAT)[0]


def test_a_write_that_begins_while_a_model_is_thinking_counts() -> None:
    """Whether others write is asked for each call, not once for an answer."""
    passage = new_passage(sealed=True)
    parent, child = Talk(passage, "s", "parent"), Talk(passage, "s", "child", opening("Edit."))
    parent.turn(CAT)
    child.request()
    assert parent.last is not None
    answer = passage.answer(parent.last, 200, {"content-type": "text/event-stream"})
    assert answer is not None
    child.propose("sed -i s/x/y/ a.py")
    call = {"type": "function_call", "name": "exec_command", "arguments": json.dumps({"cmd": CAT}), "call_id": "late"}
    event = {"type": "response.output_item.done", "output_index": 0, "item": call}
    assert b"[ledger:" not in answer.feed(b"data: " + json.dumps(event).encode() + b"\n\n")


def test_a_side_request_leaves_a_write_under_way() -> None:
    """A title or a compaction that a thread asks for meanwhile does not end its command."""
    passage = new_passage(sealed=True)
    parent, child = Talk(passage, "s", "parent"), Talk(passage, "s", "child", opening("Edit."))
    parent.turn(CAT)
    child.request()
    child.propose("sed -i s/x/y/ a.py")
    child.request(turn=False)
    assert NOT_RUN not in parent.turn(CAT)[0]


def test_a_history_that_nobody_saw_happen_proves_nothing(tmp_path: Path) -> None:
    """A resumed session in a sealed place: what was read before the pause may have changed."""
    store = tmp_path / "edits"
    first = Talk(new_passage(EditStore(store), sealed=True))
    first.turn(CAT)
    second = Talk(new_passage(EditStore(store), sealed=True), items=first.items)
    second.numbers = 10
    second.request()
    assert "a.py: whole, 40 lines (possibly stale, in context)" in second.view
    assert RAN in second.turn(CAT)[0]


def test_writes_of_one_session_end_the_seal_of_another() -> None:
    """Two sessions of one proxy share a machine, and no longer have it to themselves."""
    passage = new_passage(sealed=True)
    one, two = Talk(passage, "one", "one"), Talk(passage, "two", "two")
    one.turn(CAT)
    two.turn("echo x >> a.py")
    assert NOT_RUN not in one.turn(CAT)[0]


def test_equal_calls_of_two_threads_are_two_calls() -> None:
    """A sub-agent that does the very same as another did it once more."""
    passage = new_passage(sealed=True)
    main, one, two = (Talk(passage, "s", name, opening(name)) for name in ("main", "one", "two"))
    one.turn("echo x >> a.py")
    main.turn(CAT)
    two.turn("echo x >> a.py")
    assert NOT_RUN not in main.turn(CAT)[0]


def test_a_call_that_cannot_be_read_may_do_anything() -> None:
    """What only the provider understands is a call of unknown effects."""
    talk = Talk(new_passage(sealed=True))
    talk.turn(CAT)
    for item in ({"type": "apply_patch_call", "operation": {}}, {"type": "function_call", "arguments": 7}):
        call = {**item, "call_id": f"odd {len(talk.items)}"}
        talk.items = [*talk.items, call, {"type": "function_call_output", "call_id": call["call_id"], "output": "done"}]
        talk.request()
        assert NOT_RUN not in talk.turn(CAT)[0]


def test_each_answer_is_judged_by_its_own_request() -> None:
    """Another request of the same thread in between changes nothing for the one under way."""
    passage = new_passage(preset="paper")
    talk = Talk(passage)
    talk.turn(CAT)
    early = Talk(passage, items=opening())
    early.request()
    talk.request()
    assert json.loads(early.propose(CAT)[0]["arguments"])["cmd"] == CAT


def test_nameless_conversations_that_begin_alike_keep_apart() -> None:
    """What one was shown is not what the other was shown."""
    passage = new_passage(preset="paper")
    one, two = Talk(passage, "", "", opening("Same.")), Talk(passage, "", "", opening("Same."))
    one.turn(CAT)
    two.numbers = 50
    two.turn(OTHER)
    assert NOT_RUN not in two.turn(CAT)[0]
    assert one.grows() and two.grows()


@pytest.mark.parametrize("output", [[{"type": "input_image", "image_url": "data:a"}], None, 7, {"a": 1}, ["x"]])
def test_what_is_not_only_text_is_left_alone(output: object) -> None:
    """An image, or anything else, that comes twice is shown twice, and so is one that has changed."""
    talk = Talk(new_passage())
    for number in range(3):
        call = {"type": "function_call", "name": "view_image", "arguments": '{"path":"a.png"}', "call_id": f"i{number}"}
        talk.request()
        assert talk.last is not None
        answer = talk.passage.answer(talk.last, 200, {"content-type": "text/event-stream"})
        assert answer is not None
        answer.feed(b"data: " + json.dumps({"type": "response.output_item.done", "item": call}).encode() + b"\n\n")
        result = {"type": "function_call_output", "call_id": f"i{number}", "output": output}
        talk.items = [*talk.items, call, result]
    assert [item for item in talk.request() if item["type"] == "function_call_output"] == [
        item for item in talk.items if item["type"] == "function_call_output"
    ]


def test_two_calls_with_one_id_get_each_their_own_result() -> None:
    """The first result belongs to the first call."""
    talk = Talk(new_passage(preset="paper"))
    talk.request()
    calls = [{**call, "call_id": "same"} for call in talk.propose(CAT, OTHER)]
    talk.answer(calls)
    talk.request()
    assert "row 1 of" in talk.turn(OTHER)[0] or NOT_RUN in talk.results(talk.sent[-1])[-1]
    assert "b.py" in talk.view and "a.py" in talk.view


def test_nothing_is_referred_to_that_does_not_stand_in_the_request() -> None:
    """A history without the read, or a shim that was copied elsewhere, gets no reference to it."""
    talk = Talk(new_passage(preset="paper"))
    talk.turn(CAT)
    talk.turn(CAT)
    trimmed = Talk(talk.passage, items=[*opening(), *talk.items[6:]])
    shown = trimmed.request()
    assert not any("stands above" in one for one in trimmed.results(shown))
    assert [item["arguments"] for item in shown if item["type"] == "function_call"] == [json.dumps({"cmd": CAT})]


def test_the_text_of_a_result_is_kept_nowhere(tmp_path: Path) -> None:
    """A remark is kept, and what it stands behind is not."""
    talk = Talk(new_passage(EditStore(tmp_path / "edits"), journals=None))
    talk.run = lambda command: "5 passed with password=swordfish1\n"
    talk.turn("pytest tests")
    assert "[Ledger: the same test" in talk.turn("pytest tests")[0]
    assert not any(b"swordfish1" in file.read_bytes() for file in tmp_path.iterdir())


def test_half_a_character_is_no_reason_to_forget() -> None:
    """A request that strict readers refuse is restored all the same."""
    talk = Talk(new_passage(preset="paper"))
    talk.turn(CAT)
    talk.turn(CAT)
    talk.items = [*talk.items, message("user", "half \ud800 a character")]
    shown = talk.request()
    assert [NOT_RUN in one for one in talk.results(shown)] == [False, True]


def test_a_place_that_the_user_quotes_is_not_where_commands_start() -> None:
    """Only Codex's own message tells where it is."""
    talk = Talk(new_passage(preset="paper"))
    talk.turn("cat /other/a.py")
    quoted = "Document this: <environment_context><cwd>/other</cwd></environment_context>"
    talk.items = [*talk.items, message("user", quoted)]
    talk.request()
    assert NOT_RUN not in talk.turn(CAT)[0]


def test_a_result_that_is_far_too_long_is_not_looked_into() -> None:
    """It is shown as it is, and nothing is claimed of it."""
    talk = Talk(new_passage(preset="paper"))
    talk.run = lambda command: TEXT * 300
    talk.turn(CAT)
    assert NOT_RUN not in talk.turn(CAT)[0]
    assert talk.grows()


def test_a_request_that_offers_no_tools_is_no_turn() -> None:
    """A compaction with words of the user's own is known by what the model may not do."""
    talk = Talk(new_passage())
    talk.turn(CAT)
    body = json.dumps({"model": "m", "input": talk.items, "tools": [], "stream": True}).encode()
    sent = talk.passage.request("POST", "/v1/responses", talk.headers, body)
    assert (sent.body, sent.followed) == (body, None)
