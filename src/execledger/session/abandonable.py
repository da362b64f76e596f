"""Work that may never return, such as reading a file of a network mount that does not answer."""

from __future__ import annotations

import threading
from collections.abc import Callable


class AbandonableWork:
    """Runs work on a thread of its own, and waits for it as long as it may take.

    What does not return in time is left to itself: nothing waits for it any more, nor does the end of the process.
    Until it has returned, no other work is started, so that there is at most one such thread.
    """

    def __init__(self) -> None:
        """No work was started yet."""
        self._thread: threading.Thread | None = None

    @property
    def stuck(self) -> bool:
        """Earlier work has not returned yet."""
        return self._thread is not None and self._thread.is_alive()

    def run(self, work: Callable[[], None], seconds: float) -> None:
        """Run ``work``, and return when it has ended or its time is over; what it raises is raised here."""
        if self.stuck:
            return
        failed: list[BaseException] = []

        def catching() -> None:
            try:
                work()
            except BaseException as error:
                failed.append(error)

        self._thread = threading.Thread(target=catching, name="execledger-look", daemon=True)
        self._thread.start()
        self._thread.join(seconds)
        if failed:
            raise failed[0]
