"""Partial references: longer runs of visible lines are omitted from a read that also shows others."""

from __future__ import annotations

import pytest
from inline_snapshot import snapshot
from msgspec.structs import replace

from execledger.core.ledger import Ledger
from execledger.core.lines import lines_shown
from execledger.core.omissions import CONTEXT
from execledger.core.policy import BYTES_PER_TOKEN, CALL_TOKENS, Policy, Preset
from execledger.vocabulary.actions import Observation, Read
from execledger.vocabulary.decisions import CoveredLines, Shown, Step
from execledger.vocabulary.records import Lines
from tests.core.stories import Story, source, text
from tests.support.policies import UNPRICED


def numbered(first: int, last: int) -> str:
    """These lines as ``cat -n`` prints them."""
    return "".join(f"{place:6}\t{line}\n" for place, line in enumerate(source(200)[first - 1 : last], first))


def omitted(step: Step) -> tuple[tuple[int, int, int], ...]:
    """The lines that a step leaves out, with the steps that show them."""
    assert step.shown.kind == "partial", step.shown
    return step.shown.omitted


def paged(policy: Policy | None = None) -> Story:
    """A story in which lines 1-60 of a file are visible."""
    story = Story(policy=policy)
    story.do("sed -n '1,60p' a.py", text(60))
    return story


def test_the_next_page_leaves_out_what_the_last_one_showed() -> None:
    """One line names the lines, the file, the command and the distance; the rest is as it came."""
    step = paged().do("sed -n '40,80p' a.py", text(41, 40))
    first, *rest = step.observation.output.split("\n")
    assert first == snapshot("[Ledger: lines 40-57 of a.py omitted, as shown by `sed -n '1,60p' a.py`, 1 command ago.]")
    assert rest == text(23, 58).split("\n")
    assert (step.shown.compared, step.shown.compared_to, step.shown.refers_to) == ("different", (), (0,))
    assert (omitted(step), step.shown.cuts) == (((40, 57, 0),), (0,))


def test_new_lines_have_their_context_around_them() -> None:
    """After an edit, the lines next to the changed one are shown again, as in a diff."""
    story = paged()
    story.do("python3 edit.py")
    lines = source(60)
    step = story.do("sed -n '1,60p' a.py", "".join(f"{line}\n" for line in [*lines[:29], "new", *lines[30:]]))
    assert omitted(step) == ((1, 29 - CONTEXT, 0), (31 + CONTEXT, 60, 0))
    assert step.observation.output.split("\n")[1:-2] == [*lines[29 - CONTEXT : 29], "new", *lines[30 : 30 + CONTEXT]]


def test_printed_numbers_need_a_result_that_prints_them() -> None:
    """A result without numbers does not show what a numbered read prints; one with numbers shows both."""
    story = paged()
    assert story.do("cat -n a.py | sed -n '40,80p'", numbered(40, 80)).shown.kind == "full"
    story = Story()
    story.do("cat -n a.py | sed -n '1,60p'", numbered(1, 60))
    assert omitted(story.do("sed -n '40,80p' a.py", text(41, 40))) == ((40, 57, 0),)
    numbers = Story()
    numbers.do("cat -n a.py | sed -n '1,60p'", numbered(1, 60))
    step = numbers.do("nl -ba a.py | sed -n '40,80p'", numbered(40, 80))
    assert omitted(step) == ((40, 57, 0),) and step.observation.output.split("\n")[1] == numbered(58, 58)[:-1]


def test_only_lines_that_it_really_shows_are_referred_to_in_a_partial_result() -> None:
    """Omitted lines are taken from where they are shown, the others from the partial result."""
    story = paged()
    story.do("sed -n '40,100p' a.py", text(61, 40))
    step = story.do("sed -n '70,95p' a.py", text(26, 70))
    assert (step.shown.kind, step.shown.refers_to) == ("reference", (1,))
    other = story.do("sed -n '20,39p' a.py", text(20, 20))
    assert (other.shown.kind, other.shown.refers_to) == ("reference", (0,))


def test_after_a_partial_reference_the_omitted_lines_are_shown_in_full() -> None:
    """The next attempt at them, not one at the lines that were shown."""
    story = paged()
    story.do("sed -n '40,100p' a.py", text(61, 40))
    assert story.ask("sed -n '70,95p' a.py").rule == "new"
    again = story.do("sed -n '50,120p' a.py", text(71, 50))
    assert (again.decision.rule, again.shown.kind) == ("second-look", "full")
    assert story.do("sed -n '50,130p' a.py", text(81, 50)).shown.kind == "partial"


