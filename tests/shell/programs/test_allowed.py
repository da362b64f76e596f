"""Readers that can be told to write or to run something."""

from __future__ import annotations

import pytest

from execledger.shell.parts import PROGRAMS
from execledger.shell.programs.allowed import ALLOWED
from tests.shell.asking import ask


@pytest.mark.parametrize(
    "command",
    [
        "rg --pre ./x foo",
        "rg --frobnicate foo",
        "fd --exec-frob x",
        "bat --pager=./x a",
        "tree -o f",
        "tree --frob",
        "nm --plugin ./x a",
        "objdump --frob a",
        "file -C -m x",
        "ag --pager x foo",
        "eza --frob",
        "sort $x",
        "sort *",
        "sort {-o,b} a",
        "sort src/$x",
        "ls | xargs sort",
        "ls | xargs -I{} sort {}",
        "ls | xargs sed -n 1p",
        "ls | xargs git log",
        "sed -n 5p $x",
        "sed -n 5p *",
        "git log $x",
        "rg foo $x",
        "find $x",
        "find . -frobnicate",
        "less $x",
        "uniq $x",
        "yq -i .a f",
        "git diff --ext-diff",
        "git log --textconv",
        "git show --show-signature",
        "git help log",
        'awk \'{ print }\n/"/ { print "y" > "f" }\' a',
        "awk 'x\n/#/ { print > $1 }' a",
    ],
)
def test_what_may_be_an_option_makes_effects_unknown(command: str) -> None:
    """An option that is not listed, a computed word that may be one, a program whose reading is not certain."""
    assert ask(command).effects == "unknown"


@pytest.mark.parametrize(
    "command",
    [
        "rg -n --no-heading -S 'a|b' -g '**/*.py' src",
        "fd -e py -t f test",
        "bat -r 5:9 a.py",
        "tree -L 2 -a --noreport",
        "file a.py",
        "sort -u a.txt",
        "sort src/*.txt",
        'sort "src/$x"',
        "sort -- $x",
        "ls | xargs cat",
        "ls | xargs grep -l foo",
        "ls | xargs -I{} head -3 src/{}",
        "find src/*/tests -name '*.py'",
        'find . -name "$x"',
        "find . -name '*.py' -exec sort {} +",
        "git log --oneline -5",
        "cat $x",
        "grep foo *",
        "head -5 $(ls)",
    ],
)
def test_what_only_looks_stays_known(command: str) -> None:
    """Listed options, words that begin as paths do, and programs without an option that acts."""
    assert ask(command).effects == "none"


def test_every_program_in_the_list_is_known() -> None:
    """A guard stands before a program that has a table."""
    assert set(ALLOWED) <= set(PROGRAMS)
