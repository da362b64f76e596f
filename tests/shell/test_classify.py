"""Whole commands: categories, reads, writes and effects."""

from __future__ import annotations

import pytest

from execledger.shell.classify import classify_command
from execledger.shell.facts import Knowledge
from execledger.vocabulary.records import WHOLE, Category, CommandRecord, Effects, FileRange, Lines, Scope, View
from tests.shell.asking import ask, outcome, reads, view


def test_a_read_as_a_whole_record() -> None:
    """A plain read of one file is known in all its parts."""
    assert ask("cd /r && sed -n '5,9p' a.py 2>/dev/null") == CommandRecord(
        category=Category.INSPECT,
        normalized="sed -n 5,9p a.py",
        exact="sed -n 5,9p a.py 2>/dev/null",
        cwd="/r",
        reads=(FileRange("/r/a.py", Lines(5, 9)),),
        effects=Effects.NONE,
        view=View("/r/a.py", (Lines(5, 9),)),
        looks_at=("/r/a.py",),
        shows=("/r/a.py",),
        contents=("a.py",),
        comparable=True,
        literal=True,
        programs=1,
    )


def test_a_write_as_a_whole_record() -> None:
    """A here-document into a file is a listed write, and its text is kept."""
    assert ask("cat > a.py <<'E'\nx = 1\nE") == CommandRecord(
        category=Category.MODIFY,
        normalized="cat >a.py <<\nx = 1\n\n",
        exact="cat >a.py <<\nx = 1\n\n",
        cwd="/r",
        writes=("/r/a.py",),
        creates=("/r/a.py",),
        effects=Effects.LISTED,
        literal=True,
        scope=Scope.FILES,
        texts=(("/r/a.py", "x = 1\n"),),
        programs=1,
    )


@pytest.mark.parametrize(
    ("command", "category"),
    [
        ("cat a; grep x b", "search"),
        ("grep x a; cd b", "search"),
        ("ls && date", "other"),
        ("date; export A=b", "setup"),
        ("export A=b; pytest", "test"),
        ("pytest; sed -i s/a/b/ f", "modify"),
        ("sed -i s/a/b/ f && git diff > p.diff", "submit"),
        ("git diff", "search"),
        ("git diff | tee p.diff", "submit"),
        ("git diff --stat > s.txt", "modify"),
        ("git show HEAD:f > g", "modify"),
        ("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT", "submit"),
        ("true", "other"),
        ("X=$(cat f)", "inspect"),
        ("for f in a b; do cat $f; done", "inspect"),
        ("if grep -q x f; then pytest; fi", "test"),
        ("echo $(rm f)", "modify"),
        ("frobnicate f", "other"),
    ],
)
def test_a_compound_command_has_the_strongest_category(command: str, category: str) -> None:
    """submit > modify > test > setup > other > search > inspect."""
    assert ask(command).category == category


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("cat f", [("/r/f", 1, None)]),
        ("cat a; sed -n 1,5p b", [("/r/a", 1, None), ("/r/b", 1, 5)]),
        ("{ cat a; cat b; }", [("/r/a", 1, None), ("/r/b", 1, None)]),
        ("bash -c 'cat a; cat b'", [("/r/a", 1, None), ("/r/b", 1, None)]),
        ("sed -n '1,5p;9p' f", [("/r/f", 1, 5), ("/r/f", 9, 9)]),
        ("cat f | tail -n +10 | head -20", [("/r/f", 10, 29)]),
        ("head -80 f | tail -20", [("/r/f", 61, 80)]),
        ("nl -ba f | sed -n '5,9p'", [("/r/f", 5, 9)]),
        ("head -100 f | sed -n '20,30p' | nl -ba", [("/r/f", 20, 30)]),
        ("tail -20 f", [("/r/f", -20, None)]),
        ("sed -n 5p < f", [("/r/f", 5, 5)]),
        ("sed -n 5p g < f", [("/r/g", 5, 5)]),
        ("cat f | sed -n 5,9p -", [("/r/f", 5, 9)]),
        ("cat f | tee g", [("/r/f", 1, None)]),
        ("cat f > g", [("/r/f", 1, None)]),
        ("cat f || true", [("/r/f", 1, None)]),
        ("! cat f", [("/r/f", 1, None)]),
        ("cat f; exit 0", [("/r/f", 1, None)]),
        ("[[ -f f ]] && cat f", [("/r/f", 1, None)]),
        ("time cat f", [("/r/f", 1, None)]),
        ("false || cat f", []),
        ("a || { cat f; cat g; }", []),
        ("if true; then cat f; fi", []),
        ("(cat a; cat b) | head -5", []),
        ("cat f | sort | head", []),
        ("cat f | xargs cat", []),
        ("cat a b", []),
        ("cat *.py", []),
        ("cat $F", []),
        ("cat ~/f", []),
        ("cat f -", []),
        ("cat <(head -5 f)", []),
        ("cat /proc/meminfo", []),
    ],
)
def test_reads_are_what_is_certain(command: str, expected: list[tuple[str, int, int | None]]) -> None:
    """One entry for every range whose file and lines are certain, composed through pipes."""
    assert reads(command) == expected


