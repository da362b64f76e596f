"""The ``execledger`` command line: a group of verbs, each imported when it is called, so that ``--help`` is quick."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Any

import click

from execledger.errors import LedgerError, reason
from execledger.version import __version__

VERBS = {
    "demo": ("execledger.cli.demo", "Show what Ledger does: live with a scripted model, or on a recorded run."),
    "doctor": ("execledger.cli.doctor", "Check the installation, find installed agents, and say what to fix."),
    "eval": ("execledger.cli.eval", "Run the paper's experiment, grade it, and report on any recorded runs."),
    "explain": ("execledger.cli.explain", "Say what one shell command would do, without running it."),
    "inspect": ("execledger.cli.inspect", "Print what Ledger needs under Inspect: a file of approvers."),
    "off": ("execledger.cli.off", "Switch Ledger off in running sessions, or undo `execledger on AGENT --install`."),
    "on": ("execledger.cli.on", "Switch Ledger on in running sessions, or for every start of an agent."),
    "proxy": ("execledger.cli.proxy", "Serve a model-API proxy for any number of agents."),
    "purge": ("execledger.cli.purge", "Delete stored journals: by age, by run, or all of them."),
    "replay": ("execledger.cli.replay", "Replay recorded runs and measure every decision against what was recorded."),
    "run": ("execledger.cli.run", "Start an unmodified agent with Ledger."),
    "stats": ("execledger.cli.stats", "Print totals over many runs, from their journals."),
    "view": ("execledger.cli.view", "Show runs in the browser, live or recorded, or in one file."),
    "why": ("execledger.cli.why", "Print one decision of a recorded run, with its proof and the state view."),
}
"""The module of each verb, and its line in the list of verbs."""


class Given(click.types.StringParamType):
    """A string parameter that may not be empty: an unset shell variable gives "", which as a path would be ``.``."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the text; an empty one is a usage error."""
        empty = "found an empty value, as an unset variable leaves it, expected a text"
        return super().convert(value, param, ctx) or self.fail(empty, param, ctx)


def _refuse_empty_values(command: click.Command) -> None:
    """Make every string parameter of a command refuse an empty value; ``UNPROCESSED`` ones may be empty."""
    for parameter in command.params:
        if parameter.type is click.STRING:
            parameter.type = Given()
    for inner in command.commands.values() if isinstance(command, click.Group) else ():
        _refuse_empty_values(inner)


class Verbs(click.Group):
    """A click group that imports its commands when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all verbs."""
        return sorted(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return the verb ``cmd_name``; None if there is no such verb."""
        if cmd_name not in VERBS:
            return None
        command: click.Command = import_module(VERBS[cmd_name][0]).command
        _refuse_empty_values(command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the verb that a command line begins with; if it names an agent, the error says how to start it."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from execledger.agents.registry import agents

            if any(args[0] in one.programs and one.use == "run" for one in agents()):
                how = f"{error.message} To start an agent: execledger run -- {' '.join(args)}"
                raise click.UsageError(how, ctx) from None
            raise

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of verbs without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, VERBS[name][1]) for name in sorted(VERBS)])


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="execledger")
def group() -> None:
    """Ledger: an execution ledger around an unmodified coding agent."""


def _coloured() -> bool | None:
    """Return False if ``NO_COLOR`` or a dumb terminal forbids colours, None to let click decide."""
    return False if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" else None


def _drop_output() -> None:
    """Redirect standard output to the null device, so that Python does not try to flush it again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def main() -> int:
    """Run the command line and return its exit status; expected errors are printed as a sentence, not a traceback."""
    try:
        result = group.main(standalone_mode=False, color=_coloured())
        sys.stdout.flush()
    except LedgerError as error:
        click.echo(f"execledger: {error}", err=True)
        return 2
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return 130
    except BrokenPipeError:
        # The process that read our output has exited, so nothing can be printed.
        sys.stderr.close()
        return 141
    except OSError as error:
        if error.filename is not None:
            # An error about standard output has no file name; one about a descriptor has its number in place of it.
            named = f"descriptor {error.filename}" if isinstance(error.filename, int) else os.fsdecode(error.filename)
            click.echo(f"execledger: {named}: {reason(error)}", err=True)
            return 1
        click.echo(f"execledger: {error.strerror or error}: the output can't be written", err=True)
        _drop_output()
        return 1
    return result if isinstance(result, int) else 0