def test_a_look_at_some_of_the_omitted_lines_leaves_the_others_due() -> None:
    """Each of them is shown in full once, whatever was looked at before."""
    story = paged()
    assert omitted(story.do("sed -n '20,100p' a.py", text(81, 20))) == ((20, 57, 0),)
    assert story.do("sed -n '20,35p' a.py", text(16, 20)).decision.rule == "second-look"
    assert story.do("sed -n '20,35p' a.py", text(16, 20)).shown.kind == "reference"
    rest = story.do("sed -n '36,90p' a.py", text(55, 36))
    assert (rest.decision.rule, rest.shown.kind) == ("second-look", "full")
    assert story.do("sed -n '36,91p' a.py", text(56, 36)).shown.refers


@pytest.mark.parametrize("command", ["cat a.py", "tail -n 70 a.py", "sed -n '20,100p' a.py", "sed -n '1,60p' a.py"])
def test_a_look_at_all_of_the_omitted_lines_leaves_nothing_due(command: str) -> None:
    """Also one whose lines depend on the length of the file, and the same command again."""
    story = paged()
    story.do("sed -n '20,100p' a.py", text(81, 20))
    story.do(command, text(100))
    assert story.ask("sed -n '30,50p' a.py").rule != "second-look"


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("sed -n '50p' a.py", "other\n"),
        ("grep -n other a.py", "50:other\n"),
        ("cat a.py b.py", "other\n"),
        ("cat $FILE", "other\n"),
    ],
)
def test_a_newer_result_that_shows_the_place_differently_ends_the_claim(command: str, output: str) -> None:
    """Lines are omitted on either side of it at most."""
    story = paged()
    story.do(command, output)
    step = story.do("sed -n '40,80p' a.py", text(41, 40))
    runs = step.shown.omitted
    assert not any(first <= 50 <= last for first, last, _ in runs)


def test_what_is_not_visible_is_not_referred_to() -> None:
    """After a compaction everything is shown."""
    story = paged()
    story.visible = range(1, 9)
    assert story.do("sed -n '40,80p' a.py", text(41, 40)).shown.kind == "full"


@pytest.mark.parametrize(
    "observation",
    [
        Observation(text(41, 40), exit_status=1),
        Observation(text(41, 40), exit_status=0, truncated=True),
        Observation(text(41, 40), timed_out=True),
    ],
)
def test_a_result_that_is_not_whole_is_shown_as_it_came(observation: Observation) -> None:
    """Failed, truncated, or stopped by a time limit."""
    assert paged().do("sed -n '40,80p' a.py", observation).shown.kind == "full"


@pytest.mark.parametrize("command", ["python3 show.py a.py", "pytest a.py", "cat a.py b.py", "tail -n 41 a.py"])
def test_only_reads_of_one_file_with_known_places_are_shown_in_part(command: str) -> None:
    """Programs that are not known, tests, several files, and lines counted from the end."""
    assert paged().do(command, text(41, 40)).shown.kind != "partial"


@pytest.mark.parametrize(
    "policy",
    [Policy(partial=False), Policy(preset=Preset.PAPER), Policy(max_interventions=0), Policy(min_omitted=5000)],
)
def test_it_is_not_done_where_the_policy_says_so(policy: Policy) -> None:
    """The switch, the published rules, the cap, and the smallest saving."""
    assert paged(policy).do("sed -n '40,80p' a.py", text(41, 40)).shown.kind == "full"


def test_in_shadow_mode_it_is_only_noted() -> None:
    """The output is shown, and what would have been shown is recorded."""
    step = paged(replace(UNPRICED, shadow=True)).do("sed -n '40,80p' a.py", text(41, 40))
    assert (step.shown.kind, step.shown.instead, step.shown.cuts) == ("full", "partial", ())
    assert step.observation.output == text(41, 40)


def test_in_shadow_mode_only_the_lines_that_would_have_been_omitted_are_looked_at_again() -> None:
    """A read of the others is no second look, neither for the next decision nor for the rate."""
    for shadow in (False, True):
        story = paged(replace(UNPRICED, shadow=shadow))
        story.do("sed -n '40,80p' a.py", text(41, 40))
        assert story.ask("sed -n '65,80p' a.py").rule == "new"
        story.do("sed -n '65,80p' a.py", text(16, 65))
        assert story.ledger.second_looks.looked == 0
        assert story.ask("sed -n '45,50p' a.py").rule == "second-look"