@pytest.mark.parametrize(
    ("command", "path"),
    [
        ("cd a && cat f", "/r/a/f"),
        ("cd a && cd b && cat f", "/r/a/b/f"),
        ("cd a; cat f", "/r/a/f"),
        ("cd ..; cat f", "/f"),
        ("(cd x; cat f)", "/r/x/f"),
        ("(cd x); cat f", "/r/f"),
        ("{ cd x; }; cat f", "/r/x/f"),
        ("cd x | true; cat f", "/r/f"),
        ("cd x & cat f", "/r/f"),
        ("echo $(cd x); cat f", "/r/f"),
        ("bash -c 'cd x'; cat f", "/r/f"),
        ("cd x || exit 1; cat f", "/r/x/f"),
        ("env -C x cat f", "/r/x/f"),
        ("pushd x && cat f", "/r/x/f"),
        ("cat ./a/../f", "/r/f"),
        ("cd $D && cat /a/f", "/a/f"),
    ],
)
def test_paths_are_joined_with_the_folder_that_the_command_is_in(command: str, path: str) -> None:
    """Every ``cd`` is followed, as far as it reaches."""
    assert reads(command) == [(path, 1, None)]


def test_paths_from_an_unknown_start() -> None:
    """They stay relative to the start, joined with what is entered from there; nothing depends on files alone."""
    assert reads("cat f", None) == [("f", 1, None)]
    assert reads("cd a && cd b; cat f", None) == [("a/b/f", 1, None)]
    assert reads("cd .. && cat f", None) == [("../f", 1, None)]
    assert outcome("cd a && rm f", None) == ("modify", "listed", ["a/f"])
    assert not ask("cat /f", None).literal


@pytest.mark.parametrize(
    "lost", ["cd $D", "cd", "cd -", "cd ~/x", "popd", "cd a || true", "if x; then cd a; fi", "! cd a"]
)
def test_a_lost_folder_leaves_no_relative_path(lost: str) -> None:
    """Where it is not known which folder a command is in, what it reads and writes there is not certain."""
    assert reads(f"{lost}; cat f") == []
    record = ask(f"{lost}; rm f /a")
    assert (record.effects, record.writes, record.scope) == (Effects.UNKNOWN, ("/a",), Scope.TREE)
    assert ask(f"{lost}; echo x > f").writes == ()
    assert ask(f"{lost}; echo x > f").effects == "unknown"


@pytest.mark.parametrize(
    "command",
    [
        "cd a; {}",
        "cd a\n{}",
        "cd /a; {}",
        "cd a && true; {}",
        "cd a; cd b && {}",
        "cd a; cd .. && {}",
        "(cd a; {})",
        "{{ cd a; }}; {}",
        "bash -c 'cd a; {}'",
        "set -e; cd a && true; {}",
        "set -e; set +e; cd a; {}",
        "set -u; cd a; {}",
    ],
)
def test_a_write_behind_a_folder_that_may_not_be_there_is_not_certain(command: str) -> None:
    """Where ``cd`` fails, the commands after ``;`` run all the same, and write elsewhere."""
    for write in ("echo x > f", "sed -i 1d f", "touch f", "cat > f <<E\nE"):
        record = ask(command.format(write) if "bash" not in command or "E" not in write else "cd a; touch f")
        assert (record.effects, record.writes, record.creates) == (Effects.UNKNOWN, (), ()), write
    assert ask(command.format("touch /x/f")).writes == ("/x/f",)


