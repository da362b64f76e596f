"""Pitfalls 10, 11, 12 and 20: what an output is not, what is hidden again, what stubs do to models, and failures."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from execledger.vocabulary.actions import Observation, Read
from execledger.vocabulary.decisions import Reuse
from tests.guarantees.drivers import CAT, FILE, NOT_RUN, PRESETS, RAN, REFERENCE, Shop, codex

# Output is not the file


@pytest.mark.parametrize(
    "look",
    [
        f"grep -n value_ {FILE}",
        f"grep -m 60 value_ {FILE}",
        f"head -n 5 {FILE}",
        f"head -c 900 {FILE}",
        f"cat {FILE} | grep value",
        f"sort {FILE}",
        f"tac {FILE}",
        f"cut -c1-20 {FILE}",
        f"wc {FILE}",
        f"cat -A {FILE}",
        f"cat -s {FILE}",
        f"fold -w 20 {FILE}",
        f"tr a-z A-Z < {FILE}",
        f"sed 's/value/VALUE/' {FILE}",
        f"less {FILE} | tail -n 3",
        f"od -c {FILE} | head -n 4",
        f"grep --color=always value_ {FILE}",
        f"awk '{{ print $1 }}' {FILE}",
        f"uniq {FILE} | cut -c2-",
        f"cat {FILE} docs/guide.md",
    ],
)
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.guarantee("pitfall-10", "false-reuse")
def test_a_look_is_no_read(tmp_path: Path, preset: str, look: str) -> None:
    """A search, a part or another form of a file does not answer a read of it, and the view claims no such read."""
    shop = Shop(tmp_path / "shop", **PRESETS[preset])
    text = shop.text().replace("compute(number=4", "\n\n\n# nothing of the kind\ncompute(number=4")
    (shop.folder / FILE).write_text(text)
    shop.do(look)
    assert f"{FILE}: whole" not in shop.view()
    step = shop.do(CAT)
    assert step.shown.kind != "reference" and shop.read[-1] == shop.text()


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.guarantee("pitfall-10", "false-reuse")
def test_a_truncated_output_leaves_no_record_of_what_is_missing(tmp_path: Path, preset: str) -> None:
    """Where nobody knows what was left out, nothing was seen; where the hole is known, only what stands around it."""
    shop = Shop(tmp_path / "shop", **PRESETS[preset])
    text = shop.text()
    shop.do(CAT, result=Observation(text[:1200], exit_status=0, truncated=True))
    assert "stock.py" not in shop.view()
    assert shop.do(f"sed -n '2,20p' {FILE}").shown.kind == "full"
    for asked in ("1,60", "20,35", "33,36", "28,45"):
        other = Shop(tmp_path / "shop", **PRESETS[preset])
        other.do(CAT, result=Observation(text[:1000] + text[-700:], exit_status=0, cut=1000, truncated=True))
        assert f"{FILE}: whole" not in other.view()
        step = other.do(f"sed -n '{asked}p' {FILE}")
        assert step.shown.kind != "reference" and not isinstance(step.decision, Reuse)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.guarantee("pitfall-10")
def test_numbers_that_were_not_shown_are_never_taken_as_seen(tmp_path: Path, preset: str) -> None:
    """Behind a plain read, a read with line numbers runs; behind an edit above, old numbers answer no read."""
    for numbered in (f"cat -n {FILE}", f"nl -ba {FILE} | sed -n '5,30p'", f"grep -n '' {FILE}"):
        shop = Shop(tmp_path / "shop", **PRESETS[preset])
        shop.do(CAT)
        assert not isinstance(shop.do(numbered).decision, Reuse)
        shop = Shop(tmp_path / f"shop of {numbered[:3]}", **PRESETS[preset])
        shop.do(numbered)
        shop.do(f"sed -i '1i # first' {FILE}")
        step = shop.do(numbered)
        assert (step.shown.kind, step.observation) == ("full", shop.truth(numbered))


@pytest.mark.parametrize("ending", ["\r\n", "\n\n", " \n", "\n\t"])
@pytest.mark.guarantee("pitfall-10", "false-reuse")
def test_white_space_is_content(tmp_path: Path, ending: str) -> None:
    """Other line ends and blanks at the end: the bytes differ, and are shown."""
    shop = Shop(tmp_path / "shop")
    shop.do(CAT)
    text = shop.text()
    (shop.folder / FILE).write_bytes(text.replace("\n", ending).encode())
    step = shop.do(CAT)
    assert (step.shown.kind, step.observation.output) == ("full", text.replace("\n", ending))


@pytest.mark.guarantee("pitfall-10", "false-reuse")
def test_bytes_that_are_no_text_are_compared_as_they_are_shown(tmp_path: Path) -> None:
    """A binary file is shown anew when what the model sees of it differs, and what was never text is never covered."""
    shop = Shop(tmp_path / "shop")
    path = shop.folder / "blob.bin"
    path.write_bytes(bytes(range(256)) * 4)
    shop.do("cat blob.bin")
    path.write_bytes(bytes(range(255, -1, -1)) * 4)
    step = shop.do("cat blob.bin")
    assert (step.shown.kind, step.observation) == ("full", shop.truth("cat blob.bin"))


# Visibility


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.guarantee("pitfall-11", "bug-1")
def test_seeing_a_part_again_does_not_bring_back_the_whole(tmp_path: Path, preset: str) -> None:
    """The whole has gone, a part was read since: the part is in context, the whole is not, and is shown again."""
    shop = Shop(tmp_path / "shop", **PRESETS[preset])
    shop.do(CAT)
    shop.do(f"sed -n '10,30p' {FILE}", visible=())
    here, _, lost = shop.view({1}).partition("no longer in context")
    assert ("10-30 (" in here, f"- {FILE}: " in lost or preset == "paper") == (True, True)
    step = shop.do(CAT, visible={1})
    assert step.shown.kind != "reference" and shop.read[-1] == shop.text()


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.guarantee("pitfall-11", "visibility")
def test_what_is_gone_can_be_asked_for_as_often_as_it_goes(tmp_path: Path, preset: str) -> None:
    """Compaction after compaction: each time the file is shown in full, not only the first time."""
    talk = codex(tmp_path / "shop", **PRESETS[preset])
    start = list(talk.items)
    for _ in range(4):
        talk.items = list(start)
        talk.sent.clear()
        assert (tmp_path / "shop" / FILE).read_text() in talk.turn(CAT)[0]
        assert REFERENCE in talk.turn(CAT)[0]


# Stubs


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.guarantee("pitfall-12")
def test_whoever_asks_again_is_shown_it(tmp_path: Path, preset: str) -> None:
    """A model that insists never gets two references in a row; whole, part and overlap count as asking again."""
    shop = Shop(tmp_path / "shop", **PRESETS[preset])
    asked = [CAT, CAT, f"sed -n '5,40p' {FILE}", CAT, f"head -n 30 {FILE}", f"sed -n '20,50p' {FILE}", CAT, CAT, CAT]
    kinds = [shop.do(command).shown.kind for command in asked]
    assert kinds[:3] == ["full", "reference", "full"]
    assert ("reference", "reference") not in pairwise(kinds)


@pytest.mark.parametrize("between", [0, 1, 2])
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.guarantee("pitfall-12")
def test_an_overlapping_read_soon_after_a_reference_is_shown(tmp_path: Path, preset: str, between: int) -> None:
    """Within three calls of a reference, whatever overlaps it runs and is shown in full; afterwards it need not be."""
    shop = Shop(tmp_path / "shop", **PRESETS[preset])
    shop.do(CAT)
    assert shop.do(f"sed -n '10,40p' {FILE}").shown.kind == "reference"
    for number in range(between):
        shop.do(f"grep -c nothing{number} docs/guide.md")
    overlapping = f"sed -n '38,55p' {FILE}"
    step = shop.do(overlapping)
    assert (step.shown.kind, step.observation) == ("full", shop.truth(overlapping))
    assert shop.ran[-1] == overlapping


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.guarantee("pitfall-12")
def test_a_reference_says_whether_the_command_ran(tmp_path: Path, preset: str) -> None:
    """One line in brackets with our name; it names what it points at, and quotes no more than how that begins."""
    shop = Shop(tmp_path / "shop", **PRESETS[preset])
    shop.do(CAT)
    shop.do("ls -1 docs")
    text = shop.do(f"sed -n '10,40p' {FILE}").observation.output
    assert text.startswith(RAN if preset == "verified" else NOT_RUN)
    assert text.endswith("]") and "\n" not in text
    assert f"`{CAT}`, 2 commands ago" in text
    assert sum(line in text for line in shop.text().splitlines()) <= 1


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.guarantee("pitfall-12", "pitfall-10")
def test_a_file_that_holds_our_words_is_a_file_like_any_other(tmp_path: Path, preset: str) -> None:
    """A reference that was written into a file is shown as its content, and counts as read, not as a reference."""
    shop = Shop(tmp_path / "shop", **PRESETS[preset])
    shop.do(CAT)
    reference = shop.do(f"sed -n '10,40p' {FILE}").observation.output
    (shop.folder / "docs/copied.md").write_text(f"{reference}\n" * 12)
    read = "cat docs/copied.md"
    step = shop.do(read)
    assert (step.shown.kind, step.observation.output) == ("full", f"{reference}\n" * 12)
    for number in range(4):
        shop.do(f"grep -c nothing{number} docs/guide.md")
    assert shop.do(read).shown.refers_to == (2,)


# Exit status and error output


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize(
    "second",
    [
        Observation("", exit_status=1),
        Observation("", "cat: input error", exit_status=0),
        Observation("", exit_status=0, failed=True),
        Observation("", exit_status=None),
    ],
)
@pytest.mark.guarantee("pitfall-20", "false-reuse")
def test_another_end_is_another_result(tmp_path: Path, preset: str, second: Observation) -> None:
    """The same output with another exit status or other words on standard error is shown, not referred to."""
    shop = Shop(tmp_path / "shop", **PRESETS[preset])
    command = f"cat $(ls {FILE})"
    text = shop.text()
    shop.do(command, result=Observation(text, exit_status=0))
    result = Observation(text, second.stderr, exit_status=second.exit_status, failed=second.failed)
    step = shop.do(command, result=result)
    assert step.observation == result and step.shown.kind != "reference"


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize(
    "first",
    [
        Observation("", exit_status=0, timed_out=True),
        Observation("", exit_status=-1, failed=True),
        Observation("", exit_status=124),
        Observation("", exit_status=137),
        Observation("", exit_status=-9),
        Observation("", exit_status=0, truncated=True),
    ],
)
@pytest.mark.guarantee("pitfall-20", "false-reuse")
def test_what_was_stopped_is_no_result(tmp_path: Path, preset: str, first: Observation) -> None:
    """Timed out, killed, cut somewhere: neither a repeat nor a read of the same lines is answered by it."""
    for command in (CAT, "grep -rn value_ src"):
        shop = Shop(tmp_path / "shop", **PRESETS[preset])
        truth = shop.truth(command)
        cut = Observation(
            truth.output[:1500],
            exit_status=first.exit_status,
            failed=first.failed,
            timed_out=first.timed_out,
            truncated=first.truncated,
        )
        shop.do(command, result=cut)
        step = shop.do(command)
        assert step.shown.kind != "reference" and step.observation == truth


@pytest.mark.parametrize("preset", ["sealed", "paper"])
@pytest.mark.guarantee("pitfall-20")
def test_a_failure_is_never_passed_off_as_success(tmp_path: Path, preset: str) -> None:
    """A search without a hit that is answered from before says so, with the exit status that it had."""
    shop = Shop(tmp_path / "shop", **PRESETS[preset])
    search = "grep -rn no_such_thing src docs"
    assert shop.do(search).observation.exit_status == 1
    step = shop.do(search)
    assert step.observation.exit_status == 1
    assert isinstance(step.decision, Reuse) and "Exit status 1." in step.observation.output


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.guarantee("pitfall-20", "false-reuse")
def test_a_failed_read_shows_nothing_of_the_file(tmp_path: Path, preset: str) -> None:
    """Neither the file's record nor the view takes an error message, or lines before an error, for the file."""
    shop = Shop(tmp_path / "shop", **PRESETS[preset])
    half = "".join(shop.text().splitlines(keepends=True)[:30])
    shop.do(CAT, result=Observation(f"{half}cat: {FILE}: Input/output error\n", exit_status=1))
    assert f"{FILE}: whole" not in shop.view()
    assert shop.do(f"sed -n '3,25p' {FILE}").shown.kind == "full"
    tool = Shop(tmp_path / "shop", **PRESETS[preset])
    tool.do("read", call=Read(FILE), result=Observation("no such file", failed=True))
    assert "stock.py" not in tool.view()
