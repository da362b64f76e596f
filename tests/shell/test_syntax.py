"""Commands as text, and the trees or refusals that they make."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from execledger.shell.syntax import MAX_LENGTH, MAX_OPERATORS, MAX_SCRIPT, parse
from execledger.shell.tree import (
    REASONS,
    Compound,
    Item,
    Node,
    Opaque,
    Pipeline,
    Redirect,
    Sequence,
    Simple,
    Word,
)


def run(command: str, *redirects: Redirect) -> Simple:
    """A simple command of plain words."""
    return Simple(tuple(Word(word, word) for word in command.split()), redirects=redirects)


def to(operator: str, target: str, descriptor: int | None = None) -> Redirect:
    """A redirection to a plain target."""
    return Redirect(operator, descriptor, Word(target, target))


def here(body: str, operator: str = "<<") -> Redirect:
    """A here-document in which nothing expands."""
    return Redirect(operator, body=body)


def seq(*members: Node | str) -> Sequence:
    """A list of commands, each with the operator that follows it."""
    items: list[Item] = []
    for member in members:
        if isinstance(member, str):
            items[-1] = Item(items[-1].node, member)
        else:
            items.append(Item(member))
    return Sequence(tuple(items))


def pipe(*parts: Node) -> Pipeline:
    """A pipeline."""
    return Pipeline(parts)


A, B, C, D = (run(name) for name in "abcd")


@pytest.mark.parametrize(
    ("command", "tree"),
    [
        ("ls -la src", seq(run("ls -la src"))),
        ("  ls  \n\n", seq(run("ls"))),
        ("a; b", seq(A, ";", B)),
        ("a\nb", seq(A, ";", B)),
        ("a;\n\nb;", seq(A, ";", B)),
        ("a && b || c", seq(A, "&&", B, "||", C)),
        ("a &&\n b ||\n\n c", seq(A, "&&", B, "||", C)),
        ("a & b", seq(A, "&", B)),
        ("a &", seq(A, "&")),
        ("a | b", seq(pipe(A, B))),
        ("a |& b", seq(pipe(run("a", to(">&", "1", 2)), B))),
        ("a |\nb", seq(pipe(A, B))),
        ("time a | b", seq(pipe(run("time a"), B))),
        ("# first\na # then\n# and\nb", seq(A, ";", B)),
    ],
)
def test_lists_are_flat(command: str, tree: Sequence) -> None:
    """A list is its commands in order, each with the operator behind it."""
    assert parse(command) == tree


@pytest.mark.parametrize(
    ("command", "tree"),
    [
        ("a | b | c && d", seq(pipe(A, B, C), "&&", D)),
        ("a && b | c || d", seq(A, "&&", pipe(B, C), "||", D)),
        ("a && b; c | d &", seq(A, "&&", B, ";", pipe(C, D), "&")),
        ("a | b && c | d", seq(pipe(A, B), "&&", pipe(C, D))),
    ],
)
def test_a_pipe_binds_tighter_than_and(command: str, tree: Sequence) -> None:
    """The nesting follows the operators, not the grammar's tree."""
    assert parse(command) == tree


@pytest.mark.parametrize(
    ("command", "tree"),
    [
        ("a > f", seq(run("a", to(">", "f")))),
        ("a && b > f", seq(A, "&&", run("b", to(">", "f")))),
        ("a | b 2>&1", seq(pipe(A, run("b", to(">&", "1", 2))))),
        ("a 2>&1 | b >> f | c", seq(pipe(run("a", to(">&", "1", 2)), run("b", to(">>", "f")), C))),
        ("a > f b 2> g c", seq(run("a b c", to(">", "f"), to(">", "g", 2)))),
        ("> f a b", seq(run("a b", to(">", "f")))),
        ("> f", seq(run("", to(">", "f")))),
        ("a\n> f", seq(A, ";", run("", to(">", "f")))),
        (
            "a &> f >| g < h 2>&- >& i",
            seq(run("a", *map(to, ("&>", ">|", "<"), "fgh"), to(">&", "-", 2), to(">&", "i"))),
        ),
        ("a <<< b", seq(run("a", to("<<<", "b")))),
        ("a 2> f <<< b | c", seq(pipe(run("a", to(">", "f", 2), to("<<<", "b")), C))),
    ],
)
def test_a_redirection_belongs_to_the_command_before_it(command: str, tree: Sequence) -> None:
    """Redirections hang on their own command, in the order of writing."""
    assert parse(command) == tree


