"""Names that say that their value is secret (``password``, ``api_key``, ``githubToken``), and what is around one."""

from __future__ import annotations

import re

from execledger.redact.values import Span, Value, is_random, is_secret

_KEYS = (
    "api access account signing encryption private auth shared master preshared consumer subscription service app jwt"
).split()
_COMPOUNDS = "db ssh user root admin smtp imap mail http ftp store key sudo become wifi sql redis proxy".split()
"""What ``pass`` is written together with: ``bypass`` and ``compass`` are other words."""
MARKERS = (
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
_WORD = re.compile(r"[A-Z]{1,40}(?![a-z])|[A-Z]?[a-z]+")
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
        words = {word.lower() for word in _WORD.findall(last)}
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
    words = _WORD.findall(tail)
    return bool(words) and (words[-1].lower() in _ABOUT or _ABOUT_ENDING.fullmatch(words[-1]) is not None)


def _certain(full: str, tail: str) -> bool:
    """Whether a name is that of a secret whatever its value, as ``access_token`` is, and ``secret_santa`` is not."""
    behind = [word.lower() for word in _WORD.findall(tail)]
    if not _HOLDING.issuperset(behind):
        return False
    words = [word.lower() for word in _WORD.findall(full.removesuffix(tail))]
    other = _OTHERS_HAVE.fullmatch(words[-1] if words else "")
    return other is None or not _CREDENTIAL.isdisjoint((*words[:-1], other[1]))
