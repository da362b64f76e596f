"""Code mode: scripts in JavaScript that make one tool call and show what came back, and nothing else.

A model in code mode writes a script for every step. Most of them are one call in a thin wrapping, and as sure to read
as the call alone. This is no parser of the language: a script that holds anything but the few forms below is opaque.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple, NoReturn

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from execledger.session.adapter import ToolCall

SCRIPT_TOOL = "exec"
"""The custom tool that takes a script."""
MAX_SCRIPT = 100_000
"""Longer scripts are not read."""

_TOKEN = re.compile(
    r"(?P<space>\s+|//[^\n\r\u2028\u2029]*|/\*.*?\*/)"
    r"|(?P<name>[A-Za-z_$][A-Za-z0-9_$]*)"
    r"|(?P<number>(?:0|[1-9]\d{0,14})(?:\.\d{1,9})?)(?![\w$.])"
    r"""|(?P<string>"(?:[^"\\\n\r]|\\.)*"|'(?:[^'\\\n\r]|\\.)*'|`(?:[^`\\]|\\.)*`)"""
    r"|(?P<sign>[{}()\[\],:;.=])",
    re.DOTALL | re.ASCII,
)
_PRAGMA = re.compile(r"\s*// @exec:(.*)")
_ESCAPE = re.compile(r"\\(?:u\{([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(\r\n|.))|(\$\{)", re.DOTALL)
_PLAIN = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v"} | dict.fromkeys("\n\r\u2028\u2029", "")
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
    """The call, as it would stand alone."""
    shows: Shows
    """What it shows of the result."""
    pragma: str = ""
    """What its first line tells the tool, such as how much to show."""


class _Opaque(Exception):
    """The script holds something that is not one of the known forms."""


@lru_cache(maxsize=32)
def read_script(text: str) -> Script | None:
    """The one call that a script makes; None if it is not certain that it makes one and does nothing else."""
    try:
        script = _Reader(_tokens(text)).script() if len(text) <= MAX_SCRIPT else None
    except (_Opaque, RecursionError):
        return None
    pragma = _PRAGMA.match(text)
    return replace(script, pragma=pragma[1].strip()) if script and pragma else script


class _Token(NamedTuple):
    kind: str
    text: str
    fresh: bool
    """It is the first of its line."""


_NONE = _Token("", "", True)


def _tokens(text: str) -> list[_Token]:
    """The tokens, without white space and comments."""
    found: list[_Token] = []
    at, fresh = 0, True
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            raise _Opaque
        if match.lastgroup == "space":
            fresh = fresh or "\n" in match[0]
        else:
            found.append(_Token(match.lastgroup, match[0], fresh))
            fresh = False
        at = match.end()
    return found


def _literal(token: str) -> str:
    """The text that a string stands for."""
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
    """What stands in a template: its line ends are all the same."""
    return body.replace("\r\n", "\n").replace("\r", "\n")


def _whole(text: str) -> str:
    """Text in which two escapes that make one character are that character; half a one is no text."""
    try:
        return text.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        raise _Opaque from None


