"""Properties of the tree itself: what pure packages import, what is documented, how big things are, what is dead."""

from __future__ import annotations

import ast
import functools
import inspect
import io
import json
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import execledger

ROOT = Path(__file__).resolve().parents[1]
SRC = ROOT / "src"

PURE_PACKAGES = ("core", "redact", "shell", "symbols", "vocabulary")
PURE_MODULES = frozenset(
    "__future__ abc ast bisect collections dataclasses difflib enum functools hashlib heapq itertools math operator"
    " posixpath re shlex string textwrap tomllib types typing unicodedata warnings msgspec tree_sitter".split()
)
IMPURE_CALLS = frozenset("open print input exec eval compile __import__ breakpoint hash".split())
# The clock, and the parts of ``posixpath`` and ``hashlib`` that look at the machine.
IMPURE_NAMES = frozenset(
    "now today utcnow abspath realpath expanduser expandvars exists lexists isfile isdir islink getsize getmtime"
    " file_digest".split()
)

MODULE_LINES = 800
FUNCTION_LINES = 60
RECORD_BASES = frozenset({"Struct", "NamedTuple"})

FOLDERS = (".ci", "benchmarks", "changes", "docs", "examples", "src", "tests")
WRITTEN_BY_HAND = frozenset({".py", ".md", ".toml", ""})
# A character class keeps each pattern from finding itself.
FORBIDDEN_TEXT = {
    "a path of one machine": re.compile(
        r"(?<![\w.])/(?:[w]ork|(?:home|[U]sers)/(?!user/|me/)\w+|opt/[p]ypi|root/\.\w+)/"
    ),
    "a package index": re.compile(r"index-url[ =]https?:|[p]ythonhosted|[a]rtifactory|[r]egistry\.npmjs"),
}
UNFINISHED = re.compile(r"\b(?:T[O]DO|F[I]XME|X[X]X|H[A]CK)\b")
FRAGMENT = re.compile(r"[a-z0-9-]+\.(?:added|changed|fixed)\.md|README\.md")


@functools.cache
def parse(path: Path) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


