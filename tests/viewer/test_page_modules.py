"""The page's pure modules, each called in the browser that runs them, against what plain Python makes of the same."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

import pytest
from inline_snapshot import snapshot

from execledger.core.policy import Policy
from tests.journal.runs import start
from tests.viewer.browsing import joined, opened_tab
from tests.viewer.stage import DEMO, journal_bytes, served, shown, told

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.clients

Call = Callable[..., Any]
CALL = """async ([file, name, cases]) => {
  const module = await import(file);
  return cases.map((given) => module[name](...given));
}"""
KNOW = """async (cases) => {
  const { Knowledge } = await import("./knowledge.js");
  return cases.map(([track, steps]) => {
    const file = new Knowledge(track);
    return steps.map((step) => file.at(step));
  });
}"""
DRAWN = """async (marks) => {
  const { drawMark } = await import("./marks.js");
  return marks.map((mark) => {
    const corners = [];
    const pen = new Proxy({}, {
      get: (_, name) => (...given) => name === "lineTo" && corners.push(given),
      set: () => true,
    });
    drawMark(pen, mark, 0, 0, "black");
    return corners;
  });
}"""
"""The corners of marks that are drawn around (0, 0)."""
ALPHABET = "ab -'\"$`\\(){}|&;<>#\n \t01EOF<<=\u00e9\U0001f600"
"""Characters that mean something to a shell, and some that do not."""


@pytest.fixture(scope="module")
def evaluate(chromium: Browser) -> Iterator[Call]:
    """Evaluates a function in the page."""
    with served(DEMO) as asked, opened_tab(chromium) as tab:
        tab.open(f"http://127.0.0.1:{asked.port}/")
        yield tab.page.evaluate


@pytest.fixture(scope="module")
def call(evaluate: Call) -> Call:
    """Calls a function of a module with each of some arguments."""

    def calling(file: str, name: str, *cases: list[Any]) -> Any:
        return evaluate(CALL, [f"./{file}", name, list(cases)])

    return calling


def random_track(chance: random.Random) -> dict[str, Any]:
    """A file with many events, several of them in one step."""
    events: list[list[Any]] = []
    step = 0
    for _ in range(chance.randrange(1, 120)):
        step += chance.choice((0, 1, 1, 3))
        match chance.choice(("seen", "seen", "changed", "suspect", "untold", "looked", "looked", "unlooked")):
            case "seen":
                firsts = sorted(chance.sample(range(1, 50), chance.randrange(1, 4)))
                limits = [*firsts[1:], 60]
                spans = [[first, chance.randrange(first, end)] for first, end in zip(firsts, limits, strict=True)]
                events.append([step, "seen", spans])
            case "changed":
                events.append([step, "changed", []])
            case "looked":
                shown = sorted({one[0] for one in events if one[1] == "seen"})
                events.append([step, "looked", [one for by in shown for one in random_look(chance, by)]])
            case kind:
                events.append([step, kind])
    return {"path": "/a", "name": "a", "lines": 60, "events": events}


def random_look(chance: random.Random, shown: int) -> Iterator[list[Any]]:
    """What a look found of the lines that a step showed, in pieces; of some of them nothing."""
    first = chance.randrange(1, 40)
    while first < 60:
        last = chance.randrange(first, 60)
        yield [first, last, chance.choice(("current", "moved", "changed", "gone")), shown]
        first = last + chance.randrange(1, 20)


def known(events: list[list[Any]], at: int) -> list[list[Any]]:
    """What is known of each line after step ``at``, found line by line."""
    spans = []
    for line in range(1, 61):
        state: list[Any] = []
        found: list[list[Any]] = []
        for step, kind, *rest in events:
            if step > at:
                break
            if kind in ("looked", "unlooked", "changed", "suspect"):
                found = rest[0] if kind == "looked" else []
            if kind == "seen" and any(first <= line <= last for first, last in rest[0]):
                state = ["current", step]
            elif state and kind == "changed":
                state = ["stale", state[1]]
            elif state and kind == "suspect" and state[0] in ("current", "no claim"):
                state = ["possibly stale", state[1]]
            elif state and kind == "untold" and state[0] == "current":
                state = ["no claim", state[1]]
        if state:
            looked = [one[2] for one in found if one[0] <= line <= one[1] and one[3] == state[1]]
            spans.append([line, line, *(looked or state[:1]), state[1]])
    return joined(spans)


def test_knowledge_is_what_each_line_went_through(evaluate: Call) -> None:
    """Spans, kept and replayed from the nearest that was kept, say of every line what its own history says."""
    chance = random.Random(7)
    tracks = [random_track(chance) for _ in range(40)]
    cases = [(track, [chance.randrange(-1, 150) for _ in range(12)]) for track in tracks]
    found = evaluate(KNOW, cases)
    for (track, steps), answers in zip(cases, found, strict=True):
        assert [joined(spans) for spans in answers] == [known(track["events"], step) for step in steps]


def test_a_diff_holds_both_texts(call: Call) -> None:
    """The kept and new lines are the new text, the kept and gone ones the old."""
    chance = random.Random(3)
    cases = [["\n".join(chance.choices("abcd", k=chance.randrange(12))) for _ in range(2)] for _ in range(300)]
    for (before, after), lines in zip(cases, call("diff.js", "lineDiff", *cases), strict=True):
        assert "\n".join(text for mark, text in lines if mark != "+") == before
        assert "\n".join(text for mark, text in lines if mark != "-") == after
    assert call("diff.js", "lineDiff", ["a\nb\nc\nd", "a\nx\nc\nd"]) == [
        [[" ", "a"], ["-", "b"], ["+", "x"], [" ", "c"], [" ", "d"]]
    ]


def test_tokens_are_the_command_again(call: Call) -> None:
    """Whatever the command is, no character is lost or moved."""
    chance = random.Random(5)
    commands = ["".join(chance.choices(ALPHABET, k=chance.randrange(40))) for _ in range(3000)]
    tokens = call("highlight.js", "shellTokens", *([command] for command in commands))
    assert ["".join(text for _, text in found) for found in tokens] == commands


def test_a_command_is_coloured_by_its_parts(call: Call) -> None:
    """Programs, options, quotes, variables, operators, heredocs and comments are told apart."""
    command = "cd /x && A=1 sed -n '1,3p' \"$f.py\" | tee o <<'E' # all\nbody\nE\nls"
    (found,) = call("highlight.js", "shellTokens", [command])
    assert [token for token in found if token[0] != "plain"] == snapshot(
        [
            ["program", "cd"],
            ["operator", "&&"],
            ["assignment", "A=1"],
            ["program", "sed"],
            ["option", "-n"],
            ["string", "'1,3p'"],
            ["string", '"'],
            ["variable", "$f"],
            ["string", '.py"'],
            ["operator", "|"],
            ["program", "tee"],
            ["operator", "<<"],
            ["operator", "'E'"],
            ["comment", "# all"],
            ["heredoc", "body\n"],
            ["operator", "E"],
            ["program", "ls"],
        ]
    )


def test_terminal_colours_become_classes_and_the_rest_is_seen(call: Call) -> None:
    """A class is one of ours whatever the codes are; the text without its escapes is all there."""
    cases = [
        ["\x1b[1;31mno\x1b[22mw\x1b[0m \x1b[38;5;9mx\x1b[999;7my"],
        ["a\r\nb\rc\x1b[2K"],
        ["\u202e\ud83d\ude00\x9b"],
    ]
    assert call("ansi.js", "ansiPieces", *cases) == snapshot(
        [
            [["no", "fg-red bold"], ["w", "fg-red"], [" ", ""], ["x", ""], ["y", "inverse"]],
            [
                ["a", ""],
                ["\nb", ""],
                ["␍", "control"],
                ["c", ""],
                ["␛", "control"],
                ["[2K", ""],
            ],
            [["[U+202E]", "control"], ["😀", ""], ["[U+009B]", "control"]],
        ]
    )


def test_the_timeline_keeps_the_selected_step_in_sight(call: Call) -> None:
    """All of a short run, and of a long one a part around the step; a point in it is the step that is drawn there."""
    cases = [
        [count, step, width]
        for count in (1, 14, 500, 5000)
        for step in (0, count // 2, count - 1)
        for width in (300, 1240)
    ]
    for (count, step, width), sight in zip(cases, call("lanes.js", "inSight", *cases), strict=True):
        assert sight["first"] <= step <= sight["last"] < count
        assert (sight["last"] - sight["first"] + 1) * sight["cell"] <= width + 0.001
        middle = (step - sight["first"] + 0.5) * sight["cell"]
        assert call("lanes.js", "stepAt", [sight, middle]) == [step]


def test_durations_are_in_the_units_that_suit_them(call: Call) -> None:
    """From milliseconds to hours; none is rounded to the next unit's own number."""
    cases = [[0.0004], [0.25], [0.9999], [1.04], [59.94], [59.99], [61], [3599], [3661]]
    assert call("format.js", "duration", *cases) == snapshot(
        ["0 ms", "250 ms", "1.0 s", "1.0 s", "59.9 s", "1 min 0 s", "1 min 1 s", "59 min 59 s", "1 h 1 min"]
    )