class _Reader:
    """Reads statement after statement; names are what they were declared to be."""

    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens = tokens
        self._at = 0
        self._strings: dict[str, str] = {}
        self._results: dict[str, Shows] = {}
        self._call: ToolCall | None = None
        self._shown: Shows | None = None

    def script(self) -> Script:
        """The whole script."""
        while self._at < len(self._tokens):
            self._statement()
            if not self._next(";") and not self._peek().fresh:
                raise _Opaque
            while self._next(";"):
                pass
        if self._call is None:
            raise _Opaque
        return Script(self._call, self._shown or Shows.NOTHING)

    # Tokens

    def _peek(self, ahead: int = 0) -> _Token:
        at = self._at + ahead
        return self._tokens[at] if at < len(self._tokens) else _NONE

    def _next(self, *texts: str) -> bool:
        """Take these tokens if they come next, and say whether they did. Strings are never meant."""
        ahead = [self._peek(at) for at in range(len(texts))]
        if any(token.kind == "string" or token.text != text for token, text in zip(ahead, texts, strict=True)):
            return False
        self._at += len(texts)
        return True

    def _expect(self, *texts: str) -> None:
        if not self._next(*texts):
            raise _Opaque

    def _take(self, kind: str) -> str:
        token = self._peek()
        if token.kind != kind:
            raise _Opaque
        self._at += 1
        return token.text

    # Statements

    def _statement(self) -> None:
        if any(self._next(word) for word in _KEYWORDS):
            self._declaration()
        elif self._next("await"):
            self._called()
        elif self._next("text", "("):
            shown = self._expression()
            self._expect(")")
            if self._shown is not None:
                raise _Opaque
            self._shown = shown
        else:
            raise _Opaque

    def _declaration(self) -> None:
        if self._next("{"):
            fields = self._fields()
            self._expect("}", "=", "await")
            self._called()
            self._results.update(fields)
            return
        name = self._new(self._take("name"))
        self._expect("=")
        if self._is_string():
            self._strings[name] = self._string()
        else:
            self._results[name] = self._expression()

    def _fields(self) -> dict[str, Shows]:
        """The names that a result is taken apart into; only its output is of use."""
        found: dict[str, Shows] = {}
        while self._peek().text != "}":
            field = self._take("name")
            name = self._new(self._take("name") if self._next(":") else field)
            found[name] = Shows.OUTPUT if field == "output" else Shows.NOTHING
            if not self._next(","):
                break
        return found

    def _new(self, name: str) -> str:
        if name in _OWN_NAMES or name in self._strings or name in self._results:
            raise _Opaque
        return name

    # Expressions

    def _expression(self) -> Shows:
        """A call's result, or its output."""
        if self._next("await"):
            self._called()
            return Shows.RESULT
        if self._next("(", "await"):
            self._called()
            self._expect(")", ".", "output")
            return Shows.OUTPUT
        if self._next("JSON", ".", "stringify", "("):
            shown = self._expression()
            if self._next(",", "null", ","):
                self._take("number")
            self._expect(")")
            return shown if shown is Shows.RESULT else self._opaque()
        shown = self._results.get(self._take("name"), Shows.NOTHING)
        if shown is Shows.RESULT and self._next(".", "output"):
            return Shows.OUTPUT
        return shown if shown is not Shows.NOTHING else self._opaque()

    def _called(self) -> None:
        """The one tool call, behind its ``await``."""
        if self._call is not None:
            raise _Opaque
        self._expect("tools", ".")
        tool = self._take("name")
        self._expect("(")
        if tool == "exec_command":
            self._call = ToolCall(tool, msgspec.json.encode(self._object()).decode())
        elif tool == "apply_patch":
            self._call = ToolCall(tool, self._string(), custom=True)
        else:
            raise _Opaque
        self._expect(")")

    def _object(self) -> dict[str, object]:
        self._expect("{")
        found: dict[str, object] = {}
        while not self._next("}"):
            key = self._string() if self._peek().kind == "string" else self._take("name")
            if key in found or key == "__proto__":
                raise _Opaque
            # A key without a value is the name of one.
            found[key] = self._value() if self._next(":") else self._strings.get(key) or self._opaque()
            if not self._next(","):
                self._expect("}")
                break
        return found

    def _value(self) -> object:
        if self._next("["):
            return self._list()
        token = self._peek()
        if token.kind == "number":
            self._at += 1
            return float(token.text) if "." in token.text else int(token.text)
        if token.kind == "name" and token.text in _CONSTANTS:
            self._at += 1
            return _CONSTANTS[token.text]
        return self._string()

    def _list(self) -> list[object]:
        found: list[object] = []
        while not self._next("]"):
            found.append(self._value())
            if not self._next(","):
                self._expect("]")
                break
        return found

    def _is_string(self) -> bool:
        token = self._peek()
        return token.kind == "string" or (token.kind == "name" and token.text == "String")

    def _string(self) -> str:
        """A literal, or the name of one."""
        if self._next("String", ".", "raw"):
            token = self._take("string")
            if token[0] != "`" or "${" in token:
                raise _Opaque
            return _whole(_template(token[1:-1]))
        if self._peek().kind == "string":
            return _literal(self._take("string"))
        return self._strings.get(self._take("name")) or self._opaque()

    def _opaque(self) -> NoReturn:
        raise _Opaque
