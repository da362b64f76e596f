"""How far an evaluation is: a bar with counts, the cost so far and the time left, on a terminal alone."""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from execledger.evaluate.results import Result


class Bar:
    """The bar, and what it counts."""

    def __init__(self, total: int, done: Iterable[Result], console: Console | None = None) -> None:
        self.total = total
        """How many tasks there are, in all arms and trials."""
        self.done = 0
        """How many of them are finished."""
        self.cost = 0.0
        """What these cost, where it is known."""
        self.priced = False
        """Something is known about it."""
        console = console or Console(stderr=True)
        columns = (
            TextColumn("evaluating"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[spent]}"),
            TimeElapsedColumn(),
            TextColumn("left:"),
            # Tasks take minutes: the speed is that of a long stretch.
            TimeRemainingColumn(),
        )
        self._progress = Progress(
            *columns, console=console, disable=not console.is_terminal, speed_estimate_period=3600
        )
        self._bar = self._progress.add_task("", total=total, spent="")
        self.add(done)

    def add(self, results: Iterable[Result]) -> None:
        """Count results."""
        for result in results:
            self.done += 1
            if result.cost is not None:
                self.cost, self.priced = self.cost + result.cost, True
        self._progress.update(self._bar, completed=self.done, spent=self.spent)

    @property
    def spent(self) -> str:
        """The cost so far, in words."""
        return f"${self.cost:,.2f}" if self.priced else "cost unknown"

    def __enter__(self) -> Bar:
        """Show it."""
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave it as it stands."""
        self._progress.stop()
