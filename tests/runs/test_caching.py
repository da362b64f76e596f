"""How a prompt cache serves a run: as told, else as assumed; every number worked out by hand."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from execledger.core.policy import Policy
from execledger.runs.caching import PromptCache, RunTokens, charges_writes, estimate, timeline, usage
from execledger.runs.recording import Governed, Recorded, Run
from execledger.runs.usage import ModelCall, Tokens, summed
from execledger.vocabulary.actions import Action, Observation
from execledger.vocabulary.decisions import Allow, Shown, Step

ECHO, OUTPUT = "e" * 40, "o" * 400
"""A command of 10 tokens and an output of 100."""


def run(*calls: ModelCall, steps: int = 3, model: str = "gpt", compactions: tuple[int, ...] = ()) -> Run:
    """A run with one call to a turn and one turn more, on a task of 50 tokens."""
    made = tuple(Recorded(Action(ECHO, "/repo"), Observation(OUTPUT, exit_status=0), turn) for turn in range(steps))
    return Run("r", "f", "agent", model, "t" * 200, True, steps + 1, made, compactions, calls)


def test_a_told_call_is_split_by_price() -> None:
    """What was neither read from a cache nor written to one is uncached."""
    assert ModelCall(Tokens.of(input=100, cached=60, written=30, output=7)).tokens.counted == Tokens(
        uncached=10, cached=60, written=30, output=7
    )
    assert ModelCall(Tokens.of(cached=60)).tokens.counted is None


def test_told_calls_are_not_estimated() -> None:
    """The provider counted each of them."""
    calls = [ModelCall(Tokens.of(input=100 * n, cached=10 * n, output=n)) for n in range(1, 5)]
    counted = usage(run(*calls))
    assert (counted.estimated, [one.input for one in counted.calls]) == (False, [100, 200, 300, 400])
    assert counted.total == Tokens(uncached=900, cached=100, output=10)


def test_an_estimate_caches_whatever_stood_there_before() -> None:
    """Task, commands and outputs at four bytes a token; what the model wrote is in the cache as well."""
    assert list(estimate(run())) == [
        Tokens(uncached=50, output=10),
        Tokens(cached=60, uncached=100, output=10),
        Tokens(cached=170, uncached=100, output=10),
        Tokens(cached=280, uncached=100),
    ]


def test_an_estimate_for_a_provider_that_charges_for_writing() -> None:
    """What is new is written, and that includes what the model wrote."""
    assert list(estimate(run(model="claude-opus-4-6", steps=1))) == [
        Tokens(written=50, output=10),
        Tokens(cached=50, written=110),
    ]


def test_an_estimate_forgets_with_a_compaction() -> None:
    """The history begins anew with the task."""
    assert [one.input for one in estimate(run(compactions=(2,)))] == [50, 160, 50, 160]


def test_a_missing_call_is_estimated_and_the_row_says_so() -> None:
    """The others stay as they were told."""
    counted = usage(run(ModelCall(Tokens.of(input=77, cached=0, output=5)), ModelCall(), steps=1))
    calls = (Tokens(uncached=77, output=5), Tokens(cached=60, uncached=100))
    assert counted == RunTokens(calls[0] + calls[1], calls, estimated=True)


def test_where_only_the_totals_are_told_they_stand_for_the_calls() -> None:
    """Half of the input was cached in all, so half of whatever was sent again is taken to be."""
    recorded = replace(run(), totals=ModelCall(Tokens.of(input=1000, cached=500, output=70)))
    assert usage(recorded) == RunTokens(Tokens(uncached=500, cached=500, output=70), (), estimated=False)
    assert PromptCache(timeline(recorded)).sent(100, 0) == Tokens(uncached=100 + 100, cached=100)


@pytest.mark.parametrize(("cached", "told"), [(None, False), (0, True), (9, True)])
def test_a_report_without_cached_tokens_is_told_from_one_of_none(cached: int | None, told: bool) -> None:
    """Both count all input as uncached; only one of them knows that it was."""
    call = ModelCall(Tokens.of(input=77, cached=cached, output=5))
    assert usage(run(call, call, steps=1)).cached_told is told
    assert usage(replace(run(steps=1), totals=call)).cached_told is told


def test_a_run_without_a_call_lacks_no_report() -> None:
    """It took no tokens at all, as one that failed at once."""
    assert usage(replace(run(), turns=0, steps=())) == RunTokens(Tokens(), (), estimated=False, cached_told=True)


def test_writes_are_charged_as_told_else_by_the_model() -> None:
    """A provider that told its tokens and none written does not charge for writing."""
    assert charges_writes(run(model="anthropic/claude-x"))
    assert not charges_writes(run(ModelCall(Tokens.of(input=10, cached=5)), model="anthropic/claude-x"))
    assert charges_writes(run(ModelCall(Tokens.of(input=10, cached=5, written=3))))
    assert not charges_writes(run())


def test_text_is_new_once_and_cached_at_each_later_call() -> None:
    """Step 0 is read by the calls 1, 2 and 3, step 2 only by call 3."""
    cache = PromptCache(timeline(run()))
    assert cache.sent(100, 0) == Tokens(uncached=100, cached=200)
    assert cache.sent(100, 2) == Tokens(uncached=100)
    assert PromptCache(timeline(run(model="claude"))).sent(100, 0) == Tokens(written=100, cached=200)


def test_text_behind_the_last_call_costs_nothing() -> None:
    """Nobody reads it."""
    assert PromptCache(timeline(replace(run(), turns=3))).sent(100, 2) == Tokens()


def test_text_is_read_until_a_compaction() -> None:
    """From the turn of the step behind it on, the text is gone."""
    cache = PromptCache(timeline(run(compactions=(2,))))
    assert [cache.sent(100, index) for index in (0, 1, 2)] == [
        Tokens(uncached=100),
        Tokens(),
        Tokens(uncached=100),
    ]


def test_a_cache_that_missed_is_paid_for() -> None:
    """Call 2 read a quarter of what call 1 had sent from the cache: so much of any text in it."""
    calls = (
        ModelCall(Tokens.of(input=100, cached=0)),
        ModelCall(Tokens.of(input=200, cached=100)),
        ModelCall(Tokens.of(input=300, cached=50)),
        ModelCall(Tokens.of(input=400, cached=300)),
    )
    assert PromptCache(timeline(run(*calls))).sent(100, 0) == Tokens(uncached=100 + 75, cached=25 + 100)


def test_each_conversation_reads_its_own_results() -> None:
    """A result counts for the later calls of its thread alone."""
    steps = tuple(
        Recorded(Action(ECHO, "/repo", thread=thread), Observation(OUTPUT), turn)
        for turn, thread in enumerate(("a", "b", "a", "b", "a"))
    )
    cache = PromptCache(timeline(replace(run(), turns=5, steps=steps)))
    assert cache.sent(100, 0) == Tokens(uncached=100, cached=100)
    assert cache.sent(100, 1) == Tokens(uncached=100)


def test_what_the_model_wrote_is_kept_out_of_the_cache() -> None:
    """All of it where nothing is told, nothing behind the last call, nothing where only what was sent is cached."""
    assert [PromptCache(timeline(run())).displaced("", turn) for turn in range(4)] == [10, 10, 10, 0]
    assert PromptCache(timeline(run(model="claude"))).displaced("", 0) == 0
    assert PromptCache(timeline(run(compactions=(1,)))).displaced("", 0) == 0


def test_the_provider_tells_whether_its_cache_reached_what_the_model_wrote() -> None:
    """Call 1 found 8 tokens more than call 0 had sent, call 2 fewer than call 1 had: so 8 and 0 of 20 are lost."""
    calls = (
        ModelCall(Tokens.of(input=100, cached=0, output=20)),
        ModelCall(Tokens.of(input=200, cached=108, output=20)),
        ModelCall(Tokens.of(input=300, cached=190, output=20)),
    )
    cache = PromptCache(timeline(run(*calls, steps=2)))
    assert [cache.displaced("", turn) for turn in range(3)] == [8, 0, 0]


@pytest.mark.parametrize(("model", "displaced"), [("deepseek-chat", 10), ("gpt-5-mini", 0)])
def test_views_of_a_run_that_had_some_displace_what_the_provider_may_cache(model: str, displaced: int) -> None:
    """The same by the run's record, which has counts of each call, and by its journal, which has the totals alone."""
    calls = (
        ModelCall(Tokens.of(input=100, cached=0, output=10)),
        ModelCall(Tokens.of(input=200, cached=100, output=10)),
    )
    recorded = replace(timeline(run(*calls, steps=1, model=model)), governed=True, had_views=True)
    journal = replace(recorded, model_calls=(), totals=summed(calls))
    assert [PromptCache(one).displaced("", 0) for one in (recorded, journal)] == [displaced, displaced]