@pytest.mark.parametrize(
    ("command", "path"),
    [
        ("cd a && touch f", "/r/a/f"),
        ("cd a || exit 1; touch f", "/r/a/f"),
        ("set -e; cd a; touch f", "/r/a/f"),
        ("set -euo pipefail\ncd a\ntouch f", "/r/a/f"),
        ("mkdir -p a; cd a; touch f", "/r/a/f"),
        ("cd /r; touch f", "/r/f"),
        ("cd /; touch f", "/f"),
        ("cd ..; touch f", "/f"),
        ("cd a; cd /r && touch f", "/r/f"),
        ("(cd a; ls); touch f", "/r/f"),
    ],
)
def test_a_write_in_a_folder_that_is_there_for_certain(command: str, path: str) -> None:
    """Nothing goes on where it could not be entered, or the command starts in it or has just made it."""
    assert ask(command).writes[-1] == path
    assert ask(command).effects == "listed"


@pytest.mark.parametrize("path", ["/proc/self/cwd/f", "/proc/1/root/r/f", "/dev/fd/7"])
def test_a_write_by_the_name_of_a_process_may_reach_any_file(path: str) -> None:
    """These names depend on the process."""
    for command in (f"echo x > {path}", f"cp a {path}", f"sed -i 1d {path}", f"cd {path} && touch f"):
        assert (ask(command).effects, ask(command).writes) == (Effects.UNKNOWN, ()), command


@pytest.mark.parametrize(
    "command",
    [
        "cat f; true",
        "cat f; exit 0",
        "cat f; echo done",
        "cat f &",
        "! cat f",
        "cat f || true",
        "cat f > g",
        "cat f >&2",
        "echo a; cat f",
        "time cat f",
        "set -x; cat f",
        "set -euxo pipefail; cat f",
        "bash -xc 'cat f'",
        "cd - && cat /f",
        "export; cat f",
        "if true; then cat f; fi",
        "frobnicate | cat f -",
        "exec > log; cat f",
        "tail -f f",
    ],
)
def test_output_that_is_not_just_a_files_lines(command: str) -> None:
    """A view is the whole output, and its exit status is the command's own."""
    assert view(command) is None


