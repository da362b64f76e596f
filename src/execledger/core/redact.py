"""Keys, tokens and passwords out of a text, before it is kept anywhere.

Only what a known pattern names is replaced, so code that merely speaks of passwords stays readable as a rule; where the
two can't be told apart, the text is replaced. Lines stay lines, so that whatever counts them still counts the same.
Every pattern is bounded or possessive: the work grows with the text and no faster.
"""

from __future__ import annotations

import re
from collections.abc import Callable

REDACTED = "[redacted]"
"""What stands where a secret stood."""

_ESCAPE = r"(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[[mK])|(?<=[;\[][0-9]m)|(?<=[;\[][0-9]{2}m)"
"""Behind an escape that ends in a letter or digit: of a string, of an address, of a terminal."""
_START = rf"(?:(?<![A-Za-z0-9])|{_ESCAPE})"
"""Where a token may begin: not within a word."""
_TOKEN = re.compile(
    _START + r"sk-(?:(?:ant|proj|or|svcacct|admin)-[\w-]{8,}|(?=[A-Za-z_-]{0,60}\d)[\w-]{16,})"
    rf"|{_START}[sr]k_(?:live|test)_\w{{8,}}"
    rf"|{_START}(?:hf_|npm_)[A-Za-z0-9]{{16,}}"
    r"|gh[pousr]_[A-Za-z0-9]{16,}|github_pat_\w{16,}|glpat-[\w-]{12,}|pypi-AgE[\w-]{16,}"
    r"|(?:AKIA|ASIA)[A-Z0-9]{12,}|AIza[\w-]{20,}|xox[abeoprs]-[A-Za-z0-9-]{8,}"
    rf"|{_START}(?:gsk_|xai-|dop_v1_|glsa_|r8_|hvs\.|xapp-|ATATT|AGE-SECRET-KEY-)[A-Za-z0-9_-]{{20,}}|{_START}ya29\.[\w-]{{20,}}"
    rf"|{_START}SG\.[\w-]{{16,}}\.[\w-]{{16,}}|(?<=hooks\.slack\.com/services/)[\w/]{{16,}}"
    # A JSON web token; a start within its own letters would make the search quadratic.
    rf"|(?:(?<![\w-])|{_ESCAPE})eyJ[\w-]{{6,}}+\.[\w-]{{4,}}+(?:\.[\w-]*+)?"
)
_NAME = (
    r"(?:api[_-]?key|access[_-]?key|account[_-]?key|secret(?![a-z])|passw(?:or)?d|passphrase|[_-]token(?![a-z_])"
    r"|auth[_-]?token)[\w-]{0,20}+"
)
"""How a name ends that says that its value is secret."""
_NO_TEMPLATE = r"(?![$<{%\[(=])"
"""A value that begins so is a variable, a placeholder, an expression, or was replaced before."""
_BARE = r"[^\s\"'`\\$()\[\]{}<>,;&|]"
"""A character of a value without quotes."""
_QUOTED = re.compile(
    rf"({_NAME}\\?[\"']?\]?[ \t]{{0,2}}(?:=>|[:=]{{1,2}})[ \t]{{0,2}}[bfru]{{0,2}}\\?[\"'])"
    rf"{_NO_TEMPLATE}[^\s\"'\\]{{4,}}",
    re.IGNORECASE,
)
_ASSIGNED = re.compile(rf"({_NAME}=){_NO_TEMPLATE}(?!(?:none|null|true|false)\b){_BARE}{{4,}}+(?![(\[])", re.IGNORECASE)
_SPACED = re.compile(
    rf"({_NAME}\\?[\"']?[ \t]{{0,2}}[:=][ \t]{{1,2}}){_NO_TEMPLATE}(?={_BARE}{{0,80}}\d){_BARE}{{6,}}+(?![(\[])",
    re.IGNORECASE,
)
_HEADER = re.compile(
    r"(authorization\\?[\"']?[ \t]{0,2}[:=][ \t]{0,2}\\?[\"']?(?:(?:basic|bearer|token|digest|apikey)[ \t]+)?+)"
    rf"{_NO_TEMPLATE}[^\s\"'\\,;]{{4,}}",
    re.IGNORECASE,
)
_BEARER = re.compile(rf"(\bbearer[ \t]{{1,4}}){_NO_TEMPLATE}[A-Za-z0-9._~+/=-]{{12,}}", re.IGNORECASE)
_ADDRESS = re.compile(r"(://[^\s/:@\"'<>]*+:)(?![$<{\[])[^\s/?#\"'<>]{1,256}(?=@)")
_GIVEN = re.compile(
    r"(--(?:password|passwd|passphrase|token|auth-token|api-?key|secret(?:-key)?)[ \t]+[\"']?)"
    rf"{_NO_TEMPLATE}(?!-){_BARE}{{4,}}+"
    rf"|(\blogin[ \t]+\S{{1,200}}[ \t]+password[ \t]+){_BARE}{{4,}}+",
    re.IGNORECASE,
)
_COOKIE = re.compile(r"(\b(?:set-)?cookie\\?[\"']?:[ \t]{0,2}\\?[\"']?)(?![$<{%\[])[^\s\"'\\;]{8,}", re.IGNORECASE)
_LOGIN = re.compile(
    r"((?:\b(?:curl|wget)\b[^\n|;&]{0,300}?[ \t](?:-u|--user)[ \t=]?[\"']?[^\s:\"'$]{1,80}:"
    r"|\bsshpass[ \t]+-p[ \t]*[\"']?"
    rf"|\bmysql\w*+\b[^\n|;&]{{0,300}}?[ \t]-p)){_NO_TEMPLATE}{_BARE}{{3,}}+"
)
_JSON_TOKEN = re.compile(
    r"(\\?[\"']token\\?[\"'][ \t]{0,2}:[ \t]{0,2}\\?[\"'])(?=[\w.+/=-]{0,200}\d)[\w.+/=-]{10,}", re.IGNORECASE
)
_EDGE = re.compile(r"-----(BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_BODY = re.compile(r"(?<![A-Za-z0-9+/=\[])(?!\d+(?![A-Za-z0-9+/=]))[A-Za-z0-9+/=]+")
_LONG_RUN = re.compile(r"(?<![A-Za-z0-9+/=\[])[A-Za-z0-9+/=]{40,}")


def _private_keys(text: str) -> str:
    """What stands between the edges of a private key; where one edge is not shown, what looks like a key's line."""
    pieces: list[str] = []
    at, within = 0, False
    for edge in _EDGE.finditer(text):
        ends = edge[1] == "END"
        between = text[at : edge.start()]
        if within and ends:
            between = _BODY.sub(REDACTED, between)
        elif within or ends:
            between = _LONG_RUN.sub(REDACTED, between)
        pieces += (between, edge[0])
        at, within = edge.end(), not ends
    rest = text[at:]
    return "".join((*pieces, _LONG_RUN.sub(REDACTED, rest) if within else rest))


def _tokens(text: str) -> str:
    return _TOKEN.sub(REDACTED, text)


def _values(*patterns: re.Pattern[str]) -> Callable[[str], str]:
    """Replaces what stands behind the group of each pattern that matched."""

    def kept(found: re.Match[str]) -> str:
        return f"{found[found.lastindex or 1]}{REDACTED}"

    def replaced(text: str) -> str:
        for pattern in patterns:
            text = pattern.sub(kept, text)
        return text

    return replaced


_TOKEN_MARKERS = tuple(
    "sk- k_live_ k_test_ hf_ npm_ ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- pypi-age akia asia aiza xox eyj"
    " gsk_ xai- dop_v1_ glsa_ r8_ hvs. xapp- atatt age-secret ya29. sg. hooks.slack.com".split()
)
_NAME_MARKERS = tuple(
    "apikey api_key api-key accesskey access_key access-key accountkey account_key account-key secret passw passphrase"
    " _token -token authtoken".split()
)
_RULES: tuple[tuple[tuple[str, ...], Callable[[str], str]], ...] = (
    (("private key",), _private_keys),
    (_TOKEN_MARKERS, _tokens),
    (("authorization",), _values(_HEADER)),
    (("bearer",), _values(_BEARER)),
    (_NAME_MARKERS, _values(_QUOTED, _ASSIGNED, _SPACED)),
    (("://",), _values(_ADDRESS)),
    (("--pass", "--token", "--auth-token", "--api", "--secret", "login "), _values(_GIVEN)),
    (("cookie",), _values(_COOKIE)),
    (("curl", "wget", "sshpass", "mysql"), _values(_LOGIN)),
    (('token"', "token'", 'token\\"'), _values(_JSON_TOKEN)),
)
"""What must stand in a text, in lower case, for a rule to be tried at all; and the rule."""


def suspicious(text: str) -> bool:
    """Whether any rule would be tried: where not, ``redact`` gives the text back as it is."""
    lower = text.lower()
    return any(marker in lower for markers, _ in _RULES for marker in markers)


def redact(text: str) -> str:
    """``text`` with every known kind of secret replaced; it has as many lines as before."""
    lower = text.lower()
    for markers, rule in _RULES:
        if any(marker in lower for marker in markers):
            text = rule(text)
    return text
