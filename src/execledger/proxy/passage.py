"""The body to forward for a request, and the editor of its answer; every internal fault ends here.

A request is forwarded in one of three forms, each of them used when the one before fails: with the decisions of the
ledger; with the stored edits alone, so that the model is shown what it was shown before; and unchanged.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from itertools import takewhile

from msgspec import Struct
from msgspec.structs import replace

from execledger.core.fingerprint import digest
from execledger.core.inform import OPENING as OPENING_OF_A_VIEW
from execledger.proxy.book import Book, OpenSession, Received
from execledger.proxy.clients import LAUNCHED
from execledger.proxy.content_encoding import decoded, decoder
from execledger.proxy.conversation import Conversation, Turn
from execledger.proxy.dialect import Dialect, SplitRequest
from execledger.proxy.dialects import DIALECTS
from execledger.proxy.history import History
from execledger.proxy.response_editor import ResponseEditor
from execledger.proxy.worker import LIGHTER, PORTION, InlineRunner, Work, WorkRunner
from execledger.session.adapter import Adapter
from execledger.session.session import error_text

STREAM, ANSWERS = "text/event-stream", ("text/event-stream", "application/json")
"""The content types of a streamed answer, and of all answers that are judged."""
GOVERNED = "x-execledger"
"""The header of a request that a Ledger between the client and this proxy has dealt with."""
MAX_BEHIND = 8
"""Texts of the client that may follow the user's at the end of a request."""
OPENING = 3
"""Leaves at the beginning of an unnamed conversation that identify it."""


class Sent(Struct):
    """A request to be forwarded."""

    body: bytes
    """The body to forward."""
    stream: AsyncIterator[bytes] | None = None
    """The body as it arrives, in place of ``body``, if it is too large to be read."""
    plain: bool = False
    """The body was decoded, and has no content encoding any more."""
    followed: tuple[Conversation, Turn, Dialect] | None = None
    """The conversation and turn whose calls are to be judged, and their dialect; None if the answer is forwarded
    unchanged."""

    @property
    def lock(self) -> AbstractAsyncContextManager[object]:
        """The session's lock, to be held when the editor of the answer is made."""
        return nullcontext() if self.followed is None else self.followed[0].lock


class _Asking(Struct, frozen=True):
    """A request as the model is asked it."""

    body: bytes
    """The body to forward."""
    conversation: Conversation
    """The conversation that it belongs to."""
    turn: Turn
    """What is needed to judge the answer."""


