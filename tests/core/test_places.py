"""References by place: a model takes line *p* of a file from what a result shows as line *p*.

Each story is one in which the lines that are asked for do stand in an earlier result, and a reference to it would
mislead; or one in which it would not.
"""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from execledger.core.ledger import Ledger
from execledger.core.lines import MAX_INDEXED
from execledger.core.step import take
from execledger.vocabulary.actions import Action, Command, Edit, Observation, Search
from execledger.vocabulary.decisions import Step
from tests.core.stories import Story, numbered, source, text
from tests.support.policies import UNPRICED

LINES = source(40)


def told(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


WHOLE = replace(UNPRICED, partial=False)
"""Only whole outputs are replaced here; partial references have tests of their own."""


def story_of(*steps: tuple[str, str], sealed: bool = False) -> Story:
    """A story in which these commands were run; no reference stands in it yet."""
    story = Story(policy=WHOLE, sealed=sealed)
    for command, output in steps:
        assert story.do(command, output).shown.kind == "full", command
    return story


def shown(step: Step) -> str:
    """What was shown of a result: "full", or the words of the reference."""
    return step.shown.text or step.shown.kind


CAT = ("cat a.py", told(LINES))


@pytest.mark.parametrize(
    ("edit", "edited", "command", "first", "last"),
    [
        ("sed -i '10,20d' a.py", LINES[:9] + LINES[20:], "sed -n '10,20p' a.py", 10, 20),
        ("sed -i '1i import os' a.py", ["import os", *LINES], "sed -n '12,30p' a.py", 12, 30),
        ("sed -i '1,5d' a.py", LINES[5:], "head -n 20 a.py", 1, 20),
        ("sed -i '36,40d' a.py", LINES[:35], "tail -n 20 a.py", 16, 35),
        ("sed -i '36,40d' a.py", LINES[:35], "sed -n '16,60p' a.py", 16, 35),
        ("sed -i '1,5d' a.py", LINES[5:], "tail -n 20 a.py", 16, 35),
        ("git stash", LINES[:20] + LINES[19:], "sed -n '15,40p' a.py", 15, 40),
    ],
)
def test_lines_that_moved_are_shown(edit: str, edited: list[str], command: str, first: int, last: int) -> None:
    """After an edit by the agent, and where the clock is told nothing because somebody else has made it."""
    output = told(edited[first - 1 : last])
    for steps in ((CAT, (edit, "")), (CAT,)):
        story = story_of(*steps)
        assert story.do(command, output).shown.compared == "different"
    sealed = story_of(CAT, (edit, ""), sealed=True)
    sealed.do(command, output)
    assert sealed.ask("sed -n '17,19p' a.py").refers_to in ((), (2,))


def test_lines_at_their_places_are_referred_to_after_an_edit_below() -> None:
    """The edit has not moved them."""
    story = story_of(CAT, ("sed -i '35d' a.py", ""))
    assert shown(story.do("sed -n '10,30p' a.py", told(LINES[9:30]))) == (
        "[Ledger: output omitted. Lines 10-30 of a.py are as shown by `cat a.py`, 2 commands ago.]"
    )


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("sed -n '15,25p' a.py", told([*LINES[14:19], "other", *LINES[20:25]])),
        ("cat -n a.py | sed -n '20p'", numbered(["other"], 20)),
        ("grep -n other a.py", "20:other\n"),
        ("grep -n -C1 other a.py", f"19-{LINES[18]}\n20:other\n21-{LINES[20]}\n"),
        ("grep -rn other .", "./a.py:20:other\n./b-1-x.py:7:other\n"),
        ("grep -rn -B1 other .", f"./a.py-19-{LINES[18]}\n./a.py:20:other\n"),
        ("cd /repo && rg -n other", "a.py:20:other\n"),
        ("git diff", "--- a/a.py\n+++ b/a.py\n@@ -19,3 +19,3 @@ x\n 19\n-old\n+other\n 21\n"),
        ("cat a.py b.py", told([*LINES, "more"])),
        ("sed -n '1,3p' a.py; sed -n '20p' a.py", told([*LINES[:3], "other"])),
        ("for f in *.py; do head -n 30 $f; done", told(LINES[:19])),
        ("cat $FILE", told(LINES[:19])),
        ("find . -name '*.py' -exec cat {} +", told(LINES[:19])),
        ("tail -n 21 a.py", told(["other", *LINES[20:]])),
        ("tail -n 5 a.py", told(LINES[35:])),
        ("sed -n '/value_2/,/other/p' a.py", "other\n"),
        ("sed -n '50,60p' a.py", ""),
        ("cat a.py", ""),
        ("cd sub && cat ../a.py", "other\n"),
        ("cd sub && grep -rn other ..", "../a.py:20:other\n"),
    ],
)
def test_a_newer_result_that_shows_the_place_differently_ends_the_claim(command: str, output: str) -> None:
    """The file was changed, looked at in whatever way, and changed back."""
    story = story_of(CAT, (command, output))
    assert story.do("sed -n '10,30p' a.py", told(LINES[9:30])).shown.compared == "different"


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("grep -n value_20 a.py", f"20:{LINES[19]}\n"),
        ("grep -rn value_20 .", f"./a.py:20:{LINES[19]}\n./b.py:20:other\n"),
        ("cat b.py c.py", "other\n" * 40),
        ("wc -l a.py", "40 a.py\n"),
        ("cat a.py | wc -l", "40\n"),
        ("sed -n '15,18p' a.py", told(LINES[14:18])),
        ("python -m pytest a.py", "a.py:20: AssertionError\n"),
    ],
)
def test_a_newer_result_that_agrees_ends_nothing(command: str, output: str) -> None:
    """What it shows is what was shown, or no line of the file."""
    story = story_of(CAT, (command, output))
    assert story.do("sed -n '10,30p' a.py", told(LINES[9:30])).shown.compared_to[0] == 0


