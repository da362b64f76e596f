"""A model that believes every reference is never misled: seeded sessions in a real shell, and the judge's own proof."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.audit import Earlier, Misread, PartialReader
from execledger.core.classify import classify
from execledger.vocabulary.actions import Action, Observation
from tests.support.believer.__main__ import kinds
from tests.support.believer.displays import PLAIN, Chosen, Last, Part, Selection, Span, Style
from tests.support.believer.judge import Misled, Reader, Truth
from tests.support.believer.reads import TRUE
from tests.support.believer.session import Report, play
from tests.support.tagged.session import play as play_tagged

SHORT, FEW, LONG = 40, 25, 1_000
"""Sessions of the short forms and of the long one."""


GNU = pytest.mark.skipif(sys.platform != "linux", reason="the commands of the sessions are those of GNU systems")


@GNU
@pytest.mark.guarantee("false-reuse", "visibility")
def test_no_reference_misleads(full: bool, figure: Callable[[str], None]) -> None:
    """Whoever takes each line from where a reference says it stands is right, and what a view calls current is."""
    reports = attack(range(LONG if full else SHORT))
    partial = count(reports, "partial")
    assert partial > 0
    figure(f"0 misleading of {count(reports, 'references'):,} references that a reader believed, {partial:,} partial")


@GNU
@pytest.mark.guarantee("false-reuse", "visibility")
def test_no_reference_to_what_a_tool_showed_misleads(full: bool, figure: Callable[[str], None]) -> None:
    """The same where most reads are calls of a tool that numbers lines, joins them, and cuts long ones."""
    reports = attack(range(LONG if full else FEW), tools=True)
    figure(f"0 misleading of {count(reports, 'references'):,} references among reads of a tool")


@GNU
@pytest.mark.guarantee("false-reuse", "visibility")
def test_no_reference_misleads_where_every_line_is_tagged(full: bool, figure: Callable[[str], None]) -> None:
    """A second attack with a judge of its own: tags in the lines tell which were seen, whatever printed them."""
    reports = [play_tagged(seed) for seed in range(LONG if full else FEW)]
    references = sum(report.references for report in reports)
    assert references > len(reports) // 2 and sum(report.partial for report in reports) > 0
    assert [(report.seed, report.faults) for report in reports if report.faults] == []
    figure(f"0 misleading of {references:,} references among tagged lines")


@GNU
@pytest.mark.long
@pytest.mark.parametrize("first", range(10_000, 10_000 + LONG, 100))
def test_no_reference_misleads_in_many_sessions(first: int) -> None:
    """The same over many seeds, in blocks that can be run side by side."""
    attack(range(first, first + 100))


def attack(seeds: range, *, tools: bool = False) -> list[Report]:
    reports = [play(seed, tools=tools) for seed in seeds]
    # The attack is worth its name: it meets what it judges, and knows what its commands show.
    assert count(reports, "references") > len(reports) // 2
    assert sum(len(report.unsure) for report in reports) < len(reports) // 4
    bad = {report.seed: [*report.misleading, *report.false_claims] for report in reports}
    assert {seed: found for seed, found in bad.items() if found} == {}, kinds(reports)
    return reports


def count(reports: list[Report], name: str) -> int:
    return sum(int(getattr(report, name)) for report in reports)


@GNU
def test_a_seed_is_a_session() -> None:
    """The same seed gives the same session, but for the name of its folder."""
    one, other = play(7), play(7)
    assert (one.steps, one.references, one.claims, len(one.commands)) == (
        (other.steps, other.references, other.claims, len(other.commands))
    )


class Story:
    """A file, and a reader who is shown parts of it."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "f.py"
        self.reader = Reader(folder)
        self.write(20)

    def write(self, count: int, **changed: str) -> None:
        """Lines 1 to ``count``; those named ``l5`` and so on read otherwise."""
        rows = [changed.get(f"l{number}", f"line {number} of the file") for number in range(1, count + 1)]
        self.file.write_text("".join(f"{row}\n" for row in rows))

    def truth(self, command: str, selection: Selection | None = None, style: Style = PLAIN) -> Truth:
        piece = Part(self.file, selection or Span(), style).display()
        return Truth(command, "".join(line.printed for line in piece.lines), 0, (piece,))

    def cat(self) -> None:
        self.reader.show(self.truth("cat f.py"))

    def sed(self, first: int, last: int) -> Truth:
        return self.truth(f"sed -n '{first},{last}p' f.py", Span(first, last))

    def refer(self, truth: Truth, text: str) -> str | None:
        """In which way this reference misleads."""
        why = self.reader.refer(truth, f"[Ledger: {text}]")
        return why.kind if why else None


