"""Secrets that belong to a name that says so: ``api_key = "..."`` in an environment, in code, JSON, YAML or TOML.

A value is found by the sign between the two, with or without a type; or beside the name without a sign, in an element,
a field, a command, a call or a sentence. Code is kept: a variable, a call, a placeholder, a type, an attribute. Where a
value and code can't be told apart, it is replaced.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from execledger.redact import by_column
from execledger.redact.values import (
    EXAMINED,
    SECRET_WORD,
    Name,
    Span,
    Value,
    argument,
    bare,
    by_line,
    is_random,
    name_at,
    string,
)

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
"""An identifier that looks random."""
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
        return _typed(name) or _placed(name) if text[name.end : name.end + 1] in _BEHIND else ()
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
        yield from _placed(name)
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
        yield from _placed(name)
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
        if SECRET_WORD.search(letters) and (letters.isalpha() or "_" in letters):
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
    if parts[0].lower() in _OBJECTS or SECRET_WORD.search(parts[-1] if name.shouts else content):
        return True
    return not name.shouts and not name.option and not _DIGIT.search(content)


# Values beside a name, without a sign: each form is tried on a bounded part of the text around the name.

_ELEMENT = re.compile(
    r"(?P<attribute>[\"'])?(?(attribute)|(?=[ \t>]))[^<>\r\n]{0,80}>(?:<!\[CDATA\[|[ \t]{0,8}\r?\n[ \t]{0,40})?"
    r"(?![$<{\[])(?P<value>[^<>\r\n]{3,1000}?)(?:\]\]>|[ \t]{0,8}\r?\n[ \t]{0,40})?</"
    r"|</key>\s{0,40}<string>(?P<string>[^<>\r\n]{3,2000}+)</",
    re.IGNORECASE,
)
_HOLDER = re.compile(r"(?:key|name|id|property|field|param)[ \t]?=[ \t]?[\"']\Z", re.IGNORECASE)
"""The attribute of an element that has the name of its content."""
_BESIDE = re.compile(
    r"\\{0,7}[\"']?(?:[ \t]{0,4}[,{]?(?:[ \t]{0,4}|(?:\r?\n[ \t]{0,40}(?:type[ \t]{0,8}=[^\r\n]{1,40})?){1,2})"
    r"|(?<=[\"'])[^<>\r\n]{0,80}?[ \t])"
    r"\\{0,7}[\"']?\b(?:(?:Parameter)?value|default)\b\\{0,7}[\"']?[ \t]{0,4}[:=][ \t]{0,4}",
    re.IGNORECASE,
)
"""A name and its value as two fields: ``name: DB_PASSWORD``, ``value: ...``."""
_BELOW = re.compile(
    r"[\"'][^\r\n]{0,80}\r?\n(?:[A-Za-z-]{1,40}: [^\r\n]{1,80}\r?\n){0,3}\r?\n(?P<form>[^\r\n]{3,200}+)"
    r"|[\"']\]?[ \t]{0,2}=>[ \t]{0,2}\r?\n[ \t]{0,20}string\(\d{1,5}\) \"(?P<dump>[^\"\r\n]{3,400}+)\""
)
"""A value on a line of its own: the part of a form behind its header, and the output of ``var_dump``."""
_GIVEN = re.compile(r"[ \t]?[({][ \t]?(?=[\"'`])")
_CLOSING = re.compile(r"\\{0,15}[\"'`]?[ \t]{0,4}[)}]")
_DECLARED = re.compile(r"[\w>*&\]][ \t]{1,8}\Z")
_DEFINER = re.compile(
    r"(?:[#%][ \t]{0,4}(?:define|global)|\(def\w{0,12}|\(setq|\bset)[ \t]{1,8}\Z"
    r"|\bset\([ \t]{0,4}\Z|(?:\A|\n)[ \t]{0,40}\Z",
    re.IGNORECASE,
)
"""What gives a word the string behind it: ``#define API_KEY "..."``, ``(setq smtp-password "...")``, a line's start."""
_WORD_BEHIND = re.compile(r"[ \t]{1,8}(?=[^\s:=])")
_SQL = re.compile(r"(?:[ \t]{1,4}FOR[ \t]{1,4}[^\s=]{1,80}[ \t]{0,4}=)?[ \t]{0,4}\(?[ \t]{0,4}(?=['\"])", re.IGNORECASE)
_ENCODED = re.compile(r"[ \t]{1,4}[0-9][ \t]{1,4}(?P<value>[\w$./]{4,200}+)[ \t]{0,8}(?:\r?\n|\Z)")
"""A number for the encoding and the password, in the configuration of a router."""
_SAID = re.compile(
    r"(?:[ \t][A-Za-z'\"][\w@.'\"/-]{0,40}+){0,8}(?:(?<= is)|:)(?:[ \t]{1,4}|\s{2,8})(?P<value>[^\s\"'`]{8,200}+)"
    r"[.,;]?[ \t]{0,8}(?:\r?\n|\Z)"
)
"""A sentence that ends with a secret: ``password for root@localhost: ...``, ``Your API key is ...``."""
_COMPARED = re.compile(r"(?P<quote>[\"'`])(?P<value>[^\"'`\r\n]{4,120})(?P=quote)[ \t]{0,4}[!=]==?[ \t]{0,4}\Z")
_NAMED = re.compile(r"(?<![\w./-])(?P<value>[\w./+=!@#$%^&*-]{10,120}+) is (?:the|my|our|your|an?) (?:\w{1,20} )?\Z")
_FALLBACK = re.compile(r"[\"'`]?[\])]{0,2}[ \t]{1,4}(?:\|\||\?\?|or)[ \t]{1,4}(?=[\"'`])")
"""What comes before the value for the case that a variable is not set."""
_LIBCURL = re.compile(r"[ \t]{0,2},[ \t]{0,2}(?=[\"'])")
_PROSE_BEHIND = re.compile(r"(?:[ \t][a-z]{1,20}){3}")
_NETRC = re.compile(r"[ \t]{1,8}\S{1,200}[ \t]{0,8}(?:\r?\n|\Z|(?:login|account|machine|default)\b)")