SHOW = "show block 1 of a.py"
"""The call of a tool that shows lines of a file, without their numbers, in a form of its own."""


def ending(lines: list[str], end: str) -> str:
    """These lines of a file whose lines end with CR LF: as they are, or as a tool shows them that drops the CR."""
    return "".join(f"{line}{end}" for line in lines)


@pytest.mark.parametrize("sealed", [False, True])
@pytest.mark.parametrize(("end", "other"), [("\n", "\r\n"), ("\r\n", "\n")], ids=["without CR", "with CR"])
@pytest.mark.parametrize(
    ("read", "again", "first", "last"),
    [
        (SHOW, "cat a.py", 1, 40),
        ("cat a.py", "head -n 40 a.py", 1, 40),
        ("cat a.py", "cat a.py", 1, 40),
        ("cat a.py", "sed -n '5,25p' a.py", 5, 25),
    ],
)
def test_a_newer_result_with_other_line_ends_ends_the_claim(
    read: str, again: str, first: int, last: int, end: str, other: str, sealed: bool
) -> None:
    """The file has not changed, but to a reader a line with a carriage return is another line."""
    output = ending(LINES[first - 1 : last], end)

    def refers_to(between: str, ends: str) -> tuple[int, ...]:
        story = Story(policy=WHOLE, sealed=sealed)
        for command, printed in ((read, ending(LINES, end)), (between, ending(LINES[:32], ends)), (again, output)):
            step = story.do(command, printed, call=Search() if command.startswith("show") else None)
        return step.shown.refers_to if step.shown.refers else ()

    assert refers_to("show head of a.py", other) == ()
    assert refers_to("show head of a.py", end) == refers_to("show head of b.py", other) == (0,)
    assert refers_to("sed -n '1,32p' a.py", other) == ()


