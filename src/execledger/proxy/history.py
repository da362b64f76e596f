"""The history of one conversation, matched from request to request, with the stored edits applied.

Every request repeats the whole history. Known leaves are recognised by their hash; only new ones are read. Without
``on_answered`` this is the shortest way to show the model what it was shown before: it needs only the stored edits.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from hashlib import blake2b
from typing import TypeAlias

from msgspec import Struct

from execledger.core.fingerprint import digest
from execledger.core.references import NOT_ANSWERED
from execledger.proxy.call_reports import CallReport
from execledger.proxy.dialect import Leaf, LeafFormat, marks_of
from execledger.proxy.edits import CallEdit, Edit, EditStore, ResultEdit
from execledger.proxy.json_split import RepeatedNames
from execledger.proxy.worker import LIGHTER, Work, run_to_end
from execledger.session.adapter import Adapter, ToolCall
from execledger.vocabulary.actions import Aside


class AnsweredCall(Struct, frozen=True, kw_only=True):
    """A call and its result, met in a history for the first time."""

    call_id: str
    """The id of the call."""
    call: ToolCall
    """What the model asked for."""
    parts: tuple[str, ...] | None
    """The text parts of the client's result; None if it contains anything else."""
    is_error: bool
    """The client marked the result as an error."""
    chain: str
    """The hash of every call and result up to this one."""
    cwd: str | None
    """The working directory of the call."""
    fresh: bool
    """The model has not seen the result yet."""
    alone: bool
    """No other call was made in the same turn."""
    rewritten: bool
    """The client had another text there before."""
    edit: Edit | None
    """The stored edit of the result, if it has one."""
    report: CallReport | None = None
    """What a hook of the client reported about the call, if it has."""


class RecordedCall(Struct, frozen=True):
    """The step that was recorded for an answered call."""

    step: int | None = None
    """The number of the step in the ledger."""
    edit: ResultEdit | None = None
    """The edit of the result, if one was made now."""


OnAnswered: TypeAlias = Callable[[AnsweredCall], RecordedCall]
"""Called for each answered call that is new, in order."""
Report: TypeAlias = Callable[[str, ToolCall], CallReport | None]
"""Gives the report of a hook on a call, by the id in its result; None without one."""


def _no_report(call_id: str, call: ToolCall) -> None:
    """No hook reports anything."""


class _Known(Struct):
    """A leaf that was read."""

    mark: int
    """The hash of its bytes as the client sends them."""
    chain: str
    """The hash of every call and result up to it."""
    former: str
    """The same hash with the client's own words in it: edits of earlier versions are stored under it."""
    cwd: str | None
    """The working directory after it."""
    edited: bytes | None = None
    """Its bytes as the model is shown them, if they differ."""
    call_id: str = ""
    """The id of the call, if it is one."""
    call: ToolCall | None = None
    """What the model asked for, if it is a call."""
    starts: str | None = None
    """The working directory in which the call starts."""
    open: bool = False
    """It is a call that has no result yet."""
    answers: _Known | None = None
    """The call that it is the result of."""
    answer_id: str = ""
    """The id in the result, if it is one; a client may give an id to the result of a call that has none."""
    edit: CallEdit | None = None
    """The edit of the call, if it is a shim."""
    step: int | None = None
    """The number of its step in the ledger."""
    files: tuple[str, ...] = ()
    """The files whose text the client itself has put into it."""
    at: int = 0
    """Its position."""


