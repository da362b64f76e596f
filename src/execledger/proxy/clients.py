"""Which agent sent a request: one proxy can serve several agents, each of which has an adapter of its own.

An agent is recognised by the path that its route begins with, by headers that only it sends, or by the tools that its
requests offer. A request that fits no agent, or several of them, is forwarded unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Struct

from execledger.session.adapter import Adapter, Signs

LAUNCHED = re.compile(r"\A/run/([0-9A-Za-z-]{1,64})(?=/)")
"""The path prefix that a launcher gives to a client which names no session in its requests, and the session in it."""


class Client(Struct, frozen=True, kw_only=True):
    """One agent that may use the proxy."""

    name: str
    """The agent's key; a route of this name is the agent's own."""
    adapter: Adapter
    """The adapter of its requests."""
    signs: Signs = Signs()
    """What identifies its requests."""

    def sends(self, headers: Mapping[str, str]) -> bool:
        """Whether one of these headers is its own."""
        patterns = self.signs.headers
        return any(name in headers and re.match(pattern, headers[name]) for name, pattern in patterns.items())

    def offers(self, tools: frozenset[str]) -> bool:
        """Whether these tools include all of those that identify it."""
        return bool(self.signs.tools) and self.signs.tools <= tools


class Clients:
    """Chooses the adapter of each request."""

    def __init__(self, known: Sequence[Client]) -> None:
        """A choice among these agents."""
        self._known = known

    def adapter(self, path: str, headers: Mapping[str, str], tools: Callable[[], frozenset[str]]) -> Adapter | None:
        """The adapter of a request; None if it can't be told which agent sent it.

        The names of the tools that it offers are computed only if neither path nor headers identify an agent.
        """
        found = [*self.by_headers(path, headers)]
        if not found:
            offered = tools()
            found = [one.adapter for one in self._known if one.offers(offered)]
        return found[0] if len(found) == 1 else None

    def by_headers(self, path: str, headers: Mapping[str, str]) -> Iterator[Adapter]:
        """The adapters of the agents that may have sent a request, by its path and headers alone."""
        first = LAUNCHED.sub("", path, count=1).split("/", 2)[1:2]
        own = [one for one in self._known if first == [one.name]]
        yield from (one.adapter for one in own or [one for one in self._known if one.sends(headers)])


class OnlyClient(Clients):
    """One agent sends every request."""

    def __init__(self, adapter: Adapter) -> None:
        """The agent with this adapter."""
        super().__init__(())
        self._adapter = adapter

    def by_headers(self, path: str, headers: Mapping[str, str]) -> Iterator[Adapter]:
        """Its adapter."""
        yield self._adapter
