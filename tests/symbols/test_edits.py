"""The functions and classes that texts define, and those that replaced snippets and patches touch."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from execledger.shell.patches import looks_like_patch, patched_paths
from execledger.symbols.edits import PatchedFile, edited, outline, patched
from execledger.symbols.languages import SUFFIXES, grammar_of

PYTHON = '''
class Model(Base):
    """A model."""

    @property
    def name(self): ...

    async def save(self):
        def retry():
            pass

    class Meta:
        pass

if TYPE_CHECKING:
    def helper(): pass
'''

JAVASCRIPT = """
class Model extends Base {
  #secret = () => 1;
  static async load(id) { return id; }
  get name() { return 'x'; }
}
const format = async (x) => { const inner = () => x; return inner(); };
let parse = function () {}, limit = 3;
export default function main() {}
function* ids() {}
module.exports.run = function () {};
const Shape = class {};
"""

TYPESCRIPT = """
export interface Options { verbose: boolean; run(): void }
enum Level { Low, High }
type Pair<T> = [T, T];
export abstract class Store<T> {
  constructor(private readonly items: T[]) {}
  abstract open(): void;
  @memo()
  find<K>(key: K): T | undefined { return undefined; }
  private log = (text: string): void => {};
}
namespace Paths { export function join(a: string): string { return a; } }
export const useStore = (name: string): number => 1;
"""

TSX = """
export const App: React.FC<Props> = ({ title }) => {
  const onClick = () => alert(title);
  return <button onClick={() => onClick()}>{title}</button>;
};
"""

GO = """
package server

type Server[T any] struct { port int }
type (
    Store interface { Get() error }
    Name = string
)

