"""The paper's metric: redundant snippet re-reads, one command at a time; ``tests/properties`` has the definition."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from execledger.core.ledger import Ledger
from execledger.core.policy import Policy, Preset
from execledger.core.rereads import Reread, RereadCounts, counted, judged
from execledger.vocabulary.actions import Action, Edit, Observation, Read, Search
from tests.core.stories import Story, numbered, source, text

HEAD = ("sed -n '1,30p' a.py", text(30))
"""What every case has read before."""


def verdict(*told: tuple[str, str], policy: Policy | None = None) -> Reread | None:
    """What the last of these commands is; each has run and was shown as it came."""
    story = Story(policy=policy or Policy(govern=False))
    for command, output in told:
        story.do(command, output)
    return list(judged(story.steps, Ledger()))[-1]


def found(first: int, last: int, name: str = "") -> str:
    """Lines of the file as ``grep -n`` prints them."""
    lead = f"{name}:" if name else ""
    return "".join(f"{lead}{n}:{line}\n" for n, line in enumerate(source(last - first + 1, first), first))


@pytest.mark.parametrize(
    ("command", "output", "kind"),
    [
        ("sed -n '1,30p' a.py", text(30), Reread.EXACT),
        ("head -n 30 a.py", text(30), Reread.EXACT),
        ("nl -ba a.py | head -n 30", numbered(source(30)),
         Reread.EXACT),
        ("sed -n '5,9p' a.py", text(5, 5), Reread.COVERED),
        ("sed -n '5,40p' a.py", text(36, 5), Reread.PARTIAL),
        ("sed -n '28,40p' a.py", text(13, 28), Reread.PARTIAL),
        ("sed -n '29,40p' a.py", text(12, 29), None),
        ("sed -n '5,6p' a.py", text(2, 5), None),
        ("cat b.py a.py", "x = 1\n" + text(30), Reread.FILES),
        ("sed -n '5,9p' a.py; sed -n '12,14p' a.py", text(5, 5) + text(3, 12), Reread.SEARCH),
        ("ls; sed -n '5,9p' a.py", "a.py\n" + text(5, 5), Reread.SEARCH),
        ("grep -n value a.py", found(5, 9), Reread.SEARCH),
        ("grep -rn value .", found(5, 9, "src/a.py"), Reread.SEARCH),
        ("git show HEAD:a.py", text(30), Reread.SEARCH),
        ("sed -i '40d' a.py && sed -n '5,9p' a.py", text(5, 5), Reread.PRINTED),
        ("sed -n '1,30p' b.py", text(30), None),
        ("grep -rn value .", found(5, 9, "src/b.py"), None),
        ("grep -rc value .", "a.py:30\n", None),
        ("python -m pytest a.py", text(30), None),
        ("python -m pytest a.py | sed -n '1,30p'", text(30), None),
        ("python show.py a.py", text(30), None),
        ("git diff a.py", text(30), None),
    ],
)  # fmt: skip
def test_the_kind_of_a_command(command: str, output: str, kind: Reread | None) -> None:
    """Whatever shows three unchanged lines of the file again is a re-read; what shows no file contents is none."""
    assert verdict(HEAD, (command, output)) is kind


def test_lines_after_an_edit_elsewhere() -> None:
    """The lines count although the file has changed; lines that the edit changed do not."""
    edit = ("sed -i '1d' a.py", "")
    assert verdict(HEAD, edit, ("sed -n '1,30p' a.py", text(30, 2))) is Reread.EDITED
    assert verdict(HEAD, edit, ("sed -n '1,3p' a.py", "new = 1\nnew = 2\nnew = 3\n")) is None
    assert verdict(HEAD, ("sed -i '1d' b.py", ""), HEAD) is Reread.EXACT


def test_an_edit_that_failed_is_none() -> None:
    """Behind an edit that was made another command of the same line may have failed."""
    story = Story(policy=Policy(govern=False))
    story.do(*HEAD)
    story.do("sed -i '1d' a.py", "sed: couldn't open temporary file", 4)
    story.do(*HEAD)
    story.do("sed -i '40d' a.py && python -m pytest", "1 failed", 1)
    story.do(*HEAD)
    assert list(judged(story.steps, Ledger()))[2::2] == [Reread.EXACT, Reread.EDITED]


def test_lines_that_a_search_returned() -> None:
    """They were returned, though by no read."""
    assert verdict(("grep -n -A 4 value_5 a.py", found(5, 9)), ("sed -n '1,30p' a.py", text(30))) is Reread.FOUND


def test_hits_that_do_not_adjoin_are_no_snippet() -> None:
    """Three lines are consecutive if their numbers are; a break between hits is none of them."""
    apart = "5:value_5 = 5\n--\n17:value_17 = 17\n18:value_18 = 18\n"
    assert verdict(("grep -n x a.py", apart), ("grep -n x a.py", apart)) is None


def test_lines_that_are_alike_everywhere_do_not_count() -> None:
    """At least two of three lines hold a letter or a digit."""
    assert verdict(("cat a.py", "}\n\n}\nx = 1\n"), ("sed -n '7,9p' a.py", "}\n\n}\n")) is None
    assert verdict(("cat a.py", "a = 1\n\n}\n"), ("sed -n '7,9p' a.py", "a = 1\n\n}\n")) is None
    assert verdict(("cat a.py", "a = 1\n\nb = 2\n"), ("sed -n '7,9p' a.py", "a = 1\n\nb = 2\n")) is Reread.EXACT


def test_the_head_and_tail_of_a_cut_output_count() -> None:
    """What was left out was not returned, and two pieces are not one."""
    story = Story(policy=Policy(govern=False))
    story.do("cat a.py", Observation(text(10) + text(10, 91), exit_status=0, cut=len(text(10)), truncated=True))
    for first in (1, 9, 40, 91):
        story.do(f"sed -n '{first},{first + 3}p' a.py", text(4, first))
    kinds = list(judged(story.steps, Ledger()))
    assert kinds == [None, Reread.COVERED, None, None, Reread.COVERED]


def test_structured_tools() -> None:
    """Read and search tools count; an edit tool shows its work unasked, though what it shows was returned."""
    story = Story(policy=Policy(govern=False))
    echo = numbered(source(5, 5), 5)
    story.do("edit", f"The file was edited:\n{echo}", call=Edit("a.py", "x", "y"))
    story.do("edit", f"The file was edited:\n{echo}", call=Edit("a.py", "y", "x"))
    story.do("read", text(5, 5), call=Read("a.py", 5, 9))
    story.do("search", found(5, 9, "a.py"), call=Search())
    assert list(judged(story.steps, Ledger())) == [None, None, Reread.FOUND, Reread.SEARCH]


@pytest.mark.parametrize("preset", list(Preset))
def test_a_reference_counts_by_what_it_points_at(preset: Preset) -> None:
    """The result of a suppressed read is unknown, but it was suppressed because its lines were returned before."""
    story = Story(sealed=True, policy=Policy(preset=preset, second_look_rate=0.0, max_share=100.0))
    story.do("cat a.py", text(90))
    for command, output in (
        ("sed -n '1,30p' a.py", text(30)),
        ("cat a.py", text(90)),
        ("sed -n '5,6p' a.py", text(2, 5)),
        ("grep -n nothing a.py", ""),
    ):
        story.do(command, output)
        story.idle(4)
    kinds = [
        kind
        for kind, step in zip(judged(story.steps, Ledger()), story.steps, strict=True)
        if "a.py" in step.action.command
    ]
    assert "reference" in {step.shown.kind for step in story.steps}
    assert kinds == [None, Reread.COVERED, Reread.EXACT, None, None]


def test_another_conversation_has_not_read_it() -> None:
    """Each conversation has its own reads, and an inherited read is not a request."""
    story = Story(policy=Policy(govern=False))
    story.do(*HEAD)
    story.do(*HEAD, thread="sub")
    story.do(*HEAD, thread="sub")
    assert list(judged(story.steps, Ledger())) == [None, None, Reread.EXACT]
    born_with = replace(story.steps[0], action=story.action(HEAD[0], thread="fork"), inherits=0)
    asked = replace(story.steps[0], action=born_with.action)
    assert list(judged([*story.steps, born_with, asked], Ledger()))[3:] == [None, Reread.EXACT]


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond a bound the oldest snippets are dropped and the newest kept."""
    monkeypatch.setattr("execledger.core.rereads.MAX_KEPT", 20)
    first, last = ("cat a.py", text(12)), ("cat b.py", text(12, 50))
    assert verdict(first, last, ("tail -n 3 b.py", text(3, 59))) is Reread.COVERED
    assert verdict(first, last, ("head -n 3 a.py", text(3))) is Reread.COVERED
    assert verdict(first, last, ("cat c.py", text(12, 70)), ("head -n 3 a.py", text(3))) is None


