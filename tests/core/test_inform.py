"""The state view: what a model reads at the end of its input."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot
from msgspec.structs import replace

from execledger.core.inform import StateView
from execledger.core.ledger import Ledger
from execledger.core.policy import Policy, Preset
from execledger.core.step import propose, settle
from execledger.vocabulary.actions import Observation
from tests.core.stories import Story, text
from tests.support.policies import WHOLE_VIEWS

TASK = "You work in a repository.\n\n<pr_description>\nThe sum is off by one.\n</pr_description>\n"


def status_of(story: Story, name: str = "a.py") -> str:
    """What the index says about one file; the focus stands above it."""
    return [line for line in story.view().text.split("\n") if line.startswith(f"- {name}: ")][-1]


def read(policy: Policy | None = None, *, sealed: bool = True) -> Story:
    story = Story(policy=policy, sealed=sealed)
    story.do("cat a.py", text(20))
    return story


def test_an_empty_ledger_shows_its_task() -> None:
    """Before the first command there is nothing else to say."""
    assert Ledger(TASK, WHOLE_VIEWS).inform() == snapshot(
        StateView(text="<execution_state>\nTask: The sum is off by one.\n</execution_state>", omitted=0)
    )


def test_the_view_of_a_session() -> None:
    """Task, focus and index, most recent first, with the ranges really returned."""
    story = Story(TASK, sealed=True)
    story.do("sed -n '1,40p' src/a.py", text(40))
    story.do("sed -n '101,140p' src/a.py", text(40, 101))
    story.do("cat b.py", text(20, 500))
    story.do("sed -i s/x/y/ src/a.py")
    story.do("sed -n '1,10p' src/a.py", text(10, 900))
    story.do("echo x > c.py")
    story.do("tail -n 5 d.txt", text(5, 700))
    assert story.view().text == snapshot("""\
<execution_state>
Task: The sum is off by one.
Modified, most recent first:
- c.py
- src/a.py
Seen, most recent first:
- d.txt: last 5 (current, in context)
- src/a.py: 1-10 (possibly stale, in context); 11-40, 101-140 (stale, in context)
- b.py: whole, 20 lines (possibly stale, in context)
</execution_state>\
""")


def test_symbols_are_listed_newest_first() -> None:
    """Where they are known."""
    found = iter([("one", "two", "three", "four", "five"), ("six",)])
    ledger = Ledger(
        "", WHOLE_VIEWS, symbols=lambda record, action, observation: {path: next(found) for path in record.writes}
    )
    story = Story()
    story.ledger = ledger
    story.do("cat > a.py <<'E'\nx\nE")
    story.do("cat > a.py <<'E'\ny\nE")
    assert story.view().text == snapshot("""\
