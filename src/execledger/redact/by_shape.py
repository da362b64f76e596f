"""Secrets that are known by how they look: tokens with the prefix of their maker, and private keys.

Each pattern begins with a literal, so that a search jumps from one to the next, and each run of characters is bounded
or possessive: the work grows with the text and no faster.
"""

from __future__ import annotations

import re
from typing import NamedTuple

REDACTED = "[redacted]"
"""What stands where a secret stood."""

_HEX, _WORD = r"[0-9a-fA-F]{24,}", r"[A-Za-z0-9_-]{20,}"
_ESCAPES = (r"\\[nrt]", r"%[0-9A-Fa-f]{2}", r"\[[mK]", r"[;\[][0-9]m", r"[;\[][0-9]{2}m")
"""Escapes that end in a letter or digit: of a string, of an address, of a terminal. Behind one a token may begin."""


class Shape(NamedTuple):
    """One kind of token."""

    marker: str
    """What must stand in a text, in lower case, for the pattern to be tried."""
    pattern: re.Pattern[str]
    """Finds the whole token."""


def _own(prefix: str, tail: str, inside: str = "A-Za-z0-9") -> Shape:
    """A token that begins with ``prefix``, and not within a word."""
    literal = re.escape(prefix)
    behind = "".join(f"|(?<={escape}{literal})" for escape in _ESCAPES)
    return Shape(prefix.lower(), re.compile(rf"{literal}(?:(?<![{inside}]{literal}){behind})(?:{tail})"))


def _anywhere(prefix: str, tail: str) -> Shape:
    """A token whose prefix is so odd that it may stand anywhere."""
    return Shape(prefix.lower(), re.compile(re.escape(prefix) + tail))


SHAPES: tuple[Shape, ...] = (
    # Models: OpenAI, Anthropic, OpenRouter; Hugging Face, Groq, xAI, Replicate, Perplexity, Nvidia, Tavily, LangSmith.
    _own("sk-", r"(?:ant|proj|or|svcacct|admin)-[\w-]{8,}|(?=[A-Za-z_-]{0,60}\d)[\w-]{16,}"),
    _own("hf_", r"[A-Za-z0-9]{16,}"),
    *(_own(prefix, _WORD) for prefix in ("gsk_", "xai-", "r8_", "pplx-", "nvapi-", "tvly-", "lsv2_")),
    # Code and packages: GitHub, GitLab, npm, PyPI, RubyGems, Docker.
    *(_anywhere(f"gh{kind}_", r"[A-Za-z0-9]{16,}") for kind in "pousr"),
    _anywhere("github_pat_", r"\w{16,}"),
    _anywhere("glpat-", r"[\w-]{12,}(?:\.[\w-]{2,}+){0,3}"),
    *(_own(f"gl{kind}-", r"[\w-]{16,}") for kind in "dt rt ptt cbt soat ft agent imt".split()),
    _own("npm_", r"[A-Za-z0-9]{16,}"),
    _anywhere("pypi-AgE", r"[\w-]{16,}"),
    _own("rubygems_", _HEX),
    _own("dckr_pat_", _WORD),
    # Clouds: AWS with a secret right beside the key, Google, Azure, DigitalOcean, Vault, Databricks, Pulumi, Supabase.
    *(
        _anywhere(prefix, r"[A-Z0-9]{12,}+(?:[,:; \t\"'|]{1,5}[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+]))?")
        for prefix in ("AKIA", "ASIA")
    ),
    _anywhere("AIza", r"[\w-]{20,}"),
    _own("GOCSPX-", r"[\w-]{16,}"),
    _own("ya29.", r"[\w-]{20,}"),
    Shape("q~", re.compile(r"[\w.~-]{3}\dQ~[\w.~-]{31,40}")),
    *(_own(f"do{kind}_v1_", _WORD) for kind in "por"),
    *(_own(prefix, _WORD) for prefix in ("hvs.", "hvb.", "AGE-SECRET-KEY-")),
    *(_own(prefix, _HEX) for prefix in ("dapi", "pul-", "sbp_")),
    # Services: Stripe, Slack, Discord, SendGrid, Mailgun, Telegram, Shopify, Atlassian, Grafana, Sentry and others.
    *(_own(f"{kind}k_{mode}_", r"\w{8,}") for kind in "sr" for mode in ("live", "test")),
    _own("whsec_", r"[A-Za-z0-9+/=]{16,}"),
    _anywhere("xox", r"[abeoprs](?:\.xox[bp])?-[A-Za-z0-9-]{8,}"),
    _own("xapp-", _WORD),
    Shape("hooks.slack.com", re.compile(r"(?<=hooks\.slack\.com/services/)[\w/]{16,}")),
    Shape("/api/webhooks/", re.compile(r"(?<=/api/webhooks/)\d{5,25}/[\w-]{20,}")),
    _own("SG.", r"[\w-]{16,}+\.[\w-]{16,}"),
    _own("key-", r"[0-9a-f]{32}(?![0-9a-zA-Z])"),
    Shape(":aa", re.compile(r"(?<!\d)\d{8,10}:AA[\w-]{32,34}(?![\w-])")),
    *(_own(f"shp{kind}_", _HEX) for kind in ("at", "ss", "ca", "pa")),
    *(_own(prefix, _WORD) for prefix in ("ATATT", "ATCTT", "glsa_", "glc_", "sntrys_", "sntryu_", "PMAK-")),
    *(_own(prefix, _WORD) for prefix in ("dp.pt.", "lin_api_", "ntn_", "figd_", "NRAK-", "ops_eyJ")),
    # JSON web tokens, signed or encrypted; a start within their own letters would make the search quadratic.
    _own("eyJ", r"[\w-]{6,}+\.(?:[\w-]{4,}+|\.[\w-]{4,}+)(?:\.[\w-]*+){0,3}", inside=r"\w-"),
)
"""Every kind of token, by maker."""

_EDGE = re.compile(r"-----(BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_BODY = re.compile(r"(?<![A-Za-z0-9+/=\[])(?!\d+(?![A-Za-z0-9+/=]))[A-Za-z0-9+/=]+")
_LONG_RUN = re.compile(r"(?<![A-Za-z0-9+/=\[])[A-Za-z0-9+/=]{40,}")
_KEY_LINE = re.compile(rf"[ \t\d:|]{{0,12}}(?:[A-Za-z0-9+/=]{{8,}}|{re.escape(REDACTED)})?[ \t\r]*")
_KEY_HEADER = re.compile(r"[ \t\d:|]{0,12}[A-Za-z-]{1,20}: .*")
KEY_MARKER = "private key"
"""What must stand in a text, in lower case, for a private key to be looked for."""


def without_tokens(text: str, lower: str) -> str:
    """``text``, which is ``lower`` in lower case, with every token replaced."""
    for marker, pattern in SHAPES:
        if marker in lower:
            text = pattern.sub(REDACTED, text)
    return text


def without_private_keys(text: str) -> str:
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
    return "".join((*pieces, _cut_off(_LONG_RUN.sub(REDACTED, rest)) if within else rest))


def _cut_off(rest: str) -> str:
    """What follows the first edge of a key that has no other: its lines up to the first that is none, however short."""
    lines = rest.split("\n")
    for at, line in enumerate(lines[1:], 1):
        if _KEY_LINE.fullmatch(line):
            lines[at] = _BODY.sub(REDACTED, line)
        elif not _KEY_HEADER.fullmatch(line):
            break
    return "\n".join(lines)