def test_an_echo_of_an_edit_ends_the_claim() -> None:
    """The tool shows a snippet of its work with line numbers."""
    story = story_of(CAT)
    edit = Edit("/repo/a.py", LINES[19], "other")
    story.do("edit a.py", f"Edited. A snippet:\n{numbered([LINES[18], 'other', LINES[20]], 19)}", call=edit)
    assert story.do("sed -n '10,30p' a.py", told(LINES[9:30])).shown.compared == "different"
    assert story.do("sed -n '1,18p' a.py", told(LINES[:18])).shown.compared == "covered"


def test_a_read_to_the_end_needs_a_result_that_ends_there() -> None:
    """All lines stand above, but not that there are no more."""
    story = story_of(("sed -n '1,40p' a.py", told(LINES)))
    assert story.do("sed -n '20,60p' a.py", told(LINES[19:])).shown.compared == "different"
    assert story.do("sed -n '20,40p' a.py", told(LINES[19:])).shown.compared == "same"
    story = story_of(CAT)
    assert story.do("sed -n '20,60p' a.py", told(LINES[19:])).shown.compared == "covered"


def test_the_final_newline_is_part_of_the_end() -> None:
    """Of a file that lost it, or that got one."""
    for before, after in ((told(LINES), told(LINES)[:-1]), (told(LINES)[:-1], told(LINES))):
        story = story_of(("cat a.py", before))
        assert story.do("tail -n +5 a.py", after.split("\n", 4)[4]).shown.compared == "different"
        assert story.do("sed -n '20,40p' a.py", after.split("\n", 19)[19]).shown.compared_to in ((), (1,))


def test_a_newline_that_a_program_adds_does_not_tell_the_end() -> None:
    """In a sealed environment, what would be printed is known only from a result that shows the file's own end."""
    for command, decided in (("nl -ba a.py", "new"), ("cat -n a.py", "covered-read")):
        story = story_of((command, numbered(LINES)), sealed=True)
        assert story.ask("tail -n +5 a.py").rule == decided


def test_a_read_that_confirms_names_its_places() -> None:
    """The same bytes at another place are told, and cover nothing; at the same place they do, for each result apart."""
    story = story_of(("sed -n '21,30p' a.py", told(LINES[20:30])), ("sed -i '1,10d' a.py", ""), sealed=True)
    assert story.do("sed -n '11,20p' a.py", told(LINES[20:30])).shown.compared == "same"
    assert "- a.py: 11-20 (current, in context); 21-30 (stale, in context)" in story.view().text
    story.do("sed -n '11,12p' a.py", told(LINES[20:22]))
    assert story.ask("sed -n '12,18p' a.py").rule == "new"
    story = story_of(
        ("sed -n '1,20p' a.py", told(LINES[:20])),
        ("sed -n '21,40p' a.py", told(LINES[20:])),
        ("touch b.py", ""),
        sealed=True,
    )
    assert shown(story.do("sed -n '11,30p' a.py", told(LINES[10:30]))) == (
        "[Ledger: output omitted. Lines 11-20 of a.py are as shown by `sed -n '1,20p' a.py`, 3 commands ago, "
        "and lines 21-30 by `sed -n '21,40p' a.py`, 2 commands ago.]"
    )
    assert "- a.py: 11-30 (current, in context); 1-10, 31-40 (possibly stale, in context)" in story.view().text
    story.do("sed -n '11,12p' a.py", told(LINES[10:12]))
    assert story.ask("sed -n '22,28p' a.py").refers_to == (1,)


def test_an_equal_result_that_a_newer_one_contradicts_is_not_referred_to() -> None:
    """The same output again, but between the two the file was shown otherwise: it is shown, and holds from then on."""
    other = told([*LINES[:19], "other", *LINES[20:]])
    for look in ("cat a.py", "sed -n '20p' a.py", "grep -n other a.py", "tail -n 21 a.py"):
        output = {"cat a.py": other, "sed -n '20p' a.py": "other\n", "grep -n other a.py": "20:other\n"}
        seen = output.get(look, told(["other", *LINES[20:]]))
        story = story_of(CAT, ("touch x", ""), (look, seen), ("touch x", ""), sealed=True)
        last = story.do("cat a.py", told(LINES))
        assert (last.shown.kind, last.shown.compared, last.shown.compared_to) == ("full", "same", (0,))
        assert story.ask("sed -n '10,30p' a.py").refers_to == (4,)


