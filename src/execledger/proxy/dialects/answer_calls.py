"""The calls of one answer of the model: those that can be read are judged, all others are noted once as unread."""

from __future__ import annotations

from execledger.proxy.dialect import UNREAD, Propose
from execledger.session.adapter import ToolCall


class AnswerCalls:
    """Asks about the calls of one answer, in their order."""

    def __init__(self, propose: Propose) -> None:
        """``propose`` judges one call."""
        self._propose = propose
        self._unread = False

    def judge(self, call_id: str, call: ToolCall) -> ToolCall | None:
        """The call to put in the place of this one; None to forward it unchanged."""
        return self._propose(call_id, call)

    def unread(self) -> None:
        """Note that the answer may call anything, from here on; once is enough, however many events say so."""
        if not self._unread:
            self._propose("", UNREAD)
            # Noted last: after a fault in it, the next attempt proposes it again.
            self._unread = True