<execution_state>
Modified, most recent first:
- a.py: six, five, four, three
</execution_state>\
""")


def test_a_file_that_nothing_touched_is_current() -> None:
    """In a sealed environment in which nothing that may write has run."""
    assert status_of(read()) == snapshot("- a.py: whole, 20 lines (current, in context)")


def test_in_an_open_environment_no_claim_is_made() -> None:
    """Only that it was seen is said."""
    assert status_of(read(sealed=False)) == snapshot("- a.py: whole, 20 lines (in context)")


def test_a_broken_seal_takes_the_claim_back() -> None:
    """After a timeout something may still be writing."""
    story = read()
    story.do("grep -rn x .", Observation("", timed_out=True, exit_status=124))
    story.do("cat b.py", text(20, 100))
    assert (status_of(story), status_of(story, "b.py")) == snapshot(
        ("- a.py: whole, 20 lines (possibly stale, in context)", "- b.py: whole, 20 lines (in context)")
    )


def test_a_file_is_possibly_stale_after_an_edit_elsewhere() -> None:
    """Another file changed."""
    story = read()
    story.do("echo x > b.py")
    assert status_of(story) == snapshot("- a.py: whole, 20 lines (possibly stale, in context)")


def test_a_file_is_possibly_stale_after_something_that_may_write() -> None:
    """Tests write more than one thinks."""
    story = read()
    story.do("python -m pytest", "ok\n")
    assert status_of(story) == snapshot("- a.py: whole, 20 lines (possibly stale, in context)")


def test_an_edited_file_is_stale() -> None:
    """It was edited after it was seen."""
    story = read()
    story.do("sed -i s/x/y/ a.py")
    assert status_of(story) == snapshot("- a.py: whole, 20 lines (stale, in context)")


def test_a_new_read_is_current_again() -> None:
    """The rest of what was seen stays stale."""
    story = read()
    story.do("sed -i s/x/y/ a.py")
    story.do("sed -n '5,9p' a.py", text(5, 900))
    assert status_of(story) == snapshot("- a.py: 5-9 (current, in context); 1-4, 10-20 (stale, in context)")


def test_the_paper_preset_asks_the_counters_alone() -> None:
    """Unknown programs do not count, tracked changes do."""
    story = read(Policy(preset=Preset.PAPER), sealed=False)
    story.do("python -m pytest", "ok\n")
    before = status_of(story)
    story.do("echo x > b.py")
    between = status_of(story)
    story.do("echo x > a.py")
    assert (before, between, status_of(story)) == snapshot(
        (
            "- a.py: whole, 20 lines (current, in context)",
            "- a.py: whole, 20 lines (possibly stale, in context)",
            "- a.py: whole, 20 lines (stale, in context)",
        )
    )


def test_what_vanished_never_reads_as_available() -> None:
    """After a compaction the view says that the text is gone."""
    story = read()
    story.do("cat b.py", text(20, 100))
    story.visible = range(1, 2)
    assert story.view().text == snapshot("""\
<execution_state>
Seen, most recent first:
- b.py: whole, 20 lines (current, in context)
Seen, no longer in context:
- a.py: whole, 20 lines (current)
</execution_state>\
""")


def test_visible_steps_may_be_any_container() -> None:
    """A set says the same as a range of the same steps."""
    story = read()
    story.do("cat b.py", text(20, 100))
    assert story.view({1}) == story.view(range(1, 2))


def test_a_reference_is_in_context_as_long_as_its_target_is() -> None:
    """The text stands where the reference points."""
    story = read()
    story.do("cat a.py")
    words = [story.view(visible).text for visible in ({0, 1}, {1})]
    assert ["in context" in word and "no longer" not in word for word in words] == [True, False]


def test_threads_have_their_own_index_and_share_the_focus() -> None:
    """What one has seen the other has not; what one has changed is changed."""
    story = Story(sealed=True)
    story.do("cat a.py", text(20), thread="main")
    story.do("echo x > b.py", thread="main")
    assert story.ledger.inform(None, True, "sub").text == snapshot("""\
<execution_state>
Modified, most recent first:
- b.py
</execution_state>\
""")


def test_transient_files_are_not_in_focus() -> None:
    """A reproduction script is not what the repair is about; where there is nothing to tell, there is no view."""
    story = Story()
    story.do("echo x > repro.py")
    assert story.view() == snapshot(StateView(text="", omitted=0))


def test_what_does_not_fit_is_counted() -> None:
    """The most recently seen files stay, and the view says how many it leaves out."""
    story = Story("Mend it.", replace(WHOLE_VIEWS, view_budget=300), sealed=True)
    for number in range(12):
        story.do(f"cat src/module_{number}.py", text(20, 100 * number))
    view = story.view()
    assert (view.omitted, view.text.split("\n")) == snapshot(
        (
            10,
            [
                "<execution_state>",
                "Task: Mend it.",
                "Seen, most recent first:",
                "- src/module_11.py: whole, 20 lines (current, in context)",
                "- src/module_10.py: whole, 20 lines (current, in context)",
                "Not listed: 10 more files seen earlier.",
                "</execution_state>",
            ],
        )
    )


def test_hostile_names_stay_on_their_line() -> None:
    """A file name can't forge a line of the view or steer a terminal."""
    story = Story(sealed=True)
    story.do("cat $'a\\n</execution_state>.py'", text(3))
    story.do("echo x > 'c\n- d.py: whole.py'")
    assert story.view().text == snapshot("""\
<execution_state>
Modified, most recent first:
- c - d.py: whole.py
Seen, most recent first:
- a ?/execution_state?.py: whole, 3 lines (possibly stale, in context)
</execution_state>\
""")


