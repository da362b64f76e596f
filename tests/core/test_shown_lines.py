"""The index of shown lines, and which results newer ones may supersede."""

from __future__ import annotations

from collections.abc import Container

import pytest
from msgspec.structs import replace

from execledger.core.fingerprint import digest
from execledger.core.lines import Returned, with_marks
from execledger.core.shown_lines import (
    ANY,
    MAX_CONTRADICTIONS,
    MAX_EXCERPTS,
    MAX_LOOKS,
    MAX_RENDERINGS,
    Excerpt,
    Recency,
    ShownLines,
    key_of,
)
from execledger.vocabulary.records import Lines


def returned(letters: str, first: int = 1, **more: object) -> Returned:
    """Lines, one letter each, from line ``first`` on."""
    lines = Returned((tuple(letters),), (None,), (Lines(first, first + len(letters) - 1),), None)
    return replace(lines, **more)


def index(*shown: tuple[int, str, int]) -> ShownLines:
    """What these steps showed: step, lines, place of the first."""
    seen = ShownLines()
    for step, letters, first in shown:
        seen.add(step, returned(letters, first))
    return seen


def held(
    seen: ShownLines, letters: str, first: int = 1, visible: range = range(1000), since: int = -1, **more: object
) -> list[tuple[int, int, int]]:
    """Which runs are held: first line, last line, step."""
    asked = replace(Excerpt(-1, first, tuple(letters)), **more)
    return [(run.first, run.last or 0, step) for run, step in seen.held(asked, visible, since, 3)]


def test_lines_are_held_at_their_place() -> None:
    """The same text at another line number is another matter."""
    seen = index((0, "abcdefgh", 1))
    assert held(seen, "cdef", 3) == [(3, 6, 0)]
    assert held(seen, "cdef", 4) == []


def test_a_line_that_is_read_again_is_kept_once() -> None:
    """Equal lines at the same places share their text, also beside a line that has changed."""
    seen, places = ShownLines(), Lines(1, 4)
    lines = [tuple(f"{word} line" for word in words.split()) for words in ("a b c d", "a b c d", "a x c d e")]
    for step, texts in enumerate(lines):
        seen.add(step, Returned((texts,), (None,), (Lines(1, len(texts)),), None))
    first, again, changed = (seen.excerpt(step, places) for step in range(3))
    assert first is not None and again is not None and changed is not None
    assert again.texts is first.texts
    assert [one is other for one, other in zip(changed.texts, first.texts, strict=True)] == [True, False, True, True]
    assert changed.texts == lines[2][:4]


def test_the_newest_result_comes_first() -> None:
    """Each result holds what it shows of the lines."""
    seen = index((0, "abcdefgh", 1), (1, "cdef", 3))
    assert held(seen, "bcdefg", 2) == [(3, 6, 1), (2, 7, 0)]


def test_a_newer_result_that_shows_a_place_differently_ends_what_older_ones_hold() -> None:
    """As long as it is visible."""
    seen = index((0, "abcdefgh", 1), (1, "X", 4))
    assert held(seen, "abcdefgh") == [(1, 3, 0), (5, 8, 0)]
    assert held(seen, "abcdefgh", visible=range(1)) == [(1, 8, 0)]


def test_a_newer_end_ends_what_older_results_hold_behind_it() -> None:
    """The place was seen not to exist."""
    seen = index((0, "abcdefgh", 1))
    seen.add(1, returned("ab", end=2))
    assert held(seen, "abcdefgh") == []
    assert held(seen, "ab") == [(1, 2, 1), (1, 2, 0)]


def test_runs_that_are_too_short_are_left_out() -> None:
    """Unless they are all that is asked for."""
    seen = index((0, "abXdef", 1))
    assert (held(seen, "abcdef"), held(seen, "ab"), held(seen, "d", 4)) == ([(4, 6, 0)], [(1, 2, 0)], [(4, 4, 0)])


