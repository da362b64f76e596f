"""Secrets among the arguments of programs that take them there: ``curl -u``, ``mysql -p``, ``echo ... | sudo -S``.

The options of a program are looked for up to the end of its command, at most ``_REACH`` characters behind its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from execledger.redact.values import Span, Value, argument, is_random, is_secret

_REACH = 500
_COMMAND = re.compile(
    r"(?:[^\n|;&\"'\\]|\\(?:\r\n|[\s\S])|\"(?:[^\"\\]|\\[\s\S]){0,300}+\"|'[^']{0,300}+'|[\"'&](?![&\n]))*+"
)
"""A command up to its end, over continued lines and over operators in quotes."""
_GAP = r"(?:[ \t]|\\\r?\n)"
PROGRAMS: dict[str, tuple[str, ...]] = {
    # A user and a password in one word.
    "curl": (
        "-*u?USER:SECRET",
        "-U|--user|--proxy-user USER:SECRET",
        "--oauth2-bearer SECRET",
        "-b|--cookie USER=SECRET",
    ),
    "wget etcdctl": ("--user USER:SECRET",),
    "http https xh": ("-a|--auth USER:SECRET",),
    "lftp": ("-u?USER,SECRET",),
    "smbclient rpcclient smbmap": ("-U?USER%SECRET",),
    "sqlplus expdp impdp": ("USER/SECRET",),
    # A short option.
    "mysql mysqldump mysqlimport mysqlcheck mariadb mariadb-dump": ("-pSECRET",),
    "mysqladmin mariadb-admin": ("-pSECRET", "password SECRET"),
    "7z 7za 7zr 7zz rar unrar": ("-pSECRET", "-hpSECRET"),
    "sshpass mongo mongosh mongodump mongorestore mongoexport mongoimport": ("-p?SECRET",),
    "login": ("-p SECRET",),
    "twine cqlsh steghide": ("-p SECRET",),
    "useradd usermod": ("-*p|--password SECRET",),
    "sqlcmd bcp isql tsql ipmitool zip unzip zipcloak mosquitto_pub mosquitto_sub": ("-P?SECRET",),
    "ssh-keygen": ("-N|-P SECRET",),
    "ldapsearch ldapadd ldapmodify ldapdelete ldapwhoami ldappasswd": ("-w|-s SECRET",),
    "redis-cli valkey-cli": ("-a|--pass SECRET",),
    "openssl": ("-k|-K SECRET",),
    "snmpwalk snmpget snmpset": ("-A|-X|-c SECRET",),
    "nuget": ("-k SECRET",),
    "doctl codecov": ("-t SECRET",),
    "netlify": ("--auth SECRET",),
    "secret": ("-b?SECRET", "--body SECRET"),
    "SecureString": ("--value SECRET",),
    "xfreerdp wlfreerdp": ("/p:SECRET",),
    # A word by its place.
    "vault cargo wandb": ("login SECRET",),
    "ngrok": ("authtoken|add-authtoken SECRET",),
    "snyk": ("auth SECRET",),
    "htpasswd": ("-*b* *? * SECRET",),
    "add_user change_password authenticate_user": ("* SECRET",),
    "poetry composer": ("config pypi-token.*|github-oauth.* SECRET", "config http-basic.* * SECRET"),
    "net": ("user * SECRET", "use * * /user:* SECRET", "rpc|ads -U?USER%SECRET"),
    "nmcli": ("password SECRET",),
    "pdftk": ("input_pw|user_pw|owner_pw SECRET",),
    "wpa_passphrase": ("* SECRET",),
    "mc mcli": ("alias set * * * SECRET", "config host add * * * SECRET"),
    "samba-tool": ("user create * SECRET",),
}
"""How secrets are handed to programs.

``*`` is a word or the rest of one, and ``|`` is between alternatives. ``-*u`` is an option that others may be written
together with, ``-p?`` one with or without a space, ``*?`` a word that may be missing. A form that begins with a word
follows the name of the program, others may be anywhere behind it.
"""
_GAPS = rf"(?:{_GAP}|=)"
_ANY_WORD = r"(?:\"[^\"\r\n]{0,200}\"|'[^'\r\n]{0,200}'|[^\s\"'-][^\s\"']{0,200})"
_MEANINGS = {
    " ": rf"{_GAPS}{{1,8}}",
    " *": rf"{_GAPS}{{1,8}}{_ANY_WORD}",
    " *?": rf"(?:{_GAPS}{{1,8}}{_ANY_WORD})?",
    "-*": r"-[a-zA-Z]{0,6}",
    "*": r"\S{0,80}",
    "?": rf"{_GAPS}{{0,8}}",
    "USER": r"(?P<quote>[\"']?)(?P<user>[^\s:,%/=\"'$]{0,80})",
    "SECRET": "",
}
_NOTATION = re.compile(r"(?P<several>[^\s|]++(?:\|[^\s|]++)++)|USER|SECRET|-\*| \*\?| \*|[ *?]|.")


def _pattern(form: str) -> str:
    """A form as a pattern; a quote that encloses a user and the secret is its group ``quote``."""
    return _NOTATION.sub(
        lambda found: (
            f"(?:{'|'.join(map(_pattern, found[0].split('|')))})"
            if found["several"]
            else _MEANINGS.get(found[0], re.escape(found[0]))
        ),
        form,
    )


_BY_NAME = {
    name: [re.compile((f"(?<={name})" if form.startswith("*") else "") + _pattern(" " + form)) for form in forms]
    for names, forms in PROGRAMS.items()
    for name in names.split()
}
_WORD = re.compile(r"[\w-]{1,20}")
_BEGINS = {name: re.compile(rf"(?<![\w.@/-]){re.escape(name)}(?=[ \t\\])") for name in _BY_NAME}
"""Where a command of each program begins; what follows a second one belongs to that, and is searched there."""
MARKERS = tuple(name.lower() if len(name) > 4 else f"{name} " for name in _BY_NAME)
"""One of these is found where the name of a program may be, in lower case."""


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
            elif value is None and "user" in option.groupindex and is_random(found["user"]):
                # A token in the place of the user, with no password.
                yield Span(*found.span("user"))


def _argument(text: str, option: re.Match[str]) -> Value | None:
    quote = option["quote"] if "quote" in option.re.groupindex else ""
    if quote:
        end = text.find(quote, option.end(), option.end() + 300)
        return Value(option.end(), end, quote) if end > option.end() else None
    return argument(text, option.end())


_FED = re.compile(
    r"\|[ \t]{0,4}(?:\\\n[ \t]{0,8})?(?:sudo[ \t]{1,4}(?:-[a-zA-Z]{1,4}[ \t]{1,4}){0,3}-[a-zA-Z]{0,4}S\b"
    r"|(?:sudo[ \t]{1,4})?(?P<pair>chpasswd|base64\b)|(?:sudo[ \t]{1,4})?(?:passwd[ \t]{1,4}--stdin|su\b|cryptsetup\b)"
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
    reader = _FED.match(text, end + spaces)
    if reader is None:
        return
    start, stop = value.start, value.end
    if reader["pair"]:
        colon = text.find(":", start, stop)
        if colon < 0:
            return
        start = colon + 1
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
