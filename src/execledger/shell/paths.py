"""Paths of files as a command names them, and the working directory that they are joined with."""

from __future__ import annotations

import posixpath
import re
from functools import lru_cache

from execledger.shell.tree import Item, Sequence, Simple

HARMLESS = frozenset(("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/fd/1", "/dev/fd/2"))
"""Targets of a redirection that change no file."""


_CHANGING = r"/(?:proc|sys|run|var/+log|var/+run|dev(?!/(?:null|stdout|stderr|tty|fd/[12])(?![\w/])))(?:/|(?![\w.-]))"
UNSTABLE = re.compile(_CHANGING)
"""Folders whose files change by themselves."""
_UNSTABLE_IN_TEXT = re.compile(rf"(?<![\w.-]){_CHANGING}")
_UNSTABLE_NAMES = ("/proc", "/sys", "/run", "/var/", "/dev")
"""How the names of these folders begin: looking for these first is faster than the pattern."""
BY_PROCESS = re.compile(r"/(?:proc|dev/fd)(?:/|$)")
"""Where a process's own folders and open files have other names."""
SYSTEM = re.compile(r"/(?:$|(?:s?bin|boot|dev|etc|lib\w*|media|mnt|proc|run|snap|srv|sys|tmp|usr|var)(?:/|$))")
"""Folders of the operating system."""
PROGRAM_FOLDERS = ("/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin", "/usr/local/sbin", "/opt/homebrew/bin")
"""Folders of the machine's programs: a ``bin/cat`` elsewhere may be anything."""
PARENT = re.compile(r"(?:^|/)\.\.(?:/|$)")
"""A step up. Behind a link it leads elsewhere than its text says."""
UNRECORDED_DIRECTORY = "/unrecorded-directory"
"""Stands for the directory in which all commands of a run start if the run does not say which one that is.

Paths beneath it are comparable with each other, and are shown relative to it; nothing is known of what lies above it.
"""


@lru_cache(maxsize=1024)
def resolve(cwd: str | None, path: str) -> str | None:
    """The one path that ``path`` means in ``cwd``; relative to an unknown directory it stays unresolved (None).

    So does what lies above the directory that a run did not record. Cached, so that records share the text of a path.
    """
    if path.startswith("/"):
        return posixpath.normpath("/" + path.lstrip("/"))
    if cwd is None or not path:
        return None
    found = posixpath.normpath(posixpath.join(cwd, path))
    return None if beneath(cwd, UNRECORDED_DIRECTORY) and not beneath(found, UNRECORDED_DIRECTORY) else found


def known_part(path: str) -> str:
    """``path`` for people: relative where the directory that it starts from was not recorded, else as it is."""
    return "." if path == UNRECORDED_DIRECTORY else path.removeprefix(f"{UNRECORDED_DIRECTORY}/")


def spell(cwd: str | None, path: str) -> str:
    """The path for people and programs: resolved where the directory is known, else as it was typed, tidied."""
    return resolve(cwd, path) or (posixpath.normpath(path) if path else path)


@lru_cache(maxsize=4096)
def unstable(path: str) -> bool:
    """A file whose content changes by itself, however its name is spelled."""
    plain = resolve(None, path) if path.startswith("/") else path
    return bool(UNSTABLE.match(plain or "")) and plain not in HARMLESS


def machine_name(program: str) -> str:
    """The name of a program of the machine's own, without its folder; any other program as it is spelled."""
    folder, _, name = program.rpartition("/")
    return name if folder in PROGRAM_FOLDERS else program


def beneath(path: str, folder: str | None) -> bool:
    """``path`` is ``folder`` or lies somewhere in it, as far as names tell; nothing lies in a folder that is unknown.

    In the root lies everything but what is the machine's own.
    """
    if folder == "/":
        return not SYSTEM.match(path)
    return folder is not None and (path == folder or path.startswith(f"{folder}/"))


def names_unstable(command: str) -> bool:
    """The text of a command names a file that changes by itself, as a word, an input or a value."""
    return any(name in command for name in _UNSTABLE_NAMES) and bool(_UNSTABLE_IN_TEXT.search(command))


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
