"""The symbols that a step touches, from the texts that it carries or shows."""

from __future__ import annotations

from execledger.shell.patches import looks_like_patch
from execledger.shell.paths import spell
from execledger.shell.transient import transient
from execledger.symbols.outline import edited, outline
from execledger.symbols.patched import patched
from execledger.vocabulary.actions import Action, Edit, Observation
from execledger.vocabulary.records import CommandRecord


def edited_symbols(record: CommandRecord, action: Action, observation: Observation) -> dict[str, tuple[str, ...]]:
    """By file, the functions and classes that are known to be touched; a file without an entry has unknown symbols."""
    found: dict[str, tuple[str, ...]] = {}
    if isinstance(action.call, Edit):
        _note(found, spell(record.cwd, action.call.path), edited(action.call.path, action.call.old, action.call.new))
        return found
    for path, text in record.texts:
        if path and not transient(path, record.cwd):
            _note(found, path, outline(path, text))
        elif not path:
            _patch(found, record, text)
    if looks_like_patch(observation.output):
        _patch(found, record, observation.output)
    return found


def _patch(found: dict[str, tuple[str, ...]], record: CommandRecord, text: str) -> None:
    for file in patched(text):
        _note(found, spell(record.cwd, file.path), file.symbols)


def _note(found: dict[str, tuple[str, ...]], path: str, symbols: tuple[str, ...] | None) -> None:
    if symbols:
        found[path] = tuple(dict.fromkeys((*found.get(path, ()), *symbols)))