def _placed(name: Name) -> Iterator[Span]:
    """The value beside a name."""
    for finder in _FINDERS:
        found = tuple(finder(name))
        if found:
            yield from found
            return


def _element(name: Name) -> Iterator[Span]:
    element = _ELEMENT.match(name.text, name.end)
    if element is None or (element["attribute"] is not None and _HOLDER.search(name.before) is None):
        return
    group = "value" if element["value"] is not None else "string"
    yield from name.secret(Value(*element.span(group), ""), 3)


def _field(name: Name) -> Iterator[Span]:
    if (beside := _BESIDE.match(name.text, name.end)) is not None:
        value = string(name.text, beside.end()) or bare(name.text, beside.end())
        if value is not None and name.text[value.end : value.end + 1] not in ("(", "["):
            yield from name.secret(value)
    elif (below := _BELOW.match(name.text, name.end)) is not None:
        group = "form" if below["form"] is not None else "dump"
        if group == "dump" or "form-data" in name.before:
            yield from name.secret(Value(*below.span(group), ""), 3)


def _word(name: Name) -> Iterator[Span]:
    """The next word, behind an option and in the files and commands that write it so."""
    text = name.text
    behind = _WORD_BEHIND.match(text, name.end)
    if behind is None:
        return
    if name.option or _takes_word(name):
        value = argument(text, behind.end())
        if value is not None and (value.quote or not _no_argument(text, value)):
            yield from name.secret(value)
    elif (value := string(text, behind.end())) is not None and _DEFINER.search(name.before) is not None:
        yield from name.secret(value)
    if (encoded := _ENCODED.match(text, name.end)) is not None:
        yield Span(*encoded.span("value"))


