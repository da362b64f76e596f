"""Plants a fault in Ledger, in a process that has this folder on Python's path."""

from __future__ import annotations

from typing import Any


def _planted(*_: Any, **__: Any) -> Any:
    raise RuntimeError("planted")


def _plant() -> None:
    from execledger.inspect.sample import SampleLedger
    from execledger.proxy.conversation import Conversation
    from execledger.proxy.history import History

    Conversation.informed = _planted  # type: ignore[method-assign]
    History.following = _planted  # type: ignore[method-assign]
    SampleLedger.end = _planted  # type: ignore[method-assign]


_plant()
