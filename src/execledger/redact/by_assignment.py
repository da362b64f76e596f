"""Secrets that are assigned to a name that says so: ``api_key = "..."`` in an environment, in code, JSON, YAML or TOML.

A value is found by the sign between the two, with or without a type. Code is kept: a variable, a call, a placeholder, a
type, an attribute. Where a value and code can't be told apart, it is replaced.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from execledger.redact import by_column, by_place
from execledger.redact.names import Name, name_at
from execledger.redact.values import EXAMINED, Span, Value, argument, bare, by_line, is_random, string

_SEPARATOR = re.compile(
    r"(?:[ \t]{1,3}is(?=[ \t]?:))?\\{0,15}(?P<closed>[\"'`]|\"\")?(?:\]|\})?[ \t]{0,16}"
    r"(?P<sign>=>|[!=]==?|(?:[.+:]|[:?|]{2,3}|\?)?=|<-|:(?![:-])|(?<=[\"'])[ \t]?,)(?!=)"
    r"(?P<space>(?:\\(?=[ \t]))?[ \t]{0,16}(?:&\w{1,40}[ \t]{1,4})?"
    r"(?:\\\r?\n[ \t]{0,40})?(?:\((?:[ \t]{0,4}\r?\n[ \t]{0,40})?(?=[\"'\w]))?)"
)
_ONE_TYPE = r"[&*?]?(?:'\w{1,20} )?(?:mut )?[A-Za-z_][\w.:]{0,40}(?:[<\[][^=\r\n;{}()]{0,80}?[>\]])?[?!]?"
_TYPED = re.compile(
    rf"(?:\[\d{{0,6}}\]|[ \t]{{0,4}}:[ \t]{{0,4}}{_ONE_TYPE}(?:[ \t]?\|[ \t]?{_ONE_TYPE}){{0,4}}"
    r"|[ \t]{1,4}[A-Za-z_*\[\]][\w.*\[\]]{0,30})[ \t]{0,4}:?=(?![=>])[ \t]{0,4}"
)
"""A type between a name and its value: ``password: &str = ``, ``Password string = ``, ``key[] = ``."""
_DEFAULT = re.compile(r"[\"']?\$\{\w{1,60}:[-=]?(?P<value>[^}\s$?\"']{4,80})\}")
"""A variable with a value for the case that it is not set."""
_BLOCK = re.compile(
    r"[|>][+-]?\d?[ \t]*+\r?\n(?P<lines>(?P<indent>[ \t]{1,40})[^\r\n]++(?:\r?\n(?P=indent)[^\r\n]*+){0,60}+)"
)
_LIST = re.compile(r"\[(?:[ \t\r\n]{0,40}(?:\"[^\"\r\n]{0,300}\"|'[^'\r\n]{0,300}')[ \t]{0,4},?){1,60}+")
_ITEM = re.compile(r"\"([^\"\r\n]{4,300})\"|'([^'\r\n]{4,300})'")
_CALL = re.compile(
    r"(?:\w{0,40}(?:set|put|define|env|get|config|default|property|header|add|insert|update)\w{0,40})\([ \t]{0,4}\Z",
    re.I,
)
_MADE = re.compile(r"@(?=\")|(?:String::from|String|Secret(?:Str|String)?(?:::new)?|Some|Ok)\((?=[\"'])")
"""What makes a value of a string."""
_COMMANDLET = re.compile(r"[A-Z][A-Za-z]++-[A-Z]\w+")
_SECTION = re.compile(
    r"(?:\A|\n)[ \t\d:|]{0,12}\[[\w. :\"-]{1,60}\][ \t]*+\r?\n(?:[^\n({]{0,200}+\n){0,12}?[^\n]{0,60}\Z"
)
_LINE_END = re.compile(r"[ \t]*+(?:#[^\n]*+|;|,)?\r?(?=\n|\Z)")
_REST = re.compile(r"[^\r\n]{1,400}+")
_ATTRIBUTE = re.compile(r"[A-Za-z_]\w*+(?:(?:\.|->|::)[A-Za-z_]\w*+)++")
_ENUMERATION = re.compile(r"[A-Z]\w*+(?:\.|::)[A-Z][A-Z0-9_]*")
_OBJECTS = frozenset(
    "self cls this settings config cfg conf args options opts os env process request req res response user ctx context "
    "app state props data var local module params kwargs values row record result session client account form event "
    "secrets crypto schema types proptypes z type models forms fields".split()
)
_IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]*")
_PLAIN = re.compile(r"[A-Za-z_$]+")
_SNAKE = re.compile(r"_?[a-z]++\d*+(?:_[a-z0-9]++)++|[a-z]++(?:[A-Z][a-z]++)++\d?|[a-z]\d?")
_RANDOM = re.compile(r"(?=.{0,40}[a-z])(?=.{0,40}[A-Z])(?=.{0,40}\d)[A-Za-z0-9]{16,}+")
"""An identifier that nobody has chosen."""
_SECRET_WORDS = re.compile("pass|secret|token|key|pwd|cred|auth", re.IGNORECASE)
_NEXT_ARGUMENT = re.compile(r",?[ \t]{0,4}\)|,(?=[ \r\n]|\Z)")
_COMPUTED = re.compile(r"[A-Za-z_$]++\Z|.{0,400}\w\(")
_SENTENCE = re.compile(r"(?:[ \t][a-z]{1,20}){2}")
_DIGIT = re.compile(r"\d")
_BEHIND = frozenset(" \t\r\n>\"'`\\,()|{}<[]:")
"""What may be behind a name that is not separated from its value by a sign."""


def assigned(text: str, at: int) -> Iterable[Span]:
    """The value that is given to the name that has a marker at ``at``."""
    name = name_at(text, at)
    if name is None:
        return ()
    separator = _SEPARATOR.match(text, name.end)
    if separator is None:
        return _typed(name) or by_place.placed(name) if text[name.end : name.end + 1] in _BEHIND else ()
    return _separated(name, separator)


def _typed(name: Name) -> tuple[Span, ...]:
    """The string that is assigned to a name with a type."""
    typed = _TYPED.match(name.text, name.end)
    return () if typed is None else name.secret(_literal(name, typed.end()))


def _literal(name: Name, at: int) -> Value | None:
    """The string at ``at``, which may be wrapped in a constructor."""
    made = _MADE.match(name.text, at)
    return string(name.text, at if made is None else made.end())


def _separated(name: Name, separator: re.Match[str]) -> Iterator[Span]:
    text, at, sign = name.text, separator.end(), separator["sign"].strip()
    if sign == ":" and not separator["space"] and name.before.endswith(":"):
        # Part of the name of a resource.
        return
    if sign == "," and not (name.opened and _CALL.search(name.before[:-1])):
        yield from by_place.placed(name)
        return
    if name.opened and not separator["closed"] and text.startswith(name.opened, at):
        return
    if not separator["closed"] and name.ends_string(at):
        return
    if sign in ("=", ":=") and (value := by_column.of_tuple(name, at)) is not None:
        yield from name.secret(value)
        return
    passes = name.full.lower() == "pass"
    if not passes and (block := _BLOCK.match(text, at)) is not None:
        yield from by_line(text, *block.span("lines"))
        return
    if text.startswith("[", at):
        for item in _items(text, at) if not name.strict else ():
            yield from name.secret(item)
        return
    if (default := _DEFAULT.match(text, at)) is not None:
        yield from name.secret(Value(*default.span("value"), ""))
        return
    if sign == ":" and not passes and (typed := _TYPED.match(text, name.end)) is not None:
        yield from name.secret(_literal(name, typed.end()))
        return
    quoted = _literal(name, at)
    if quoted is not None:
        yield from name.secret(quoted)
        return
    if text[at : at + 1] in ("\r", "\n"):
        yield from by_place.placed(name)
    # A test that passes says so.
    elif not sign.endswith(("==", "!=", ",")) and not (passes and sign == ":" and separator["space"]):
        yield from _unquoted(name, at, sign, separator)


def _items(text: str, at: int) -> Iterator[Value]:
    """The strings of a list."""
    found = _LIST.match(text, at)
    for item in _ITEM.finditer(text, at, found.end()) if found is not None else ():
        group = 1 if item[1] is not None else 2
        yield Value(*item.span(group), '"' if group == 1 else "'")


def _unquoted(name: Name, at: int, sign: str, separator: re.Match[str]) -> Iterator[Span]:
    """A value without quotes, told from code by the look of the name and of the value."""
    text = name.text
    spaced = bool(separator["space"].strip("\\(")) or text[name.end : name.end + 1] in (" ", "\t")
    if name.option or (name.before[-1:] == ":" and name.before[-3:-1] in ("/p", "-p")):
        yield from name.secret(argument(text, at))
        return
    if name.before[-1:] in ("&", "?") or (name.before.endswith("${") and text[at : at + 1] not in ("?", "+")):
        yield from name.secret(bare(text, at))
        return
    if sign == "=" and _connection(name):
        yield from _connection_value(name, at)
        return
    if name.opened and not separator["closed"] and not name.full.isidentifier() and sign == ":":
        # A header in quotes: all up to the quote.
        end = text.find(name.opened, at, at + 2000)
        yield from name.secret(Value(at, end, name.opened)) if end > 0 and "\n" not in text[at:end] else ()
        return
    if name.starts_line and _properties(name, sign) and (rest := _REST.match(text, at)) is not None:
        line = rest[0].rstrip(" \t;,")
        code = spaced and "." in name.full and _COMPUTED.match(line) is not None and not _in_section(name)
        if not code and not _is_code(name, line, True, at + len(line)):
            yield from name.secret(Value(at, at + len(line), ""))
        return
    environment = sign in ("=", ":=") and not spaced and (name.shouts or _exported(name))
    if environment:
        yield from _environment(name, at)
        return
    value = bare(text, at)
    if value is not None and _plausible(name, value, sign, spaced):
        yield from name.secret(value)


def _properties(name: Name, sign: str) -> bool:
    """Whether the name is a key of a file of properties, or of a section of one, where a value may have spaces."""
    if sign != "=":
        return False
    first, dot, _ = name.full.strip(".-").partition(".")
    return (bool(dot) and first.lower() not in _OBJECTS) or _in_section(name)


def _in_section(name: Name) -> bool:
    return _SECTION.search(name.text[max(0, name.start - 600) : name.start]) is not None


def _connection(name: Name) -> bool:
    """Whether the name is a field of a connection string."""
    return name.before.rstrip(" ")[-1:] == ";" or (
        name.text[name.start : name.start + 1].isupper()
        and ";" in name.text[name.end : name.end + 60].partition("\n")[0]
        and "=" in name.text[name.end : name.end + 60].partition(";")[2][:40]
    )


def _connection_value(name: Name, at: int) -> Iterable[Span]:
    text, end = name.text, at
    while end < min(len(text), at + 300) and text[end] not in ";\r\n\"'`":
        end += 1
    end -= len(text[at:end]) - len(text[at:end].rstrip())
    return name.secret(Value(at, end, ""), 3)


def _exported(name: Name) -> bool:
    return name.before.rstrip(" \t").endswith(("export", "env", "set", "declare -x", "readonly"))


def _environment(name: Name, at: int) -> Iterable[Span]:
    """The value of a variable of an environment: all up to a space, calls excepted."""
    value = argument(name.text, at)
    if value is None:
        return ()
    content = name.text[value.start : min(value.end, value.start + EXAMINED)]
    call = re.match(r"[A-Za-z_][\w.]*[(\[]", content)
    if call is not None and not re.search(r"[)\]]\w", content):
        return ()
    if content.startswith(("$(", "${", "(", "`")) or _attribute(name, content):
        return ()
    return name.secret(value)


def _plausible(name: Name, value: Value, sign: str, spaced: bool) -> bool:
    """Whether a bare word may be a value, and not the code that computes it."""
    if value.end - value.start > EXAMINED:
        return True
    text, content = name.text, name.text[value.start : value.end]
    if _is_code(name, content, spaced, value.end):
        return False
    whole = name.starts_line and _LINE_END.match(text, value.end) is not None
    digit = _DIGIT.search(content) is not None
    if name.strict or " " in name.full or name.full.lower() == "pass":
        return is_random(content)
    if not spaced and sign == "=":
        return True
    if digit and len(content) >= 6:
        return (
            (sign == ":" and not _SENTENCE.match(text, value.end))
            or whole
            or _RANDOM.fullmatch(content) is not None
            or not _IDENTIFIER.fullmatch(content)
        )
    if not whole:
        return sign == "=" and len(content) >= 8 and "-" in content
    if sign == ":":
        owner = name.full.partition(".")[0].lower()
        return len(content) >= 5 and not content[:1].isupper() and not ("." in name.full and owner in _OBJECTS)
    if name.shouts or not _IDENTIFIER.fullmatch(content):
        return len(content) >= 5
    return False


def _is_code(name: Name, content: str, spaced: bool, end: int) -> bool:
    """Whether a bare value is plainly an expression."""
    text = name.text
    if text[end : end + 1] in ("(", "["):
        return not (name.shouts and not spaced)
    if _attribute(name, content) or _COMMANDLET.fullmatch(content):
        return True
    if re.match(r"[\w.]+\(", content) or content.startswith(("&", "*", "!", "(", "lambda")):
        return True
    letters = content.rstrip("0123456789")
    if _IDENTIFIER.fullmatch(content):
        if name.full.lower().endswith(content.lower()):
            return True
        if _PLAIN.fullmatch(content) and (name.opened or _NEXT_ARGUMENT.match(text, end)):
            return True
        if _SECRET_WORDS.search(letters) and (letters.isalpha() or "_" in letters):
            return True
        return (spaced or not name.shouts) and _SNAKE.fullmatch(content) is not None and "_" in content
    return False


def _attribute(name: Name, content: str) -> bool:
    """Whether a bare value is the attribute of something, or the member of an enumeration."""
    content = content.rstrip(";,)")
    if not _ATTRIBUTE.fullmatch(content):
        return False
    if _ENUMERATION.fullmatch(content):
        return True
    parts = re.split(r"\.|->|::", content)
    if parts[0].lower() in _OBJECTS or _SECRET_WORDS.search(parts[-1] if name.shouts else content):
        return True
    return not name.shouts and not name.option and not _DIGIT.search(content)