@pytest.mark.parametrize(
    "command",
    [
        "set -e; cat f",
        "set -euo pipefail; cat f",
        "true; cat f",
        "test -f f && cat f",
        "shopt -s globstar; cat f",
        "cat f 2>&1",
        "(cat f)",
        "{ cat f; }",
        "bash -lc 'cat f'",
        "cat f # why",
        "# why\ncat f",
        "cat f | cat",
    ],
)
def test_what_is_silent_beside_a_read(command: str) -> None:
    """What prints nothing leaves the read as the only output."""
    assert view(command) == View("/r/f", (WHOLE,))


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("echo x > f", ("modify", "listed", ["/r/f"])),
        ("> f", ("modify", "listed", ["/r/f"])),
        ("cat f >| g", ("modify", "listed", ["/r/g"])),
        ("cat f &> g", ("modify", "listed", ["/r/g"])),
        ("cat f >& g", ("modify", "listed", ["/r/g"])),
        ("cat f > g 2>&1", ("modify", "listed", ["/r/g"])),
        ("cat f 2> g", ("modify", "listed", ["/r/g"])),
        ("cat f > $X", ("modify", "unknown", [])),
        ("cat f > /dev/null", ("inspect", "none", [])),
        ("cat f >&2", ("inspect", "none", [])),
        ("{ cat f; } > g", ("modify", "listed", ["/r/g"])),
        ("while read l; do echo $l; done < f > g", ("modify", "listed", ["/r/g"])),
        ("exec > log", ("modify", "unknown", ["/r/log"])),
        ("export X=$(rm f)", ("modify", "listed", ["/r/f"])),
        ("cat <(rm f)", ("modify", "listed", ["/r/f"])),
        ("cat <<E\n$(rm f)\nE", ("modify", "listed", ["/r/f"])),
        ("cat <<'E'\n$(rm f)\nE", ("inspect", "none", [])),
        ("[[ $(rm f) ]]", ("modify", "listed", ["/r/f"])),
        ("((x = $(rm f)))", ("modify", "unknown", ["/r/f"])),
        ("a=(1 $(rm f))", ("modify", "listed", ["/r/f"])),
        ("for f in *.py; do sed -i s/a/b/ $f; done", ("modify", "unknown", [])),
        ("ls | xargs rm", ("modify", "unknown", [])),
        ("find . -exec rm {} +", ("modify", "unknown", [])),
        ("rm a && frobnicate", ("modify", "unknown", ["/r/a"])),
        ("sed -i s/a/b/ f && pytest", ("modify", "unknown", ["/r/f"])),
        ("./bin/info", ("other", "unknown", [])),
        ("bin/rspec", ("test", "unknown", [])),
        ("/usr/bin/cat f", ("inspect", "none", [])),
        ("\\cat f", ("inspect", "none", [])),
        ("python - <<E\nopen('$F', 'w')\nE", ("modify", "unknown", [])),
        ("python - <<'E'\nopen('f', 'w')\nE", ("modify", "unknown", ["/r/f"])),
        ("cat > s.py <<'E'\nopen('g', 'w')\nE\npython s.py", ("modify", "unknown", ["/r/s.py", "/r/g"])),
    ],
)
def test_effects_and_writes(command: str, expected: tuple[str, str, list[str]]) -> None:
    """What changes is listed if it is certain, and one unknown part makes the whole unknown."""
    assert outcome(command) == expected


def test_tests_may_write_their_log() -> None:
    """A log of a test run is no modification; the effects are unknown all the same."""
    assert outcome("pytest > run.log") == ("test", "unknown", ["/r/run.log"])


@pytest.mark.parametrize(
    "command",
    [
        "find . -mmin -5",
        "git log --format=%cr",
        "git log --since=yesterday",
        "git log --date=relative",
        "stat f",
        "date",
        "grep x /proc/meminfo",
        "ls /proc/self/",
        "cat f | pr",
        "cat $F",
        "cat *.py",
        "for f in a; do cat f; done",
        "cd $X && cat /f",
        "time cat f",
    ],
)
def test_output_that_depends_on_more_than_files(command: str) -> None:
    """The clock, processes, access times and computed words keep a command from being reused unseen."""
    assert not ask(command).literal


@pytest.mark.parametrize(
    "command", ["find . -name x", "git log -5", "git log HEAD@{1}", "ls", "grep x f /dev/null", "cat f"]
)
def test_output_that_depends_on_files_alone(command: str) -> None:
    """Everything else is literal."""
    assert ask(command).literal


def test_the_patch_of_the_instructions_is_shown_to_be_submitted() -> None:
    """What the ledger knows makes a read a submission."""
    knowledge = Knowledge(patches=frozenset({"/r/patch.txt"}))
    assert classify_command("cat patch.txt", "/r", knowledge).category == "submit"
    assert classify_command("cat other.txt", "/r", knowledge).category == "inspect"
    assert ask("git diff > p.txt && cat p.txt").patches == ("/r/p.txt",)


def test_background_jobs() -> None:
    """A job that goes on is said to."""
    for command in ("cat f &", "nohup x", "(sleep 5 &)", "setsid x", "echo 'unclosed &"):
        assert ask(command).background, command
    for command in ("cat f && cat g", "cat f 2>&1", "cat f &> g", "echo 'a & b'"):
        assert not ask(command).background, command


