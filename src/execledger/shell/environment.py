"""Variables and files that change what known programs do: which program runs, what it runs besides, where it writes.

Variables of one program are among its facts; those that every program, its libraries or the shell read are listed
here. Other variables do not matter to known programs, and an unknown program has unknown effects anyway.

A file steers programs if a later command may do something else than its words say once the file is written. Settings,
start-up files and ignore lists are hidden by custom; programs are in folders that are called ``bin``, or have the name
of the program that they replace.
"""

from __future__ import annotations

import re
from functools import lru_cache

from execledger.shell.facts import Programs, Variables
from execledger.shell.programs import PROGRAMS
from execledger.shell.tree import Word

ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(?:\[[^\]]*\])?\+?=(.*)", re.DOTALL)
"""``NAME=value``, or ``NAME[0]=value``."""
SHARED = Variables(
    r"PATH|CDPATH|IFS|ENV|HOME|TMPDIR|SHELLOPTS|PROMPT_COMMAND|PS4|EDITOR|VISUAL|PAGER|BROWSER|SHELL|FPATH|FIGNORE"
    r"|POSIXLY_CORRECT|NLSPATH|LOCPATH|GCONV_PATH|INPUTRC|TERMINFO\w*|ZDOTDIR|GLOBIGNORE|HISTFILE"
    r"|(?:XDG_|LD_|DYLD_|BASH|FZF_|GLIBC_|MALLOC_)\w*",
    pagers=("PAGER",),
)
"""Variables of the shell, of the dynamic linker and of libraries."""
INTEGERS = re.compile(r"S?RANDOM|SECONDS|LINENO|OPTIND|HISTCMD|EPOCH\w+|E?UID|PPID|COMP_\w+")
"""Variables that the shell keeps as numbers: what is assigned to one is evaluated as an expression."""
PLAIN_PAGERS = ("", "cat", "less", "more")
"""Pagers that only print."""


class _Environment:
    """The variables that matter to the programs of one registry."""

    def __init__(self, programs: Programs) -> None:
        known = [SHARED, *(facts.variables for facts in programs.facts if facts.variables is not None)]
        self.acting = re.compile("|".join(one.acting for one in known))
        self.pagers = frozenset(name for one in known for name in one.pagers)
        self.harmless = frozenset(name for one in known for name in one.harmless)


@lru_cache(maxsize=8)
def _environment(programs: Programs) -> _Environment:
    return _Environment(programs)


def acting(name: str, programs: Programs) -> bool:
    """Programs of the registry, or the shell, act upon the value of the variable ``name``."""
    return bool(_environment(programs).acting.fullmatch(name) or INTEGERS.fullmatch(name))


def acts(word: Word, programs: Programs) -> bool:
    """``word`` is an assignment that may change what known programs do."""
    match = ASSIGNMENT.match(word.literal if word.literal is not None else word.source)
    if match is None:
        return False
    name, value = match.groups()
    known = _environment(programs)
    if name in known.harmless or (name in known.pagers and value in PLAIN_PAGERS):
        return False
    if INTEGERS.fullmatch(name):
        return word.literal is None or not re.fullmatch(r"-?\d+", value)
    return bool(known.acting.fullmatch(name))


FOLDERS = frozenset("bin sbin etc profile.d".split())
"""Folders that hold programs, or settings of the whole machine."""


@lru_cache(maxsize=4096)
def steers(path: str, home: str | None = None) -> bool:
    """Writing ``path`` may change what other programs do; folders above ``home``, where the work is, do not count."""
    below = path.removeprefix(home + "/") if home else path
    *folders, name = [part for part in below.split("/") if part not in ("", ".", "..")] or [""]
    if name in PROGRAMS and "." not in name:
        return True
    if name.endswith((".so", ".dylib")) or ".so." in name:
        return True
    return any(part.startswith(".") or part in FOLDERS for part in (*folders, name))
