"""The records about programs, and everything that is derived from them."""

from __future__ import annotations

import re

import pytest

from execledger.core.classify import classify
from execledger.shell.classify import classify_command
from execledger.shell.facts import Allowed, Facts, Invocation, Part, Reader, Variables, literal, runs
from execledger.shell.options import literal_word
from execledger.shell.programs import PROGRAMS
from execledger.shell.programs.readers import ALL, show
from execledger.shell.provable import provable_command
from execledger.vocabulary.actions import Action, Edit, Read, Search
from execledger.vocabulary.records import WHOLE, CommandRecord, Effects, View
from tests.shell.asking import ask, view


def peek(call: Invocation) -> Part:
    """A made-up reader: it shows its one file, or edits it with ``--fix``."""
    if any(word.literal == "--fix" for word in call.args):
        return runs()
    return show(call, tuple(word for word in call.args if word.source != "-q"), ALL, None)


PEEK = Facts(
    names="peek",
    does=peek,
    allowed=Allowed("q"),
    harmless=literal,
    provable=Reader("q").sources,
    silent=re.compile("-q.*"),
    variables=Variables(r"PEEK_\w*", harmless=("PEEK_COLOR",)),
)
"""The one record that describes it."""


def test_a_new_program_is_one_record() -> None:
    """Classification, the harmless and the provable commands, contents, silence and variables follow from a record."""
    known = PROGRAMS.including(PEEK)

    def asked(command: str) -> CommandRecord:
        return classify_command(command, "/r", programs=known)

    assert "peek" in known and "peek" not in PROGRAMS
    assert asked("peek a.py").view == View("/r/a.py", (WHOLE,))
    assert asked("peek --frob a.py").effects is Effects.UNKNOWN
    assert asked("peek --fix a.py").effects is Effects.UNKNOWN
    assert asked("peek $x").effects is Effects.UNKNOWN
    assert asked("find . -exec peek {} +").contents == ("",)
    assert not asked("peek a.py").may_write
    assert asked("peek a.py").contents == ("a.py",)
    assert asked("peek -q a.py; cat b.py").view == View("/r/b.py", (WHOLE,))
    assert [provable_command(command, "/r", known) for command in ("peek a.py", "peek -z a.py")] == [True, False]
    assert not provable_command("peek a.py", "/r")
    effects = [asked(f"{name}=1 cat a.py").effects for name in ("PEEK_RC", "PEEK_COLOR", "POKE_RC")]
    assert effects == [Effects.UNKNOWN, Effects.NONE, Effects.NONE]
    assert classify_command("PEEK_RC=1 cat a.py", "/r").effects is Effects.NONE
    assert classify_command("peek a.py", "/r").unknown_programs == ("peek",)


def test_two_records_for_one_name_are_a_mistake() -> None:
    """The registry refuses them, so no module can change what another one states."""
    with pytest.raises(AssertionError, match="two records describe the program 'cat'"):
        PROGRAMS.including(Facts(names="cat", does=runs()))


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


@pytest.mark.parametrize(
    "command",
    [
        "cat a.py",
        "cat *.py | head -5",
        "grep -rn --include=*.py name .",
        "sed -n '10,20p' a.py",
        "sed -n '/def a/,/return/p' a.py",
        "nl -ba a.py | sed -n '1,5p'",
        "awk 'NR>=5 && NR<=9' a.py",
        "sort -u a.py | uniq -c",
        "find . -name '*.py' -type f",
        "for f in a b; do cat $f; done",
        "cd src && ls -la && wc -l *.py",
        "git --no-pager branch -a && git rev-parse --short HEAD",
        "bash -c 'cat a.py'",
        "test -f a.py && echo yes",
        "set -e; cat a.py",
        "rg -n name src",
    ],
)
def test_plain_looks_are_sure(command: str) -> None:
    """What agents do all day leaves everything as it was known."""
    record = classify_command(command, "/r")
    assert (record.effects, record.may_write) == (Effects.NONE, False)


@pytest.mark.parametrize(
    "command",
    [
        "uniq src/*.py",
        "find s -name a.py -exec sort b.py -o{} \\;",
        "echo a.py | xargs -I% sort b.py -o%",
        "sort b.py -{u,oa.py}",
        "find docs -name b.md -{print,delete}",
        "git diff",
        "git status --short",
        "git diff --{output=f,stat}",
        "git apply --stat --appl p.diff",
        "git rm -n --no-dry-run f",
        "git clean -f -e --dry-run",
        "PIP_LOG=out pip list",
        "NODE_OPTIONS='-r ./x' npm ls",
        "GOFLAGS=-toolexec=./x go list ./...",
        "npm_config_cache=x npm ls",
        "git --git-dir=fake status",
        "git branch new",
        "for x in $'1wa.py\\n1'; do sed -n \"${x}p\" b.py; done",
        "sed -n '\\,l\\,p;#,w a.py' b.py",
        "sed -n 's,[\\],x,w out],y,' f",
        'awk \'/[/"]|l/ { print "a;" > "a.py" }\' b.py',
        "perl -ne 's/value/$h{system \"touch zz\"}/; print' f",
        "test $(echo -v) 'a[$(echo >a.py)]'",
        "ss -D f",
        "tar -tf x --volno-file=new",
        "gzip -Sc f",
        "zstd -c f --trace=new",
    ],
)
def test_what_could_be_read_in_two_ways_may_write(command: str) -> None:
    """Each of these was once thought to look only, and wrote."""
    assert classify_command(command, "/r").may_write


