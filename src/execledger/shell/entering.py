"""The folder that a command enters first: a leading ``cd`` belongs to where it runs, not to what it does."""

from __future__ import annotations

from execledger.shell.paths import resolve
from execledger.shell.tree import Sequence, Simple


def leading_cd(tree: Sequence, start: str) -> tuple[Sequence, str]:
    """The command without its literal leading ``cd``, and where that leads from ``start``."""
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