def test_the_context_has_the_bytes_that_are_shown() -> None:
    """Also in a ledger that is rebuilt from the steps; a version that noted no saving counted the whole output."""
    story = paged()
    before = story.ledger.context_tokens("", range(1))
    step = story.do("sed -n '40,80p' a.py", text(41, 40))
    grown = story.ledger.context_tokens("", range(2)) - before
    assert grown == CALL_TOKENS + len(step.observation.output) / BYTES_PER_TOKEN
    for noted, size in ((step, len(step.observation.output)), (earlier(step), len(text(41, 40)))):
        again = Ledger("", UNPRICED)
        again.record(story.steps[0])
        again.record(noted)
        assert again.context_tokens("", range(2)) - before == CALL_TOKENS + size / BYTES_PER_TOKEN


def earlier(step: Step) -> Step:
    """A partial reference as a version noted it that did not say what it saved."""
    return replace(step, shown=replace(step.shown, saved=0))


@pytest.mark.parametrize("at", [1, 55, 79])
def test_lines_of_a_file_that_look_like_references_keep_a_read_whole(at: int) -> None:
    """A reader who counts lines could not tell them from references: neither as own lines, nor where they are shown."""
    lines = source(80)
    lines[at] = "[Ledger: lines 3-9 of a.py omitted, as shown by `cat a.py`, 1 command ago.]"
    story = Story()
    story.do("sed -n '1,60p' a.py", "".join(f"{line}\n" for line in lines[:60]))
    step = story.do("sed -n '30,80p' a.py", "".join(f"{line}\n" for line in lines[29:]))
    assert step.shown.kind == "full"
    other = story.do("sed -n '20,28p' a.py", "".join(f"{line}\n" for line in lines[19:28]))
    assert (0 in other.shown.compared_to) == (at >= 60)


def test_at_most_three_results_and_four_omissions() -> None:
    """The largest ones; what they leave is shown."""
    story = Story()
    for first in (1, 41, 81, 121):
        story.do(f"sed -n '{first},{first + 29}p' a.py", text(30, first))
    step = story.do("cat a.py", text(200))
    assert len(step.shown.refers_to) == 3 and len(omitted(step)) == 3


def test_the_end_of_the_file_is_proven_as_well() -> None:
    """Of a read to the end, the last line is omitted only if the result referred to ends with it."""
    story = Story()
    story.do("sed -n '20,60p' a.py", text(41, 20))
    step = story.do("cat a.py", text(60))
    assert omitted(step) == ((20 + CONTEXT, 59 - CONTEXT, 0),)
    story = Story()
    story.do("tail -n +20 a.py", text(41, 20))
    assert omitted(story.do("cat a.py", text(60))) == ((20 + CONTEXT, 60, 0),)


def test_a_tool_that_reads_is_shown_in_part_as_well() -> None:
    """Structured reads have the same proof."""
    story = Story()
    story.do("Read a.py 1 60", numbered(1, 60), call=Read("a.py", 1, 60, "\t"))
    step = story.do("Read a.py 40 80", numbered(40, 80), call=Read("a.py", 40, 80, "\t"))
    assert omitted(step) == ((40, 57, 0),)


def test_a_partial_result_is_applied_and_read_back() -> None:
    """What is shown has the pieces around the references, and the same output gives the same bytes again."""
    shown = Shown("partial", "[one]\n[two]", (0,), lines=(CoveredLines(2, 3, 0), CoveredLines(5, 6, 0)), cuts=(1, 4))
    for output, expected in (
        ("1\n2\n3\n4\n5\n6\n", "1\n[one]\n4\n[two]\n"),
        ("1\n2\n3\n4\n5\n6", "1\n[one]\n4\n[two]"),
    ):
        assert shown.applied(output) == expected
        assert shown.pieces(expected) == ("1\n", "4\n", "")
    view = Story().ledger.classify(Story().action("sed -n '1,6p' a.py")).view
    assert view is not None
    lines = lines_shown(view, Observation("1\n[one]\n4\n[two]\n", exit_status=0), shown)
    assert lines is not None
    assert (lines.texts, lines.ranges, lines.end, lines.newline) == (
        (("1", "4"),),
        (Lines(1, 1), Lines(4, 4)),
        None,
        True,
    )


def test_the_fold_of_the_steps_is_the_same_state() -> None:
    """A ledger that only records the completed steps has the digest of the one that made them."""
    story = paged()
    story.do("sed -n '40,100p' a.py", text(61, 40))
    story.do("sed -n '70,95p' a.py", text(26, 70))
    story.do("sed -n '50,120p' a.py", text(71, 50))
    again = Story()
    for step in story.steps:
        again.ledger.record(replace(step))
    assert again.ledger.digest == story.ledger.digest