@pytest.mark.parametrize(
    ("policy", "view", "displaced"),
    [
        pytest.param(Policy(shadow=True), None, 8, id="shadow mode"),
        pytest.param(Policy(inform=False), None, 8, id="a policy without views"),
        pytest.param(Policy(), "", 8, id="a journal without views"),
        pytest.param(Policy(), None, 10, id="nobody knows"),
        pytest.param(Policy(), "view", 10, id="views"),
    ],
)
def test_the_counts_of_a_governed_run_without_views_tell_what_views_would_displace(
    policy: Policy, view: str | None, displaced: int
) -> None:
    """Call 1 found 8 of the 10 tokens that call 0 had written in the cache: no view had kept them out."""
    calls = (
        ModelCall(Tokens.of(input=100, cached=0, output=10)),
        ModelCall(Tokens.of(input=200, cached=108, output=10)),
    )
    recorded = run(*calls, steps=1, model="deepseek-chat")
    step = Step(recorded.steps[0].action, Allow("default"), recorded.steps[0].observation, Shown("full"))
    governed = replace(recorded.steps[0], governed=Governed(step, sealed=True, since=0, view=view))
    cache = PromptCache(timeline(replace(recorded, steps=(governed,), policy=policy)))
    assert cache.displaced("", 0) == displaced


def test_reasoning_is_not_sent_again() -> None:
    """Of 500 tokens of output at most what the input grew by comes back."""
    calls = (
        ModelCall(Tokens.of(input=100, cached=0, output=500)),
        ModelCall(Tokens.of(input=130, cached=128, output=5)),
    )
    assert PromptCache(timeline(run(*calls, steps=1))).generated("", 0) == 30
