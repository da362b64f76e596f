"""An answer that is not streamed: collected as it arrives, and edited as a whole at its end."""

from __future__ import annotations

from execledger.proxy.dialect import UNREAD, Dialect, Propose
from execledger.proxy.limits import MAX_EVENT
from execledger.runs.usage import Tokens


class WholeAnswer:
    """A ``StreamEditor`` for one JSON body; a body beyond ``MAX_EVENT`` is forwarded unjudged."""

    def __init__(self, dialect: Dialect, propose: Propose) -> None:
        """An editor that asks ``propose`` about every call in the body."""
        self.tokens: Tokens | None = None
        self._dialect = dialect
        self._propose = propose
        self._chunks: list[bytes] = []
        self._size = 0
        self._unchanged = False

    def feed(self, event: bytes) -> bytes:
        """Nothing, unless the body exceeds the limit: then everything so far."""
        size = self._size + len(event)
        if size > MAX_EVENT and not self._unchanged:
            self._unchanged = True
            self._propose("", UNREAD)
        # Kept last: a piece that was kept before a fault would be forwarded twice.
        self._chunks.append(event)
        self._size = size
        return b"" if size <= MAX_EVENT else self.end()

    def skip(self, piece: bytes) -> bytes:
        """The same as ``feed``."""
        return self.feed(piece)

    def end(self) -> bytes:
        """The body, edited; after a fault, unchanged."""
        body = b"".join(self._chunks)
        if body and not self._unchanged:
            self._unchanged = True
            body, self.tokens = self._dialect.answer(body, self._propose)
        self._chunks.clear()
        return body
