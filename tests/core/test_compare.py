"""Compare after running: what counts as already visible, and when a reference takes its place."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from execledger.core.policy import Policy, Preset
from execledger.vocabulary.actions import Observation
from execledger.vocabulary.decisions import Step
from tests.core.stories import Story, numbered, source, text
from tests.support.policies import UNPRICED


def joined(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def outcome(step: Step) -> tuple[object, tuple[int, ...], str]:
    """How it compared, with what, and what was shown."""
    return step.shown.compared, step.shown.compared_to, step.shown.kind


def test_an_output_that_stands_above_is_the_same() -> None:
    """Byte for byte, whichever known command prints it."""
    story = Story()
    story.do("cat a.py", text(20))
    assert outcome(story.do("git show HEAD:a.py", text(20))) == ("same", (0,), "reference")


def test_the_newest_equal_result_bears_it_out() -> None:
    """A nearer target is easier to find."""
    story = Story()
    story.do("cat a.py", text(20))
    story.do("python -m pytest", text(20))
    assert outcome(story.do("git show HEAD:a.py", text(20))) == ("same", (1,), "reference")


@pytest.mark.parametrize(
    "again",
    [
        Observation(text(20)[:-1], exit_status=0),
        Observation(text(20), stderr="warning", exit_status=0),
        Observation(text(20), notice="3 more lines", exit_status=0),
        Observation(text(21), exit_status=0),
    ],
)
def test_one_byte_more_or_less_is_different(again: Observation) -> None:
    """Error output and notices are part of a result."""
    story = Story()
    story.do("git show HEAD", text(20))
    assert outcome(story.do("git show HEAD~0", again)) == ("different", (), "full")


@pytest.mark.parametrize(
    "again",
    [
        Observation("", exit_status=0),
        Observation(" \n", exit_status=0),
        Observation(text(20), exit_status=1),
        Observation(text(20), failed=True),
        Observation(text(20), exit_status=0, timed_out=True),
        Observation(text(20), exit_status=0, truncated=True),
        Observation(text(20), exit_status=0, truncated=True, cut=300),
    ],
)
def test_a_failed_cut_or_empty_result_is_never_eligible(again: Observation) -> None:
    """Even if the very same result stands above."""
    story = Story()
    story.do("cat a.py b.py", again)
    story.do("echo x >> a.py")
    assert outcome(story.do("cat a.py b.py", again)) == (None, (), "full")


@pytest.mark.parametrize(
    "command", ["python -m pytest", "python show.py", "frobnicate", "eval cat a.py", "echo x; make"]
)
def test_tests_scripts_and_unknown_programs_are_never_eligible(command: str) -> None:
    """That they ran is itself the news."""
    story = Story()
    story.do("cat a.py", text(20))
    assert outcome(story.do(command, text(20))) == (None, (), "full")


def test_a_command_with_dynamic_words_is_eligible() -> None:
    """Its output is at hand, so it does not matter what it would have been."""
    story = Story()
    story.do("cat a.py", text(20))
    assert outcome(story.do("cat $FILE", text(20))) == ("same", (0,), "reference")


# Covered


def test_a_part_of_a_read_is_covered() -> None:
    """Every line stands in one visible read of the file."""
    story = Story()
    story.do("cat a.py", text(40))
    assert outcome(story.do("sed -n '5,30p' a.py", text(26, 5))) == ("covered", (0,), "reference")


def test_lines_are_covered_over_three_results() -> None:
    """Each run may stand in another read, in whatever order these were made."""
    story = Story()
    for first in (21, 1, 11):
        story.do(f"sed -n '{first},{first + 9}p' a.py", text(10, first))
    assert outcome(story.do("sed -n '4,27p' a.py", text(24, 4))) == ("covered", (0, 1, 2), "reference")


def test_lines_over_four_results_are_different() -> None:
    """A reference points at three results at most."""
    story = Story()
    for first in (1, 11, 21, 31):
        story.do(f"sed -n '{first},{first + 9}p' a.py", text(10, first))
    assert outcome(story.do("sed -n '1,40p' a.py", text(40))) == ("different", (), "full")


def test_a_run_has_three_lines_at_least() -> None:
    """Two lines that match by chance do not count, three do."""
    for more, expected in ((2, ("different", (), "full")), (3, ("covered", (0, 1), "reference"))):
        story = Story(policy=replace(UNPRICED, partial=False))
        story.do("sed -n '1,20p' a.py", text(20))
        story.do(f"sed -n '21,{20 + more}p' a.py", text(more, 21))
        assert outcome(story.do(f"sed -n '1,{20 + more}p' a.py", text(20 + more))) == expected


def test_a_new_line_in_the_middle_is_different() -> None:
    """One line that was not shown, and the output is shown whole."""
    story = Story()
    story.do("cat a.py", text(40))
    lines = source(40)
    assert outcome(story.do("cat a.py", joined([*lines[:20], "new", *lines[20:]])))[0] == "different"


def test_lines_in_another_order_are_not_one_run() -> None:
    """Order matters within a run: lines shown singly in another order are not these lines."""
    story = Story()
    story.do("cat a.py", text(20))
    assert outcome(story.do("cat a.py", joined(source(20)[::-1])))[0] == "different"


def test_text_that_moved_is_different() -> None:
    """The lines stand above, but a model would look for them at their old numbers."""
    story = Story()
    story.do("cat a.py", text(40))
    story.do("sed -i '1i import os' a.py")
    assert outcome(story.do("sed -n '12,36p' a.py", text(25, 11))) == ("different", (), "full")


def test_lines_of_another_file_do_not_cover() -> None:
    """Covered means: in a read of that very file."""
    story = Story()
    story.do("cat b.py", text(40))
    assert outcome(story.do("sed -n '5,30p' a.py", text(26, 5))) == ("different", (), "full")


def test_a_search_is_never_covered() -> None:
    """Only a read of one file is taken apart into lines."""
    story = Story()
    story.do("cat a.py", text(40))
    assert outcome(story.do("grep -h value a.py b.py", text(26, 5))) == ("different", (), "full")


def test_plain_lines_are_covered_by_numbered_ones_and_not_the_other_way_round() -> None:
    """A command that prints numbers is answered only by a result that prints them."""
    plain, with_numbers = ("sed -n '1,30p' a.py", text(30)), ("cat -n a.py | head -n 30", numbered(source(30)))
    for before, after, expected in (
        (with_numbers, plain, ("covered", (0,), "reference")),
        (plain, with_numbers, ("different", (), "full")),
    ):
        story = Story()
        story.do(*before)
        assert outcome(story.do(*after)) == expected


def test_where_both_print_numbers_they_must_be_equal() -> None:
    """After an insertion above, the same text with other numbers is news."""
    story = Story()
    story.do("cat -n a.py", numbered(source(30)))
    story.do("sed -i '1i import os' a.py")
    moved = "cat -n a.py | sed -n '2,31p'"
    assert outcome(story.do(moved, numbered(source(30), 2))) == ("different", (), "full")
    same = "cat -n a.py | sed -n '3,30p'"
    assert outcome(story.do(same, numbered(source(28, 2), 3)))[:2] == ("covered", (2,))


def test_the_whole_lines_of_an_elided_output_cover() -> None:
    """The beginning of a cut output stands above; at which line the rest begins is not known without numbers."""
    output = text(60)
    cut = output.index("value_20 ") + 5
    story = Story()
    rest = output[output.index("value_40 ") + 5 :]
    story.do("cat a.py", Observation(output[:cut] + rest, exit_status=0, truncated=True, cut=cut))
    assert outcome(story.do("sed -n '1,19p' a.py", text(19))) == ("covered", (0,), "reference")
    assert outcome(story.do("sed -n '41,60p' a.py", text(20, 41)))[0] == "different"
    assert outcome(story.do("sed -n '10,20p' a.py", text(11, 10)))[0] == "different"
    assert outcome(story.do("sed -n '40,50p' a.py", text(11, 40)))[0] == "different"


# Whether it is worth it


def test_an_output_below_the_smallest_size_is_shown() -> None:
    """It compares as the same, but the policy asks for more bytes, as earlier versions did."""
    for size, kind in ((299, "full"), (300, "reference")):
        story = Story()
        story.do("ls -R src", "x" * size)
        assert outcome(story.do("find src", "x" * size)) == ("same", (0,), kind)


def test_a_reference_is_at_most_half_as_large_as_the_output() -> None:
    """A long command makes a long reference, which then needs a longer output."""
    command = "sed -n '1,500p' a/very/long/path/to/some/deeply/nested/module/with/a/long/name.py"
    story = Story(policy=Policy(second_look_rate=0.0))
    story.do(command, "x" * 200)
    story.do("find src", "y" * 200)
    long = story.do("ls -R lib", "x" * 200)
    short = story.do("ls -R src", "y" * 200)
    assert (outcome(long), outcome(short)) == (("same", (0,), "full"), ("same", (1,), "reference"))
    assert len(short.shown.text.encode()) <= 100


def test_a_reference_never_points_at_a_reference() -> None:
    """However often it is repeated, the text itself is named."""
    story = Story()
    story.do("cat a.py", text(20))
    for commit in ("HEAD", "HEAD~1", "main"):
        story.do(f"git show {commit}:a.py", text(20))
    assert [outcome(step) for step in story.steps[1:]] == [("same", (0,), "reference")] * 3
    story.visible = {1, 2, 3}
    assert outcome(story.do("git show HEAD~2:a.py", text(20)))[:2] == ("different", ())


def test_what_vanished_by_compaction_is_not_referred_to() -> None:
    """A result counts only where it stands in the request."""
    story = Story()
    story.do("cat a.py", text(40))
    story.visible = range(1, 1)
    assert outcome(story.do("git show HEAD:a.py", text(40))) == ("different", (), "full")
    assert outcome(story.do("sed -n '5,30p' a.py", text(26, 5))) == ("different", (), "full")


def test_what_another_thread_saw_is_not_referred_to() -> None:
    """The comparison looks at one conversation only."""
    story = Story()
    story.do("cat a.py", text(40), thread="main")
    assert outcome(story.do("cat a.py", text(40), thread="sub")) == ("different", (), "full")


def test_a_result_with_a_remark_may_be_referred_to() -> None:
    """With a remark behind it the output still stands there whole."""
    story = Story()
    story.do("python -m pytest", text(20))
    remarked = story.do("python -m pytest", text(20))
    assert (remarked.shown.kind, outcome(story.do("cat log.d/last", text(20)))) == (
        "remark",
        ("same", (1,), "reference"),
    )


def test_a_reference_keeps_the_exit_status_of_its_result() -> None:
    """The model sees the reference where the output stood, and the status as it was."""
    story = Story()
    story.do("cat a.py", Observation(text(20)))
    story.do("echo x >> b.py")
    step = story.do("cat a.py", Observation(text(20)))
    assert step.observation == Observation(step.shown.text, exit_status=None)


def test_a_reference_confirms_what_it_points_at() -> None:
    """After a run that found the file unchanged, its text above is current again."""
    story = Story(sealed=True)
    story.do("cat a.py", text(40))
    story.do("touch b.py")
    confirmed = story.do("cat a.py", text(40))
    record = story.ledger.observed("", "/repo/a.py")[-1]
    assert (confirmed.shown.kind, record.step, record.holder, record.clock) == ("reference", 2, 0, 1)
    assert "a.py: whole, 40 lines (current, in context)" in story.view().text


@pytest.mark.parametrize(
    ("policy", "looks", "kept"),
    [
        (Policy(preset=Preset.PAPER), 1, "preset"),
        (replace(UNPRICED, max_interventions=0), 1, "cap"),
        (replace(UNPRICED, min_output=100_000), 1, "short"),
        (replace(UNPRICED, max_share=0.01), 1, "small"),
        (UNPRICED, 2, "second-look"),
    ],
)
def test_an_equal_output_that_is_shown_again_says_why(policy: Policy, looks: int, kept: str) -> None:
    """The reason is recorded with the step, for `why` and the page; another output has none."""
    story = Story(policy=policy)
    first = story.do("git show HEAD", text(30))
    again = [story.do("git show HEAD~0", text(30)) for _ in range(looks)][-1]
    assert (first.shown.kept, outcome(again)[::2], again.shown.kept) == (None, ("same", "full"), kept)


def test_an_equal_output_with_a_newer_one_in_its_place_says_so() -> None:
    """The same command printed something else in between."""
    story = Story()
    for lines in (20, 21):
        story.do("git show HEAD", text(lines))
    again = story.do("git show HEAD", text(20))
    assert (outcome(again), again.shown.kept) == (("same", (0,), "full"), "superseded")


@pytest.mark.parametrize(("policy", "kept"), [(UNPRICED, "short"), (replace(UNPRICED, min_output=0), "small")])
def test_the_size_comes_first_of_the_reasons_against_a_reference(policy: Policy, kept: str) -> None:
    """The same command printed something else in between, but no reference could replace so short an output."""
    story = Story(policy=policy)
    for output in ("a.md\n", "b.md\n"):
        story.do("ls notes", output)
    again = story.do("ls notes", "a.md\n")
    assert (outcome(again), again.shown.kept) == (("same", (0,), "full"), kept)


@pytest.mark.parametrize("command", ["git show HEAD", 'cat "$FILE"', 'cd "$FOLDER" && cat a.py'])
def test_an_equal_output_of_unknown_files_says_that_they_may_have_changed(command: str) -> None:
    """No newer result is known to show anything else: files changed twice, and something was printed in between."""
    story = Story(policy=UNPRICED)
    story.do(command, text(30))
    story.do("touch b.py")
    story.do("ls", "a.py\nb.py\n")
    story.do("touch c.py")
    again = story.do(command, text(30))
    assert (outcome(again), again.shown.kept) == (("same", (0,), "full"), "unknown-files")
