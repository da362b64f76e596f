"""Becomes another program that ends when its parent does, by whatever cause; run as a file, it imports next to nothing.

    python -I -S leash.py PARENT PROGRAM ARGUMENTS...

Only Linux can promise that. Elsewhere the program is started as it is, and the lock that it holds tells of it.
"""

from __future__ import annotations

import os
import signal
import sys

_DEATH_SIGNAL = 1


def main(arguments: list[str]) -> None:
    """Take the leash, and become the program."""
    parent, *command = arguments
    if sys.platform.startswith("linux"):
        import ctypes

        ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGKILL)
        # The parent may have died before the leash was on.
        if os.getppid() != int(parent):
            sys.exit(1)
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(sys.argv[1:])