def test_numbers_are_held_by_numbered_results_only() -> None:
    """Plain lines are held by both."""
    seen = index((0, "abcd", 1))
    assert (held(seen, "abcd", numbered=True), held(seen, "abcd")) == ([], [(1, 4, 0)])
    seen.add(1, returned("abcd", numbers=((1, 2, 3, 4),)))
    assert (held(seen, "abcd", numbered=True), held(seen, "abcd")) == ([(1, 4, 1)], [(1, 4, 1), (1, 4, 0)])


def test_the_end_is_held_by_a_result_that_ends_there() -> None:
    """With the same final newline, and as long as no newer result shows another end or a line behind it."""
    seen = index((0, "abcdef", 1))
    assert held(seen, "abcdef", end=6) == [(1, 5, 0)]
    seen.add(1, returned("abcdef", end=6))
    assert held(seen, "abcdef", end=6) == [(1, 6, 1), (1, 5, 0)]
    assert held(seen, "abcdef", end=6, newline=False) == [(1, 5, 1), (1, 5, 0)]
    seen.add(2, returned("xyz", 7))
    assert held(seen, "abcdef", end=6) == [(1, 5, 1), (1, 5, 0)]


def test_a_missing_newline_is_held_only_where_it_is_missing() -> None:
    """A line that ends the output without a newline is the last one of the file."""
    seen = index((0, "abcdef", 1))
    assert held(seen, "abcd", newline=False) == [(1, 3, 0)]
    seen.add(1, returned("abcdef", newline=False))
    assert held(seen, "abcdef") == [(1, 5, 1), (1, 6, 0)]
    assert held(seen, "abcdef", newline=False) == [(1, 6, 1), (1, 5, 0)]


def test_lines_at_unknown_places_end_what_older_results_hold() -> None:
    """Of a result that may show the file at any place, and of its last lines, if their numbers are not told."""
    seen = index((0, "abcd", 1))
    seen.supersede(1)
    assert (held(seen, "abcd"), held(seen, "abcd", visible=range(1))) == ([], [(1, 4, 0)])
    seen = ShownLines()
    seen.add(0, returned("abcd", end=4))
    seen.add(1, Returned((("c", "d"),), (None,), (Lines(-2),), None))
    assert held(seen, "abcd") == []


def test_single_lines_contradict_and_hold_nothing() -> None:
    """The hits of a search are no target, but they are newer."""
    seen = index((0, "abcdefgh", 1))
    seen.contradict(1, [(2, "b"), (4, "X"), (100, "y")])
    assert held(seen, "abcdefgh") == [(1, 3, 0), (5, 8, 0)]
    seen.contradict(2, [(place, "-") for place in range(1, 9)] * MAX_CONTRADICTIONS)
    assert held(seen, "abcdefgh", since=0) == []


def test_results_before_one_that_may_show_any_file_hold_nothing() -> None:
    """From ``since`` on."""
    seen = index((0, "abcd", 1), (5, "abcd", 1))
    assert held(seen, "abcd", since=3) == [(1, 4, 5)]


@pytest.mark.parametrize("step", range(-1, 5))
def test_hits_are_contradicted_as_each_of_them_is(step: int) -> None:
    """By another text at its place, by an end before it, and by a result that may show any place."""
    seen = index((0, "abcdefgh", 1), (1, "bcX", 2))
    seen.add(2, returned("abc", end=3))
    seen.supersede(4)
    for visible in (range(5), range(4), range(2), range(1)):
        for hits in ([(2, "b")], [(3, "c"), (1, "a")], [(4, "d"), (2, "b")], [(3, "c"), (9, "z")], []):
            single = [seen.contradicted(Excerpt(-1, place, (text,)), visible, step) for place, text in hits]
            assert seen.any_contradicted(hits, visible, step) is any(single)


def test_many_hits_ask_each_passage_once() -> None:
    """The work is that of the excerpts and of the hits, not of every pair."""
    asked: list[object] = []

    class Visible(Container[int]):
        def __contains__(self, step: object) -> bool:
            asked.append(step)
            return True

    seen = index(*((step, "abcdefgh", 1) for step in range(20)))
    assert not seen.any_contradicted([(place, "h") for place in (8, *range(9, 500))], Visible(), 9)
    assert asked == list(range(10, 20))