@functools.cache
def python_files(*folders: str) -> tuple[Path, ...]:
    """Every Python file below these folders."""
    return tuple(sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py")))


def hand_written() -> Iterator[Path]:
    """Every text that is written by hand: at the top, and in our own folders, recorded and golden files left out."""
    below = (path for folder in FOLDERS for path in (ROOT / folder).rglob("*"))
    # In a linked work tree, `.git` is a file with a path.
    for path in sorted([*(path for path in ROOT.iterdir() if path.name != ".git"), *below]):
        if path.is_file() and path.suffix in WRITTEN_BY_HAND and "__pycache__" not in path.parts:
            yield path


def place(path: Path, line: int | None = None) -> str:
    """A file and line, as an editor opens it."""
    shown = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.name
    return shown if line is None else f"{shown}:{line}"


def none_of(offenders: list[str], rule: str) -> None:
    """Fail with the rule and the whole list of offenders, one to a line."""
    if offenders:
        pytest.fail("\n".join([f"{rule}; {len(offenders)} offend:", *offenders]), pytrace=False)


def module_name(path: Path) -> str:
    """The dotted name of a file below ``src``; of any other, its stem."""
    if not path.is_relative_to(SRC):
        return path.stem
    parts = path.relative_to(SRC).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(tree: ast.Module, package: str) -> Iterator[tuple[int, str]]:
    """Line and dotted name of every import, also inside functions; ``from a import b`` is ``a.b``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: 1 - node.level or None] if node.level else []
            origin = ".".join([*above, *([node.module] if node.module else [])])
            yield from ((node.lineno, f"{origin}.{alias.name}") for alias in node.names)


def file_imports(path: Path) -> list[tuple[int, str]]:
    """The imports of a file."""
    name = module_name(path)
    return list(imports(parse(path), name if path.name == "__init__.py" else name.rpartition(".")[0]))


def is_pure(name: str) -> bool:
    """Whether a pure module may import this; what it may import of our own packages is a contract of import-linter."""
    top = name.partition(".")[0]
    known = top in PURE_MODULES or top.startswith(("execledger", "tree_sitter_"))
    return known and name.rpartition(".")[2] not in IMPURE_NAMES


def impure_calls(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and name of every call that does I/O, asks the clock, or differs from one process to the next."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in IMPURE_CALLS:
            yield node.lineno, f"{node.func.id}()"
        elif isinstance(node, ast.Attribute) and node.attr in IMPURE_NAMES:
            yield node.lineno, f".{node.attr}"


def pure_files() -> tuple[Path, ...]:
    """The modules of the pure packages."""
    return (*python_files(*(f"src/execledger/{name}" for name in PURE_PACKAGES)), ROOT / "src/execledger/errors.py")


def test_pure_packages_import_only_what_is_pure() -> None:
    """Nothing in the pure packages imports I/O, clock, randomness, processes or an adapter."""
    offenders = [
        f"{place(path, line)} imports {name}"
        for path in pure_files()
        for line, name in file_imports(path)
        if not is_pure(name)
    ]
    none_of(offenders, "a pure package imports only pure modules")


def test_pure_packages_call_nothing_impure() -> None:
    """Nothing in the pure packages calls a built-in that does I/O or depends on the process."""
    offenders = [
        f"{place(path, line)} uses {name}" for path in pure_files() for line, name in impure_calls(parse(path))
    ]
    none_of(offenders, "a pure package does no I/O, reads no clock, and gives the same bytes in every process")


@pytest.mark.parametrize(
    "source",
    ["import os", "def f():\n    from time import time", "from os import path", "from hashlib import file_digest"],
)
def test_an_impure_import_is_found(source: str) -> None:
    """The import walk sees imports of any spelling, at any depth."""
    assert [is_pure(name) for _, name in imports(ast.parse(source), "execledger.core")] == [False]


AUDITED_IMPORT = """
import json, os, sys
effects = []
def note(event, args):
    if event == "open":
        _, mode, flags = args
        if set(mode or "") & set("wax+") or (flags or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            effects.append(repr(args))
    elif event.startswith(("socket.", "subprocess.", "os.mkdir", "os.remove", "os.rename", "os.system", "os.fork")):
        effects.append(event)
sys.path.insert(0, sys.argv[1])
before = set(sys.modules)
sys.addaudithook(note)
import execledger
print(json.dumps({"effects": effects, "modules": sorted({*sys.modules} - before)}))
"""


def test_importing_is_silent_and_has_no_effects() -> None:
    """A plain import prints nothing, writes nothing, starts nothing, and leaves the heavy libraries alone."""
    command = [sys.executable, "-I", "-B", "-c", AUDITED_IMPORT, str(SRC)]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    *printed, last = result.stdout.splitlines()
    report = json.loads(last)
    assert (printed, result.stderr, report["effects"]) == ([], "", [])
    tops = {name.partition(".")[0] for name in report["modules"]}
    heavy = {top for top in tops if top in {"aiohttp", "asyncio", "click", "rich"} or top.startswith("tree_sitter_")}
    assert heavy <= {"tree_sitter_bash"}


def test_a_class_name_means_one_thing() -> None:
    """No two public classes of the package have the same name."""
    modules: dict[str, list[str]] = {}
    for path in python_files("src"):
        for node in parse(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                modules.setdefault(node.name, []).append(place(path, node.lineno))
    offenders = [f"{name}: {', '.join(places)}" for name, places in sorted(modules.items()) if len(places) > 1]
    none_of(offenders, "a class name is used once")


def base_names(node: ast.ClassDef) -> set[str]:
    """The last words of a class's bases."""
    return {ast.unparse(base).partition("[")[0].rpartition(".")[2] for base in node.bases}


@functools.cache
def record_names() -> frozenset[str]:
    """The record bases, and every class of ours that derives from one, however far."""
    classes = [node for path in python_files("src") for node in ast.walk(parse(path)) if isinstance(node, ast.ClassDef)]
    names = set(RECORD_BASES)
    while more := {node.name for node in classes if base_names(node) & names} - names:
        names |= more
    return frozenset(names)


def bare_fields(node: ast.ClassDef) -> Iterator[tuple[int, str]]:
    """Public fields without a docstring behind them."""
    for field, behind in zip(node.body, [*node.body[1:], None], strict=True):
        if not (isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)):
            continue
        documented = isinstance(behind, ast.Expr) and isinstance(behind.value, ast.Constant)
        if not (documented or field.target.id.startswith("_") or "ClassVar" in ast.unparse(field.annotation)):
            yield field.lineno, f"field {node.name}.{field.target.id}"


def undocumented(node: ast.Module | ast.ClassDef) -> Iterator[tuple[int, str]]:
    """Line and name of each public class, function and field in a body that has no docstring."""
    for child in node.body:
        if not isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) or child.name.startswith("_"):
            continue
        decorators = {ast.unparse(decorator).rpartition(".")[2] for decorator in child.decorator_list}
        if ast.get_docstring(child) is None and not decorators & {"overload", "override", "setter"}:
            yield child.lineno, child.name
        if isinstance(child, ast.ClassDef):
            yield from undocumented(child)
            if base_names(child) & record_names():
                yield from bare_fields(child)


def test_whatever_is_public_is_documented() -> None:
    """Every public module, class, function and record field in the package has a docstring."""
    offenders = [f"{place(path)} itself" for path in python_files("src") if ast.get_docstring(parse(path)) is None]
    offenders += [
        f"{place(path, line)} {name}" for path in python_files("src") for line, name in undocumented(parse(path))
    ]
    none_of(offenders, "whatever is public has a docstring")


def test_a_bare_field_is_found() -> None:
    """The walk sees a field without a docstring, and no other."""
    source = "class A(Struct):\n    'Doc.'\n    a: int\n    'Doc.'\n    b: int = 0\n    _c: int = 0\n"
    assert list(undocumented(ast.parse(source))) == [(5, "field A.b")]