def test_lines_in_many_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond a bound only the newest files are known to have them; a file that was never read still has none."""
    monkeypatch.setattr("execledger.core.rereads.MAX_FILES", 4)
    licensed = [(f"cat f{number}.py", text(9)) for number in range(5)]
    for read in range(5):
        assert verdict(*licensed[:4], (f"head -n 5 f{read}.py", text(5))) is (Reread.COVERED if read < 4 else None)
        assert verdict(*licensed, (f"head -n 5 f{read}.py", text(5))) is (Reread.COVERED if read == 4 else None)


def test_counts_of_kinds() -> None:
    """Every kind is in the total, and the exact same range is a fully covered read."""
    kinds = [None, *Reread, Reread.PARTIAL]
    counts = RereadCounts()
    for kind in kinds:
        counts.count(kind)
    assert counts == RereadCounts(**counted(kinds))
    assert counts == RereadCounts(
        rereads=9,
        covered_rereads=2,
        exact_rereads=1,
        partial_rereads=2,
        edited_rereads=1,
        found_rereads=1,
        printed_rereads=1,
        files_rereads=1,
        search_rereads=1,
    )
    assert next(counts.rows("note")) == ("redundant snippet re-reads", "9", "note")
    assert list(RereadCounts().rows()) == [("redundant snippet re-reads", "0", "")]


def test_the_folder_does_not_matter() -> None:
    """A file is identified by its name: commands name it relative to folders that are not always known."""
    story = Story(policy=Policy(govern=False))
    story.do("cat /repo/lib/a.py", text(9))
    elsewhere = replace(story.steps[0], action=Action("cat a.py", cwd=None))
    assert list(judged([*story.steps, elsewhere], Ledger())) == [None, Reread.EXACT]
