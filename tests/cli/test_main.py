"""The command as a whole: help, unknown verbs, and errors without a traceback."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
from inline_snapshot import snapshot

from execledger import __version__
from execledger.cli.main import VERBS
from execledger.journal import Ended
from execledger.journal.events import Counts
from tests.cli.conftest import Execledger
from tests.journal.runs import plain_step, start, written
from tests.viewer.stage import DEMO


def test_the_help_lists_every_verb(execledger: Execledger) -> None:
    """With one line on each; the usage line above them depends on how Python was started."""
    called = execledger("--help")
    assert (called.status, called.err, called.out.splitlines()[1:]) == snapshot(
        (
            0,
            "",
            [
                "",
                "  Ledger: an execution ledger around an unmodified coding agent.",
                "",
                "Options:",
                "  --version   Show the version and exit.",
                "  -h, --help  Show this message and exit.",
                "",
                "Commands:",
                "  demo     Show what Ledger does: live with a scripted model, or on a recorded",
                "           run.",
                "  doctor   Check the installation, find installed agents, and say what to fix.",
                "  eval     Run the paper's experiment, grade it, and report on any recorded",
                "           runs.",
                "  explain  Say what one shell command would do, without running it.",
                "  inspect  Print what Ledger needs under Inspect: a file of approvers.",
                "  off      Switch Ledger off in running sessions, or undo `execledger on AGENT",
                "           --install`.",
                "  on       Switch Ledger on in running sessions, or for every start of an",
                "           agent.",
                "  proxy    Serve a model-API proxy for any number of agents.",
                "  purge    Delete stored journals: by age, by run, or all of them.",
                "  replay   Replay recorded runs and measure every decision against what was",
                "           recorded.",
                "  run      Start an unmodified agent with Ledger.",
                "  stats    Print totals over many runs, from their journals.",
                "  view     Show runs in the browser, live or recorded, or in one file.",
                "  why      Print one decision of a recorded run, with its proof and the state",
                "           view.",
            ],
        )
    )


def test_an_unknown_verb_is_named(execledger: Execledger) -> None:
    """Wrong usage ends with 2, and nothing on standard output."""
    called = execledger("frobnicate")
    assert (called.status, called.out, "No such command 'frobnicate'" in called.err) == (2, "", True)


def test_an_agent_in_place_of_a_verb_is_told_the_verb(execledger: Execledger) -> None:
    """With the whole line to type."""
    called = execledger("mini", "-t", "x")
    assert (called.status, "To start an agent: execledger run -- mini -t x" in called.err) == (2, True)


@pytest.mark.parametrize("variable", [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {}])
def test_colours_are_left_out_where_the_user_says_so(
    execledger: Execledger, monkeypatch: pytest.MonkeyPatch, variable: dict[str, str]
) -> None:
    """``NO_COLOR`` and a terminal that has none."""
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variable.items():
        monkeypatch.setenv(name, value)
    # What click asks about a stream: whether it is a terminal.
    monkeypatch.setattr("click._compat.isatty", lambda _: True)
    assert ("\x1b[" in execledger("demo", "--recorded").out) == (not variable)


def test_the_version_is_the_packages_own(execledger: Execledger) -> None:
    """As a program may ask for it."""
    assert execledger("--version")[:2] == (0, f"execledger, version {__version__}\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ("replay", "missing"),
        ("replay",),
        ("replay", "--policy", "missing", "."),
        ("replay", "--preset", "strict", "."),
        ("why", "missing", "0"),
        ("why", "missing.tar!member", "0"),
        ("explain",),
    ],
)
def test_a_mistake_of_the_user_is_one_sentence_and_exit_2(arguments: tuple[str, ...], tmp_path: Path) -> None:
    """In a process of its own: data goes to standard output, and there is none; no traceback."""
    command = (sys.executable, "-m", "execledger", *arguments)
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, "Traceback" in done.stderr, done.stderr != "") == (2, "", False, True)


@pytest.mark.parametrize(
    "arguments",
    [
        ("purge", "", "--all", "--yes"),
        ("purge", "--run", "", "--yes"),
        ("stats", ""),
        ("replay", ""),
        ("replay", DEMO, "--decisions", ""),
        ("explain", "cat a.py", "--cwd", ""),
        ("why", DEMO, ""),
        ("view", "", "--export", "z.html"),
        ("run", "--journal", "", "--", "mini"),
        ("eval", "export", DEMO, "-o", ""),
    ],
    ids=lambda arguments: "-".join(map(str, arguments[:2])),
)
def test_an_empty_value_names_nothing(
    execledger: Execledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[object, ...]
) -> None:
    """It is what an unset variable leaves: not the current folder, not every run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EXECLEDGER_JOURNAL", str(tmp_path))
    journal = written(tmp_path, [start(), plain_step(0), Ended(counts=Counts(proposed=1))])
    called = execledger(*arguments)
    assert (called.status, called.out, list(tmp_path.iterdir())) == (2, "", [journal])
    assert "found an empty value, as an unset variable leaves it, expected a text" in called.err