@pytest.mark.parametrize(
    ("command", "output", "other"),
    [
        ("tail -n 30 a.py", told(LINES[10:]), told(["other", *LINES[11:]])),
        ("grep -rn value .", "".join(f"a.py:{n}:{line}\n" for n, line in enumerate(LINES, 1)), "a.py:1:other\n"),
        ("git status", "modified: a.py, as it was before\n" * 12, "nothing to commit\n"),
    ],
)
def test_a_command_whose_newest_result_is_another_is_not_referred_to(command: str, output: str, other: str) -> None:
    """A reader who looks for that command finds the newer, different result."""
    story = story_of((command, output), (command, other))
    assert shown(story.do(command, output)) == "full"
    assert shown(story.do(command, output)) != "full"


LOOKS = (
    ("grep --color=always -n other a.py", "\x1b[32m\x1b[K20\x1b[m\x1b[K:\x1b[01;31m\x1b[Kother\x1b[m\x1b[K\n"),
    ("grep --color=always -rn other .", "\x1b[35m\x1b[K./a.py\x1b[m\x1b[K:\x1b[32m\x1b[K20\x1b[m\x1b[K:other\n"),
    ("grep -T -n other a.py", "  20:\tother\n"),
    ("grep -Z -rn other .", "./a.py\x0020:other\n"),
    ("grep -nb other a.py", "20:380:other\n"),
    ("grep other a.py", "other\n"),
    ("grep -rh other .", "other\n"),
    ("grep -n other a*", "20:other\n"),
    ('grep -n other "$FILE"', "20:other\n"),
    ("tail -n +11 a.py | grep -n other", "10:other\n"),
    ("cat -n a.py | grep other", "    20\tother\n"),
    ("git blame a.py", "00000000 (Not Committed Yet 2026-01-01 00:00:00 +0000 20) other\n"),
    ('git blame "$FILE"', "00000000 (Not Committed Yet 2026-01-01 00:00:00 +0000 20) other\n"),
    ("git diff --word-diff", "diff --git a/a.py b/a.py\n[-x-]{+other+}\n"),
    ("git diff --color", "\x1b[1m+++ b/a.py\x1b[m\n\x1b[36m@@ -20 +20 @@\x1b[m\n\x1b[32m+\x1b[m\x1b[32mother\x1b[m\n"),
    ("git diff -R", "--- b/a.py\n+++ a/a.py\n@@ -20 +20 @@\n-other\n+x\n"),
    ("diff a.py b.py", "20c20\n< other\n---\n> x\n"),
    ("dd if=a.py", "other\n"),
    ('while read -r line; do echo "$line"; done < a.py', "other\n"),
    ("python -c \"print(open('a.py').read())\"", "other\n"),
    ("python show.py", "a.py, line 20: other\n"),
    ("python -m pytest", 'File "/repo/a.py", line 20, in test\n    other\n'),
    ("wc -l a.py", "41 a.py\n"),
)
"""Looks at a file whose places are unknown."""


@pytest.mark.parametrize("undo", ["git checkout a.py", "python -c \"open('a.py', 'w').write(OLD)\"", "git stash"])
@pytest.mark.parametrize(("look", "output"), LOOKS)
def test_what_was_printed_between_two_changes_of_the_file_ends_the_claim(look: str, output: str, undo: str) -> None:
    """The file was changed, looked at in a way that has no places, and changed back."""
    between = (CAT, ("sed -i '20s/.*/other/' a.py", ""), (look, output))
    assert story_of(*between, (undo, "")).do(*CAT).shown.kind == "full"
    story = story_of(*between, (undo, ""))
    assert story.do("sed -n '10,30p' a.py", told(LINES[9:30])).shown.compared == "different"
    assert story.do("sed -n '12,28p' a.py", told(LINES[11:28])).shown.compared_to == (4,)


