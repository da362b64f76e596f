"""Secrets that are known by how they look: tokens with the prefix of their maker, private keys, hashes of passwords.

Each pattern is matched where its marker was found, and every run of characters in it is bounded or possessive.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from execledger.redact.values import REDACTED, Span

_HEX, _WORD = r"[0-9a-fA-F]{24,}", r"[A-Za-z0-9_-]{20,}"
_ESCAPES = (r"\\[nrt]", r"%[0-9A-Fa-f]{2}", r"\[[mK]", r"[;\[][0-9]m", r"[;\[][0-9]{2}m")
"""Escapes that end in a letter or digit: of a string, of an address, of a terminal. Behind one a token may begin."""


class Shape(NamedTuple):
    """One kind of token."""

    marker: str
    """The pattern is tried where this is found, in lower case."""
    pattern: re.Pattern[str]
    """Matches the whole token, or has a group ``value`` around it."""
    back: int = 0
    """How far before the marker a token may begin."""

    def find(self, text: str, at: int) -> Iterable[Span]:
        """The token whose marker is at ``at``."""
        for start in range(max(0, at - self.back), at + 1):
            found = self.pattern.match(text, start)
            if found is not None and found.end() > at:
                return (Span(*found.span("value" if "value" in self.pattern.groupindex else 0)),)
        return ()


def _own(prefix: str, tail: str, inside: str = "A-Za-z0-9") -> Shape:
    """A token that begins with ``prefix``, and not within a word."""
    literal = re.escape(prefix)
    behind = "".join(f"|(?<={escape}{literal})" for escape in _ESCAPES)
    return Shape(prefix.lower(), re.compile(rf"{literal}(?:(?<![{inside}]{literal}){behind})(?:{tail})"))


def _anywhere(prefix: str, tail: str) -> Shape:
    """A token whose prefix is so rare that no name is needed before it."""
    return Shape(prefix.lower(), re.compile(re.escape(prefix) + tail))


SHAPES: tuple[Shape, ...] = (
    # Models: OpenAI, Anthropic, OpenRouter; Hugging Face, Groq, xAI, Replicate, Perplexity, Nvidia, Tavily, LangSmith.
    _own("sk-", r"(?:ant|proj|or|svcacct|admin)-[\w-]{8,}|(?=[A-Za-z_-]{0,60}\d)[\w-]{16,}"),
    _own("hf_", r"[A-Za-z0-9]{16,}"),
    *(
        _own(prefix, _WORD)
        for prefix in ("gsk_", "xai-", "r8_", "pplx-", "nvapi-", "tvly-", "lsv2_", "llx-", "tgp_v1_")
    ),
    _own("bedrock-api-key-", r"[A-Za-z0-9+/=_-]{20,}"),
    _own("ABSK", r"(?=[A-Za-z+/]{0,40}\d)[A-Za-z0-9+/=]{60,}"),
    # Code and packages: GitHub, GitLab, npm, PyPI, RubyGems, Docker.
    *(_anywhere(f"gh{kind}_", r"[A-Za-z0-9]{16,}") for kind in "pousr"),
    _anywhere("github_pat_", r"\w{16,}"),
    _anywhere("glpat-", r"[\w-]{12,}+(?:\.[\w-]{2,}+){0,3}"),
    *(_own(f"gl{kind}-", r"[\w-]{16,}") for kind in "dt rt rtr ptt cbt soat oas ft ffct wt agent imt".split()),
    _own("npm_", r"[A-Za-z0-9]{16,}"),
    _anywhere("pypi-AgE", r"[\w-]{16,}"),
    _own("rubygems_", _HEX),
    *(
        _own(prefix, _WORD)
        for prefix in ("dckr_pat_", "dckr_oat_", "BBDC-", "ATBB", "CLOJARS_", "squ_", "sqp_", "sqa_")
    ),
    # Clouds: AWS with a secret right beside the key, Google, Azure, DigitalOcean, Vault, Databricks, Pulumi, Supabase.
    *(
        _anywhere(prefix, r"[A-Z0-9]{12,}+(?:[,:; \t\"'|]{1,5}[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+]))?")
        for prefix in ("AKIA", "ASIA", "ABIA", "ACCA")
    ),
    _anywhere("AIza", r"[\w-]{20,}"),
    _own("GOCSPX-", r"[\w-]{16,}"),
    _own("ya29.", r"[\w-]{20,}"),
    Shape("q~", re.compile(r"[\w.~-]{3}\dQ~[\w.~-]{31,40}"), 4),
    *(_own(f"do{kind}_v1_", _WORD) for kind in "por"),
    *(_own(prefix, _WORD) for prefix in ("hvs.", "hvb.", "AGE-SECRET-KEY-")),
    *(_own(prefix, _HEX) for prefix in ("dapi", "pul-", "sbp_", "sbp_v0_")),
    *(_own(prefix, _WORD) for prefix in ("cfat_", "cfut_", "cfk_", "HRKU-", "nfp_", "vcp_", "dnkey-", "pscale_oauth_")),
    Shape(".atlasv1.", re.compile(r"[A-Za-z0-9]{14}\.atlasv1\.[\w-]{20,200}+"), 14),
    # Services: Stripe, Slack, Discord, SendGrid, Mailgun, Telegram, Shopify, Atlassian, Grafana, Sentry and others.
    *(_own(f"{kind}k_{mode}_", r"\w{8,}") for kind in "sr" for mode in ("live", "test")),
    _own("whsec_", r"[A-Za-z0-9+/=]{16,}"),
    _anywhere("xox", r"[abcdeoprs](?:\.xox[bp])?-[A-Za-z0-9-]{8,}"),
    _own("xapp-", _WORD),
    Shape("hooks.slack.com", re.compile(r"hooks\.slack\.com/services/(?P<value>[\w/]{16,200}+)")),
    Shape("/api/webhooks/", re.compile(r"/api/webhooks/(?P<value>\d{5,25}/[\w-]{20,200}+)")),
    _own("SG.", r"[\w-]{16,}+\.[\w-]{16,}"),
    _own("key-", r"[0-9a-f]{32}(?![0-9a-zA-Z])"),
    Shape(":aa", re.compile(r"(?<!\d)\d{8,10}:AA[\w-]{32,34}(?![\w-])"), 10),
    *(_own(f"shp{kind}_", _HEX) for kind in ("at", "ss", "ca", "pa")),
    *(_own(prefix, _WORD) for prefix in ("ATATT", "ATCTT", "glsa_", "glc_", "sntrys_", "sntryu_", "PMAK-")),
    *(_own(prefix, _WORD) for prefix in ("dp.pt.", "lin_api_", "ntn_", "figd_", "NRAK-", "NRII-", "ops_eyJ")),
    *(
        _own(prefix, _WORD)
        for prefix in ("sq0csp-", "sq0atp-", "tfp_", "pscale_tkn_", "pscale_pw_", "fio-u-", "CFPAT-")
    ),
    *(
        _own(prefix, _WORD)
        for prefix in (
            "flb_live_",
            "xkeysib-",
            "phc_",
            "phx_",
            "phs_",
            "phr_",
            "pha_",
            "PMAT-",
            "tskey-",
            "CCIPAT_",
            "pcsk_",
            "jina_",
        )
    ),
    *(_own(prefix, _HEX) for prefix in ("rdme_", "sgp_", "shippo_live_", "bkua_", "ls__")),
    _own("wandb_v1_", _WORD),
    _own("secret_", r"(?=[A-Za-z]{0,43}\d)[A-Za-z0-9]{43}(?![A-Za-z0-9_])"),
    _own("fw_", r"(?=[A-Za-z]{0,22}\d)[A-Za-z0-9]{22,30}(?![A-Za-z0-9_])"),
    _own("dt0c01.", r"[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    _own("EAAA", r"(?=[A-Za-z_-]{0,60}\d)[\w-]{56,70}(?![\w-])"),
    _own("LTAI", r"(?=[A-Za-z]{0,20}\d)[A-Za-z0-9]{16,24}(?![A-Za-z0-9])"),
    _own("AKID", r"(?=[A-Za-z]{0,32}\d)[A-Za-z0-9]{28,36}(?![A-Za-z0-9])"),
    Shape("//0", re.compile(r"(?<![\w/])1//0[\w-]{40,200}+"), 1),
    Shape("/0a", re.compile(r"(?<![\w/])4/0A[\w-]{40,200}+"), 1),
    # Hashes of passwords, as in /etc/shadow and in the files of web servers.
    *(
        Shape(f"${kind}$", re.compile(rf"\${kind}\$(?:[\w./,=-]{{1,60}}+\$){{1,3}}[\w./+]{{20,120}}+"))
        for kind in ("1", "5", "6", "7", "y", "gy", "apr1", "md5", "sha1")
    ),
    *(Shape(f"$2{kind}$", re.compile(rf"\$2{kind}\$\d\d\$[\w./+]{{50,60}}+")) for kind in "abxy"),
    Shape("pbkdf2", re.compile(r"pbkdf2[\w:]{0,20}\$\d{3,8}\$[\w+/=.]{4,100}\$[\w+/=.]{20,200}+")),
    Shape("pbkdf2", re.compile(r"pbkdf2:sha\d{1,3}:\d{3,8}\$\w{4,40}\$[0-9a-f]{40,128}+")),
    Shape("scrypt:", re.compile(r"scrypt:\d{3,8}:\d{1,3}:\d{1,3}\$\w{4,40}\$[0-9a-f]{40,160}+")),
    Shape("scram-sha-", re.compile(r"SCRAM-SHA-\d{1,3}\$\d{3,8}:[\w+/=]{8,60}+\$[\w+/=:]{40,200}+")),
    Shape("$argon2", re.compile(r"\$argon2(?:id?|d)\$[\w.,=$+/-]{20,300}+")),
    *(
        Shape(f"{{{kind}}}", re.compile(rf"\{{{kind}\}}[A-Za-z0-9+/=]{{20,200}}+", re.IGNORECASE))
        for kind in ("sha", "ssha")
    ),
    # A private key in base64.
    _anywhere("LS0tLS1CRUdJTi", r"(?:BQUklW|BSU0Eg|BFQyBQ|BPUEVO|BEU0Eg|BFTkNS)[A-Za-z0-9+/=]{20,}"),
    # JSON web tokens, signed or encrypted; a start within their own letters would make the search quadratic.
    _own("eyJ", r"[\w-]{6,}+\.(?:[\w-]{4,}+|\.[\w-]{4,}+)(?:\.[\w-]*+){0,3}", inside=r"\w-"),
)
"""Every kind of token, by maker."""

_EDGE = re.compile(r"-----(BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_BODY = re.compile(r"(?<![A-Za-z0-9+/=\[])(?!\d++(?![A-Za-z0-9+/=]))[A-Za-z0-9+/=]+")
_LONG_RUN = re.compile(r"(?<![A-Za-z0-9+/=\[])[A-Za-z0-9+/=]{40,}")
_KEY_LINE = re.compile(rf"[ \t\d:|]{{0,12}}(?:[A-Za-z0-9+/=]{{8,}}+|{re.escape(REDACTED)})?[ \t\r]*")
_KEY_HEADER = re.compile(r"[ \t\d:|]{0,12}[A-Za-z-]{1,20}: .*")
_KEY_RUN = 12
"""A key has a run of at least so many characters; what has shorter words speaks of one."""
_KEY_LENGTH = 32_768
"""No private key has more characters."""
KEY_MARKER = "private key"
"""Part of both edges of a private key, in lower case."""


def private_key(text: str, at: int) -> Iterator[Span]:
    """The body of the private key that has an edge at ``at``; without the other edge, what looks like its lines."""
    edge = _EDGE.match(text, max(0, text.rfind("-----", max(0, at - 60), at)))
    if edge is None:
        return
    if edge[1] == "BEGIN":
        other = _EDGE.search(text, edge.end(), edge.end() + _KEY_LENGTH)
        if other is not None:
            spans = list(_spans(_BODY if other[1] == "END" else _LONG_RUN, text, edge.end(), other.start()))
            yield from spans if any(span.end - span.start >= _KEY_RUN for span in spans) else ()
        else:
            yield from _cut_off(text, edge.end())
        return
    start = max(0, edge.start() - _KEY_LENGTH)
    before = text.rfind("PRIVATE KEY", start, edge.start())
    if before < 0:
        yield from _spans(_LONG_RUN, text, start, edge.start())
    elif text.rfind("-----END ", max(0, before - 60), before) >= 0:
        yield from _spans(_LONG_RUN, text, before, edge.start())


def _spans(pattern: re.Pattern[str], text: str, start: int, end: int) -> Iterator[Span]:
    return (Span(*found.span()) for found in pattern.finditer(text, start, end))


def _cut_off(text: str, start: int) -> Iterator[Span]:
    """The lines behind the first edge of a key that has no other: up to the first that is none, however short."""
    end = min(len(text), start + _KEY_LENGTH)
    yield from _spans(_LONG_RUN, text, start, end)
    at = text.find("\n", start, end) + 1
    while 0 < at < end:
        stop = text.find("\n", at, end)
        stop = end if stop < 0 else stop
        line = text[at:stop]
        if _KEY_LINE.fullmatch(line):
            yield from _spans(_BODY, text, at, stop)
        elif not _KEY_HEADER.fullmatch(line):
            break
        at = stop + 1
