"""Secrets that are known by what stands before them: a header, an option, an address, a command.

Every run of characters is bounded or possessive: the work grows with the text and no faster.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from execledger.redact.by_assignment import BARE, NO_TEMPLATE
from execledger.redact.by_shape import REDACTED


class Rule(NamedTuple):
    """One way in which a secret is named."""

    markers: tuple[str, ...]
    """One of these must stand in a text, in lower case, for the patterns to be tried."""
    patterns: tuple[re.Pattern[str], ...]
    """Each has one group around what is kept; what it matches behind that is the secret."""


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _rule(markers: tuple[str, ...], *patterns: str) -> Rule:
    return Rule(markers, tuple(re.compile(pattern, re.IGNORECASE) for pattern in patterns))


RULES: tuple[Rule, ...] = (
    _rule(
        ("authorization",),
        r"(authorization\\{0,7}[\"']?[ \t]{0,2}[:=][ \t]{0,2}\\{0,7}[\"']?"
        r"(?:(?:basic|bearer|token|digest|api-?key|negotiate|ntlm|oauth|hawk|jwt|bot|ssws|key)[ \t]{1,4})?+)"
        rf"{NO_TEMPLATE}[^\s\"'\\,;]{{4,}}",
    ),
    _rule(
        _words("x-api-key x-auth- x-goog-api x-vault- x-amz-security x-access- private-token subscription-key x-csrf"),
        r"((?:x-[\w-]{0,24}(?:api-key|token|secret|auth)|private-token|subscription-key)"
        rf"\\{{0,7}}[\"']?[ \t]{{0,2}}:[ \t]{{0,2}}\\{{0,7}}[\"']?){NO_TEMPLATE}[^\s\"'\\,;]{{4,}}",
    ),
    _rule(("bearer",), rf"(\bbearer[ \t]{{1,4}}){NO_TEMPLATE}(?!auth|token)[A-Za-z0-9._~+/=-]{{12,}}"),
    _rule(
        ('token"', "token'", "token\\", 'auth"', "auth'", "auth\\", "_auth"),
        r"(\\{0,7}[\"']token\\{0,7}[\"'][ \t]{0,2}:[ \t]{0,2}\\{0,7}[\"'])(?=[\w.+/=-]{0,200}\d)[\w.+/=-]{10,}",
        # The base64 of a name and a password: it has letters of both sizes, or digits.
        r"(\\{0,7}[\"'](?:auth|identitytoken|registrytoken)\\{0,7}[\"'][ \t]{0,2}:[ \t]{0,2}\\{0,7}[\"'])"
        r"(?-i:(?=[a-z]{0,60}[A-Z0-9+/=]))[A-Za-z0-9+/=_-]{8,}",
        rf"(\b_auth[ \t]{{0,2}}=[ \t]{{0,2}}[\"']?){NO_TEMPLATE}{BARE}{{8,}}+",
    ),
    _rule(
        ("://",),
        r"(://[^\s/:@\"'<>]*+:)(?![$<{\[])[^\s/?#\"'<>]{1,256}(?=@)",
        # A token in the place of the user.
        r"(://)(?=[A-Za-z_.~%+-]{0,60}\d)[\w.~%+-]{20,256}(?=@)",
    ),
    _rule(
        _words("-password --pass -passwd -passphrase -token -api-key -apikey -secret -access-key"),
        r"(--[\w-]{0,24}(?:password|passwd|passphrase|token|api-?key|secret(?:-key)?|access-key)[ \t]{1,8}[\"']?)"
        rf"{NO_TEMPLATE}(?!-){BARE}{{4,}}+",
    ),
    _rule(
        ("login",),
        rf"(\blogin[ \t]+\S{{1,200}}+[\s\d:|]{{1,24}}password[ \t]+){NO_TEMPLATE}{BARE}{{4,}}+",
        rf"(\blogin[ \t][^\n|;&]{{0,200}}?(?<=[ \t])-p[ \t]{{1,4}}[\"']?){NO_TEMPLATE}(?!-){BARE}{{4,}}+",
    ),
    _rule(
        ("cookie",),
        r"(\b(?:set-)?cookie2?\\{0,7}[\"']?:[ \t]{0,2}\\{0,7}[\"']?)(?=[\w!#$%&*+.^`|~-]{1,80}=[^\s=])[^\r\n\"'\\]{4,}",
    ),
    _rule(
        _words("curl wget sshpass mysql"),
        r"(\b(?:curl|wget)\b[^\n|;&]{0,300}?[ \t](?:-u|--user)[ \t=]?[\"']?[^\s:\"'$]{1,80}:)"
        rf"{NO_TEMPLATE}{BARE}{{3,}}+",
        r"(\bcurl\b[^\n|;&]{0,300}?[ \t](?:-b|--cookie)[ \t=]{1,2}[\"']?)(?=[\w!#%*+.^~-]{1,80}=[^\s=])[^\s\"'\\]{4,}",
        rf"(\bsshpass[ \t]+-p[ \t]*[\"']?){NO_TEMPLATE}{BARE}{{3,}}+",
        rf"(\bmysql\w*+\b[^\n|;&]{{0,300}}?[ \t]-p)(?-i:(?<=p)){NO_TEMPLATE}{BARE}{{3,}}+",
    ),
    _rule(
        ("configure set", "set -"),
        r"((?:\bconfigure[ \t]{1,4}set|\bset[ \t]{1,4}-\w{1,6})[ \t]{1,4}"
        r"[\w.-]{0,60}?(?:key|secret|password|passwd|token)[\w-]{0,20}+[ \t]{1,4}[\"']?)"
        rf"{NO_TEMPLATE}{BARE}{{4,}}+",
    ),
    _rule(("pwd=",), rf"((?:;[ \t]?|_)pwd=){NO_TEMPLATE}(?![/~.]){BARE}{{3,}}+"),
    _rule(("sig=",), r"([?&]sig=)[A-Za-z0-9%+/=_-]{20,}"),
    _rule(
        ("identified by", "password '"),
        r"(\b(?:identified[ \t]{1,4}by|password)[ \t]{1,4}')(?![$<{%\[])[^'\r\n]{4,}",
    ),
)
"""Every way, in the order in which they are tried."""


def _kept(found: re.Match[str]) -> str:
    """What stands before the secret, and a mark in its place."""
    return f"{found[1]}{REDACTED}"


def without_named(text: str, lower: str) -> str:
    """``text``, which is ``lower`` in lower case, with the value behind every such name replaced."""
    for markers, patterns in RULES:
        if any(marker in lower for marker in markers):
            for pattern in patterns:
                text = pattern.sub(_kept, text)
    return text
