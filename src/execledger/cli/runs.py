"""What the verbs over recorded runs share: finding them, progress, and the policy options."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
from msgspec.structs import replace

from execledger.core.policy import Policy, Preset
from execledger.errors import LedgerError, UnreadableRun
from execledger.trajectories import Run, find_runs, read_run


def policy_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options that choose a policy."""
    names = [preset.value for preset in Preset]
    preset = click.option(
        "--preset", type=click.Choice(names), help="The proof that a reuse needs. [default: verified]"
    )
    file = click.option("--policy", "policy_file", metavar="FILE", help="A policy in TOML.")
    return preset(file(function))


def chosen_policy(preset: str | None, policy_file: str | None) -> Policy:
    """The policy that the options name."""
    policy = Policy()
    if policy_file is not None:
        try:
            text = Path(policy_file).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise LedgerError(f"{policy_file}: the policy can't be read: {error}") from None
        policy = Policy.from_toml(text, policy_file)
    return replace(policy, preset=Preset(preset)) if preset else policy


def read_runs(paths: tuple[str, ...], unreadable: list[str]) -> Iterator[Run]:
    """Every run under ``paths``, each path once; what can't be read is noted and does not stop the others."""
    there = [path for path in dict.fromkeys(paths) if os.path.exists(path)]
    unreadable += [f"{path}: found nothing there" for path in dict.fromkeys(paths) if path not in there]
    for source in find_runs(there):
        try:
            yield read_run(source.name, source.read())
        except UnreadableRun as error:
            unreadable.append(str(error))
