"""What the verbs over recorded runs share: finding them, progress, and the policy options."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
from msgspec.structs import replace

from execledger.agents.evaluation import JOURNALS
from execledger.agents.formats import find_recorded, read_run, shim_resolver
from execledger.core.policy import Policy, Preset
from execledger.errors import LedgerError, UnreadableRun
from execledger.evaluate.collect import study_of
from execledger.evaluate.run_journals import Journals, runs_first
from execledger.runs.find import absent
from execledger.runs.journals import FORMAT as JOURNAL
from execledger.runs.recording import Run


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
            reason = getattr(error, "strerror", None) or error
            raise LedgerError(f"{policy_file}: the policy can't be read: {reason}") from None
        policy = Policy.from_toml(text, policy_file)
    return replace(policy, preset=Preset(preset)) if preset else policy


def read_runs(
    paths: tuple[str, ...],
    unreadable: list[str],
    left_out: list[str] | None = None,
    skipped: Counter[str] | None = None,
) -> Iterator[Run]:
    """Every run under ``paths``, each path once; what can't be read is noted and does not stop the others.

    With ``left_out``, journals that belong to other runs that are read are noted there, and not read. What a search in
    folders passes by is counted in ``skipped``.
    """
    lost = {path: found for path in paths if (found := absent(path))}
    there = [path for path in dict.fromkeys(paths) if path not in lost]
    unreadable += [f"{path}: found {found}, expected recorded runs" for path, found in lost.items()]
    resolve, journals = shim_resolver(), Journals()
    sources = find_recorded(there, skipped=skipped)
    for source in sources if left_out is None else runs_first(sources):
        if left_out is not None and _is_part(source.name, there, journals):
            left_out.append(source.name)
            continue
        try:
            data = source.read()
            run = read_run(source.name, data, resolve)
        except UnreadableRun as error:
            unreadable.append(str(error))
            continue
        if left_out is not None and run.format != JOURNAL:
            journals.claim(source.name, data)
        yield run


def _is_part(name: str, given: list[str], journals: Journals) -> bool:
    """Whether a file is the journal of a run that is read, or one of an evaluation, and was not asked for itself."""
    file = Path(name)
    if {file, file.parent} & {Path(path) for path in given}:
        return False
    return journals.belongs(name) or (file.parent.name == JOURNALS and study_of(file.parent.parent) is not None)
