"""Generated secrets of every kind that is redacted: each as part of a text, and the value that must not remain.

They are put together here from pieces and digests, so that no scanner takes this file for a leak and no two are alike.
"""

from __future__ import annotations

import base64
import hashlib
import string
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct

WINDOW = 14
"""So many characters of a secret in a row are as bad as all of it."""
_ALL = string.ascii_letters + string.digits


class Planted(Struct, frozen=True):
    """One secret."""

    kind: str
    """What it is."""
    text: str
    """A text that contains it."""
    secrets: tuple[str, ...]
    """What must not remain: the secret, or the lines of it."""


def _letters(seed: str, count: int, alphabet: str = _ALL) -> str:
    """Letters that look random, and are the same every time."""
    digest = hashlib.shake_256(seed.encode()).digest(count)
    # A digit and letters of both cases come first, as in anything that was drawn from so many.
    start = "a7Q" if alphabet == _ALL else ""
    return (start + "".join(alphabet[byte % len(alphabet)] for byte in digest))[:count]


def _base64(seed: str, count: int) -> str:
    return base64.b64encode(hashlib.shake_256(seed.encode()).digest(count)).decode()


_HEX = string.digits + "abcdef"
TOKENS: dict[str, Callable[[str], str]] = {
    "OpenAI": lambda seed: "sk-" + "proj-" + _letters(seed, 40),
    "OpenAI, old": lambda seed: "sk-" + _letters(seed, 48),
    "Anthropic": lambda seed: "sk-" + "ant-api03-" + _letters(seed, 40),
    "GitHub": lambda seed: "ghp" + "_" + _letters(seed, 36),
    "GitHub app": lambda seed: "ghs" + "_" + _letters(seed, 36),
    "GitHub fine-grained": lambda seed: "github" + "_pat_" + _letters(seed, 60),
    "GitLab": lambda seed: "glpat" + "-" + _letters(seed, 20),
    "Slack": lambda seed: "xoxb" + "-" + _letters(seed, 12, string.digits) + "-" + _letters(seed, 24),
    "AWS": lambda seed: "AKI" + "A" + _letters(seed, 16, string.ascii_uppercase + string.digits),
    "Google": lambda seed: "AIz" + "a" + _letters(seed, 35),
    "Stripe": lambda seed: "sk" + "_live_" + _letters(seed, 24),
    "npm": lambda seed: "npm" + "_" + _letters(seed, 36),
    "PyPI": lambda seed: "pypi" + "-AgEIcHlwaS5vcmc" + _letters(seed, 40),
    "Hugging Face": lambda seed: "hf" + "_" + _letters(seed, 34),
    "SendGrid": lambda seed: "SG" + "." + _letters(seed, 22) + "." + _letters(seed + "2", 43),
    "Azure client": lambda seed: _letters(seed, 3) + "8Q~" + _letters(seed, 34),
    "JSON web token": lambda seed: "ey" + "J" + ".".join(_letters(seed + part, 40) for part in "abc"),
    "Databricks": lambda seed: "dapi" + _letters(seed, 32, _HEX),
}
"""Tokens by shape: each is a secret in any text."""
NAMED = {
    "environment": "SERVICE_API_KEY={}",
    "exported": "export MY_SECRET='{}'",
    "AWS secret": "aws_secret_access_key = {}",
    "JSON": '"client_secret": "{}"',
    "JSON in JSON": '{{\\"api_key\\": \\"{}\\"}}',
    "YAML": "password: {}",
    "TOML": 'password = "{}"',
    "PHP": "'password' => '{}'",
    "XML": "<password>{}</password>",
    "bearer": "Authorization: Bearer {}",
    "basic": "Authorization: Basic {}",
    "header": "X-Api-Key: {}",
    "cookie": "Cookie: theme=dark; session={}",
    "address": "https://me:{}@example.com/a.git",
    "database": "postgresql://me:{}@db.example:5432/main",
    "connection string": "Server=db;User Id=me;Password={};",
    "storage": "AccountName=x;AccountKey={};EndpointSuffix=y",
    "signature": "https://x.example/blob?sv=2024&sig={}&se=1",
    "netrc": "machine example.com login me password {}",
    "docker": '"auth": "{}"',
    "npmrc": "//packages.example/:_authToken={}",
    "option": "tool --password {} --verbose",
    "curl": "curl -u me:{} https://example.com",
    "token": "https://x.example/?token={}",
}
"""Secrets by the text around them."""


def planted(place: str) -> Iterator[Planted]:
    """Every kind of secret, for one place where they are planted."""
    for kind, make in TOKENS.items():
        secret = make(f"{place} {kind}")
        yield Planted(kind, f"see {secret} there", (secret,))
    for kind, frame in NAMED.items():
        secret = _letters(f"{place} {kind}", 32)
        yield Planted(kind, frame.format(secret), (secret,))
    for kind, ends in (("private key", True), ("private key, cut off", False)):
        body = _base64(f"{place} {kind}", 240)
        lines = tuple(body[at : at + 64] for at in range(0, len(body), 64))
        edge = "OPENSSH " + "PRIVATE KEY-----"
        yield Planted(kind, "\n".join([f"-----BEGIN {edge}", *lines, *([f"-----END {edge}"] if ends else [])]), lines)


def remains(secrets: Iterator[Planted], texts: dict[str, bytes]) -> list[str]:
    """Which secrets, or long pieces of them, are in which of the texts."""
    pieces = {
        secret[at : at + WINDOW].encode(): one.kind
        for one in secrets
        for secret in one.secrets
        for at in range(len(secret) - WINDOW + 1)
    }
    found = []
    for name, text in texts.items():
        seen = {pieces[piece] for at in range(len(text) - WINDOW + 1) if (piece := text[at : at + WINDOW]) in pieces}
        found += [f"{name}: {kind}" for kind in sorted(seen)]
    return found


def files_below(*folders: Path) -> dict[str, bytes]:
    """Every file below these folders, its name among what it holds."""
    paths = [path for folder in folders for path in sorted(folder.rglob("*")) if path.is_file()]
    return {str(path): path.name.encode() + b"\n" + path.read_bytes() for path in paths}