@pytest.mark.parametrize(
    ("command", "tree"),
    [
        ("python - <<'PY'\nx\nPY", seq(run("python -", here("x\n")))),
        ("cat - 2>&1", seq(run("cat -", to(">&", "1", 2)))),
        ("cat <<'E'\n\n  a\n b\nE\n", seq(run("cat", here("\n  a\n b\n")))),
        ("cat <<-E\n\t\ta\n\tE\nb", seq(run("cat", here("a\n", "<<-")), ";", B)),
        ("cat <<E\n\ta\nE", seq(run("cat", here("\ta\n")))),
        ('cat <<"E"\n$x\nE', seq(run("cat", here("$x\n")))),
        ("cat <<\\E\n$x\nE", seq(run("cat", here("$x\n")))),
        ("cat <<'a b'\nx\na b", seq(run("cat", here("x\n")))),
        ("cat <<E > f && b\nx\nE\nc", seq(run("cat", here("x\n"), to(">", "f")), "&&", B, ";", C)),
        ("cat <<'E' | python\nx\nE", seq(pipe(run("cat", here("x\n")), run("python")))),
        ("a <<E > f; b\nx\nE", seq(run("a", here("x\n"), to(">", "f")), ";", B)),
        ("a <<E |\nx\nE\nb", seq(pipe(run("a", here("x\n")), B))),
        ("a <<E <<'F' b\n1\nE\n2\nF\nc", seq(run("a b", here("1\n"), here("2\n")), ";", C)),
        ("cat <<E\nit's (a \"b\nE", seq(run("cat", here("it's (a \"b\n")))),
        ("cat <<'E'\nende ü\nE\nb", seq(run("cat", here("ende ü\n")), ";", B)),
        ("cat <<E\nx", seq(run("cat", here("x\n")))),
        ("cat <<E", seq(run("cat", here("")))),
        ("cat <<'E'\nx\nEE\nE", seq(run("cat", here("x\nEE\n")))),
    ],
)
def test_here_documents_are_read_whole(command: str, tree: Sequence) -> None:
    """The body of a here-document is cut from the text, and what follows its operator keeps its place."""
    assert parse(command) == tree


def test_an_unquoted_here_document_expands() -> None:
    """An expanding body is marked, and the commands in it are read."""
    assert parse('cat <<E\n$(a "$x") `b` \\$(c) "\nE') == seq(
        run(
            "cat",
            Redirect(
                "<<",
                body='$(a "$x") `b` \\$(c) "\n',
                expands=True,
                scripts=(seq(Simple((Word("a", "a"), Word('"$x"', None)))), seq(B)),
            ),
        )
    )


def test_an_escaped_line_break_hides_the_end_of_an_expanding_body() -> None:
    """A delimiter behind a continued line is part of the body."""
    assert parse("cat <<E\na\\\nE\nb\nE") == seq(run("cat", Redirect("<<", body="a\\\nE\nb\n", expands=True)))


@pytest.mark.parametrize(
    ("source", "scripts"),
    [
        ("$(a; b)", (seq(A, ";", B),)),
        ('"x $(a) y $(b)"', (seq(A), seq(B))),
        ("`a`$(b)", (seq(A), seq(B))),
        ("`a \\`b\\``", (seq(Simple((Word("a", "a"), Word("`b`", None, (seq(B),))))),)),
        ('"`a \\"b\\"`"', (seq(Simple((Word("a", "a"), Word('"b"', "b")))),)),
        ("<(a | b)", (seq(pipe(A, B)),)),
        ("${x:-$(a)}", (seq(A),)),
        ("$((1 + $(a)))", (seq(A),)),
        ("$((1 << 2))", ()),
        ("'$(a)'$x", ()),
        ("\"$(cat <<'E'\nit's ) fine\nE\n)\"", (seq(run("cat", here("it's ) fine\n"))),)),
    ],
)
def test_commands_inside_words_are_read(source: str, scripts: tuple[Sequence, ...]) -> None:
    """Substitutions are found through quotes and brackets, each with its own tree."""
    word = Word(source, None, scripts, evaluates="1 + $(a)" in source)
    assert parse(f"echo {source}") == seq(Simple((Word("echo", "echo"), word)))


