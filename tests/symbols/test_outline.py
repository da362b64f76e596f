"""What a text defines, in every language."""

from __future__ import annotations

import subprocess
import sys

import pytest

from execledger.symbols.languages import SUFFIXES, grammar_of
from execledger.symbols.outline import outline

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
    """These few bytes keep an unguarded parser busy for minutes; what is cut short is unknown."""
    assert outline(path, text) is None


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
import execledger.symbols.patched, execledger.shell.patches
from execledger.symbols.outline import edited, outline
loaded = {name.partition(".")[0] for name in sys.modules if name.startswith("tree_sitter_")}
loaded = sorted(loaded - {"tree_sitter_bash", "tree_sitter_go"})
print(loaded, outline("a.go", "func f() {}"), edited("a.go", "", "func f() {}"), outline("a.py", "def f(): pass"))
"""


def test_grammars_are_imported_when_needed_and_may_be_missing() -> None:
    """Importing the package loads no grammar; without its grammar a language is unknown, and Python needs none."""
    result = subprocess.run([sys.executable, "-c", IMPORTS], capture_output=True, text=True, check=True)
    assert result.stdout == "[] None None ('f',)\n"
