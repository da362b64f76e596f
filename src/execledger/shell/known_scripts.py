"""Scripts that the agent wrote: what each names for writing, found out when it is run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from execledger.shell.programs.scripts import language_of, written_by

MAX_TEXTS = 4
"""Texts kept per script: the newest."""


class Scripts(Mapping[str, tuple[str, ...]]):
    """Scripts that the agent wrote. What each names for writing is found out when it is asked for: few are ever run."""

    def __init__(self, earlier: Mapping[str, tuple[str, ...]] | None = None) -> None:
        """The scripts in ``earlier``, and those written from now on."""
        self._earlier = earlier if earlier is not None else {}
        self._texts: dict[str, list[tuple[str, str | None]]] = {}
        self._named: dict[str, tuple[str, ...]] = {}

    def write(self, path: str, text: str, cwd: str | None) -> None:
        """Note one more text written to ``path``; it may be written in pieces, so what the last few name adds up."""
        texts = self._texts.setdefault(path, [])
        texts[:] = [*texts[1 - MAX_TEXTS :], (text, cwd)]
        self._named.pop(path, None)

    def __getitem__(self, path: str) -> tuple[str, ...]:
        """The files that the script at ``path`` names for writing."""
        if path not in self._texts:
            return self._earlier[path]
        if path not in self._named:
            named = [file for text, cwd in self._texts[path] for file in script_writes(path, text, cwd)]
            self._named[path] = tuple(dict.fromkeys((*self._earlier.get(path, ()), *named)))
        return self._named[path]

    def __iter__(self) -> Iterator[str]:
        """The scripts' paths."""
        return iter({**self._earlier, **self._texts})

    def __len__(self) -> int:
        """How many scripts there are."""
        return len({**self._earlier, **self._texts})

    def __contains__(self, path: object) -> bool:
        """A script was written to ``path``."""
        return path in self._texts or path in self._earlier


def is_script(path: str) -> bool:
    """``path`` is a script by its name."""
    return path.endswith((".sh", ".bash")) or bool(language_of(path))


def script_writes(path: str, text: str, cwd: str | None) -> tuple[str, ...]:
    """The files that a script names for writing."""
    if path.endswith((".sh", ".bash")):
        # A shell script is read as a command is, and a command may run a script.
        from execledger.shell.classify import classify_command

        return classify_command(text, cwd).writes
    return written_by(text, language_of(path))
