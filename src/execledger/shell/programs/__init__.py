"""What the known programs do: one module per family, all of them imported here so that ``PROGRAMS`` is filled."""

from execledger.shell.programs import (
    allowed,
    archives,
    awk,
    builtins,
    files,
    filters,
    find,
    formatters,
    git,
    interpreters,
    packages,
    patching,
    perl,
    readers,
    search,
    sed,
    system,
    tests,
    toolchains,
)

__all__ = [
    "allowed",
    "archives",
    "awk",
    "builtins",
    "files",
    "filters",
    "find",
    "formatters",
    "git",
    "interpreters",
    "packages",
    "patching",
    "perl",
    "readers",
    "search",
    "sed",
    "system",
    "tests",
    "toolchains",
]

allowed.guard()