func (s *Server[T]) Run() error { return nil }
func (s Server) Stop() {}
func main() { go func() {}() }
""".replace("    ", "\t")

JAVA = """
@Entity
public class Account<T> extends Base {
  private int total;
  Account(int total) { this.total = total; }
  @Override public int hashCode() { return total; }
  enum Kind { A; void mark() {} }
  record Point(int x) { Point { } }
  interface Visitor { void visit(); }
  @interface Marker {}
}
"""

RUST = """
pub struct Point<T> { x: T }
impl<T> Point<T> { pub const fn new(x: T) -> Self { Point { x } } }
impl fmt::Display for Point<u8> { fn fmt(&self) -> fmt::Result { Ok(()) } }
enum Shape { Round }
trait Area { fn area(&self) -> f64; }
macro_rules! square { ($x:expr) => { $x * $x }; }
mod tests {
    #[test]
    fn works() {}
}
"""

C = """
#define SQUARE(x) ((x) * (x))
struct point { int x; };
typedef struct { int y; } line_t;
enum color { RED };
static char **
names(int count)
{
    return 0;
}
struct point *find(void) { return 0; }
int declared(void);
"""

CPP = """
namespace geo {
template <class T> class Shape : public Base {
 public:
  Shape() {}
  virtual int area() const { return 1; }
  bool operator<(const Shape& other) const { return true; }
};
}
int& Grid<int>::at(int i) { return cells[i]; }
Grid<int>::~Grid() {}
bool operator==(const A& a, const A& b) { return true; }
enum class Kind { One };
"""


@pytest.mark.parametrize(
    ("path", "text", "names"),
    [
        ("model.py", PYTHON, "Model Model.name Model.save Model.save.retry Model.Meta helper"),
        (
            "model.js",
            JAVASCRIPT,
            "Model Model.#secret Model.load Model.name format format.inner parse main ids module.exports.run Shape",
        ),
        (
            "store.ts",
            TYPESCRIPT,
            "Options Level Pair Store Store.constructor Store.open Store.find Store.log Paths.join useStore",
        ),
        ("App.tsx", TSX, "App App.onClick"),
        ("main.go", GO, "Server Store Name Server.Run Server.Stop main"),
        (
            "Account.java",
            JAVA,
            "Account Account.Account Account.hashCode Account.Kind Account.Kind.mark Account.Point Account.Point.Point"
            " Account.Visitor Account.Visitor.visit Account.Marker",
        ),
        ("point.rs", RUST, "Point Point.new Point.fmt Shape Area Area.area square tests.works"),
        ("point.c", C, "SQUARE point line_t color names find"),
        (
            "shape.cpp",
            CPP,
            "geo.Shape geo.Shape.Shape geo.Shape.area geo.Shape.operator< Grid.at Grid.~Grid operator== Kind",
        ),
    ],
)
def test_every_language_has_qualified_names_in_order(path: str, text: str, names: str) -> None:
    """Functions, methods and types of a whole text come out qualified by what they stand in."""
    assert outline(path, text) == tuple(names.split())


@pytest.mark.parametrize(
    ("path", "text", "names"),
    [
        ("a.py", "    def save(self):\n        pass\n", "save"),
        ("a.py", "        return x\n\n    async def save(self):\n        pass\n", "save"),
        ("a.py", "    except OSError:\n        raise\n\n    def save(self):\n        return (1,\n", "save"),
        ("a.js", "  save(x) {\n    return 1;\n  }\n\n  async load() {\n", "save load"),
        ("a.js", "    return 1;\n  }\n\n  save(x) {\n    return 2;\n  }\n", "save"),
        ("a.js", "  });\n\n  it('x', () => {\n    y();\n  });\n});\nfunction last() {}\n", "last"),
        ("a.js", "   * Saves.\n   */\n  save() { return 1 }\n", "save"),
        ("a.js", "function first() { return 1 }\n/**\n * The next one.\n", "first"),
        ("a.ts", "    } catch (e) {\n      log(e);\n    }\n  }\n\n  private stop(): void {\n    this.x = 1;\n", "stop"),
        ("a.go", "\treturn nil\n}\n\nfunc (s *Server) Run() error {\n\tx := 1\n", "Server.Run"),
        ("a.java", "        return 1;\n    }\n\n    public Account(int a) {\n        go();\n    }\n}\n", "Account"),
        ("a.rs", "        Ok(())\n    }\n\n    pub fn next(&self) -> u8 {\n        1\n", "next"),
        ("a.c", "    return 0;\n}\n\nvoid next(void)\n{\n    x = 1;\n", "next"),
        ("a.cpp", "        return 1;\n    }\n\n    void next() override {\n        go();\n    }\n};\n", "next"),
        ("a.c", "    } else if (x) {\n        y();\n    }\n}\n", ""),
        ("a.py", "x = 1\n", ""),
        ("A.java", "count", ""),
        ("A.java", "   * It recurses for ever:\n   * an infinite (and useless) {@code loop}.\n", ""),
        ("a.js", "save(a,", ""),
    ],
)
def test_fragments_are_read_as_far_as_they_go(path: str, text: str, names: str) -> None:
    """A piece from the middle of a file shows the definitions that start in it, and invents none."""
    assert outline(path, text) == tuple(names.split())


@pytest.mark.parametrize("path", ["README.md", "Makefile", "py", ".py", "src/.ts", "a.py/b", ""])
def test_other_files_are_unknown(path: str) -> None:
    """A file of no known language has unknown symbols, which is not the same as none."""
    assert outline(path, "def helper(): pass") is None


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_suffix_can_be_read(suffix: str) -> None:
    """Each suffix leads to a language that answers, in capitals too."""
    assert outline(f"src/a.{suffix.upper()}", "") == ()
    assert SUFFIXES[suffix].indented or grammar_of(SUFFIXES[suffix]) is not None


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.ts", "<[sl/(>[c}e*f l]b"),
        ("a.ts", "d?{s=<e,>i=&a=+e{b:&f]"),
        ("a.tsx", "``>{]f'`f':f]]}:a(c\tf`"),
        ("a.tsx", "[a='$\n/i}:&]b,f\""),
        ("A.java", "d|\n=`s\"(.\"|&!-f=i(@a`a>a/'}'!s:"),
    ],
)
def test_endless_error_recovery_is_cut_short(path: str, text: str) -> None:
    """These few bytes keep an unguarded parser busy for minutes, depending on its version; they define nothing."""
    assert not outline(path, text)


@pytest.mark.parametrize(
    "text",
    ["x\n" * 300_000, "a<" * 12_000, "x = 1" + " " * 3_000, "x\n" + "(\n" * 600, ("x(\n" * 600), ";\n" * 1_500],
)
def test_what_nobody_writes_is_not_parsed(text: str) -> None:
    """Texts on which time or memory would run away are unknown."""
    assert outline("A.java", text) is None


def test_long_python_is_unknown() -> None:
    """Python has its own reader, and its own limit."""
    assert outline("a.py", "def f(): pass\n" * 40_000) is None


def test_the_number_of_names_is_bounded() -> None:
    """An answer never holds more than 500 names, the first ones."""
    text = "".join(f"func f{number}() {{}}\n" for number in range(600))
    assert outline("a.go", text) == tuple(f"f{number}" for number in range(500))


IMPORTS = """
import sys
sys.modules["tree_sitter_go"] = None
import execledger.symbols.edits, execledger.shell.patches
from execledger.symbols.edits import edited, outline
loaded = {name.partition(".")[0] for name in sys.modules if name.startswith("tree_sitter_")}
loaded = sorted(loaded - {"tree_sitter_bash", "tree_sitter_go"})
print(loaded, outline("a.go", "func f() {}"), edited("a.go", "", "func f() {}"), outline("a.py", "def f(): pass"))
"""


def test_grammars_are_imported_when_needed_and_may_be_missing() -> None:
    """Importing the package loads no grammar; without its grammar a language is unknown, and Python needs none."""
    result = subprocess.run([sys.executable, "-c", IMPORTS], capture_output=True, text=True, check=True)
    assert result.stdout == "[] None None ('f',)\n"


def unified(path: str, heading: str, *lines: str) -> str:
    """A patch of one hunk."""
    old = sum(line[0] in " -" for line in lines)
    new = sum(line[0] in " +" for line in lines)
    body = "\n".join(lines)
    return f"--- a/{path}\n+++ b/{path}\n@@ -10,{old} +10,{new} @@ {heading}\n{body}\n"


@pytest.mark.parametrize(
    ("path", "heading", "lines", "names"),
    [
        ("a.py", "", (" def f():", "-    return 1", "+    return 2"), "f"),
        ("a.py", "def f(x,", ("     y = 1", "-    return 1", "+    return 2"), "f"),
        ("a.py", "class Model:", ("     limit = 1", "+    extra = 2", " ", "     def save(self):"), "Model"),
        ("a.py", "class Model:", ("     def save(self):", "-        return 1", "+        return 2"), "Model.save"),
        ("a.py", "def f(self):", ("         x = 1", " ", "+    def g(self):", "+        y = 2"), "g"),
        ("a.py", "def f():", ("     return 1", " ", "-LIMIT = 1", "+LIMIT = 2"), ""),
        ("a.py", "class Model:", ("     x = 1", " ", " def f():", "-    y = 1", "+    y = 2"), "f"),
        ("a.py", "import os", ("     x = 1", "+    y = 2"), ""),
        ("a.py", "", ("-def f():", "-    pass", "+def g():", "+    pass"), "f g"),
        ("a.ts", "export class Store {", ("   find(key: string) {", "-    a();", "+    b();", "   }"), "Store.find"),
        ("a.go", "func (s *Server) Run(", (" \tx := 1", "-\ty()", "+\tz()", " }"), "Server.Run"),
        ("a.go", "type Server struct {", (" \tport int", "+\thost string", " }", "+func f() {", "+}"), "Server f"),
        ("A.java", "public class A", ("     }", " ", "+    int f() {", "+        return 1;", "+    }"), "A.f"),
        ("a.rs", "impl Shape for Round {", ("     fn area(&self) {", "+        x();", "     }"), "Round.area"),
        ("a.c", "static int f(int a)", (" {", "+    x();", "     return 1;", " }"), "f"),
        ("a.cpp", "void A::f(int a,", ("     x();", "+    y();", " }"), "A.f"),
    ],
)
def test_hunks_count_for_definitions_and_headings(path: str, heading: str, lines: tuple[str, ...], names: str) -> None:
    """A changed line counts for the definition in the hunk, else for the heading's, as far as that one reaches."""
    added, removed = (sum(line[0] == sign for line in lines) for sign in "+-")
    expected = PatchedFile(path, tuple(names.split()), added, removed)
    assert patched(unified(path, heading, *lines)) == (expected,)


