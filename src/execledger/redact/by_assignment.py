"""Secrets that are assigned to a name that says so: ``api_key = "..."`` in an environment, in code, JSON, YAML or TOML.

A name is found by its last word (``password``, ``secret``, ``token``, ``api_key``), a value by what separates the two.
Code is kept: a variable, a call, a placeholder, a type, an attribute. Where a value and code can't be told apart, it is
replaced.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from execledger.redact.values import EXAMINED, Span, Value, argument, bare, by_line, is_secret, string

_KEYS = (
    "api access account signing encryption private auth shared master preshared consumer subscription service app jwt"
).split()
MARKERS = (
    *("pass", "sshpass", "secret", "token", "pwd", "mnemonic", "psk", "auth"),
    *(f"{kind}{between}key" for kind in _KEYS for between in ("", "_", "-")),
    "key-data",
)
"""One of these is part of every such name, in lower case."""

_BEFORE = 100
"""How far back the beginning of a name, and of its line, is looked for."""
_NAME = re.compile(
    r"(?:pass(?:w(?:or)?ds?|phrases?|code|(?<![a-z]pass)(?![a-z_-])"
    r"|(?:(?<=dbpass)|(?<=userpass)|(?<=rootpass)|(?<=adminpass)|(?<=smtppass))(?![a-z]))"
    r"|sshpass(?![a-z])|secret(?:s?(?![a-z])|(?=(?-i:[A-Z])|access|key))|tokens?(?![a-z_])|pwd(?![a-z])|mnemonic|psk(?![a-z])"
    r"|(?<=[_-])auth(?![a-z])|[a-z]{2,12}[_-]?keys?(?![a-z])|[a-z]{2,12}[_-]?key(?=(?-i:[A-Z]))|key-data)(?P<tail>[\w-]{0,30}+)",
    re.IGNORECASE,
)
_OTHER_TAIL = re.compile(
    r".*?(?:file|path|url|uri|dir|folder|name|env|var|field|header|type|kind|format|length|len|size|min|max|count|limit"
    r"|expir\w*|timeout|ttl|lifetime|age|label|regex|pattern|prompt|hint|help|policy|validators?|hashers?|class"
    r"|reset\w*|refs?|store|manager|provider|endpoint|index|idx|pos|ids?|urls|input|box|view|form|template|errors?"
    r"|message|msg|required|enabled|changed|version|algorithm|scheme|source|stdin|prefix|suffix|separator|column"
    r"|confirmation|arn|seconds|minutes|usage|budget|isation|ization|ize\w*|based|less|ed|ing|s?_(?:in|out|per)\w*)\d*",
    re.IGNORECASE,
)
"""How a name goes on that is about a secret, and does not hold one."""
_SEPARATOR = re.compile(
    r"(?:[ \t]{1,3}is(?=[ \t]?:))?\\{0,15}(?P<closed>[\"'`]|\"\")?(?:\]|\})?[ \t]{0,16}"
    r"(?P<sign>=>|:=|==?|:|(?<=[\"'])[ \t]?,)(?!=)"
    r"(?P<space>(?:\\(?=[ \t]))?[ \t]{0,16}(?:&\w{1,40}[ \t]{1,4})?"
    r"(?:\\\r?\n[ \t]{0,40})?(?:\((?:[ \t]{0,4}\r?\n[ \t]{0,40})?(?=[\"'\w]))?)"
)
_BESIDE = re.compile(
    r"\\{0,7}[\"']?[ \t]{0,4}[,{]?(?:[ \t]{0,4}|\r?\n[ \t]{0,40})"
    r"\\{0,7}[\"']?\b(?:value|default)\b\\{0,7}[\"']?[ \t]{0,4}[:=][ \t]{0,4}",
    re.IGNORECASE,
)
"""A name and its value as two fields: ``name: DB_PASSWORD``, ``value: ...``."""
_ELEMENT = re.compile(r"(?:[ \t][^<>\r\n]{0,80})?>(?![$<{\[])(?P<value>[^<>\r\n]{3,2000}+)(?=</)")
_BLOCK = re.compile(
    r"[|>][+-]?\d?[ \t]*\r?\n(?P<lines>(?P<indent>[ \t]{1,40})[^\r\n]+(?:\r?\n(?P=indent)[^\r\n]*){0,60})"
)
_LIST = re.compile(r"\[(?:[ \t\r\n]{0,40}(?:\"[^\"\r\n]{0,300}\"|'[^'\r\n]{0,300}')[ \t]{0,4},?){1,60}+")
_ITEM = re.compile(r"\"([^\"\r\n]{4,300})\"|'([^'\r\n]{4,300})'")
_CALL = re.compile(
    r"(?:\w{0,40}(?:set|put|define|env|get|config|default|property|header|add|insert|update)\w{0,40})\([ \t]{0,4}\Z",
    re.I,
)
_MADE = re.compile(r"(?:String::from|String|Secret(?:Str|String)?(?:::new)?|Some|Ok)\((?=[\"'])")
"""What makes a value of a string."""
_SETTER = re.compile(r"(?:with|set|using)_?\w{0,20}", re.IGNORECASE)
_COMMANDLET = re.compile(r"[A-Z][A-Za-z]+-[A-Z]\w+")
_WORD_BEHIND = re.compile(r"[ \t]{1,8}(?=[^\s:=])")
_SQL = re.compile(r"[ \t]{0,4}\(?[ \t]{0,4}(?=['\"])")
_LINE_START = re.compile(
    r"(?:[\w./@-]{1,90}[:-]\d{1,6}[:-]|[\w./@-]{1,90}:)?[ \t\d:|>+*#-]{0,24}(?:export[ \t]+|set[ \t]+)?\Z"
)
_SECTION = re.compile(
    r"(?:\A|\n)[ \t\d:|]{0,12}\[[\w. :\"-]{1,60}\][ \t]*\r?\n(?:[^\n({]{0,200}\n){0,12}?[^\n]{0,60}\Z"
)
_HOST = re.compile(r"\w[.:]\w|^localhost$")
_LINE_END = re.compile(r"[ \t]*(?:#[^\n]*|;|,)?\r?(?=\n|\Z)")
_REST = re.compile(r"[^\r\n]{1,400}+")
_ATTRIBUTE = re.compile(r"[A-Za-z_]\w*(?:(?:\.|->|::)[A-Za-z_]\w*)+")
_ENUMERATION = re.compile(r"[A-Z]\w*(?:\.|::)[A-Z][A-Z0-9_]*")
_OBJECTS = frozenset(
    "self cls this settings config cfg conf args options opts os env process request req res response user ctx context "
    "app state props data var local module params kwargs values row record result session client account form event "
    "secrets crypto schema types proptypes z type models forms fields".split()
)
_IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]*")
_SNAKE = re.compile(r"_?[a-z]+\d*(?:_[a-z0-9]+)+|[a-z]+(?:[A-Z][a-z]+)+\d?|[a-z]\d?")
_RANDOM = re.compile(r"(?=.{0,40}[a-z])(?=.{0,40}[A-Z])(?=.{0,40}\d)[A-Za-z0-9]{16,}+")
"""An identifier that nobody has chosen."""
_SECRET_WORDS = re.compile("pass|secret|token|key|pwd|cred|auth", re.IGNORECASE)
_CREDENTIAL_TOKEN = re.compile("auth|access|refresh|id|session|bearer|client|api|bot|git|deploy", re.IGNORECASE)
_DIGIT = re.compile(r"\d")


class _Name:
    """A name in a text, and what is around it."""

    def __init__(self, text: str, at: int, end: int) -> None:
        self.text, self.end = text, end
        back = text[max(0, at - _BEFORE) : at]
        self.start = at - (len(back) - len(back.rstrip(_OF_NAME)))
        self.before = back[: len(back) - (at - self.start)]
        self.full = text[self.start : end]
        newline = self.before.rfind("\n")
        self.line = self.before[newline + 1 :] if newline >= 0 or at <= _BEFORE else None
        """The line up to the name; None if it is too long to say."""

    @property
    def opened(self) -> str:
        """The quote right before the name."""
        return self.before[-1:] if self.before[-1:] in ("'", '"', "`") and self.before else ""

    @property
    def option(self) -> bool:
        """Whether the name is an option of a command."""
        return self.full.startswith("--") or (self.full.startswith("-") and self.before[-1:] in (" ", "\t"))

    @property
    def shouts(self) -> bool:
        """Whether the name is in capitals, as a variable of an environment is."""
        return self.full.upper() == self.full

    @property
    def starts_line(self) -> bool:
        """Whether nothing but indentation, a line number or the name of a file is before the name."""
        return self.line is not None and _LINE_START.match(self.line.rstrip("\"'")) is not None


_BEHIND = frozenset(" \t\r\n>\"'\\,(")
_OF_NAME = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."


def assigned(text: str, at: int) -> Iterable[Span]:
    """The value that is given to the name whose last word begins at ``at``."""
    found = _NAME.match(text, at)
    if found is None:
        return ()
    end = found.end()
    separator = _SEPARATOR.match(text, end)
    if separator is None and (
        text[end : end + 1] not in _BEHIND or (text[end : end + 1] in "\r\n" and _BESIDE.match(text, end) is None)
    ):
        return ()
    if found["tail"] and _OTHER_TAIL.fullmatch(found["tail"]):
        return ()
    name = _Name(text, at, end)
    return _otherwise(name) if separator is None else _separated(name, separator)


def _separated(name: _Name, separator: re.Match[str]) -> Iterator[Span]:
    text, at, sign = name.text, separator.end(), separator["sign"].strip()
    if sign == ":" and not separator["space"] and name.before.endswith(":"):
        # Part of the name of a resource.
        return
    closed = separator["closed"]
    if sign == "," and not (name.opened and _CALL.search(name.before[:-1])):
        beside = _BESIDE.match(text, name.end)
        if beside is not None:
            yield from _secret(text, string(text, beside.end()))
        return
    if name.opened and not closed and text.startswith(name.opened, at):
        return
    passes = name.full.lower() == "pass"
    if not passes and (block := _BLOCK.match(text, at)) is not None:
        yield from by_line(text, *block.span("lines"))
        return
    if text.startswith("[", at):
        for item in _items(text, at):
            if not _short(name, item):
                yield from _secret(text, item)
        return
    made = _MADE.match(text, at)
    quoted = string(text, at if made is None else made.end())
    if quoted is not None:
        if not _short(name, quoted):
            yield from _secret(text, quoted)
        return
    # A test that passes says so.
    if sign not in (",", "==") and not (passes and sign == ":"):
        yield from _unquoted(name, at, sign, separator["space"])


def _items(text: str, at: int) -> Iterator[Value]:
    """The strings of a list."""
    found = _LIST.match(text, at)
    for item in _ITEM.finditer(text, at, found.end()) if found is not None else ():
        group = 1 if item[1] is not None else 2
        yield Value(*item.span(group), '"' if group == 1 else "'")


def _short(name: _Name, value: Value) -> bool:
    """Whether a string is too short or too plain for a token, of which every parser has many."""
    if "token" not in name.full.lower():
        return False
    content = name.text[value.start : value.end]
    plain = name.full.lower().rstrip("s") == "token"
    return plain and (len(content) < 10 or not _DIGIT.search(content))


def _secret(text: str, value: Value | None, least: int = 4) -> Iterator[Span]:
    if value is not None and is_secret(text, value, least):
        yield Span(value.start, value.end)


def _unquoted(name: _Name, at: int, sign: str, space: str) -> Iterator[Span]:
    """A value without quotes, told from code by the look of the name and of the value."""
    text = name.text
    spaced = bool(space.strip("\\(")) or text[name.end : name.end + 1] in (" ", "\t")
    if name.option or (name.before[-1:] == ":" and name.before[-3:-1] in ("/p", "-p")):
        yield from _secret(text, argument(text, at))
        return
    if name.before[-1:] in ("&", "?"):
        yield from _secret(text, bare(text, at))
        return
    if _connection(name):
        yield from _connection_value(text, at)
        return
    if name.opened and not name.full.isidentifier() and sign == ":":
        # A header in quotes: all up to the quote.
        end = text.find(name.opened, at, at + 2000)
        yield from _secret(text, Value(at, end, name.opened)) if end > 0 and "\n" not in text[at:end] else ()
        return
    if name.starts_line and _properties(name, sign) and (rest := _REST.match(text, at)) is not None:
        line = rest[0].rstrip(" \t;,")
        code = spaced and "." in name.full and _IDENTIFIER.fullmatch(line) is not None and not _in_section(name)
        if not code and not _is_code(name, line, True, at + len(line)):
            yield from _secret(text, Value(at, at + len(line), ""))
        return
    environment = sign in ("=", ":=") and not spaced and (name.shouts or _exported(name))
    if environment:
        yield from _environment(name, at)
        return
    value = bare(text, at)
    if value is not None and _plausible(name, value, sign, spaced):
        yield from _secret(text, value)


def _properties(name: _Name, sign: str) -> bool:
    """Whether the name is a key of a file of properties, or of a section of one, where a value may have spaces."""
    if sign != "=":
        return False
    first, dot, _ = name.full.strip(".-").partition(".")
    return (bool(dot) and first.lower() not in _OBJECTS) or _in_section(name)


def _in_section(name: _Name) -> bool:
    return _SECTION.search(name.text[max(0, name.start - 600) : name.start]) is not None


def _connection(name: _Name) -> bool:
    """Whether the name is a field of a connection string."""
    return name.before.rstrip(" ")[-1:] == ";" or (
        name.text[name.start : name.start + 1].isupper()
        and ";" in name.text[name.end : name.end + 60].partition("\n")[0]
        and "=" in name.text[name.end : name.end + 60].partition(";")[2][:40]
    )


def _connection_value(text: str, at: int) -> Iterator[Span]:
    end = at
    while end < min(len(text), at + 300) and text[end] not in ";\r\n\"'`":
        end += 1
    end -= len(text[at:end]) - len(text[at:end].rstrip())
    yield from _secret(text, Value(at, end, ""), 3)


def _exported(name: _Name) -> bool:
    return name.before.rstrip(" \t").endswith(("export", "env", "set", "declare -x", "readonly"))


def _environment(name: _Name, at: int) -> Iterator[Span]:
    """The value of a variable of an environment: all up to a space, calls excepted."""
    value = argument(name.text, at)
    if value is None:
        return
    content = name.text[value.start : min(value.end, value.start + EXAMINED)]
    call = re.match(r"[A-Za-z_][\w.]*[(\[]", content)
    if call is not None and not re.search(r"[)\]]\w", content):
        return
    if content.startswith(("$(", "${", "(", "`")) or _attribute(name, content):
        return
    yield from _secret(name.text, value)


def _plausible(name: _Name, value: Value, sign: str, spaced: bool) -> bool:
    """Whether a bare word may be a value, and not the code that computes it."""
    if value.end - value.start > EXAMINED:
        return True
    text, content = name.text, name.text[value.start : value.end]
    if _is_code(name, content, spaced, value.end):
        return False
    whole = name.starts_line and _LINE_END.match(text, value.end) is not None
    digit = _DIGIT.search(content) is not None
    if "token" in name.full.lower() and content.replace("_", "").isdigit():
        return False
    if name.full.lower().rstrip("s") in ("token", "psk"):
        return digit and len(content) >= 12
    if not spaced and sign == "=":
        return digit or not _parser_token(name, content)
    if digit and len(content) >= 6:
        return sign == ":" or whole or _RANDOM.fullmatch(content) is not None or not _IDENTIFIER.fullmatch(content)
    if not whole:
        return sign == "=" and len(content) >= 8 and "-" in content
    if sign == ":":
        return len(content) >= 5 and not content[:1].isupper()
    if name.shouts or not _IDENTIFIER.fullmatch(content):
        return len(content) >= 5
    return False


def _parser_token(name: _Name, content: str) -> bool:
    """Whether this is a token of a language or a model, given as an argument of a call."""
    return (
        "token" in name.full.lower()
        and not name.shouts
        and _CREDENTIAL_TOKEN.search(name.full) is None
        and _IDENTIFIER.fullmatch(content) is not None
    )


def _is_code(name: _Name, content: str, spaced: bool, end: int) -> bool:
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
        if _SECRET_WORDS.search(letters) and (letters.isalpha() or "_" in letters):
            return True
        return (spaced or not name.shouts) and _SNAKE.fullmatch(content) is not None and "_" in content
    return False


def _attribute(name: _Name, content: str) -> bool:
    """Whether a bare value is the attribute of something, or the member of an enumeration."""
    content = content.rstrip(";,)")
    if not _ATTRIBUTE.fullmatch(content):
        return False
    if _ENUMERATION.fullmatch(content):
        return True
    parts = re.split(r"\.|->|::", content)
    if parts[0].lower() in _OBJECTS or _SECRET_WORDS.search(parts[-1]):
        return True
    return not name.shouts and not name.option and not _DIGIT.search(content)


def _otherwise(name: _Name) -> Iterator[Span]:
    """A value that is not separated by a sign: an element, a field beside, the next word of some commands."""
    text = name.text
    if (element := _ELEMENT.match(text, name.end)) is not None:
        yield from _secret(text, Value(*element.span("value"), ""), 3)
        return
    if (beside := _BESIDE.match(text, name.end)) is not None:
        yield from _secret(text, string(text, beside.end()) or bare(text, beside.end()))
        return
    behind = _WORD_BEHIND.match(text, name.end)
    if behind is not None and (name.option or _takes_word(name)):
        value = argument(text, behind.end())
        if value is not None and not (not value.quote and _no_argument(text[value.start : value.end])):
            yield from _secret(text, value)
        return
    if text.startswith("(", name.end) and _SETTER.fullmatch(name.full.rpartition(".")[2]):
        yield from _secret(text, string(text, name.end + 1))
        return
    lower = name.full.lower()
    if lower.endswith(("password", "passwd")) and (quote := _SQL.match(text, name.end)) is not None:
        quoted = string(text, quote.end())
        closed = quoted is not None and text[quoted.end : quoted.end + 1] == quoted.quote
        if closed and (text[name.end : name.end + 1] == " " or name.full == "PASSWORD"):
            yield from _secret(text, quoted)


def _takes_word(name: _Name) -> bool:
    """Whether the value is the word behind the name: in a Dockerfile, behind ``set``, in a ``.netrc`` file."""
    words = name.before[-80:].split()
    if words and not name.before[-1:].isspace():
        # What is right before the name belongs to it.
        words.pop()
    words = [word for word in words if not word.strip("|:").isdigit()]
    if not words:
        return False
    last, second = words[-1], words[-2] if len(words) > 1 else ""
    if (
        last in ("ENV", "setenv")
        or (second == "set" and last.startswith("-"))
        or (second.startswith("config") and last == "set")
    ):
        return True
    if name.full.lower() != "password" or last.endswith((";", ",")):
        return False
    return (
        second in ("login", "account") or last == "default" or (second == "machine" and _HOST.search(last) is not None)
    )


def _no_argument(word: str) -> bool:
    """Whether the word behind an option is the next option, a name in a usage text, or a field of its own."""
    return (
        word.startswith("-")
        or re.match(r"(?:id|src|source|type|env|name)=", word) is not None
        or (word.isupper() and word.isalpha())
    )
