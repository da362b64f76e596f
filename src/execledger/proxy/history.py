"""One conversation's history, as its requests repeat it, with the stored edits applied.

Every request brings the whole history again. What was there before is recognised by its hash, item by item; only what
is new is looked into. Without ``watch`` this is the shortest way to show the model what it was shown before: it needs
the stored edits and nothing else.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from hashlib import blake2b

from msgspec import Struct

from execledger.core.fingerprint import digest
from execledger.core.references import NOT_ANSWERED
from execledger.proxy.dialect import Dialect, Item
from execledger.proxy.edits import CallEdit, Edit, EditStore, ResultEdit
from execledger.proxy.worker import LIGHTER, Work, run_to_end
from execledger.session.adapter import Adapter, ToolCall


class Answered(Struct, frozen=True):
    """A call and its result, met in a history for the first time."""

    call_id: str
    """Which call it is."""
    call: ToolCall
    """What the model asked for."""
    parts: tuple[str, ...] | None
    """What the client answered; None if that is not only text."""
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
    open: bool = False
    """It is a call without a result so far."""
    answers: _Known | None = None
    """The call that it is the result of."""
    edit: CallEdit | None = None
    """The call is a shim: its edit."""
    step: int | None = None
    """The step that the ledger has for it."""
    at: int = 0
    """Which item it is."""


class History:
    """One conversation, followed from request to request."""

    def __init__(self, dialect: Dialect, adapter: Adapter, store: EditStore) -> None:
        """An empty history."""
        self._dialect = dialect
        self._adapter = adapter
        self._store = store
        self._known: list[_Known] = []
        # Both are found without going through the history: a request may hold a hundred thousand items.
        self._open: dict[str, list[deque[_Known]]] = {}
        """Calls without a result, by their id: those of each turn in their order, and the last turn last."""
        self._turn = 0
        """Where the calls of the last turn begin."""
        self._chains: set[str] = set()
        """Every point of the history."""
        self.steps: list[int] = []
        """The steps whose results stand in the last request, in its order."""

    @property
    def cwd(self) -> str | None:
        """Where the next command starts."""
        return self._known[-1].cwd if self._known else None

    @property
    def chain(self) -> str:
        """Everything called and answered so far."""
        return self._known[-1].chain if self._known else ""

    def continues(self, marks: Sequence[int]) -> bool:
        """Items with these marks begin with everything that is known."""
        known = len(self._known)
        if not known or len(marks) < known:
            return not known
        # The last one first: it tells nearly always, and the others take their time.
        return marks[known - 1] == self._known[-1].mark and self._common(marks) == known

    def reach(self, items: Sequence[bytes], marks: Sequence[int], most: int) -> int:
        """How many of the items can be followed with at most so many new bytes; one that is new in any case."""
        at = self._common(marks)
        left = most
        while at < len(items) and (left == most or len(items[at]) <= left):
            left -= len(items[at])
            at += 1
        return at

    def follow(self, items: Sequence[bytes]) -> list[bytes]:
        """The items as the model is to be shown them, all at once."""
        return run_to_end(self.following(items, marks_of(items)))

    def following(
        self, items: Sequence[bytes], marks: Sequence[int], watch: Watch | None = None, *, turn: bool = True
    ) -> Work[list[bytes]]:
        """The items as the model is to be shown them; ``watch`` is told of each answered call that is new."""
        same = self._common(marks)
        if same < len(self._known):
            for gone in self._known[same:]:
                if gone.answers is not None:
                    gone.answers.open = True
            del self._known[same:]
            self._index()
            self.steps = [known.step for known in self._known if known.step is not None]
        read: list[Item] = []
        for raw in items[same:]:
            yield len(raw) // LIGHTER
            read.append(self._dialect.item(raw))
        # What stands behind the model's last own item, it has not seen yet.
        last = max((at for at, item in enumerate(read) if item.kind in ("call", "model")), default=-1)
        for at, item in enumerate(read):
            raw, mark = items[same + at], marks[same + at]
            yield len(raw)
            known = self._take(raw, mark, item, watch, fresh=turn and at > last)
            self._add(known)
            self.steps += [] if known.step is None else [known.step]
        return [raw if known.edited is None else known.edited for raw, known in zip(items, self._known, strict=True)]

    def _index(self) -> None:
        """Find everything anew, after the history was cut."""
        known, self._known, self._open, self._chains, self._turn = self._known, [], {}, set(), 0
        for one in known:
            self._add(one)

    def _add(self, known: _Known) -> None:
        """Put an item at the end."""
        if known.call is None:
            self._turn = len(self._known) + 1
        elif known.open:
            turns = self._open.setdefault(known.call_id, [])
            if not turns or turns[-1][0].at < self._turn:
                turns.append(deque())
            turns[-1].append(known)
        known.at = len(self._known)
        self._chains.add(known.chain)
        self._known.append(known)

    def _common(self, marks: Sequence[int]) -> int:
        """How many items at the beginning are known."""
        pairs = zip(marks, self._known, strict=False)
        most = min(len(marks), len(self._known))
        return next((at for at, (mark, known) in enumerate(pairs) if mark != known.mark), most)

    def _take(self, raw: bytes, mark: int, item: Item, watch: Watch | None, *, fresh: bool) -> _Known:
        """Take in one new item."""
        known = _Known(mark, self.chain, self.cwd)
        if item.kind == "call" and item.call is not None:
            self._take_call(known, raw, item)
        elif item.kind == "result":
            self._take_result(known, raw, item, watch, fresh=fresh)
        elif item.text:
            known.cwd = self._adapter.cwd_of(item.text) or known.cwd
        return known

    def _take_call(self, known: _Known, raw: bytes, item: Item) -> None:
        """A call; a shim that we wrote, byte for byte, becomes again what the model asked for."""
        assert item.call is not None, "a call is known by what it asks for"
        known.call_id, known.call, known.open = item.call_id, item.call, True
        shim_mark = self._adapter.shim_mark(item.call)
        edit = self._store.call(shim_mark) if shim_mark else None
        if edit is not None and edit.made(item.call_id, item.call):
            known.call, known.edit = edit.original, edit
            known.edited = self._dialect.with_call(raw, edit.original)

    def _take_result(self, known: _Known, raw: bytes, item: Item, watch: Watch | None, *, fresh: bool) -> None:
        """A result; the call that it answers stands before it."""
        asked = self._asked(item.call_id)
        if asked is None or asked.call is None:
            return
        known.answers = asked
        # What is not only text is told apart by its bytes.
        answer = item.parts if item.parts is not None else (blake2b(raw, digest_size=16).hexdigest(),)
        known.chain = digest(known.chain, item.call_id, asked.call.name, asked.call.text, *answer)
        edit: Edit | None = asked.edit or self._store.result(known.chain)
        if watch is not None:
            # A call of the same turn, or anything else of the model's, would stand between the two.
            alone = self._known[-1] is asked
            told = Answered(item.call_id, asked.call, item.parts, known.chain, asked.cwd, fresh, alone, edit)
            watched = watch(told)
            known.step, edit = watched.step, edit or watched.edit
        if edit is not None:
            shown = self._shown(edit, asked.call, item.parts)
            known.edited = self._dialect.with_parts(raw, shown) if shown is not None else None

    def _asked(self, call_id: str) -> _Known | None:
        """The call that a result answers: of several with one id in one turn, the first that has none."""
        turns = self._open.get(call_id)
        if not turns:
            return None
        asked = turns[-1].popleft()
        asked.open = False
        if not turns[-1]:
            turns.pop()
        if not turns:
            del self._open[call_id]
        return asked

    def _shown(self, edit: Edit, call: ToolCall, parts: tuple[str, ...] | None) -> tuple[str, ...] | None:
        """What stands for a result; None if it is shown as it came. Nothing is referred to that does not stand here."""
        here = self._chains.issuperset(edit.targets)
        if isinstance(edit, CallEdit):
            return (edit.reference if here else NOT_ANSWERED,)
        if parts is None or not here:
            return None
        show = self._adapter.referenced if edit.shown.kind == "reference" else self._adapter.remarked
        return show(call, parts, edit.shown.text)


def marks_of(items: Sequence[bytes]) -> list[int]:
    """The hash of each item's bytes: keyed by Python for this process, and compared within it."""
    return [hash(bytes(raw)) for raw in items]