def test_a_patch_of_several_files() -> None:
    """Each file has its own answer, in order; the symbols of a file in no known language are unknown."""
    text = unified("a.go", "func f() {", "-\ta()", "+\tb()") + unified("notes.md", "# Title", "+text")
    assert patched(text) == (PatchedFile("a.go", ("f",), 1, 1), PatchedFile("notes.md", None, 1, 0))


ENVELOPE = """\
*** Begin Patch
*** Update File: src/a.py
*** Move to: src/b.py
@@ class Model
@@     def save
-        return 1
+        return 2
@@ def helper():
     x = 1
+    y = 2
*** Add File: c.js
+class A {
+  run() {}
+}
*** Delete File: d.py
*** End Patch
"""


def test_the_other_form_of_patches() -> None:
    """Stacked headings qualify each other, also where they are only begun; added files count whole."""
    assert patched(ENVELOPE) == (
        PatchedFile("src/b.py", ("Model.save", "helper"), 2, 1),
        PatchedFile("c.js", ("A", "A.run"), 3, 0),
        PatchedFile("d.py", (), 0, 0),
    )


PATCHES = ["--- a/x.py\n", "+++ b/x.ts\n", "@@ -1,2 +1,2 @@ class A {\n", "diff --git a/x b/x\n", "rename from x\n"]
ENVELOPES = ["*** Begin Patch\n", "*** Update File: a.go\n", "*** Move to: b.rs\n", "*** End Patch\n", "@@ def f\n"]
CODE = ["class A {\n", "def f(self):\n", "func (s *S) F() {\n", *'+-(){}`"\r\n\t\0 ', '"""', "/*", "*/"]
PIECES = st.sampled_from([*PATCHES, *ENVELOPES, *CODE])
TEXTS = st.text(max_size=60) | st.lists(PIECES | st.text(max_size=4), max_size=25).map("".join)
PATHS = st.sampled_from([f"a.{suffix}" for suffix in "py js ts tsx go java rs c cpp txt".split()]) | st.text(max_size=8)


