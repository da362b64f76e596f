"""The registry of all known programs: one module per family, each with the tuple ``FACTS`` of its programs' records."""

from execledger.shell.facts import Programs
from execledger.shell.programs import (
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
    perl,
    readers,
    search,
    sed,
    system,
    test_runners,
    toolchains,
)

FAMILIES = (archives, awk, builtins, files, filters, find, formatters, git, interpreters, packages, perl, readers,
            search, sed, system, test_runners, toolchains)  # fmt: skip
"""The modules that state facts."""

PROGRAMS = Programs(facts for family in FAMILIES for facts in family.FACTS)
"""What is known about every program."""