@pytest.fixture
def story(tmp_path: Path) -> Story:
    return Story(tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        "output omitted. Lines 5-15 of f.py are as shown by `cat f.py`, 2 commands ago.",
        'output omitted. Lines 5-15 of f.py are as shown by "cat f.py", 2 commands ago.',
        "not run, f.py has not changed. Lines 5-15 of f.py are as shown by `cat f.py`, 2 commands ago.",
        "Lines 5-8 of f.py are as in `cat f.py`, 2 commands ago, lines 9-15 in `sed -n '5,20p' f.py`, 1 command ago.",
        'ran; all 11 lines already stand above, unchanged: `cat f.py`, 2 commands ago, beginning "line 1 of the...".',
        "ran; all 11 lines already stand above: `cat f.py`, 2 commands ago and `sed -n '5...`, 1 command ago.",
    ],
)
def test_a_true_reference_is_believed_rightly(story: Story, text: str) -> None:
    """The judge understands the wordings of a reference, and has no objection to a true one."""
    story.cat()
    story.reader.show(story.sed(5, 20))
    assert story.refer(story.sed(5, 15), text) is None


LINES = "output omitted. Lines 5-15 of f.py are as shown by `cat f.py`, 1 command ago."
STANDS = "ran; all 11 lines already stand above, unchanged: `cat f.py`, 1 command ago."


@pytest.mark.parametrize("text", [LINES, STANDS])
@pytest.mark.parametrize("change", [{"l9": "other"}, {"l5": "x", "l15": "y"}])
def test_a_changed_line_is_noticed(story: Story, text: str, change: dict[str, str]) -> None:
    """A reference to what a line said before it changed."""
    story.cat()
    story.write(20, **change)
    assert story.refer(story.sed(5, 15), text) == "content"


def test_a_change_elsewhere_is_noticed(story: Story) -> None:
    """The lines are the same, but the file is said not to have changed."""
    story.cat()
    story.write(20, l2="other")
    assert (
        story.refer(story.sed(5, 15), LINES.replace("output omitted.", "not run, f.py has not changed.")) == "changed"
    )
    assert story.reader.results.pop()
    assert story.refer(story.sed(5, 15), LINES) is None


@pytest.mark.parametrize("text", [LINES, STANDS])
def test_a_moved_line_is_noticed(story: Story, text: str) -> None:
    """The lines stand in the result, but not at their place."""
    story.cat()
    story.file.write_text("".join(story.file.read_text().splitlines(keepends=True)[2:]))
    assert story.refer(story.sed(5, 15), text) == "content"


def test_lines_that_are_not_there_are_noticed(story: Story) -> None:
    """The result that is named does not show the lines that are named."""
    story.reader.show(story.sed(1, 10))
    text = "output omitted. Lines 5-15 of f.py are as shown by `sed -n '1,10p' f.py`, 1 command ago."
    assert story.refer(story.sed(5, 15), text) == "absent"


def test_other_lines_than_those_asked_for_are_noticed(story: Story) -> None:
    """The reference names lines that the command does not print."""
    story.cat()
    assert story.refer(story.sed(6, 16), LINES) == "place"


def test_missing_numbers_are_noticed(story: Story) -> None:
    """The command prints line numbers, the result does not."""
    story.cat()
    text = "output omitted. Lines 1-20 of f.py are as shown by `cat f.py`, 1 command ago."
    assert story.refer(story.truth("cat -n f.py", style=TRUE), text) == "numbers"


@pytest.mark.parametrize("selection", [Span(), Span(5), Last(11)])
def test_another_end_is_noticed(story: Story, selection: Selection) -> None:
    """A read to the end of the file ends earlier than what it refers to."""
    story.cat()
    story.write(15)
    first = 1 if selection == Span() else 5
    text = f"output omitted. Lines {first}-15 of f.py are as shown by `cat f.py`, 1 command ago."
    assert story.refer(story.truth("some read", selection), text) == "end"


