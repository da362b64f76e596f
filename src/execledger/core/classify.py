"""From any action, shell command or structured tool call, to its ``CommandRecord``."""

from __future__ import annotations

from msgspec.structs import replace

from execledger.shell.classify import classify_command
from execledger.shell.facts import NOTHING, Knowledge
from execledger.shell.patches import added_paths, patched_paths
from execledger.shell.paths import beneath, spell, unstable
from execledger.shell.provable import provable_command
from execledger.vocabulary.actions import Action, Aside, Command, Edit, Patch, Read, Search, Write
from execledger.vocabulary.records import WHOLE, Category, CommandRecord, Effects, FileRange, Lines, Scope, View


def classify(action: Action, knowledge: Knowledge = NOTHING) -> CommandRecord:
    """Return what ``action`` would do; a pure function of the action and of ``knowledge`` about the run."""
    call = action.call
    if call is None:
        return classify_command(action.command, action.cwd, knowledge)
    if isinstance(call, Command):
        return _in_manner(call, classify_command(action.command, action.cwd, knowledge))
    if isinstance(call, Read):
        return _read(action, call, knowledge)
    if isinstance(call, Search):
        return _search(action, call)
    if isinstance(call, Edit):
        texts = ((spell(action.cwd, call.path), call.new),)
        return _written(action, (call.path,), texts)
    if isinstance(call, Write):
        texts = ((spell(action.cwd, call.path), call.content),)
        return _written(action, (call.path,), texts, creates=(call.path,))
    if isinstance(call, Patch):
        return _written(action, patched_paths(call.text), (("", call.text),), creates=added_paths(call.text))
    if isinstance(call, Aside):
        return _record(action, Category.OTHER, effects=Effects.NONE)
    return _record(action, Category.OTHER)


def unclassified(action: Action) -> CommandRecord:
    """Return the record of an action whose classification failed: it may write, show and leave running anything."""
    return _record(action, Category.OTHER, opaque="fault", shows=("",), scope=Scope.TREE, background=True)


def provable(action: Action, record: CommandRecord) -> bool:
    """Whether the output of ``action``, whose record is ``record``, depends only on files below its directory.

    That holds for plain readers with known options: if nothing was written since, their output is the same.
    """
    if not (record.comparable and record.literal):
        return False
    if isinstance(action.call, Read):
        return record.view is not None and beneath(record.view.path, action.cwd)
    plain = action.call is None or (isinstance(action.call, Command) and not action.call.merged)
    return plain and provable_command(action.command, action.cwd)


def _in_manner(call: Command, record: CommandRecord) -> CommandRecord:
    """Return the record of a command whose tool was given output options: they are part of what counts as a repeat."""
    record = replace(record, exact=f"{record.exact} # {call.manner}")
    if not call.verbatim:
        return replace(record, view=None, comparable=False)
    unplaced = call.merged and record.view is not None and not record.view.numbering
    return replace(record, view=None) if unplaced else record


def _record(action: Action, category: Category, **more: object) -> CommandRecord:
    return CommandRecord(
        category=category,
        normalized=action.command,
        exact=action.command,
        cwd=action.cwd,
        **more,  # type: ignore[arg-type]
    )


def _read(action: Action, call: Read, knowledge: Knowledge) -> CommandRecord:
    path = spell(action.cwd, call.path)
    lines = Lines(call.first, call.last)
    stable = not unstable(path)
    return _record(
        action,
        Category.SUBMIT if path in knowledge.patches else Category.INSPECT,
        effects=Effects.NONE,
        reads=(FileRange(path, None if lines == WHOLE else lines),),
        view=View(path, (lines,), call.numbering, form=call.form, prefix=call.prefix, joined=bool(call.form))
        if stable
        else None,
        looks_at=(path,),
        shows=(path,),
        contents=(path,),
        comparable=stable,
        literal=stable and path.startswith("/"),
    )


def _search(action: Action, call: Search) -> CommandRecord:
    named = (spell(action.cwd, call.path),) if call.path else ()
    return _record(
        action,
        Category.SEARCH,
        effects=Effects.NONE,
        looks_at=named,
        shows=named if call.shows else (),
        contents=named or ("",),
        comparable=True,
        literal=action.cwd is not None,
    )


def _written(
    action: Action, paths: tuple[str, ...], texts: tuple[tuple[str, str], ...], creates: tuple[str, ...] = ()
) -> CommandRecord:
    known = bool(paths)
    return _record(
        action,
        Category.MODIFY,
        effects=Effects.LISTED if known else Effects.UNKNOWN,
        writes=tuple(spell(action.cwd, path) for path in paths),
        creates=tuple(spell(action.cwd, path) for path in creates),
        scope=Scope.FILES if known else Scope.TREE,
        texts=texts,
    )
