"""Commands that run another command: ``env``, ``timeout``, ``sudo``, ``time``, ``xargs``, ``bash -c``."""

from __future__ import annotations

import re
from collections.abc import Callable

from msgspec import Struct

from execledger.shell.options import Options, literal_word, parse_options
from execledger.shell.paths import machine_name
from execledger.shell.tree import Word
from execledger.shell.words import splits

MAX_DEPTH = 8
"""The greatest number of nested wrappers that is taken off."""


class Peeled(Struct, frozen=True, gc=False):
    """A command without its wrappers."""

    words: tuple[Word, ...]
    """The program and its arguments."""
    script: Word | None = None
    """The text that a shell is given with -c, in place of ``words``."""
    volatile: bool = False
    """A wrapper prints something of its own: timings, a trace."""
    background: bool = False
    """A wrapper leaves the command running."""
    moved: Word | None = None
    """A wrapper changes the working directory to this."""
    given: tuple[Word, ...] = ()
    """``NAME=value`` words that a wrapper puts into the environment."""
    unfed: bool = False
    """The command's standard input is not that of the wrapper, which reads it itself."""
    apart: bool = False
    """A wrapper is a process of its own: ``env cd x`` does not move the shell."""


def _behind_assignments(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """The words after leading ``NAME=value`` words."""
    while words and re.match(r"[A-Za-z_]\w*=", words[0].literal or words[0].source):
        words = words[1:]
    return words


def _env(args: tuple[Word, ...]) -> Peeled | None:
    long = {"ignore-environment": "i", "unset": "u:", "chdir": "C:", "null": "0", "split-string": "S:"}
    options = parse_options(args, "iu:C:0vS:", long, permute=False)
    rest = _behind_assignments(options.operands)
    moved = options.values("C")
    if not rest or options.has("S") or options.unknown:
        return None
    given = options.operands[: len(options.operands) - len(rest)]
    return Peeled(rest, moved=moved[-1] if moved else None, given=given)


def _sudo(args: tuple[Word, ...]) -> Peeled | None:
    long = {"user": "u:", "group": "g:", "preserve-env": "E?", "non-interactive": "n"}
    options = parse_options(args, "u:g:EnHSk", long, permute=False)
    rest = _behind_assignments(options.operands)
    given = options.operands[: len(options.operands) - len(rest)]
    return None if options.unknown or not rest else Peeled(rest, volatile=True, given=given)


def _after(
    spec: str, long: dict[str, str], skip: int = 0, *, volatile: bool = False, background: bool = False
) -> Callable[[tuple[Word, ...]], Peeled | None]:
    """A wrapper whose command follows its options and ``skip`` operands."""

    def peel_one(args: tuple[Word, ...]) -> Peeled | None:
        options = parse_options(args, spec, long, permute=False)
        rest = options.operands[skip:]
        return None if options.unknown or not rest else Peeled(rest, None, volatile, background)

    return peel_one


def _timeout(args: tuple[Word, ...]) -> Peeled | None:
    """``timeout 10 COMMAND``; with less than a second the time limit decides what is printed."""
    long = {"signal": "s:", "kill-after": "k:", "foreground": "f", "preserve-status": "p"}
    options = parse_options(args, "s:k:v", long, permute=False)
    rest = options.operands[1:]
    if options.unknown or not rest:
        return None
    return Peeled(rest, volatile=not re.fullmatch(r"[1-9]\d*(?:\.\d+)?[smhd]?", options.operands[0].literal or ""))


def _xargs(args: tuple[Word, ...]) -> Peeled | None:
    long = {"null": "0", "max-args": "n:", "max-procs": "P:", "replace": "i?", "no-run-if-empty": "r", "verbose": "t",
            "delimiter": "d:", "max-lines": "l?", "arg-file": "a:", "exit": "x", "max-chars": "s:"}  # fmt: skip
    options = parse_options(args, "0n:P:I:i::rd:L:l::ta:xs:E:", long, permute=False)
    if options.unknown or any(word.literal is None for _, word in options.given if word is not None):
        return None
    # Side by side, their outputs come in any order.
    volatile = options.has("t", "P")
    if not options.operands:
        return Peeled((literal_word("echo"), _given()), volatile=volatile, unfed=True)
    if options.has("I", "i"):
        # Of several marks the last one counts, unless another option takes its place: all of them are computed.
        marks = {word.literal for word in options.values("I", "i")} | ({"{}"} if options.has("i") else set())
        words = [
            word.literal is None or any(mark in word.literal for mark in marks if mark) for word in options.operands
        ]
        replaced = [
            _given(word.source) if computed else word for word, computed in zip(options.operands, words, strict=True)
        ]
        return Peeled((*replaced, *(() if any(words) else (_given(),))), volatile=volatile, unfed=True)
    return Peeled((*options.operands, _given()), volatile=volatile, unfed=True)


def _given(source: str = "$ARGS") -> Word:
    """A word that is only known when the command runs."""
    return Word(source, None)


def _shell(args: tuple[Word, ...]) -> Peeled | None:
    """``bash -c TEXT``, ``bash -lc TEXT``; a shell that runs a script file is left to the interpreters."""
    long = {"login": "l", "norc": "N", "noprofile": "P"}
    options: Options = parse_options(args, "clixevuo:", long, permute=False)
    if options.unknown or not options.has("c") or not options.operands:
        return None
    if any(word.literal not in ("pipefail", "errexit", "nounset") for word in options.values("o")):
        return None
    return Peeled((), script=options.operands[0], volatile=options.has("x", "v"))


WRAPPERS: dict[str, Callable[[tuple[Word, ...]], Peeled | None]] = {
    "env": _env,
    "timeout": _timeout,
    "gtimeout": _timeout,
    "sudo": _sudo,
    "time": _after("pvf:", {"portability": "p", "verbose": "v", "format": "f:"}, volatile=True),
    "nice": _after("n:", {"adjustment": "n:"}),
    "ionice": _after("c:n:t", {}),
    "nohup": _after("", {}, background=True),
    "setsid": _after("cfw", {"fork": "f", "wait": "w"}, background=True),
    "stdbuf": _after("i:o:e:", {"input": "i:", "output": "o:", "error": "e:"}),
    "unbuffer": _after("p", {}),
    "command": _after("p", {}),
    "builtin": _after("", {}),
    "exec": _after("cla:", {}),
    "xargs": _xargs,
    "bash": _shell,
    "sh": _shell,
    "zsh": _shell,
    "dash": _shell,
}
"""Each wrapper's name, and how to find the command behind it; None if that is not certain."""


WITHIN = ("time", "command", "builtin")
"""Wrappers that the shell itself is."""


def _is_certain(words: tuple[Word, ...], inner: Peeled) -> bool:
    """The wrapper's own words are what they seem: literal, or a variable's value that stays one word."""
    behind = len(inner.words) if inner.script is None else len(words) - words.index(inner.script)
    own = words[1 : len(words) - behind]
    return all(word.literal is not None or (word in inner.given and not splits(word)) for word in own)


def peel(words: tuple[Word, ...]) -> Peeled:
    """Take the wrappers off ``words``."""
    if words and words[0].literal not in WRAPPERS and "/" not in (words[0].literal or ""):
        return Peeled(words)
    volatile = background = False
    moved: Word | None = None
    given: tuple[Word, ...] = ()
    unfed = apart = False
    for _ in range(MAX_DEPTH):
        name = machine_name(words[0].literal or "") if words else ""
        wrapper = WRAPPERS.get(name)
        inner = wrapper(words[1:]) if wrapper else None
        if inner is None or not _is_certain(words, inner):
            break
        volatile, background = volatile or inner.volatile, background or inner.background
        moved = inner.moved or moved
        given += inner.given
        unfed, apart = unfed or inner.unfed, apart or name not in WITHIN
        if inner.script is not None:
            return Peeled((), inner.script, volatile, background, moved, given, unfed, apart)
        words = inner.words
    return Peeled(words, None, volatile, background, moved, given, unfed, apart)