def test_another_final_newline_is_noticed(story: Story) -> None:
    """The last line has lost its end."""
    story.cat()
    story.file.write_text(story.file.read_text()[:-1])
    text = "output omitted. Lines 15-20 of f.py are as shown by `cat f.py`, 1 command ago."
    assert story.refer(story.sed(15, 20), text) == "content"


def test_a_newer_sight_is_noticed(story: Story) -> None:
    """The file was changed, shown, and changed back: the newest result shows the place differently."""
    story.cat()
    story.write(20, l9="other")
    story.reader.show(story.sed(8, 10))
    story.write(20)
    text = "output omitted. Lines 5-15 of f.py are as shown by `cat f.py`, 2 commands ago."
    assert story.refer(story.sed(5, 15), text) == "newer"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Lines 5-15 of f.py are as shown by `cat f.py`, 3 commands ago.", "distance"),
        ("Lines 5-15 of f.py are as shown by `cat f.py`, 1 command ago.", "distance"),
        ("Lines 5-15 of f.py are as shown by `cat g.py`, 2 commands ago.", "distance"),
        ("Lines 5-15 of g.py are as shown by `cat f.py`, 2 commands ago.", "file"),
        ("this same command, 2 commands ago, shows it.", "distance"),
        ("nothing new.", "unreadable"),
        ("output omitted, see above.", "unreadable"),
        ("ran; the output is the same as above: `cat f.py`, 2 commands ago.", "output"),
        ('ran; all 11 lines stand above: `cat f.py`, 2 commands ago, beginning "other words".', "distance"),
    ],
)
def test_a_reference_that_cannot_be_resolved_is_noticed(story: Story, text: str, kind: str) -> None:
    """Whoever follows the words must arrive at the lines."""
    story.cat()
    story.reader.show(Truth("ls", "f.py\n", 0, None))
    assert story.refer(story.sed(5, 15), text) == kind


def test_what_is_out_of_sight_is_noticed(story: Story) -> None:
    """A result that left the request, and one that was itself a reference."""
    story.cat()
    again = "ran; the output is the same as above: this same command, 1 command ago."
    assert story.refer(story.truth("cat f.py"), again) is None
    assert story.refer(story.sed(5, 15), LINES) == "hidden"
    story.cat()
    story.reader.hide(range(4))
    assert story.refer(story.sed(5, 15), LINES) == "hidden"


def test_a_failure_and_an_edit_are_noticed(story: Story) -> None:
    """A status that is not told, and a command that should have run."""
    story.cat()
    failed = story.sed(5, 15)
    failed.status = 1
    assert story.refer(failed, LINES) == "status"
    edit = Truth("sed -i 1d f.py", "", 0, (), harmless=False, ran=False)
    assert story.refer(edit, "not run, this same command, 1 command ago.") == "suppressed"


PART = "[Ledger: lines 1-10 of f.py omitted, as shown by `cat f.py`, 1 command ago.]\n"


def test_a_partly_shown_result_is_put_together(story: Story) -> None:
    """Lines that are shown and lines that are referred to must make up the real output."""
    story.cat()
    story.write(20, l12="other")
    truth = story.truth("cat f.py")
    shown = "".join(line.printed for _, line in truth.lines[10:])
    assert story.reader.refer(truth, PART + shown) is None
    # What it shows itself can be referred to, what it refers to cannot.
    text = "output omitted. Lines {} of f.py are as shown by `cat f.py`, {}."
    assert story.refer(story.sed(11, 20), text.format("11-20", "1 command ago")) is None
    assert story.refer(story.sed(5, 15), text.format("5-15", "2 commands ago")) == "absent"


@pytest.mark.parametrize(
    ("cut", "kind"), [(slice(9, None), "output"), (slice(11, None), "output"), (slice(10, 19), "end")]
)
def test_a_partly_shown_result_with_a_gap_is_noticed(story: Story, cut: slice, kind: str) -> None:
    """A line too many, a line too few, a missing end."""
    story.cat()
    truth = story.truth("cat f.py")
    why = story.reader.refer(truth, PART + "".join(line.printed for _, line in truth.lines[cut]))
    assert isinstance(why, Misled)
    assert why.kind == kind


