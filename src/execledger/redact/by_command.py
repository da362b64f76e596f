"""Secrets among the arguments of programs that take them there: ``curl -u``, ``mysql -p``, ``echo ... | sudo -S``.

The options of a program are looked for up to the end of its command, at most ``_REACH`` characters behind its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from execledger.redact.values import Span, Value, argument, is_secret

_REACH = 500
_COMMAND = re.compile(
    r"(?:[^\n|;&\"'\\]|\\(?:\r\n|[\s\S])|\"(?:[^\"\\]|\\[\s\S]){0,300}+\"|'[^']{0,300}+'|[\"'&](?![&\n]))*+"
)
"""A command up to its end, over continued lines and over operators in quotes."""
_GAP = r"(?:[ \t]|\\\r?\n)"


class Program(NamedTuple):
    """A program, or some that are alike, with an option whose argument is secret."""

    names: tuple[str, ...]
    """How they are called."""
    option: re.Pattern[str]
    """Matches up to where the secret begins; a quote in front of a user and a password is its group ``quote``."""


def _program(names: str, option: str) -> Program:
    return Program(tuple(names.split()), re.compile(option))


_USER = (
    rf"{_GAP}(?:-[a-zA-Z]{{0,6}}[uU]|--user|--proxy-user|--auth)(?:{_GAP}|=){{0,8}}(?P<quote>[\"']?)[^\s:\"'$]{{1,80}}:"
)
PROGRAMS: tuple[Program, ...] = (
    _program("curl wget", _USER),
    _program("curl", rf"{_GAP}--oauth2-bearer(?:{_GAP}|=){{1,8}}"),
    _program("curl", rf"{_GAP}(?:-b|--cookie)(?:{_GAP}|=){{1,4}}(?=[\"']?[\w!#%*+.^~-]{{1,80}}=[^\s=])"),
    _program("http https xh", rf"{_GAP}(?:-a|--auth){_GAP}{{1,8}}(?P<quote>[\"']?)[^\s:\"'$]{{1,80}}:"),
    _program("mysql mysqldump mysqladmin mysqlimport mariadb mariadb-dump mariadb-admin", rf"{_GAP}-p(?=[^\s])"),
    _program("sshpass", rf"{_GAP}-p{_GAP}{{0,4}}"),
    _program("mongo mongosh mongodump mongorestore mongoexport mongoimport", rf"{_GAP}-p{_GAP}{{0,4}}"),
    _program("redis-cli valkey-cli", rf"{_GAP}(?:-a|--pass){_GAP}{{1,4}}"),
    _program("useradd usermod", rf"{_GAP}(?:-[a-zA-Z]{{0,4}}p|--password){_GAP}{{1,4}}"),
    _program("lftp", rf"{_GAP}-u{_GAP}{{0,4}}(?P<quote>[\"']?)[^\s,\"'$]{{1,80}},"),
    _program("ldapsearch ldapadd ldapmodify ldapdelete ldapwhoami ldappasswd", rf"{_GAP}-[ws]{_GAP}{{1,4}}"),
    _program("smbclient rpcclient net smbmap", rf"{_GAP}-U{_GAP}{{0,4}}(?P<quote>[\"']?)[^\s%\"'$]{{1,80}}%"),
    _program("sqlcmd bcp isql ipmitool zip unzip zipcloak", rf"{_GAP}-P{_GAP}{{0,4}}"),
    _program("login", rf"{_GAP}-p{_GAP}{{1,4}}"),
    _program("sqlplus", rf"{_GAP}[\w.]{{1,40}}/(?=[^\s]{{1,80}}@)"),
    _program("twine", rf"{_GAP}-p{_GAP}{{1,4}}"),
    _program(
        "htpasswd",
        rf"{_GAP}-[a-zA-Z]{{0,4}}b[a-zA-Z]{{0,4}}{_GAP}{{1,4}}(?:[^\s-]{{1,200}}{_GAP}{{1,4}})?[^\s-]{{1,80}}{_GAP}{{1,4}}",
    ),
    _program("add_user change_password", rf"(?:(?<=add_user)|(?<=change_password)){_GAP}[\w.@-]{{1,80}}{_GAP}{{1,4}}"),
)
"""Every such program."""
_BY_NAME: dict[str, list[re.Pattern[str]]] = {}
for _one in PROGRAMS:
    for _name in _one.names:
        _BY_NAME.setdefault(_name, []).append(_one.option)
_WORD = re.compile(r"[\w-]{1,20}")
_BEGINS = {name: re.compile(rf"(?<![\w.@-]){re.escape(name)}(?=[ \t\\])") for name in _BY_NAME}
"""Where a command of each program begins; what follows a second one belongs to that, and is searched there."""


def _first(names: list[str]) -> tuple[str, ...]:
    """The names without those that begin with another one: a search finds that."""
    return tuple(name for name in names if not any(name != other and name.startswith(other) for other in names))


MARKERS = tuple(
    f"{name}" for name in _first([*_BY_NAME]) if name not in ("http", "https", "net", "zip", "xh", "bcp", "mongo")
)
"""One of these is found where the name of a program may be, in lower case."""
SHORT_MARKERS = (
    *("http -a", "http --auth", "https -a", "https --auth", "xh -a", "xh --auth", "net rpc", "net ads"),
    *("zip -", "zipcloak", "bcp ", "mongo ", "mongosh", "mongodump", "mongorestore", "mongoexport", "mongoimport"),
)
"""Names that are too short or too frequent to be looked for without what follows them."""


def arguments(text: str, at: int) -> Iterator[Span]:
    """The secret arguments of the program whose name begins at ``at``."""
    word = _WORD.match(text, at)
    if word is None or word[0] not in _BY_NAME or text[word.end() : word.end() + 1] not in (" ", "\t", "\\"):
        return
    if at and (text[at - 1].isalnum() or text[at - 1] in "_-.@"):
        return
    again = _BEGINS[word[0]].search(text, word.end(), at + _REACH)
    command = _COMMAND.match(text, word.end(), at + _REACH if again is None else again.start())
    assert command is not None
    for option in _BY_NAME[word[0]]:
        for found in option.finditer(text, word.end(), command.end()):
            value = _argument(text, found)
            if value is not None and not text.startswith("-", value.start) and is_secret(text, value, 3):
                yield Span(value.start, value.end)


def _argument(text: str, option: re.Match[str]) -> Value | None:
    quote = option["quote"] if "quote" in option.re.groupindex else ""
    if quote:
        end = text.find(quote, option.end(), option.end() + 300)
        return Value(option.end(), end, quote) if end > 0 else None
    return argument(text, option.end())


_FED = re.compile(
    r"\|[ \t]{0,4}(?:\\\n[ \t]{0,8})?(?:sudo[ \t]{1,4}(?:-[a-zA-Z]{1,4}[ \t]{1,4}){0,3}-[a-zA-Z]{0,4}S\b"
    r"|(?:sudo[ \t]{1,4})?(?:chpasswd|passwd[ \t]{1,4}--stdin|su\b|cryptsetup\b)"
    r"|[^\n|;&]{0,120}--(?:(?:password|passphrase|token)-stdin|with-token))"
)
_SAYS = re.compile(r"(?:echo|printf)(?:[ \t]{1,4}-[neE]{1,3})?(?:[ \t]{1,4}[\"']%s(?:\\n)?[\"'])?[ \t]{1,4}")
_HERE = re.compile(r"(?:[^\n|;&\"'<]|<(?!<)|\"[^\"\n]{0,100}\"|'[^'\n]{0,100}'){0,200}+<<<[ \t]{0,4}")
_SUDO = re.compile(r"sudo -[a-zA-Z]{0,4}S\b")
FEEDING = ("echo ", "printf ")
"""Commands that hand a text to the next one."""
FED = ("sudo -", "--with-token", "chpasswd", "-stdin")
"""Programs that are fed a secret."""


def fed(text: str, at: int) -> Iterator[Span]:
    """What ``echo`` or ``printf`` at ``at`` hands to a program that reads a secret from its standard input."""
    says = _SAYS.match(text, at)
    value = argument(text, says.end()) if says is not None else None
    if value is None:
        return
    end = value.end + (1 if value.quote else 0)
    spaces = len(text[end : end + 8]) - len(text[end : end + 8].lstrip(" \t"))
    if _FED.match(text, end + spaces) is None:
        return
    start, stop = value.start, value.end
    content = text[start:stop]
    if "chpasswd" in text[end : end + 60]:
        start += content.find(":") + 1
    while stop - start > 2 and text[stop - 2 : stop] == "\\n":
        stop -= 2
    if is_secret(text, Value(start, stop, value.quote), 3):
        yield Span(start, stop)


def here_string(text: str, at: int) -> Iterator[Span]:
    """The here-string that ``sudo -S`` or a login at ``at`` is fed."""
    if text.startswith("sudo -", at) and _SUDO.match(text, at) is None:
        return
    here = _HERE.match(text, at)
    value = argument(text, here.end()) if here is not None else None
    if value is not None and is_secret(text, value, 3):
        yield Span(value.start, value.end)
