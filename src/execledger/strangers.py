"""Who is turned away by a server on loopback: pages of other sites, and names of other machines.

Any page that a browser shows can send requests to a port of this machine. It can't hide where it comes from, and a name
that it has pointed at this machine (DNS rebinding) stands in the request as it was called.
"""

from __future__ import annotations

from collections.abc import Mapping

LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]", "::1"})
"""The names of this machine that a client may call us by; any other was led here by a foreign page."""


def stranger(host: str, headers: Mapping[str, str], *, linked: bool = False) -> str:
    """Why a request is not answered, which calls us by the name ``host``; "" if it is.

    What is ``linked`` may be opened from any page, and tells that page nothing.
    """
    for name in (host, headers.get("Host", host)):
        if name.lower() not in LOOPBACK and name.lower().rpartition(":")[0] not in LOOPBACK:
            return "found a foreign host, expected a name of this machine"
    if headers.get("Origin", f"http://{host}") != f"http://{host}":
        return "found the page of another site, expected our own or a program"
    if not linked and headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin"):
        return "found the page of another site, expected our own or a program"
    return ""
