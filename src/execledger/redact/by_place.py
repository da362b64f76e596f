"""Secrets beside a name that says so, without a sign in between: in an element, a field, a command, a call, a sentence.

``placed`` tries one form after the other; each looks at a bounded part of the text around the name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from execledger.redact import by_column
from execledger.redact.names import Name
from execledger.redact.values import Span, Value, argument, bare, is_random, string

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
_SENTENCE = re.compile(r"(?:[ \t][a-z]{1,20}){3}")
_NETRC = re.compile(r"[ \t]{1,8}\S{1,200}[ \t]{0,8}(?:\r?\n|\Z|(?:login|account|machine|default)\b)")


def placed(name: Name) -> Iterator[Span]:
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
        last in ("ENV", "setenv", "SetEnv", "setx")
        or (second == "set" and last.startswith("-"))
        or (second.startswith("config") and last == "set")
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
        or (word.isalpha() and word.islower() and _SENTENCE.match(text, value.end) is not None)
        or re.match(r"(?:id|src|source|type|env|name)=", word) is not None
        or (word.isupper() and word.isalpha())
    )
