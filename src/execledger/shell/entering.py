"""The folders that a command enters: which ``cd`` comes first, and how far one reaches."""

from __future__ import annotations

import re

from execledger.shell.paths import resolve
from execledger.shell.tree import Item, Sequence, Simple


def leading_cd(tree: Sequence, start: str) -> tuple[Sequence, str]:
    """The command without its literal leading ``cd``, which belongs to where it runs, and where that leads."""
    while len(tree.items) > 1:
        first = tree.items[0]
        words = first.node.words if isinstance(first.node, Simple) else ()
        plain = isinstance(first.node, Simple) and not (first.node.redirects or first.node.assignments)
        if not plain or len(words) != 2 or words[0].literal != "cd" or first.operator not in ("&&", ";"):
            break
        target = words[1].literal
        path = None if target is None or target.startswith("-") else resolve(start, target)
        if path is None or (first.operator == ";" and path != start):
            break
        start = path
        tree = Sequence(tree.items[1:])
    return tree, start


def stops_at_failures(item: Item, before: bool) -> bool:
    """Whether a failure ends the command behind ``item``, which may be ``set -e`` or ``set +e``; ``before`` it, too."""
    if not isinstance(item.node, Simple) or not item.node.words or item.node.words[0].literal != "set":
        return before
    words = [word.literal or "" for word in item.node.words]
    if any(word.startswith("+") for word in words):
        return False
    return before or any(re.fullmatch(r"-\w*e\w*|errexit", word) for word in words)


def goes_on(item: Item) -> bool:
    """The commands after ``item`` run in any case, or an error message is shown."""
    if item.operator in (";", "&"):
        return True
    words = item.node.words if isinstance(item.node, Simple) else ()
    named = words[0].literal if words else None
    return item.operator == "&&" and not item.negated and named in ("cd", "set", "export", "echo", "true", ":")


def moves(item: Item, behind: tuple[Item, ...]) -> bool:
    """Whether the directory that ``item`` enters is that of all that follows: nothing goes on where it fails."""
    if item.operator == ";" and isinstance(item.node, Simple) and item.node.redirects:
        # Its complaint is hidden, so the output would not show a failure.
        return False
    if item.operator != "||":
        return not item.negated
    node = behind[0].node if behind else None
    return isinstance(node, Simple) and bool(node.words) and node.words[0].literal in ("exit", "return")
