"""Real agents of ``inspect_swe`` in a sandbox: the same scripted session as under ``execledger run``."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import pytest

from execledger.agents.gemini import AGENT as GEMINI
from execledger.agents.opencode import AGENT as OPENCODE
from execledger.journal.reader import read_journal
from tests.support.agents.claude import CURRENT as CLAUDE
from tests.support.agents.claude import ClaudeHome, claude, run_claude
from tests.support.agents.codex import CURRENT as CODEX
from tests.support.agents.codex import CodexHome, codex, run_codex
from tests.support.agents.native import native, run_client
from tests.support.agents.sessions import AgentHome, ledger, or_skip, results, view_of
from tests.support.inspect.evals import asked, inspect_program, is_view, read_last, run_eval, views
from tests.support.servers.scripted import Json, ScriptedServer, played

pytestmark = [pytest.mark.clients, pytest.mark.long]

PROMPT = "Fix file1.py, please."
"""The task of the sample."""
TEST = "python3 -m doctest -v notes.md"
"""A test whose output is the same each time."""
OWN_MARKS = re.compile(
    r"Chunk ID: \w+|Wall time: [\d.]+ seconds|\s*<system-reminder>\n<total_tokens>.*?</system-reminder>", re.DOTALL
)
"""What Codex writes before an output, and what Claude Code appends to some: they differ between any two runs."""
QUIET = {"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1"}
"""Keeps opencode from the network."""
Call: TypeAlias = tuple[str, Json]
Ran: TypeAlias = tuple[int, str]
"""The exit status of an agent, and what it wrote to standard error."""


class Client(NamedTuple):
    """One agent."""

    agent: str
    """Its name in ``inspect_swe``."""
    options: Json
    """What ``inspect_swe`` is asked for: the version ``sandbox`` is the program on the path."""
    program: Callable[[], Path]
    """Installs it."""
    shell: Callable[[str], Call]
    """The call that runs a command."""
    read: Callable[[str, int, int], Call]
    """The call that shows lines of a file, the first and the last."""
    edit: Callable[[str, str, str], Call]
    """The call that replaces a text in a file by another."""
    alone: Callable[[Path, Path, str, Sequence[str]], Ran]
    """Runs it without Inspect: the program, the folder of a user, the address of a model, and a launcher."""

    def story(self, file: Path) -> list[list[Call]]:
        """Read, read a part, show it by a command, the same again, edit, read the edited part, a test, and again."""
        path = str(file)
        calls = [
            self.read(path, 1, 120),
            self.read(path, 20, 80),
            self.shell("cat big.py"),
            self.shell("cat big.py"),
            self.edit(path, "value_7 = 7 ", "value_7 = 8 "),
            self.read(path, 1, 40),
            self.shell(TEST),
            self.shell(TEST),
        ]
        return [[call] for call in calls]


def command(text: str) -> Call:
    """A command of Codex."""
    return "exec_command", {"cmd": text}


def codex_alone(program: Path, folder: Path, url: str, prefix: Sequence[str]) -> Ran:
    """Codex with a provider of the user's own."""
    run = run_codex(program, PROMPT, url=f"{url}/v1", home=CodexHome(folder), prefix=prefix)
    return run.status, run.errors


def claude_alone(program: Path, folder: Path, url: str, prefix: Sequence[str]) -> Ran:
    """Claude Code with an API key."""
    run = run_claude(program, PROMPT, url=url, home=ClaudeHome(folder), prefix=prefix)
    return run.status, run.errors


def opencode_alone(program: Path, folder: Path, url: str, prefix: Sequence[str]) -> Ran:
    """Opencode in the dialect that ``inspect_swe`` makes it speak."""
    options: dict[str, Any] = {"options": {"baseURL": f"{url}/v1", "apiKey": "dummy"}}
    config = {"provider": {"anthropic": options}, "permission": "allow", "share": "disabled", "autoupdate": False}
    variables = {"OPENCODE_CONFIG_CONTENT": json.dumps(config), **QUIET}
    words = ["run", "--model", "anthropic/claude-sonnet-4-5", "--format", "json", PROMPT]
    run = run_client([*prefix, str(program), *words], AgentHome(folder), variables)
    return run.status, run.errors


CLIENTS = [
    Client(
        agent="codex_cli",
        options={"version": "sandbox"},
        program=lambda: codex(CODEX),
        shell=command,
        read=lambda path, first, last: command(f"sed -n '{first},{last}p' {path}"),
        edit=lambda path, old, new: command(f"sed -i 's/{old}/{new}/' {path}"),
        alone=codex_alone,
    ),
    Client(
        agent="claude_code",
        options={"version": "sandbox"},
        program=lambda: claude(CLAUDE),
        shell=lambda text: ("Bash", {"command": text}),
        read=lambda path, first, last: ("Read", {"file_path": path, "offset": first, "limit": last - first + 1}),
        edit=lambda path, old, new: ("Edit", {"file_path": path, "old_string": old, "new_string": new}),
        alone=claude_alone,
    ),
    Client(
        agent="opencode",
        options={"version": "sandbox", "env": QUIET},
        program=lambda: native("opencode-ai", OPENCODE.tested[-1], "opencode", "bin/opencode"),
        shell=lambda text: ("bash", {"command": text, "description": "run it"}),
        read=lambda path, first, last: ("read", {"filePath": path, "offset": first, "limit": last - first + 1}),
        edit=lambda path, old, new: ("edit", {"filePath": path, "oldString": old, "newString": new}),
        alone=opencode_alone,
    ),
]