class Passage:
    """Edits the requests and answers of any number of conversations."""

    def __init__(
        self,
        book: Book,
        *,
        dialects: Sequence[Dialect] = DIALECTS,
        pass_through: bool = False,
        paused: Callable[[], bool] = lambda: False,
        tell: Callable[[str], None] = lambda _: None,
        runner: WorkRunner | None = None,
    ) -> None:
        """With ``pass_through`` everything is forwarded unchanged, and while it is ``paused`` with the stored edits
        alone; ``tell`` shows a message to the user.

        The dialect of a request is chosen from ``dialects`` by its path; ``runner`` runs the work, by default inline.
        """
        self.book = book
        """The conversations."""
        self.faults = 0
        """The number of internal faults that ended here."""
        self.asked_to_act = False
        """Whether a request asked a model to act, or could not be read; titles and other side calls offer no tools."""
        self._dialects = dialects
        self._pass_through = pass_through
        self._paused = paused
        self._tell = tell
        self._runner = runner or InlineRunner()

    @property
    def paused(self) -> bool:
        """Whether the user has switched Ledger off for running sessions."""
        return self._paused()

    def request(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Sent:
        """The same as ``sent``, without an event loop: for a passage whose work is run inline."""
        waiting = self.sent(method, path, headers, body)
        try:
            waiting.send(None)
        except StopIteration as end:
            sent: Sent = end.value
            return sent
        except Exception as error:
            self.fault("a request", error)
            return Sent(body)
        raise AssertionError("work that is run inline never suspends")

    async def sent(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes, *, decides: bool = True
    ) -> Sent:
        """The body to forward for a request: with the decisions of the ledger, or the stored edits alone."""
        dialect = self._dialect(method, path)
        if dialect is None:
            return Sent(body)
        if self._pass_through:
            await self._looked_at(dialect, path, headers, body)
            return Sent(body)
        for form in (self._informed, self._restored) if decides else (self._restored,):
            failed = False
            try:
                if sent := await form(dialect, path, headers, body):
                    return sent
            except Exception as error:
                failed = self.asked_to_act = True
                self.fault("a request", error)
            await self.unread(method, path, headers)
            if not failed:
                break
        return Sent(body)

    async def _looked_at(self, dialect: Dialect, path: str, headers: Mapping[str, str], body: bytes) -> None:
        """Find out whether a request that passes through asks a model to act, until one does."""
        if not self.asked_to_act:
            try:
                received = await self._runner.run(self._received(dialect, path, headers, body))
                self.asked_to_act = received is None or _is_turn(dialect, received, path)
            except Exception:
                self.asked_to_act = True

    async def too_large(self, method: str, path: str, headers: Mapping[str, str]) -> None:
        """Note a request whose body is too large to be read; no side call is."""
        self.asked_to_act |= self._dialect(method, path) is not None
        await self.unread(method, path, headers)

    async def unread(self, method: str, path: str, headers: Mapping[str, str]) -> None:
        """Note a request that is forwarded without being followed: its effects are unknown."""
        if self._dialect(method, path) is not None and not self._pass_through:
            with suppress(Exception):
                launched = LAUNCHED.match(path)
                named = [one.asked(headers, "", "").session for one in self.book.clients.by_headers(path, headers)]
                for session in [*filter(None, named)] or ([launched[1]] if launched else []):
                    await self._overlook(session)

    def _dialect(self, method: str, path: str) -> Dialect | None:
        """The dialect of a request; None if it holds no conversation."""
        if method != "POST":
            return None
        return next((dialect for dialect in self._dialects if path.endswith(dialect.paths)), None)

    async def _overlook(self, session: str) -> None:
        """Note that a session may write from now on without being seen."""
        opened = self.book.get(session)
        if opened is not None:
            with opened.in_use():
                async with opened.workspace.lock:
                    opened.workspace.unseen = True

    def governs(self, sent: Sent) -> bool:
        """Whether a request is one whose model is informed or governed here."""
        return sent.followed is not None and not self.book.rules.policy.shadow

    def answer(self, sent: Sent, status: int, headers: Mapping[str, str]) -> ResponseEditor | None:
        """The editor of the answer to a request; None if it is forwarded unchanged. Requires ``sent.lock``."""
        if sent.followed is None or status != 200:
            return None
        conversation, turn, dialect = sent.followed
        try:
            encoding = headers.get("content-encoding", "")
            stream_decoder = decoder(encoding) if encoding else None
            kind = headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind in ANSWERS and (stream_decoder is not None or not encoding):
                return conversation.answer(turn, dialect, stream_decoder, streams=kind == STREAM)
            conversation.overlook()
        except Exception as error:
            self.fault("an answer", error)
            with suppress(Exception):
                conversation.overlook()
        return None

    async def edited(self, editor: ResponseEditor, chunk: bytes | None = None) -> bytes:
        """The bytes to forward after the next chunk of an answer, or at its end."""
        if chunk is not None:
            return await editor.fed(chunk, self._runner)
        async with editor.lock:
            return editor.end()

    async def _informed(self, dialect: Dialect, path: str, headers: Mapping[str, str], body: bytes) -> Sent | None:
        """The request with the decisions of the ledger; None if its shape is not supported."""
        received = await self._runner.run(self._received(dialect, path, headers, body))
        if received is None:
            # It can't be read, and may have asked the model to act.
            self.asked_to_act = True
            return None
        asked, turn = received.asked, _is_turn(dialect, received, path)
        self.asked_to_act |= turn
        if asked.side:
            if turn:
                await self._overlook(asked.session)
            return await self._restored(dialect, path, headers, body)
        if received.informed or self.paused:
            # Another Ledger between the client and this proxy has already informed the model, or the user said off.
            await self._overlook(asked.session)
            return await self._restored(dialect, path, headers, body)
        if not turn and asked.session not in self.book:
            # A title, for example, for which an agent opens a session of its own: no tool is used in it.
            return await self._restored(dialect, path, headers, body)
        opened = self.book.session(received)
        with opened.in_use():
            asking = await self._runner.run(self._asking(opened, received, turn), opened.workspace.lock)
        if asking is None:
            return await self._restored(dialect, path, headers, body)
        return Sent(asking.body, plain=True, followed=(asking.conversation, asking.turn, dialect) if turn else None)

    def _asking(self, opened: OpenSession, received: Received[SplitRequest], turn: bool) -> Work[_Asking | None]:
        """A request as the model is to be asked it; its session's lock is held."""
        request = received.request
        conversation = self.book.conversation(opened, received, turn=turn)
        if conversation is None or not (turn or conversation.known(request) or conversation.continues(request)):
            # Without a turn, nothing is to be learnt from other words than this conversation's, as of a web search.
            return None
        asking = yield from conversation.informed(request, turn=turn, view=not received.asked.helper)
        if asking is None:
            return None
        body = yield from _joined(request, asking.leaves)
        # The body holds the leaves now: drop them here instead of keeping them until the answer is complete.
        request.leaves = ()
        return _Asking(body, conversation, replace(asking, leaves=[]))

    def _received(
        self, dialect: Dialect, path: str, headers: Mapping[str, str], body: bytes
    ) -> Work[Received[SplitRequest] | None]:
        """The request, split, and its sender; no session is used for that."""
        request = yield from _split(dialect, path, headers, body)
        if request is None:
            return None
        text, last, before = _last_texts(dialect, request.leaves)
        adapter = self._adapter(path, headers, request)
        if adapter is None:
            return None
        asked = adapter.asked(headers, request.cache_key, last)
        # A client may put the user's question, or more words of its own, behind those that say what it asks for.
        others = (adapter.asked(headers, request.cache_key, said) for said in before)
        asked = next((other for other in others if other.side and not other.turn), asked)
        if not asked.session and (launched := LAUNCHED.match(path)):
            asked = replace(asked, session=launched[1], thread=launched[1], named=False)
        if not asked.session:
            # A conversation without a name is identified by its beginning.
            opening = digest(*(bytes(raw).decode("utf-8", "replace") for raw in request.leaves[:OPENING]))
            asked = replace(asked, session=opening, thread=opening, named=False)
        informed = GOVERNED in headers or text.startswith(OPENING_OF_A_VIEW)
        received = Received(dialect, request, adapter, asked, informed)
        if len(request.body) > PORTION * LIGHTER:
            # For a long request these are computed here, off the event loop; for others, when they are needed.
            task, _ = self.book.task_of(received), request.marks
            received = replace(received, task=task)
        return received

    async def _restored(self, dialect: Dialect, path: str, headers: Mapping[str, str], body: bytes) -> Sent | None:
        """The request with the stored edits alone; None if its shape is not supported."""
        restored = await self._runner.run(self._edited(dialect, path, headers, body))
        return Sent(restored, plain=True) if restored is not None else None

    def _edited(self, dialect: Dialect, path: str, headers: Mapping[str, str], body: bytes) -> Work[bytes | None]:
        request = yield from _split(dialect, path, headers, body)
        if request is None:
            return None
        adapter = self._adapter(path, headers, request)
        if adapter is None:
            return None
        history = History(dialect, adapter, self.book.store)
        leaves = yield from history.following(request.leaves, request.marks)
        return (yield from _joined(request, leaves))

    def _adapter(self, path: str, headers: Mapping[str, str], request: SplitRequest) -> Adapter | None:
        """The adapter of the agent that sent a request; None if it is unknown."""
        return self.book.clients.adapter(path, headers, lambda: request.tool_names)

    async def close(self) -> None:
        """Abandon the work in progress, and end every session."""
        await self._runner.close()
        self.book.close()

    def fault(self, where: str, error: Exception) -> None:
        """Count an internal fault that ended at a request or an answer, and show it to the user."""
        self.faults += 1
        with suppress(Exception):
            self._tell(f"Ledger left {where} alone, after a fault of its own: {error_text(error)}")


def _is_turn(dialect: Dialect, received: Received[SplitRequest], path: str) -> bool:
    """Whether a request asks the model to act: it may call tools, and the client wants no title or summary."""
    asked, request = received.asked, received.request
    return asked.turn and request.offers_tools and path.endswith(dialect.turn_paths)


def _last_texts(dialect: Dialect, leaves: Sequence[bytes]) -> tuple[str, str, list[str]]:
    """The text at the end of a request, the user's text there, and those in the user's name right before it.

    A client may put words of its own behind the user's.
    """
    last = map(dialect.leaf, reversed(leaves[-MAX_BEHIND:]))
    behind = [*takewhile(lambda leaf: leaf.kind in ("user", "context"), last)]
    texts = [leaf.text for leaf in behind if leaf.kind == "user"]
    text = behind[0].text if behind else ""
    return text, texts[0] if texts else text, texts[1:]


def _split(dialect: Dialect, path: str, headers: Mapping[str, str], body: bytes) -> Work[SplitRequest | None]:
    """The request, decoded and split; None if its encoding or its shape is not supported."""
    encoding = headers.get("content-encoding", "")
    yield len(body) if encoding else 0
    text = decoded(body, encoding)
    return (yield from dialect.split(path, text)) if text is not None else None


def _joined(request: SplitRequest, leaves: Sequence[bytes]) -> Work[bytes]:
    """The body with these leaves; its own bytes if no leaf differs."""
    yield len(request.body) // LIGHTER
    return request.body if leaves == request.leaves else request.joined(leaves)
