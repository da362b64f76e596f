"""Where verbs print their tables."""

from __future__ import annotations

from rich.console import Console


class Screen(Console):
    """Standard output for tables; a reader that has gone is left to ``main``, as it is for any other output."""

    def on_broken_pipe(self) -> None:
        """Raise the error on, where rich would end the process."""
        raise BrokenPipeError
