"""Commands whose output depends on files alone: what a sealed environment may reuse before running.

This is a list of what is allowed, not of what is not: a plain list of plain readers with literal words, each with
options that are known not to ask the clock, the environment, other processes, or files outside of where the command
starts. Whatever is not on it is run, and compared afterwards.
"""

from __future__ import annotations

from functools import lru_cache

from execledger.shell.facts import Programs
from execledger.shell.paths import PARENT, beneath, leading_cd, resolve, unstable
from execledger.shell.programs import PROGRAMS
from execledger.shell.syntax import parse
from execledger.shell.tree import Node, Opaque, Pipeline, Redirect, Simple


def provable_command(command: str, base: str | None, programs: Programs = PROGRAMS) -> bool:
    """The command's output depends only on files beneath ``base``, where it starts, by the facts in ``programs``."""
    tree = parse(command)
    if isinstance(tree, Opaque) or base is None:
        return False
    tree, start = leading_cd(tree, base)
    place = (start, base)
    return (
        _within(start, base)
        and bool(tree.items)
        and all(item.operator != "&" and not item.negated and _node(item.node, place, programs) for item in tree.items)
    )


def _node(node: Node, place: tuple[str, str], programs: Programs) -> bool:
    if isinstance(node, Simple):
        return _simple(node, place, programs, fed=False)[0]
    if not isinstance(node, Pipeline):
        return False
    files = 0
    for at, stage in enumerate(node.parts):
        if not isinstance(stage, Simple):
            return False
        fine, named = _simple(stage, place, programs, fed=at > 0)
        files += named
        # Output and errors of two programs come in any order; for one file there is only one of them.
        if not fine or files > 1 or (at == 0 and named != 1):
            return False
    return True


def _simple(node: Simple, place: tuple[str, str], programs: Programs, *, fed: bool) -> tuple[bool, int]:
    """Whether a simple command may be reused, and how many files or folders it reads."""
    fed_file = _redirected(node.redirects, place)
    if fed_file is None or node.assignments or not node.words or any(word.literal is None for word in node.words):
        return False, 0
    facts = programs.find(node.words[0].literal or "")
    sources = facts.provable(node.words[1:]) if facts is not None and facts.provable is not None else None
    if sources is None or not all(_inside(file, place) for file in sources.files):
        return False, 0
    if fed_file and sources.files:
        # The file behind ``<`` is opened as well, and without it nothing is shown.
        return False, 0
    enough = bool(sources.files) or fed or fed_file or not sources.stdin
    # A program that walks a folder may print output and errors in any order.
    return enough, 2 if sources.walks else len(sources.files) + fed_file


def _redirected(redirects: tuple[Redirect, ...], place: tuple[str, str]) -> bool | None:
    """Whether a file is the standard input; None if a redirection does more than that, or than hiding something."""
    fed = False
    for one in redirects:
        target = one.target.literal if one.target else None
        if one.operator == "<" and one.descriptor in (None, 0) and target and _inside(target, place):
            fed = True
        elif not (one.operator in (">", "&>") and target == "/dev/null") and not (
            one.operator == ">&" and target in ("1", "2")
        ):
            return None
    return fed


def _inside(path: str, place: tuple[str, str]) -> bool:
    """``path`` names something beneath the base, without a step up that a link could lead elsewhere."""
    start, base = place
    return bool(path) and path != "-" and not PARENT.search(path) and _within(resolve(start, path) or "", base)


@lru_cache(maxsize=4096)
def _within(path: str, base: str) -> bool:
    return beneath(path, base) and not unstable(path)