def test_a_line_that_is_shown_at_another_place_is_noticed(story: Story) -> None:
    """A reader of plain lines counts on from the last line that a reference names."""
    story.cat()
    truth = story.truth("awk 'NR <= 10 || NR > 12' f.py", Chosen(lambda lines: [*range(1, 11), *range(13, 21)]))
    why = story.reader.refer(truth, PART + "".join(line.printed for _, line in truth.lines[10:]))
    assert isinstance(why, Misled) and why.kind == "place"


LINE = "[Ledger: lines {} of f.py omitted, as shown by `{}`, {} commands ago.]\n"


@pytest.mark.parametrize(
    ("lines", "command", "ago", "hidden", "why"),
    [
        ("3-8", "cat f.py", 2, 0, ""),
        ("3-9", "cat f.py", 2, 0, "another"),
        ("4-9", "cat f.py", 2, 0, "where the output has another"),
        ("3-8", "cat f.py", 1, 0, "the command is another"),
        ("3-8", "sed -n '1,5p' f.py", 1, 0, "not shown there"),
        ("3-8", "cat f.py", 3, 0, "not visible"),
        ("3-8", "cat f.py", 2, 1, "not visible"),
    ],
)
def test_the_audit_reads_a_partly_omitted_output_as_text(
    lines: str, command: str, ago: int, hidden: int, why: str
) -> None:
    """Each reference is replaced by what the named result shows, and whatever does not fit is noticed."""
    texts = [f"line {number} of the file" for number in range(1, 21)]
    calls = [
        Earlier(0, "/r/f.py", Observation(), dict(enumerate(texts, 1)), command="cat f.py"),
        Earlier(1, "/r/f.py", Observation(), dict(enumerate(texts[:5], 1)), command="sed -n '1,5p' f.py"),
    ]
    output = "".join(f"{line}\n" for line in texts)
    view = classify(Action("cat f.py", "/r")).view
    assert view is not None
    own = Earlier(2, "/r/f.py", Observation(output), dict(enumerate(texts, 1)))
    reader = PartialReader(own, view, calls, hidden)
    shown = "".join(f"{line}\n" for line in texts[:2]) + LINE.format(lines, command, ago)
    shown += "".join(f"{line}\n" for line in texts[8:])
    try:
        found = "" if reader.read(shown) == output else "another"
        assert not found or not reader.places.items() <= own.places.items()
    except Misread as misread:
        found = str(misread)
    assert (why in found) if why else not found


@pytest.mark.parametrize(
    ("claim", "count", "changed", "kind"),
    [
        ("f.py: whole, 20 lines (current, in context)", 20, {}, None),
        ("f.py: 5-10, 12 (current, in context); 1-4 (stale, in context)", 20, {"l2": "other"}, None),
        ("f.py: last 5 (current, in context)", 20, {}, None),
        ("f.py: 5-10 (in context)", 20, {"l7": "other"}, None),
        ("f.py: 5-10 (current, in context)", 20, {"l7": "other"}, "content"),
        ("f.py: 5-10, 12 (current, in context)", 20, {"l12": "other"}, "content"),
        ("f.py: whole, 20 lines (current, in context)", 19, {}, "end"),
        ("f.py: 18-20 (current, in context)", 19, {}, "end"),
        ("f.py: 18-22 (current, in context)", 25, {}, "absent"),
        ("g.py: 1-5 (current, in context)", 20, {}, "gone"),
        ("f.py: some (current, in context)", 20, {}, "unreadable"),
    ],
)
def test_a_false_claim_of_a_view_is_noticed(
    story: Story, claim: str, count: int, changed: dict[str, str], kind: str | None
) -> None:
    """Lines that a view calls current are in the file now, at that place, as they were shown."""
    story.cat()
    story.write(count, **changed)
    view = f"<execution_state>\nSeen, most recent first:\n- {claim}\n</execution_state>"
    found = [why.kind for _, why in story.reader.claims(view) if why]
    assert found == ([kind] if kind else [])
