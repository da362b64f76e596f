"""Where the work of an evaluation runs: engines behind one seam, ``map(work, jobs)``.

An engine asks for jobs one by one, has a bounded number of them under way, and gives their results as they come. To
stop, whoever hands out the jobs hands out no more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import Any, Protocol, TypeVar

from execledger.evaluate.plan import EngineName, Plan
from execledger.extras import needing

Job = TypeVar("Job")
Result = TypeVar("Result")

ATTEMPTS = 5
"""How often Ray gives a job to another worker when the one at work has died."""


class Engine(Protocol):
    """Carries jobs out."""

    def map(self, work: Callable[[Job], Result], jobs: Iterable[Job]) -> Iterator[Result]:
        """The result of ``work`` for each job, as they finish."""
        ...


class Local:
    """Workers on this machine: threads, since all that they do is wait for processes of the agent."""

    def __init__(self, workers: int) -> None:
        self._workers = workers

    def map(self, work: Callable[[Job], Result], jobs: Iterable[Job]) -> Iterator[Result]:
        """The result of ``work`` for each job, as they finish."""
        waiting = iter(jobs)
        with ThreadPoolExecutor(self._workers) as pool:
            running: set[Future[Result]] = {pool.submit(work, job) for job in islice(waiting, self._workers)}
            while running:
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    yield future.result()
                running |= {pool.submit(work, job) for job in islice(waiting, len(done))}


class Ray:
    """Workers of a Ray cluster; its machines share the output folder, and have the agent and its keys."""

    def __init__(self, workers: int, address: str = "") -> None:
        self._workers, self._address = workers, address

    def map(self, work: Callable[[Job], Result], jobs: Iterable[Job]) -> Iterator[Result]:
        """The result of ``work`` for each job, as they finish; a job whose worker died is run again by another one."""
        ray = _ray()
        # A cluster of our own has as many places as we have workers; agents mostly wait, so a place is no processor.
        own: dict[str, Any] = {"num_cpus": self._workers, "include_dashboard": False}
        ray.init(**({"address": self._address} if self._address else own), log_to_driver=False, logging_level="ERROR")
        try:
            task = ray.remote(max_retries=ATTEMPTS, num_cpus=1)(work)
            waiting = iter(jobs)
            running = [task.remote(job) for job in islice(waiting, self._workers)]
            while running:
                done, running = ray.wait(running, num_returns=1)
                for reference in done:
                    yield ray.get(reference)
                running += [task.remote(job) for job in islice(waiting, len(done))]
        finally:
            ray.shutdown()


def engine_of(plan: Plan) -> Engine:
    """The engine that a plan asks for."""
    return Ray(plan.workers, plan.address) if plan.engine is EngineName.RAY else Local(plan.workers)


def _ray() -> Any:
    with needing("ray"):
        import ray
    return ray
