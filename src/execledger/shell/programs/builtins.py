"""What the shell does by itself: ``cd``, ``echo``, ``test``, ``export``, ``source``; and the marks of submission."""

from __future__ import annotations

import re

from msgspec.structs import replace

from execledger.shell.facts import ANY, NO_FILES, Facts, Invocation, Part, Reader, always, literal, runs
from execledger.shell.options import parse_options
from execledger.shell.programs.shared import given, texts
from execledger.shell.tree import Word
from execledger.vocabulary.records import Category, Effects

NEUTRAL = Part(comparable=True)
"""It changes nothing outside the shell, and adds nothing to what the command is."""

MARKERS = ("COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT", "MINI_SWE_AGENT_FINAL_OUTPUT")
"""Lines by which an agent says that its work is done."""


def cd(call: Invocation) -> Part:
    """``cd DIR``; where a bare ``cd``, ``cd -`` or a computed name leads is not known."""
    options = parse_options(call.args, "LPe@n")
    target = options.operands[0].literal if len(options.operands) == 1 and not options.unknown else None
    known = target is not None and target not in ("", "-") and not target.startswith("+")
    return Part(comparable=True, moves_to=target if known else "")


def popd(call: Invocation) -> Part:
    """Change to the directory on top of a stack that is not tracked: which one is unknown."""
    return Part(comparable=True, moves_to="")


def echo(call: Invocation) -> Part:
    """It prints its words; the agent's mark of submission makes it one."""
    if any(text.strip().startswith(MARKERS) for text in texts(call.args)):
        return Part(category=Category.SUBMIT)
    clock = call.name == "printf" and any(re.search(r"%\([^)]*\)T", word.source) for word in call.args)
    return replace(NEUTRAL, prints=printed(call), volatile=clock)


def printed(call: Invocation) -> str | None:
    """The text that ``echo`` or a plain ``printf`` prints; None if a word is dynamic."""
    words = [word.literal for word in call.args if word.literal is not None]
    if len(words) != len(call.args):
        return None
    options = [word for word in words[:2] if call.name == "echo" and re.fullmatch("-[neE]+", word)]
    text = " ".join(words[len(options) :])
    escapes = call.name == "printf" or any("e" in option for option in options)
    return text.replace("\\n", "\n").replace("\\t", "\t") if escapes else text


def mapfile(call: Invocation) -> Part:
    """It reads lines into a variable, and may call something on the way."""
    return runs(Category.OTHER) if given(call.args, "C") else NEUTRAL


def set_(call: Invocation) -> Part:
    """``set -e`` is neutral; a bare ``set`` prints the shell's variables, and other options change what commands do."""
    if not call.args:
        return Part(volatile=True)
    plain = all(re.fullmatch(r"[-+][euxo]+|pipefail|errexit|nounset|xtrace", word.literal or "") for word in call.args)
    return NEUTRAL if plain else runs(Category.OTHER)


GLOBBING = re.compile(r"-[suq]+|(?:null|dot|fail|nocase|ext)glob|globstar")
"""Words of ``shopt`` that change which files a pattern matches."""


def shopt(call: Invocation) -> Part:
    """Most options of the shell change what later commands mean."""
    return NEUTRAL if all(GLOBBING.fullmatch(word.literal or "") for word in call.args) else runs(Category.OTHER)


def trap(call: Invocation) -> Part:
    """What a trap runs later is not followed."""
    words = texts(call.args)
    plain = not words or words[0] == "-" or given(call.args[:1], "lp") or (call.args[0].literal == "")
    return NEUTRAL if plain else runs(Category.OTHER)


def alias(call: Invocation) -> Part:
    """An alias changes what later words mean."""
    defines = any("=" in word.source for word in call.args)
    return Part(category=Category.SETUP, opaque="function") if defines else Part(category=Category.OTHER)


SETS_VARIABLES = Part(category=Category.SETUP, volatile=True)
"""It changes the variables that later commands see."""
NOTHING_READ = Reader(texts=NO_FILES, stdin=False)
"""A program that reads no file."""
ERROR_HANDLING = re.compile(r"[-+](?:[eufh]+|o)|errexit|nounset|pipefail")
"""Words of ``set`` that change how the shell stops, and nothing else."""


def _sets_error_handling(args: tuple[Word, ...]) -> bool:
    return bool(args) and all(word.literal is not None and ERROR_HANDLING.fullmatch(word.literal) for word in args)


FACTS = (
    Facts(names="true :", does=NEUTRAL, harmless=always, provable=NOTHING_READ.sources, silent=ANY),
    Facts(names="false exit return break continue", does=NEUTRAL, harmless=always),
    Facts(names="test [", does=NEUTRAL, harmless=literal, silent=ANY),
    Facts(names="wait", does=NEUTRAL, silent=ANY),
    Facts(names="umask", does=NEUTRAL, silent=re.compile(r"[^-].*")),
    Facts(names="[[ ulimit shift let local getopts hash", does=NEUTRAL),
    Facts(names="export", does=SETS_VARIABLES, silent=re.compile(r"(?!-p)[\s\S]+")),
    Facts(names="unset", does=SETS_VARIABLES, silent=ANY),
    Facts(names="declare typeset readonly unalias", does=SETS_VARIABLES),
    Facts(names="source . activate deactivate", does=runs(Category.SETUP, volatile=True)),
    Facts(names="eval", does=Part(opaque="eval", category=Category.OTHER, effects=Effects.UNKNOWN)),
    Facts(names="submit", does=runs(Category.SUBMIT)),
    Facts(names="read", does=Part(volatile=True)),
    Facts(names="cd", does=cd, harmless=always, silent=ANY),
    Facts(names="chdir pushd", does=cd),
    Facts(names="popd", does=popd),
    Facts(
        names="echo",
        does=echo,
        harmless=always,
        provable=Reader("neE", texts=NO_FILES, stdin=False, lenient=True).sources,
    ),
    Facts(names="printf", does=echo, harmless=literal),
    Facts(names="mapfile readarray", does=mapfile),
    # A trace of the commands is printed among their output.
    Facts(
        names="set",
        does=set_,
        harmless=_sets_error_handling,
        silent=re.compile(r"(?![-+]o$|.*(?:(?:^| )[-+]\w*[xv]|xtrace|verbose)).+"),
    ),
    Facts(names="shopt", does=shopt, silent=re.compile(r"-[suq]+ .+")),
    Facts(names="trap", does=trap, silent=re.compile(r"(?!-[lp])[\s\S]+")),
    Facts(names="alias", does=alias),
)
"""Builtins of the shell."""