def test_two_runs_stand_side_by_side(call: Call) -> None:
    """Between two common commands the steps of both are put beside each other, and none is lost."""
    pairs = [
        [0, 0, "same"],
        [1, None, "removed"],
        [2, None, "removed"],
        [None, 1, "added"],
        [3, 2, "changed"],
        [None, 3, "added"],
    ]
    assert call("sides.js", "sideBySide", [pairs]) == [
        [[0, 0, "same"], [1, 1, "apart"], [2, None, "removed"], [3, 2, "changed"], [None, 3, "added"]]
    ]


def test_what_comes_twice_is_taken_once(call: Call) -> None:
    """Of an answer that overlaps what is known, only the new steps, events and compactions are left."""
    part = {
        "first": 2,
        "steps": {"category": ["c", "d", "e"]},
        "files": [
            {"path": "/a", "events": [[2, "suspect"], [4, "suspect"]]},
            {"path": "/b", "events": [[3, "suspect"]]},
        ],
        "compactions": [3, 4],
    }
    assert call("live.js", "newPart", [part, 4]) == [
        {
            "first": 2,
            "steps": {"category": ["e"]},
            "files": [{"path": "/a", "events": [[4, "suspect"]]}],
            "compactions": [4],
        }
    ]


def test_an_export_searches_and_sorts_as_the_server_does(call: Call, tmp_path: Path) -> None:
    """The same runs in the same order with the same totals, for the same question."""
    for number, letter in enumerate("bacd"):
        events = [start(agent=f"agent {letter}", model="Some/Model"), *told([shown("true")] * (number % 3))[1:]]
        (tmp_path / f"{letter}.jsonl").write_bytes(journal_bytes(events))
    (tmp_path / "shadow.jsonl").write_bytes(journal_bytes([start(Policy(shadow=True)), *told([shown("true")])[1:]]))
    with served(tmp_path) as asked:
        everything = asked.listed("sort=name")
        assert [one["shadow"] for one in everything["totals"]] == [False, True]
        for query in (
            "sort=steps",
            "sort=steps&desc=1",
            "sort=input_tokens",
            "q=some+AGENT&sort=agent&desc=1",
            "q=zzz",
            "agent=agent+b&sort=steps",
            "model=Some/Model&task=Mend+it.&sort=name",
            "faults=1",
        ):
            wanted = dict(parse_qsl(query))
            added = list(everything["totals"][0]["sums"])
            (own,) = call("filters.js", "chosenRuns", [everything["runs"], wanted, added])
            assert own == {name: asked.listed(query)[name] for name in ("runs", "total", "totals")}, query


