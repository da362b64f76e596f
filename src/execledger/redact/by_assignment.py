"""Secrets that are assigned to a name that says so: ``api_key = "..."`` in an environment, in code, JSON, YAML or TOML.

What is plainly code is left alone: a variable, a call, a placeholder, a type. Where a value and code can't be told
apart, it is replaced. Names are found by their last word, and what follows is matched there and nowhere else; a run of
characters that turned out to be code is not looked into again, so the work grows with the text and no faster.
"""

from __future__ import annotations

import re

from execledger.redact.by_shape import REDACTED

_KEYS = ("api", "access", "account", "signing", "encryption", "secret")
_TOKENS = ("auth", "access", "refresh", "id", "session", "bearer", "client")
MARKERS = (
    *("secret", "passw", "passphrase", "_pass", "-pass"),
    *(f"{kind}{between}key" for kind in _KEYS[:-1] for between in ("", "_", "-")),
    *("_token", "-token", *(f"{kind}token" for kind in _TOKENS)),
    *("token=", "token:", "token =", "token :"),
)
"""One of these must stand in a text, in lower case, for a value to be looked for."""
NO_TEMPLATE = r"(?![$<{%\[(=])"
"""A value that begins so is a variable, a placeholder, an expression, or was replaced before."""
BARE = r"[^\s\"'`\\$()\[\]{}<>,;&|]"
"""A character of a value without quotes."""

_WORD = re.compile("key|secret|pass|token")
_KEY = "|".join(f"(?<={kind}{between}key)" for kind in _KEYS for between in ("", "[_-]"))
_TOKEN = "|".join(f"(?<={kind}token)" for kind in ("[_-]", *_TOKENS))
_NAME = re.compile(
    rf"(?:key(?:{_KEY})|secret(?![a-z])|pass(?:w(?:or)?d|phrase|(?<=[_-]pass)(?![a-z_-]))|token(?:{_TOKEN})(?![a-z_]))"
    r"[\w-]{0,20}+",
    re.IGNORECASE,
)
"""How a name ends that says that its value is secret."""
_BARE_TOKEN = re.compile(
    r"token(?<![A-Za-z0-9_-]token) ?[:=][ \t]{0,2}[\"']?(?=[\w.+/=~-]{0,200}\d)(?P<value>[\w.+/=~-]{12,}+)",
    re.IGNORECASE,
)
"""A token that is called just that: it has digits, and some length."""

_NO_QUOTED_TEMPLATE = r"(?!\$[A-Za-z_({]|[{<\[]|%[({sr])"
"""What begins a value in quotes that is none; an odd character alone does not make it one."""
_NO_CODE = (
    r"(?!(?:self|cls|this|settings|config|cfg|conf|args|options|opts|os|env|process|request|req|user)\.[a-z_.]{1,80}\b)"
)
"""The attribute of something is code."""
_NO_TYPE = (
    r"(?!(?:str|string|text|bytes?|bool|boolean|int|integer|float|number|any|object|none|null|nil|true|false|optional"
    r"|unknown|undefined|void|secretstr|secret|password|required|varchar|char|dict|list|path|callable)\b)"
)
"""The name of a type, or of nothing."""
_SEPARATOR = r"\\{0,7}[\"']?\]?[ \t]{0,2}(?:=>|[:=]{1,2})[ \t]{0,2}"
"""What stands between a name and a value in quotes."""
_VALUES = re.compile(
    # In quotes, to their end; where the quotes themselves are escaped, to the next escape.
    rf"{_SEPARATOR}[bfru]{{0,2}}\"{_NO_QUOTED_TEMPLATE}(?P<double>(?:[^\"\\\r\n]|\\[^\r\n]){{4,}}+)"
    rf"|{_SEPARATOR}[bfru]{{0,2}}'{_NO_QUOTED_TEMPLATE}(?P<single>(?:[^'\\\r\n]|\\[^\r\n]){{4,}}+)"
    rf"|{_SEPARATOR}[bfru]{{0,2}}\\{{1,7}}[\"']{_NO_QUOTED_TEMPLATE}(?P<escaped>[^\"'\\\r\n]{{4,}}+)"
    # Without quotes and without a space, as in an environment.
    rf"|={NO_TEMPLATE}(?!(?:none|null|true|false)\b){_NO_CODE}(?P<bare>{BARE}{{4,}}+)"
    # Without quotes, behind a space: a digit tells it from code.
    rf"|\\{{0,7}}[\"']?[ \t]{{0,2}}[:=][ \t]{{1,2}}{NO_TEMPLATE}(?={BARE}{{0,80}}\d)(?P<spaced>{BARE}{{6,}}+)"
    # An element of a document.
    r"|>(?![$<{\[])(?P<element>[^<>\r\n]{3,}+)(?=</)",
    re.IGNORECASE,
)
_WHOLE_LINE = re.compile(
    rf"[\"']?:[ \t]{{1,8}}{NO_TEMPLATE}{_NO_TYPE}{_NO_CODE}(?P<value>{BARE}{{5,}}+)(?=[ \t\r]*(?:\n|\Z))", re.IGNORECASE
)
"""A value that is all that stands on its line, as in YAML."""
_LINE_START = re.compile(r"(?:\A|\n)[ \t\d:|-]{0,16}[\w.\"'-]{0,40}\Z")
_BEFORE = 60
"""How far back the beginning of a line is looked for."""


def without_assigned(text: str, lower: str) -> str:
    """``text``, which is ``lower`` in lower case, with every value of such a name replaced."""
    if not any(marker in lower for marker in MARKERS):
        return text
    if len(lower) != len(text):
        # A few letters have a longer lower case, which would shift what stands behind them.
        lower = "".join(small if len(small := letter.lower()) == 1 else letter for letter in text)
    pieces: list[str] = []
    at = done = 0
    for word in _WORD.finditer(lower):
        if word.start() < done:
            continue
        value = _value(text, word.start())
        if value is None:
            continue
        start, done = value
        # A call or an index is code, and so is the name itself, handed on.
        if text[done : done + 1] not in ("(", "[") and not _hands_on(text, word.start(), start, done):
            pieces += (text[at:start], REDACTED)
            at = done
    return "".join((*pieces, text[at:])) if pieces else text


def _value(text: str, at: int) -> tuple[int, int] | None:
    """Where the value is that is assigned to the name whose last word begins at ``at``; None if there is none."""
    name = _NAME.match(text, at)
    if name is None:
        token = _BARE_TOKEN.match(text, at)
        return None if token is None else token.span("value")
    found = _VALUES.match(text, name.end())
    if found is None and _LINE_START.search(text[max(0, at - _BEFORE) : at] if at > _BEFORE else "\n" + text[:at]):
        found = _WHOLE_LINE.match(text, name.end())
    return None if found is None or found.lastgroup is None else found.span(found.lastgroup)


def _hands_on(text: str, name: int, start: int, end: int) -> bool:
    """A value without quotes that ends in the very name that it is given to, as an argument of a call does."""
    if end - start > 80 or text[start - 1] != "=":
        return False
    own, value = text[name : start - 1], text[start:end]
    return value == own or (value.endswith(own) and value.isidentifier() and text[end : end + 1] in (",", ")"))