def _argument(name: Name) -> Iterator[Span]:
    """The only argument of a setter, a builder or a constructor."""
    given = _GIVEN.match(name.text, name.end)
    if given is None or name.verbal or name.full.lower() == "pass":
        return
    setter = name.text[name.start : name.at].rpartition(".")[2].lower().startswith(("with", "set", "using"))
    if not (setter or "." in name.full or name.before.endswith(("->", "?.")) or _DECLARED.search(name.before)):
        return
    value = string(name.text, given.end())
    if value is not None and _CLOSING.match(name.text, value.end) is not None:
        yield from name.secret(value)


def _fallback(name: Name) -> Iterator[Span]:
    """The string that is taken where a variable is not set, and the option of libcurl that takes a string."""
    behind = _FALLBACK.match(name.text, name.end)
    if behind is None and name.full.startswith("CURLOPT_"):
        behind = _LIBCURL.match(name.text, name.end)
    if behind is not None:
        yield from name.secret(string(name.text, behind.end()))


def _sql(name: Name) -> Iterator[Span]:
    if (
        name.opened
        or not name.full.lower().endswith(("password", "passwd"))
        or (quote := _SQL.match(name.text, name.end)) is None
    ):
        return
    quoted = string(name.text, quote.end())
    closed = quoted is not None and name.text[quoted.end : quoted.end + 1] == quoted.quote
    if closed and (name.text[name.end : name.end + 1] == " " or name.full == "PASSWORD"):
        yield from name.secret(quoted)


def _said(name: Name) -> Iterator[Span]:
    said = _SAID.match(name.text, name.end)
    if said is not None and is_random(said["value"]):
        yield from name.secret(Value(*said.span("value"), ""))


def _before(name: Name) -> Iterator[Span]:
    """The string before a name that it is compared with, and the word that is said to be the secret."""
    start = name.start - len(name.before)
    if name.before.rstrip(" \t").endswith("=") and (found := _COMPARED.search(name.before)) is not None:
        yield from name.secret(Value(start + found.start("value"), start + found.end("value"), found["quote"]))
    elif name.before.endswith(" ") and (found := _NAMED.search(name.before)) is not None and is_random(found["value"]):
        yield from name.secret(Value(start + found.start("value"), start + found.end("value"), ""))


_FINDERS = (_before, _element, _field, _word, _argument, _fallback, _sql, by_column.below, _said)


def _takes_word(name: Name) -> bool:
    """Whether the word behind the name is its value: in a Dockerfile, ``.netrc``, behind ``set`` or ``git config``."""
    words = name.before[-80:].split()
    if words and not name.before[-1:].isspace():
        # What is right before the name belongs to it.
        words.pop()
    words = [word for word in words if not word.strip("|:").isdigit()]
    if not words:
        return False
    last, second = words[-1], words[-2] if len(words) > 1 else ""
    if (
        last in ("ENV", "setenv", "SetEnv", "setx")
        or (second == "set" and last.startswith("-"))
        or (second.startswith("config") and last == "set")
        or [word for word in words if not word.startswith("-")][-2:] == ["git", "config"]
    ):
        return True
    if name.full.lower() != "password" or last.endswith((";", ",")):
        return name.full == "insecure-password" and second == "user"
    if second == "machine":
        return _NETRC.match(name.text, name.end) is not None
    return second in ("login", "account", "connect") or last == "default"


def _no_argument(text: str, value: Value) -> bool:
    """Whether the word behind an option is the next option, a name in a usage text, a field of its own, or prose."""
    word = text[value.start : value.end]
    return (
        word.startswith("-")
        or (word.isalpha() and word.islower() and _PROSE_BEHIND.match(text, value.end) is not None)
        or re.match(r"(?:id|src|source|type|env|name)=", word) is not None
        or (word.isupper() and word.isalpha())
    )
