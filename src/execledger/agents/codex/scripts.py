"""Code mode: scripts in JavaScript that make one tool call and show what came back, and nothing else.

A model in code mode writes a script for every step. Most of them are one call in a thin wrapping, and as sure to read
as the call alone. The grammar of the language (tree-sitter-javascript) reads them; a script that has a node of another
kind than the few below is opaque, and so is every script where the grammar is not installed.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import cache, lru_cache
from typing import NoReturn

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from tree_sitter import Language, Node, Parser

from execledger.session.adapter import ToolCall

SCRIPT_TOOL = "exec"
"""The custom tool that takes a script."""
MAX_SCRIPT = 100_000
"""Longer scripts are not read."""
NAMES = ("identifier", "property_identifier", "shorthand_property_identifier", "shorthand_property_identifier_pattern")
"""Nodes that are names."""
WHOLE = ("string", "template_string", "comment")
"""Nodes whose text is read as a whole."""

_PRAGMA = re.compile(r"\s*// @exec:(.*)")
_ESCAPE = re.compile(r"\\(?:u\{([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(\r\n|.))|(\$\{)", re.DOTALL)
_PLAIN = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v"} | dict.fromkeys("\n\r\u2028\u2029", "")
_STRING = re.compile(r""""(?:[^"\\\n\r]|\\.)*"|'(?:[^'\\\n\r]|\\.)*'|`(?:[^`\\]|\\.)*`""", re.DOTALL)
_NUMBER = re.compile(r"(?:0|[1-9]\d{0,14})(?:\.\d{1,9})?", re.ASCII)
_NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
_KEYWORDS = ("const", "let", "var")
_CONSTANTS = {"true": True, "false": False, "null": None}
_OWN_NAMES = frozenset(("tools", "text", "JSON", "String", "await", *_KEYWORDS, *_CONSTANTS))


class Shows(StrEnum):
    """What a script shows of its call."""

    OUTPUT = "output"
    """The command's output, as it came."""
    RESULT = "result"
    """The whole result, as JSON."""
    NOTHING = "nothing"
    """Nothing."""


class Script(Struct, frozen=True):
    """A script that makes one call."""

    call: ToolCall
    """The call, as it would be made without a script."""
    shows: Shows
    """What it shows of the result."""
    pragma: str = ""
    """What its first line tells the tool, such as how much to show."""


class _Opaque(Exception):
    """The script holds something that is not one of the known forms."""


@lru_cache(maxsize=32)
def read_script(text: str) -> Script | None:
    """The one call that a script makes; None if it is not certain that it makes one and does nothing else."""
    if len(text) > MAX_SCRIPT:
        return None
    try:
        source = text.encode()
        root = _parser().parse(source).root_node
        script = _Reader(source).script(root) if not root.has_error else None
    except (ImportError, UnicodeEncodeError, RecursionError, _Opaque):
        return None
    pragma = _PRAGMA.match(text)
    return replace(script, pragma=pragma[1].strip()) if script and pragma else script


@cache
def _parser() -> Parser:
    """The parser of the language; raises ``ImportError`` where its grammar is not installed."""
    import tree_sitter_javascript

    return Parser(Language(tree_sitter_javascript.language()))


def _literal(token: str) -> str:
    """The value of a string literal."""
    quote, body = token[0], token[1:-1]

    def plain(match: re.Match[str]) -> str:
        code = match[1] or match[2] or match[3]
        if code is not None and int(code, 16) <= 0x10FFFF:
            return chr(int(code, 16))
        if match[5] and quote != "`":
            return match[5]
        if match[4] is None or match[4] in "ux0123456789":
            # A substitution, or an escape that is an error or means something else in every dialect.
            raise _Opaque
        return "" if match[4] == "\r\n" else _PLAIN.get(match[4], match[4])

    return _whole(_ESCAPE.sub(plain, _template(body) if quote == "`" else body))


def _template(body: str) -> str:
    """The text of a template literal with all line ends as newlines."""
    return body.replace("\r\n", "\n").replace("\r", "\n")


def _whole(text: str) -> str:
    """Text in which two escapes that make one character are that character; half a one is no text."""
    try:
        return text.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        raise _Opaque from None


