"""The normal form: what must meet, and what must not."""

from __future__ import annotations

import pytest

from tests.shell.asking import ask, normal


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("cd /r && cat f", "cat f"),
        ("cd /r; cat f", "cat f"),
        ("cd /r/ && cd . && cat f", "cat f"),
        ("cd /x && cd y && cat f", "cd /x/y && cat f"),
        ("cat   f", "cat f"),
        ("cat f;", "cat f"),
        ("cat f\n", "cat f"),
        ("cat a\ncat b", "cat a; cat b"),
        ("cat 'f'", 'cat "f"'),
        ("cat 'a b'", "cat a\\ b"),
        ("grep $'a' f", "grep a f"),
        ("cat f # why", "cat f"),
        ("# why\ncat f", "cat f"),
        ("cat f 2>/dev/null", "cat f"),
        ("cat f 2>&1", "cat f"),
        ("cat f 2> /dev/null | head -5", "cat f | head -5"),
        ("grep x f 2>&1 | head", "grep x f | head"),
        ("pytest 2>&1", "pytest"),
        ("pytest 2>&1 | cat", "pytest"),
        ("pytest |& cat", "pytest"),
        ("cat f | cat", "cat f"),
        ("git diff | cat | cat", "git diff"),
        ("make |& tail", "make 2>&1 | tail"),
        ("head -5 f", "head -n 5 f"),
        ("head -n5 f", "head --lines=5 f"),
        ("head f", "head -n 10 f"),
        ("head -q -5 f", "head -q -5 f"),
        ("tail -5 f", "tail -n 5 f"),
        ("tail +5 f", "tail -n +5 f"),
        ("cat -n -E f", "cat -En f"),
        ("sed -n -e 5p f", "sed --quiet 5p f"),
        ("sed -r s/a/b/ f", "sed -E s/a/b/ f"),
        ("cat <<'E'\nx\nE", "cat <<EOF\nx\nEOF"),
    ],
)
def test_incidental_differences_vanish(one: str, other: str) -> None:
    """Place, spacing, quotes, harmless redirections and certain spellings make no difference."""
    assert normal(one) == normal(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("cat f", "cat g"),
        ("cd /x && cat f", "cat f"),
        ("cd /x && cat f", "cd /x; cat f"),
        ("echo 'a  b'", "echo a b"),
        ("echo 'a ;b'", "echo 'a;b'"),
        ("echo 'a'; b", "echo 'a; b'"),
        ("cat 'a b'", "cat a b"),
        ("cat '*.py'", "cat *.py"),
        ("echo '$x'", "echo $x"),
        ("echo '~'", "echo ~"),
        ("cat f > g", "cat f"),
        ("cat f > g", "cat f >> g"),
        ("cat f > /dev/null", "cat f"),
        ("python s.py 2>/dev/null", "python s.py"),
        ("make 2>&1 | tail", "make | tail"),
        ("{ make 2>&1; } | tail", "{ make; } | tail"),
        ("make > log 2>&1", "make > log"),
        ("cat f | cat -n", "cat f"),
        ("cat f | cat > g", "cat f"),
        ("a && b", "a || b"),
        ("a & b", "a; b"),
        ("! a", "a"),
        ("head -5 a b", "head -q -5 a b"),
        ("tail -5 a b", "tail -q -5 a b"),
        ("tail -n 5 f", "tail -n +5 f"),
        ("head -c 5 f", "head -n 5 f"),
        ("cat -n f", "cat -b f"),
        ("sed s/a+/b/ f", "sed -E s/a+/b/ f"),
        ("sed --debug -n 5p f", "sed -n 5p f"),
        ("sed -z 5q f", "sed 5q f"),
        ("[[ -f x ]]", "[[ -d x ]]"),
        ("[[ a == b ]]", "[[ a != b ]]"),
        ("[ -f x ]", "[ -d x ]"),
        ("while a; do b; done", "until a; do b; done"),
        ("for i in 1; do echo $i; done", "for j in 1; do echo $i; done"),
        ("case $x in a) b;; esac", "case $x in c) b;; esac"),
        ("case $x in a) b;; *) c;; esac", "case $x in a) b;& *) c;; esac"),
        ("if a; then b; fi", "if a; then b; else c; fi"),
        ("(a)", "{ a; }"),
        ("cat <<E\n$x\nE", "cat <<'E'\n$x\nE"),
        ("cat <<E\nx\nE", "cat <<E\ny\nE"),
        ("cat <<E\nx\n\nE", "cat <<E\nx\nE"),
        ("cat <<< x", "cat < x"),
        ("A=1 cat f", "cat f"),
        ("echo 2 > f", "echo 2> f"),
    ],
)
def test_commands_with_different_output_stay_apart(one: str, other: str) -> None:
    """Neither the normal nor the exact form of two such commands may meet."""
    assert normal(one) != normal(other)
    assert ask(one).exact != ask(other).exact


def test_the_exact_form_keeps_redirections() -> None:
    """Commands that share it also end with the same status."""
    assert ask("cat f  2>/dev/null | cat").exact == "cat f 2>/dev/null | cat"
    assert ask("cd /r && cat 'f'").exact == "cat f"


def test_normal_forms_are_plain_text() -> None:
    """They are shown to people."""
    assert normal("cd '/a b'  &&  cat 'it'\"'\"'s'|head -5 ; ls") == "cd '/a b' && cat 'it'\"'\"'s' | head -n 5; ls"
    assert normal("sleep 1 &") == "sleep 1 &"
    assert normal("cd /x") == "cd /x"


def test_an_opaque_command_equals_only_itself() -> None:
    """Its normal form is its text."""
    assert normal(" f() { ls; } ") == "f() { ls; }"
