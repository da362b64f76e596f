"""The price of references: what they save against what second looks at them cost, and what a run teaches about these.

The expected values are computed here from what a user pays: a token that is new to a call counts 1, one that a cache
holds a tenth, and a second look is one more call over the whole input.
"""

from __future__ import annotations

from fractions import Fraction

import pytest

from execledger.core.ledger import Ledger
from execledger.core.policy import Policy, Preset
from execledger.journal.events import known_policy, policy_fields
from execledger.vocabulary.actions import Observation
from execledger.vocabulary.decisions import Step
from tests.core.stories import Story, text

PRICED = Policy()
PAPER = Policy(preset=Preset.PAPER)


def elided(step: Step) -> bool:
    return step.shown.kind == "reference"


def story(policy: Policy = PRICED, *, sealed: bool = False) -> Story:
    return Story(policy=policy, sealed=sealed)


def filled(tokens: int, *, sealed: bool = False) -> Story:
    """A story whose model was shown about ``tokens`` tokens."""
    told = story(sealed=sealed)
    told.do("grep -rn x lib", "".join(f"lib/{line}.py:1:{line * 7919}\n" for line in range(tokens // 5)))
    return told


def test_what_a_reference_saves_and_costs() -> None:
    """By hand: 2,000 bytes elided of a context of 1,500 + 2 x 250 + 1,100 tokens, one in ten looked at again."""
    told = story()
    output = "0123456789" * 220
    told.do("ls -R src", output)
    told.do("ls -R lib", output[:2200])
    found = told.ledger.worth("", range(2), 2000)
    saving = Fraction(9, 10) * Fraction(2000, 4) * (1 + Fraction(10, 10))
    look = Fraction(1, 10) * (1500 + 2 * 250 + 2200 // 4) + 600
    assert told.steps[1].shown.kind == "reference", "so only the first result counts"
    assert found is not None and (found.saving, found.cost) == (round(saving), round(look / 10))


def test_the_larger_the_context_the_more_has_to_be_saved() -> None:
    """A second look reads all of it again."""
    sizes = []
    for tokens in (0, 20_000, 80_000):
        size = 100
        while True:
            told = filled(tokens)
            told.do("ls -R src", "x" * size)
            if elided(told.do("find src", "x" * size)):
                break
            size += 50
        sizes.append(size)
    assert sizes == sorted(sizes) and 200 <= sizes[0] <= 350 and sizes[1] > 400 and sizes[2] > 1500


def test_a_small_repeat_is_run_and_shown() -> None:
    """Sealed: its output is shorter than the words that would stand for it. As published, it is not run."""
    for policy, ran, shown in ((PRICED, 2, "remark"), (PAPER, 1, "reference")):
        told = story(policy, sealed=True)
        told.do("ls src", "a.py\nb.py\nc\n")
        assert (told.do("ls src", "a.py\nb.py\nc\n").shown.kind, len(told.ran)) == (shown, ran)


def test_a_large_repeat_is_not_run() -> None:
    """Sealed, and worth its price: the decision has both sides of it."""
    told = story(sealed=True)
    told.do("cat a.py", text(60))
    again = told.do("cat a.py", text(60))
    assert (elided(again), len(told.ran), again.decision.rule) == (True, 1, "whole-read")
    assert again.decision.proof[-1].startswith("expected saving ")
    told.do("sed -n '3,5p' a.py", text(3, 3))
    assert told.ran[-1] == "sed -n '3,5p' a.py", "three lines are not worth it"


def test_a_result_that_is_shown_for_its_price_says_so() -> None:
    """The comparison stays what it is."""
    told = filled(60_000)
    told.do("ls -R src", "x" * 600)
    shown = told.do("find src", "x" * 600).shown
    assert (shown.kind, shown.compared, shown.compared_to) == ("full", "same", (1,))
    assert shown.worth is not None and not shown.worth.pays and shown.worth.saving <= shown.worth.cost


def test_only_what_is_visible_is_read_again() -> None:
    """After a compaction, the context is small."""
    told = filled(80_000)
    told.do("ls -R src", "x" * 900)
    dear, cheap = told.ledger.worth("", range(2), 700), told.ledger.worth("", range(1, 2), 700)
    assert dear is not None and cheap is not None and not dear.pays and cheap.pays
    assert (told.ledger.worth("", frozenset((1,)), 700), told.ledger.worth("", {0, 1}, 700)) == (cheap, dear)
    other = told.ledger.worth("another thread", range(2), 700)
    assert other is not None and other.cost < cheap.cost


def looking(again: int, of: int, policy: Policy = PRICED) -> Story:
    """A story with ``of`` references, of which the first ``again`` are followed by a second look."""
    told = story(policy)
    for number in range(of):
        told.do(f"cat f{number}.py", text(300, number * 1000))
        told.do(f"head -n 290 f{number}.py", text(290, number * 1000))
        if number < again:
            told.do(f"head -n 290 f{number}.py", text(290, number * 1000))
        told.idle(3)
    return told


@pytest.mark.parametrize(("again", "of", "stopped"), [(3, 3, None), (3, 4, (3, 4)), (2, 4, None), (3, 5, (3, 4))])
def test_eliding_ends_if_the_model_keeps_looking(again: int, of: int, stopped: tuple[int, int] | None) -> None:
    """More than half of at least four: then everything is shown as it comes, and the result says why."""
    told = looking(again, of)
    looks = told.ledger.second_looks
    assert looks.stopped == stopped
    told.do("cat last.py", text(400))
    last = told.do("head -n 390 last.py", text(390)).shown
    assert last.worth is not None and (last.kind, last.worth.stopped) == (
        ("reference", False) if stopped is None else ("full", True)
    )


def test_nothing_is_suppressed_either_once_eliding_has_ended() -> None:
    """Before running the same holds."""
    told = looking(4, 4)
    told.sealed = True
    told.do("cat last.py", text(400))
    assert told.do("cat last.py", text(400)).shown.kind != "reference"


def test_as_published_nothing_is_learnt() -> None:
    """``paper`` counts second looks, and goes on."""
    told = story(PAPER)
    for number in range(6):
        for _ in range(3):
            told.do(f"cat f{number}.py", text(300))
        told.idle(3)
    looks = told.ledger.second_looks
    assert (looks.looked, looks.settled, looks.stopped) == (6, 6, None)
    told.do("cat last.py", text(30))
    assert elided(told.do("cat last.py", text(30)))


def test_the_run_s_own_rate_takes_over() -> None:
    """(10 x 0.1 + looks) / (10 + references): after ten without a look, half as many are expected."""
    assert looking(0, 10).ledger.second_looks.rate == pytest.approx(1 / 20)
    assert looking(2, 5).ledger.second_looks.rate == pytest.approx(3 / 15)


def test_a_look_counts_within_three_calls() -> None:
    """Later, the model has another reason for it."""
    for calls, looked in ((0, 1), (2, 1), (3, 0)):
        told = story()
        told.do("cat a.py", text(300))
        assert elided(told.do("head -n 290 a.py", text(290)))
        told.idle(calls)
        told.do("head -n 290 a.py", text(290))
        told.idle(3)
        looks = told.ledger.second_looks
        assert (looks.looked, looks.settled) == (looked, 1)


@pytest.mark.parametrize(
    ("between", "looked"), [("sed -i s/1/2/ a.py", 0), ("sed -i s/1/2/ b.py", 1), ("python3 -m pytest", 1)]
)
def test_a_file_that_was_edited_is_read_for_the_edit(between: str, looked: int) -> None:
    """To look at a file after a change of it is no second look at what it was."""
    told = story()
    told.do("cat a.py", text(300))
    told.do("head -n 290 a.py", text(290))
    told.do(between)
    told.do("head -n 290 a.py", text(290))
    assert (told.ledger.looked_again, told.ledger.second_looks.looked) == (looked, looked)


def test_the_fold_rebuilds_rate_and_context() -> None:
    """From the completed steps alone."""
    told = looking(3, 5)
    again = Ledger("", PRICED)
    for step in told.steps:
        again.record(step)
    mine, other = told.ledger.second_looks, again.second_looks
    assert (mine.looked, mine.settled, mine.stopped) == (other.looked, other.settled, other.stopped)
    assert again.worth("", range(len(again)), 5_000) == told.ledger.worth("", range(len(again)), 5_000)


def test_an_earlier_run_has_no_price() -> None:
    """Its policy does not record one: whatever had 300 bytes was elided, and every proven repeat suppressed."""
    fields = {name: value for name, value in policy_fields(Policy()).items() if "look" not in name}
    old = known_policy({**fields, "min_output": 300})
    assert not old.priced and known_policy(policy_fields(Policy())) == Policy()
    told = story(old, sealed=True)
    told.do("ls src", "a.py\n")
    assert elided(told.do("ls src", "a.py\n"))


def test_standard_error_alone_is_no_size() -> None:
    """The sum of sizes is that of outputs, as their fingerprints have it."""
    told = story()
    before = told.ledger.worth("", range(9), 100)
    told.do("make", Observation("", stderr="e" * 4000, exit_status=2))
    after = told.ledger.worth("", range(9), 100)
    assert before is not None and after is not None and after.cost - before.cost < 5
