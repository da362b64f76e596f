"""What the verbs over recorded runs share: finding them, progress, and the policy options."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
from msgspec.structs import replace

from execledger.agents.tool_calls import ToolCall
from execledger.core.policy import Policy, Preset
from execledger.errors import LedgerError, UnreadableRun
from execledger.journal.folder import edits_file
from execledger.trajectories import Run, find_runs, read_run


def policy_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options that choose a policy."""
    names = [preset.value for preset in Preset]
    preset = click.option(
        "--preset",
        type=click.Choice(names),
        help="The proof that a reuse needs. [default: the run's own, else verified]",
    )
    file = click.option("--policy", "policy_file", metavar="FILE", help="A policy in TOML.")
    return preset(file(function))


def chosen_policy(preset: str | None, policy_file: str | None) -> Policy | None:
    """The policy that the options name; None if they name none: then each run has its own, or the default."""
    if preset is None and policy_file is None:
        return None
    policy = Policy()
    if policy_file is not None:
        try:
            text = Path(policy_file).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise LedgerError(f"{policy_file}: the policy can't be read: {error}") from None
        policy = Policy.from_toml(text, policy_file)
    return replace(policy, preset=Preset(preset)) if preset else policy


def shim_resolver() -> Callable[[str], ToolCall | None] | None:
    """What knows the calls that shims in Codex's own records stand for; None if this machine has no edits."""
    if not edits_file().is_file():
        return None
    from execledger.proxy.edits import EditStore

    store = EditStore(edits_file())

    def original(mark: str) -> ToolCall | None:
        edit = store.call(mark)
        return None if edit is None else edit.original

    return original


def read_runs(paths: tuple[str, ...], unreadable: list[str]) -> Iterator[Run]:
    """Every run under ``paths``, each path once; what can't be read is noted and does not stop the others."""
    there = [path for path in dict.fromkeys(paths) if os.path.exists(path)]
    unreadable += [f"{path}: found nothing there" for path in dict.fromkeys(paths) if path not in there]
    resolve = shim_resolver()
    for source in find_runs(there):
        try:
            yield read_run(source.name, source.read(), resolve)
        except UnreadableRun as error:
            unreadable.append(str(error))