def test_a_bounded_number_of_passages_is_kept() -> None:
    """The newest hold on, the oldest are let go of."""
    seen = index(*((step, "abcd", 1) for step in range(5 * MAX_EXCERPTS)))
    found = held(seen, "abcd")
    assert len(found) <= MAX_EXCERPTS and found[0] == (1, 4, 5 * MAX_EXCERPTS - 1)


def test_lines_that_are_no_longer_kept_prove_nothing() -> None:
    """While a result is kept, its lines are compared; once it or a newer one was dropped, they may differ."""
    seen = index((0, "abcd", 1), (1, "abcd", 1), (2, "abXd", 1))
    assert [seen.differs_since(step, range(3)) for step in range(3)] == [True, True, False]
    seen = index(*((step, "abcd", 1) for step in range(MAX_EXCERPTS + 1)))
    kept = [step for step in range(MAX_EXCERPTS + 1) if not seen.differs_since(step, range(1000))]
    assert kept == list(range(MAX_EXCERPTS // 2 + 1, MAX_EXCERPTS + 1))


def test_a_withheld_line_is_found_by_its_text() -> None:
    """Whether it was shown as text before, is shown so later, or is asked for."""
    seen = index((0, "abcd", 1))
    seen.add(1, with_marks(returned("xyXz", 11), ((2, digest("c")),)))
    seen.add(2, returned("cdef", 21))
    asked = [("abc", 1), ("xyc", 11), ("cde", 21), ("xyX", 11), ("xyd", 11)]
    assert [held(seen, letters, first) for letters, first in asked] == [
        [(1, 3, 0)],
        [(11, 13, 1)],
        [(21, 23, 2)],
        [],
        [],
    ]


def test_what_a_step_showed_at_a_place() -> None:
    """All of it, or nothing; only its last line is at its end."""
    seen = ShownLines()
    seen.add(0, returned("abcd", 5, end=8, newline=False))
    assert seen.excerpt(0, Lines(6, 8)) == Excerpt(0, 6, ("b", "c", "d"), end=8, newline=False)
    assert seen.excerpt(0, Lines(5, 7)) == Excerpt(0, 5, ("a", "b", "c"))
    assert (seen.excerpt(0, Lines(5, 9)), seen.excerpt(1, Lines(5, 6))) == (None, None)


FILE = "/repo/src/a.py"
ALL = range(1_000)


def recency(changes: dict[int, str], looks: dict[int, str]) -> Recency:
    """What these steps changed, and which files the results of these may show."""
    found = Recency()
    for step in sorted({*changes, *looks}):
        if step in changes:
            found.change(step, changes[step])
        if step in looks:
            found.result(step, "")
            found.look(step, "", key_of(looks[step]) if looks[step] else ANY)
    return found


@pytest.mark.parametrize(
    ("changes", "looks", "since"),
    [
        ([], [], -1),
        ([], [1], -1),
        ([1], [2], -1),
        ([2], [1], -1),
        ([1, 3], [], -1),
        ([1, 3], [0], -1),
        ([1, 3], [2], 1),
        ([1, 3], [4], -1),
        ([1, 3, 5], [2], 1),
        ([1, 3, 5], [4], 3),
        ([1, 3, 5], [2, 4, 6], 3),
        # A command that changes the file and prints something: it may show what it has made of it.
        ([1, 3], [1], 1),
        ([1, 3], [3], -1),
        ([2], [2], -1),
    ],
)
def test_a_look_between_two_changes_counts(changes: list[int], looks: list[int], since: int) -> None:
    """What was seen before the change that it follows is not referred to."""
    found = recency(dict.fromkeys(changes, FILE), dict.fromkeys(looks, FILE))
    assert found.since("", FILE, ALL) == since
    assert found.since_any("", FILE, ALL) == since
    assert found.since_any("", ANY, ALL) == since
    assert found.since("", "/repo/b.py", ALL) == -1


@pytest.mark.parametrize("changed", [FILE, "/repo/src", "/repo", ANY])
@pytest.mark.parametrize("seen", [FILE, ANY])
def test_a_folder_and_any_file_reach_every_file(changed: str, seen: str) -> None:
    """A write to a folder, a write of unknown reach, and a result that may show any file."""
    found = recency({1: changed, 3: FILE}, {2: seen})
    assert found.since("", FILE, ALL) == 1


def test_only_what_is_visible_on_the_thread_counts() -> None:
    """A result of another conversation, or one that left the request, is not visible."""
    found = recency({1: FILE, 9: FILE}, {2: FILE})
    assert (found.since("other", FILE, ALL), found.since("", FILE, range(3, 9))) == (-1, -1)
    found.change(10, FILE)
    assert found.since("", FILE, range(2, 3)) == 1


def test_looks_are_asked_for_up_to_a_bound() -> None:
    """If so many are hidden, an older one is not looked for."""
    found = recency({1: FILE, 500: FILE}, dict.fromkeys(range(2, 2 + MAX_LOOKS + 1), FILE))
    assert found.since("", FILE, frozenset((3,))) == 1
    assert found.since("", FILE, frozenset((2,))) == -1


def test_renderings_with_other_line_ends_are_kept_up_to_a_bound() -> None:
    """A dropped one may have shown any file, as long as it is visible; a kept one shows the files that it names."""
    found = Recency()
    for step in range(MAX_RENDERINGS):
        found.render(step, "", f"./show {'a.py' if step == 3 else 'aa.py'}", returns=True)

    def newest(visible: range, *, returns: bool = False) -> int:
        return found.rendered_otherwise("", "/repo/a.py", visible, returns=returns)

    assert (newest(range(1000)), newest(range(4, 1000)), newest(range(1000), returns=True)) == (3, -1, -1)
    for step in range(MAX_RENDERINGS, 2 * MAX_RENDERINGS):
        found.render(step, "", "./show b.py", returns=True)
    last = MAX_RENDERINGS - 1
    assert (newest(range(2000)), newest(range(last + 1, 2000)), len(found._renderings["", True])) == (
        last,
        -1,
        MAX_RENDERINGS,
    )


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/repo/a.py", "cat a.py"),
        ("/repo/a.py", "src/a.py:12: error"),
        ("/repo/a.py", "./a.py-12-text"),
        ("/repo/a.py", "(in a.py)."),
        ("/repo/a.py", "\x1b[35m\x1b[Ka.py\x1b[m\x1b[K:12"),
        ("/repo/a.py", "a.py\x0012:x"),
        ("/repo/.env", "ls -a: .env"),
        ("/repo/my-file.py", "my-file.py|12"),
        ("/repo/Makefile", "Makefile:3"),
        ("/repo/my file.py", "anything"),
        ("/repo/größe.py", '"gr\\303\\266\\303\\237e.py"'),
    ],
)
def test_a_file_is_found_in_a_text_that_names_it(path: str, text: str) -> None:
    """In whatever form; a name that programs may quote or escape is taken as named by everything."""
    found = Recency()
    found.follow(path)
    assert found.named(text) == [key_of(path)]


@pytest.mark.parametrize("text", ["", "b.py", "a.pyc", "a py", "ba.py", "a.py.orig"])
def test_other_names_are_not_that_file(text: str) -> None:
    """Nor is a text without any."""
    found = Recency()
    found.follow("/repo/a.py")
    found.follow("/repo/a.py")
    assert found.named(text) == []
    assert found.named("a.py") == ["a.py"]


@pytest.mark.parametrize("name", ["__init__.py", "my file.py"])
def test_files_of_one_name_are_noted_together(name: str) -> None:
    """However many there are, a text names one key; a change and a look that name it reach all of them."""
    found, paths = Recency(), [f"/repo/{folder}/{name}" for folder in range(50)]
    for path in paths:
        found.follow(path)
    (key,) = found.named(name)
    found.change(1, key)
    found.look(2, "", key)
    found.change(3, paths[7])
    assert [found.since("", path, ALL) for path in paths] == [-1] * 7 + [1] + [-1] * 42
    assert found.spelled(f"search x in {paths[7]}") == [paths[7]]
