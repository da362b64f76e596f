"""Names and values in texts: which names say that their value is secret, and which values are secrets.

A name such as ``password``, ``api_key`` or ``githubToken`` is read with its surroundings. A value is told from code, a
placeholder or a message. Every pattern is matched at one position, and every run of characters in it is bounded or
possessive: the work at one position is bounded, and does not grow with the text behind it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

REDACTED = "[redacted]"
"""The replacement of a secret."""


class Span(NamedTuple):
    """A part of a text, on one line."""

    start: int
    """Where it begins."""
    end: int
    """The position behind it."""


class Value(NamedTuple):
    """A value that was found in a text."""

    start: int
    """Where its first character is, behind the quote."""
    end: int
    """The position behind its last character."""
    quote: str
    """The quote that encloses it; empty for a bare word."""


_LONG = 65_536
"""No value is followed further than this."""
EXAMINED = 400
"""A value is compared with code and sentences up to this length."""
_STRING = re.compile(
    # Quotes in threes, as in Python and TOML; doubled, as in a CSV file or a batch file; escaped; and single ones.
    r"[bfru$]{0,2}(?:(?P<three>\"{3}|'{3})(?P<in_three>[^\r\n]{1,500}?)(?P=three)"
    r"|(?P<two>\"\"|'')(?P<in_two>[^\"'\s]{1,500}+)(?P=two)"
    r"|(?P<escaped>\\{1,15}[\"'])(?!(?P=escaped))(?P<in_escaped>[^\r\n]{1,1000}?)(?<!\\)(?P=escaped)"
    r"|(?P<cut>\\{1,15}[\"'])(?P<in_cut>[^\"'\\\r\n]{1,2000}+)"
    rf"|(?P<double>\")(?P<in_double>(?:[^\"\\\r\n]|\\[^\r\n]){{1,{_LONG}}}+)"
    rf"|(?P<single>')(?P<in_single>(?:[^'\\\r\n]|\\[^\r\n]|''(?=[^'\r\n]{{0,80}}')){{1,{_LONG}}}+)"
    rf"|(?P<back>`)(?P<in_back>[^`\r\n]{{1,{_LONG}}}+)(?=`))",
    re.IGNORECASE,
)
BARE = r"[^\s\"'`\\$()\[\]{}<>,;&|]"
"""A character of a value without quotes."""
_BARE = re.compile(rf"{BARE}{{1,{_LONG}}}+")
_ARGUMENT = re.compile(rf"(?:[^\s\"'`\\|;&<>]|\\[^\s]){{1,{_LONG}}}+")


def string(text: str, at: int) -> Value | None:
    """The string literal at ``at``, in the quotes of any language; None if there is none."""
    found = _STRING.match(text, at)
    if found is None:
        return None
    for kind in ("three", "two", "escaped", "cut", "double", "single", "back"):
        if found[kind] is not None:
            return Value(*found.span(f"in_{kind}"), found[kind][-1:] if kind != "back" else "`")
    return None


def bare(text: str, at: int) -> Value | None:
    """The word without quotes at ``at``, as in code or in a configuration."""
    found = _BARE.match(text, at)
    return None if found is None else Value(found.start(), found.end(), "")


def argument(text: str, at: int) -> Value | None:
    """The argument of a shell command at ``at``: a string, or all up to the next space or operator."""
    quoted = string(text, at)
    if quoted is not None:
        return quoted
    found = _ARGUMENT.match(text, at)
    if found is None:
        return None
    end = found.end()
    # The quote that encloses the whole command, and the bracket of a substitution, do not belong to it.
    while end > found.start() and text[end - 1] in ")]}," and not set("([{") & set(text[found.start() : end]):
        end -= 1
    return Value(found.start(), end, "") if end > found.start() else None


SECRET_WORD = re.compile(r"pass|secret|token|key|pwd|cred|auth", re.IGNORECASE)
"""A part of a word that names a secret."""
_WORDS = re.compile(
    r"[A-Za-z][A-Za-z_./: -]{0,400}(?<=[A-Za-z])"
    r"|_?[a-z]++\d?[a-z]?(?:_[a-z]++\d?[a-z]?)++|[A-Z]++\d?[A-Z]?(?:_[A-Z]++\d?[A-Z]?)++"
    r"|_?(?:[A-Z]{1,8}\d{0,3}[a-z]{0,40}+){1,12}+(?<=[a-z])"
)
_PLACEHOLDER = re.compile(
    r"[*x.•_-]++|(?:your|my|the|some|an?)(?:[_ -][a-z]++){1,6}+[!.]*+"
    r"|(?:insert|enter|replace|change|example|dummy|fake|placeholder|sample)[a-z]*+(?:[_ -][a-z]++){0,6}+[!.]*+"
    r"|.{0,400}(?:\.\.\.|…)|.{0,400}(?:\*{3}|•{3}|x{4}).*|tbd|n/?a|null|nil|none|undefined|true|false"
    # The rules of a form, and types that are alternatives.
    r"|[\w.:\[\], ]++(?:\|[\w.:\[\], ]++)++",
    re.IGNORECASE,
)
_EXPRESSION = re.compile(r"\w\[-?\d{1,3}\]|\(\?[:=!<P]|\[\^?[a-zA-Z0-9_]-[a-zA-Z0-9_]|\\[wdsSWD](?![a-z])")
"""Part of a regular expression, or of a path to an item."""
_INNER = re.compile(
    r"\$?\{[A-Za-z_][\w.()\[\]'\"]{0,80}\}|\$[A-Z_][A-Z0-9_]{0,80}(?![a-z])|%[sdr]|%\(\w{1,40}\)s|<[a-z][\w -]{0,40}>"
)
"""Part of a text that is filled in later."""
_LETTERS = re.compile(r"[A-Za-z_ :/.-]*")
_PROSE = re.compile(r"[A-Z][A-Za-z']*+(?: [\w',()-]++){1,40}+[.?!:]?|[\w',()-]++(?: [\w',()-]++){1,40}+[.?!:]")
_VARIABLE = re.compile(
    r"\$\{[^}]{0,200}\}?|\$\([^)]{0,200}\)?|\$[A-Za-z_]\w{0,80}(?:(?:[.:\[]|->).{0,80})?|%[A-Za-z_]\w{0,80}%|%[({]?[sdr]\b.{0,20}"
    r"|\{{1,2}.{0,300}|<.{0,300}|\[.{0,300}|#\{.{0,200}|@[A-Za-z_]\w*+\(.{0,200}|!\w.{0,80}|`.{0,80}"
)
_DOLLAR = re.compile(r"\$(?=\w{0,80}\d)(?=\w{0,80}[a-z])\w{7,80}")
"""A dollar sign and letters with digits: in single quotes no variable of a shell."""
_OPENING_VARIABLE = re.compile(r"\$[A-Z_][A-Z0-9_]*+(?![a-z])|\$[({]|\{\{?|<[A-Za-z]|%[({]|\[")
_PATH = re.compile(r"(?:~|\.{0,2})/(?:[\w.@%+-]{0,40}/){0,12}[\w.@%+-]{0,40}|[A-Za-z]:\\.{1,200}")
_MIXED = re.compile(r"(?=[^/]{0,400}[a-z])(?=[^/]{0,400}[A-Z])(?=[^/]{0,400}\d)")
_ADDRESS = re.compile(
    r"[\^~<>=v]{0,2}\d++(?:\.\d++){1,3}+(?:[.+-]\w++)*+\Z|[a-z][a-z0-9+.-]{1,20}://|arn:|projects/|data:"
)

_TYPES = frozenset(
    "str string text bytes byte bool boolean int integer float number any object optional unknown void secretstr "
    "varchar char dict list path callable required array map func function self cls".split()
)
_SAYINGS = frozenset(
    "invalid incorrect wrong missing empty expired required mismatch unchanged changed failed failure denied revoked "
    "rejected accepted valid ok okay unknown unexpected expected blank unset disabled enabled hidden masked redacted "
    "omitted removed needed optional ignored default test testing authentication authorization bearer basic digest "
    "inherit field fields policy policies form page input label prompt value name not must should has have was were is "
    "are be the an and or for with from to in of on at by if when whether see auto generated plain plaintext cleartext "
    "public private read write user username admin root localhost".split()
)


def harmless_words(value: str) -> bool:
    """Whether ``value`` says what a secret is or lacks, instead of being one: a placeholder, a type, a message."""
    lower = value.lower().rstrip(".,;!")
    if lower in _TYPES or lower in _SAYINGS or REDACTED in value or _PLACEHOLDER.fullmatch(value):
        return True
    if value.rstrip().endswith(":"):
        # What a person is asked with.
        return True
    if _WORDS.fullmatch(value) and SECRET_WORD.search(value):
        return True
    return " " in value and _PROSE.fullmatch(value) is not None and _says_something(lower)


def _says_something(lower: str) -> bool:
    """Whether a sentence has one of the small words that sentences have."""
    return not _SAYINGS.isdisjoint(re.findall("[a-z]+", lower[:400])) or lower.endswith(("?", ".", "!"))


def is_template(value: str, quote: str) -> bool:
    """Whether ``value`` is filled in later: a variable, a format, an expression of a template language."""
    if quote == "'" and _DOLLAR.fullmatch(value) and not SECRET_WORD.search(value):
        return False
    if _VARIABLE.fullmatch(value):
        return True
    if _INNER.search(value) and _LETTERS.fullmatch(_INNER.sub("", value)):
        return True
    return quote != "'" and _OPENING_VARIABLE.match(value) is not None


def is_place(value: str) -> bool:
    """Whether ``value`` is an address, or the path of a file whose parts do not look random."""
    if _ADDRESS.match(value):
        return True
    return _PATH.fullmatch(value) is not None and not any(_MIXED.match(part) for part in value.split("/"))


def is_secret(text: str, value: Value, least: int = 4) -> bool:
    """Whether a value that is given to something secret is a secret."""
    if not least <= value.end - value.start <= EXAMINED:
        # What is longer than any name or sentence is taken for a secret, so that nothing is examined twice.
        return value.end - value.start > EXAMINED
    content = text[value.start : value.end]
    if is_template(content, value.quote) or harmless_words(content) or is_place(content):
        return False
    if value.quote == "`" and " " in content:
        # A command.
        return False
    return _EXPRESSION.search(content) is None


_WORDY = re.compile(r"[A-Za-z]++(?:[-_./: ][A-Za-z]++|[-_./: ]\d{1,4}+(?![A-Za-z0-9]))*+\d{0,3}+")


def is_random(content: str) -> bool:
    """Whether ``content`` looks random: letters and digits in turn, and no words with a number."""
    return (
        len(content) >= 10
        and not any(map(str.isspace, content[:EXAMINED]))
        and any(map(str.isdigit, content[:EXAMINED]))
        and any(map(str.isalpha, content[:EXAMINED]))
        and _WORDY.fullmatch(content[:EXAMINED]) is None
    )


def by_line(text: str, start: int, end: int) -> Iterable[Span]:
    """The parts of a value that spans several lines, without the indentation: lines stay lines."""
    at = start
    for line in text[start:end].split("\n"):
        content = line.strip()
        if content:
            first = at + line.index(content)
            yield Span(first, first + len(content))
        at += len(line) + 1


_KEYS = (
    "api access account signing encryption private auth shared master preshared consumer subscription service app jwt"
).split()
_COMPOUNDS = "db ssh user root admin smtp imap mail http ftp store key sudo become wifi sql redis proxy".split()
"""What ``pass`` is written together with: ``bypass`` and ``compass`` are other words."""
NAME_MARKERS = (
    *("pass", "secret", "token", "pwd", "pw", "pswd", "mnemonic", "psk", "auth", "credential"),
    *(f"{kind}{between}key" for kind in _KEYS for between in ("", "_", "-", " ")),
    *("key-data", "secret key"),
)
"""One of these is part of every such name, in lower case."""
_NAME = re.compile(
    rf"(?:(?:secret|{'|'.join(_KEYS)})[ ]key(?![a-z])|pass(?:w(?:or)?ds?|phrases?|code|(?<![a-z]pass)(?![a-z_-])"
    rf"|(?:{'|'.join(f'(?<={word}pass)' for word in _COMPOUNDS)})(?![a-z]))"
    r"|secret(?:s?(?![a-z])|(?=(?-i:[A-Z])|access|key))|tokens?(?![a-z])|ps?wd(?![a-z])|credentials?(?![a-z])"
    r"|pw(?<![a-z]pw)(?![a-z])|mnemonic|psk(?![a-z])|(?<=[_-])auth(?![a-z])"
    r"|[a-z]{2,12}[_-]?keys?(?![a-z])|[a-z]{2,12}[_-]?key(?=(?-i:[A-Z]))|key-data)(?P<tail>[\w-]{0,30}+)",
    re.IGNORECASE,
)
_NAME_WORD = re.compile(r"[A-Z]{1,40}(?![a-z])|[A-Z]?[a-z]+")
_ABOUT = frozenset(
    "file files path paths url urls uri dir folder name env var field fields header headers type kind format length "
    "len size min max count limit timeout ttl lifetime age label regex pattern prompt hint help policy validator "
    "validators hasher hashers class reset ref refs store manager provider endpoint index idx pos id ids input box "
    "view form template error errors message msg required enabled changed version algorithm scheme source stdin prefix "
    "suffix separator column confirmation arn seconds minutes usage budget location domain project".split()
)
"""The last word of a name that is about a secret, and does not hold one."""
_ABOUT_ENDING = re.compile(r"expir\w*|[a-z]{0,40}(?:isation|ization|ize|izer|less|based)|ed|ing", re.IGNORECASE)
_HOLDING = frozenset(
    "key keys access value string base token secret hash plain text new old current prod production dev staging live "
    "main master default salt data admin root user confirm repeat encoded raw backup primary secondary db api app auth "
    "v".split()
)
"""Words behind ``password`` or ``secret`` in a name that does hold one."""
_CREDENTIAL = frozenset(
    "auth access refresh id session bearer client api bot git github gitlab deploy csrf xsrf jwt secret personal npm "
    "oauth authentication registration service account slack hf app user private upload publish vault".split()
)
"""Words before ``token`` in the name of a secret; parsers, models and lists in pages have tokens of other kinds."""
_OTHERS_HAVE = re.compile("([a-z]{0,200}?)(?:tokens?|credentials?)")
_BEFORE = 200
"""How far back the beginning of a name, and of its line, is looked for."""
_OF_NAME = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."
_LINE_START = re.compile(
    r"(?:[\w./@-]{1,90}[:-]\d{1,6}[:-]|[\w./@-]{1,90}:)?[ \t\d:|>+*#-]{0,24}(?:(?:export|set)[ \t]++)?\Z"
)
_QUOTE = re.compile(r"\\{0,15}[\"'`]")
_APOSTROPHE = re.compile(r"(?<=[A-Za-z])'(?=[a-z]{1,2}\b)")


class Name:
    """A name in a text, and what is around it."""

    def __init__(self, text: str, at: int, found: re.Match[str]) -> None:
        self.text, self.at, self.end = text, at, found.end()
        back = text[max(0, at - _BEFORE) : at]
        self.start = at - (len(back) - len(back.rstrip(_OF_NAME)))
        self.before = back[: len(back) - (at - self.start)]
        self.full = text[self.start : self.end]
        newline = self.before.rfind("\n")
        self.line = self.before[newline + 1 :] if newline >= 0 or at <= _BEFORE else None
        """The line up to the name; None if it is too long to say."""
        self.strict = not (self.option or _certain(self.full, found["tail"]))
        """Only a value that looks random is its secret: the name may be that of something else."""

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

    @property
    def verbal(self) -> bool:
        """Whether the name is that of a function that does something: ``get_secret``, ``PromptPassword``."""
        last = self.full[: self.at - self.start].rpartition(".")[2]
        words = {word.lower() for word in _NAME_WORD.findall(last)}
        return not words <= _CREDENTIAL | {*_COMPOUNDS, "my", "the", "with", "set", "using"}

    def ends_string(self, at: int) -> bool:
        """Whether the quote at ``at`` closes a string that the name is part of: ``print("password: ", x)``."""
        quote = _QUOTE.match(self.text, at)
        _, newline, line = self.before.rpartition("\\n") if self.line is None else self.line.rpartition("\\n")
        if quote is None or (self.line is None and not newline):
            return False
        line = _APOSTROPHE.sub("", line)
        return sum(found[0] == quote[0] for found in _QUOTE.finditer(line)) % 2 == 1

    def secret(self, value: Value | None, least: int = 4) -> tuple[Span, ...]:
        """The part of ``value`` that is the secret of this name; none if the value is none."""
        if value is None or not is_secret(self.text, value, least):
            return ()
        if self.strict and not is_random(self.text[value.start : value.end]):
            return ()
        return (Span(value.start, value.end),)


def name_at(text: str, at: int) -> Name | None:
    """The name that has a marker at ``at``; None if there is none, or it is about a secret and holds none."""
    found = _NAME.match(text, at)
    if found is None or _is_about(found["tail"]):
        return None
    return Name(text, at, found)


def is_name(word: str) -> bool:
    """Whether ``word`` is the name of a secret, as the head of a column is; a column ``pass`` has results of tests."""
    if word.lower() == "pass":
        return False
    found = next((found for at in range(len(word)) if (found := _NAME.match(word, at)) is not None), None)
    return found is not None and found.end() == len(word) and not _is_about(found["tail"])


def _is_about(tail: str) -> bool:
    words = _NAME_WORD.findall(tail)
    return bool(words) and (words[-1].lower() in _ABOUT or _ABOUT_ENDING.fullmatch(words[-1]) is not None)


def _certain(full: str, tail: str) -> bool:
    """Whether a name is that of a secret whatever its value, as ``access_token`` is, and ``secret_santa`` is not."""
    behind = [word.lower() for word in _NAME_WORD.findall(tail)]
    if not _HOLDING.issuperset(behind):
        return False
    words = [word.lower() for word in _NAME_WORD.findall(full.removesuffix(tail))]
    other = _OTHERS_HAVE.fullmatch(words[-1] if words else "")
    return other is None or not _CREDENTIAL.isdisjoint((*words[:-1], other[1]))
