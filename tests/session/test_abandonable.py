"""Work that may never return, on threads that are used again."""

import threading

import pytest

from execledger.session.abandonable import AbandonableWork

LONG = 60.0
"""Seconds in which any work of these tests returns."""


def test_one_thread_does_the_work_of_several() -> None:
    """A thread whose work has returned, or has failed, is given the next work."""
    threads: list[threading.Thread] = []
    for work in (AbandonableWork(), AbandonableWork()):
        work.run(lambda: threads.append(threading.current_thread()), LONG)
        with pytest.raises(ZeroDivisionError):
            work.run(lambda: print(len(threads) // 0), LONG)
    assert threads == [threads[0], threads[0]]
    assert threads[0].daemon and threads[0] is not threading.current_thread()


def test_work_that_does_not_return_keeps_its_thread() -> None:
    """No other is started until it has returned; what others start has another thread."""
    stuck, other, go_on = AbandonableWork(), AbandonableWork(), threading.Event()
    threads: list[threading.Thread] = []

    def waiting() -> None:
        threads.append(threading.current_thread())
        go_on.wait()

    stuck.run(waiting, 0.01)
    assert stuck.stuck and not other.stuck
    stuck.run(waiting, LONG)
    other.run(lambda: threads.append(threading.current_thread()), LONG)
    go_on.set()
    with stuck._unfinished:
        pass
    assert len(set(threads)) == len(threads) == 2


def test_a_thread_that_does_not_run_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a process that was forked, the threads of the other process are known and do not run."""
    done: list[bool] = []
    work = AbandonableWork()
    work.run(lambda: done.append(True), LONG)
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "is_alive", lambda _: False)
        work.run(lambda: done.append(True), LONG)
    assert done == [True, True] and not work.stuck
