"""Commands that are sure to write nothing, whatever their computed words turn out to be.

That a program only looks is found out from its options and scripts, and reading those is an art: a name that a pattern
finds may be an option, a placeholder may be glued to one, a script may be quoted in ways that nobody thought of. So the
effects of a command say what it would do as far as anybody can tell, and this says where there is no doubt: programs
that can't write at all, and a few others with plain words. Whatever is not listed here counts as a possible write.
"""

from __future__ import annotations

import re

from execledger.shell.options import parse_options
from execledger.shell.programs.awk import selected
from execledger.shell.provable import FIND, FIND_VALUED, READERS
from execledger.shell.tree import Word

PURE = frozenset(
    "cat head tail nl grep egrep fgrep wc cut tr ls dir echo pwd true false : cd basename dirname stat readlink"
    " realpath seq sleep which diff cmp comm paste fold expand unexpand rev tac du md5sum sha1sum sha256sum cksum sum"
    " jq test [ printf exit return break continue tty whoami id uname nproc strings od hexdump".split()
)
"""No option and no operand of these writes or runs anything; what the shell evaluates for them is asked elsewhere."""
LITERAL = frozenset({"test", "[", "printf", "diff", "jq"})
"""Those of them whose first words decide what the others are: they must not be computed."""
OPTIONS_CHECKED = frozenset({"rg", "fd", "fdfind", "tree"})
"""Programs whose own table says what they may be given; here their words must not be computed."""
SED = re.compile(r"(?:[\d,$+~!;{}pdq=\s]|/[^/\\\[\]\n]*/)*")
"""A script that selects and prints lines, without anything that could be read in two ways."""
SET = re.compile(r"[-+](?:[eufh]+|o)|errexit|nounset|pipefail")
"""Words of ``set`` that change how the shell stops, and nothing else."""
GIT = frozenset(("rev-parse", "branch"))
"""What git can be asked without its running whatever the repository's settings name."""
GIT_WORD = re.compile(r"--(?:short|show-toplevel|abbrev-ref|no-color)|-a|--|[^-].*")
"""The words that it may be given then."""


def harmless(name: str, args: tuple[Word, ...]) -> bool:
    """A program that is known to look is sure to do nothing else."""
    words = [word.literal for word in args if word.literal is not None]
    plain = len(words) == len(args)
    if name in PURE:
        return plain or name not in LITERAL
    if not plain:
        return False
    if name == "git":
        rest = words[1:] if words[:1] == ["--no-pager"] else words
        operands = sum(not word.startswith("-") for word in rest[1:])
        only_lists = rest[:1] != ["branch"] or not operands
        return bool(rest) and rest[0] in GIT and only_lists and all(map(GIT_WORD.fullmatch, rest[1:]))
    if name == "find":
        return _finds(words)
    if name == "set":
        return bool(words) and all(map(SET.fullmatch, words))
    if name in OPTIONS_CHECKED:
        return True
    return name in ("sed", "awk", "sort", "uniq") and _reads(name, args)


def _reads(name: str, args: tuple[Word, ...]) -> bool:
    """A reader that could be told to write is told nothing of the kind."""
    reader = READERS[name]
    options = parse_options(args, reader.options, reader.long)
    if options.unknown:
        return False
    if name == "uniq":
        return len(options.operands) < 2
    scripts = [word.literal or "" for word in options.values("e")] or list(options.paths[:1])
    if name == "sed":
        return bool(scripts) and all(map(SED.fullmatch, scripts))
    return name == "sort" or selected(scripts[0].strip() if scripts else "") is not None


def _finds(words: list[str]) -> bool:
    """Tests of names, types and sizes alone."""
    at = 0
    while at < len(words):
        if words[at] in FIND_VALUED:
            at += 1
        elif words[at].startswith("-") and words[at] not in FIND:
            return False
        at += 1
    return True
