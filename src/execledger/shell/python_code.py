"""Python source as a syntax tree: what it defines, and which files its calls write, as far as constants tell."""

from __future__ import annotations

import ast
import posixpath
import re
import warnings
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice

from msgspec import Struct

MAX_CHARACTERS = 500_000
"""Longer texts are not read."""


@lru_cache(maxsize=8)
def parse_python(text: str) -> ast.Module | None:
    """The syntax tree of ``text``; None if it is not sound, too long or too deep.

    A script is looked at when it is written and again when it is run, so the last few trees are kept.
    """
    if len(text) > MAX_CHARACTERS:
        return None
    try:
        with warnings.catch_warnings():
            # Warnings about invalid escapes in the script are not relevant here.
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def python_definitions(text: str) -> list[tuple[str, int, int, bool]]:
    """Of each definition the qualified name, first and last line (from 0), and whether it is a class; outer first."""
    tree = parse_python(text)
    return list(_in_body(tree.body, "")) if tree is not None else _by_indentation(text[:MAX_CHARACTERS])


def _in_body(body: list[ast.stmt], scope: str) -> Iterator[tuple[str, int, int, bool]]:
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            yield scope + node.name, first - 1, (node.end_lineno or node.lineno) - 1, isinstance(node, ast.ClassDef)
            yield from _in_body(node.body, f"{scope}{node.name}.")
        else:
            for inner in _blocks(node):
                yield from _in_body(inner, scope)


