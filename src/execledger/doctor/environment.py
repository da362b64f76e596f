"""Settings in the environment that turn Ledger off, or lead an agent past it."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from execledger.doctor.findings import Finding
from execledger.local_server.loopback import HOST
from execledger.off import explained, is_off, unknown_word
from execledger.redact import redact

ADDRESSES = ("OPENAI_BASE_URL", "OPENAI_API_BASE", "ANTHROPIC_BASE_URL")
"""Variables that name a model's server."""
LOCAL = frozenset({HOST, "localhost", "::1"})
CONNECT_SECONDS = 3.0


def switches() -> Iterator[Finding]:
    """Our own variables."""
    if word := unknown_word():
        yield Finding("EXECLEDGER", "fix", explained(word), "unset EXECLEDGER, or set it to one of these")
    elif is_off():
        found = f"EXECLEDGER={os.environ['EXECLEDGER']}: every entry point passes through"
        yield Finding("EXECLEDGER", "note", found, "unset EXECLEDGER, to have Ledger back")
    if chosen := os.environ.get("EXECLEDGER_JOURNAL"):
        yield Finding("EXECLEDGER_JOURNAL", "note", f"journals go to {chosen}")


def web_proxies() -> Iterator[Finding]:
    """A web proxy that would be asked for addresses on this very machine."""
    proxy = getproxies().get("http")
    if not proxy:
        yield Finding("web proxy", "ok", "none for loopback")
    elif passes_by():
        yield Finding("web proxy", "ok", f"{redact(proxy)}, and not for loopback")
    else:
        found = f"{redact(proxy)} is asked for {HOST} too: agents would not reach `execledger proxy`"
        yield Finding("web proxy", "fix", found, "export NO_PROXY=127.0.0.1,localhost no_proxy=127.0.0.1,localhost")


def passes_by() -> bool:
    """What is meant for this machine goes past every web proxy."""
    return not getproxies().get("http") or bool(proxy_bypass(HOST))


def addresses() -> Iterator[Finding]:
    """Addresses of models: one on this machine that does not answer is a proxy that has ended."""
    for name in ADDRESSES:
        address = os.environ.get(name, "")
        if not address:
            continue
        try:
            place = urlsplit(address)
            host, port = place.hostname or "", place.port or (443 if place.scheme == "https" else 80)
        except ValueError:
            host, port = "", 0
        if not host:
            yield Finding(name, "fix", f"{redact(address)} is no address of a server", f"unset {name}, or mend it")
        elif host in LOCAL and not _answers(host, port):
            yield Finding(name, "fix", f"nobody listens at {host}:{port}", f"unset {name}, or start that server")
        elif name == "OPENAI_BASE_URL":
            found = f"{host}:{port}; Codex has not read it since 0.119"
            fix = "for Codex, name it as openai_base_url in config.toml, or as --upstream"
            yield Finding(name, "note", found, fix)
        else:
            yield Finding(name, "note", f"{host}:{port}")


def _answers(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), timeout=CONNECT_SECONDS):
            return True
    except OSError:
        return False