def test_assignments_stand_before_the_program() -> None:
    """Assignments are apart from the words, and may stand alone."""
    one, two = Word("A=1", "A=1"), Word('B="x y"', "B=x y")
    assert parse('A=1 B="x y" a') == seq(Simple((Word("a", "a"),), (one, two)))
    assert parse('A=1 B="x y"; A=1') == seq(Simple(assignments=(one, two)), ";", Simple(assignments=(one,)))


@pytest.mark.parametrize("command", ["export A=1 B", "unset -v A", "declare -x A", "[ -f a -a ! b = c ]"])
def test_builtins_with_syntax_of_their_own_are_simple_commands(command: str) -> None:
    """Declarations and single brackets are programs with arguments."""
    assert parse(command) == seq(run(command))


def test_a_line_may_be_continued() -> None:
    """A backslash before a line break is as if neither were there."""
    assert parse("a \\\n  b \\\n | c") == seq(pipe(run("a b"), C))
    assert parse("a foo\\\nbar") == seq(Simple((Word("a", "a"), Word("foo\\\nbar", "foobar"))))
    assert parse("a \\\n # why\nb") == seq(A, ";", B)


def test_negation_belongs_to_the_pipeline() -> None:
    """An exclamation mark stands before a whole pipeline."""
    assert parse("! a | b && c") == Sequence((Item(pipe(A, B), "&&", negated=True), Item(C)))


@pytest.mark.parametrize(
    ("command", "tree"),
    [
        ("(a; b) > f", Compound("subshell", (seq(A, ";", B),), redirects=(to(">", "f"),))),
        ("{ a; b; }", Compound("group", (seq(A, ";", B),))),
        ("if a; then b; elif c; then d; else a; fi", Compound("if", tuple(map(seq, (A, B, C, D, A))))),
        ("if a\nthen\n# why\n b\nfi", Compound("if", (seq(A), seq(B)))),
        ("for x in a 'b'; do c & done", Compound("for", (seq(C, "&"),), (Word("a", "a"), Word("'b'", "b")), mark="x")),
        ("for x; do a; done", Compound("for", (seq(A),), mark="x")),
        ("for ((i=0;i<3;i++)); do a; done", Compound("for", (seq(A),), (Word("i=0;i<3;i++", None, evaluates=True),))),
        ("select x in a; do b; done", Compound("for", (seq(B),), (Word("a", "a"),), mark="select x")),
        ("while a; do b; done < f", Compound("while", (seq(A), seq(B)), redirects=(to("<", "f"),))),
        ("until a; do b; done", Compound("while", (seq(A), seq(B)), mark="until")),
        (
            "case x in a|b) c;; # why\n (d) ;; *) d; a\nesac",
            Compound("case", (seq(C), seq(), seq(D, ";", A)), (Word("x", "x"),), mark="a b ;; d ;; * ;;"),
        ),
        (
            "[[ -f a && $x == b* ]]",
            Compound("test", words=(Word("a", "a"), Word("$x", None), Word("b*", None)), mark="-f a && $x == b*"),
        ),
        ("((x++))", Compound("test", words=(Word("x++", None, evaluates=True),))),
        ("while a; do b; done <<'E'\nx\nE", Compound("while", (seq(A), seq(B)), redirects=(here("x\n"),))),
    ],
)
def test_compound_commands_hold_lists(command: str, tree: Compound) -> None:
    """Every list of a compound command is kept, in the order of writing."""
    assert parse(command) == seq(tree)


