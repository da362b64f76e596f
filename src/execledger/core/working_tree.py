"""The working tree as a whole: whether it has changed since a command ran, by the looks of a witness.

A look behind a result has a digest of the files of the working tree. Where the looks behind two equal results, and all
looks in between, have the same one, no file has changed, whatever programs of unknown effects ran meanwhile. What may
have been written without a look behind it proves nothing, nor does anything once a job was left running.
"""

from __future__ import annotations

import re
from collections import deque
from typing import TYPE_CHECKING

from execledger.core.seal import stopped
from execledger.core.witness_limits import MAX_TREE_LOOKS
from execledger.vocabulary.records import Category, CommandRecord, Effects
from execledger.vocabulary.sightings import TreeSighting

if TYPE_CHECKING:
    from execledger.core.ledger import Ledger, StepRecord

WORK = (Category.MODIFY, Category.SETUP, Category.SUBMIT)
"""Categories of commands by which a model means to change something, in the working tree or elsewhere."""
ENTERED = re.compile(r"cd (?P<folder>/[\w./+-]*) && ")
"""The beginning of a normal form that starts in another folder."""
MOVES = re.compile(r"(?<![\w./-])(?:cd|pushd)(?![\w./-])")
"""A command that works in another folder than it was started in."""


class TreeLooks:
    """The looks at the working tree, the newest last."""

    def __init__(self) -> None:
        """No look was taken yet."""
        self._looks: deque[TreeSighting] = deque(maxlen=MAX_TREE_LOOKS)

    def take(self, look: TreeSighting) -> None:
        """Take in a look; after one that found nothing certain, the earlier ones prove nothing any more."""
        if look.digest:
            self._looks.append(look)
        else:
            self._looks.clear()

    @property
    def known(self) -> bool:
        """Whether the last look has found something."""
        return bool(self._looks)

    def since(self, step: int, until: int) -> list[TreeSighting]:
        """The looks behind ``step`` and behind the steps after it, before step ``until``."""
        return [look for look in self._looks if step <= look.step < until]

    def behind(self, step: int) -> TreeSighting | None:
        """The newest look, if it is behind ``step`` or a later one."""
        return self._looks[-1] if self._looks and self._looks[-1].step >= step else None


def is_looked_behind(record: CommandRecord) -> bool:
    """Whether the working tree is looked at behind such a command: what it may have written is not known."""
    return record.may_write and record.effects is not Effects.LISTED


def unchanged_since(ledger: Ledger, step: int, record: CommandRecord) -> bool:
    """Whether a command may be called a repetition of ``step`` in an unchanged working tree, before it runs."""
    looks = ledger.tree.since(step, len(ledger))
    if ledger.left_running or not looks or looks[0].step != step or not _works_in(record, looks[0].folders):
        return False
    known = all(not one.record.may_write for one in ledger.results[looks[-1].step + 1 :])
    return known and _same(looks) and not any(map(_is_work, ledger.results[step + 1 :]))


def still_unchanged(ledger: Ledger, step: int) -> bool:
    """Whether a look behind the result that is compared now has found the same as the look behind ``step``."""
    now = ledger.tree.behind(len(ledger))
    looks = ledger.tree.since(step, len(ledger))
    return now is not None and bool(looks) and looks[0].step == step and _same([*looks, now])


def is_comparable(result: StepRecord) -> bool:
    """Whether a result may be compared with that of a repetition: it ended by itself, with nothing beside it."""
    return result.sound and not stopped(result.exit_status) and result.clock >= 0


def _same(looks: list[TreeSighting]) -> bool:
    return len({(look.folders, look.digest) for look in looks}) == 1


def _is_work(result: StepRecord) -> bool:
    """Whether the model meant to change something: what it tries after that is no repetition, whatever came of it."""
    record = result.record
    meant = record.effects is Effects.LISTED or record.category in WORK or bool(record.writes)
    return meant and result.print is not None


def _works_in(record: CommandRecord, folders: tuple[str, ...]) -> bool:
    """Whether a command works in the working tree: by where it starts, and no ``cd`` leads out of there."""
    entered = ENTERED.match(record.normalized)
    rest = record.normalized[entered.end() :] if entered else record.normalized
    start = entered["folder"] if entered else record.cwd
    if start is None or MOVES.search(rest) or ".." in start.split("/"):
        return False
    return any(start == folder or start.startswith(folder.rstrip("/") + "/") for folder in folders)
