"""Variables that change what a known program does: which program runs, what it runs besides, where it writes.

Other variables don't matter to the programs that we know, and a program that we don't know is unknown anyway.
"""

from __future__ import annotations

import re

from execledger.shell.tree import Word

ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(?:\[[^\]]*\])?\+?=(.*)", re.DOTALL)
"""``NAME=value``, or ``NAME[0]=value``."""
ACTING = re.compile(
    r"PATH|CDPATH|IFS|ENV|HOME|TMPDIR|SHELLOPTS|PROMPT_COMMAND|PS4|EDITOR|VISUAL|PAGER|BROWSER|SHELL|FPATH|FIGNORE"
    r"|POSIXLY_CORRECT|NLSPATH|LOCPATH|GCONV_PATH|MAGIC|INPUTRC|TERMINFO\w*|VIMINIT|EXINIT|ZDOTDIR|GLOBIGNORE|HISTFILE"
    r"|(?:XDG_|LD_|DYLD_|BASH|LESS|GIT_|MAN|RIPGREP_|GREP_|TAR_|FZF_|BAT_|MORE|AG_|ACK|JQ_|AWK|PERL|EXA_|FD_|GLIBC_"
    r"|MALLOC_|DEBUGINFOD_|PIP_|PYTHON|NODE_|NPM_|npm_|UV_|COVERAGE_|CARGO_|RUST)\w*"
    r"|GO(?:FLAGS|PATH|ROOT|BIN|CACHE|MODCACHE|PROXY|TMPDIR|DEBUG|ENV|WORK)"
)
"""Variables that may make a reader or searcher run or write something, or read something else."""
PAGERS = ("GIT_PAGER", "PAGER", "MANPAGER", "BAT_PAGER")
"""Those that only name a pager, which is harmless where it is a plain one."""
INTEGERS = re.compile(r"S?RANDOM|SECONDS|LINENO|OPTIND|HISTCMD|EPOCH\w+|E?UID|PPID|COMP_\w+")
"""Variables that the shell keeps as numbers: what is assigned to one is evaluated as an expression."""
HARMLESS = ("GIT_OPTIONAL_LOCKS", "GIT_TERMINAL_PROMPT", "LESSCHARSET", "GREP_COLOR", "GREP_COLORS", "BAT_THEME")
"""Those that change nothing that we care about."""


def acting(name: str) -> bool:
    """A variable whose value programs or the shell act upon."""
    return bool(ACTING.fullmatch(name) or INTEGERS.fullmatch(name))


def acts(word: Word) -> bool:
    """An assignment after which known programs can't be trusted to do what they always do."""
    match = ASSIGNMENT.match(word.literal if word.literal is not None else word.source)
    if match is None or match[1] in HARMLESS or (match[1] in PAGERS and match[2] in ("", "cat", "less", "more")):
        return False
    if INTEGERS.fullmatch(match[1]):
        return word.literal is None or not re.fullmatch(r"-?\d+", match[2])
    return bool(ACTING.fullmatch(match[1]))
