"""From the text of a shell command to its tree, or to the reason why there is none."""

from __future__ import annotations

import re
from functools import cache, lru_cache

import tree_sitter
import tree_sitter_bash
from msgspec.structs import replace

from execledger.shell.grammar import CommandReader
from execledger.shell.heredocs import MAX_DEPTH, Nesting, Refused, line_ends, scan
from execledger.shell.tree import Item, Opaque, Sequence

MAX_LENGTH = 256 * 1024
"""The greatest length of a command that is read, in characters."""
MAX_SCRIPT = 32 * 1024
"""How many bytes may be outside of here-documents, blanks not counted."""
MAX_OPERATORS = 2_000
"""How many of these may be operators and brackets."""
MAX_FAILURES = 64
"""How many more lines are tried where a command does not end with its line."""

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_LOST_DASH = re.compile(rb"-(?<=[ \t]-)(?=[ \t]+\d+[<>])")
_OPERATORS = re.compile(rb"[|&;<>(){}`\[\]]")


@lru_cache(maxsize=16)
def parse(command: str) -> Sequence | Opaque:
    """The tree of a command; never raises. A proposed command is read again with its result."""
    try:
        return _read(command, 0) or Opaque("empty")
    except Refused as refusal:
        return Opaque(refusal.reason)


def parse_until_error(command: str) -> Sequence:
    """The commands in the lines before the first that can't be read: bash has run them when it gets there."""
    items: list[Item] = []
    start = failures = 0
    try:
        text = _checked(command)
    except Refused:
        return Sequence()
    for end in line_ends(text):
        try:
            found = _read(text[start:end].decode(), 0) or Sequence()
        except Refused:
            # A compound command may go on in the next line.
            failures += 1
            if failures > MAX_FAILURES:
                break
            continue
        items += (replace(item, operator=item.operator or ";") for item in found.items)
        start = end
    return Sequence(tuple(items))


@cache
def _parser() -> tree_sitter.Parser:
    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def _read(command: str, depth: int) -> Sequence | None:
    """The tree of a command that is nested ``depth`` levels deep in another; None if there is no command in it."""
    text = _checked(command)
    nesting = scan(text) if b"<<" in text else Nesting(text, {})
    # The grammar loses the dash of `cat - 2>&1`; any other letter in its place holds its ground.
    nesting.masked = _LOST_DASH.sub(b"_", nesting.masked)
    _check_size(nesting.masked)
    root = _parser().parse(nesting.masked).root_node
    if root.has_error:
        raise Refused("syntax")
    reader = CommandReader(text, nesting, depth, _read)
    sequence = reader.sequence(root.children, 0, len(text))
    reader.check_complete()
    if nesting.heres:
        raise Refused("lost-text")
    return sequence if sequence.items else None


def _checked(command: str) -> bytes:
    """The bytes of a command that is short and clean enough to read."""
    if len(command) > MAX_LENGTH:
        raise Refused("too-long")
    if _CONTROL.search(command):
        raise Refused("control-byte")
    try:
        return command.encode()
    except UnicodeEncodeError:
        raise Refused("invalid-text") from None


def _check_size(text: bytes) -> None:
    """Refuse what the grammar could take seconds to give up on."""
    if text.count(b"(") > MAX_DEPTH:
        depth = 0
        for bracket in re.findall(rb"[()]", text):
            depth = depth + 1 if bracket == b"(" else max(0, depth - 1)
            if depth > MAX_DEPTH:
                raise Refused("too-deep")
    if len(text) - text.count(b" ") > MAX_SCRIPT:
        raise Refused("too-long")
    if len(text) > MAX_OPERATORS and len(_OPERATORS.findall(text)) > MAX_OPERATORS:
        raise Refused("too-long")
