"""What the shell does by itself: ``cd``, ``echo``, ``test``, ``export``, ``source``; and the marks of submission."""

from __future__ import annotations

import re

from msgspec.structs import replace

from execledger.shell.options import parse_options
from execledger.shell.parts import Invocation, Part, program, runs
from execledger.shell.programs.idioms import given, known_as, texts
from execledger.vocabulary.records import Category, Effects

NEUTRAL = Part(comparable=True)
"""It changes nothing outside the shell, and adds nothing to what the command is."""

MARKERS = ("COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT", "MINI_SWE_AGENT_FINAL_OUTPUT")
"""Lines by which an agent says that its work is done."""

known_as(
    NEUTRAL,
    """
    true false : test [ [[ umask ulimit wait exit return shift let local break continue getopts hash
    """,
)
known_as(Part(category=Category.SETUP, volatile=True), "export declare typeset readonly unset unalias")
known_as(runs(Category.SETUP, volatile=True), "source . activate deactivate")
known_as(Part(opaque="eval", category=Category.OTHER, effects=Effects.UNKNOWN), "eval")
known_as(runs(Category.SUBMIT), "submit")
known_as(Part(volatile=True), "read")


@program("cd", "chdir", "pushd")
def cd(call: Invocation) -> Part:
    """``cd DIR``; where a bare ``cd``, ``cd -`` or a computed name leads is not known."""
    options = parse_options(call.args, "LPe@n")
    target = options.operands[0].literal if len(options.operands) == 1 and not options.unknown else None
    known = target is not None and target not in ("", "-") and not target.startswith("+")
    return Part(comparable=True, moves_to=target if known else "")


@program("popd")
def popd(call: Invocation) -> Part:
    """Back to a directory that we don't keep."""
    return Part(comparable=True, moves_to="")


@program("echo", "printf")
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


@program("mapfile", "readarray")
def mapfile(call: Invocation) -> Part:
    """It reads lines into a variable, and may call something on the way."""
    return runs(Category.OTHER) if given(call.args, "C") else NEUTRAL


@program("set")
def set_(call: Invocation) -> Part:
    """``set -e`` is neutral; a bare ``set`` prints the shell's variables, and other options change what commands do."""
    if not call.args:
        return Part(volatile=True)
    plain = all(re.fullmatch(r"[-+][euxo]+|pipefail|errexit|nounset|xtrace", word.literal or "") for word in call.args)
    return NEUTRAL if plain else runs(Category.OTHER)


GLOBBING = re.compile(r"-[suq]+|(?:null|dot|fail|nocase|ext)glob|globstar")
"""Words of ``shopt`` that change which files a pattern matches."""


@program("shopt")
def shopt(call: Invocation) -> Part:
    """Most options of the shell change what later commands mean."""
    return NEUTRAL if all(GLOBBING.fullmatch(word.literal or "") for word in call.args) else runs(Category.OTHER)


@program("trap")
def trap(call: Invocation) -> Part:
    """What a trap runs later is not followed."""
    words = texts(call.args)
    plain = not words or words[0] == "-" or given(call.args[:1], "lp") or (call.args[0].literal == "")
    return NEUTRAL if plain else runs(Category.OTHER)


@program("alias")
def alias(call: Invocation) -> Part:
    """An alias changes what later words mean."""
    defines = any("=" in word.source for word in call.args)
    return Part(category=Category.SETUP, opaque="function") if defines else Part(category=Category.OTHER)
