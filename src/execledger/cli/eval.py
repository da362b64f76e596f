"""``execledger eval``: runs, grades, reports and exports evaluations; reports work for any recorded runs."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from execledger.agents.plan_keys import PlanKey
from execledger.agents.registry import evaluated
from execledger.core.policy import Preset
from execledger.core.wording import quantity
from execledger.errors import LedgerError, reason
from execledger.extras import needing
from execledger.off import is_off

if TYPE_CHECKING:
    from execledger.evaluate.metrics import Read
    from execledger.evaluate.plan import Plan
    from execledger.evaluate.records import RunRow
    from execledger.evaluate.study import Study
    from execledger.runs.prices import Prices


@click.group("eval")
def command() -> None:
    """Run an evaluation, grade it, and report on it or on any recorded runs."""


def tell(sentence: str) -> None:
    """Print a sentence to standard error."""
    click.echo(f"execledger: {sentence}", err=True)


def _agent_options() -> Iterator[Callable[..., Any]]:
    """The options for keys of a plan that belong to agents; each help text begins with the agents that have the key."""
    found: dict[str, tuple[PlanKey, list[str]]] = {}
    for agent in evaluated():
        for key in agent.plan_keys:
            found.setdefault(key.name, (key, []))[1].append(agent.key)
    for key, having in found.values():
        if not key.help:
            continue
        several = isinstance(key.default, tuple)
        kind = next((kind for kind in (int, float) if kind in (key.kind, *get_args(key.kind))), str)
        yield click.option(
            f"--{key.name.replace('_', '-')}",
            type=None if key.kind is bool else kind,
            is_flag=key.kind is bool,
            default=() if several else None,
            multiple=several,
            metavar=key.metavar,
            help=f"{', '.join(having)}: {key.help}",
        )


FAILURES_SHOWN = 10
"""Number of failed runs that are named at the end of `eval run`."""
_ARMS = ("base", "inform", "govern", "both", "every", "focused", "shadow")
_OPTIONS = (
    click.option("--agent", type=click.Choice([one.key for one in evaluated()]), help="Agent."),
    click.option("--model", help="Model, as the agent names it."),
    click.option("--reasoning-effort", help="Reasoning effort, in the provider's terms."),
    click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Further setting of the agent."),
    click.option("--time-limit", type=int, help="Seconds per instance."),
    click.option("--subset", help="Dataset: verified, lite, a name on the Hugging Face hub, or a folder."),
    click.option("--split", help="Split of the dataset."),
    click.option("--instance", "instances", multiple=True, metavar="ID", help="Instance to run. [default: all]"),
    click.option("--slice", metavar="A:B", help="Slice of the instances, as in 0:50."),
    click.option("--arm", "arms", multiple=True, type=click.Choice(_ARMS)),
    click.option("--cache", type=click.Choice(["isolated", "shared"]), help="Whether runs share a prompt cache."),
    click.option("--seed", type=int, help="Seed of the order of the arms."),
    click.option("--preset", type=click.Choice([one.value for one in Preset]), help="The proof that a reuse needs."),
    click.option("--trials", type=int, help="Runs per arm and instance."),
    click.option("--program", help="Program of the agent. [default: found on PATH]"),
    click.option("--workers", type=int, help="Parallel processes of the agent."),
    click.option("--batch", type=int, help="Instances per process."),
    click.option("--engine", type=click.Choice(["local", "ray"]), help="Where processes run."),
    click.option("--address", help="ray: address of the cluster. [default: a new one on this machine]"),
    *_agent_options(),
)


def _plan_options(function: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


@command.command("run")
@click.argument("plan_file", required=False, metavar="[PLAN.toml]")
@click.option("-o", "--output", required=True, metavar="DIR", help="Output folder; may hold an unfinished evaluation.")
@click.option("--again", multiple=True, metavar="END", help="Run instances again that ended with this status.")
@click.option("--mixed", is_flag=True, help="Continue although versions have changed.")
@_plan_options
def run(plan_file: str | None, output: str, again: tuple[str, ...], mixed: bool, **options: Any) -> int:
    """Run PLAN.toml; options take precedence over its keys. The same command continues a stopped evaluation."""
    from execledger.evaluate.dataset import load_tasks
    from execledger.evaluate.experiment import program_of, run_experiment, setup_of, versions
    from execledger.evaluate.preflight import Checks
    from execledger.evaluate.study import Study

    if is_off():
        raise LedgerError("EXECLEDGER is off, expected it not to be: every arm would be the arm base")
    study, cwd = Study(Path(output).absolute()), Path.cwd()
    plan = _plan(plan_file, options, study)
    checks = Checks()
    with study.alone():
        program = checks.tried(lambda: program_of(plan))
        found = checks.tried(lambda: versions(plan, cwd)) if program is not None else None
        if found is not None:
            study.admit(plan, found, mixed=mixed)
        # The folder belongs to the plan only once all checks have passed, so what can't be run does not occupy it.
        tasks = checks.tried(lambda: load_tasks(plan, study.dataset, anew=study.recorded() is None))
        instances = tasks.instances if tasks is not None else ()
        unfinished = study.unfinished(plan, instances, again)
        if unfinished or not instances:
            # The other problems of a plan whose program is not there are told with it.
            setup = (
                setup_of(plan, program or plan.record.batch_program, cwd)
                if found is not None or program is None
                else None
            )
            checks.look(plan, setup, unfinished, study.root)
        for warning in checks.warnings:
            tell(warning)
        checks.refuse()
        assert found is not None and tasks is not None, "otherwise it was refused"
        tasks.freeze()
        study.claim(plan, found, mixed=mixed)
        names = [instance.instance_id for instance in instances]
        for ended in again:
            count = sum(trial.take_back(ended) for trial in study.trials(plan))
            tell(f"{count} that ended with {ended} are run again")
        progress = run_experiment(study, plan, program_of(plan), names, cwd, tell)
    for trouble in progress.troubles:
        tell(trouble)
    for failure in progress.failures[:FAILURES_SHOWN]:
        tell(f"failed: {failure}")
    if len(progress.failures) > FAILURES_SHOWN:
        tell(f"failed: {len(progress.failures) - FAILURES_SHOWN} more; `eval report` counts them by kind")
    ends = ", ".join(f"{name or 'no word'} {count}" for name, count in progress.ends.most_common())
    tell(f"{progress.done} of {progress.total} runs finished, {progress.spent}; ended: {ends or 'none'}")
    if progress.done < progress.total:
        tell(f"{progress.stopped or 'some could not be finished'}; the same command goes on from here")
    return int(progress.done < progress.total)


def _plan(plan_file: str | None, options: dict[str, Any], study: Study) -> Plan:
    """Return the plan of the file, or else the recorded one of the folder, with the options applied."""
    from execledger.evaluate.plan import Plan, distribution_keys

    given = {name: value for name, value in options.items() if value not in (None, ())}
    if plan_file is not None:
        try:
            plan = Plan.from_toml(Path(plan_file).read_text(encoding="utf-8"), plan_file)
        except (OSError, UnicodeDecodeError) as error:
            raise LedgerError(f"{plan_file}: the plan can't be read: {reason(error)}") from None
    else:
        recorded = study.recorded()
        if recorded is None and not given.keys() - distribution_keys():
            hint = "give a plan: execledger eval run PLAN.toml -o DIR, or say by options what to run"
            raise LedgerError(f"{study.root}: found no evaluation there to go on with", hint=hint)
        plan = Plan() if recorded is None else recorded.plan
    if "settings" in given:
        given["settings"] = plan.dotted() | dict(map(_setting, given["settings"]))
    named = {one.name: one.opts[0] for one in click.get_current_context().command.params if one.name in given}
    return Plan.from_values(plan.values() | given, plan_file or "plan", named)


def _setting(text: str) -> tuple[str, Any]:
    """Parse ``KEY=VALUE``; a value that is not JSON is taken as text."""
    name, equals, value = text.partition("=")
    if not equals:
        raise LedgerError(f"--set {text}: expected KEY=VALUE")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


@command.command("grade")
@click.argument("folder", metavar="DIR")
@click.option("--reports", metavar="PATH", help="Import reports that were made elsewhere: a file or folder.")
@click.option(
    "--workers", type=click.IntRange(min=1), default=4, show_default=True, help="Instances tested in parallel."
)
def grade(folder: str, reports: str | None, workers: int) -> int:
    """Grade the repairs with the official SWE-bench harness, or from its reports.

    DIR is the output of `eval run`, or the folder of one arm or trial in it.
    """
    from execledger.evaluate.collect import study_of, trials_under
    from execledger.evaluate.grade import grade_of, import_reports, need_harness, read_grades, resolved, run_harness
    from execledger.evaluate.study import PLAN
    from execledger.runs.find import absent

    broken: list[str] = []
    study = study_of(Path(folder), broken)
    recorded = study.recorded() if study is not None else None
    if study is None or recorded is None:
        found = absent(folder)
        if broken and not found:
            raise LedgerError(broken[0])
        found = found or "something else"
        raise LedgerError(f"{folder}: found {found}, expected the output of `execledger eval run`")
    if fault := recorded.plan.unknown_agent:
        tell(f"{study.root / PLAN}: {fault}: only results that are stored apart from its records can be graded")
    under = trials_under(Path(folder), study, recorded.plan)
    if not under:
        named = ", ".join(trial.name for trial in study.trials(recorded.plan))
        raise LedgerError(f"{folder}: no such trial in {study.root}", hint=f"it has: {named}")
    trials = [trial for trial in under if trial.results()]
    unused: list[str] = []
    if reports is not None:
        import_reports(Path(reports), trials, unused)
    else:
        need_harness()
        for trial in trials:
            tell(f"{trial.name}: the harness is at work")
            run_harness(recorded.plan, trial, workers)
    for sentence in unused:
        tell(f"not used: {sentence}")
    for trial in trials:
        grades, results = read_grades(trial), trial.results().values()
        passed = [resolved(result, grades) for result in results]
        valid = [grade for result in results if (grade := grade_of(result, grades)) is not None]
        errors, machine = sum(grade.error for grade in valid), [grade.machine for grade in valid if grade.machine]
        failed = f", {len(machine)} not graded: the machine failed ({', '.join(sorted(set(machine)))})"
        click.echo(
            f"{trial.name}: {passed.count(True)} resolved, {passed.count(False)} not"
            f"{f' ({errors} could not be tested)' if errors else ''}"
            f"{failed if machine else ''}, {passed.count(None) - len(machine)} unknown"
        )
    return int(bool(unused))


_PRICES_HELP = "Prices in TOML over the shipped ones, for models without a price too (docs/reproduce.md#prices)."


@command.command("report")
@click.argument("paths", nargs=-1, required=True, metavar="DIR...")
@click.option("-o", "--output", metavar="DIR", help="Folder to write the report to.")
@click.option("--format", "formats", multiple=True, metavar="NAME", help="md, tex, json, png or svg. [default: all]")
@click.option("--layout", type=click.Choice(["full", "paper"]), default="full", help="In full, or as in the paper.")
@click.option("--prices", "price_file", metavar="FILE", help=_PRICES_HELP)
@click.option("--json", "as_json", is_flag=True, help="Print the tables as JSON.")
def report(
    paths: tuple[str, ...],
    output: str | None,
    formats: tuple[str, ...],
    layout: str,
    price_file: str | None,
    as_json: bool,
) -> None:
    """Print the paper's tables for outputs of `eval run` or any recorded runs."""
    from rich.console import Console

    from execledger.evaluate.collect import collect, conditions, left_out, unfinished, versions_used
    from execledger.evaluate.harbor_jobs import trial_remarks
    from execledger.runs.prices import load_prices

    with needing("eval"):
        from execledger.evaluate.report.write import FORMATS, LAYOUTS, write_report

    if formats and output is None:
        raise LedgerError("--format says how files are written, expected -o DIR for them", hint="--json prints JSON")
    _need_folder(output)
    prices = load_prices(Path(price_file) if price_file else None)
    unreadable: list[str] = []
    partly: list[str] = []
    skipped: Counter[str] = Counter()
    rows = [row for _, row in collect(dict.fromkeys(paths), prices, unreadable, _reader(), skipped, partly)]
    missing = list(dict.fromkeys(sentence for path in paths for sentence in unfinished(Path(path))))
    _tell_unreadable(unreadable, partly, [row.run for row in rows if row.lacks_journal])
    for sentence in missing:
        tell(sentence)
    about = (
        sentence
        for path in paths
        for told in (conditions, versions_used, trial_remarks)
        for sentence in told(Path(path))
    )
    held = list(dict.fromkeys(about))
    held += left_out(skipped)
    for sentence in held:
        tell(sentence)
    excluded = [f"Not read, and so excluded: {sentence}" for sentence in unreadable]
    excluded += [f"Read as far as it goes: {sentence}" for sentence in partly]
    dated = _dated(rows, prices)
    notes, console = [dated, *held, *missing, *excluded], Console(highlight=False)
    with tempfile.TemporaryDirectory(prefix="execledger-") as scratch:
        folder = Path(output or scratch)
        wanted = {*(formats or FORMATS)} if output else set()
        asked = wanted | ({"json"} if as_json else set())
        try:
            tables = write_report(rows, asked, folder, notes=notes, width=console.width, layout=layout)
        except OSError as error:
            raise LedgerError(f"{error.filename or folder}: can't be written: {reason(error)}") from None
        if as_json:
            click.echo((folder / f"{LAYOUTS[layout][0]}.json").read_text(encoding="utf-8"), nl=False)
            return
    tell(dated)
    for table in tables:
        console.print(table, crop=False)