def test_compound_commands_stand_in_lists() -> None:
    """A compound command is a member of pipelines and lists like any other."""
    loop = Compound("while", (seq(A), seq(B)))
    assert parse("a | while a; do b; done | c > f && (d)") == seq(
        pipe(A, loop, run("c", to(">", "f"))), "&&", Compound("subshell", (seq(D),))
    )


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("", "empty"),
        (" \n# only this\n", "empty"),
        ("a" * (MAX_LENGTH + 1), "too-long"),
        ("a" * (MAX_SCRIPT + 1), "too-long"),
        ("a|" * MAX_OPERATORS + "a;", "too-long"),
        ("(" * 10_000, "too-deep"),
        ("(" * 10_000 + "a" + ")" * 10_000, "too-deep"),
        ("( " * 200 + "a" + " )" * 200, "too-deep"),
        ("{ " * 200 + "a;" + " };" * 200, "too-deep"),
        ("$(" * 200 + "a" + ")" * 200, "too-deep"),
        ("cat <<E " + "$(" * 200 + "a" + ")" * 200 + "\nE", "too-deep"),
        ("echo a\0b", "control-byte"),
        ("echo \x1b[0m", "control-byte"),
        ("echo \ud800", "invalid-text"),
        ("echo 'a", "syntax"),
        ('echo "a', "syntax"),
        ("echo `a", "syntax"),
        ("echo $(a", "syntax"),
        ("if true; then", "syntax"),
        ("a &&", "syntax"),
        ("a | | b", "syntax"),
        ("a ;; b", "syntax"),
        ("(a", "syntax"),
        ("a )", "syntax"),
        ("time (a)", "syntax"),
        ("time { a; }", "syntax"),
        ("coproc a", "syntax"),
        ("{ }", "syntax"),
        ("cat <<E$x\na\nE", "syntax"),
        ("a\r\nb\r\n", "lost-text"),
        ("echo [ ]", "lost-text"),
        ("f() { a; }", "function"),
        ("function f { a; }; f", "function"),
        ("echo $(f() { a; })", "nested"),
        ("cat <<E\n$(if)\nE", "nested"),
    ],
)
def test_what_is_not_understood_is_opaque(command: str, reason: str) -> None:
    """Every refusal names its reason."""
    assert parse(command) == Opaque(reason)


def test_a_long_here_document_is_read() -> None:
    """The text of a file may be longer, and hold more brackets, than a script may."""
    body = "x = ((((1))))\n" * 5_000
    assert parse(f"cat <<'E'\n{body}E") == seq(run("cat", here(body)))


@pytest.mark.parametrize("command", ["{ " * 60 + "a;" + " };" * 60, "$(" * 60 + "a" + ")" * 60])
def test_deep_nesting_is_read(command: str) -> None:
    """What is nested within the limit is read to the bottom."""
    assert isinstance(parse(command), Sequence)


def test_a_long_list_is_read() -> None:
    """The length of a list is no depth."""
    assert parse(" && ".join(["a"] * 500)) == Sequence((*[Item(A, "&&")] * 499, Item(A)))


FRAGMENTS = (
    "a b | && || ; & ( ) { } $( ` \" ' <<E <<'E' <<-E E < > >& 2> - = [ ] [[ ]] $ ${ (( )) if then else fi case in esac"
    " for while do done ! \\ # 1 * , .. f() function time <<< <( é ;; a) ~ x= $' select"
).split()


@given(st.lists(st.sampled_from([*FRAGMENTS, " ", "\n", "\\\n", "\r"])).map("".join))
def test_parsing_never_raises(command: str) -> None:
    """Whatever stands in a command, there is a tree or a known reason."""
    found = parse(command)
    assert found.reason in REASONS if isinstance(found, Opaque) else found.items


@given(st.text(max_size=30))
def test_a_quoted_word_keeps_its_text(text: str) -> None:
    """A single-quoted argument comes back as it went in, or not at all."""
    source = "'" + text.replace("'", "'\\''") + "'"
    found = parse(f"echo {source} | b")
    assert isinstance(found, Opaque) or found == seq(pipe(Simple((Word("echo", "echo"), Word(source, text))), B))
