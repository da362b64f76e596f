"""What is sent on for a request, and what edits its answer: the one place where every fault of ours ends.

There are three ways for a request, and each is taken where the one before it fails: with everything that the ledger
knows; with the stored edits alone, so that the model is shown what it was shown before; and as it came.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext, suppress

from msgspec import Struct
from msgspec.structs import replace

from execledger.core.fingerprint import digest
from execledger.core.inform import OPENING as OPENING_OF_A_VIEW
from execledger.proxy.book import Book, OpenSession
from execledger.proxy.content_encoding import decoded, decoder
from execledger.proxy.conversation import Conversation, Turn
from execledger.proxy.dialect import Dialect, Request
from execledger.proxy.edits import EditStore
from execledger.proxy.history import History
from execledger.proxy.response_editor import ResponseEditor
from execledger.proxy.worker import LIGHTER, PORTION, InlineRunner, Runner, Work
from execledger.session.adapter import Adapter, Asked
from execledger.session.session import error_text

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

    @property
    def lock(self) -> AbstractAsyncContextManager[object]:
        """To be held while its answer is begun: the lock of the session that is followed."""
        return nullcontext() if self.followed is None else self.followed[0].lock


class _Read(Struct, frozen=True):
    """A request, read."""

    request: Request
    """The request, split."""
    asked: Asked
    """Who sends it."""
    informed: bool
    """Another Ledger has added a view to it."""
    task: str | None
    """What the conversation is about; None if that was not looked for yet."""


class _Asking(Struct, frozen=True):
    """A request that the model is asked."""

    body: bytes
    """What is sent on."""
    conversation: Conversation
    """The conversation that it belongs to."""
    turn: Turn
    """What the answer is judged by."""


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
        runner: Runner | None = None,
    ) -> None:
        """With ``pass_through`` everything is sent as it came; ``tell`` says what went wrong.

        ``runner`` does the work: inline, unless another is given.
        """
        self.book = book
        """The conversations."""
        self.faults = 0
        """Faults of ours that ended here."""
        self._dialect = dialect
        self._adapter = adapter
        self._store = store
        self._pass_through = pass_through
        self._tell = tell
        self._runner = runner or InlineRunner()

    def request(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Sent:
        """As ``sent``, all at once: for a passage whose work is done inline."""
        waiting = self.sent(method, path, headers, body)
        try:
            waiting.send(None)
        except StopIteration as end:
            sent: Sent = end.value
            return sent
        except Exception as error:
            self._fault("a request", error)
            return Sent(body)
        raise AssertionError("work that is done inline waits for nothing")

    async def sent(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Sent:
        """What is sent on for a request."""
        if self._pass_through or method != "POST" or not path.endswith(self._dialect.paths):
            return Sent(body)
        for way in (self._informed, self._restored):
            failed = False
            try:
                if sent := await way(path, headers, body):
                    return sent
            except Exception as error:
                failed = True
                self._fault("a request", error)
            await self.unread(method, path, headers)
            if not failed:
                break
        return Sent(body)

    async def unread(self, method: str, path: str, headers: Mapping[str, str]) -> None:
        """Take note of a request that is forwarded without being followed: its effects are unknown."""
        if not self._pass_through and method == "POST" and path.endswith(self._dialect.paths):
            with suppress(Exception):
                await self._overlook(self._adapter.asked(headers, "", "").session)

    async def _overlook(self, session: str) -> None:
        """Take note that a session may write from now on without our knowing."""
        opened = self.book.get(session)
        if opened is not None:
            with opened.in_use():
                async with opened.workspace.lock:
                    opened.workspace.unseen = True

    def answer(self, sent: Sent, status: int, headers: Mapping[str, str]) -> ResponseEditor | None:
        """What edits the answer to a request; None if it passes as it is. To be called with ``sent.lock`` held."""
        if sent.followed is None or status != 200:
            return None
        conversation, turn = sent.followed
        try:
            coding = headers.get("content-encoding", "")
            unpack = decoder(coding) if coding else None
            streams = headers.get("content-type", "").startswith("text/event-stream")
            if streams and (unpack is not None or not coding):
                return conversation.answer(turn, unpack)
            conversation.overlook()
        except Exception as error:
            self._fault("an answer", error)
            with suppress(Exception):
                conversation.overlook()
        return None

    async def _informed(self, path: str, headers: Mapping[str, str], body: bytes) -> Sent | None:
        """The request with everything that the ledger knows; None if it is none that we understand."""
        read = await self._runner.run(self._read(headers, body))
        if read is None:
            return None
        request, asked = read.request, read.asked
        if read.informed:
            # Another Ledger is between the client and us, and has said all there is to say.
            await self._overlook(asked.session)
            return await self._restored(path, headers, body)
        turn = asked.turn and request.offers_tools and path.endswith(self._dialect.turns)
        if not turn and asked.session not in self.book:
            # A title, say, for which an agent opens a session of its own: nothing in it is an agent's work.
            return await self._restored(path, headers, body)
        opened = self.book.session(asked, request, read.task)
        with opened.in_use():
            asking = await self._runner.run(self._asking(opened, read, turn), opened.workspace.lock)
        if asking is None:
            return await self._restored(path, headers, body)
        return Sent(asking.body, plain=True, followed=(asking.conversation, asking.turn) if turn else None)

    def _asking(self, opened: OpenSession, read: _Read, turn: bool) -> Work[_Asking | None]:
        """A request as the model is to be asked it; its session's lock is held."""
        request = read.request
        conversation = self.book.conversation(opened, read.asked, request, read.task)
        asking = yield from conversation.informed(request, turn=turn, view=not read.asked.helper)
        if asking is None:
            return None
        body = yield from _joined(request, asking.items)
        # The items are sent now: drop them here instead of keeping them until the answer is complete.
        request.items = ()
        return _Asking(body, conversation, replace(asking, items=[]))

    def _read(self, headers: Mapping[str, str], body: bytes) -> Work[_Read | None]:
        """What a request says, and who sends it; no session is asked for that."""
        request = yield from self._split(headers, body)
        if request is None:
            return None
        last = self._dialect.item(request.items[-1]) if request.items else None
        said = last.text if last is not None and last.kind in ("user", "context") else ""
        asked = self._adapter.asked(headers, request.cache_key, said)
        if not asked.session:
            # A client that does not name its conversations is known by how they begin.
            opening = digest(*(bytes(raw).decode("utf-8", "replace") for raw in request.items[:OPENING]))
            asked = replace(asked, session=opening, thread=opening, named=False)
        # Of a long request everything is found here that may have to be looked for; of others, what is asked for.
        task = None
        if len(request.body) > PORTION * LIGHTER:
            task, _ = self.book.task_of(request), request.marks
        return _Read(request, asked, said.startswith(OPENING_OF_A_VIEW), task)

    async def _restored(self, path: str, headers: Mapping[str, str], body: bytes) -> Sent | None:
        """The request with the stored edits, and no state."""
        restored = await self._runner.run(self._edited(headers, body))
        return Sent(restored, plain=True) if restored is not None else None

    def _edited(self, headers: Mapping[str, str], body: bytes) -> Work[bytes | None]:
        request = yield from self._split(headers, body)
        if request is None:
            return None
        history = History(self._dialect, self._adapter, self._store)
        items = yield from history.following(request.items, request.marks)
        return (yield from _joined(request, items))

    def _split(self, headers: Mapping[str, str], body: bytes) -> Work[Request | None]:
        coding = headers.get("content-encoding", "")
        yield len(body) if coding else 0
        text = decoded(body, coding)
        return (yield from self._dialect.split(text)) if text is not None else None

    async def close(self) -> None:
        """Give up what is under way, and end every session."""
        await self._runner.close()
        self.book.close()

    def _fault(self, where: str, error: Exception) -> None:
        self.faults += 1
        with suppress(Exception):
            self._tell(f"Ledger left {where} alone, after a fault of its own: {error_text(error)}")


def _joined(request: Request, items: Sequence[bytes]) -> Work[bytes]:
    """The request with these items; its own bytes where they are its own."""
    yield len(request.body) // LIGHTER
    return request.body if items == request.items else request.joined(items)