class History:
    """One conversation, matched from request to request."""

    def __init__(self, dialect: LeafFormat, adapter: Adapter, store: EditStore) -> None:
        """An empty history."""
        self._dialect = dialect
        self._adapter = adapter
        self._store = store
        self._known: list[_Known] = []
        # Both indexes avoid a search through the history: a request may hold a hundred thousand leaves.
        self._open: dict[str, list[deque[_Known]]] = {}
        """Calls without a result by their id: those of each turn in their order, the last turn at the end."""
        self._answers: dict[str, _Known] = {}
        """The result of each call that was answered, by the id in it."""
        self._calls: set[str] = set()
        """The ids of all calls."""
        self._turn = 0
        """The position of the first call of the last turn."""
        self._acted = 0
        """The leaves of the last request that asked the model to act; a request for a summary has a leaf of its own."""
        self._chains: set[str] = set()
        """The chain of every leaf, also as earlier versions computed it."""
        self._met: dict[int, tuple[ToolCall, str, str]] = {}
        """The call and both chains of every result that this history ever had, by the mark of the result's leaf."""
        self._texts: dict[str, int] = {}
        """The mark of the first result that this history had for each id of a call."""
        self.first_cwd: str | None = None
        """The working directory at the beginning, where the request states it outside the leaves."""
        self.steps: list[int] = []
        """Steps whose results are part of the last request, in its order."""

    @property
    def cwd(self) -> str | None:
        """The working directory of the next command."""
        return self._known[-1].cwd if self._known else self.first_cwd

    @property
    def chain(self) -> str:
        """The hash of every call and result so far."""
        return self._known[-1].chain if self._known else ""

    @property
    def embedded_files(self) -> frozenset[str]:
        """The files whose text the client itself has put into the last request."""
        return frozenset(path for known in self._known for path in known.files)

    def continues(self, marks: Sequence[int]) -> bool:
        """Whether leaves with these marks begin with the history that the model was last asked to act on."""
        known = self._acted or len(self._known)
        if not known or len(marks) < known:
            return not known
        # The last one first: it nearly always decides, and comparing all of them takes long.
        return marks[known - 1] == self._known[known - 1].mark and self.common(marks) >= known

    def common(self, marks: Sequence[int]) -> int:
        """The number of leaves at the beginning that are known."""
        pairs = zip(marks, self._known, strict=False)
        most = min(len(marks), len(self._known))
        return next((at for at, (mark, known) in enumerate(pairs) if mark != known.mark), most)

    def has_call(self, call_id: str) -> bool:
        """Whether a call with this id is part of the history."""
        return call_id in self._calls

    def reach(self, leaves: Sequence[bytes], marks: Sequence[int], most: int) -> int:
        """How many leaves can be followed with at most ``most`` new bytes; at least one that is new."""
        at = self.common(marks)
        left = most
        while at < len(leaves) and (left == most or len(leaves[at]) <= left):
            left -= len(leaves[at])
            at += 1
        return at

    def follow(self, leaves: Sequence[bytes]) -> list[bytes]:
        """The leaves as the model is to be shown them, computed now."""
        return run_to_end(self.following(leaves, marks_of(leaves)))

    def following(
        self,
        leaves: Sequence[bytes],
        marks: Sequence[int],
        on_answered: OnAnswered | None = None,
        report: Report = _no_report,
        *,
        turn: bool = True,
    ) -> Work[list[bytes]]:
        """The leaves as the model is to be shown them; ``on_answered`` is called for each new answered call.

        ``report`` is called before it. Neither is kept, so that a conversation and its history form no circle.
        """
        same = self.common(marks)
        if same < len(self._known):
            for gone in self._known[same:]:
                if gone.answers is not None:
                    gone.answers.open = True
            del self._known[same:]
            self._acted = min(self._acted, same)
            self._index()
            self.steps = [known.step for known in self._known if known.step is not None]
        read: list[Leaf] = []
        for raw in leaves[same:]:
            yield len(raw) // LIGHTER
            read.append(self._dialect.leaf(raw))
        # The model has not seen yet what follows its own last leaf.
        last = max((at for at, leaf in enumerate(read) if leaf.kind in ("call", "model")), default=-1)
        for at, leaf in enumerate(read):
            raw, mark = leaves[same + at], marks[same + at]
            yield len(raw)
            known = self._take(raw, mark, leaf, on_answered, report, fresh=turn and at > last)
            self._add(known)
            self.steps += [] if known.step is None else [known.step]
        if turn:
            self._acted = len(leaves)
        return [raw if known.edited is None else known.edited for raw, known in zip(leaves, self._known, strict=True)]

    def _index(self) -> None:
        """Rebuild the indexes after the history was cut."""
        known, self._known, self._open, self._chains, self._turn = self._known, [], {}, set(), 0
        self._answers, self._calls = {}, set()
        for one in known:
            self._add(one)

    def _add(self, known: _Known) -> None:
        """Append a leaf."""
        if known.call is None:
            self._turn = len(self._known) + 1
        elif known.open:
            turns = self._open.setdefault(known.call_id, [])
            if not turns or turns[-1][0].at < self._turn:
                turns.append(deque())
            turns[-1].append(known)
        if known.call_id:
            self._calls.add(known.call_id)
        if known.answer_id:
            self._answers[known.answer_id] = known
        known.at = len(self._known)
        self._chains.update((known.chain, known.former))
        self._known.append(known)

    def _take(
        self, raw: bytes, mark: int, leaf: Leaf, on_answered: OnAnswered | None, report: Report, *, fresh: bool
    ) -> _Known:
        """Read one new leaf."""
        known = _Known(mark, self.chain, self._known[-1].former if self._known else "", self.cwd)
        if leaf.kind == "call" and leaf.call is not None:
            self._take_call(known, raw, leaf)
        elif leaf.kind == "result":
            self._take_result(known, raw, leaf, on_answered, report, fresh=fresh)
        elif leaf.text:
            known.cwd = self._adapter.cwd_of(leaf.text) or known.cwd
            known.files = self._adapter.embedded_files(leaf.text)
        return known

    def _take_call(self, known: _Known, raw: bytes, leaf: Leaf) -> None:
        """Read a call; one of our shims, byte for byte, is shown as the call that it replaced."""
        assert leaf.call is not None, "the leaf of a call has a call"
        known.call_id, known.call, known.open = leaf.call_id, leaf.call, True
        shim_mark = self._adapter.shim_mark(leaf.call)
        edit = self._store.call(shim_mark) if shim_mark else None
        if edit is not None and edit.made(leaf.call_id, leaf.call):
            known.call, known.edit = edit.original, edit
            with suppress(RepeatedNames):
                known.edited = self._dialect.with_call(raw, edit.original)
        known.starts, known.cwd = known.cwd, self._adapter.cwd_after(leaf.call, None, known.cwd)

    def _take_result(
        self,
        known: _Known,
        raw: bytes,
        leaf: Leaf,
        on_answered: OnAnswered | None,
        ask_report: Report,
        *,
        fresh: bool,
    ) -> None:
        """Read the result of a call that precedes it."""
        repeated = self._answers.get(leaf.call_id)
        asked = self._asked(leaf.call_id)
        if asked is None and repeated is not None:
            self._take_again(known, raw, leaf, repeated)
            return
        # Where calls have no id, a client may still give one to each result: they are in the order of the calls.
        asked = asked or self._asked("")
        if asked is None or asked.call is None:
            return
        # Mostly the two ids are equal, and then one text.
        known.answers, known.answer_id = asked, asked.call_id if asked.call_id == leaf.call_id else leaf.call_id
        before = known.cwd
        if self._adapter.cwd_after(asked.call, None, "/") is None:
            # A call that may change the directory did so from where it started.
            before = asked.starts
        # A shim changes no directory, whatever the call would do that it replaced.
        known.cwd = asked.starts if asked.edit else self._adapter.cwd_after(asked.call, leaf.parts or (), before)
        report = ask_report(leaf.call_id, asked.call) if on_answered is not None and not asked.edit else None
        # Otherwise another call of the same turn, or other output of the model, would be between the two.
        alone = asked.at == self._turn and self._known[-1] is asked
        if report is not None and report.cwd and alone:
            known.cwd = report.cwd
        known.chain, known.former = self._chains_of(known, raw, leaf, asked.call)
        edit: Edit | None = asked.edit or self._stored(known)
        if on_answered is not None:
            first = self._texts.setdefault(known.answer_id, known.mark) if leaf.call_id else known.mark
            recorded = on_answered(
                AnsweredCall(
                    call_id=leaf.call_id,
                    call=asked.call,
                    parts=leaf.parts,
                    is_error=leaf.is_error,
                    chain=known.chain,
                    cwd=asked.starts,
                    fresh=fresh,
                    alone=alone,
                    # Some providers give the same id to several calls; each of these has a result of its own.
                    rewritten=first != known.mark and repeated is None,
                    edit=edit,
                    report=report,
                )
            )
            known.step, edit = recorded.step, edit or recorded.edit
        if edit is not None:
            shown = self._shown(edit, asked.call, leaf)
            with suppress(RepeatedNames):
                known.edited = self._dialect.with_parts(raw, shown) if shown is not None else None

    def _chains_of(self, known: _Known, raw: bytes, leaf: Leaf, call: ToolCall) -> tuple[str, str]:
        """The chains behind a result. One that was met before what precedes it was rewritten keeps those it had.

        If it was shown as a reference to something that is no longer here, it is another result: it is shown as it is.
        """
        made, chain, former = self._met.get(known.mark, (None, "", ""))
        if made == call and chain not in self._chains:
            edit = self._store.result(chain)
            kept = edit is None or self._chains.issuperset(edit.targets)
            return (chain, former) if kept else (digest(chain, "shown again"),) * 2
        chain, former = self._chained((known.chain, known.former), raw, leaf, call)
        self._met.setdefault(known.mark, (call, chain, former))
        return chain, former

    def _take_again(self, known: _Known, raw: bytes, leaf: Leaf, first: _Known) -> None:
        """Read a result that the client sends again; it is no further step, and is shown as the first one is.

        An edit of a result holds for that text: another text under the same id is shown as it is.
        """
        asked = first.answers
        if asked is None or asked.call is None or first.edited is None:
            return
        before = self._known[first.at - 1] if first.at else None
        chains = ("", "") if before is None else (before.chain, before.former)
        same = self._chained(chains, raw, leaf, asked.call)[0] == first.chain
        edit: Edit | None = asked.edit or (self._stored(first) if same else None)
        if edit is not None:
            shown = self._shown(edit, asked.call, leaf)
            with suppress(RepeatedNames):
                known.edited = self._dialect.with_parts(raw, shown) if shown is not None else None

    def _asked(self, call_id: str) -> _Known | None:
        """The call that a result answers: of several with one id in one turn, the first that has no result."""
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

    def _chained(self, before: tuple[str, str], raw: bytes, leaf: Leaf, call: ToolCall) -> tuple[str, str]:
        """The chain behind a result and the one of earlier versions, from those before it.

        A client may send a result again with other reminders: it is identified by the tool's own words, and by its
        bytes if it is not only text.
        """
        whole = leaf.parts if leaf.parts is not None else (blake2b(raw, digest_size=16).hexdigest(),)
        own = self._adapter.own_parts(whole) if leaf.parts is not None else whole
        chain = digest(before[0], leaf.call_id, call.name, call.text, *own)
        same = before[0] == before[1] and own == whole
        return chain, chain if same else digest(before[1], leaf.call_id, call.name, call.text, *whole)

    def _stored(self, known: _Known) -> ResultEdit | None:
        """The stored edit of a result."""
        edit = self._store.result(known.chain)
        return edit if edit is not None or known.former == known.chain else self._store.result(known.former)

    def _shown(self, edit: Edit, call: ToolCall, leaf: Leaf) -> tuple[str, ...] | None:
        """The text parts shown for a result; None shows its own. A reference needs its targets in this history."""
        here, parts = self._chains.issuperset(edit.targets), leaf.parts
        if isinstance(edit, CallEdit):
            return self._answer_to_shim(edit, leaf, edit.reference if here else NOT_ANSWERED)
        if parts is None or not here:
            return None
        if edit.shown.kind == "remark":
            return self._adapter.remarked(call, parts, edit.shown.text)
        result = self._adapter.observation_of(call, parts, is_error=leaf.is_error)
        return self._adapter.referenced(call, parts, edit.shown.applied(result.output)) if edit.fits(result) else None

    def _answer_to_shim(self, edit: CallEdit, leaf: Leaf, reference: str) -> tuple[str, ...] | None:
        """The answer to a shim with the reference in place of what the shim printed; None if it did not run.

        What the client added of its own to the answer, such as reminders, stays; a header about the shim does not.
        """
        parts = leaf.parts
        if not shim_ran(self._adapter, edit, parts, is_error=leaf.is_error):
            return None
        if parts is None:
            return (reference,)
        result = self._adapter.observation_of(edit.shim, parts, is_error=leaf.is_error)
        added = result.notice or result.reminders
        return self._adapter.referenced(edit.shim, parts, reference) if added else (reference,)


def shim_ran(adapter: Adapter, edit: CallEdit, parts: tuple[str, ...] | None, *, is_error: bool) -> bool:
    """Whether ``parts`` are what a shim answers; a person may have refused it, or the client may have failed to run it.

    A command prints its mark, and nothing but text. Other tools reject a shim by design: whatever they answer is about
    the shim.
    """
    if isinstance(adapter.action_of(edit.shim, None).call, Aside):
        return True
    result = adapter.observation_of(edit.shim, parts, is_error=is_error) if parts is not None else None
    return result is not None and not (result.failed or result.timed_out) and edit.mark in result.output
