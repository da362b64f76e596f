"""One conversation's history, as its requests repeat it, with the stored edits applied.

Every request brings the whole history again. What was there before is recognised by its hash, item by item; only what
is new is looked into. Without ``watch`` this is the shortest way to show the model what it was shown before: it needs
the stored edits and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from execledger.agents.adapter import Adapter
from execledger.agents.tool_calls import ToolCall
from execledger.core.fingerprint import digest
from execledger.proxy.dialect import Dialect, Item
from execledger.proxy.edits import CallEdit, Edit, EditStore, ResultEdit


class Answered(Struct, frozen=True):
    """A call and its result, met in a history for the first time."""

    call_id: str
    """Which call it is."""
    call: ToolCall
    """What the model asked for."""
    parts: tuple[str, ...]
    """What the client answered."""
    chain: str
    """Everything called and answered up to here."""
    cwd: str | None
    """Where commands started."""
    fresh: bool
    """The model has not seen the result yet."""
    alone: bool
    """No other call was made in the same turn."""
    edit: Edit | None
    """How it is shown, if that is settled already."""


class Watched(Struct, frozen=True):
    """What became of an answered call."""

    step: int | None = None
    """The step that the ledger has for it."""
    edit: ResultEdit | None = None
    """How it is shown, if that was settled just now."""


Watch = Callable[[Answered], Watched]
"""Told of each answered call, in order."""


class _Known(Struct):
    """An item that was taken in."""

    mark: int
    """The hash of its bytes as the client sends them: keyed by Python for this process, and compared within it."""
    kind: str
    """What it is."""
    chain: str
    """Everything called and answered up to it."""
    cwd: str | None
    """Where commands start behind it."""
    edited: bytes | None = None
    """Its bytes as the model is shown them, if they are others."""
    call_id: str = ""
    """Which call it is."""
    call: ToolCall | None = None
    """What the model asked for."""
    edit: CallEdit | None = None
    """The call is a shim: its edit."""
    step: int | None = None
    """The step that the ledger has for it."""


class History:
    """One conversation, followed from request to request."""

    def __init__(self, dialect: Dialect, adapter: Adapter, store: EditStore) -> None:
        """An empty history."""
        self._dialect = dialect
        self._adapter = adapter
        self._store = store
        self._known: list[_Known] = []

    @property
    def steps(self) -> list[int]:
        """The steps whose results stand in the last request, in its order."""
        return [known.step for known in self._known if known.step is not None]

    @property
    def cwd(self) -> str | None:
        """Where the next command starts."""
        return self._known[-1].cwd if self._known else None

    def follow(self, items: Sequence[bytes], watch: Watch | None = None, *, turn: bool = True) -> list[bytes]:
        """The items as the model is to be shown them; ``watch`` is told of each answered call that is new."""
        marks = [hash(bytes(raw)) for raw in items]
        same = self._common(marks)
        del self._known[same:]
        read = [self._dialect.item(raw) for raw in items[same:]]
        # What stands behind the model's last own item, it has not seen yet.
        last = max((at for at, item in enumerate(read) if item.kind in ("call", "model")), default=-1)
        for at, item in enumerate(read):
            raw, mark = items[same + at], marks[same + at]
            self._known.append(self._take(raw, mark, item, watch, fresh=turn and at > last))
        return [raw if known.edited is None else known.edited for raw, known in zip(items, self._known, strict=True)]

    def _common(self, marks: list[int]) -> int:
        """How many items at the beginning are known."""
        pairs = zip(marks, self._known, strict=False)
        most = min(len(marks), len(self._known))
        return next((at for at, (mark, known) in enumerate(pairs) if mark != known.mark), most)

    def _take(self, raw: bytes, mark: int, item: Item, watch: Watch | None, *, fresh: bool) -> _Known:
        """Take in one new item."""
        chain = self._known[-1].chain if self._known else ""
        known = _Known(mark, item.kind, chain, self.cwd)
        if item.kind == "call" and item.call is not None:
            self._take_call(known, raw, item)
        elif item.kind == "result":
            self._take_result(known, raw, item, watch, fresh=fresh)
        elif item.text:
            known.cwd = self._adapter.cwd_of(item.text) or known.cwd
        return known

    def _take_call(self, known: _Known, raw: bytes, item: Item) -> None:
        """A call; a shim that we wrote, byte for byte, becomes again what the model asked for."""
        known.call_id, known.call = item.call_id, item.call
        shim_mark = self._adapter.shim_mark(item.call) if item.call is not None else None
        edit = self._store.call(shim_mark) if shim_mark else None
        if edit is not None and edit.shim == item.call:
            known.call, known.edit = edit.original, edit
            known.edited = self._dialect.with_call(raw, edit.original)

    def _take_result(self, known: _Known, raw: bytes, item: Item, watch: Watch | None, *, fresh: bool) -> None:
        """A result; the call that it answers stands before it."""
        asked = next((one for one in reversed(self._known) if one.call_id == item.call_id and one.call), None)
        if asked is None or asked.call is None:
            return
        parts = item.parts or ()
        known.chain = digest(known.chain, item.call_id, asked.call.name, asked.call.text, *parts)
        edit: Edit | None = asked.edit or self._store.result(known.chain)
        if watch is not None:
            # A call of the same turn, or anything else of the model's, would stand between the two.
            alone = self._known[-1] is asked
            told = Answered(item.call_id, asked.call, parts, known.chain, asked.cwd, fresh, alone, edit)
            watched = watch(told)
            known.step, edit = watched.step, edit or watched.edit
        if edit is not None:
            shown = (edit.reference,) if isinstance(edit, CallEdit) else edit.parts
            known.edited = self._dialect.with_parts(raw, shown)