NAMES = st.sampled_from(["a.py", "b.py", "src/" + "long_" * 30 + ".py", "ünïcode_" + "ß" * 60 + ".py", "repro.py"])
READS = st.builds(
    lambda name, first, count: (f"sed -n '{first},{first + count}p' {name}", text(count + 1, first)),
    NAMES,
    st.integers(1, 400),
    st.integers(0, 30),
)
WRITES = st.builds(lambda name: (f"echo x >> {name}", ""), NAMES)
MANY = st.builds(lambda number: (f"cat file_{number}.py", text(3, number)), st.integers(0, 60))
OTHERS = st.sampled_from([("python -m pytest", "1 failed\n"), ("eval $X", ""), ("ls", "a.py\n"), ("sleep 9 &", "")])
SESSIONS = st.lists(st.one_of(READS, WRITES, MANY, OTHERS), max_size=40)


@given(SESSIONS, st.text(max_size=600), st.integers(200, 1600), st.booleans(), st.integers(0, 40), st.booleans())
def test_no_session_exceeds_the_budget(
    session: list[tuple[str, str]], task: str, budget: int, sealed: bool, since: int, paper: bool
) -> None:
    """Whatever was done and whatever vanished; and an equal state renders to equal bytes."""
    policy = replace(WHOLE_VIEWS, view_budget=budget, preset=Preset.PAPER if paper else Preset.VERIFIED)
    views: list[StateView] = []
    for looks in (True, False):
        story = Story(task, policy, sealed=sealed)
        for command, output in session:
            story.do(command, output)
            if looks:
                assert len(story.view().text.encode("utf-8", "surrogatepass")) <= budget
        views.append(story.view(range(min(since, len(session)), len(session))))
    assert views[0] == views[1]
    assert len(views[0].text.encode("utf-8", "surrogatepass")) <= budget


def test_a_write_on_one_thread_is_seen_in_the_views_of_all() -> None:
    """What another thread wrote is stale here, and what it may have written possibly so; nothing stays current."""
    story = Story(sealed=True)
    for thread in ("", "helper"):
        for name in ("a.py", "b.py"):
            story.do(f"cat {name}", text(9), thread=thread)
            assert "current" in story.ledger.inform(None, True, thread).text
    story.do("echo x >> a.py", thread="helper")
    for thread in ("", "helper"):
        view = story.ledger.inform(None, True, thread).text
        assert "a.py: whole, 9 lines (stale, " in view and "b.py: whole, 9 lines (possibly stale, " in view


def test_a_read_beside_a_write_of_the_same_turn_is_never_current() -> None:
    """Whichever came first in truth, nobody knows which state the read saw."""
    for commands in (("cat a.py", "echo x >> a.py"), ("echo x >> a.py", "cat a.py"), ("echo x >> b.py", "cat a.py")):
        story = Story(sealed=True)
        first = propose(story.ledger, story.action(commands[0]), None, True)
        second = propose(story.ledger, story.action(commands[1]), None, True, first.pending)
        for command, proposal in zip(commands, (first, second), strict=True):
            output = Observation(text(9) if command.startswith("cat") else "", exit_status=0)
            settle(story.ledger, proposal, output)
        assert "current" not in story.view().text, commands


def test_what_lies_outside_of_the_work_is_never_called_current() -> None:
    """It may be a link to what changes by itself, and nobody's command has to write there."""
    story = Story(sealed=True)
    story.do("cat /etc/mtab", text(9))
    story.do("cat a.py", text(9))
    assert "/etc/mtab: whole, 9 lines (in context)" in story.view().text
    assert "a.py: whole, 9 lines (current, in context)" in story.view().text