class Session(NamedTuple):
    """What came of one session."""

    decided: list[tuple[str, str | None, str, str, str]]
    """Of each command: itself, its directory, the rule, how its result was shown, and the result as it was shown."""
    read: list[str]
    """The results that the model read with its last call."""
    views: list[str]
    """The state view of each model call; "" where there was none."""


def ripgrep() -> Path:
    """A folder with ``rg``, which ``inspect_swe`` downloads for opencode where there is none: Codex brings one."""
    return next(codex(CODEX).parents[1].rglob("rg")).parent


def decided(folder: Path) -> list[tuple[str, str | None, str, str, str]]:
    """What the one journal in a folder says of each command."""
    (path,) = folder.glob("*.jsonl")
    steps = [event.step for event in read_journal(path.name, path.read_bytes()).steps]
    return [(one.action.command, one.action.cwd, one.decision.rule, one.shown.kind, one.shown.text) for one in steps]


def under_inspect(
    client: Client, program: Path, folder: Path, options: str, turns: Sequence[Sequence[Call]]
) -> Session:
    """The session in a local sandbox of Inspect."""
    script = {
        "turns": [[f"tool {call[0]} {json.dumps(call[1])}" for call in turn] for turn in turns],
        "agent": client.agent,
        "options": {"cwd": str(folder / "repository"), **client.options},
    }
    path, home = [program.parent, ripgrep()], folder / "user"
    run = run_eval(folder / "eval", "bridged", script, options=options, path=path, home=home)
    (sample,) = run.samples()
    assert sample.get("error") is None, run.output
    assert "Ledger" not in str([event for event in sample["events"] if event["event"] == "logger"])
    read = [OWN_MARKS.sub("", one) for _, one in read_last(sample)]
    return Session(decided(run.journals), read, views(sample))


def under_our_runner(
    client: Client, program: Path, folder: Path, options: Sequence[str], turns: Sequence[Sequence[Call]]
) -> Session:
    """The session under ``execledger run``."""
    with ScriptedServer(played(turns)) as server:
        status, errors = client.alone(program, folder, server.url, ledger(folder / "journals", *options))
    assert status == 0 and "fault" not in errors, errors
    read = [OWN_MARKS.sub("", one) for one in results(server.turns[-1]).values()]
    return Session(decided(folder / "journals"), read, [view_of(request) for request in server.turns])


@pytest.mark.parametrize("preset", ["verified", "paper"])
@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: str(client.agent))
def test_a_session_is_that_of_our_own_runner(client: Client, preset: str, tmp_path: Path) -> None:
    """The same decisions, results as the model read them, and state views."""
    or_skip(inspect_program)
    program = or_skip(client.program)
    home = AgentHome(tmp_path)
    (home.repository / "notes.md").write_text(">>> 1 + 1\n2\n>>> 2 + 2\n5\n")
    turns = client.story(home.big)
    bridged = under_inspect(client, program, tmp_path, f"cadence=every,preset={preset}", turns)
    home.rewrite()
    alone = under_our_runner(client, program, tmp_path, ("--cadence", "every", "--preset", preset), turns)
    assert bridged == alone
    assert any(kind == "reference" for _, _, _, kind, _ in bridged.decided)
    assert all(bridged.views[1:])


def test_gemini_cli_is_left_as_it_is(tmp_path: Path) -> None:
    """Inspect's bridge renames its calls and encodes its results: its run is intact, and nothing is added to it."""
    or_skip(inspect_program)
    home = AgentHome(tmp_path)
    settings = home.user / ".gemini" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"security": {"auth": {"selectedType": "gemini-api-key"}}}')
    read = f"tool read_file {json.dumps({'file_path': str(home.big)})}"
    script = {
        "turns": [[read], [read]],
        "agent": "gemini_cli",
        "options": {"version": GEMINI.tested[-1], "cwd": str(home.repository)},
    }
    run = run_eval(tmp_path / "eval", "bridged", script, options="cadence=every", home=home.user)
    (sample,) = run.samples()
    assert sample.get("error") is None, run.output
    calls = asked(sample)
    assert len(calls) == 3 and not any(is_view(message) for call in calls for message in call["input"])
    first, second = (result for _, result in read_last(sample))
    assert "value_119 = 119" in first and first == second
    said = str([event["message"]["message"] for event in sample["events"] if event["event"] == "logger"])
    assert "Gemini CLI is not supported under Inspect" in said and not run.journals.exists()
