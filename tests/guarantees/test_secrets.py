"""Secrets of every kind, planted wherever an agent meets them: none comes to rest in a file or a message of ours."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from urllib.request import Request as WebRequest
from urllib.request import urlopen

import pytest

from execledger.agents.codex import tools as codex
from execledger.demo.mini import SUBMIT, environment
from execledger.journal.reader import read_journal, rebuild
from execledger.proxy.book import Rules
from execledger.proxy.edits import EditStore
from execledger.proxy.serve import Proxy, ProxySettings
from execledger.redact import redact
from execledger.testing.scripted_model import ModelServer, Turn
from tests.proxy.talk import Talk, message, new_passage, opening
from tests.proxy.test_sabotage import conversation, sites
from tests.support.agents.mini import installed, run_mini
from tests.support.faults.sabotage import Sabotage, sabotaged
from tests.support.planted_secrets import Planted, files_below, planted, remains
from tests.support.servers.responses import ResponsesServer, call, turns

pytestmark = pytest.mark.guarantee("no-secrets", "pitfall-18")
FILLER = "".join(f"setting_{number} = {number}  # long enough to be worth a reference\n" for number in range(30))


def listing(place: str) -> str:
    """A text with every kind of secret, as a file or an output holds it."""
    return FILLER + "".join(f"{one.text}\n\n" for one in planted(place))


def modes(*folders: Path) -> set[tuple[bool, str]]:
    """The permissions of all that stands below: whether it is a folder, and who may do what."""
    found = [path for folder in folders for path in (folder, *folder.rglob("*"))]
    return {(path.is_dir(), oct(stat.S_IMODE(path.lstat().st_mode))) for path in found}


def own_words(output: str) -> str:
    """What Ledger itself said among what an agent printed."""
    return "\n".join(line for line in output.splitlines() if "Ledger" in line or "execledger" in line)


def check_journals(folder: Path) -> int:
    """Each journal rebuilds the ledger that there was, unless it says that a command was altered; how many steps."""
    steps = 0
    for path in folder.rglob("*.ledger.jsonl"):
        run = read_journal(path.name, path.read_bytes())
        mismatch = rebuild(run).mismatch
        assert mismatch is None or mismatch.altered, mismatch
        steps += len(run.steps)
    return steps


@pytest.mark.clients
@pytest.mark.skipif(not installed(), reason="mini-swe-agent is not installed: pip install 'execledger[mini]'")
def test_no_secret_of_an_agents_run_comes_to_rest(tmp_path: Path, figure: Callable[[str], None]) -> None:
    """In its environment, task, answers, commands, edits, outputs and errors; with files for the owner alone."""
    folder, home = tmp_path / "repo", tmp_path / "home"
    folder.mkdir()
    (folder / "settings.env").write_text(listing("output"))
    variables = {f"PLANTED_{number}": one.text for number, one in enumerate(planted("environment"))}
    (key,) = next(iter(planted("key"))).secrets
    commands = [f"echo {json.dumps(one.text)} > /dev/null" for one in planted("command")]
    script: list[Turn] = [
        ["cat settings.env"],
        ["cat settings.env"],
        ["sed -n '5,60p' settings.env", "grep -n setting_ settings.env", "grep -n setting_ settings.env"],
        "My plan:\n" + "".join(one.text + "\n" for one in planted("answer")),
        ["env"],
        ["cat > more.env <<'EOF'\n" + listing("edit") + "EOF"],
        [
            "cat more.env; false",
            f"python3 -c {json.dumps('raise SystemExit(open(`more.env`).read())')}".replace("`", "'"),
        ],
        commands,
        [SUBMIT],
    ]
    launcher = (sys.executable, "-m", "execledger", "run")
    with ModelServer(script) as server:
        done = run_mini(
            server,
            "Mend it.\n" + "".join(one.text + "\n" for one in planted("task")),
            folder,
            home,
            prefix=("sh", "-c", 'umask 000; exec "$@"', "sh", *launcher, "--journal", str(home / "journals"), "--"),
            extra={**variables, "OPENAI_API_KEY": key, "OPENROUTER_API_KEY": key},
        )
    assert (done.status, len(done.trajectories)) == (0, 1), done.output
    places = ("environment", "output", "answer", "edit", "command", "task", "key")
    texts = {**files_below(home / "journals", home / "state"), "standard error": own_words(done.output).encode()}
    assert remains(chain(*map(planted, places)), texts) == []
    assert check_journals(home / "journals") >= len(commands) + 6
    assert modes(home / "journals") == {(True, "0o700"), (False, "0o600")}
    count = len(list(chain(*map(planted, places))))
    figure(f"0 of {count} planted secrets found in {len(texts)} files and messages of an agent's run")


def converse(folder: Path, preset: str) -> tuple[Talk, list[str]]:
    """A conversation of Codex full of secrets: headers, ids, task, calls, outputs; and what the proxy told its user."""
    told: list[str] = []
    passage = new_passage(EditStore(folder / "edits.sqlite3"), sealed=True, preset=preset, journals=folder / "journals")
    passage._tell = told.append
    secret = {one.kind: one for one in planted("header")}
    task = "Mend it.\n" + "".join(one.text + "\n" for one in planted("task"))
    talk = Talk(passage, session=secret["GitHub"].secrets[0], thread=secret["npm"].secrets[0], items=opening(task))
    talk.headers |= {
        "authorization": f"Bearer {secret['Anthropic'].secrets[0]}",
        "cookie": secret["cookie"].text.partition(" ")[2],
        "user-agent": f"codex_exec/1.0 ({secret['Google'].secrets[0]})",
    }
    talk.run = lambda command: listing("output") if command.startswith(("cat", "sed")) else command
    for command in ("cat a.py", "cat a.py", "sed -n '3,50p' a.py"):
        talk.turn(command)
    for one in planted("command"):
        talk.turn(f"grep -rn {json.dumps(one.text)} src", f"echo {json.dumps(one.text)}")
    for one in planted("command"):
        talk.turn(f"grep -rn {json.dumps(one.text)} src")
    talk.items = [*talk.items, message("assistant", "".join(one.text + "\n" for one in planted("answer")))]
    talk.turn("cat a.py")
    passage.book.close()
    return talk, told


PLACES = ("header", "task", "output", "command", "answer")


@pytest.mark.parametrize("preset", ["verified", "paper"])
def test_no_secret_of_a_conversation_comes_to_rest(tmp_path: Path, preset: str, figure: Callable[[str], None]) -> None:
    """Neither in the journal, nor in the edits, nor in their names; the model is shown everything as it is."""
    talk, told = converse(tmp_path, preset)
    texts = {**files_below(tmp_path), "told": "\n".join(told).encode()}
    assert remains(chain(*map(planted, PLACES)), texts) == []
    assert check_journals(tmp_path / "journals") > 2 * len(list(planted("command")))
    shown = json.dumps(talk.sent[-1], ensure_ascii=False)
    assert all(json.dumps(one.text, ensure_ascii=False)[1:-1] in shown for one in planted("output"))
    count = len(list(chain(*map(planted, PLACES))))
    figure(f"0 of {count} planted secrets found in {len(texts) - 1} files of a conversation")


class Leaky(Sabotage):
    """A fault whose words are nothing but secrets."""

    def __str__(self) -> str:
        return "\n".join(one.text for one in planted("fault"))


@pytest.mark.faults
def test_no_secret_of_a_fault_comes_to_rest(tmp_path: Path, full: bool, figure: Callable[[str], None]) -> None:
    """A fault anywhere in our own code, with words that quote what the agent was doing."""
    places = list(sites(tmp_path, "paper"))[:: 2 if full else 40]
    for number, site in enumerate(places):
        with sabotaged(site, fault=Leaky) as trap:
            conversation(tmp_path / str(number), "paper")
        assert trap.sprung
    texts = files_below(tmp_path)
    assert remains(planted("fault"), texts) == []
    faults = sum(text.count(b'"event":"fault"') for text in texts.values())
    assert faults > len(places) / 4
    count = len(list(planted("fault")))
    figure(f"0 of {count} secrets in the words of each of {faults} faults found in {len(texts)} files")


def test_no_header_of_a_request_comes_to_rest(tmp_path: Path) -> None:
    """Over real sockets: the upstream gets them all, and no file does."""
    headers = {f"x-planted-{number}": one.secrets[0] for number, one in enumerate(planted("header"))}
    headers |= {"authorization": f"Bearer {next(iter(planted('key'))).secrets[0]}", "session-id": "s", "thread-id": "t"}
    told: list[str] = []
    rules = Rules(journals=tmp_path / "journals", tell=told.append)
    body = json.dumps({"model": "m", "stream": True, "input": opening(), "tools": [{"type": "function", "name": "x"}]})
    with (
        ResponsesServer(turns(call("exec_command", cmd="ls"))) as server,
        Proxy(
            ProxySettings(adapter=codex, upstream=server.url, rules=rules, edits=tmp_path / "edits.sqlite3")
        ) as proxy,
    ):
        asked = WebRequest(f"{proxy.url}/responses", body.encode(), {**headers, "content-type": "application/json"})
        with urlopen(asked, timeout=60) as answer:
            answer.read()
        # The upstream is gone: what the client is told names no secret either.
        assert len(server.requests) == 1
    texts = {**files_below(tmp_path), "told": "\n".join(told).encode()}
    assert len(texts) >= 3
    assert remains(chain(planted("header"), planted("key")), texts) == []


PRIVATE = """
import os
os.umask(0)
from pathlib import Path
from execledger.journal import Journal
from execledger.journal.folder import edits_file, journal_folder
from execledger.proxy.edits import open_edits
open_edits(edits_file(), print).close()
Journal.create(journal_folder(), "one").close()
"""


@pytest.mark.parametrize("variable", ["XDG_STATE_HOME", "HOME"])
def test_files_are_private_whatever_the_umask(tmp_path: Path, variable: str) -> None:
    """And so is every folder that is made for them, not only the last."""
    home = tmp_path / "not there yet"
    variables = {name: value for name, value in environment(tmp_path).items() if not name.startswith("XDG_")}
    subprocess.run([sys.executable, "-c", PRIVATE], env={**variables, variable: str(home)}, check=True, timeout=120)
    assert modes(home) == {(True, "0o700"), (False, "0o600")}
    assert len(list(home.rglob("*.*"))) >= 2


def test_what_is_planted_would_be_found(tmp_path: Path) -> None:
    """The search sees a secret that is there, also cut in two; and the patterns know every kind."""
    everything = list(planted("x"))
    text = "\n".join(one.text for one in everything)
    assert {name.partition(": ")[2] for name in remains(iter(everything), {"a": text.encode()})} == {
        one.kind for one in everything
    }
    half = everything[0].secrets[0][5:25]
    assert remains(iter(everything), {"a": b"..." + half.encode() + b"..."}) == [f"a: {everything[0].kind}"]
    for one in everything:
        assert remains(iter([one]), {"a": redact(f"before\n{one.text}\nafter").encode()}) == [], one
    (tmp_path / "a").write_text("x")
    assert files_below(tmp_path) == {str(tmp_path / "a"): b"a\nx"} and os.sep not in Planted("a", "b", ("c",)).kind