HOSTILE = {
    "a megabyte": "a" * 1_000_000,
    "a megabyte of words": "a b " * 250_000,
    "nested parentheses": "(" * 10_000,
    "balanced parentheses": "(" * 10_000 + "a" + ")" * 10_000,
    "substitutions": "$(" * 10_000 + "a" + ")" * 10_000,
    "NUL": "cat \0 f",
    "a lone surrogate": "cat \ud800",
    "an unclosed quote": "cat 'f",
    "an unclosed double quote": 'cat "f',
    "an unclosed substitution": "cat $(ls",
    "a here-document without a word": "cat <<",
    "five thousand words": "cat " + "f " * 5_000,
    "five thousand commands": "cat f;" * 5_000,
    "five thousand stages": "cat f" + " | cat" * 5_000,
    "five thousand assignments": "a=b " * 5_000,
    "deep groups": "{ " * 500 + "a" + "; }" * 500,
    "deep ifs": "if a; then " * 300 + "b" + "; fi" * 300,
    "a long sed script": "sed -n '" + "1p;" * 5_000 + "' f",
    "sed brackets": "sed 's/" + "[a]" * 5_000 + "' f",
    "a long awk program": "awk '" + "print " * 1_000 + "' f",
    "awk quotes": "awk '" + '"\\' * 2_000 + "' f",
    "dashes": "cat " + "-" * 10_000,
    **{
        f"numbers behind {start}": f"{start}{'9' * 5_000} f"
        for start in ("head -n ", "head -", "tail -n +", "sed -n 1,")
    },
    **{f"numbers in {start}": f"{start}{'9' * 5_000} <<E\nx\nE" for start in ("patch -p", "git apply -p", "cat f 1>&")},
    "numbers in awk": f"awk NR=={'9' * 5_000} f",
    "a digit that is no number": "patch -p² <<E\nx\nE",
    "backslashes": "\\" * 9_999,
    "line breaks": "\n" * 100_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_input_is_answered(name: str) -> None:
    """Nothing raises; what is not understood is opaque and claims nothing."""
    record = ask(HOSTILE[name])
    if record.opaque is not None:
        assert (record.effects, record.comparable, record.view, record.reads) == ("unknown", False, None, ())


def test_a_here_document_without_an_end() -> None:
    """Bash ends it at the end of the text, and so do we."""
    assert outcome("cat > f <<EOF\nx") == ("modify", "listed", ["/r/f"])


def test_shells_in_shells() -> None:
    """They are followed a few levels deep, and are opaque beyond."""
    command = "cat f"
    for depth in range(50):
        assert depth > 2 or view(command) == View("/r/f", (WHOLE,))
        command = "bash -c '" + command.replace("'", "'\"'\"'") + "'" if depth < 4 else f"echo $({command})"
    assert ask(command).opaque == "too-deep"


def test_a_descriptor_from_elsewhere() -> None:
    """A persistent shell may have opened it upon any file; one that the command opens itself is known."""
    assert outcome("printf x >&3") == ("other", "unknown", [])
    assert outcome("cat f 3>&1 1>&2 2>&3") == ("inspect", "none", [])


@pytest.mark.parametrize(
    ("command", "files"),
    [
        ("cat a.py", ("/r/a.py",)),
        ("cat a.py b.py", ("/r/a.py", "/r/b.py")),
        ("cat < a.py", ("/r/a.py",)),
        ("sed -i 1d a.py && sed -n 1,5p a.py", ("/r/a.py",)),
        ("bash -c 'cat a.py; cat Makefile'", ("/r/a.py", "/r/Makefile")),
        ("cat $F", ("",)),
        ("for f in *.py; do head -3 $f; done", ("",)),
        ("find . -name '*.py' -exec cat {} +", ("",)),
        ("find . | xargs head -3", ("",)),
        ("cat a.py | grep -n x", ()),
        ("grep -n x a.py", ()),
        ("find . -exec grep -n x {} +", ()),
        ("ls *.py; wc -l a.py", ()),
        ("python -m pytest a.py", ()),
    ],
)
def test_files_whose_lines_may_be_shown(command: str, files: tuple[str, ...]) -> None:
    """Those that a reader names; what a search lets through comes with its place, or without one."""
    assert ask(command).shows == files