def _dated(rows: Collection[RunRow], prices: Prices) -> str:
    """Say of which day the prices of these runs are, and which models have none for the cached tokens they used."""
    from execledger.runs.prices import by_day

    days = by_day({row.model: prices.day(row.model) for row in rows})
    told = " and of ".join(f"{day} for {', '.join(name or 'unknown' for name in names)}" for day, names in days.items())
    dated = f"Prices are of {told if len(days) > 1 else ', '.join(days) or prices.date}"
    used = {row.model for row in rows if row.tokens is not None and row.tokens.cached}
    whole = sorted(model for model in used if (price := prices.price(model)) is not None and price.cached is None)
    if not whole:
        return dated
    models = " and ".join(f"`{model}`" for model in whole)
    return f"{dated}; cached tokens of {models} are charged as uncached, since no price of `cached` is given"


@command.command("export")
@click.argument("paths", nargs=-1, required=True, metavar="DIR...")
@click.option("-o", "--output", required=True, metavar="DIR", help="Folder for runs.parquet and calls.parquet.")
@click.option("--prices", "price_file", metavar="FILE", help=_PRICES_HELP)
def export(paths: tuple[str, ...], output: str, price_file: str | None) -> None:
    """Write one row per run and one per call as Parquet, for outputs of `eval run` or any recorded runs."""
    from execledger.evaluate.collect import left_out
    from execledger.evaluate.parquet import export as write_parquet
    from execledger.runs.prices import load_prices

    _need_folder(output)
    prices = load_prices(Path(price_file) if price_file else None)
    done = write_parquet(dict.fromkeys(paths), Path(output), prices, read=_reader())
    _tell_unreadable(done.unreadable, done.partly, done.without_journal)
    for sentence in left_out(done.skipped):
        tell(sentence)
    if not done.runs:
        raise LedgerError("found no runs to export")
    click.echo(f"{quantity(done.runs, 'run')} and {quantity(done.calls, 'call')} are in {output}")


def _need_folder(output: str | None) -> None:
    """Refuse an output path that is a file, before anything is read."""
    if output is not None and Path(output).exists() and not Path(output).is_dir():
        raise LedgerError(
            f"{output}: found a file, expected a folder, into which several files are written",
            hint="`eval report --json > FILE` writes the tables into one file",
        )


def _reader() -> Read:
    """Return the function that reads a recorded run, with the calls behind shims in Codex sessions resolved."""
    from execledger.agents.formats import read_run, shim_resolver

    resolve = shim_resolver()
    return lambda name, data: read_run(name, data, resolve)


def _tell_unreadable(unreadable: list[str], partly: list[str], missing: list[str]) -> None:
    """Print what was not read, or only in part, and why, and how many journals are missing."""
    from execledger.evaluate.metrics import without_journal

    for sentence in unreadable:
        tell(f"not read: {sentence}")
    for sentence in partly:
        tell(f"read as far as it goes: {sentence}")
    if unreadable or partly:
        files = len({reason.partition(": ")[0] for reason in (*unreadable, *partly)})
        tell(f"{quantity(files, 'file')} {'was' if files == 1 else 'were'} not read, or not wholly")
    if missing:
        tell(f"{without_journal(len(missing))} (first: {missing[0]})")
