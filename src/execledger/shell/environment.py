"""Variables that change what a known program does: which program runs, what it runs besides, where it writes.

Other variables don't matter to the programs that we know, and a program that we don't know is unknown anyway.
"""

from __future__ import annotations

import re

from execledger.shell.tree import Word

ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)\+?=(.*)", re.DOTALL)
"""``NAME=value``."""
ACTING = re.compile(
    r"PATH|CDPATH|IFS|ENV|HOME|TMPDIR|SHELLOPTS|BASHOPTS|PROMPT_COMMAND|PS4|EDITOR|VISUAL|PAGER|BROWSER|XDG_CONFIG_\w+"
    r"|(?:LD|DYLD|BASH|LESS|GIT|MAN|RIPGREP|GREP|TAR|FZF|BAT|ZDOTDIR|MORE|AG|ACK|JQ)\w*"
)
"""Variables that may make a reader or searcher run or write something, or read something else."""
PAGERS = ("GIT_PAGER", "PAGER", "MANPAGER", "BAT_PAGER")
"""Those that only name a pager, which is harmless where it is a plain one."""
HARMLESS = ("GIT_OPTIONAL_LOCKS", "GIT_TERMINAL_PROMPT", "LESSCHARSET", "GREP_COLOR", "GREP_COLORS", "BAT_THEME")
"""Those that change nothing that we care about."""


def acts(word: Word) -> bool:
    """An assignment after which known programs can't be trusted to do what they always do."""
    match = ASSIGNMENT.match(word.literal if word.literal is not None else word.source)
    if match is None or not ACTING.fullmatch(match[1]) or match[1] in HARMLESS:
        return False
    return match[1] not in PAGERS or match[2] not in ("", "cat", "less", "more")