def test_every_test_says_what_it_shows() -> None:
    """Every test has a docstring."""
    offenders = [
        f"{place(path, node.lineno)} {node.name}"
        for path in python_files("tests")
        for node in ast.walk(parse(path))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_") and not ast.get_docstring(node)
    ]
    none_of(offenders, "a test says in one sentence what it shows")


def test_every_package_folder_is_a_package() -> None:
    """A folder of modules has an ``__init__.py``, which says what the folder is for."""
    folders = {path.parent for path in python_files("src")} - {SRC}
    none_of([place(folder) for folder in sorted(folders) if not (folder / "__init__.py").exists()], "no bare folders")


def test_modules_and_functions_are_small() -> None:
    """No module and no function outgrows the hard stop."""
    offenders = []
    for path in [*python_files("src", "benchmarks"), ROOT / "dev.py"]:
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > MODULE_LINES:
            offenders.append(f"{place(path)} has {lines} lines")
        for node in ast.walk(parse(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                if length > FUNCTION_LINES:
                    offenders.append(f"{place(path, node.lineno)} {node.name} has {length} lines")
    none_of(offenders, f"a module has at most {MODULE_LINES} lines, a function at most {FUNCTION_LINES}")


def test_no_text_names_a_machine_or_an_index() -> None:
    """Nothing that is written by hand holds a path of one machine or the address of a package index."""
    offenders = [
        f"{place(path, number)} names {what}"
        for path in hand_written()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        for what, pattern in FORBIDDEN_TEXT.items()
        if pattern.search(line)
    ]
    none_of(offenders, "the tree is the same wherever it lies")


def prose(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a text that speak to people: of a program only its comments, since commands search for anything."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        yield from enumerate(text.splitlines(), 1)
        return
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def test_nothing_is_marked_unfinished() -> None:
    """No comment and no document puts work off."""
    offenders = [place(path, line) for path in hand_written() for line, text in prose(path) if UNFINISHED.search(text)]
    none_of(offenders, "what is not done is in the issues, not in the text")


def untidy(path: Path) -> Iterator[str]:
    """What is wrong with the white space of a file."""
    text = path.read_text(encoding="utf-8")
    if text and not text.endswith("\n"):
        yield f"{place(path)} has no final newline"
    for number, line in enumerate(text.split("\n"), 1):
        if line != line.rstrip():
            yield f"{place(path, number)} ends in white space"
        if path.suffix == ".py" and "\t" in line:
            yield f"{place(path, number)} holds a tab"


def test_white_space_is_tidy() -> None:
    """Every text ends in a newline, no line ends in white space, and no program holds a tab."""
    none_of([fault for path in hand_written() for fault in untidy(path)], "white space is tidy")


def test_exported_names_exist_and_are_documented() -> None:
    """``execledger.__all__`` is all that is public, and each class and function in it says what it is."""
    none_of([name for name in execledger.__all__ if not hasattr(execledger, name)], "an exported name exists")
    exported = {name: getattr(execledger, name) for name in execledger.__all__}
    public = {
        name for name, value in vars(execledger).items() if not (name.startswith("_") or isinstance(value, ModuleType))
    }
    assert public - set(exported) - {"annotations"} == set()
    bare = [
        name
        for name, value in exported.items()
        if (inspect.isclass(value) or inspect.isroutine(value)) and not vars(value).get("__doc__", value.__doc__)
    ]
    none_of(bare, "an exported name has a docstring")


def named_in_text(path: Path) -> set[str]:
    """Dotted names in the string constants of a file: modules that are imported when they are needed."""
    texts = (
        node.value for node in ast.walk(parse(path)) if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
    names = [text.partition(":")[0] for text in texts if re.fullmatch(r"(?:execledger)?(?:\.\w+)+(?::\w+)?", text)]
    return {module_name(path) + name if name.startswith(".") else name for name in names}


def test_no_module_is_unreachable() -> None:
    """Every module is imported by another module, a test or a benchmark, or is an entry point."""
    used = set(re.findall(r'= "(execledger[\w.]*)[:"]', (ROOT / "pyproject.toml").read_text(encoding="utf-8")))
    for path in python_files("src", "tests", "benchmarks"):
        own = module_name(path)
        names = {name for _, name in file_imports(path)} | named_in_text(path)
        used |= {name for found in names for name in (found, found.rpartition(".")[0]) if name != own}
    modules = {module_name(path): path for path in python_files("src") if path.stem not in {"__init__", "__main__"}}
    none_of([place(path) for name, path in modules.items() if name not in used], "every module is used by something")


def test_change_fragments_are_named_by_kind() -> None:
    """A change fragment is called after its topic and its kind."""
    offenders = [place(path) for path in (ROOT / "changes").iterdir() if not FRAGMENT.fullmatch(path.name)]
    none_of(offenders, "a fragment is called <topic>.<added|changed|fixed>.md")