def _blocks(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The bodies of a compound statement."""
    for name in ("body", "orelse", "finalbody"):
        yield getattr(node, name, [])
    for clause in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield clause.body


HEAD = re.compile(r"(?:async\s+)?(def|class)\s+(\w+)\s*(?:[(:\[]|$)")
"""The head of a definition."""


class _Open(Struct):
    """A definition whose end was not seen yet."""

    indent: int
    name: str
    first: int
    last: int
    is_class: bool


def _by_indentation(text: str) -> list[tuple[str, int, int, bool]]:
    """The definitions of a fragment: each reaches to the last line that is indented deeper than its head."""
    scope: list[_Open] = []
    found: list[_Open] = []
    decorated: int | None = None
    for number, line in enumerate(text.expandtabs(8).split("\n")):
        code = line.lstrip()
        if not code or code.startswith("#"):
            continue
        indent = len(line) - len(code)
        # The closing bracket of a long head is indented as the head itself.
        while scope and indent <= scope[-1].indent and code[0] not in ")]}":
            scope.pop()
        head = HEAD.match(code)
        if head:
            name = ".".join([*(outer.name for outer in scope[-1:]), head[2]])
            first = number if decorated is None else decorated
            scope.append(_Open(indent, name, first, number, head[1] == "class"))
            found.append(scope[-1])
        decorated = (number if decorated is None else decorated) if code.startswith("@") else None
        for outer in scope:
            outer.last = number
    return [(each.name, each.first, each.last, each.is_class) for each in found]


MAX_DEPTH = 12
"""How many names are followed from one to the next."""
MAX_VALUES = 64
"""Values that one expression may have."""
MAX_NODES = 20_000
"""Nodes of a script: a larger one is not analysed."""
MAX_LOOKS = 20_000
"""Expressions that are looked at in one script: names behind names multiply."""

PATHS = frozenset("Path PosixPath PurePath pathlib.Path pathlib.PurePath pathlib.PosixPath".split())
"""Constructors of a path."""
SAME = frozenset(("str", "os.fspath", "os.path.abspath", "os.path.realpath", "os.path.normpath", "os.path.expanduser"))
"""Functions whose result names the same file as their argument."""
SAME_METHODS = frozenset(("resolve", "absolute", "as_posix", "strip"))
"""Methods whose result names the same file."""
OPENERS = frozenset("open io.open codecs.open gzip.open bz2.open lzma.open builtins.open aiofiles.open".split())
"""Functions that open a file, with a mode as second argument."""
FIRST = frozenset("os.remove os.unlink os.makedirs os.mkdir os.rmdir os.removedirs os.truncate shutil.rmtree".split())
"""Functions that change the file that their first argument names."""
SECOND = frozenset("shutil.copy shutil.copy2 shutil.copyfile shutil.copytree os.symlink os.link".split())
"""Functions that change the file that their second argument names."""
BOTH = frozenset("os.rename os.replace os.renames shutil.move".split())
"""Functions that change both."""
METHODS = frozenset("write_text write_bytes touch unlink mkdir rmdir".split())
"""Methods of a path that change its file."""


class Names:
    """The values of the names in a module: constants, lists of them, and imported functions."""

    def __init__(self, tree: ast.Module) -> None:
        self.imports: dict[str, str] = {}
        self._bound: dict[str, list[tuple[int, list[ast.expr]]]] = {}
        self._looks = 0
        self.nodes = list(islice(ast.walk(tree), MAX_NODES + 1))
        if len(self.nodes) > MAX_NODES:
            self.nodes = []
        functions = {node.name: node for node in self.nodes if isinstance(node, ast.FunctionDef)}
        for node in self.nodes:
            self._import(node)
            self._bind_node(node, functions)
        for bindings in self._bound.values():
            bindings.sort(key=lambda binding: binding[0])

    def _import(self, node: ast.AST) -> None:
        if isinstance(node, ast.Import):
            self.imports.update({alias.asname: alias.name for alias in node.names if alias.asname})
        elif isinstance(node, ast.ImportFrom) and node.module:
            self.imports.update({alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names})

    def _bind_node(self, node: ast.AST, functions: dict[str, ast.FunctionDef]) -> None:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self._bind(target, [node.value], node.lineno)
        elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)) and node.value is not None:
            self._bind(node.target, [node.value], node.lineno)
        elif isinstance(node, ast.For):
            self._bind(node.target, self._members(node.iter), node.lineno)
        elif isinstance(node, ast.comprehension):
            self._bind(node.target, self._members(node.iter), node.target.lineno)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in functions:
            self._bind_arguments(functions[node.func.id], node)

    def _bind(self, target: ast.expr, values: list[ast.expr], line: int) -> None:
        """Bind a name, or each name of a tuple, to what it may be."""
        if isinstance(target, ast.Name):
            self._bound.setdefault(target.id, []).append((line, values))
        elif isinstance(target, (ast.Tuple, ast.List)):
            for at, name in enumerate(target.elts):
                rows = [value.elts for value in values if isinstance(value, (ast.Tuple, ast.List))]
                items = [row[at] for row in rows if at < len(row)]
                if items:
                    self._bind(name, items, line)

    def _bind_arguments(self, function: ast.FunctionDef, call: ast.Call) -> None:
        """The parameters of a function of the script, by what one call gives them; calls add up."""
        parameters = function.args.args
        pairs = [(parameter.arg, value) for parameter, value in zip(parameters, call.args, strict=False)]
        pairs += [(keyword.arg, keyword.value) for keyword in call.keywords if keyword.arg]
        for name, value in pairs:
            bindings = self._bound.setdefault(name, [])
            known = next((values for line, values in bindings if line == function.lineno), None)
            if known is None:
                bindings.append((function.lineno, [value]))
            else:
                known.append(value)

    def _members(self, node: ast.expr) -> list[ast.expr]:
        """What a loop over ``node`` goes through."""
        if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            return node.elts
        if isinstance(node, ast.Dict):
            return [key for key in node.keys if key is not None]
        if isinstance(node, ast.Name):
            lists = [value for _, values in self._bound.get(node.id, []) for value in values]
            return [item for value in lists if not isinstance(value, ast.Name) for item in self._members(value)]
        if isinstance(node, ast.Call):
            return self._members_of_call(node)
        return []

    def _members_of_call(self, node: ast.Call) -> list[ast.expr]:
        """``sorted(x)``, ``enumerate(x)`` and ``x.items()``."""
        if isinstance(node.func, ast.Attribute) and node.func.attr == "items":
            mapping = node.func.value
            found = [mapping] if isinstance(mapping, ast.Dict) else []
            if isinstance(mapping, ast.Name):
                values = [value for _, bound in self._bound.get(mapping.id, []) for value in bound]
                found = [value for value in values if isinstance(value, ast.Dict)]
            return [_pair(key, value) for one in found for key, value in zip(one.keys, one.values, strict=True) if key]
        name = node.func.id if isinstance(node.func, ast.Name) and node.args else ""
        if name in ("sorted", "list", "set", "tuple", "reversed"):
            return self._members(node.args[0])
        return [_pair(item, item) for item in self._members(node.args[0])] if name == "enumerate" else []

    def dotted(self, node: ast.expr) -> str:
        """The full name of a function, by the module's imports; "" if it has none."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return ""
        return ".".join([self.imports.get(node.id, node.id), *reversed(parts)])

    def values(self, node: ast.expr | None, depth: int = 0) -> list[str]:
        """The texts that an expression may have as its value; none if that is not certain."""
        self._looks += 1
        if node is None or depth > MAX_DEPTH or self._looks > MAX_LOOKS:
            return []
        if isinstance(node, ast.Constant):
            return [node.value] if isinstance(node.value, str) else []
        if isinstance(node, ast.Name):
            return self._named(node, depth)
        if isinstance(node, ast.IfExp):
            return [*self.values(node.body, depth + 1), *self.values(node.orelse, depth + 1)]
        if isinstance(node, (ast.List, ast.Tuple)):
            return [value for item in node.elts for value in self.values(item, depth + 1)][:MAX_VALUES]
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Div)):
            return self._combined([node.left, node.right], "/" if isinstance(node.op, ast.Div) else "", depth)
        if isinstance(node, ast.JoinedStr):
            pieces = [part.value if isinstance(part, ast.FormattedValue) else part for part in node.values]
            return self._combined(pieces, "", depth)
        return self._called(node, depth) if isinstance(node, ast.Call) else []

    def _named(self, node: ast.Name, depth: int) -> list[str]:
        """The values that a name was last given before this line."""
        bindings = self._bound.get(node.id, [])
        before = [binding for binding in bindings if binding[0] <= node.lineno] or bindings
        latest = before[-1][1] if before else []
        return [value for item in latest[:MAX_VALUES] for value in self.values(item, depth + 1)][:MAX_VALUES]

    def _called(self, node: ast.Call, depth: int) -> list[str]:
        name = self.dotted(node.func)
        if name in PATHS or name in ("os.path.join", "posixpath.join"):
            return self._combined(node.args, "/", depth)
        if name in SAME and node.args:
            return self.values(node.args[0], depth + 1)
        if name in ("os.getcwd", "Path.cwd", "pathlib.Path.cwd"):
            return ["."]
        if isinstance(node.func, ast.Attribute) and node.func.attr in SAME_METHODS and not node.args:
            return self.values(node.func.value, depth + 1)
        return []

    def _combined(self, parts: list[ast.expr], between: str, depth: int) -> list[str]:
        """Every way to put the parts' values together."""
        found = [""]
        for at, part in enumerate(parts):
            values = self.values(part, depth + 1)
            if len(found) * len(values) > MAX_VALUES:
                return []
            found = [_put(left, right, between) if at else right for left in found for right in values]
        return found if parts else []


