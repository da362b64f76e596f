"""A place to listen, on loopback and nowhere else; light, so that whoever only takes the port loads no server."""

from __future__ import annotations

import socket

from execledger.errors import LedgerError

HOST = "127.0.0.1"
"""Where it is: what passes and what is shown is private, so nowhere else."""
BACKLOG = 1024
"""Connections that may wait to be taken: many agents can start at once."""


def listening(port: int) -> socket.socket:
    """A socket on loopback, and nowhere else."""
    taken = socket.socket()
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        taken.bind((HOST, port))
        taken.listen(BACKLOG)
    except (OSError, OverflowError) as error:
        taken.close()
        raise LedgerError(f"port {port} can't be listened on: {getattr(error, 'strerror', None) or error}") from error
    return taken