@pytest.mark.parametrize(
    ("look", "output"), [look for look in LOOKS if not look[0].startswith(("while", "tail", "python -c"))]
)
def test_what_was_printed_before_or_behind_all_changes_ends_nothing(look: str, output: str) -> None:
    """It shows the file as the older result does, or as it is now."""
    edits = (("sed -i '35d' a.py", ""), ("sed -i '36d' a.py", ""))
    for steps in ((CAT, (look, output), *edits), (CAT, *edits, (look, output))):
        assert story_of(*steps).do("sed -n '10,30p' a.py", told(LINES[9:30])).shown.compared_to == (0,)


@pytest.mark.parametrize(
    ("look", "output"),
    [
        ("sed -n '1,3p' a.py", told(LINES[:3])),
        ("cat b.py", "other\n"),
        ("grep -n value_20 a.py", f"20:{LINES[19]}\n"),
        ('grep -rn "value_20" . | head -5', f"./a.py:20:{LINES[19]}\n./b.py:20:other\n"),
        ("grep -n -A1 value_20 a.py", f"20:{LINES[19]}\n21-{LINES[20]}\n"),
        ("git checkout b.py", "Updated 1 path from the index\n"),
        ("python -m pytest", "1 passed\n"),
        ("ls", "b.py\n"),
    ],
)
def test_what_shows_nothing_else_of_the_file_ends_nothing(look: str, output: str) -> None:
    """Between two changes: its lines at their places, as they were, or other files alone."""
    story = story_of(CAT, ("sed -i '35d' a.py", ""), (look, output), ("sed -i '36d' a.py", ""))
    assert story.do("sed -n '10,30p' a.py", told(LINES[9:30])).shown.compared_to[0] == 0


@pytest.mark.parametrize(
    "command",
    [
        "cat sub/a.py",
        "cat ./sub/a.py",
        "cat /repo/sub/a.py",
        "cd sub && cat a.py",
        "cd /repo/sub && cat ./a.py",
        "cat sub//a.py",
    ],
)
def test_one_file_has_one_name(command: str) -> None:
    """However it is spelled where the directory is known."""
    story = story_of((command, told(LINES)))
    step = story.do("sed -n '5,30p' sub/a.py", told(LINES[4:30]))
    assert step.shown.text.startswith("[Ledger: output omitted. Lines 5-30 of sub/a.py are as shown by `")


def test_names_are_absolute_once_a_command_has_started_elsewhere() -> None:
    """A relative name could be taken for a file of the other directory."""
    story = story_of(CAT)
    assert "- a.py: whole" in story.view().text
    take(story.ledger, Action("ls", "/elsewhere"), lambda action: Observation("x\n", exit_status=0))
    assert "- /repo/a.py: whole" in story.view().text
    step = story.do("sed -n '5,30p' a.py", told(LINES[4:30]))
    assert step.shown.text.startswith("[Ledger: output omitted. Lines 5-30 of /repo/a.py are as shown by `cat a.py`")


def test_a_relative_name_in_an_unknown_directory_may_be_any_file() -> None:
    """It covers nothing, and it contradicts every file whose name ends so."""
    story = story_of(CAT)
    take(story.ledger, Action("cat a.py", None), lambda action: Observation("other\n", exit_status=0))
    assert story.do("sed -n '5,30p' a.py", told(LINES[4:30])).shown.compared == "different"


NUMBERED = "".join(f"{number:6}\t{line}\n" for number, line in enumerate(LINES, 1))
"""The file as ``cat -n`` shows it."""


