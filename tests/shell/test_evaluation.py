"""Hidden evaluation: what the shell runs although it stands in no command's place."""

from __future__ import annotations

import pytest

from tests.shell.asking import ask, outcome


@pytest.mark.parametrize(
    "command",
    [
        "echo $((x))",
        "echo $((x + 1)) > /dev/null",
        "echo $[x]",
        "echo ${a[x]}",
        "echo ${a[$i]}",
        "echo ${#a[x]}",
        "echo ${!x}",
        "echo ${x@P}",
        "echo ${a[@]@P}",
        "echo ${x:n}",
        "echo ${@:n}",
        "echo ${x:0:n}",
        "echo ${x:=y}",
        "echo ${PATH=y}",
        "cat <<E\n$((x))\nE",
        "cat <<< ${!x}",
        "(( x ))",
        "[[ x -gt 1 ]]",
        "[[ -v a[x] ]]",
        "for ((i = n; i < 3; i++)); do echo; done",
        "for ((i = 0; i < n; i++)); do echo; done",
        "for ((i = 0; i < 3; i++)); do i=x; done",
        "for ((i = 0; i < 3; i++)); do printf -vi x; done",
        "for ((i = 0; i < 3; i++)); do if a; then read -r i < b; fi; done",
        "for ((i = 0; i < 3; i++)); do { for i in x; do :; done; } | cat; done",
        "for PATH in a b; do cat c; done",
        "let x=y",
        "read a[x] < b",
        "read PATH < b",
        "read $x < b",
        "mapfile $x < b",
        "getopts ab PATH",
        "unset a[x]",
        "unset PATH",
        "printf -v PATH x",
        "printf -v a[x] y",
        "printf $x y",
        "wait -p a[x]",
        "test -v a[x]",
        "[ -v a[x] ]",
        "declare -i x=y",
        "declare -n x=PATH",
        "local -n x=y",
        "declare a[x]=1",
        "declare $x",
        "export $(cat b)",
        "export PATH=/x",
        "builtin read a[x] < b",
        "command printf -v PATH x",
        "a[x]=1",
        "a=([x]=1)",
        "BASH_CMDS[cat]=./x; cat b",
        "hash -p ./x cat",
        "nice env LD_PRELOAD=x cat b",
        "sudo PATH=x cat b",
        "GIT_EXTERNAL_DIFF=x git diff",
        "GCONV_PATH=x iconv -f a -t b c",
        "PERL5OPT=x perl -ne 'print' a",
    ],
)
def test_it_makes_effects_unknown(command: str) -> None:
    """A name or a subscript that is evaluated, or a variable that programs look at, may lead to anything."""
    record = ask(command)
    assert record.effects == "unknown" and not record.comparable


@pytest.mark.parametrize(
    "command",
    [
        "echo $x ${x} ${x:-y} ${x:+y} ${x%.py} ${x#a/} ${x//a/b} ${#x} $1 $@ $?",
        "echo ${a[0]} ${a[@]} ${#a[@]} ${a[-1]} ${x:0:5} ${x: -3}",
        "echo $((3 + 4)) $(( (2 * 3) % 5 ))",
        "x=5; a=(1 2); a[3]=4; echo $x",
        "for ((i = 0; i < 3; i++)); do echo $i; done",
        "for f in a b; do echo $f; done",
        "(( 3 > 2 ))",
        "[[ 3 -gt 2 ]]",
        "[[ -f a && $x == b* ]]",
        "let x=1+2",
        "read -r line < b",
        "IFS_=x read -r a b < c",
        "printf '%s\\n' a[0]",
        "test -v x",
        "unset x y",
        "wait",
        "hash -r",
        "LC_ALL=C cat a",
        "env LANG=C cat a",
        "GIT_PAGER=cat git log",
    ],
)
def test_plain_words_are_left_alone(command: str) -> None:
    """Numbers, literal subscripts and variables of the command's own hide nothing."""
    assert ask(command).effects == "none"


def test_declarations_are_set_up() -> None:
    """A variable of one's own changes no file."""
    assert outcome("export A=1 B=$x") == ("setup", "none", [])
    assert outcome("declare -a list") == ("setup", "none", [])
