"""Files that steer programs: once one is written, a later command may do something else than its words say.

Settings, start-up files and ignore lists are hidden by custom; programs stand in folders that are called ``bin`` or
bear the name of the program that they take the place of.
"""

from __future__ import annotations

from functools import lru_cache

from execledger.shell.parts import PROGRAMS

FOLDERS = frozenset("bin sbin etc profile.d".split())
"""Folders that hold programs, or settings of the whole machine."""


@lru_cache(maxsize=4096)
def steers(path: str, home: str | None = None) -> bool:
    """Writing ``path`` may change what other programs do; what stands above ``home``, where the work is, is no sign."""
    below = path.removeprefix(home + "/") if home else path
    *folders, name = [part for part in below.split("/") if part not in ("", ".", "..")] or [""]
    if name in PROGRAMS and "." not in name:
        return True
    if name.endswith((".so", ".dylib")) or ".so." in name:
        return True
    return any(part.startswith(".") or part in FOLDERS for part in (*folders, name))
