"""Commands that were called harmless and are not: lost text, hidden evaluation, options with and without values."""

from __future__ import annotations

import pytest

from execledger.shell.provable import provable_command
from tests.shell.asking import ask, outcome, reads


@pytest.mark.parametrize(
    "command",
    [
        "[[$x > a.py ]]",
        "echo ${x/a {b}>NEW /c}",
        "echo ${x#{a}>NEW }",
        "{touch NEW; }",
        "if true; then echo; fi{a,b}",
        "echo {fd}>NEW",
        "echo {a[x]}>NEW",
        "[[ x -e\\\nq y ]]",
        "a &\\\n& b",
        "cat a 2\\\n>f",
        "echo $\\\n[x]",
        "i\\\nf true; then a; fi",
        "echo +(a|b)",
        "tim\\\ne [[ x -eq 1 ]]",
        "! ((x[0]==$n==m++))",
        "cp a b d\\\n 2> f",
    ],
)
def test_text_that_was_not_read_makes_a_command_opaque(command: str) -> None:
    """Each byte belongs to something that was read, or the command is not understood."""
    assert ask(command).opaque in ("lost-text", "syntax", "nested")


def test_loops_may_have_their_body_in_braces() -> None:
    """Bash takes braces in place of ``do`` and ``done``; the grammar does so in counting loops alone."""
    assert outcome("for ((i=0;i<3;i++)) { sed -i 1d a.py; }") == ("modify", "listed", ["/r/a.py"])
    assert ask("for i in a b; { rm -f a.py; }").opaque == "syntax"


@pytest.mark.parametrize(
    "command",
    [
        "echo ${a[@]:y}",
        "case x in $((y))) ;; esac",
        "case x in ${a[y]}) ;; esac",
        "echo $\\\nx > $\\\ny",
        "RANDOM=$x",
        "SECONDS[0]=$x",
        "OPTIND='a[$(touch NEW)]'",
        "read SECONDS < a.py",
        "declare -a x='($(touch NEW))'",
        "declare x='($(touch NEW))'",
        "declare x=$y",
        "readonly -a x=$y",
        "x+=([y]=1)",
        "declare -a x=([y]=1)",
        "[ $x ]",
        '[ "$x" "$y" ]',
        'test "$x" "$y"',
        "shopt -s expand_aliases",
        "shopt -s $x",
        "bash -O extglob -c 'cat a.py'",
        "echo x | xargs --replace touch cat",
        "echo x | xargs --max-lines rm cat",
        "echo x | xargs -i touch cat",
        "echo x | xargs --process-slot-var=PATH cat",
        "echo x | xargs $x cat",
        "echo x | xargs -n $x cat",
        "timeout $x cat a.py",
        "nice -n $x cat a.py",
        "env A=$x cat a.py",
        "env -u $x cat a.py",
        "touch -d $x NEW",
        "chmod $x NEW",
        "awk -v n=$x NR==1 a.py",
        "sort -o$f a.py",
        'sort -uo"$f" a.py',
        "sort --out NEW a.py",
        "base64 -o NEW a.py",
        "git ls-remote --upload-pack='touch NEW' .",
        "git ls-remote ext::x",
        "git log --ext-diff",
        "git diff --frob",
        "git grep -Oless x",
        "git -c core.pager='touch NEW' log",
        "git -c alias.log='!touch NEW' log",
        "diff3 --diff-program=x a b c",
        "sdiff --diff-program=x a b",
        "tar tf host:a",
        "tar tf a --to-command=x",
        "tar --list --file=a --rmt-command=x",
        "xz --files=a",
        "file -C -m a",
        "tree -o NEW",
        "less -o NEW a.py",
        "date -s 12:00",
        "date $x",
        "hostname NAME",
        "ss -K",
        "arch -x86_64 touch NEW",
        'perl -ne print "a$x"',
        "find . -fprintf NEW %p",
        "tomlq -i . a.toml",
        "awk 'BEGIN{system\\\n(\"touch NEW\")}'",
    ],
)
def test_what_may_run_or_write_something_has_unknown_effects(command: str) -> None:
    """Evaluation of what a variable holds, options that no table lists, words that may turn out to be options."""
    record = ask(command)
    assert (record.effects, record.view, record.comparable) == ("unknown", None, False)


@pytest.mark.parametrize(
    "command",
    [
        "SECONDS=0",
        "[ $? -eq 0 ]",
        '[ "$x" = "$y" ]',
        '[ -f "$x" ]',
        "[[ $x =~ ^(a|b)$ ]]",
        "echo ${a[@]:1:2}",
        "echo x | xargs --replace=% echo %",
        "echo x | xargs --max-lines=1 echo",
        "echo x | xargs -l echo",
        "shopt -s nullglob",
        "base64 -d a",
        "tar tzf a.tgz",
        "tar --list --file=a.tar",
        "git ls-remote --tags origin",
        "git log --oneline --stat --since=yesterday",
        "git add --dry-run .",
    ],
)
def test_what_is_plain_is_still_known(command: str) -> None:
    """The same constructs, where nothing can hide in them."""
    assert (ask(command).effects, ask(command).opaque) == ("none", None)


def test_xargs_does_not_hand_its_input_on() -> None:
    """The command behind it has an empty standard input."""
    assert ask("cat a.py | xargs -I% cat").view is None
    assert ask("cat a.py | xargs cat").view is None


@pytest.mark.parametrize(
    "program", ["NR==5\n{print}", "NR==5\n", "NR==5;{print}", "NR==5 {print} {print}", "# x\nNR==5"]
)
def test_awk_programs_of_more_than_one_rule_show_no_range(program: str) -> None:
    """A condition and an action in two lines are two rules."""
    assert ask(f"awk '{program}' a.py").reads == () or program == "NR==5\n"


def test_what_depends_on_more_is_not_provable() -> None:
    """A negation, and a file that is opened only for its name."""
    assert not provable_command("! true && cat a.py", "/r")
    assert not provable_command("cat < b a.py", "/r")
    assert ask("! true && cat a.py").view is None


@pytest.mark.parametrize(
    ("command", "writes"),
    [
        ("python - <<'PY'\nopen('a.py', 'w')\nPY\n&& pytest", ["/r/a.py"]),
        ("touch x\nfor i in a; do\n touch y\ndone\n)\ntouch z", ["/r/x", "/r/y"]),
        ("touch x\necho 'a\ntouch y", ["/r/x"]),
        ("echo > f; ls &&\n&& x", []),
        ("bash -c 'touch x\n)'", ["/r/x"]),
        ("touch a\nf() { rm x; }", ["/r/a"]),
        ("touch a && )", []),
    ],
)
def test_lines_before_a_syntax_error_are_run(command: str, writes: list[str]) -> None:
    """Bash reads and runs one complete command after the other until it gets to the error."""
    record = ask(command)
    assert record.opaque is not None and record.effects == "unknown"
    assert list(record.writes) == writes
    assert reads(command) == []