@pytest.mark.parametrize(
    ("command", "files"),
    [
        ("cat a.py", ["a.py"]),
        ("cat Makefile", ["Makefile"]),
        ("cat < a.py", ["/r/a.py"]),
        ("nl -ba a.py | sed -n '1,20p'", ["a.py"]),
        ("cat a.py b.py", ["a.py", "b.py"]),
        ("cat a.py $f", ["a.py", ""]),
        ("head -5 a.py; echo; tail -5 b.py", ["a.py", "b.py"]),
        ("for f in *.py; do cat $f; done", [""]),
        ("sed -i 1d a.py && sed -n 1,5p a.py", ["a.py"]),
        ("sed -n '/def a/,/def b/p' a.py", ["a.py"]),
        ("bash -c 'cat a.py'", ["a.py"]),
        ("grep -n x a.py", ["a.py"]),
        ("grep -rn x .", [""]),
        ("rg x src", [""]),
        ("git grep -n x", [""]),
        ("cat a.py | grep x", ["a.py"]),
        ("find . -name '*.py' | xargs grep -n x", [""]),
        ("find . -name '*.py' -exec cat {} +", [""]),
        ("git show HEAD:lib/a.py | sed -n '1,9p'", ["lib/a.py"]),
        ("cat a.py && python - <<'E'\nx\nE\n&& cat b.py", ["a.py"]),
    ],
)
def test_readers_and_text_searches_show_contents(command: str, files: list[str]) -> None:
    """Files as they are spelled; "" where only the output or the shell tells which."""
    assert list(ask(command).contents) == files


@pytest.mark.parametrize(
    "command",
    [
        "ls -la",
        "find . -name '*.py'",
        "wc -l a.py",
        "grep -rl x .",
        "grep -c x a.py",
        "rg --files",
        "git status",
        "git diff a.py",
        "git show HEAD",
        "diff a.py b.py",
        "ls | grep py",
        "python -m pytest a.py",
        "python -m pytest a.py | sed -n '1,20p'",
        "python -m pytest a.py 2>&1 | tail -5",
        "cat a.py | python count.py",
        "python - <<'E'\nprint(open('a.py').read())\nE",
        "cat > a.py <<'E'\nx = 1\nE",
        "python run.py $(cat names.txt)",
    ],
)
def test_all_else_shows_none(command: str) -> None:
    """Listings, names, counts, differences, and what tests and scripts print."""
    assert ask(command).contents == ()


def test_structured_calls() -> None:
    """A read tool shows its file, a search tool what its hits name; an edit tool is asked for no lines."""
    calls = (Read("a.py"), Search(), Edit("a.py"))
    assert [classify(Action("call", "/r", call)).contents for call in calls] == [("/r/a.py",), ("",), ()]


def silent(command: str) -> bool:
    """The facts about the command's program say that it prints nothing with its arguments."""
    name, *words = command.split()
    facts = PROGRAMS.find(name)
    return facts is not None and facts.is_silent(tuple(literal_word(word) for word in words))


@pytest.mark.parametrize(
    "command",
    [
        "true",
        ":",
        "cd x",
        "test -f x",
        "[ -f x ]",
        "set -e",
        "set -euo pipefail",
        "set -- a",
        "export A=b",
        "umask 022",
        "shopt -s globstar",
        "unset A",
        "sleep 5",
        "wait",
        "trap '' INT",
    ],
)
def test_silent(command: str) -> None:
    """They print nothing if they succeed."""
    assert silent(command)


@pytest.mark.parametrize(
    "command",
    [
        "echo",
        "set",
        "set -o",
        "set -x",
        "set -eux",
        "set -o xtrace",
        "set -v",
        "export",
        "export -p",
        "umask",
        "umask -S",
        "shopt",
        "shopt globstar",
        "trap",
        "trap -p",
        "cat f",
        "pushd x",
    ],
)
def test_not_silent(command: str) -> None:
    """They print something, or make what follows them print more."""
    assert not silent(command)


def test_only_what_prints_hides_the_view_of_a_list() -> None:
    """An assignment and a ``cd`` print nothing; ``cd -`` prints where it goes."""
    shown = [view(f"{first}; cat /r/a.py") is not None for first in ("A=b", "cd /r", "true", "cd -", "echo")]
    assert shown == [True, True, True, False, False]
