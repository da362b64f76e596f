"""What is said about commands, against any text and against what a real shell does."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from execledger.shell.classify import classify_command
from execledger.shell.tree import REASONS
from execledger.vocabulary.records import CommandRecord, Effects

PIECES = """
    cat head tail sed awk grep cd echo rm bash env xargs if then fi for do done while case esac in f $x $(ls) `ls` 'a b'
    "c d" -n -5 5,9p 's/a/b/' > >> < << <<< EOF 2>&1 2>/dev/null | |& && || ; & ! ( ) { } (( )) [[ ]] * ~ # \\ ' " $ = -
""".split()
texts = st.one_of(
    st.text(max_size=60),
    st.lists(st.sampled_from([*PIECES, "\n", "\t", "\0", "\ud800", "é"]), max_size=16).map(" ".join),
    st.lists(st.sampled_from(PIECES), max_size=10).map("".join),
)


@given(command=texts, cwd=st.sampled_from([None, "/r", "."]))
def test_any_text_is_answered(command: str, cwd: str | None) -> None:
    """Nothing raises, the same text gets the same answer, and what is not understood claims nothing."""
    record = classify_command(command, cwd)
    assert record == classify_command(command, cwd)
    assert record.cwd == cwd
    if record.opaque is not None:
        assert record.opaque in REASONS
        claims = (record.effects, record.comparable, record.literal, record.view, record.reads)
        assert claims == (Effects.UNKNOWN, False, False, None, ())
    if record.effects is not Effects.NONE:
        assert (record.comparable, record.view) == (False, None)
    if record.effects is Effects.LISTED:
        assert record.writes


FILES = ("a.txt", "b.txt", "d/c.txt", "d/e/a.txt")
FOLDERS = ("d", "d/e", ".", "d/..")
paths = st.sampled_from(
    [*FILES, "new.txt", "d/new.txt", "./a.txt", "d/../b.txt", "e/a.txt", "c.txt", "*.txt", "$V", "no/x"]
)
folders = st.sampled_from([*FOLDERS, "no", "$V"])


def _commands(template: str, count: int) -> st.SearchStrategy[str]:
    return st.tuples(*[paths] * count).map(lambda names: template.format(*names))


LOOKING = (
    "cat {0}",
    "head -n 2 {0}",
    "tail -3 {0}",
    "sed -n 2,4p {0}",
    "sed s/a/b/ {0}",
    "awk 'NR>2' {0}",
    "grep -n a {0}",
    "wc -l {0}",
    "sort {0}",
    "ls {0}",
    "diff {0} {1}",
    "cat {0} {1}",
    "cat < {0}",
    "sort {0} | uniq -c",
    "nl -ba {0}",
    "find . -name '{0}'",
    "test -f {0}",
    "[[ -f {0} ]]",
    "X=$(cat {0})",
    "echo {0}",
    "cut -c1 {0}",
    "stat {0}",
    "awk '{{print $1 / 2, \"a;b\"}}' {0}",
    "echo a | xargs echo",
    "cat <<< {0}",
    "read x < {0}",
    "ls {0} | xargs cat",
    "echo $((1 + 2)) ${{V:-x}} ${{V%/*}}",
    "for ((i = 0; i < 2; i++)); do echo {0}; done",
    "diff <(cat {0}) {1}",
    "sort -- {0}",
    "find . -name '*.txt' -exec head -n 1 {{}} +",
    "printf '%s\n' {0}",
    "LC_ALL=C sort {0}",
)
# Links are left out: a write through one changes another file, and no command says so.
WRITING = (
    "echo x > {0}",
    "echo x >> {0}",
    "cat {0} > {1}",
    ": > {0}",
    "> {0}",
    "rm -f {0}",
    "touch {0}",
    "cp {0} {1}",
    "mv {0} {1}",
    "mv {0} {1} d",
    "cp {0} {1} d/",
    "cp -t d {0}",
    "tee {0} < {1}",
    "sort -o {0} {1}",
    "sed -i s/a/b/ {0}",
    "sed -i.bak 2d {0} {1}",
    "sed 's/a/b/w {1}' {0}",
    "truncate -s 1 {0}",
    "rm -rf d",
    "mkdir -p d/x",
    "rmdir d/e",
    "dd if={0} of={1} status=none",
    "cat {0} | tee {1}",
    "uniq {0} {1}",
    "cat > {0} <<E\nx $V\nE",
    'awk \'{{print $1";" > "{1}"}}\' {0}',
    "awk '{{ x = 4 / 2; print > \"{1}\"; y = 9 / 3 }}' {0}",
    "ls *.txt | xargs rm -f",
    "find d -name '*.txt' -delete",
    "find . -name {0} -exec rm {{}} +",
    "echo $(rm -f {0})",
    "cat <(rm -f {0})",
    "perl -pi -e 's/a/b/' {0}",
    "chmod 600 {0}",
    "install -m 644 {0} {1}",
    "unlink {0}",
    "cat {0} &> {1}",
    "for f in {0} {1}; do rm -f $f; done",
    "if test -f {0}; then rm {0}; fi",
    "cat <<E\n$(rm -f {0})\nE",
    "x='a[$(rm -f {0})]'; echo $((x))",
    "x='a[$(rm -f {0})]'; [[ x -eq 1 ]]",
    "x='$(rm -f {0})'; echo ${{x@P}}",
    "echo '-o {0} {1}' | xargs sort",
    "x='-o {0}'; sort $x {1}",
    "echo '{0} -delete' | xargs find",
    'awk \'x\n/"/ {{ print "y" > "{0}" }}\n1\' {1}',
    "awk 'BEGIN {{ while ((\"rm -f {0}\" | getline) > 0) ; }}'",
    "sed '1e rm -f {0}' {1}",
    "cat > d/cat <<'E'\nrm -f {0}\nE\nchmod +x d/cat; PATH=d:$PATH cat {1}",
    "cat {1} 2> >(rm -f {0}); wait",
    "tee >(cat > {0}) < {1}; wait",
    "read 'a[$(rm -f {0})]' < {1}",
    "printf -v 'a[$(rm -f {0})]' x",
    "trap 'rm -f {0}' EXIT",
    "ln -sf ../a.txt d/link; echo x >> {0}",
)
simple = st.one_of(
    *(_commands(template, 2) for template in LOOKING),
    *(_commands(template, 2) for template in WRITING),
)
# Where a plain ``cd`` fails, what follows it runs elsewhere than is said: such commands are left out.
moves = st.one_of(
    folders.map("cd {} || exit".format), folders.map("cd {} || true".format), folders.map("(cd {})".format)
)
wrapped = st.one_of(
    simple,
    simple.map("( {} )".format),
    simple.map("{{ {}\n}}".format),
    simple.map("true && {}".format),
    simple.map("false || {}".format),
    simple.map("! {}".format),
    st.tuples(folders, simple).map(lambda pair: f"cd {pair[0]} && {pair[1]}"),
    st.tuples(folders, simple).map(lambda pair: f"(cd {pair[0]} && {pair[1]}\n)"),
    simple.map(lambda command: "bash -c '" + command.replace("'", "'\"'\"'") + "'"),
)
lists = st.lists(st.one_of(wrapped, moves), min_size=1, max_size=3).map("\n".join)

needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")


def _fill(root: Path) -> None:
    shutil.rmtree(root, ignore_errors=True)
    for name in FILES:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("".join(f"a {name} {n}\n" for n in range(5)))


def _snapshot(root: Path) -> dict[str, object]:
    """Everything beneath ``root`` that a command can change, by its path."""
    found: dict[str, object] = {}
    for path in sorted(root.rglob("*")):
        status = path.lstat()
        content = path.readlink() if path.is_symlink() else path.read_bytes() if path.is_file() else None
        found[str(path)] = (status.st_mode, content, None if path.is_dir() else status.st_mtime_ns)
    return found


def _is_listed(path: str, record: CommandRecord) -> bool:
    """The file itself, something beneath a listed folder, or a folder made on the way to a listed file."""
    return any(path == name or path.startswith(name + "/") or name.startswith(path + "/") for name in record.writes)


@needs_bash
@given(command=lists)
@settings(max_examples=150)
@example("cd d || true\nrm -f c.txt")
@example("cd $V && rm -f a.txt")
@example('awk \'{print $1";" > "new.txt"}\' a.txt')
def test_effects_are_what_really_happens(tmp_path_factory: pytest.TempPathFactory, command: str) -> None:
    """A command said to change nothing changes nothing, and one whose writes are listed changes nothing else."""
    root = tmp_path_factory.getbasetemp() / "commands"
    _fill(root)
    record = classify_command(command, str(root))
    before = _snapshot(root)
    environment = {"PATH": "/usr/bin:/bin", "V": "d/e", "LC_ALL": "C"}
    subprocess.run(
        ("bash", "-c", command), cwd=root, env=environment, capture_output=True, check=False, stdin=subprocess.DEVNULL
    )
    after = _snapshot(root)
    changed = {path for path in {*before, *after} if before.get(path) != after.get(path)}
    if record.effects is Effects.NONE:
        assert changed == set()
    elif record.effects is Effects.LISTED:
        assert {path for path in changed if not _is_listed(path, record)} == set()
