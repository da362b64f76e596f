"""Secrets that are known by what precedes them: a header, an address, a field of a protocol or of a file.

Each pattern is matched where one of its markers was found, and every run of characters in it is bounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from execledger.redact.values import Span, Value, harmless_words, is_random, is_secret, is_template


class Rule(NamedTuple):
    """One way in which a secret is named."""

    markers: tuple[str, ...]
    """The pattern is tried where one of these is found, in lower case."""
    pattern: re.Pattern[str]
    """Matches at the marker; its group ``value`` is the secret, its group ``quote`` the quote around that."""

    def find(self, text: str, at: int) -> Iterable[Span]:
        """The secret behind the marker at ``at``."""
        found = self.pattern.match(text, at)
        if found is None:
            return ()
        start, end = found.span("value")
        return (Span(start, end),) if is_secret(text, Value(start, end, "'"), 3) else ()


def _rule(markers: str, pattern: str) -> Rule:
    return Rule(tuple(markers.split("  ")), re.compile(pattern, re.IGNORECASE))


_SCHEMES = "basic|bearer|token|digest|api-?key|negotiate|ntlm|oauth|hawk|jwt|bot|ssws|key|sharedkey|splunk|genie-?key"
_AUTHORIZATION = re.compile(
    r"authorization\\{0,15}[\"'`]?\]?[ \t]{0,4}(?:[:=,]\\?[ \t]{0,4}(?:[fbr](?=[\"']))?|(?<=[ \t])(?=[\"']))"
    r"\\{0,15}(?P<quote>[\"'`])?"
    rf"(?P<scheme>(?:{_SCHEMES})(?:\\?[ \t]|%20|\+){{1,4}})?+(?P<value>[^\s\"'`\\,;]{{4,4000}}+)",
    re.IGNORECASE,
)
_DOTTED = re.compile(r"[A-Za-z_$][\w$]*+(?:\??[.:]++[A-Za-z_$][\w$]*+)*+\)?")
_FIELD = re.compile(r"[A-Za-z_-]++=")


def authorization(text: str, at: int) -> Iterable[Span]:
    """The credentials of an authorization header; code that reads or passes on a header is kept."""
    found = _AUTHORIZATION.match(text, at)
    if found is None:
        return ()
    start, end = found.span("value")
    value = found["value"]
    if is_template(value, "'") or harmless_words(value) or _FIELD.match(value):
        return ()
    if found["scheme"] is None and (_DOTTED.fullmatch(value) or (not found["quote"] and set("([{})") & set(value))):
        return ()
    return (Span(start, end),)


_ADDRESS = re.compile(
    r"://[^\s/:\"'<>]{0,200}+:(?P<value>(?!\d{1,5}(?:[/?#]|$))[^\s\"'<>@]{1,256}+(?:@[^\s\"'<>@/]{1,80}(?=@))?)@"
)
_NAMED_USER = re.compile(r"://(?=[A-Za-z_.~%+-]{0,60}\d)(?P<value>[\w.~%+-]{20,256}+)@")


def address(text: str, at: int) -> Iterable[Span]:
    """The password in an address, or the token in the place of the user."""
    found = _ADDRESS.match(text, at) or _NAMED_USER.match(text, at)
    if found is None:
        return ()
    value = Value(*found.span("value"), '"')
    content = found["value"]
    harmless = is_template(content, '"') or content.lower() in ("password", "pass", "passwd", "secret", "token", "pw")
    return () if harmless else (Span(value.start, value.end),)


_DATA = re.compile(r"(?:string)?data\\{0,15}[\"']?:[ \t]{0,4}(?:\r?\n|\{)", re.IGNORECASE)
_DATA_LINES = re.compile(r"[ \t]{1,40}[\w./-]{1,80}:[ \t]{0,4}[\"']?(?P<value>[^\s\"']{4,65536}+)[^\n]{0,40}(?:\n|\Z)")
_DATA_FIELDS = re.compile(
    r"\s{0,40}\\{0,15}[\"'][\w./-]{1,80}\\{0,15}[\"'][ \t]{0,2}:[ \t]{0,2}"
    r"\\{0,15}[\"'](?P<value>[^\s\"'\\]{4,65536}+)\\{0,15}[\"'],?"
)
_KIND = re.compile(r"kind(?<!\wkind)\\{0,15}[\"']?:[ \t]{0,4}\\{0,15}[\"']?Secret\b(?![\w-])")
_NEAR = 3000
"""How far from its data the kind of a Kubernetes object may be."""


def kubernetes(text: str, at: int) -> Iterator[Span]:
    """The data of a Kubernetes object of the kind ``Secret``."""
    opening = _DATA.match(text, at)
    if opening is None or text[at - 1 : at] not in ("", "\n", '"', "'", ",", "{", " ", "\t"):
        return
    first = max(0, at - _NEAR, text.rfind("\n---", max(0, at - _NEAR), at))
    last = text.find("\n---", at, at + _NEAR)
    if _KIND.search(text, first, at + _NEAR if last < 0 else last) is None:
        return
    line = _DATA_FIELDS if text[opening.end() - 1] == "{" else _DATA_LINES
    place = opening.end()
    while (found := line.match(text, place)) is not None:
        yield Span(*found.span("value"))
        place = found.end()


_QUOTED = (
    r"(?P<quote>[\"'])(?P<value>(?:(?!(?P=quote))[^\r\n]|(?P=quote){2}(?=[^\r\n]{0,200}(?P=quote))){3,200}+)(?P=quote)"
)
_FIRST = r"[ \t]{0,2}[\"'][^\"'\r\n]{1,80}[\"'][ \t]{0,2},[ \t]{0,2}b?(?:Some\()?"
"""The name of the user, the first of two arguments."""
_OPEN, _COLON = r"\\{0,15}[\"']", r"[ \t]{0,2}:[ \t]{0,2}"
_END = r"(?=[\"']?[ \t]{0,8}(?:\r?\n|\Z))"
_CREDENTIALS = r"(?:basic_?auth|auth(?:entication|enticate)?|credentials?|creds|userpwd)"
RULES: tuple[Rule, ...] = (
    _rule(
        "bearer",
        r"bearer(?:\\?[ \t]|%20){1,4}(?!auth|token)(?=[A-Za-z._~+/=-]{0,200}\d)(?P<value>[\w.~+/=-]{12,4000}+)",
    ),
    # The base64 of a name and a password: it has letters of both sizes, or digits.
    _rule(
        "auth  identitytoken  registrytoken",
        rf"(?<=[\"'])(?:auth|identitytoken|registrytoken){_OPEN}{_COLON}{_OPEN}"
        r"(?-i:(?=[a-z]{0,60}[A-Z0-9+/=]))(?P<value>[A-Za-z0-9+/=_-]{8,4000}+)",
    ),
    # A name and a password as two arguments, and in one string.
    _rule(
        "auth  basic_auth  basicauth  cred",
        rf"{_CREDENTIALS}[ \t]{{0,2}}[=:]?[ \t]{{0,2}}(?:\w{{0,20}}Auth)?[\[(]{_FIRST}{_QUOTED}",
    ),
    _rule("login(", rf"login\({_FIRST}{_QUOTED}"),
    _rule(
        "auth  basic_auth  basicauth  cred  userpwd",
        rf"{_CREDENTIALS}[\"']?[ \t]{{0,2}}[=:][ \t]{{0,2}}(?P<quote>[\"'])[\w.@-]{{1,80}}:"
        r"(?P<value>(?!//)[^\"'\s]{4,200}+)(?P=quote)",
    ),
    _rule(
        "jwt.",
        rf"jwt\.(?:encode|decode|sign|verify)\((?:[^,\"'\r\n]{{1,80}}|\{{[^{{}}\r\n]{{0,200}}\}}),"
        rf"[ \t]{{0,4}}{_QUOTED}",
    ),
    _rule("securestring", rf"securestring[ \t]{{1,4}}(?:-string[ \t]{{1,4}})?{_QUOTED}"),
    _rule(
        "api-key  auth-key",
        rf"(?:api|auth)-key(?P<closed>{_OPEN})?:\\?[ \t]{{0,4}}(?(closed){_OPEN}|(?:{_OPEN})?)"
        r"(?P<value>[^\s\"'\\,;]{4,4000}+)",
    ),
    _rule("sig=  signature=", r"sig(?:nature)?=(?P<value>[A-Za-z0-9%+/=_-]{20,400}+)"),
    _rule(
        "identified ",
        rf"identified[ \t]{{1,4}}(?:with[ \t]{{1,4}}[\w\"'`]{{1,60}}[ \t]{{1,4}}(?:by|as)|by)[ \t]{{1,4}}"
        rf"(?:password[ \t]{{1,4}})?{_QUOTED}",
    ),
    _rule("identified ", r"identified[ \t]{1,4}by[ \t]{1,4}(?=[^\s;\"']{0,80}\d)(?P<value>[^\s;:\"'\\()]{4,80}+)"),
    # The private part of a JSON web key.
    _rule('"d"  "d\\', r"\"d\\{0,15}\"\s{0,4}:\s{0,4}\\{0,15}\"(?P<value>[\w-]{40,1400}+)\\{0,15}\""),
    # The options of openssl and apksigner.
    _rule("pass", r"(?<=-)pass(?:in|out|word)?[ \t=]{1,4}[\"']?pass:(?P<value>[^\s\"']{3,200}+)"),
    _rule("pass", r"(?<=-)pass(?:in|out|word)?[ \t=]{1,4}(?P<quote>[\"'])pass:(?P<value>[^\"'\r\n]{3,200}+)(?P=quote)"),
    # Files and protocols of servers.
    _rule(
        "requirepass  masterauth", rf"(?:requirepass|masterauth)[ \t]{{1,4}}[\"']?(?P<value>[^\s\"']{{4,200}}+){_END}"
    ),
    _rule(
        "auth ",
        r"(?-i:(?:(?<![^\n])|(?<=> ))AUTH) (?:(?:PLAIN|LOGIN|XOAUTH2) |[\w.@-]{1,40} )?[\"']?"
        rf"(?=[^\s\"']{{0,200}}\d)(?P<value>[^\s\"']{{6,4000}}+){_END}",
    ),
    _rule("/bot", r"/bot\d{6,12}:(?P<value>[\w-]{30,60}+)"),
    _rule("jdbc:oracle:", r"jdbc:oracle:\w{1,10}:[\w.]{1,40}/(?P<value>[^\s@\"'/]{3,80}+)@"),
    _rule("private-key", r"private-key[ \t]{1,4}<\((?:echo|printf)[ \t]{1,4}[\"']?(?P<value>[A-Za-z0-9+/=]{40,64}+)"),
)
"""Every such way but those that have a function of their own."""

_PGPASS = re.compile(
    r"[\w.*/-]{1,100}:(?:\d{2,5}|\*):[^:\s]{1,80}:[^:\s]{1,80}:(?P<value>(?:[^\s:\"'|\\]|\\.){3,200}+)\s*"
)
PGPASS_MARKERS = (":5432:", ":5433:", ":6432:", ":*:")
"""Ports of PostgreSQL, or any port, in a line of ``.pgpass``."""


def pgpass(text: str, at: int) -> Iterable[Span]:
    """The last field of a line of ``.pgpass``: host, port, database, user, password."""
    start = text.rfind("\n", max(0, at - 100), at) + 1 or max(0, at - 100)
    end = text.find("\n", at, at + 400)
    found = _PGPASS.fullmatch(text[start : end if end >= 0 else at + 400].lstrip("\"' \t0123456789|"))
    if found is None:
        return ()
    start = (end if end >= 0 else min(len(text), at + 400)) - len(found[0])
    return (Span(start + found.start("value"), start + found.end("value")),)


_COOKIE = re.compile(
    r"cookie2?\\{0,15}[\"']?[ \t]{0,2}:\\?[ \t]{0,2}\\{0,15}[\"']?(?=[\w!#$%&*+.^`|~-]{1,80}=)", re.IGNORECASE
)
_CRUMB = re.compile(
    r"[ \t]{0,4}(?P<name>[\w!#$%&*+.^`|~-]{1,80}+)(?:=(?P<value>[^\s;\"'\\]{0,4000}+))?(?:;|(?=\s|[\"'\\]|\Z))"
)
_SESSION = re.compile("sess|sid|auth|token|csrf|xsrf|jwt|login|remember|secret|key", re.IGNORECASE)


def cookie(text: str, at: int) -> Iterator[Span]:
    """The values of a cookie header that identify a session, by their name or because they look random."""
    header = _COOKIE.match(text, at)
    crumb = None if header is None else _CRUMB.match(text, header.end())
    while crumb is not None:
        value = crumb["value"] or ""
        if len(value) >= 4 and (_SESSION.search(crumb["name"]) or is_random(value)) and not is_template(value, '"'):
            yield Span(*crumb.span("value"))
        crumb = _CRUMB.match(text, crumb.end()) if crumb[0].endswith(";") else None
