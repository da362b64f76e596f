"""The files that a script's text names for writing."""

from __future__ import annotations

from execledger.shell.scripts import MAX_TEXT, language_of, written_by


def python(text: str) -> tuple[str, ...]:
    return written_by(text, "python")


def test_open_modes() -> None:
    """Every mode that writes, and no other."""
    text = "\n".join(f"open('{mode}', '{mode}')" for mode in ("w", "a", "x", "r+", "wb", "rb", "r", "rt"))
    assert python(text) == ("w", "a", "x", "r+", "wb")
    assert python("open('a')\nopen('b', mode='w')\nio.open(file='c', mode='a')\ncodecs.open('d', 'w', 'utf8')") == (
        "b",
        "c",
        "d",
    )


def test_paths() -> None:
    """Methods of paths, bound to names or not."""
    text = """
from pathlib import Path
Path('a').write_text('x')
p = Path('src') / 'b.py'
p.write_bytes(b'')
with p.with_name('q').open('w') as f: pass
q = Path("c")
q.open("w")
q.read_text().replace('x', 'y')
Path('d').rename('e')
Path('f').unlink()
"""
    assert python(text) == ("a", "src/b.py", "c", "d", "e", "f")


def test_constants() -> None:
    """Names stand for the text that they were last given."""
    text = """
import os
path = 'a.py'
open(path).read()
path = 'b.py'
open(path, 'w')
base: str = 'src'
open(os.path.join(base, 'c.py'), 'w')
open(f'{base}/d.py', 'w')
open(base + '/e.py', 'w')
open(unknown, 'w')
open(input(), 'w')
"""
    assert python(text) == ("b.py", "src/c.py", "src/d.py", "src/e.py")


def test_loops_and_functions() -> None:
    """Lists, pairs and arguments of the script's own functions."""
    text = """
def fix(path, old='x'):
    open(path, 'w')
fix('a')
fix(path='b')
for name in ['c', 'd']:
    open(name, 'w')
files = ['e', 'f']
for i, name in enumerate(files):
    open(name, 'w')
for name, new in [('g', 'x'), ('h', 'y')]:
    open(name, 'w')
for name, new in {'i': 1}.items():
    open(name, 'w')
"""
    assert python(text) == ("a", "b", "c", "d", "e", "f", "g", "h", "i")


def test_os_and_shutil() -> None:
    """Targets, and sources where these go away; by any name of the module."""
    text = """
import shutil as sh, os
from os import remove
sh.copy('a', 'b')
sh.move('c', 'd')
os.rename('e', 'f')
remove('g')
os.makedirs('h', exist_ok=True)
import fileinput
for line in fileinput.input(['i', 'j'], inplace=True): pass
for line in fileinput.input('k'): pass
"""
    assert python(text) == ("b", "c", "d", "e", "f", "g", "h", "i", "j")


def test_text_that_does_not_parse() -> None:
    """Patterns take over, variables included."""
    assert python("print 'x'\np = 'a.py'\nopen(p, 'w')\nopen('b.py', 'a')\nopen('c')") == ("a.py", "b.py")


def test_other_languages() -> None:
    """JavaScript, Ruby, PHP and Perl by their usual calls."""
    assert written_by("const f = 'a.js';\nfs.writeFileSync(f, x); fs.readFileSync('b');", "javascript") == ("a.js",)
    assert written_by(
        "fs.promises.writeFile('a', x); fs.renameSync('b', 'c'); appendFileSync('d', x)", "javascript"
    ) == (
        "a",
        "b",
        "c",
        "d",
    )
    assert written_by("File.open('a', 'w') { }\nFile.open('b')\nFileUtils.mv('x', 'c')", "ruby") == ("a", "c")
    assert written_by("$f = 'a';\nfile_put_contents($f, 1); fopen('b', 'r');", "php") == ("a",)
    assert written_by("open(my $fh, '>', 'a'); open(my $in, '<', 'b');", "perl") == ("a",)
    assert written_by("open('a', 'w')", "cobol") == ()


def test_hostile_text() -> None:
    """Nothing raises, and odd names are left out."""
    for text in (
        "\0",
        "(" * 5000,
        "-" * 50000 + "1",
        "x+" * 20000 + "1",
        "a." * 20000 + "b",
        "open('\\n', 'w')",
        "def f(:",
    ):
        assert python(text) == (), text[:10]
    assert python("#" * MAX_TEXT + "\nopen('a', 'w')") == ()
    assert python("a = b\nb = a\nopen(a, 'w')") == ()


def test_many_values_stay_few() -> None:
    """Names that stand for many texts do not multiply."""
    lists = "\n".join(f"for x{i} in ['a', 'b', 'c', 'd']: pass" for i in range(12))
    assert python(lists + "\nopen(" + " + ".join(f"x{i}" for i in range(12)) + ", 'w')") == ()


def test_languages_by_name() -> None:
    """A script's extension says its language."""
    assert [language_of(path) for path in ("a.py", "x/b.mjs", "c.sh", "d")] == ["python", "javascript", "", ""]