def test_the_mark_of_a_partial_reuse_is_a_diamond_in_a_diamond(evaluate: Call) -> None:
    """As its sign in the legend, whole also where it is dashed; every mark is as wide on the left as on the right."""
    plain = ["reuse", "reference", "partial", "remark", "nudge"]
    drawn = dict(zip(plain, evaluate(DRAWN, plain), strict=True))
    assert evaluate(DRAWN, [f"would-{mark}" for mark in plain]) == list(drawn.values())
    assert {mark: len(corners) for mark, corners in drawn.items()} == {
        "reuse": 4,
        "reference": 4,
        "partial": 8,
        "remark": 3,
        "nudge": 3,
    }
    sides = {mark: (min(x for x, _ in corners), max(x for x, _ in corners)) for mark, corners in drawn.items()}
    assert all(-left <= right + 0.5 and right <= -left + 0.5 for left, right in sides.values())


def test_addresses_are_read_back(call: Call) -> None:
    """What the page makes of an address is what the address was made of."""
    assert call(
        "router.js", "parseAddress", ["#/run/a%2Fb/12"], ["#/run/x/last"], ["#/compare/a/b"], ["#/?q=a+b&desc=1"]
    ) == [
        {"view": "run", "id": "a/b", "step": 12},
        {"view": "run", "id": "x", "step": "last"},
        {"view": "compare", "a": "a", "b": "b"},
        {"view": "runs", "query": {"q": "a b", "desc": "1"}},
    ]
    assert [one["view"] for one in call("router.js", "parseAddress", [""], ["#/run/"], ["#/%E0%A4%A"], ["#x"])] == [
        "runs"
    ] * 4


def test_a_sum_of_money_keeps_its_sign_and_two_digits(call: Call) -> None:
    """However small it is; zero has no sign, and neither has a rounding error of a sum."""
    cases = {
        -0.000032: "\u2212$0.000032",
        0.00001: "$0.000010",
        -0.0000000614: "\u2212$0.000000061",
        0.0312: "$0.0312",
        -2.5: "\u2212$2.50",
        -12345.678: "\u2212$12,345.68",
        0: "$0.00",
        0.1 + 0.2 - 0.3: "$0.00",
        None: "\u2013",
    }
    assert call("format.js", "dollars", *([value] for value in cases)) == list(cases.values())