@pytest.mark.parametrize(
    "verb", [("stats",), ("replay",), ("why", 0), ("view", "--export", "z.html"), ("purge", "--all")]
)
@pytest.mark.parametrize("kind", ["leads nowhere", "leads back to itself"])
def test_a_link_that_can_not_be_followed_is_called_one(
    execledger: Execledger, tmp_path: Path, verb: tuple[object, ...], kind: str
) -> None:
    """It is not taken for nothing at all."""
    link = tmp_path / "link"
    link.symlink_to("link" if kind == "leads back to itself" else "nowhere")
    called = execledger(verb[0], link, *verb[1:])
    assert (called.status, called.out) == (2, "")
    assert f"{link}: found a symbolic link that {kind}, expected " in called.err


def test_an_upstream_of_an_unknown_agent_names_the_known_ones(execledger: Execledger) -> None:
    """The word before the address is what is wrong."""
    called = execledger("proxy", "--upstream", "nope=http://x")
    assert (called.status, called.out) == (2, "")
    assert called.err.startswith("execledger: --upstream nope=http://x: 'nope' is no agent that a proxy serves\n")
    assert "codex, claude, opencode" in called.err


@pytest.mark.parametrize("upstream", ["x", "ftp://x", "http://", "http://127.0.0.1:99999", "http://x y", " http://x"])
def test_an_upstream_that_is_no_address_is_refused(execledger: Execledger, upstream: str) -> None:
    """Before anything is started."""
    called = execledger("proxy", "--upstream", upstream)
    assert (called.status, called.out) == (2, "")
    assert called.err.startswith(f"execledger: {upstream!r} can't be sent on to: found no address of a server\n")


@pytest.mark.parametrize("verb", ["run", "report", "export", "grade"])
def test_a_file_in_place_of_a_folder_is_named(execledger: Execledger, tmp_path: Path, verb: str) -> None:
    """Whatever the system calls that."""
    file = tmp_path / "file"
    file.touch()
    arguments = {"run": ("-o", file), "grade": (file,)}.get(verb, (DEMO, "-o", file))
    called = execledger("eval", verb, *arguments)
    assert (called.status != 0, called.out, "Errno" in called.err) == (True, "", False)
    assert called.err.startswith(f"execledger: {file}: ")


@click.command()
def command() -> None:
    """Open a folder by its descriptor, as a file: the error has the descriptor's number in place of a name."""
    os.fdopen(os.open("/", os.O_RDONLY), "rb")


def test_an_error_about_a_descriptor_is_a_sentence(execledger: Execledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its name is no text."""
    monkeypatch.setitem(VERBS, "open-folder", (__name__, ""))
    called = execledger("open-folder")
    assert (called.status, called.out) == (1, "")
    assert re.fullmatch(r"execledger: descriptor \d+: Is a directory\n", called.err)


VERBS_THAT_READ = (
    ("purge", "--all", "--yes"),
    ("stats",),
    ("view", "--export", "z.html"),
    ("view", DEMO, "--export", "z.html"),
)


@pytest.mark.parametrize("arguments", VERBS_THAT_READ, ids=["purge", "stats", "view", "view-other"])
@pytest.mark.parametrize("kind", ["file", "link", "closed"])
def test_a_state_folder_that_can_not_be_read_is_named(
    execledger: Execledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[object, ...], kind: str
) -> None:
    """With status 1; it is not taken for one that is not there yet, nor for an output."""
    state = tmp_path / "execledger"
    match kind:
        case "file":
            state.touch()
        case "link":
            state.symlink_to("nowhere")
        case _ if os.geteuid() == 0:
            pytest.skip("root reads every folder")
        case _:
            state.mkdir(mode=0)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.delenv("EXECLEDGER_JOURNAL", raising=False)
    monkeypatch.chdir(tmp_path)
    called = execledger(*arguments)
    assert (called.status, called.out) == (1, "")
    assert called.err.startswith(f"execledger: {state}: can't be read: ") and called.err.count("\n") == 1
    assert not (tmp_path / "z.html").exists()


WITHOUT_EXTRAS = """
import importlib.abc
import sys

EXTRAS = "aiohttp duckdb inspect_ai litellm matplotlib minisweagent numpy ray scipy swebench zstandard".split()


class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in EXTRAS:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, Absent())
from execledger.cli.main import main

sys.exit(main())
"""


@pytest.mark.parametrize(
    "arguments",
    [
        *([verb, "--help"] for verb in VERBS),
        *(["eval", verb, "--help"] for verb in ("run", "grade", "report", "export")),
        ["replay", str(DEMO)],
        ["replay", str(DEMO), "--html", "page.html"],
        ["why", str(DEMO), "3"],
        ["view", str(DEMO), "--export", "runs.html"],
        ["demo", "--recorded"],
    ],
    ids=" ".join,
)
def test_what_needs_no_extra_runs_without(arguments: list[str], tmp_path: Path) -> None:
    """An installation with the required packages alone has every verb's help, replays and exported pages."""
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_EXTRAS, *arguments],
        cwd=tmp_path,
        env={**os.environ, "XDG_STATE_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