def _put(left: str, right: str, between: str) -> str:
    return posixpath.join(left, right) if between else left + right


def _pair(first: ast.expr, second: ast.expr) -> ast.expr:
    return ast.Tuple([first, second], ast.Load())


def written(names: Names) -> Iterator[str]:
    """The files that the calls of a module write, in the order of the text."""
    calls = [node for node in names.nodes if isinstance(node, ast.Call)]
    for call in sorted(calls, key=lambda call: (call.lineno, call.col_offset)):
        yield from _writes(call, names)


def _writes(call: ast.Call, names: Names) -> Iterator[str]:
    """The files that one call writes."""
    name = names.dotted(call.func)
    arguments = [*call.args, *([None] * 2)]
    keywords = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    first = arguments[0] or keywords.get("file") or keywords.get("src") or keywords.get("path")
    second = arguments[1] or keywords.get("dst")
    if name in OPENERS:
        mode = names.values(arguments[1] or keywords.get("mode"))
        yield from names.values(first) if _for_writing(mode) else ()
    elif name in FIRST | BOTH:
        yield from names.values(first)
    if name in SECOND | BOTH:
        yield from names.values(second)
    if name in ("fileinput.input", "fileinput.FileInput"):
        inplace = keywords.get("inplace")
        yield from names.values(first or keywords.get("files")) if _is_true(inplace) else ()
    elif isinstance(call.func, ast.Attribute) and name not in OPENERS | FIRST | SECOND | BOTH:
        yield from _method(call, call.func, arguments[0] or keywords.get("mode") or keywords.get("target"), names)


def _method(call: ast.Call, function: ast.Attribute, argument: ast.expr | None, names: Names) -> Iterator[str]:
    """A method of a path: ``p.write_text(...)``, ``p.open("w")``, ``p.rename(q)``."""
    if function.attr in METHODS or (function.attr == "open" and _for_writing(names.values(argument))):
        yield from names.values(function.value)
    elif function.attr in ("rename", "replace") and len(call.args) + len(call.keywords) == 1:
        yield from names.values(function.value)
        yield from names.values(argument)


def _for_writing(modes: list[str]) -> bool:
    return any(set(mode) <= set("rwaxbt+U") and set(mode) & set("wax+") for mode in modes)


def _is_true(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and bool(node.value)