@given(PATHS, TEXTS, TEXTS)
def test_no_text_is_too_strange(path: str, old: str, new: str) -> None:
    """Any text has an answer, the same one each time."""
    answers = [(outline(path, old), edited(path, old, new), patched(old), patched_paths(new, 1)) for _ in range(2)]
    assert answers[0] == answers[1]
    assert [file.path for file in patched(old) if file.path not in patched_paths(old)] == []
    assert not looks_like_patch(old) or old.lstrip()[:3] in ("dif", "---", "***")


METHODS = """\
    def load(self):
        return 1

    @cached
    def save(self):
        return 2
"""


@pytest.mark.parametrize(
    ("path", "old", "new", "names"),
    [
        ("a.py", METHODS, METHODS.replace("2", "3"), "save"),
        ("a.py", METHODS, METHODS.replace("@cached", "@traced"), "save"),
        ("a.py", METHODS, METHODS.replace("load", "read"), "load read"),
        ("a.py", METHODS, METHODS, ""),
        ("a.py", METHODS, "", "load save"),
        ("a.py", "", "class A:\n    def b(self):\n        pass\n", "A A.b"),
        ("a.py", "import os\n", "import os\nimport re\n", ""),
        ("a.py", "    x = 1\n\ndef save(self):\n    y = 1\n", "    x = 2\n\ndef save(self):\n    y = 1\n", ""),
        ("a.py", "def f():\n    pass\n\nLIMIT = 1\n", "def f():\n    pass\n\nLIMIT = 2\n", ""),
        ("a.py", "return 1", "return 2", ""),
        ("a.js", "  save() {\n    a();\n  }\n  load() {\n", "  save() {\n    a();\n    b();\n  }\n  load() {", "save"),
        ("a.go", "func f() {\n\ta()\n}\n\nfunc g() {\n", "func f() {\n\tb()\n}\n\nfunc g() {\n", "f"),
        ("a.rs", "#[test]\nfn f() {}\n", "#[ignore]\nfn f() {}\n", "f"),
        ("A.java", "    int x;\n    int f() { return x; }\n", "    long x;\n    int f() { return x; }\n", ""),
        ("a.cpp", "int A::f() {\n  return 1;\n}\n", "int A::f() {\n  return 2;\n}\n", "A.f"),
    ],
)  # fmt: skip
def test_changed_lines_count_for_the_definition_they_stand_in(path: str, old: str, new: str, names: str) -> None:
    """A changed line counts for the innermost definition around it in the snippet, and for none if there is none."""
    assert edited(path, old, new) == tuple(names.split())


def test_an_unknown_language_is_unknown() -> None:
    """Nothing is said of files that are not source text we know."""
    assert edited("notes.txt", "def f(): pass", "def g(): pass") is None


def test_long_snippets_count_as_changed_throughout() -> None:
    """Texts too long to be aligned are compared from both ends only."""
    body = "".join(f"func f{number}() {{\n\treturn\n}}\n" for number in range(200))
    old = body.replace("f0()", "first()").replace("f199()", "last()")
    assert edited("a.go", old, body) == ("first", *(f"f{number}" for number in range(1, 199)), "last", "f0", "f199")
