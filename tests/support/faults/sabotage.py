"""Makes one call of the package's own code fail at a time, to test that its callers survive.

    sites = call_sites(work)                  which calls of ours ``work`` makes, and how often
    with sabotaged(site, occurrence) as trap: the same work, in which that one call raises ``Sabotage``
        work()
    assert trap.sprung

A *call site* is a line of ours that calls a function of ours. The exception surfaces in the function that is called,
before its first line, so it is as if that function had failed at once. Four kinds of calls are no sites:

- A call by foreign code, such as an agent that calls our model: above it there is nothing of ours that could catch.
  The standard library counts as ours here (``contextlib``, ``weakref``): it passes on what it is handed.
- A call of a foreign function: what it raises arrives where the failure of our own function arrives that made
  the call, and that one is a site.
- Modules, class bodies and comprehensions: they have frames, but are not called by name. A generator's every step is
  a call, and so is the end of a ``with`` block of ours.
- A callback in ``gc.callbacks``: the interpreter calls it, at whatever line the garbage collector happens to start.

Equal work makes equal calls: what the package remembers from earlier calls is forgotten first, and ``time.strftime``
returns the same time of day throughout. Journals are named by the second in which their run begins. If two runs of
``work`` begin in one second, redacting the second name is a cache hit and its file exists already; if the clock passes
a second between them, neither is so, and other calls are made. A module is imported once in a process, so ``work``
should have been done once before its sites are collected. If it writes journals, each time needs a folder of its own.
"""

from __future__ import annotations

import functools
import gc
import inspect
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any, NamedTuple

from execledger.proxy.split_messages import MessageSplitter

PACKAGE = "execledger"
TESTING = f"{PACKAGE}.testing"
NOT_CALLED = frozenset({"<module>", "<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"})
MOMENT = time.gmtime(1_800_000_000)
"""The time of day in names that are made by traced work."""


class Sabotage(Exception):
    """The planted fault."""


class CallSite(NamedTuple):
    """A line of ours that calls a function of ours."""

    caller: CodeType
    """The function that calls."""
    line: int
    """The line of the call."""
    callee: CodeType
    """The function that is called."""

    def __str__(self) -> str:
        """The site as an editor finds it, and both ends of the call."""
        file = self.caller.co_filename.rpartition(f"/{PACKAGE}/")[2]
        return f"{file}:{self.line} {self.caller.co_qualname} -> {self.callee.co_qualname}"


class Trap:
    """Raises ``Sabotage`` when a call site is reached for the n-th time."""

    def __init__(self, site: CallSite, occurrence: int, fault: type[Sabotage] = Sabotage) -> None:
        """Set at ``site``; the first time is occurrence 1."""
        self.sprung = False
        """The fault was planted."""
        self._site = site
        self._left = occurrence
        self._fault = fault

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        """What the interpreter calls when a function begins; an exception here is one of that function."""
        if event == "call" and frame.f_code is self._site.callee and _site_of(frame) == self._site:
            self._left -= 1
            if self._left == 0:
                self.sprung = True
                raise self._fault(str(self._site))


def call_sites(work: Callable[[], object]) -> dict[CallSite, int]:
    """The call sites that ``work`` reaches, in that order, and how often it does."""
    reached: dict[CallSite, int] = {}

    def count(frame: FrameType, event: str, _: Any) -> None:
        site = _site_of(frame) if event == "call" else None
        if site is not None:
            reached[site] = reached.get(site, 0) + 1

    with _traced(count):
        work()
    return reached


@contextmanager
def sabotaged(site: CallSite, occurrence: int = 1, fault: type[Sabotage] = Sabotage) -> Iterator[Trap]:
    """Make the call at ``site`` raise ``fault`` when it is made for the n-th time, and only then."""
    trap = Trap(site, occurrence, fault)
    with _traced(trap), _unheard_when_freed(fault):
        yield trap


@contextmanager
def _unheard_when_freed(fault: type[Sabotage]) -> Iterator[None]:
    """Say nothing of a ``fault`` in a generator that is freed: that is a step of it as well, but nobody's call."""
    before = sys.unraisablehook

    def hook(unraisable: sys.UnraisableHookArgs) -> None:
        if not issubclass(unraisable.exc_type, fault):
            before(unraisable)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before


@contextmanager
def _traced(tracer: Callable[[FrameType, str, Any], None]) -> Iterator[None]:
    """Trace every call of this thread, and of the threads that it starts, with ``tracer``."""
    _forget()
    before, before_in_threads = sys.gettrace(), threading.gettrace()
    with _standing_clock():
        threading.settrace(tracer)
        sys.settrace(tracer)
        try:
            yield
        finally:
            sys.settrace(before)
            threading.settrace(before_in_threads)


@contextmanager
def _standing_clock() -> Iterator[None]:
    """Make ``time.strftime`` format ``MOMENT`` where it is called without a time; other clocks run on."""
    true = time.strftime

    def strftime(format: str, when: Any = MOMENT, /) -> str:
        return true(format, when)

    time.strftime = strftime
    try:
        yield
    finally:
        time.strftime = true


def _site_of(frame: FrameType) -> CallSite | None:
    """The call that ``frame`` answers, if both ends of it are ours."""
    code = frame.f_code
    if not _is_ours(frame) or code.co_name in NOT_CALLED or not code.co_flags & inspect.CO_OPTIMIZED:
        # Only the bodies of modules and classes are not optimised.
        return None
    if any(code is getattr(callback, "__code__", None) for callback in gc.callbacks):
        return None
    caller = frame.f_back
    while caller is not None and _module(caller).partition(".")[0] in sys.stdlib_module_names:
        caller = caller.f_back
    if caller is None or not _is_ours(caller) or caller.f_code.co_name == "<module>":
        return None
    return CallSite(caller.f_code, caller.f_lineno, code)


def _is_ours(frame: FrameType) -> bool:
    module = _module(frame)
    return f"{module}.".startswith(f"{PACKAGE}.") and not f"{module}.".startswith(f"{TESTING}.")


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))


def _forget() -> None:
    """Empty the package's caches: a value that is remembered is not computed, and its calls are not made."""
    modules = [module for name, module in list(sys.modules.items()) if f"{name}.".startswith(f"{PACKAGE}.")]
    for value in [value for module in modules for value in vars(module).values()]:
        if isinstance(value, functools._lru_cache_wrapper | MessageSplitter):
            value.cache_clear()
