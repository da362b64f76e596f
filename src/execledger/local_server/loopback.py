"""Loopback sockets, and the refusal of requests that other sites send to them; imports no server.

Any page in a browser can send requests to a port of this machine. Its origin is in the headers, and a host name that
was made to resolve to this machine (DNS rebinding) is in the ``Host`` header.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping

from execledger.errors import LedgerError

HOST = "127.0.0.1"
"""The only address that servers bind: what they relay and show is private."""
BACKLOG = 1024
"""Connections that may wait to be accepted: many agents can start at once."""
LOOPBACK_NAMES = frozenset({"127.0.0.1", "localhost", "[::1]", "::1"})
"""Host names that a client may use for this machine; any other comes from a foreign page."""


def loopback_socket(port: int) -> socket.socket:
    """A listening socket on loopback; port 0 takes a free port."""
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOST, port))
        listening.listen(BACKLOG)
    except (OSError, OverflowError) as error:
        listening.close()
        raise LedgerError(f"port {port} can't be listened on: {getattr(error, 'strerror', None) or error}") from error
    return listening


def foreign_origin(host: str, headers: Mapping[str, str], *, linked: bool = False) -> str:
    """The reason to refuse a request that another site sent to ``host``; "" for a request of our own or of a program.

    A ``linked`` resource may be opened from any page, since that page does not see the answer.
    """
    for name in (host, headers.get("Host", host)):
        if name.lower() not in LOOPBACK_NAMES and name.lower().rpartition(":")[0] not in LOOPBACK_NAMES:
            return "found a foreign host, expected a name of this machine"
    if headers.get("Origin", f"http://{host}") != f"http://{host}":
        return "found the page of another site, expected our own or a program"
    if not linked and headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin"):
        return "found the page of another site, expected our own or a program"
    return ""
