"""The saboteur: which calls count as call sites, and that exactly one of them fails."""

from __future__ import annotations

import gc
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.faults.sabotage import CallSite, Sabotage, call_sites, sabotaged

SOURCE = """
from contextlib import contextmanager
from functools import cache

def leaf(number):
    return number

@cache
def remembered():
    return leaf(1)

class Thing:
    size = len("no call of ours")

    def __init__(self):
        self.number = leaf(2)

    @property
    def doubled(self):
        return leaf(self.number) * 2

@contextmanager
def around():
    yield leaf(3)

def steps():
    yield 1
    yield 2

def twice():
    return leaf(1) + [leaf(number) for number in (2,)][0]

def everything():
    made = Thing()
    with around():
        pass
    return sorted(steps(), key=lambda number: -number), made.doubled, remembered()

def begun():
    return next(steps())

def kept():
    try:
        return leaf(1)
    except Exception as error:
        return type(error).__name__, leaf(2)
"""


def names(module: str) -> dict[str, Any]:
    """The source as a module of this name."""
    space: dict[str, Any] = {"__name__": module}
    exec(SOURCE, space)
    return space


OURS = names("execledger.invented")


def sites_of(work: Callable[[], object]) -> list[tuple[str, str, int]]:
    """The call sites as caller, called function, and how often."""
    return sorted((site.caller.co_name, site.callee.co_name, count) for site, count in call_sites(work).items())


def only(work: Callable[[], object]) -> CallSite:
    """The first call site of ``work``."""
    return next(iter(call_sites(work)))


def test_every_call_of_ours_by_ours_is_a_site() -> None:
    """Constructors, properties, ``with`` blocks at both ends, generators at each step, and callbacks count as calls."""
    assert sites_of(OURS["everything"]) == [
        ("__init__", "leaf", 1),
        ("around", "leaf", 1),
        ("doubled", "leaf", 1),
        ("everything", "<lambda>", 2),
        ("everything", "__init__", 1),
        ("everything", "around", 2),
        ("everything", "doubled", 1),
        ("everything", "remembered", 1),
        ("everything", "steps", 3),
        ("remembered", "leaf", 1),
    ]


def test_what_is_remembered_is_computed_again() -> None:
    """A cache of the package does not hide calls from the second time on."""
    sys.modules["execledger.invented"] = module = type(sys)("execledger.invented")
    vars(module).update(OURS)
    try:
        assert [sites_of(OURS["remembered"]) for _ in range(2)] == [[("remembered", "leaf", 1)]] * 2
    finally:
        del sys.modules["execledger.invented"]


@pytest.mark.parametrize("module", ["foreign.invented", "execledgers", "execledger.testing.invented"])
def test_calls_of_others_are_no_sites(module: str) -> None:
    """Neither foreign code nor our own tools are broken, and nothing that they call directly."""
    theirs = names(module)
    theirs["leaf"] = OURS["leaf"]
    assert sites_of(theirs["twice"]) == []


def test_names_of_the_time_of_day_are_equal_in_each_play() -> None:
    """The second in which work begins, or that passes within it, does not change which calls it makes."""
    names: list[str] = []
    for _ in range(2):
        call_sites(lambda: names.append(time.strftime("%Y%m%d-%H%M%S")))
    with sabotaged(only(OURS["kept"])):
        names.append(time.strftime("%Y%m%d-%H%M%S"))
    assert names == ["20270115-080000"] * 3


def test_the_clock_is_put_back_and_formats_given_times() -> None:
    """Only a call without a time gets the standing one, and none does behind the traced work."""
    before, formatted = time.strftime, list[str]()
    call_sites(lambda: formatted.append(time.strftime("%Y", time.gmtime(0))))
    assert (formatted, time.strftime) == (["1970"], before)


def test_a_callback_of_the_garbage_collector_is_no_site() -> None:
    """The line at which a collection starts does not call it."""
    space: dict[str, Any] = {"__name__": "execledger.invented", "collect": gc.collect}
    exec("def freeze(phase, info): pass\ndef work(): collect(0)\ndef outer(): work()", space)
    gc.callbacks.append(space["freeze"])
    try:
        assert sites_of(space["outer"]) == [("outer", "work", 1)]
    finally:
        gc.callbacks.remove(space["freeze"])


def test_exactly_one_call_fails() -> None:
    """The n-th call at the site raises, before the first line of what is called; the calls around it don't."""
    site = only(OURS["kept"])
    with sabotaged(site) as trap:
        assert OURS["kept"]() == ("Sabotage", 2)
        assert OURS["kept"]() == 1
    assert trap.sprung
    with sabotaged(site, 2):
        assert [OURS["kept"](), OURS["kept"]()] == [1, ("Sabotage", 2)]


def test_a_site_that_is_not_reached_does_nothing() -> None:
    """The trap reports that it was not sprung."""
    site = only(OURS["kept"])
    with sabotaged(site, 2) as trap:
        assert OURS["kept"]() == 1
    assert not trap.sprung


def test_a_site_says_where_it_is() -> None:
    """Its name, and the exception, have line, caller and callee."""
    site = only(OURS["twice"])
    with sabotaged(site), pytest.raises(Sabotage) as caught:
        OURS["twice"]()
    assert str(site) == str(caught.value) == f"<string>:{site.line} twice -> leaf"


def test_a_generator_that_is_freed_fails_in_silence() -> None:
    """Its last step, at which the interpreter closes it, has no caller that could catch; pytest would report it."""
    site = only(OURS["begun"])
    assert call_sites(OURS["begun"])[site] == 2, "one step is asked for, the other is the end"
    with sabotaged(site, 2) as trap:
        assert OURS["begun"]() == 1
    assert trap.sprung


def test_threads_are_watched_as_well() -> None:
    """A call in a thread that the work starts is a site, and can fail there."""

    def work() -> list[object]:
        results: list[object] = []
        thread = threading.Thread(target=lambda: results.append(OURS["kept"]()))
        thread.start()
        thread.join()
        return results

    with sabotaged(only(work)):
        assert work() == [("Sabotage", 2)]


def test_the_tracer_of_somebody_else_is_put_back() -> None:
    """A debugger or a coverage tool finds itself where it was."""

    def tracer(*_: object) -> None:
        return None

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        with sabotaged(only(OURS["kept"])):
            OURS["kept"]()
        assert sys.gettrace() is tracer
    finally:
        sys.settrace(before)