@pytest.mark.parametrize("cwd", ["/repo", None])
@pytest.mark.parametrize("other", ["cat -n a.py", "cat -n ./a.py", "cat -n /repo/a.py"])
@pytest.mark.parametrize("merged", [False, True])
def test_a_newer_result_of_the_same_name_contradicts_in_an_unknown_directory_as_well(
    cwd: str | None, other: str, merged: bool
) -> None:
    """A directory that is not known gives no reference that it would not give if it were known.

    What a login shell prints can't be told from lines of the file, so the numbered ones may be others there.
    """
    call = Command("bash", merged=True) if merged else None
    changed = NUMBERED.replace(f"\t{LINES[6]}\n", "\tanother line\n", 1)
    kept = []
    for between in (NUMBERED, changed):
        ledger, status = Ledger(policy=UNPRICED), None if merged else 0
        for command, output in (("cat a.py", told(LINES)), (other, between), ("cat a.py", told(LINES))):
            found = Observation(output, exit_status=status)
            step = take(ledger, Action(command, cwd, call), lambda _, found=found: found)  # type: ignore[misc]
        kept.append((step.shown.kind == "reference", step.shown.kept))
    assert kept == [(not merged, "superseded" if merged else None), (False, "superseded")]


@pytest.mark.parametrize("cwd", ["/repo", None])
@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("grep -n 'another' a.py", "7:another line\n"),
        ("grep -rn 'another' .", "./a.py:7:another line\n"),
        ("cat a.py b.py | tail -n 3", "another line\n"),
    ],
)
def test_another_form_of_a_file_contradicts_in_an_unknown_directory_as_well(
    cwd: str | None, command: str, output: str
) -> None:
    """A search shows one line of it differently, or it may be what a pipe shows."""
    ledger = Ledger(policy=UNPRICED)
    for asked, printed in (("cat a.py", told(LINES)), (command, output), ("cat a.py", told(LINES))):
        found = Observation(printed, exit_status=0)
        step = take(ledger, Action(asked, cwd), lambda _, found=found: found)  # type: ignore[misc]
    assert (step.shown.kind == "reference", step.shown.kept) == (False, "superseded")


def test_a_name_with_spaces_is_quoted() -> None:
    """So that the words of a reference can be told from it."""
    story = story_of(("cat 'my file.py'", told(LINES)))
    assert 'Lines 5-30 of "my file.py" are' in shown(story.do("sed -n '5,30p' 'my file.py'", told(LINES[4:30])))


def test_a_very_long_result_is_not_indexed() -> None:
    """The work per result is bounded: it covers nothing, but it may show any place of its file."""
    long = "x\n" * (MAX_INDEXED // 2 + 1)
    story = story_of(CAT, ("cat a.py", long), ("cat b.py", long[:-2]))
    assert story.do("sed -n '5,30p' a.py", told(LINES[4:30])).shown.compared == "different"
    assert story.do("head -n 300 a.py", "x\n" * 300).shown.compared == "different"
    assert story.do("head -n 400 b.py", "x\n" * 400).shown.compared == "covered"


def test_what_left_the_request_neither_covers_nor_contradicts() -> None:
    """After a compaction, what is visible counts."""
    story = story_of(CAT, ("sed -n '20p' a.py", "other\n"), ("touch x", ""))
    story.visible = {0, 2}
    assert story.do("sed -n '10,30p' a.py", told(LINES[9:30])).shown.compared == "covered"


def test_the_whole_output_of_another_range_is_called_the_same_output() -> None:
    """It says what is true: which command printed the very same."""
    story = story_of(("sed -n '21,40p' a.py", text(20)), ("sed -i '1,20d' a.py", ""))
    assert shown(story.do("sed -n '1,20p' a.py", text(20))) == (
        "[Ledger: output omitted. It is the same as that of `sed -n '21,40p' a.py`, 2 commands ago.]"
    )


@pytest.mark.parametrize("again", ["cat a.py", "head -c 99999 a.py"])
def test_an_equal_output_without_places_is_not_referred_to_past_a_newer_read(again: str) -> None:
    """The file was changed by others, looked at, and changed back: the model would take the newer lines."""
    story = Story()
    story.do(again, text(20))
    story.do("sed -n '5,9p' a.py", text(5, 50))
    assert story.do("head -c 99999 a.py", text(20)).shown.kind != "reference"
