"""Commands without output: what stands beside them is still the only thing shown."""

from __future__ import annotations

import re

from execledger.shell.parts import Part
from execledger.shell.tree import Word

SILENT = {
    **dict.fromkeys(("true", ":", "test", "[", "unset", "wait", "sleep", "cd"), re.compile(r"[\s\S]*")),
    # A trace of the commands stands among their output.
    "set": re.compile(r"(?![-+]o$|.*(?:(?:^| )[-+]\w*[xv]|xtrace|verbose)).+"),
    "export": re.compile(r"(?!-p)[\s\S]+"),
    "umask": re.compile(r"[^-].*"),
    "shopt": re.compile(r"-[suq]+ .+"),
    "trap": re.compile(r"(?!-[lp])[\s\S]+"),
}
"""Programs that print nothing if their arguments are such: what stands beside them is still the only output."""


def prints_nothing(words: tuple[Word, ...], part: Part) -> bool:
    """The command has no output; ``cd -`` prints where it goes."""
    arguments = SILENT.get(words[0].literal or "") if words else None
    silent = arguments is not None and arguments.fullmatch(" ".join(word.source for word in words[1:]))
    return not words or (bool(silent) and part.moves_to != "")