class _Reader:
    """Reads statement after statement; names are what they were declared to be."""

    def __init__(self, source: bytes) -> None:
        self._source = source
        self._strings: dict[str, str] = {}
        self._results: dict[str, Shows] = {}
        self._call: ToolCall | None = None
        self._shown: Shows | None = None

    def script(self, root: Node) -> Script:
        """The whole script."""
        self._spaced(root)
        for statement in _children(root):
            self._statement(statement)
        if self._call is None:
            raise _Opaque
        return Script(self._call, self._shown or Shows.NOTHING)

    def _spaced(self, root: Node) -> None:
        """Every byte belongs to a node, or is white space between two."""
        at, nodes = 0, [root]
        while nodes:
            node = nodes.pop()
            if node.child_count and node.type not in WHOLE:
                nodes += reversed(node.children)
                continue
            if self._source[at : node.start_byte].strip():
                raise _Opaque
            at = node.end_byte
        if self._source[at:].strip():
            raise _Opaque

    def _text(self, node: Node) -> str:
        return self._source[node.start_byte : node.end_byte].decode()

    def _name(self, node: Node) -> str:
        name = self._text(node)
        return name if node.type in NAMES and _NAME.fullmatch(name) else self._opaque()

    def _parts(self, node: Node, kind: str, *shape: str | None) -> list[Node]:
        """The children of a node of this kind that ``shape`` leaves open; the others are these words."""
        children = _children(node)
        if node.type != kind or len(children) != len(shape):
            raise _Opaque
        if any(word is not None and child.type != word for child, word in zip(children, shape, strict=True)):
            raise _Opaque
        return [child for child, word in zip(children, shape, strict=True) if word is None]

    # Statements

    def _statement(self, node: Node) -> None:
        children = _children(node)
        if children and children[-1].type == ";":
            children.pop()
        if node.type == "empty_statement":
            return
        if node.type in ("lexical_declaration", "variable_declaration") and len(children) == 2:
            keyword, declared = children
            if keyword.type not in _KEYWORDS:
                raise _Opaque
            self._declaration(*self._parts(declared, "variable_declarator", None, "=", None))
        elif node.type == "expression_statement" and len(children) == 1:
            self._expression_statement(children[0])
        else:
            raise _Opaque

    def _expression_statement(self, node: Node) -> None:
        if node.type == "await_expression":
            self._called(node)
            return
        function, arguments = self._parts(node, "call_expression", None, None)
        (argument,) = self._parts(arguments, "arguments", "(", None, ")")
        if self._name(function) != "text" or self._shown is not None:
            raise _Opaque
        self._shown = self._expression(argument)

    def _declaration(self, target: Node, value: Node) -> None:
        if target.type == "object_pattern":
            fields = self._fields(target)
            self._called(value)
            self._results.update(fields)
            return
        name = self._new(self._name(target))
        if value.type in ("string", "template_string") or self._raw(value) is not None:
            self._strings[name] = self._string(value)
        else:
            self._results[name] = self._expression(value)

    def _fields(self, pattern: Node) -> dict[str, Shows]:
        """The names that a result is taken apart into; only its output is of use."""
        found: dict[str, Shows] = {}
        for one in _listed(pattern):
            field, name = one, one
            if one.type == "pair_pattern":
                field, name = self._parts(one, "pair_pattern", None, ":", None)
            new = self._new(self._name(name))
            if new in found:
                raise _Opaque
            found[new] = Shows.OUTPUT if self._name(field) == "output" else Shows.NOTHING
        return found

    def _new(self, name: str) -> str:
        if name in _OWN_NAMES or name in self._strings or name in self._results:
            raise _Opaque
        return name

    # Expressions

    def _expression(self, node: Node) -> Shows:
        """A call's result, or its output."""
        if node.type == "await_expression":
            self._called(node)
            return Shows.RESULT
        if node.type == "member_expression":
            of, field = self._parts(node, "member_expression", None, ".", None)
            if self._name(field) != "output":
                raise _Opaque
            if of.type == "parenthesized_expression":
                (of,) = self._parts(of, "parenthesized_expression", "(", None, ")")
                if of.type != "await_expression":
                    raise _Opaque
            return Shows.OUTPUT if self._expression(of) is Shows.RESULT else self._opaque()
        if node.type == "call_expression":
            return self._stringified(node)
        shown = self._results.get(self._name(node), Shows.NOTHING)
        return shown if shown is not Shows.NOTHING else self._opaque()

    def _stringified(self, node: Node) -> Shows:
        """``JSON.stringify`` of a result, indented or not."""
        function, arguments = self._parts(node, "call_expression", None, None)
        if self._dotted(function) != ("JSON", "stringify"):
            raise _Opaque
        given = _listed(arguments)
        if len(given) == 3 and (given[1].type != "null" or not self._is_number(given[2])):
            raise _Opaque
        if len(given) not in (1, 3):
            raise _Opaque
        return Shows.RESULT if self._expression(given[0]) is Shows.RESULT else self._opaque()

    def _dotted(self, node: Node) -> tuple[str, str]:
        of, field = self._parts(node, "member_expression", None, ".", None)
        return self._name(of), self._name(field)

    def _called(self, node: Node) -> None:
        """The one tool call, behind its ``await``."""
        (call,) = self._parts(node, "await_expression", "await", None)
        function, arguments = self._parts(call, "call_expression", None, None)
        (argument,) = self._parts(arguments, "arguments", "(", None, ")")
        of, tool = self._dotted(function)
        if self._call is not None or of != "tools":
            raise _Opaque
        if tool == "exec_command":
            self._call = ToolCall(tool, msgspec.json.encode(self._object(argument)).decode())
        elif tool == "apply_patch":
            self._call = ToolCall(tool, self._string(argument), custom=True)
        else:
            raise _Opaque

    def _object(self, node: Node) -> dict[str, object]:
        found: dict[str, object] = {}
        for one in _listed(node) if node.type == "object" else self._opaque():
            if one.type == "shorthand_property_identifier":
                # A key without a value is the name of one.
                key = self._text(one)
                value: object = self._strings.get(key) or self._opaque()
            else:
                named, given = self._parts(one, "pair", None, ":", None)
                key = self._string(named) if named.type == "string" else self._name(named)
                value = self._value(given)
            if key in found or key == "__proto__":
                raise _Opaque
            found[key] = value
        return found

    def _value(self, node: Node) -> object:
        text = self._text(node)
        if node.type == "array":
            return [self._value(one) for one in _listed(node)]
        if self._is_number(node):
            return float(text) if "." in text else int(text)
        if node.type in _CONSTANTS:
            return _CONSTANTS[node.type]
        return self._string(node)

    def _is_number(self, node: Node) -> bool:
        return node.type == "number" and _NUMBER.fullmatch(self._text(node)) is not None

    def _raw(self, node: Node) -> str | None:
        """The text of ``String.raw`` before a template; None for any other node."""
        parts = _children(node)
        if node.type != "call_expression" or len(parts) != 2 or parts[1].type != "template_string":
            return None
        token = self._text(parts[1])
        if self._dotted(parts[0]) != ("String", "raw") or "${" in token:
            raise _Opaque
        return _whole(_template(token[1:-1]))

    def _string(self, node: Node) -> str:
        """A literal, or the name of one."""
        if (raw := self._raw(node)) is not None:
            return raw
        if node.type in ("string", "template_string"):
            token = self._text(node)
            return _literal(token) if _STRING.fullmatch(token) else self._opaque()
        return self._strings.get(self._name(node)) or self._opaque()

    def _opaque(self) -> NoReturn:
        raise _Opaque


def _children(node: Node) -> list[Node]:
    """The children of a node, without comments."""
    return [child for child in node.children if child.type != "comment"]


def _listed(node: Node) -> list[Node]:
    """The nodes between brackets, separated by commas; a trailing comma is allowed."""
    inside = _children(node)[1:-1]
    items, commas = inside[::2], inside[1::2]
    if any(comma.type != "," for comma in commas) or any(item.type == "," for item in items):
        raise _Opaque
    return items
