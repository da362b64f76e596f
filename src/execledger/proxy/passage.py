"""What is sent on for a request, and what edits its answer: the one place where every fault of ours ends.

There are three ways for a request, and each is taken where the one before it fails: with everything that the ledger
knows; with the stored edits alone, so that the model is shown what it was shown before; and as it came.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from msgspec import Struct
from msgspec.structs import replace

from execledger.agents.adapter import Adapter
from execledger.agents.session import told
from execledger.core.fingerprint import digest
from execledger.core.inform import OPENING as OPENING_OF_A_VIEW
from execledger.proxy.answer import Answer
from execledger.proxy.book import Book
from execledger.proxy.coding import unpacked, unpacker
from execledger.proxy.conversation import Conversation, Turn
from execledger.proxy.dialect import Dialect, Request
from execledger.proxy.edits import EditStore
from execledger.proxy.history import History

OPENING = 3
"""Items at the beginning of a conversation by which it is known, where it has no name."""


class Sent(Struct):
    """A request on its way."""

    body: bytes
    """What is sent on."""
    plain: bool = False
    """The body was read, and is no longer packed."""
    followed: tuple[Conversation, Turn] | None = None
    """The conversation whose next calls are judged, and what by; None if nothing is."""


class Passage:
    """Sends requests on for any number of conversations."""

    def __init__(
        self,
        book: Book,
        dialect: Dialect,
        adapter: Adapter,
        store: EditStore,
        *,
        pass_through: bool = False,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        """With ``pass_through`` everything is sent as it came; ``tell`` says what went wrong."""
        self.book = book
        """The conversations."""
        self.faults = 0
        """Faults of ours that ended here."""
        self._dialect = dialect
        self._adapter = adapter
        self._store = store
        self._pass_through = pass_through
        self._tell = tell

    def request(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Sent:
        """What is sent on for a request."""
        if self._pass_through or method != "POST" or not path.endswith(self._dialect.paths):
            return Sent(body)
        for way in (self._informed, self._restored):
            failed = False
            try:
                if sent := way(path, headers, body):
                    return sent
            except Exception as error:
                failed = True
                self._fault("a request", error)
            self.unread(method, path, headers)
            if not failed:
                break
        return Sent(body)

    def unread(self, method: str, path: str, headers: Mapping[str, str]) -> None:
        """A request goes on that is too large to be looked into: what comes of it is not told here."""
        if not self._pass_through and method == "POST" and path.endswith(self._dialect.paths):
            with suppress(Exception):
                self.book.overlook(self._adapter.asked(headers, "", "").session)

    def answer(self, sent: Sent, status: int, headers: Mapping[str, str]) -> Answer | None:
        """What edits the answer to a request; None if it passes as it is."""
        if sent.followed is None or status != 200:
            return None
        conversation, turn = sent.followed
        try:
            coding = headers.get("content-encoding", "")
            unpack = unpacker(coding) if coding else None
            streams = headers.get("content-type", "").startswith("text/event-stream")
            if streams and (unpack is not None or not coding):
                return conversation.answer(turn, unpack)
            conversation.overlook()
        except Exception as error:
            self._fault("an answer", error)
            with suppress(Exception):
                conversation.overlook()
        return None

    def _informed(self, path: str, headers: Mapping[str, str], body: bytes) -> Sent | None:
        """The request with everything that the ledger knows; None if it is none that we understand."""
        request = self._split(headers, body)
        if request is None:
            return None
        last = self._dialect.item(request.items[-1]) if request.items else None
        said = last.text if last is not None and last.kind in ("user", "context") else ""
        asked = self._adapter.asked(headers, request.cache_key, said)
        if not asked.session:
            # A client that does not name its conversations is known by how they begin.
            opening = digest(*(bytes(raw).decode("utf-8", "replace") for raw in request.items[:OPENING]))
            asked = replace(asked, session=opening, thread=opening, named=False)
        if said.startswith(OPENING_OF_A_VIEW):
            # Another Ledger stands between the client and us, and has said all there is to say.
            self.book.overlook(asked.session)
            return self._restored(path, headers, body)
        turn = asked.turn and request.offers_tools and path.endswith(self._dialect.turns)
        if not turn and asked.session not in self.book:
            # A title, say, for which an agent opens a session of its own: nothing in it is an agent's work.
            return self._restored(path, headers, body)
        conversation = self.book.conversation(asked, request)
        asking = conversation.informed(request, turn=turn)
        if asking is None:
            return self._restored(path, headers, body)
        # The items go out now; they are not kept for as long as the answer takes.
        followed = (conversation, replace(asking, items=[])) if turn else None
        return Sent(_body(request, asking.items), plain=True, followed=followed)

    def _restored(self, path: str, headers: Mapping[str, str], body: bytes) -> Sent | None:
        """The request with the stored edits, and no state."""
        request = self._split(headers, body)
        if request is None:
            return None
        items = History(self._dialect, self._adapter, self._store).follow(request.items)
        return Sent(_body(request, items), plain=True)

    def _split(self, headers: Mapping[str, str], body: bytes) -> Request | None:
        text = unpacked(body, headers.get("content-encoding", ""))
        return self._dialect.split(text) if text is not None else None

    def _fault(self, where: str, error: Exception) -> None:
        self.faults += 1
        with suppress(Exception):
            self._tell(f"Ledger left {where} alone, after a fault of its own: {told(error)}")


def _body(request: Request, items: Sequence[bytes]) -> bytes:
    """The request with these items; its own bytes where they are its own."""
    return request.body if items == request.items else request.joined(items)
